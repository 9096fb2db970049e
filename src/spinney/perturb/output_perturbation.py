"""Output flipping and output smearing: members fitted to randomly perturbed targets (Breiman, 2000)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from spinney.bagging.predictions import member_probabilities, member_values, member_votes
from spinney.bagging.sampling import row_order
from spinney.base import parameters
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, NONE, Integer, OneOf, Real, Rule, draw_seed, thread_count
from spinney.core.seeds import stream
from spinney.data.target import encode_labels, encode_values, read_target
from spinney.data.weights import check_weights
from spinney.io import require
from spinney.members.base_estimators import AnyEstimator, base_estimator_tags, make_member
from spinney.members.fitting import fit_member, fit_members, takes_sample_as_weights
from spinney.members.tables import (
    check_labels,
    count_training_rows,
    describe_input,
    take_rows,
)
from spinney.perturb.base import _MemberEnsemble
from spinney.trees import DecisionTreeClassifier, DecisionTreeRegressor

Array = NDArray[np.float64]
Perturb = Callable[[np.random.Generator], NDArray[Any]]
"""Function that draws the target (n_copies,) of one member from its generator."""

# With more copies the noise of a row has all but averaged out, and the table would become large.
MAX_COPIES = 16
# Fraction of the labels that are permuted by default: with two classes of equal size, every fifth changes.
_AUTO_FRACTION = 0.4

# ---- rows as copies ----


@dataclass(frozen=True)
class RowCopies:
    """Rows repeated by their weight, and an order of the copies that does not depend on row positions.

    A row of weight 3 is three copies. Noise is drawn per copy in an order that follows from the content of
    the rows. So a row of weight 3 gets the same noise as three equal rows, a row of weight 0 the same as
    none, and shuffling the table changes nothing.

    ``rows`` (n_copies,) are the rows of the copies, ascending; ``weights`` (n_copies,) their weights, None if
    all are 1; ``order`` (n_copies,) the copies in the order of drawing.
    """

    rows: NDArray[np.intp]
    weights: Array | None
    order: NDArray[np.intp]
    n_rows: int

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, X: Any) -> Any:
        """Return the table of the copies: X itself if each row is one copy."""
        everything = np.array_equal(self.rows, np.arange(self.n_rows))
        return X if everything else take_rows(X, self.rows)

    def scatter(self, drawn: NDArray[Any]) -> NDArray[Any]:
        """Return values drawn in ``order`` in the order of the copies.  drawn (n_copies, …)"""
        scattered = np.empty_like(drawn)
        scattered[self.order] = drawn
        return scattered


def make_copies(X: Any, target: NDArray[Any], weights: Array | None) -> RowCopies:
    """Return as many copies of each row as its weight says, rounded up, all of equal weight.

    target (n_rows,) or (n_rows, n_outputs); weights (n_rows,).

    >>> copies = make_copies([[1.0], [2.0]], np.array([0, 1]), np.array([2.0, 0.5]))
    >>> copies.rows.tolist(), copies.weights.tolist()
    ([0, 0, 1], [1.0, 1.0, 0.5])
    """
    n_rows = len(target)
    try:
        order = row_order(X, target)
    except InputError:
        # Members may accept what Spinney does not read as a table, such as texts for a vectorizer.
        order = np.arange(n_rows)
    if weights is None:
        return RowCopies(np.arange(n_rows), None, order, n_rows)
    counts = np.minimum(np.ceil(weights), MAX_COPIES).astype(np.intp)
    rows = np.repeat(np.arange(n_rows), counts)
    each = (weights / np.maximum(counts, 1))[rows]
    rank = np.empty(n_rows, np.intp)
    rank[order] = np.arange(n_rows)
    by_rank = np.argsort(rank[rows], kind="stable")
    return RowCopies(rows, None if (each == 1.0).all() else each, by_rank, n_rows)


def flip_labels(
    labels: NDArray[Any], copies: RowCopies, n_permuted: float, rng: np.random.Generator
) -> NDArray[Any]:
    """Permute the labels of ``n_permuted`` randomly drawn copies.  labels (n_copies,)

    A fractional number is rounded up or down at random, so that it is right on average.
    """
    in_order = labels[copies.order]
    chosen = rng.choice(len(copies), int(n_permuted + rng.random()), replace=False, shuffle=False)
    in_order[chosen] = in_order[rng.permutation(chosen)]
    return copies.scatter(in_order)


def smear_values(values: Array, copies: RowCopies, noise: Array, rng: np.random.Generator) -> Array:
    """Add normal noise to values (n_copies,) or (n_copies, n_outputs); noise: its deviation per output.

    Sums beyond the largest float64 are the largest.
    """
    with np.errstate(over="ignore"):
        smeared = np.asarray(values + noise * copies.scatter(rng.normal(size=values.shape)))
    largest = np.finfo(np.float64).max
    return smeared if np.isfinite(smeared).all() else np.clip(smeared, -largest, largest)


def _deviation(values: Array, weights: Array) -> Array:
    """Return the weighted standard deviation of each output, also if the squares would overflow."""
    largest = np.abs(values).max(axis=0)
    scaled = values / np.where(largest > 0, largest, 1.0)
    mean = np.average(scaled, axis=0, weights=weights)
    variance = np.average(np.square(scaled - mean), axis=0, weights=weights)
    return np.asarray(largest * np.sqrt(variance))


# ---- estimators ----


@parameters
class _OutputPerturbation(_MemberEnsemble):
    """Base class of ensembles that fit each member to the same rows with its own perturbed target."""

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "estimator": (NONE, AnyEstimator()),
        "n_estimators": (Integer(1),),
        "bootstrap": (FLAG,),
        "verbose": (FLAG, Integer(0)),
        "flip_rate": (OneOf("auto"), Real(0.0, 1.0, open_ends=")")),
        "voting": (OneOf("hard", "soft"),),
        "scale": (Real(0.0),),
    }

    n_estimators: int = 50
    bootstrap: bool = False

    @abstractmethod
    def _encode_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any], dict[str, Any]]:
        """Return the target to perturb, and fitted attributes."""

    @abstractmethod
    def _perturbation(self, target: NDArray[Any], copies: RowCopies) -> tuple[Perturb, dict[str, Any]]:
        """Return the function that draws a perturbed target for the copies, and fitted attributes."""

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit every member to its own perturbed target.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Anything that the members accept.
        y : array-like of shape (n_rows,), for regression also (n_rows, n_outputs)
            Class labels or target values.
        sample_weight : array-like of shape (n_rows,), default=None
            Row weights. A row of weight 3 is three rows, each perturbed by itself; a fractional weight is
            split among as many rows as it is rounded up to, at most 16.

        Returns
        -------
        self
            The fitted ensemble.
        """
        self._check_params()
        thread_count(self.n_jobs)
        seed, n_rows = draw_seed(self.random_state), count_training_rows(X)
        described = describe_input(X)
        target, fitted = self._encode_target(y, n_rows)
        copies = make_copies(X, target, check_weights(sample_weight, n_rows))
        perturb, more = self._perturbation(target, copies)
        table, template = copies.take(X), self._template()
        common = (template, table, perturb, copies, self.bootstrap, seed)
        calls = [(*common, t) for t in range(self.n_estimators)]
        members = fit_members(self, _fit_perturbed, calls, X)
        return self._set_fitted(estimators_=members, **described, **fitted, **more)


