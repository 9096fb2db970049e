"""Sample weights are ratios: weights that sum to one are shares of the rows, for every learner."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from contracts.learners import EACH_KIND, Learner, mixed_data


def answers(model, X):
    return np.asarray(model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X))


def draws_rows(learner: Learner) -> bool:
    """Whether integer weights are copies of rows to draw from, and others are probabilities."""
    params = learner().get_params(deep=False)
    return "bootstrap" in params or "n_flips" in params or "Output" in learner.name


def counts_rows(learner: Learner) -> bool:
    """Whether a number of rows, or λ, limits the trees."""
    text = repr(learner().get_params())
    return any(word in text + learner.name for word in ("C45", "GradientBoosting", "fractional"))


@pytest.mark.parametrize("learner", EACH_KIND, ids=lambda learner: learner.name)
def test_shares_of_a_whole_are_counted_in_rows(learner):
    X, y, _ = mixed_data(learner.kind, 90)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = answers(learner().fit(X, y), X)
        found = answers(learner().fit(X, y, sample_weight=np.full(90, 1 / 90)), X)
        assert_allclose(found, expected, atol=1e-8)
        if draws_rows(learner):
            return
        weights = np.random.default_rng(1).integers(1, 4, 90).astype(float)
        shares = weights / weights.sum()
        if counts_rows(learner):  # the same shares in another unit
            expected = answers(learner().fit(X, y, sample_weight=shares), X)
            found = answers(learner().fit(X, y, sample_weight=shares * 0.3), X)
        else:
            expected = answers(learner().fit(X, y, sample_weight=weights), X)
            found = answers(learner().fit(X, y, sample_weight=weights * 3.7), X)
        assert_allclose(found, expected, atol=1e-8)
