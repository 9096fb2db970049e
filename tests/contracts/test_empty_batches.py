"""A batch without rows has predictions without rows, by every method of every learner."""

from typing import Any

import numpy as np
import pytest

from contracts.learners import LEARNERS, UNSUPERVISED, Learner
from contracts.matrix_learners import MATRIX_LEARNERS, matrix_data

_METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score_samples",
    "transform",
    "apply",
    "decision_path",
    "staged_predict",
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "learner",
    [one for one in (*LEARNERS, *UNSUPERVISED, *MATRIX_LEARNERS) if one.kind != "ranker"],
    ids=lambda one: one.name,
)
def test_a_batch_without_rows(learner: Learner) -> None:
    X, y, _ = matrix_data("regressor" if learner.kind == "regressor" else "classifier", 90)
    model = learner().fit(X, y)
    for name in (name for name in _METHODS if hasattr(model, name)):
        if name == "transform" and getattr(model, "solver", None) == "lsqr":
            continue  # as in scikit-learn, this solver does not transform
        several, none = (_first(getattr(model, name)(rows)) for rows in (X[:3], X[:0]))
        assert none.shape[0] == 0, name
        if name != "decision_path":
            assert none.shape[1:] == several.shape[1:], name


def _first(found: Any) -> Any:
    """Return the array itself, the first of an iterator of stages, or of a tuple of a path and its ends."""
    if isinstance(found, tuple):
        return found[0]
    return found if hasattr(found, "shape") else np.asarray(next(iter(found)))
