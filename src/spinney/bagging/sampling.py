"""Bootstrap samples: the rows and columns of each member, as a function of (seed, member)."""

from __future__ import annotations

import hashlib
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from spinney.base import Estimator, parameters
from spinney.core.cached_attribute import cached_attribute
from spinney.core.errors import InputError
from spinney.core.parameters import Integer, draw_seed
from spinney.core.seeds import draw_seeds, draw_word, draw_words, stream
from spinney.data.schema import Schema, Table, read_table
from spinney.data.target import same_classes
from spinney.io import Persistent
from spinney.native import core

Counts = NDArray[np.int64]
Weights = NDArray[np.float64]
Keys = NDArray[np.uint64]

# Purposes of a member's seed; each has its own stream.
_ROWS, _COLUMNS, _ESTIMATOR, _PARAMETERS = range(4)
_MAX_DRAWS = 10**9
# Integer weights with a larger sum are too large to be counts of rows.
_MAX_COPIES = 10**7


def member_seed(seed: int, t: int) -> int:
    """Return the seed of member t, from which its rows, its columns and its own randomness are drawn.

    >>> member_seed(7, 0) == member_seed(7, 0), member_seed(7, 0) == member_seed(7, 1)
    (True, False)
    """
    return draw_word(seed, t)


def are_counts(weights: Weights | None) -> bool:
    """Return True if weights are integers with a sum of at most 10⁷: a row of weight k then counts as k rows.

    >>> are_counts(np.array([2.0, 0.0])), are_counts(np.array([0.5, 1.0]))
    (True, False)
    """
    if weights is None:
        return True
    return bool((weights == np.floor(weights)).all()) and float(weights.sum()) <= _MAX_COPIES


def sample_size(
    max_samples: int | float | None, bootstrap: bool, n_rows: int, weights: Weights | None
) -> int:
    """Return the number of rows to draw: an integer, a fraction of the available rows, or None for all.

    With a bootstrap, a fraction may exceed 1. With integer weights, their sum is the number of available
    rows; with others, the number above 0.

    >>> sample_size(0.5, True, 8, None), sample_size(None, True, 3, np.array([2.0, 0.0, 5.0]))
    (4, 7)
    """
    if weights is None:
        available = n_rows
    else:
        available = int(weights.sum()) if are_counts(weights) else int(np.count_nonzero(weights))
    if max_samples is not None and Integer(1).allows(max_samples):
        n_draw = int(max_samples)
    else:
        n_draw = max(1, int((1.0 if max_samples is None else max_samples) * available))
    if not bootstrap and n_draw > available:
        raise InputError(
            f"max_samples is {n_draw}, but there are {available} rows to draw without replacement",
            fix="Set max_samples to a smaller number or a fraction, or bootstrap=True.",
        )
    if n_draw > max(available, _MAX_DRAWS):
        raise InputError(f"max_samples is {n_draw}; the maximum is {_MAX_DRAWS}.")
    return n_draw


def draw_columns(seed: int, n_columns: int, n_draw: int, bootstrap: bool) -> NDArray[np.int64]:
    """Draw the columns of a member in ascending order; a bootstrap may repeat a column.  -> (n_draw,)

    >>> draw_columns(0, n_columns=3, n_draw=3, bootstrap=False).tolist()
    [0, 1, 2]
    """
    rng = stream(seed, _COLUMNS)
    drawn = rng.integers(n_columns, size=n_draw) if bootstrap else rng.permutation(n_columns)[:n_draw]
    return np.sort(drawn).astype(np.int64, copy=False)


