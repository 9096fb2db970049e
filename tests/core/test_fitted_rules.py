"""Every rule of a fitted attribute rejects, and every fitted attribute of every learner has a check."""

import json
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import spinney as sp
from contracts.learners import LEARNERS, Learner
from spinney.core.fitted_rules import FITTED_RULES, broken_rule
from spinney.io import ModelFileError, dumps, from_json, loads, to_json
from spinney.io.container import decode, encode

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(int)
WRONG: tuple[Any, ...] = (None, "text", -7.5, [], np.zeros((3, 1, 2, 1)))


@pytest.mark.parametrize("name", FITTED_RULES)
def test_every_rule_rejects(name: str) -> None:
    rejected = [value for value in WRONG if broken_rule({name: value}) is not None]
    assert len(rejected) >= len(WRONG) - 1  # -7.5 may be a score
    assert broken_rule({name: None}) == f"{name} is not {FITTED_RULES[name].takes}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_features_in_", 2**31),
        ("n_features_in_", True),
        ("n_outputs_", 0),
        ("classes_", np.array([np.nan, 1.0])),
        ("classes_", [np.array([1]), [2]]),
        ("feature_names_in_", np.array(["a", 3], dtype=object)),
        ("validation_errors_", np.array([np.inf])),
        ("estimators_", ({},)),
    ],
)
def test_values_at_the_edge_are_rejected(name: str, value: Any) -> None:
    assert broken_rule({name: value}) is not None


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
def test_every_fitted_attribute_is_checked_when_a_file_is_loaded(learner: Learner) -> None:
    document = decode(dumps(learner().fit(X, Y)))
    state = document["state"]
    for name in state["fitted"]:
        for wrong in WRONG:
            damaged = {**document, "state": {**state, "fitted": {**state["fitted"], name: wrong}}}
            with pytest.raises(ModelFileError):
                loads(encode(damaged))
                pytest.fail(f"{name} = {wrong!r} was accepted")


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        (sp.SVC(), "kernel", "none"),
        (sp.SVC(), "degree", ""),
        (sp.SVC(), "coef0", []),
        (sp.RandomForestClassifier(n_estimators=2), "max_depth", "deep"),
        (sp.GaussianNB(), "n_jobs", True),
        (sp.AdaBoostClassifier(), "n_jobs", "all"),
        (sp.PassiveAggressiveClassifier(), "n_jobs", 0),
        (sp.StackingClassifier([("tree", sp.DecisionTreeClassifier())]), "passthrough", 3),
    ],
)
def test_a_fitted_model_with_an_invalid_parameter_is_not_loaded(model: Any, name: str, value: Any) -> None:
    document = json.loads(to_json(model.fit(X, Y)))
    document["state"]["params"][name] = value
    with pytest.raises(ModelFileError, match=f"(The {name} of {type(model).__name__}|{name}) is"):
        from_json(json.dumps(document))


def test_the_parameters_of_packed_members_are_checked_as_well() -> None:
    document = decode(dumps(sp.AdaBoostClassifier(n_estimators=3, random_state=0).fit(X, Y)))
    packed = document["state"]["fitted"]["estimators_"]
    packed["template"].value[1]["params"]["unseen"] = "forget"
    with pytest.raises(ModelFileError, match="The unseen of DecisionTreeClassifier is 'forget'"):
        loads(encode(document))


def test_the_final_estimator_of_a_stack_predicts_the_classes_of_the_stack() -> None:
    pairs, final = [("tree", sp.DecisionTreeClassifier())], sp.DecisionTreeClassifier()
    document = decode(dumps(sp.StackingClassifier(pairs, final).fit(X, Y)))
    document["state"]["fitted"]["final_estimator_"].value[1]["fitted"]["classes_"] = np.array([0, 256])
    with pytest.raises(ModelFileError):
        loads(encode(document))


def test_the_final_estimator_of_a_stack_expects_the_columns_of_the_members() -> None:
    pairs = [("tree", sp.DecisionTreeClassifier()), ("bayes", sp.GaussianNB())]
    for passthrough in (False, True):
        model = sp.StackingClassifier(pairs, sp.LogisticRegression(), passthrough=passthrough).fit(X, Y)
        assert_array_equal(loads(dumps(model)).predict(X), model.predict(X))
        model.final_estimator_ = sp.LogisticRegression().fit(np.hstack([X, X, X, X]), Y)
        with pytest.raises(ModelFileError, match=r"the final estimator expects \d+ features instead of"):
            loads(dumps(model))


@pytest.mark.parametrize("pairs", [[("tree", 1, 2)], [[3, "drop"]], "text", 7])
def test_the_named_estimators_of_an_ensemble_are_pairs(pairs: Any) -> None:
    document = decode(dumps(sp.VotingClassifier([("tree", sp.DecisionTreeClassifier())]).fit(X, Y)))
    document["state"]["params"]["estimators"] = pairs
    with pytest.raises(ModelFileError, match="pairs of a name and an estimator"):
        loads(encode(document))


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (sp.SVC(), "intercept_"),
        (sp.SVC(), "support_vectors_"),
        (sp.SVR(), "dual_coef_"),
        (sp.GaussianNB(), "theta_"),
        (sp.BernoulliNB(), "class_log_prior_"),
        (sp.LinearDiscriminantAnalysis(), "coef_"),
    ],
)
def test_nan_in_the_numbers_of_a_model_is_refused(model: Any, name: str) -> None:
    document = decode(dumps(model.fit(X, Y)))
    values = np.array(document["state"]["fitted"][name])
    values.flat[0] = np.nan
    document["state"]["fitted"][name] = values
    with pytest.raises(ModelFileError, match=f"{name} has NaN"):
        loads(encode(document))


def test_a_degree_that_is_no_c_integer_is_refused() -> None:
    document = decode(dumps(sp.SVC().fit(X, Y)))
    document["state"]["params"]["degree"] = 2**40
    with pytest.raises(ModelFileError, match="degree of SVC"):
        loads(encode(document))
