"""A parameter that is set and has no effect is warned of, and only then."""

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import spinney as sp
from contracts.learners import LEARNERS
from contracts.matrix_learners import MATRIX_LEARNERS, matrix_data

# A value other than the default of each parameter that can be without effect.
_SET: dict[str, Any] = {
    "cost_rule": "nunez",
    "cost_omega": 0.3,
    "validation_fraction": 0.4,
    "prune_ties": False,
    "confidence": 0.01,
    "pruning_cv": 2,
    "one_se": True,
    "subtree_raising": True,
    "max_bins": 4,
    "n_iter_no_change": 2,
    "tol": 0.05,
    "max_samples": 0.4,
    "code_size": 7.0,
    "n_candidates": 3,
    "loss": "hinge",
    "power": 1.2,
    "degree": 2,
    "coef0": 1.5,
    "gamma": 0.7,
    "alpha": 0.3,
    "l1_ratio": 0.7,
    "kernel": "rbf",
}
# Settings with which every parameter of _SET that is named last has no effect.
_WITHOUT_EFFECT = [
    (
        sp.DecisionTreeClassifier(max_depth=4),
        "cost_rule cost_omega validation_fraction prune_ties",
    ),
    (sp.ExtraTreeClassifier(max_depth=4, random_state=0), "confidence"),
    (sp.DecisionTreeRegressor(max_depth=4), "pruning_cv one_se"),
    (sp.DecisionTreeRegressor(max_depth=4, feature_costs=[1.0, 2.0, 1.0, 1.0, 3.0]), "cost_omega"),
    (sp.DecisionTreeClassifier(pruning="cost-complexity", ccp_alpha=0.01), "pruning_cv one_se"),
    (sp.DecisionTreeClassifier(pruning="pre", random_state=0), "prune_ties confidence"),
    (sp.C45Classifier(pruning=None), "confidence subtree_raising"),
    (sp.ID3Classifier(numeric_split="threshold"), "confidence validation_fraction"),
    (sp.RandomForestClassifier(3, n_directions=2, random_state=0), "max_bins cost_rule"),
    (sp.AdaBoostClassifier(n_estimators=3), "validation_fraction n_iter_no_change tol"),
    (sp.AdaBoostRegressor(n_estimators=3), "validation_fraction n_iter_no_change tol"),
    (
        sp.GradientBoostingRegressor(early_stopping=False, n_estimators=3, random_state=0),
        "validation_fraction n_iter_no_change tol",
    ),
    (
        sp.NegativeCorrelationRegressor(n_estimators=2, max_iter=30, random_state=0),
        "validation_fraction",
    ),
    (
        sp.EnsembleSelectionClassifier(
            [("one", sp.DecisionTreeClassifier(max_depth=2)), ("two", sp.GaussianNB())], cv=2, random_state=0
        ),
        "max_samples",
    ),
    (sp.OutputCodeClassifier(code="one-vs-one", random_state=0), "code_size n_candidates"),
    (sp.OutputCodeClassifier(decoding="hamming", n_candidates=9, random_state=0), "loss"),
    (sp.GeneralizedLinearRegressor(), "power"),
    (sp.SVC(), "degree coef0"),
    (sp.SVC(kernel="linear"), "degree coef0 gamma"),
    (sp.SVR(kernel="sigmoid"), "degree"),
    (sp.OneClassSVM(kernel="linear"), "gamma"),
    (sp.Perceptron(), "alpha l1_ratio validation_fraction kernel degree coef0 gamma"),
    (sp.Perceptron(penalty="l2"), "l1_ratio"),
    (sp.Perceptron(form="dual", max_iter=20, tol=None), "gamma degree"),
    (sp.PassiveAggressiveRegressor(random_state=0), "validation_fraction"),
]
_CASES = [(model, name) for model, names in _WITHOUT_EFFECT for name in names.split()]


def _fit(model: Any) -> tuple[Any, list[str]]:
    X, y, _ = matrix_data("regressor" if hasattr(model, "score") and _is_regressor(model) else "classifier")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = clone(model).fit(X, y)
    return fitted.predict(X), [str(one.message) for one in caught if "no effect" in str(one.message)]


def _is_regressor(model: Any) -> bool:
    return type(model).__name__.endswith(("Regressor", "SVR"))


@pytest.mark.parametrize(("model", "name"), _CASES, ids=lambda value: getattr(value, "__name__", str(value)))
def test_warns_once_of_a_parameter_without_effect(model: Any, name: str) -> None:
    expected, none = _fit(model)
    predicted, messages = _fit(clone(model).set_params(**{name: _SET[name]}))
    assert none == []
    assert len(messages) == 1
    assert messages[0].startswith(f"{name}=")
    np.testing.assert_array_equal(predicted, expected)


def test_every_such_parameter_is_tested() -> None:
    tested = {(use, name) for model, name in _CASES for use in model._parameter_uses}
    for cls in (value for value in vars(sp).values() if inspect.isclass(value)):
        for use in getattr(cls, "_parameter_uses", ()):
            assert all((use, name) in tested for name in use.names), (cls, use)


@pytest.mark.parametrize("learner", [*LEARNERS, *MATRIX_LEARNERS], ids=lambda learner: learner.name)
def test_does_not_warn_of_other_settings(learner: Any) -> None:
    model = learner()
    if not model._parameter_uses:
        pytest.skip("all parameters always have an effect")
    assert _fit(model)[1] == []


def test_does_not_warn_of_an_explicit_default_or_a_parameter_in_use() -> None:
    for model in (
        sp.DecisionTreeClassifier(confidence=0.25, pruning_cv=5),
        sp.DecisionTreeClassifier(pruning="pessimistic", confidence=0.1),
        sp.DecisionTreeClassifier(feature_costs=np.ones(5), cost_rule="nunez", cost_omega=0.5),
        sp.DecisionTreeClassifier(pruning="cost-complexity", pruning_cv=3, ccp_alpha=0),
        sp.SVC(kernel="poly", degree=2, coef0=1.0, gamma=0.1),
        sp.SVC(kernel=lambda a, b: a @ b.T),
        sp.HistGradientBoostingClassifier(max_iter=3, early_stopping=False, n_iter_no_change=5),
        sp.AdaBoostClassifier(n_estimators=3, early_stopping=True, n_iter_no_change=2, random_state=0),
    ):
        assert _fit(model)[1] == []


def test_the_warning_names_the_line_of_the_caller() -> None:
    with pytest.warns(UserWarning, match=r"degree=5 has no effect on SVC: it is for kernel='poly'") as caught:
        sp.SVC(kernel="linear", degree=5).fit([[0.0], [1.0]], [0, 1])
    assert caught[0].filename == __file__