@dataclass(frozen=True, eq=False)
class BootstrapSamples(Persistent):
    """Samples of rows and columns for all members of an ensemble, with or without replacement.

    Only the rule is stored. Every sample is drawn again whenever it is needed.

    Attributes
    ----------
    seed : int
        Seed of all draws.
    n_rows, n_draw : int
        Number of training rows, and of rows per sample.
    bootstrap : bool
        Whether rows are drawn with replacement.
    n_columns, n_columns_drawn : int
        Number of columns, and of columns per sample.
    bootstrap_columns : bool
        Whether columns are drawn with replacement.
    weights : ndarray of shape (n_rows,) or None
        Sample weights. Integers count copies of a row. With others, rows are drawn in proportion if
        ``bootstrap``, else uniformly among the rows with a weight above 0.
    order : ndarray of shape (n_rows,) or None
        The result of `row_order`. With it, draws do not depend on the positions of the rows.

    Examples
    --------
    >>> samples = BootstrapSamples(0, n_rows=4, n_draw=2, bootstrap=False, n_columns=3, n_columns_drawn=2)
    >>> samples.rows(0).shape, samples.columns(0).shape
    ((2,), (2,))
    """

    seed: int
    n_rows: int
    n_draw: int
    bootstrap: bool
    n_columns: int
    n_columns_drawn: int
    bootstrap_columns: bool = False
    weights: Weights | None = None
    order: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        integers = (self.seed, self.n_rows, self.n_draw, self.n_columns, self.n_columns_drawn)
        valid = all(type(number) is int and number >= 0 for number in integers)
        valid = valid and self.seed < 2**64 and self.n_rows >= 1
        valid = valid and 1 <= self.n_draw <= max(self.n_rows, _MAX_DRAWS)
        valid = valid and type(self.bootstrap) is bool and type(self.bootstrap_columns) is bool
        valid = valid and (self.bootstrap_columns or self.n_columns_drawn <= self.n_columns)
        if not valid:
            raise ValueError("the numbers of rows and columns to draw are not valid")
        if self.order is not None and not _is_permutation(self.order, self.n_rows):
            raise ValueError("the order of the rows is not a permutation")
        if self.weights is not None and not _are_weights(self.weights, self.n_rows):
            raise ValueError("the weights of the rows are not finite numbers of at least 0")
        if not self.bootstrap and self.n_draw > sample_size(None, True, self.n_rows, self.weights):
            raise ValueError("more rows are to be drawn than there are")

    @cached_attribute
    def sampler(self) -> core.BootstrapSampler:
        """The native sampler: ``sampler.draw(seed)`` returns how often each row is drawn, (n_rows,)."""
        copies, chances = None, None
        if self.weights is not None and are_counts(self.weights):
            copies = self.weights.astype(np.int64)
        elif self.weights is not None and self.bootstrap:
            chances = self.weights
        elif self.weights is not None:
            copies = (self.weights > 0).astype(np.int64)
        return core.BootstrapSampler(self.n_rows, self.n_draw, self.bootstrap, self.order, copies, chances)

    def seed_of(self, t: int) -> int:
        """Return the seed from which everything is drawn for member t."""
        return member_seed(self.seed, t)

    def counts(self, t: int) -> Counts:
        """Return how often member t drew each row.  -> (n_rows,)"""
        return self.sampler.draw(draw_word(self.seed_of(t), _ROWS))

    def expected_counts(self) -> Weights:
        """Return how often a member draws each row on average.  -> (n_rows,)"""
        if self.weights is None:
            chances = np.ones(self.n_rows)
        else:
            # Rows that keep their weights are drawn uniformly among those with a weight above 0.
            chances = (self.weights > 0).astype(np.float64) if self.keeps_weights else self.weights
        scaled = chances / chances.max()  # the sum of large weights may overflow
        return np.asarray(scaled * (self.n_draw / scaled.sum()))

    def rows(self, t: int) -> NDArray[np.int64]:
        """Return the rows that member t drew, ascending and with repetitions.  -> (n_draw,)"""
        return np.repeat(np.arange(self.n_rows), self.counts(t))

    @property
    def keeps_weights(self) -> bool:
        """Whether drawn rows keep their weights, because the weights did not affect the draws."""
        return not self.bootstrap and not are_counts(self.weights)

    def member_weights(self, t: int) -> Weights | None:
        """Return the sample of member t as row weights, None if they are all 1.  -> (n_rows,)"""
        weights = self.counts(t).astype(np.float64)
        if self.keeps_weights and self.weights is not None:
            weights *= self.weights
        return None if (weights == 1).all() else weights

    def out_of_bag_rows(self, t: int) -> NDArray[np.int64]:
        """Return the rows with a weight above 0 that member t did not draw, ascending."""
        unseen = self.counts(t) == 0
        return np.flatnonzero(unseen if self.weights is None else unseen & (self.weights > 0))

    def columns(self, t: int) -> NDArray[np.int64]:
        """Return the columns that member t drew, ascending.  -> (n_columns_drawn,)"""
        return draw_columns(self.seed_of(t), self.n_columns, self.n_columns_drawn, self.bootstrap_columns)

    @property
    def all_columns(self) -> bool:
        """Whether every member has all columns, each once."""
        return self.n_columns_drawn == self.n_columns and not self.bootstrap_columns

    def estimator_seed(self, t: int) -> int:
        """Return the seed of member t's own draws."""
        return draw_word(self.seed_of(t), _ESTIMATOR)

    def parameter_seed(self, t: int) -> int:
        """Return the seed of member t's random hyper-parameters."""
        return draw_word(self.seed_of(t), _PARAMETERS)

    def tree_seeds(self, members: range) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return the seeds of the rows of members, and those of trees with their `estimator_seed`."""
        seeds = draw_words(self.seed, members)
        return draw_words(seeds, _ROWS), draw_seeds(draw_words(seeds, _ESTIMATOR))

    def same_draws(self, other: BootstrapSamples) -> bool:
        """Return True if the other samples are drawn in the same way from the same rows."""
        names = [one.name for one in fields(BootstrapSamples)]
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    def numbers(self, n_members: int) -> NDArray[np.int64]:
        """Return the numbers of the members, as `MemberSamples` has them.  -> (n_members,)"""
        return np.arange(n_members)

    def of_members(self, members: NDArray[np.int64]) -> MemberSamples:
        """Return the samples of members of these numbers."""
        drawn = {one.name: getattr(self, one.name) for one in fields(BootstrapSamples)}
        return MemberSamples(**drawn, members=members.astype(np.int64))

    def more_members(self, known: BootstrapSamples, n_known: int, n_more: int) -> BootstrapSamples:
        """Return the samples of members that are known and of more, which are drawn from these rows."""
        same = known.same_draws(self)
        if same and not isinstance(known, MemberSamples):
            return self
        numbers = known.numbers(n_known)
        first = int(np.maximum(numbers, ~numbers).max()) + 1
        before = numbers if same else np.minimum(numbers, ~numbers)
        return self.of_members(np.concatenate([before, np.arange(first, first + n_more)]))


@dataclass(frozen=True, eq=False)
class MemberSamples(BootstrapSamples, persistent_name="KeptSamples"):
    """Bootstrap samples of members that are not the first ones of a table.

    Attributes
    ----------
    members : ndarray of shape (n_members,), int64
        The number k of each member, from which everything is drawn for it; −1 − k if it was fitted to other
        rows, which are not known.

    Examples
    --------
    >>> samples = BootstrapSamples(0, n_rows=4, n_draw=4, bootstrap=True, n_columns=1, n_columns_drawn=1)
    >>> kept = samples.of_members(np.array([2, -1]))
    >>> np.array_equal(kept.rows(0), samples.rows(2)), kept.rows(1).size, kept.out_of_bag_rows(1).size
    (True, 0, 0)
    """

    members: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        super().__post_init__()
        members = self.members
        if not isinstance(members, np.ndarray) or members.dtype != np.int64 or members.ndim != 1:
            raise ValueError("the numbers of the members are not valid")

    def numbers(self, n_members: int) -> NDArray[np.int64]:
        """Return the numbers of the members.  -> (n_members,)"""
        return self.members[:n_members]

    def seed_of(self, t: int) -> int:
        """Return the seed from which everything is drawn for the member."""
        number = int(self.members[t])
        return super().seed_of(max(number, ~number))

    def counts(self, t: int) -> Counts:
        """Return how often member t drew each row, 0 if it was fitted to others.  -> (n_rows,)"""
        return super().counts(t) if self.members[t] >= 0 else np.zeros(self.n_rows, dtype=np.int64)

    def out_of_bag_rows(self, t: int) -> NDArray[np.int64]:
        """Return the rows that member t did not draw, none if it was fitted to others, ascending."""
        return super().out_of_bag_rows(t) if self.members[t] >= 0 else np.empty(0, dtype=np.int64)

    def tree_seeds(self, members: range) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return the seeds of the rows of members, and those of trees with their `estimator_seed`."""
        seeds = np.array([self.seed_of(t) for t in members], dtype=np.uint64)
        return draw_words(seeds, _ROWS), draw_seeds(draw_words(seeds, _ESTIMATOR))


