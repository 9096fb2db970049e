"""Pruning of a fitted ensemble: fewer members, selected by their predictions for held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from spinney.bagging.sampling import BootstrapSamples
from spinney.core.errors import InputError
from spinney.core.parameters import Integer, OneOf, Real, check_parameters
from spinney.data.target import encode_classes, encode_values, read_target
from spinney.data.weights import check_weights
from spinney.diversity import kappa, member_predictions
from spinney.ensembles.selection import Counts, EnsembleLoss, SquaredLoss, row_shares, select
from spinney.members.tables import count_rows
from spinney.tree.ensemble import TreeEnsemble

# Fitted attributes with one entry per member.
_PER_MEMBER = ("estimators_", "estimators_features_", "estimator_weights_", "estimator_errors_", "_names")
# Fitted attributes that describe the unpruned ensemble only.
_DROPPED = (
    "oob_score_",
    "oob_decision_function_",
    "oob_prediction_",
    "leaf_targets_",
    "ledger_",
    "validation_errors_",
)


def prune_ensemble(
    ensemble: Any,
    X: Any,
    y: Any,
    size: int | float,
    *,
    by: Literal["error", "kappa", "individual"] = "error",
    sample_weight: ArrayLike | None = None,
) -> Any:
    """Return a smaller copy of a fitted bagging, forest, AdaBoost or voting ensemble.

    Parameters
    ----------
    ensemble : estimator
        Fitted ensemble of Spinney or scikit-learn. It is not changed.
    X : table of shape (n_rows, n_features)
        Rows that the ensemble was not fitted to.
    y : array-like of shape (n_rows,)
        Their class labels or target values.
    size : int or float
        Number of members to keep, or a fraction of them in (0, 1).
    by : {"error", "kappa", "individual"}, default="error"
        "error" repeatedly adds the member that reduces the error of the ensemble most (weighted votes of
        classifiers, mean of regressors). "kappa" keeps the pairs of classifiers that agree least by Cohen's
        κ. "individual" keeps the members with the smallest error of their own.
    sample_weight : array-like of shape (n_rows,), default=None
        Row weights.

    Returns
    -------
    estimator
        Ensemble of the same class with the kept members.

    Raises
    ------
    InputError
        If the members cannot be separated, or ``size`` or ``by`` is not valid.

    Examples
    --------
    >>> from spinney import BaggingClassifier, prune_ensemble
    >>> X, y = [[i] for i in range(20)], [0, 1, 1, 0] * 5
    >>> large = BaggingClassifier(n_estimators=10, random_state=0).fit(X[:12], y[:12])
    >>> len(prune_ensemble(large, X[12:], y[12:], size=3))
    3
    """
    check_is_fitted(ensemble)
    if hasattr(ensemble, "final_estimator_"):
        raise InputError(
            f"The final estimator of {type(ensemble).__name__} needs every member",
            fix="Drop estimators and fit it again.",
        )
    predictions = member_predictions(ensemble, X)
    if predictions.ndim != 2:
        raise InputError("An ensemble with several outputs cannot be pruned.")
    weights = check_weights(sample_weight, count_rows(X))
    n_members = predictions.shape[1]
    ways: dict[str, Callable[[int], list[int]]] = {}
    loss: EnsembleLoss
    if is_classifier(ensemble):
        loss = _VoteError(predictions, read_target(y, len(predictions)), _vote_weights(ensemble), weights)
        ways["kappa"] = loss.least_agreeing
    else:
        target = encode_values(read_target(y, len(predictions)), non_negative=False)
        loss = SquaredLoss(list(predictions.T[:, :, None]), target, weights)
    ways["error"] = lambda n: list(select(loss, n, replacement=False).members)
    ways["individual"] = lambda n: list(select(loss, n, n_initial=n, replacement=False).members)
    sizes = Integer(1, n_members), Real(0.0, 1.0, open_ends="()", fraction=True)
    rules = {"size": sizes, "by": (OneOf(*sorted(ways)),)}
    check_parameters("prune_ensemble", {"size": size, "by": by}, rules)
    n_kept = int(size) if sizes[0].allows(size) else max(1, round(size * n_members))
    return keep_members(ensemble, np.sort(ways[by](n_kept)))


def keep_members(ensemble: Any, chosen: NDArray[np.intp]) -> Any:
    """Return a copy of a fitted ensemble with only the chosen members."""
    fitted = vars(copy(ensemble))  # which makes members that nobody has asked for yet
    kept = {"estimators_": list, "ensemble_": TreeEnsemble}
    if not any(isinstance(fitted.get(name), kind) for name, kind in kept.items()):
        raise InputError(
            f"The members of {type(ensemble).__name__} cannot be separated from each other",
            fix="Bagging, forests, AdaBoost and voting can be pruned.",
        )
    kind: Any = type(ensemble)
    smaller = kind.__new__(kind)
    smaller.__dict__.update(_chosen_part(fitted, chosen))
    return copy(smaller)  # computes anew what follows from the members


def _chosen_part(fitted: dict[str, Any], chosen: NDArray[np.intp]) -> dict[str, Any]:
    """Return the attributes of an ensemble of the chosen members."""
    part = {name: value for name, value in fitted.items() if name not in _DROPPED}
    for name in _PER_MEMBER:
        if name in part:
            entries = part[name]
            part[name] = [entries[i] for i in chosen] if isinstance(entries, list) else entries[chosen]
    if "weights_" in part:
        kept = part["weights_"][chosen]
        part["weights_"] = kept / kept.sum() if kept.sum() > 0 else np.full(len(kept), 1.0 / len(kept))
    if isinstance(part.get("ensemble_"), TreeEnsemble):
        trees = part["ensemble_"]
        part["ensemble_"] = TreeEnsemble.from_trees(trees.tree(int(i)) for i in chosen)
    if isinstance(part.get("_samples"), BootstrapSamples):
        samples = part["_samples"]  # pruning may have been done before
        part["_samples"] = samples.of_members(samples.numbers(int(chosen.max()) + 1)[chosen])
    return part


class _VoteError:
    """Error of the weighted votes of classifiers on held-out rows."""

    def __init__(
        self,
        predictions: NDArray[Any],
        y: NDArray[Any],
        vote_weights: NDArray[np.float64] | None,
        row_weights: NDArray[np.float64] | None,
    ) -> None:
        self.n_members = predictions.shape[1]
        codes = encode_classes(np.concatenate([predictions.T.ravel(), y])).codes[:, 0]
        self._codes = codes[: predictions.size].reshape(self.n_members, -1)
        self._true, self._n_classes = codes[predictions.size :], int(codes.max()) + 1
        self._rows = row_shares(row_weights, len(y))
        self._weights = np.ones(self.n_members) if vote_weights is None else vote_weights

    def losses(self, counts: Counts) -> NDArray[np.float64]:
        """Return the error with one more of each member."""
        rows = np.arange(len(self._true))
        votes = np.zeros((len(rows), self._n_classes))
        for chosen in np.flatnonzero(counts):
            votes[rows, self._codes[chosen]] += counts[chosen] * self._weights[chosen]
        leader = votes.argmax(axis=1)
        largest = votes[rows, leader]
        losses = np.empty(self.n_members)
        for i, code in enumerate(self._codes):
            # One more vote can only make its own class the leader; the first of equal classes leads.
            raised = votes[rows, code] + self._weights[i]
            leads = (raised > largest) | ((raised == largest) & (code < leader))
            losses[i] = self._rows[np.where(leads, code, leader) != self._true].sum()
        return losses

    def least_agreeing(self, n_kept: int) -> list[int]:
        """Return the members of the pairs with the smallest κ, in that order."""
        matrix = kappa(self._codes.T, sample_weight=self._rows)
        first, second = np.triu_indices(self.n_members, 1)
        order = np.argsort(matrix[first, second], kind="stable")
        pairs = np.stack([first[order], second[order]], axis=1).ravel()
        return list(dict.fromkeys([*pairs.tolist(), *range(self.n_members)]))[:n_kept]


def _vote_weights(ensemble: Any) -> NDArray[np.float64] | None:
    weights = getattr(ensemble, "weights_", getattr(ensemble, "estimator_weights_", None))
    return None if weights is None else np.asarray(weights, dtype=np.float64)[: len(ensemble.estimators_)]
