"""Categorical naive Bayes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from spinney.base import TableEstimator, parameters
from spinney.bayes.base import Batch, NaiveBayes
from spinney.bayes.bins import bin_codes, check_edges, learn_edges
from spinney.bayes.discrete import DISCRETE_RULES, class_log_prior, smoothing
from spinney.core.arrays import Floats
from spinney.core.elementary import log
from spinney.core.errors import InputError, InputTypeError, UnseenCategoryError
from spinney.core.parameters import NONE, Integer, OneOf, Rule, thread_count
from spinney.core.parameters import ArrayLike as ArrayRule
from spinney.data.columns import column_label
from spinney.data.schema import Schema, Table, read_table
from spinney.data.weights import check_weights
from spinney.io import require
from spinney.members.tables import is_array
from spinney.native import core

_MAX_CODE = 2**31 - 2
Codes = NDArray[np.int32]


@parameters
class CategoricalNB(NaiveBayes, TableEstimator):
    """Categorical naive Bayes: every feature has a probability per category and class.

    P(x_j = c | class k) = (N_kjc + α) / (N_kj + α n_j), where N_kjc is the weight of the rows of class k with
    category c, N_kj the weight of those in which feature j is known, and n_j its number of categories.
    Missing values are skipped, at fit and at predict time.

    Columns of numbers hold the codes 0, 1, 2, … of categories, as in scikit-learn; use
    ``max_bins`` for others. Columns of text and categorical types are read as they
    are.

    Parameters
    ----------
    alpha : float, default=1.0
        Additive (Laplace) smoothing.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is set to 1e-10.
    fit_prior : bool, default=True
        Whether to learn class priors; if False, they are uniform.
    class_prior : array-like of shape (n_classes,) or None, default=None
        Prior probabilities of the classes; they are not learned then.
    min_categories : int, array-like of shape (n_features,) or None, default=None
        Least number of categories per feature.
    unseen : {"missing", "error"}, default="missing"
        How to handle categories at predict time that were not seen during fit.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The model does not depend on it.
    max_bins : int or None, default=None
        If given, columns of numbers are cut into at most so many bins of about equal weight, learned from the
        first batch; then any table is accepted.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Weight of each class.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithm of the priors.
    category_count_ : list of ndarray of shape (n_classes, n_categories)
        N_kjc of each feature.
    feature_log_prob_ : list of ndarray of shape (n_classes, n_categories)
        log P(x_j = c | class k) of each feature.
    n_categories_ : ndarray of shape (n_features,)
        Number of categories per feature.
    bin_edges_ : list of ndarray
        Edges between the bins of each feature, if ``max_bins`` is set; none for categorical features.
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has column names.

    Examples
    --------
    >>> from spinney import CategoricalNB
    >>> model = CategoricalNB().fit([["red"], ["red"], ["green"]], ["ripe", "ripe", "unripe"])
    >>> model.predict([["red"], [None]]).tolist()
    ['ripe', 'ripe']
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        **DISCRETE_RULES,
        "min_categories": (NONE, Integer(1), ArrayRule()),
        "unseen": (OneOf("missing", "error"),),
        "max_bins": (NONE, Integer(2, 255)),
    }
    _required_attributes = ("class_log_prior_", "category_count_", "feature_log_prob_", "n_categories_")
    _state_attributes = ("bin_edges_",)

    alpha: float = 1.0
    force_alpha: bool = True
    fit_prior: bool = True
    class_prior: ArrayLike | None = None
    min_categories: int | ArrayLike | None = None
    unseen: Literal["missing", "error"] = "missing"
    n_jobs: int | None = None
    max_bins: int | None = None

    class_log_prior_: Floats = field(init=False)
    category_count_: list[Floats] = field(init=False)
    feature_log_prob_: list[Floats] = field(init=False)
    n_categories_: NDArray[np.int64] = field(init=False)
    bin_edges_: list[Floats] = field(init=False)

    def _open(self, X: Any, first: bool, sample_weight: Any) -> tuple[Any, int, dict[str, Any]]:
        _check_dense(X)
        threads = thread_count(self.n_jobs)
        if self.max_bins is not None:
            table = read_table(X) if first else self.schema_.read(X, "missing", type(self).__name__)
            weights = check_weights(sample_weight, table.n_rows)
            edges = learn_edges(table, int(self.max_bins), weights) if first else self.bin_edges_
            read = _binned(table, edges)
            return read, table.n_rows, {"schema_": table.schema, "bin_edges_": edges}
        read = read_codes(X, None if first else self.schema_, "missing", type(self).__name__, threads)
        return read, len(read.codes), {"schema_": read.schema}

    def _sums(self, rows: CategoryCodes, batch: Batch) -> dict[str, Any]:
        n_categories = np.maximum(rows.highest.astype(np.int64) + 1, self._least(rows.codes.shape[1]))
        offset = np.concatenate([[0], np.cumsum(n_categories)])
        table = core.category_counts(
            rows.codes, offset, batch.codes, batch.n_classes, batch.weights, thread_count(self.n_jobs)
        )
        return {"count": split_table(table, offset)}

    def _least(self, n_features: int) -> NDArray[np.int64]:
        """Return the least number of categories per feature."""
        if self.min_categories is None:
            return np.zeros(n_features, np.int64)
        least = np.asarray(self.min_categories)
        if least.dtype.kind not in "iu":
            raise InputError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.ndim and least.shape != (n_features,):
            raise InputError(
                f"'min_categories' should have shape ({n_features},) when an array-like is provided. "
                f"Got {least.shape} instead."
            )
        return np.broadcast_to(least.astype(np.int64), (n_features,))

    def _add_sums(self, sums: dict[str, Any]) -> dict[str, Any]:
        return {
            "count": [_add_counts(*pair) for pair in zip(self.category_count_, sums["count"], strict=True)]
        }

    def _solve(self, sums: Mapping[str, Any], class_count: Floats) -> dict[str, Any]:
        counts: list[Floats] = sums["count"]
        alpha = np.broadcast_to(smoothing(self.alpha, self.force_alpha, len(counts)), (len(counts),))
        sizes = [count.shape[1] for count in counts]
        begin = np.concatenate([[0], np.cumsum(sizes)])
        smoothed = np.concatenate(counts, axis=1) + np.repeat(alpha, sizes)
        # A feature without categories, which has no known value, has no sum.
        filled = np.flatnonzero(sizes)
        totals = np.repeat(np.add.reduceat(smoothed, begin[filled], axis=1), np.array(sizes)[filled], axis=1)
        with np.errstate(invalid="ignore"):
            table = log(smoothed) - log(totals)
        logs = [np.ascontiguousarray(table[:, a:b]) for a, b in pairwise(begin.tolist())]
        return {
            "class_log_prior_": class_log_prior(self.fit_prior, self.class_prior, class_count),
            "category_count_": counts,
            "feature_log_prob_": logs,
            "n_categories_": np.array([count.shape[1] for count in counts], dtype=np.int64),
        }

    def _joint_log_likelihood(self, X: Any) -> Floats:
        self._read_table(X[:1] if isinstance(X, np.ndarray) else X)  # checks names and the number of columns
        _check_dense(X)
        threads = thread_count(self.n_jobs)
        if self.max_bins is not None:
            codes = bin_codes(self._read_table(X), self.bin_edges_)
        else:
            codes = read_codes(X, self.schema_, self.unseen, type(self).__name__, threads).codes
        if self.unseen == "error":
            self._check_seen(codes)
        offset = np.concatenate([[0], np.cumsum(self.n_categories_)])
        table = np.ascontiguousarray(np.concatenate(self.feature_log_prob_, axis=1).T)
        joint = core.sum_categories(codes, offset, table, threads)
        joint += self.class_log_prior_
        return joint

    def _check_seen(self, codes: Codes) -> None:
        for j, limit in enumerate(self.n_categories_.tolist()):
            beyond = np.flatnonzero(codes[:, j] >= limit)
            if len(beyond):
                label = self.schema_.names[j] if self.schema_.has_names else j
                raise UnseenCategoryError(label, int(beyond[0]), int(codes[beyond[0], j]), range(limit))

    def _check_fitted(self) -> None:
        super()._check_fitted()
        n_classes, n_features = len(self.classes_), self.schema_.n_features
        require(is_array(self.n_categories_, np.int64, n_features), "there is not one size per feature")
        require(is_array(self.class_log_prior_, np.float64, n_classes), "there is not one prior per class")
        if self.max_bins is not None:
            check_edges(vars(self).get("bin_edges_"), n_features)
        for parts in (self.category_count_, self.feature_log_prob_):
            require(type(parts) is list and len(parts) == n_features, "there is not one table per feature")
            for part, size in zip(parts, self.n_categories_.tolist(), strict=True):
                require(is_array(part, np.float64, n_classes, size), "a table has another shape than it says")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.positive_only = self.max_bins is None
        return tags


