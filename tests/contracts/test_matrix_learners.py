"""Contracts of the learners that take a numeric matrix: checks, files, same bytes, and clear errors."""

import inspect

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import spinney as sp
from contracts.checks import each_check
from contracts.matrix_learners import MATRIX_LEARNERS, matrix_data
from spinney.io import dumps, loads

each_learner = pytest.mark.parametrize("learner", MATRIX_LEARNERS, ids=lambda learner: learner.name)


def fit(model, X, y, weights):
    takes_weights = "sample_weight" in inspect.signature(model.fit).parameters
    return model.fit(X, y, sample_weight=weights) if takes_weights else model.fit(X, y)


# One setting of each class.
@each_check([sp.CategoricalNB(), *(learner() for learner in MATRIX_LEARNERS if "-" not in learner.name)])
def test_scikit_learns_checks(estimator, check):
    if isinstance(estimator, sp.Perceptron) and "equivalence" in check.func.__name__:
        pytest.skip("an update twice as large is not the same as two updates")
    check(estimator)


@each_learner
def test_a_model_file_predicts_the_same(learner):
    X, y, weights = matrix_data(learner.kind)
    model = fit(learner(), X, y, weights)
    loaded = loads(dumps(model))
    assert dumps(loaded) == dumps(model)
    assert set(vars(loaded)) == set(vars(model))
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        try:
            expected = getattr(model, method)(X)
        except (AttributeError, NotImplementedError):
            continue
        assert_array_equal(getattr(loaded, method)(X), expected)


@each_learner
def test_any_number_of_threads_gives_the_same_bytes(learner):
    X, y, weights = matrix_data(learner.kind, 2500)
    found = set()
    for n_jobs in (1, 2, 5) if learner.has("n_jobs") else (1, 1):
        model = fit(learner.with_threads(n_jobs), X, y, weights)
        found.add(dumps(model.set_params(n_jobs=None) if learner.has("n_jobs") else model))
    assert len(found) == 1


@each_learner
def test_categories_and_missing_values_are_refused_with_column_and_fix(learner):
    X, y, _ = matrix_data(learner.kind, 60)
    frame = pd.DataFrame(X, columns=list("abcde"))
    text = frame.assign(c=np.where(X[:, 0] > 1, "red", "blue"))
    with pytest.raises(ValueError, match=r"column 'c'.*OneHotEncoder.*'c'"):
        learner().fit(text, y)
    holes = frame.copy()
    holes.loc[7, "d"] = np.nan
    if learner().__sklearn_tags__().input_tags.allow_nan:
        model = learner().fit(holes, y)
        assert len(model.predict(holes)) == len(y)
        return
    with pytest.raises(ValueError, match=r"column 'd', row 7.*SimpleImputer"):
        learner().fit(holes, y)
    model = learner().fit(frame, y)
    with pytest.raises(ValueError, match=r"column 'd', row 7.*SimpleImputer"):
        model.predict(holes)


@each_learner
def test_a_failed_fit_leaves_the_model_as_it_was(learner):
    X, y, _ = matrix_data(learner.kind, 60)
    model = learner()
    with pytest.raises(ValueError):
        model.fit(X, y[:-1])
    assert not any(name.endswith("_") for name in vars(model))
    model.fit(X, y)
    before = vars(model).copy()
    with pytest.raises(ValueError):
        model.fit(X[:, :2], y[:-1])
    assert vars(model) == before
    assert clone(model).get_params() == model.get_params()


@each_learner
def test_wrong_parameters_are_refused_by_name(learner):
    X, y, _ = matrix_data(learner.kind, 30)
    for name in learner().get_params(deep=False):
        with pytest.raises(ValueError, match=name):
            learner(**{name: object()}).fit(X, y)
