"""Output codes beside scikit-learn's wrappers, where both define the answer."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

import spinney as sp

each_table = pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])


@each_table
def test_one_vs_one_votes_as_scikit_learn_does(load):
    X, y = load(return_X_y=True)
    ours = sp.OutputCodeClassifier(RidgeClassifier(), code="one-vs-one", decoding="hamming").fit(
        X[::2], y[::2]
    )
    theirs = OneVsOneClassifier(RidgeClassifier()).fit(X[::2], y[::2])
    assert_array_equal(ours.predict(X), theirs.predict(X))
    votes = np.round(theirs.decision_function(X))
    if len(ours.classes_) > 2:
        n_columns, n_classes = ours.code_book_.shape[1], len(ours.classes_)
        zeros = n_columns - (n_classes - 1)
        distance = -np.round(2 * ours.decision_function(X)) / 2
        assert_array_equal(distance, zeros / 2 + (n_classes - 1) - votes)


@each_table
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_one_vs_rest_takes_the_largest_score_as_scikit_learn_does(load, loss):
    """L(z) − L(−z) falls with z for these losses, so the least total loss is the largest margin."""
    X, y = load(return_X_y=True)
    member = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)
    ours = sp.OutputCodeClassifier(member, code="one-vs-rest", loss=loss).fit(X[::2], y[::2])
    theirs = OneVsRestClassifier(member).fit(X[::2], y[::2])
    assert_allclose(ours.margins(X), theirs.decision_function(X), rtol=1e-9, atol=1e-9)
    assert_array_equal(ours.predict(X), theirs.predict(X))
