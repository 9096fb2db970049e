"""The logarithmic pool: its weights are optimal, and what they do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import spinney as sp
from spinney.ensembles import LogarithmicPoolClassifier
from spinney.io import dumps, loads


def opinions(n_classes, n=400, seed=0):
    """Probabilities of three members, side by side: one good, one that is too sure, one that guesses."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n)
    signal = 1.5 * np.eye(n_classes)[truth] + rng.normal(size=(n, n_classes))
    scores = (signal, 6.0 * (signal + 2.0 * rng.normal(size=signal.shape)), rng.normal(size=signal.shape))
    parts = [np.exp(one) / np.exp(one).sum(axis=1, keepdims=True) for one in scores]
    return truth, np.hstack([part[:, 1:] for part in parts] if n_classes == 2 else parts)


def loss(w, X, y, n_classes, weights, l2=10.0, floor=1e-4):
    """The penalized log loss, written once more."""
    parts = X.reshape(len(X), len(w), -1)
    parts = np.stack([1 - parts[..., 0], parts[..., 0]], axis=2) if n_classes == 2 else parts
    sums = (np.log(np.maximum(parts, floor)) * w[:, None]).sum(axis=1)
    log_share = sums - np.log(np.exp(sums).sum(axis=1, keepdims=True))
    return -(weights * log_share[np.arange(len(y)), y]).sum() + 0.5 * l2 * ((w - 1 / len(w)) ** 2).sum()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_weights_are_optimal(n_classes):
    y, X = opinions(n_classes)
    weights = np.random.default_rng(1).uniform(1.0, 3.0, len(y))
    model = LogarithmicPoolClassifier().fit(X, y, weights)
    w, h = model.coef_, 1e-5
    assert (w >= 0).all() and w[0] == w.max()
    for m in range(len(w)):
        step = h * np.eye(len(w))[m]
        slope = (
            loss(w + step, X, y, n_classes, weights) - loss(w - step, X, y, n_classes, weights)
        ) / (2 * h)  # fmt: skip
        assert abs(slope) < 1e-3 if w[m] > 0 else slope > -1e-3


def test_probabilities_are_products_and_files_keep_them():
    y, X = opinions(3)
    model = LogarithmicPoolClassifier().fit(X, y)
    product = np.prod(np.maximum(X.reshape(-1, 3, 3), 1e-4) ** model.coef_[:, None], axis=1)
    assert_allclose(model.predict_proba(X), product / product.sum(axis=1, keepdims=True), rtol=1e-12)
    assert_array_equal(model.predict(X), product.argmax(axis=1))
    assert_array_equal(loads(dumps(model)).predict_proba(X), model.predict_proba(X))


def test_weights_are_ratios_and_a_weight_of_two_is_a_row_twice():
    y, X = opinions(2)
    plain = LogarithmicPoolClassifier().fit(X, y).coef_
    assert_allclose(LogarithmicPoolClassifier().fit(X, y, np.full(len(y), 1e-3)).coef_, plain, rtol=1e-6)
    twice = LogarithmicPoolClassifier().fit(np.vstack([X, X[:50]]), np.append(y, y[:50])).coef_
    weights = np.where(np.arange(len(y)) < 50, 2.0, 1.0)
    assert_allclose(LogarithmicPoolClassifier().fit(X, y, weights).coef_, twice, rtol=1e-5)


def test_the_columns_must_be_those_of_members():
    y, X = opinions(3)
    with pytest.raises(ValueError, match="one column per class and member"):
        LogarithmicPoolClassifier().fit(X[:, :5], y)


def test_a_stack_of_held_out_rows_that_lack_a_class_still_fits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    members = [("bayes", sp.GaussianNB().fit(X, y)), ("tree", sp.DecisionTreeClassifier().fit(X, y))]
    known = y < 2
    model = sp.StackingClassifier(members, cv="prefit").fit(X[known], y[known])
    assert model.predict_proba(X).shape == (90, 3)
