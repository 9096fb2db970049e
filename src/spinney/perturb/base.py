"""What the learners of this folder share: adopting a fit at once, and ensembles over any estimator."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin

from spinney.bagging.predictions import mean_prediction
from spinney.core.errors import SpinneyError
from spinney.core.parameters import FLAG, NONE, Rule, Whole, check_parameters, draw_seed, thread_count
from spinney.core.seeds import stream
from spinney.data import read_table
from spinney.data.weights import check_weights
from spinney.io import CorruptModelFile, Persistent
from spinney.members.base_estimators import AnyEstimator, base_estimator_tags, make_member
from spinney.members.fitting import fit_member, run_jobs, takes_weights
from spinney.members.tables import (
    check_described,
    check_input,
    count_training_rows,
    describe_input,
    take_rows,
)
from spinney.perturb.units import Units, make_units

Perturb = Callable[[np.random.Generator], NDArray[Any]]
"""A function that draws one member's targets (n_units,), from its generator alone."""


def check_labels(classes: Any, owner: str) -> None:
    """Raise CorruptModelFile if what a file gives as classes is no ascending list of labels."""
    valid = isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) >= 1
    try:
        ascending = valid and bool((classes[:-1] < classes[1:]).all())
    except TypeError:
        ascending = False
    if not ascending:
        raise CorruptModelFile(f"The classes_ of a {owner} are no ascending list of labels.")


class _Ensemble(BaseEstimator, Persistent, metaclass=ABCMeta):  # type: ignore[misc]
    """Keep parameters, and a fit that comes into being all at once or not at all."""

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]]

    def _keep(self, arguments: dict[str, Any]) -> None:
        """Store the arguments of ``__init__`` untouched, as scikit-learn asks."""
        self.__dict__.update((name, value) for name, value in arguments.items() if name != "self")

    def _adopt(self, **fitted: Any) -> Self:
        """Set all fitted attributes at once, so that a fit that fails leaves the estimator as it was."""
        kept = {name: value for name, value in vars(self).items() if not name.endswith("_")}
        # One assignment, because Ctrl-C may come between any two.
        self.__dict__ = kept | fitted
        return self


class _MemberEnsemble(MetaEstimatorMixin, _Ensemble):  # type: ignore[misc]
    """Make members from a pattern that may be any estimator; tables go to them as they are."""

    _state_attributes: ClassVar[tuple[str, ...]] = ("n_features_in_", "feature_names_in_")
    _required_attributes: ClassVar[tuple[str, ...]] = ("estimators_",)
    estimator: Any
    n_jobs: int | None
    verbose: int
    estimators_: list[Any]

    @abstractmethod
    def _pattern(self) -> Any:
        """Give the estimator that members are copies of."""

    def _fit_members(self, fit: Callable[..., Any], calls: list[tuple[Any, ...]], X: Any) -> list[Any]:
        """Fit a member by each call; X is the whole table, of which members may have been given a part."""
        title = f"{type(self).__name__}: fitting members" if self.verbose else None
        try:
            return run_jobs(fit, calls, self.n_jobs, title)
        except SpinneyError as error:
            if error.row is not None:
                read_table(X)  # the member counts its own rows; here the bad value is met at its true place
            raise

    def _mean_answer(self, X: Any, answer: Callable[[Any, Any], NDArray[Any]]) -> NDArray[np.float64]:
        """Give the mean over the members of ``answer(member, X)``.  -> (n_rows, …)"""
        check_input(self, X)
        n_features = getattr(self, "n_features_in_", 0)
        everything = [np.arange(n_features)] * len(self.estimators_)
        return mean_prediction(self.estimators_, everything, X, n_features, answer, self.n_jobs)

    def _check_state(self) -> None:
        if "estimators_" not in vars(self):
            return
        members = self.estimators_
        if type(members) is not list or not members:
            raise CorruptModelFile(f"The estimators_ of a {type(self).__name__} are no list of members.")
        self._check_members()

    def _check_members(self) -> None:
        for member in self.estimators_:
            self._check_member(member)
        check_described(self)

    def _check_member(self, member: Any) -> None:
        """Raise CorruptModelFile if a member from a file could not answer for this ensemble."""
        known = hasattr(member, "predict") and hasattr(member, "n_features_in_")
        if not known or member.n_features_in_ != vars(self).get("n_features_in_"):
            raise CorruptModelFile(f"A member of a {type(self).__name__} was fitted to other features.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = base_estimator_tags(self._pattern()).input_tags
        return tags


OUTPUT_RULES: dict[str, tuple[Rule, ...]] = {
    "estimator": (NONE, AnyEstimator()),
    "n_estimators": (Whole(1),),
    "bootstrap": (FLAG,),
    "verbose": (FLAG, Whole(0)),
}


class _OutputPerturbation(_MemberEnsemble):
    """Fit each member to the same rows, with targets that were changed at random for it alone."""

    n_estimators: int
    bootstrap: bool
    random_state: Any

    @abstractmethod
    def _read_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any], dict[str, Any]]:
        """Give y as it is to be learned, and what the ensemble has to remember of it."""

    @abstractmethod
    def _perturbation(self, target: NDArray[Any], units: Units) -> tuple[Perturb, dict[str, Any]]:
        """Give the function that draws targets for the units, and what there is to know about it."""

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit every member to X (n_rows, n_features) and its own version of the targets y (n_rows,).

        X may be whatever the members take. A row of weight 3 is three rows, each with a change of its own; a
        weight in between is shared by as many rows as it is rounded up to, but no more than 16.
        """
        check_parameters(type(self).__name__, vars(self), self._parameter_rules)
        thread_count(self.n_jobs)
        seed, n_rows = draw_seed(self.random_state), count_training_rows(X)
        described = describe_input(X)
        target, remembered = self._read_target(y, n_rows)
        units = make_units(X, target, check_weights(sample_weight, n_rows))
        perturb, known = self._perturbation(target, units)
        table, pattern = units.take(X), self._pattern()
        calls = [(pattern, table, perturb, units, self.bootstrap, seed, t) for t in range(self.n_estimators)]
        members = self._fit_members(_fit_perturbed, calls, X)
        return self._adopt(estimators_=members, **described, **remembered, **known)


def _fit_perturbed(
    pattern: Any, table: Any, perturb: Perturb, units: Units, bootstrap: bool, seed: int, t: int
) -> Any:
    """Fit member t; what is drawn for it depends on the seed and t."""
    rng = stream(seed, t)
    member = make_member(pattern, int(rng.integers(2**63)))
    target, weights = perturb(rng), units.weights
    if not bootstrap:
        return fit_member(member, table, target, weights)
    n_units = len(units)
    counts = units.spread(np.bincount(rng.integers(n_units, size=n_units), minlength=n_units))
    if takes_weights(member):
        return fit_member(member, table, target, counts * (1.0 if weights is None else weights))
    rows = np.repeat(np.arange(n_units), counts)
    return fit_member(
        member, take_rows(table, rows), target[rows], None if weights is None else weights[rows]
    )
