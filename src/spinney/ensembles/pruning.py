"""Pruning of a fitted ensemble: fewer members, chosen by what they answer for rows held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from spinney.bagging.sampling import BootstrapSamples
from spinney.core.errors import InputError, show_value
from spinney.core.parameters import check_weights
from spinney.data.target import encode_classes, encode_values, read_target
from spinney.diversity import kappa, member_predictions
from spinney.ensembles.greedy import Counts, SquaredJudge, select
from spinney.io import Persistent
from spinney.members.tables import count_rows
from spinney.tree.ensemble import TreeEnsemble

# One entry a member.
_OF_MEMBERS = (
    "estimators_",
    "estimators_features_",
    "estimator_weights_",
    "estimator_errors_",
    "_names",
    "_seeds",
)
# What no longer describes the ensemble once members are gone.
_OF_THE_WHOLE = (
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
    """Give a smaller copy of a fitted bagging, forest, AdaBoost or voting ensemble.

    X and y are rows that the ensemble was not fitted to. ``size`` is a number of members, or a fraction of
    them. ``by="error"`` adds the member that makes the error of the ensemble least, again and again (of
    classifiers the votes are counted by their weights, of regressors the mean is taken). ``by="kappa"``
    takes the pairs of classifiers that agree least, by κ, until there are enough members.
    ``by="individual"`` takes the members with the least error of their own.

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
    answers = member_predictions(ensemble, X)
    if answers.ndim != 2:
        raise InputError("An ensemble with several outputs cannot be pruned.")
    weights = check_weights(sample_weight, count_rows(X))
    n_kept = _read_size(size, answers.shape[1])
    if is_classifier(ensemble):
        held_out = _Votes(answers, read_target(y, len(answers)), _vote_weights(ensemble), weights)
        ways: dict[str, Callable[[int], list[int]]] = {"kappa": held_out.least_alike}
        judge: Any = held_out
    else:
        target = encode_values(read_target(y, len(answers)), non_negative=False)
        judge, ways = SquaredJudge(list(answers.T[:, :, None]), target, weights), {}
    ways["error"] = lambda n: list(select(judge, n, replacement=False).members)
    ways["individual"] = lambda n: list(select(judge, n, n_initial=n, replacement=False).members)
    if by not in ways:
        raise InputError(f"by is {show_value(by)}; for this ensemble it takes {', '.join(sorted(ways))}.")
    return keep_members(ensemble, np.sort(ways[by](n_kept)))


def keep_members(ensemble: Any, chosen: NDArray[np.intp]) -> Any:
    """Give a copy of a fitted ensemble with the chosen members alone."""
    fitted = vars(ensemble)
    kept = {"estimators_": list, "ensemble_": TreeEnsemble}
    if not any(isinstance(fitted.get(name), kind) for name, kind in kept.items()):
        raise InputError(
            f"The members of {type(ensemble).__name__} cannot be separated from each other",
            fix="Bagging, forests, AdaBoost and voting can be pruned.",
        )
    kind: Any = type(ensemble)
    smaller = kind.__new__(kind)
    smaller.__dict__.update(_part(fitted, chosen))
    if not isinstance(ensemble, Persistent):
        return smaller
    # By way of its state, so that whatever is computed from the members is computed anew.
    anew = kind.__new__(kind)
    anew._set_state(smaller._get_state())
    anew._check_state()
    return anew


def _part(fitted: dict[str, Any], chosen: NDArray[np.intp]) -> dict[str, Any]:
    """Give fitted attributes for the chosen members."""
    part = {name: value for name, value in fitted.items() if name not in _OF_THE_WHOLE}
    for name in _OF_MEMBERS:
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
        part["_samples"] = _kept_bags(part["_samples"], np.asarray(chosen, dtype=np.int64))
    return part


