"""A batch without rows has predictions without rows, by every method of every learner."""

from typing import Any

import numpy as np
import pytest

import spinney as sp
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


@pytest.mark.parametrize("rows", [[], ()])
def test_an_empty_list_is_refused_by_ensembles_as_by_trees(rows) -> None:
    members = [("tree", sp.DecisionTreeClassifier())]
    models = [sp.VotingClassifier(members), sp.StackingClassifier(members, cv=2), sp.BaggingClassifier()]
    models += [sp.OneVsRestClassifier(sp.DecisionTreeClassifier()), sp.DecisionTreeClassifier()]
    for model in models:
        model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
        with pytest.raises(ValueError, match="Expected 2D array"):
            model.predict(rows)
        with pytest.raises(ValueError, match=r"Expected 2D array|0 sample"):
            model.fit(rows, [])