@parameters
class SamplingParameters:
    """Parameters of ensembles whose members are fitted to samples."""

    max_samples: int | float | None = None
    bootstrap: bool = True
    oob_score: bool | Callable[..., float] = False
    warm_start: bool = False
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0


class SampledEnsemble(Estimator, SamplingParameters, persistent_name=""):
    """Base class of ensembles whose members are fitted to bootstrap samples of one table."""

    n_estimators: int
    _samples: BootstrapSamples

    @property
    def _continues(self) -> bool:
        """Whether ``fit`` adds members to those of the previous fit."""
        return self.warm_start and hasattr(self, "_samples")

    def _draw_samples(
        self, n_rows: int, n_columns: int, weights: Weights | None, order: Counts | None, **columns: Any
    ) -> BootstrapSamples:
        """Return how samples are drawn; ``columns`` are fields of the columns that are drawn."""
        return BootstrapSamples(
            seed=self._samples.seed if self._continues else draw_seed(self.random_state),
            n_rows=n_rows,
            n_draw=sample_size(self.max_samples, self.bootstrap, n_rows, weights),
            bootstrap=bool(self.bootstrap),
            n_columns=n_columns,
            weights=None if weights is None else weights.copy(),  # samples are drawn again long after the fit
            order=order,
            **{"n_columns_drawn": n_columns} | columns,
        )

    def _has_all_members(self, samples: BootstrapSamples, classes: Any) -> bool:
        """Return True, with a warning, if a warm start with other data asks for no further members."""
        if not self._continues or self.n_estimators != len(self) or self._same_draws(samples, classes):
            return False
        self._warn_of_no_members()
        return True

    def _same_draws(self, samples: BootstrapSamples, classes: Any) -> bool:
        same = same_classes(vars(self).get("classes_"), classes)
        return same and self._samples.same_draws(samples)

    def _warn_of_no_members(self) -> None:
        warnings.warn(
            "Warm-start fitting without increasing n_estimators does not fit new "
            f"{'trees' if hasattr(self, 'ensemble_') else 'members'}.",
            UserWarning,
            stacklevel=4,
        )

    def _check_continues(self, samples: BootstrapSamples, classes: Any) -> bool:
        """Return `_continues`; raise InputError if members of these samples cannot be added."""
        if not self._continues:
            return False
        if not same_classes(vars(self).get("classes_"), classes):
            raise InputError(
                "warm_start=True adds members that know the same classes, but y has others than in the first "
                "fit",
                fix="Fit with rows of all these classes, or set warm_start=False.",
            )
        names = ("n_columns", "n_columns_drawn", "bootstrap_columns")
        if any(getattr(self._samples, name) != getattr(samples, name) for name in names):
            raise InputError(
                "warm_start=True adds members that draw their columns in the same way, but the number of "
                "columns, max_features or bootstrap_features has changed",
                fix="Fit with the columns and parameters of the first fit, or set warm_start=False.",
            )
        if self.n_estimators < len(self):
            raise InputError(
                f"n_estimators is {self.n_estimators}, but there are already {len(self)} members",
                fix="With warm_start=True n_estimators can only grow.",
            )
        if self.n_estimators == len(self):
            self._warn_of_no_members()
        return True

    def _add_samples(self, samples: BootstrapSamples) -> BootstrapSamples:
        """Return the samples of the earlier members and of those that are added from these."""
        return samples.more_members(self._samples, len(self), self.n_estimators - len(self))

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    def estimators_samples_(self) -> list[NDArray[np.int64]]:
        """Rows that each member drew, ascending and with repetitions; drawn again at every access."""
        check_is_fitted(self)
        return [self._samples.rows(t) for t in range(len(self))]


