"""Row weights of every round: those that the members were fitted with."""

import numpy as np
import pytest

import spinney as sp
from contracts.learners import mixed_data


@pytest.mark.parametrize("algorithm", ["samme", "samme.r"])
def test_the_error_of_each_member_by_these_weights_is_the_recorded_one(algorithm):
    X, y, weight = mixed_data("classifier", 120)
    tree = sp.DecisionTreeClassifier(max_depth=2)
    model = sp.AdaBoostClassifier(tree, n_estimators=6, algorithm=algorithm).fit(X, y, weight)
    staged = list(model.staged_row_weights(X, y, weight))
    assert len(staged) == len(model.estimators_)
    np.testing.assert_allclose(staged[0], weight / weight.sum(), rtol=0, atol=1e-12)
    for weights, member, error in zip(staged, model.estimators_, model.estimator_errors_, strict=True):
        assert weights.sum() == pytest.approx(1)
        assert weights[member.predict(X) != y].sum() == pytest.approx(error, abs=1e-9)


def test_logitboost_has_a_weight_per_class():
    X, y, _ = mixed_data("classifier", 80)
    model = sp.AdaBoostClassifier(algorithm="logit", n_estimators=3)
    several = list(model.fit(X, y).staged_row_weights(X, y))
    assert several[0].shape == (80, 3) and np.allclose(several[0], 1 / 80)
    two = list(model.fit(X, y > 0).staged_row_weights(X, y > 0))
    assert two[0].shape == (80,) and np.ptp(two[-1]) > 0
