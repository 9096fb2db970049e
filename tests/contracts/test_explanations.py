"""What explanations promise of every learner that is a sum of trees."""

import numpy as np
import pytest

from contracts.learners import LEARNERS, fewer, mixed_data
from spinney.core.errors import InputError
from spinney.inspect import shap_values


def output_of(model, space, X):
    """The output that contributions must sum to."""
    if space == "value":
        return model.predict(X)
    if space == "probability":
        return model.predict_proba(X)
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
def test_contributions_sum_to_the_output(learner):
    X, y, weights = mixed_data(learner.kind, fewer(learner, 300))
    if "C45" in learner.name and learner.name.startswith("AdaBoost"):
        X = X[["b", "noise"]]  # the vote of a row with missing values is no sum
    model = learner()
    takes_weights = learner.name.startswith(("Decision", "RandomForest", "GradientBoosting"))
    model.fit(X, y, sample_weight=weights) if takes_weights else model.fit(X, y)
    rows = X.iloc[:40]
    try:
        found = shap_values(model, rows)
    except InputError as refused:
        reasons = ("oblique", "not a sum of trees", "members vote", "votes are no sum")
        assert any(reason in str(refused) for reason in reasons), refused
        return
    output = output_of(model, found.space, rows)
    for one in (found, shap_values(model, rows, background=X.iloc[40:70])):
        np.testing.assert_allclose(one.values.sum(axis=1) + one.base_values, output, rtol=0, atol=1e-10)
    pairs = shap_values(model, rows.iloc[:9], interactions=True).values
    np.testing.assert_allclose(pairs.sum(axis=2), found.values[:9], rtol=0, atol=1e-10)
    np.testing.assert_array_equal(pairs, np.swapaxes(pairs, 1, 2))