def _is_permutation(order: Any, n_rows: int) -> bool:
    if not isinstance(order, np.ndarray) or order.dtype != np.int64 or order.shape != (n_rows,):
        return False
    inside = bool(((order >= 0) & (order < n_rows)).all())
    return inside and bool((np.bincount(order, minlength=n_rows) == 1).all())


def _are_weights(weights: Any, n_rows: int) -> bool:
    if not isinstance(weights, np.ndarray) or weights.dtype != np.float64 or weights.shape != (n_rows,):
        return False
    return bool((np.isfinite(weights) & (weights >= 0)).all() and weights.any())


# ---- the order of rows ----


def row_order(X: Any, y: NDArray[Any]) -> NDArray[np.int64]:
    """Return the rows in the order of a hash of their values and targets.

    Draws over this order depend neither on the positions of rows nor on whether a row is repeated or has an
    integer weight. Equal rows are neighbours.

    Parameters
    ----------
    X : Table or table-like
        The rows.
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        The targets.

    Returns
    -------
    ndarray of shape (n_rows,)
        Row numbers.

    Examples
    --------
    >>> X, y = np.array([[3.0], [1.0], [2.0]]), np.array([0, 1, 0])
    >>> order, shuffled = row_order(X, y), row_order(X[::-1], y[::-1])
    >>> X[order].ravel().tolist() == X[::-1][shuffled].ravel().tolist()
    True
    """
    targets = y[:, None] if y.ndim == 1 else y
    keys = _salted(_value_keys(targets[:, 0]), 0)
    for k in range(1, targets.shape[1]):
        keys += _salted(_value_keys(targets[:, k]), k)
    for column_keys in _table_keys(X, targets.shape[1]):
        keys += column_keys
    return np.argsort(keys, kind="stable")


