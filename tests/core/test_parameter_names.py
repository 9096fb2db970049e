"""A parameter that does not exist is answered with the one that was meant."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import spinney as sp
from spinney.core.parameter_names import PEER_NAMES, PEERS


@pytest.mark.parametrize(
    ("make", "name", "meant"),
    [
        (sp.DecisionTreeClassifier, "num_leaves", "max_leaf_nodes"),
        (sp.DecisionTreeClassifier, "max_dept", "max_depth"),
        (sp.RandomForestClassifier, "subsample", "max_samples"),
        (sp.GradientBoostingClassifier, "reg_lambda", "l2_regularization"),
        (sp.BaggingClassifier, "base_estimator", "estimator"),
        (sp.SVC, "gama", "gamma"),
        (sp.SVC, "c", "C"),
        (sp.HistGradientBoostingClassifier, "n_estimators", "max_iter"),
        (sp.HistGradientBoostingRegressor, "num_boost_round", "max_iter"),
        (sp.GradientBoostingRegressor, "alpha", "quantile"),
        (sp.GradientBoostingRegressor, "n_iter", "n_estimators"),
        (sp.HistGradientBoostingRegressor, "num_rounds", "max_iter"),
        (sp.GradientBoostingClassifier, "num_leafs", "max_leaf_nodes"),
        (sp.RandomForestClassifier, "bagging_fration", "max_samples"),
    ],
)
def test_the_parameter_that_was_meant_is_named(make: Any, name: str, meant: str) -> None:
    with pytest.raises(TypeError, match=f"has no parameter '{name}'. Did you mean '{meant}'?"):
        make(**{name: 1})


@pytest.mark.parametrize(
    ("model", "name", "answer"),
    [
        (sp.GradientBoostingClassifier(), "early_stopping_rounds", "the parameter 'n_iter_no_change'?"),
        (sp.GradientBoostingRegressor(), "eval_metrics", "Did you mean 'eval_metric'?"),
        (sp.GradientBoostingRegressor(), "base_margin", "Did you mean 'init_score'?"),
        (sp.HistGradientBoostingClassifier(), "categorical_feature", "the parameter 'categorical_features'?"),
        (sp.RandomForestClassifier(), "verbose", r"It is a parameter: RandomForestClassifier\(verbose="),
        (sp.LogisticRegression(), "sample_weights", "Did you mean 'sample_weight'?"),
        (sp.SVC(), "eval_set", "Its arguments are X, y, sample_weight"),
    ],
)
def test_an_unknown_argument_of_fit_is_answered_with_the_one_that_was_meant(model, name, answer) -> None:
    with pytest.raises(TypeError, match=rf"fit\(\) got an unexpected keyword argument '{name}'.*{answer}"):
        model.fit([[0.0], [1.0]], [0, 1], **{name: 1})


@pytest.mark.parametrize(
    ("method", "name", "answer"),
    [
        ("predict", "num_iteration", r"Call the method staged_predict\(X\)."),
        ("predict_proba", "start_iteration", r"Call the method staged_predict_proba\(X\)."),
        ("predict_proba", "ntree_limit", r"Call the method staged_predict_proba\(X\)."),
        ("predict", "iteration_range", r"Call the method staged_predict\(X\)."),
        ("predict", "raw_score", r"Call the method decision_function\(X\)."),
        ("predict", "output_margin", r"Call the method decision_function\(X\)."),
        ("predict", "prediction_type", r"Call the method predict_proba\(X\)."),
        ("predict", "pred_leaf", r"Call the method apply\(X\)."),
        ("predict_proba", "pred_contrib", r"Call the method shap_values\(X\)."),
        ("predict", "thread_count", r"Did you mean the parameter 'n_jobs'\?"),
        ("apply", "check_input", "Its arguments are X."),
    ],
)
def test_an_argument_of_predict_elsewhere_is_answered_with_the_method_here(method, name, answer) -> None:
    model = sp.GradientBoostingClassifier(2)
    with pytest.raises(
        TypeError, match=rf"{method}\(\) got an unexpected keyword argument '{name}'.*{answer}"
    ):
        getattr(model, method)([[0.0]], **{name: 1})


def test_a_regressor_without_raw_scores_names_its_arguments() -> None:
    with pytest.raises(TypeError, match=r"'raw_score'. Its arguments are X"):
        sp.GradientBoostingRegressor().predict([[0.0]], raw_score=True)


def test_lambda_l1_is_no_typo_of_lambda_l2() -> None:
    with pytest.raises(TypeError, match=r"'lambda_l1'\. Its parameters are"):
        sp.GradientBoostingClassifier(lambda_l1=1.0)


def test_an_argument_of_fit_is_no_parameter() -> None:
    with pytest.raises(TypeError, match=r"has no parameter 'eval_metric'. It is an argument of fit: fit"):
        sp.GradientBoostingClassifier(eval_metric="auc")
    with pytest.raises(TypeError, match=r"has no parameter 'metric'. .*: fit\(X, y, eval_metric=...\)"):
        sp.GradientBoostingClassifier(metric="auc")


def test_set_params_names_it_too() -> None:
    with pytest.raises(ValueError, match=r"Invalid parameter 'num_leaves'.* Did you mean 'max_leaf_nodes'?"):
        sp.DecisionTreeClassifier().set_params(num_leaves=3)
    bagged = sp.BaggingClassifier(sp.DecisionTreeClassifier())
    with pytest.raises(ValueError, match=r"for estimator DecisionTreeClassifier. Did you mean 'max_depth'?"):
        bagged.set_params(estimator__max_dept=3)
    voting = sp.VotingClassifier([("tree", sp.DecisionTreeClassifier())])
    with pytest.raises(ValueError, match=r"Did you mean 'weights'?"):
        voting.set_params(weight=[1.0])


def test_every_name_of_the_table_belongs_to_some_estimator() -> None:
    classes = [value for value in vars(sp).values() if hasattr(value, "_get_param_names")]
    classes += [getattr(sp, name) for name in sp.__all__ if hasattr(getattr(sp, name), "_get_param_names")]
    known = {name for cls in classes for name in cls._get_param_names()}
    known |= {
        name for cls in classes if hasattr(cls, "fit") for name in inspect.signature(cls.fit).parameters
    }
    assert {here for names in PEER_NAMES.values() for here in names} <= known


def test_other_errors_of_a_constructor_are_kept() -> None:
    with pytest.raises(TypeError, match="positional"):
        sp.DecisionTreeClassifier(1, 2, 3, 4, 5, 6)


def table_of(page: str) -> list[str]:
    """Return the rows of the tables of a page that translate parameters."""
    text = (Path(__file__).parents[2] / "docs" / page).read_text()
    return re.findall(r"^\| `\w+` \| `\w+`(?: or `\w+`)* \|$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("migration.md", PEER_NAMES),
        ("from-scikit-learn.md", PEERS["scikit-learn"]),
        ("from-lightgbm.md", PEERS["LightGBM"]),
        ("from-xgboost.md", PEERS["XGBoost"]),
        ("from-catboost.md", PEERS["CatBoost"]),
        ("from-weka-and-r.md", PEERS["Weka and R"]),
    ],
)
def test_the_pages_on_other_libraries_have_the_table(page: str, names: Any) -> None:
    expected = [
        f"| `{name}` | {' or '.join(f'`{one}`' for one in here)} |" for name, here in sorted(names.items())
    ]
    assert table_of(page) == expected