def _fit_perturbed(
    template: Any, table: Any, perturb: Perturb, copies: RowCopies, bootstrap: bool, seed: int, t: int
) -> Any:
    """Fit member t; its draws depend on the seed and t only."""
    rng = stream(seed, t)
    member = make_member(template, int(rng.integers(2**63)))
    target, weights = perturb(rng), copies.weights
    if not bootstrap:
        return fit_member(member, table, target, weights)
    n = len(copies)
    counts = copies.scatter(np.bincount(rng.integers(n, size=n), minlength=n))
    if takes_sample_as_weights(member):
        return fit_member(member, table, target, counts * (1.0 if weights is None else weights))
    rows = np.repeat(np.arange(n), counts)
    weights = None if weights is None else weights[rows]
    return fit_member(member, take_rows(table, rows), target[rows], weights)


@parameters
class OutputFlippingClassifier(ClassifierMixin, _OutputPerturbation):  # type: ignore[misc]
    """Output flipping (Breiman, 2000): a vote of members whose training labels were flipped at random.

    For each member some rows are drawn and their labels permuted. So every member sees all the rows and
    exactly as many of each class, but not the same errors, which the vote averages out.

    Parameters
    ----------
    estimator : classifier or None, default=None
        What members are copies of; None is a full :class:`~spinney.DecisionTreeClassifier`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of all draws.
    n_jobs : int or None, default=None
        Number of members fitted in parallel, −1 for all cores. None is all cores for Spinney's own members
        and 1 for others, within the limits of an active joblib or threadpoolctl context. The model does not
        depend on it.
    verbose : int, default=0
        Above 0: show a progress bar.
    n_estimators : int, default=50
        Number of members.
    bootstrap : bool, default=False
        Also draw a bootstrap sample of the rows for each member.
    flip_rate : float or "auto", default="auto"
        Fraction of labels changed, on average. It must be below 1 − Σ p² with p the class frequencies, where
        the labels would be random. "auto" is 0.4 of that: 0.2 for two classes of equal size.
    voting : {"hard", "soft"}, default="hard"
        Count the votes of the members, or average their probabilities (a member without them votes).

    Attributes
    ----------
    estimators_ : list of estimators
        Fitted members.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_classes_ : int
        Number of classes.
    flip_rate_ : float
        Fraction of labels changed, on average.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import OutputFlippingClassifier
    >>> from spinney.datasets import load_watermelon3
    >>> X, y = load_watermelon3()
    >>> OutputFlippingClassifier(random_state=0).fit(X, y).predict(X[:2]).tolist()
    ['yes', 'yes']
    """

    _required_attributes = ("classes_", "flip_rate_")
    _default_estimator = DecisionTreeClassifier

    flip_rate: float | Literal["auto"] = "auto"
    voting: Literal["hard", "soft"] = "hard"

    classes_: NDArray[Any] = field(init=False)
    flip_rate_: float = field(init=False)

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    def _encode_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any], dict[str, Any]]:
        codes, classes = encode_labels(y, n_rows)
        # Members are fitted to the labels themselves, since their class_weight may name them.
        return classes[codes], {"classes_": classes}

    def _perturbation(self, target: NDArray[Any], copies: RowCopies) -> tuple[Perturb, dict[str, Any]]:
        labels = target[copies.rows]
        counts = np.unique(labels, return_counts=True)[1]
        max_rate = 1.0 - float(np.square(counts / counts.sum()).sum())
        rate = _AUTO_FRACTION * max_rate if isinstance(self.flip_rate, str) else float(self.flip_rate)
        if rate > 0 and rate >= max_rate:
            raise InputError(
                f"flip_rate is {rate}, but with these classes even random labels differ in only "
                f"{max_rate:.3g} of the rows",
                fix="Give a smaller one, or 'auto'.",
            )
        # Permuting m labels changes (m − 1) · max_rate · n / (n − 1) of them on average.
        n_permuted = 1.0 + rate * (len(copies) - 1) / max_rate if rate > 0 else 0.0
        return partial(flip_labels, labels, copies, n_permuted), {"flip_rate_": rate}

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the most votes, of equal classes the first.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class labels.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_.take(best))

    def predict_proba(self, X: Any) -> Array:
        """Predict the fraction of votes for each class; with voting="soft", the mean probability.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Fractions with sum 1.
        """
        check_is_fitted(self)
        predict = member_votes if self.voting == "hard" else member_probabilities
        return self._mean_prediction(X, partial(predict, classes=[self.classes_]))

    def _check_fitted(self) -> None:
        check_labels(self.classes_)
        rate: Any = self.flip_rate_
        require(type(rate) is float and 0 <= rate < 1, "the flip rate is not a rate")
        super()._check_fitted()

    def _is_member(self, member: Any) -> bool:
        known = set(self.classes_.tolist())
        return bool(is_classifier(member)) and known.issuperset(np.ravel(member.classes_).tolist())