def category_keys(schema: Schema) -> list[Keys]:
    """Return a key per category and column, empty for numeric columns.

    Keys depend on the values of categories, because codes depend on which other categories exist.

    >>> [len(keys) for keys in category_keys(read_table([[1.0, "red"], [2.5, "blue"]]).schema)]
    [0, 2]
    """
    return [np.array([*map(_object_key, feature.categories)], dtype=np.uint64) for feature in schema.features]


def _table_keys(X: Any, first_salt: int) -> Iterator[Keys]:
    """Yield keys (n_rows,) per column, or one sum over all columns; their sum is the key of a row."""
    if sparse.issparse(X):
        yield _sparse_keys(X, first_salt)
        return
    table = X if isinstance(X, Table) else read_table(X)
    for j, by_code in enumerate(category_keys(table.schema)):
        column = table.column(j)
        if table.schema.features[j].kind == "categorical":
            missing = np.uint64(1)  # code −1 is the last entry
            yield _salted(np.append(by_code, missing)[column], first_salt + j)
        else:
            yield _salted(_number_keys(column), first_salt + j)


def _sparse_keys(X: Any, first_salt: int) -> Keys:
    """Return the sums of the keys of stored entries: the key of 0 is 0, stored or not."""
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()  # the user's own matrix stays as it is
        rows.sum_duplicates()
    entries = rows.tocoo()
    keys = np.zeros(X.shape[0], dtype=np.uint64)
    np.add.at(keys, entries.row, _salted(_number_keys(entries.data), entries.col + first_salt))
    return keys


def _value_keys(column: NDArray[Any]) -> Keys:
    if column.dtype.kind in "biuf":
        return _number_keys(column)
    values = column.tolist()
    key_of = {value: _object_key(value) for value in dict.fromkeys(values)}
    return np.array([key_of[value] for value in values], dtype=np.uint64)


def _number_keys(column: NDArray[Any]) -> Keys:
    """Return the bits of each number as float64; −0 equals 0, and all missing values are equal."""
    numbers = column.astype(np.float64) + 0.0
    numbers[np.isnan(numbers)] = np.nan
    return numbers.view(np.uint64)


def _object_key(value: object) -> int:
    # Python's own hash of a string differs between processes.
    return int.from_bytes(hashlib.blake2b(repr(value).encode(), digest_size=8).digest(), "little")


def _salted(keys: Keys, column: int | NDArray[Any]) -> Keys:
    """Hash keys together with the number of their column; the key 0 stays 0."""
    salt = _finalize(np.atleast_1d(np.asarray(column)).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))
    return _finalize(keys * (salt | np.uint64(1)))


def _finalize(keys: Keys) -> Keys:
    """Apply the finalizer of SplitMix64 (Steele, Lea and Flood, 2014)."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