@dataclass(frozen=True, eq=False)
class KeptBags(BootstrapSamples):
    """Hold the bags of those members that are left; each remembers by its first number what it drew."""

    members: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        valid = isinstance(self.members, np.ndarray) and self.members.dtype == np.int64
        if not valid or self.members is None or self.members.ndim != 1 or (self.members < 0).any():
            raise ValueError("the numbers of the members that are left are no numbers")

    def _first_number(self, t: int) -> int:
        assert self.members is not None
        return int(self.members[t])

    def counts(self, t: int) -> Any:
        """Give how often the member drew each row.  -> (n_rows,)"""
        return super().counts(self._first_number(t))

    def columns(self, t: int) -> NDArray[np.int64]:
        """Give the columns that the member drew, ascending.  -> (n_columns_drawn,)"""
        return super().columns(self._first_number(t))

    def estimator_seed(self, t: int) -> int:
        """Give the seed of what the member itself draws."""
        return super().estimator_seed(self._first_number(t))

    def parameter_seed(self, t: int) -> int:
        """Give the seed of the random hyper-parameters of the member."""
        return super().parameter_seed(self._first_number(t))

    def same_draws(self, other: BootstrapSamples) -> bool:
        """Tell that no further member can be drawn as if none were gone."""
        return False


def _kept_bags(bags: BootstrapSamples, chosen: NDArray[np.int64]) -> KeptBags:
    """Give the bags of the chosen members, of those that pruning left before too."""
    drawn = {field.name: getattr(bags, field.name) for field in fields(BootstrapSamples)}
    before = vars(bags).get("members")
    return KeptBags(**drawn, members=chosen if before is None else before[chosen])


class _Votes:
    """Judge classifiers by the error of their weighted votes on held-out rows."""

    def __init__(
        self,
        answers: NDArray[Any],
        y: NDArray[Any],
        vote_weights: NDArray[np.float64] | None,
        row_weights: NDArray[np.float64] | None,
    ) -> None:
        self.n_members = answers.shape[1]
        codes = encode_classes(np.concatenate([answers.T.ravel(), y])).codes[:, 0]
        self._codes = codes[: answers.size].reshape(self.n_members, -1)
        self._true, self._n_classes = codes[answers.size :], int(codes.max()) + 1
        rows = np.ones(len(y)) if row_weights is None else row_weights
        self._rows = rows / rows.sum()
        self._weights = np.ones(self.n_members) if vote_weights is None else vote_weights

    def losses(self, counts: Counts) -> NDArray[np.float64]:
        """Give the error with one more of each member."""
        rows = np.arange(len(self._true))
        votes = np.zeros((len(rows), self._n_classes))
        for chosen in np.flatnonzero(counts):
            votes[rows, self._codes[chosen]] += counts[chosen] * self._weights[chosen]
        leader = votes.argmax(axis=1)
        most = votes[rows, leader]
        losses = np.empty(self.n_members)
        for i, code in enumerate(self._codes):
            # One more vote can only make the class leader that it is for; the first of equals leads.
            raised = votes[rows, code] + self._weights[i]
            leads = (raised > most) | ((raised == most) & (code < leader))
            losses[i] = self._rows @ (np.where(leads, code, leader) != self._true)
        return losses

    def least_alike(self, n_kept: int) -> list[int]:
        """Give the members of the pairs with the least κ, the least pair first."""
        matrix = kappa(self._codes.T, sample_weight=self._rows)
        first, second = np.triu_indices(self.n_members, 1)
        order = np.argsort(matrix[first, second], kind="stable")
        pairs = np.stack([first[order], second[order]], axis=1).ravel()
        return list(dict.fromkeys([*pairs.tolist(), *range(self.n_members)]))[:n_kept]


def _vote_weights(ensemble: Any) -> NDArray[np.float64] | None:
    weights = getattr(ensemble, "weights_", getattr(ensemble, "estimator_weights_", None))
    return None if weights is None else np.asarray(weights, dtype=np.float64)[: len(ensemble.estimators_)]


def _read_size(size: Any, n_members: int) -> int:
    whole = isinstance(size, int | np.integer) and not isinstance(size, bool) and 1 <= size <= n_members
    if whole:
        return int(size)
    if isinstance(size, float) and 0 < size < 1:
        return max(1, round(size * n_members))
    raise InputError(
        f"size is {show_value(size)}; it takes a whole number from 1 to {n_members}, the number of members, "
        "or a fraction of them."
    )