def _check_dense(X: Any) -> None:
    if sparse.issparse(X):
        raise InputTypeError(
            "Sparse data was passed for X, but dense data is required.", fix="Use '.toarray()' to convert it."
        )


class CategoryCodes(NamedTuple):
    """Codes of categories (n_rows, n_features), −1 for missing, the highest of each feature, the schema."""

    codes: Codes
    highest: NDArray[np.integer[Any]]
    schema: Schema


def read_codes(
    X: Any, schema: Schema | None, unseen: Literal["missing", "error"], name: str, n_threads: int = 1
) -> CategoryCodes:
    """Read a table of categories as codes.

    >>> read_codes([["b", 1], ["a", 0]], None, "missing", "CategoricalNB").codes.tolist()
    [[1, 1], [0, 0]]
    """
    if isinstance(X, np.ndarray) and X.dtype.kind in "iu" and X.ndim == 2 and X.size:
        found = read_table(X[:1]).schema if schema is None else schema
        if not found.categorical.any():
            plain = np.ascontiguousarray(X, X.dtype if X.dtype in (np.int32, np.int64) else _wider(X.dtype))
            codes, highest, lowest = core.integer_codes(plain, n_threads)
            if lowest < 0 or highest.max() > _MAX_CODE:
                _check_range(X, name, None)
            return CategoryCodes(codes, highest, found)
    table = read_table(X) if schema is None else schema.read(X, unseen, name)
    found = table.schema
    names = found.names if found.has_names else None
    if table.block is not None:
        block = _codes_of_numbers(table.block, name, names)
        return CategoryCodes(block, block.max(axis=0, initial=0), found)
    out = np.empty((table.n_rows, table.n_features), np.int32)
    for j, (column, feature) in enumerate(zip(table.columns, found.features, strict=True)):
        if feature.kind == "categorical":
            out[:, j] = column
        else:
            label = [column_label(names, j)]
            out[:, j] = _codes_of_numbers(column[:, None], name, label)[:, 0]
    return CategoryCodes(out, out.max(axis=0), found)