@parameters
class OutputSmearingRegressor(RegressorMixin, _OutputPerturbation):  # type: ignore[misc]
    """Output smearing (Breiman, 2000): the mean of members fitted to targets with added noise.

    Every member is fitted to all the rows and to y + scale · s · z instead of y, with s the standard
    deviation of y and z drawn from the normal distribution per row and member. The mean averages the noise
    out.

    Parameters
    ----------
    estimator : regressor or None, default=None
        What members are copies of; None is a full :class:`~spinney.DecisionTreeRegressor`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of all draws.
    n_jobs : int or None, default=None
        Number of members fitted in parallel, −1 for all cores. None is all cores for Spinney's own members
        and 1 for others, within the limits of an active joblib or threadpoolctl context. The model does not
        depend on it.
    verbose : int, default=0
        Above 0: show a progress bar.
    n_estimators : int, default=50
        Number of members.
    bootstrap : bool, default=False
        Also draw a bootstrap sample of the rows for each member.
    scale : float, default=0.5
        Standard deviation of the noise, in standard deviations of y.

    Attributes
    ----------
    estimators_ : list of estimators
        Fitted members.
    noise_ : ndarray of shape (n_outputs,)
        Standard deviation of the noise of each target.
    n_outputs_ : int
        Number of targets.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import OutputSmearingRegressor
    >>> X = [[i / 50] for i in range(50)]
    >>> model = OutputSmearingRegressor(random_state=0).fit(X, [x[0] ** 2 for x in X])
    >>> model.predict([[0.5]]).round(1).tolist()
    [0.2]
    """

    _required_attributes = ("noise_",)
    _default_estimator = DecisionTreeRegressor

    scale: float = 0.5

    noise_: Array = field(init=False)

    @property
    def n_outputs_(self) -> int:
        """Number of targets."""
        return len(self.noise_)

    def _encode_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any], dict[str, Any]]:
        given = read_target(y, n_rows)
        return encode_values(given, non_negative=False).reshape(given.shape), {}

    def _perturbation(self, target: NDArray[Any], copies: RowCopies) -> tuple[Perturb, dict[str, Any]]:
        values = target[copies.rows]
        weights = np.ones(len(copies)) if copies.weights is None else copies.weights
        noise = self.scale * _deviation(values[copies.order], weights[copies.order])
        return partial(smear_values, values, copies, noise), {"noise_": np.atleast_1d(noise)}

    def predict(self, X: Any) -> Array:
        """Predict the mean of the members.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            Predictions.
        """
        return self._mean_prediction(X, member_values)

    def _check_fitted(self) -> None:
        noise: Any = self.noise_
        valid = isinstance(noise, np.ndarray) and noise.ndim == 1 and noise.dtype == np.float64
        require(valid and len(noise) and (noise >= 0).all(), "the noise is not a list of deviations")
        super()._check_fitted()

    def _is_member(self, member: Any) -> bool:
        n_outputs = getattr(member, "n_outputs_", self.n_outputs_)
        return bool(is_regressor(member)) and n_outputs == self.n_outputs_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = base_estimator_tags(self._template()).target_tags.multi_output
        return tags
