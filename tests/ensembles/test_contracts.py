"""Promises that combinations keep besides those of every learner: members, targets, folds and files."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import spinney as sp
from contracts.learners import LEARNERS, mixed_data
from spinney.ensembles import LeastSquaresRegressor, MultiResponseClassifier
from spinney.io import ModelFileError, UnsavableValue, dumps, loads

COMBINATIONS = [one for one in LEARNERS if one.make.__module__.startswith("spinney.ensembles")]
each_combination = pytest.mark.parametrize("learner", COMBINATIONS, ids=lambda learner: learner.name)


@parametrize_with_checks([MultiResponseClassifier(), LeastSquaresRegressor(positive=False)])
def test_scikit_learns_checks_of_level_two(estimator, check):
    check(estimator)


def test_all_combinations_keep_the_contracts():
    import spinney.ensembles

    found = {learner.make.__name__ for learner in COMBINATIONS}
    finals = {"LeastSquaresRegressor", "LogarithmicPoolClassifier", "MultiResponseClassifier"}
    rest = finals | {"RiskCoverage", "prune_ensemble"}
    assert found | rest == set(spinney.ensembles.__all__)


@each_combination
def test_an_ensemble_that_is_not_fitted_says_so(learner):
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(learner(), method):
            with pytest.raises(NotFittedError):
                getattr(learner(), method)([[0.0]])


@each_combination
def test_several_outputs_are_learned_side_by_side(learner):
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = np.stack([np.digitize(X[:, 0], [-0.5, 0.5]), X[:, 1] > 0], axis=1)
    model = learner().fit(X, y)
    assert model.n_outputs_ == 2
    assert model.predict(X).shape == (80, 2)
    assert ((model.predict(X) - y) ** 2).mean(axis=0).max() < 0.1
    if hasattr(model, "predict_proba"):
        assert [labels.tolist() for labels in model.classes_] == [[0, 1, 2], [0, 1]]
        assert [part.shape for part in model.predict_proba(X)] == [(80, 3), (80, 2)]
    if hasattr(model, "transform"):
        assert model.transform(X).shape[1] == len(model.get_feature_names_out())
    assert_array_equal(loads(dumps(model)).predict(X[:5]), model.predict(X)[:5])


@each_combination
def test_a_class_of_one_row_is_no_reason_to_warn(learner):
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.append(np.arange(49) % 2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner(n_jobs=2).fit(X, y).predict(X)


@pytest.mark.parametrize(
    "estimators, words",
    [
        ([("a", sp.C45Classifier()), ("a", sp.C45Classifier())], "not unique"),
        ([("cv", sp.C45Classifier())], "conflict"),
        ([("a__b", sp.C45Classifier())], "__"),
        ([("a", sp.DecisionTreeRegressor())], "'a', a DecisionTreeRegressor, should be a classifier"),
        ([("a", "drop")], "dropped"),
    ],
)
def test_wrong_members_are_refused_by_name(estimators, words):
    with pytest.raises(ValueError, match=words):
        sp.VotingClassifier(estimators).fit([[0.0], [1.0]], [0, 1])


# ---- files ----


def test_other_members_are_pickled_but_not_written_to_files():
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    model = sp.VotingClassifier([("linear", LogisticRegression())]).fit(X, y)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    with pytest.raises(UnsavableValue, match="LogisticRegression"):
        dumps(model)


def test_splitters_of_scikit_learn_are_written_to_files_and_others_are_not():
    class Own(KFold):
        pass

    stack = sp.StackingRegressor([("tree", sp.DecisionTreeRegressor())], cv=KFold(3))
    assert repr(loads(dumps(stack)).cv) == repr(stack.cv)
    with pytest.raises(UnsavableValue, match=r"'cv'.*Own"):
        dumps(stack.set_params(cv=Own(3)))


def _damages():
    def put(name, value):
        return lambda fitted: fitted.__setitem__(name, value)

    return {
        "no members": put("estimators_", []),
        "members of text": put("estimators_", ["oak", "elm"]),
        "a member less": lambda fitted: fitted["estimators_"].pop(),
        "members as a tuple": lambda fitted: fitted.__setitem__("estimators_", tuple(fitted["estimators_"])),
        "lost members": lambda fitted: fitted.pop("estimators_"),
        "names": put("_names", ["a", 2]),
        "no classes": lambda fitted: fitted.pop("classes_"),
        "other classes": put("classes_", np.array(["x", "y"])),
        "double classes": put("classes_", np.array([0, 0, 1, 2])),
        "negative weights": put("weights_", np.array([2.0, -1.0])),
        "weights without end": put("weights_", np.array([np.inf, 1.0])),
        "one weight": put("weights_", np.array([1.0])),
        "no final estimator": put("final_estimator_", 3),
        "unknown method": put("stack_method_", ["guess", "predict"]),
        "one method": put("stack_method_", ["predict"]),
        "path": put("path_", [[("cart", "good")]]),
        "other names of features": put("feature_names_in_", np.array(["a", "b"], dtype=object)),
        "numbers for names of features": put("feature_names_in_", np.arange(4)),
        "half a feature": put("n_features_in_", 3.5),
        "unknown attribute": put("oracle_", 1),
    }


@pytest.mark.parametrize("damage", _damages())
@pytest.mark.parametrize(
    "make",
    [sp.VotingClassifier, sp.StackingClassifier, sp.EnsembleSelectionClassifier],
    ids=lambda m: m.__name__,
)
def test_content_that_does_not_agree_is_refused(make, damage, monkeypatch):
    X, y, _ = mixed_data("classifier", 100)
    members = [(f"depth {d}", sp.DecisionTreeClassifier(max_depth=d)) for d in (1, 3)]
    settings = {"n_bags": 8, "random_state": 1} if make is sp.EnsembleSelectionClassifier else {}
    model = make(members, **settings).fit(X, y)
    assert len(model.estimators_) == 2
    touched = {
        "weights": "weights_",
        "weight": "weights_",
        "final": "final_estimator_",
        "method": "stack_method_",
    }
    touched["path"] = "path_"
    if any(word in damage and not hasattr(model, name) for word, name in touched.items()):
        pytest.skip("has no such part")
    honest = make._get_state

    def dishonest(self):
        state = honest(self)
        fitted = {name: list(v) if type(v) is list else v for name, v in state["fitted"].items()}
        _damages()[damage](fitted)
        return {**state, "fitted": fitted}

    monkeypatch.setattr(make, "_get_state", dishonest, raising=False)
    data = dumps(model)
    monkeypatch.undo()
    with pytest.raises(ModelFileError):
        loads(data)


def test_least_squares_refuses_what_is_too_large():
    for large in (1e160, 1.7e308):
        with pytest.raises(ValueError, match="too large"):
            LeastSquaresRegressor().fit([[1.0], [2.0], [3.0]], [large, -large, large])