def _binned(table: Table, edges: list[Floats]) -> CategoryCodes:
    """Return the codes of a table whose numbers are cut into bins, which all count as seen."""
    codes = bin_codes(table, edges)
    highest = np.where(table.schema.categorical, codes.max(axis=0), [len(one) for one in edges])
    return CategoryCodes(codes, highest, table.schema)


def _wider(dtype: np.dtype[Any]) -> Any:
    """Return the type that integers are read as; those of 64 bits without sign beyond it become negative."""
    return np.int32 if dtype.itemsize <= 2 else np.int64


def _codes_of_numbers(block: NDArray[Any], name: str, names: Sequence[str | int] | None) -> Codes:
    """Return numbers of at least 0, or NaN, as codes; fractions are cut off, as in scikit-learn."""
    missing = np.isnan(block)
    known = np.where(missing, 0, block)
    _check_range(known, name, names)
    codes = known.astype(np.int32)
    codes[missing] = -1
    return codes


def _check_range(values: NDArray[Any], name: str, names: Sequence[str | int] | None) -> None:
    low, high = values.min(initial=0), values.max(initial=0)
    if low >= 0 and high <= _MAX_CODE:
        return
    row, j = map(int, np.argwhere((values < 0) | (values > _MAX_CODE))[0])
    what = "Negative values" if low < 0 else "Values too large for a category code"
    label = j if names is None else names[j]
    raise InputError(f"{what} in data passed to {name} (input X)", column=label, row=row)


def split_table(table: Floats, offset: NDArray[np.int64]) -> list[Floats]:
    """Split (n_categories, n_classes) of all features into one (n_classes, n_categories) per feature."""
    return [np.ascontiguousarray(table[a:b].T) for a, b in pairwise(offset)]


def _add_counts(first: Floats, second: Floats) -> Floats:
    """Return the sum of two count tables, whose numbers of categories may differ."""
    width = max(first.shape[1], second.shape[1])
    total = np.zeros((len(first), width))
    total[:, : first.shape[1]] += first
    total[:, : second.shape[1]] += second
    return total
