"""The ensemble of the best learners of a comparison: weights from held-out predictions, scored honestly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.ensembles.selection import LogLoss, SquaredLoss, select
from spinney.ensembles.voting import VotingClassifier, VotingRegressor
from spinney.model_selection.folds import Split
from spinney.model_selection.metrics import Metric, Predictions
from spinney.model_selection.problem import Problem

_N_STEPS = 25


def usable(problem: Problem, predictions: Predictions) -> bool:
    """Return whether a learner can join: a regressor, or a classifier with probabilities.

    >>> from spinney.model_selection.problem import read_problem
    >>> usable(read_problem([[0.0], [1.0]], ["a", "b"]), Predictions(np.array(["a", "b"]), None, None, None))
    False
    """
    return problem.classes is None or predictions.probabilities is not None


def member_weights(
    problem: Problem, members: Sequence[Predictions], rows: NDArray[np.intp] | NDArray[np.bool_]
) -> Floats:
    """Return the weights by greedy selection with replacement (Caruana et al. 2004) on some rows."""
    weights = None if problem.weights is None else problem.weights[rows]
    if problem.classes is None:
        values = [one.labels[rows][:, None] for one in members]
        chosen = select(SquaredLoss(values, problem.y[rows][:, None], weights), _N_STEPS)
    else:
        true = problem.y[rows][:, None] == problem.classes
        parts = [one.probabilities[rows] for one in members if one.probabilities is not None]
        chosen = select(LogLoss(parts, true, weights), _N_STEPS)
    return np.asarray(chosen.counts / chosen.counts.sum())


def combine(problem: Problem, members: Sequence[Predictions], weights: Floats) -> Predictions:
    """Return the weighted mean of the members' predictions."""
    if problem.classes is None:
        values = sum(w * one.labels for w, one in zip(weights, members, strict=True))
        return Predictions(np.asarray(values), None, None, None)
    mean = sum(
        w * one.probabilities
        for w, one in zip(weights, members, strict=True)
        if one.probabilities is not None
    )
    probabilities = np.asarray(mean)
    scores = probabilities[:, 1] if problem.n_classes == 2 else None
    labels = problem.classes[probabilities.argmax(axis=1)]
    return Predictions(labels, probabilities, scores, problem.classes)


def score_folds(
    problem: Problem,
    splits: Sequence[Split],
    by_fold: Sequence[Sequence[Predictions]],
    whole: Sequence[Predictions],
    metrics: Sequence[Metric],
) -> list[dict[str, float]]:
    """Score the ensemble on every fold, with weights that the rows of the other folds determined.

    by_fold[f][m] are the predictions of member m for the rows that fold f held out; whole[m] those of all
    rows.
    """
    held_out = np.zeros(problem.n_rows, dtype=np.bool_)
    for _, test in splits:
        held_out[test] = True
    scores = []
    for (_, test), members in zip(splits, by_fold, strict=True):
        others = held_out.copy()
        others[test] = False
        rows = np.flatnonzero(others if others.any() else held_out)
        found = combine(problem, members, member_weights(problem, whole, rows))
        weights = None if problem.weights is None else problem.weights[test]
        scores.append({metric.name: metric(problem.y[test], found, weights) for metric in metrics})
    return scores


def make_ensemble(problem: Problem, members: Sequence[tuple[str, Any]], weights: Floats) -> Any:
    """Return the unfitted voting ensemble of the members with a weight above 0."""
    kept = [(pair, float(w)) for pair, w in zip(members, weights, strict=True) if w > 0]
    estimators, shares = [pair for pair, _ in kept], [w for _, w in kept]
    if problem.classes is None:
        return VotingRegressor(estimators, weights=shares)
    return VotingClassifier(estimators, voting="soft", weights=shares)
