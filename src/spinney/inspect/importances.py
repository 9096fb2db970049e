"""Feature importances: by gain, by number of splits, by mean absolute SHAP value, and by permutation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from spinney.core.arrays import Floats
from spinney.core.errors import InputError, show_value, suggest_columns
from spinney.core.frames import to_frame
from spinney.core.parameters import draw_seed
from spinney.inspect.shap import find_tree_sum, shap_values

_PERMUTATION_STREAM = 211


@dataclass(frozen=True, eq=False)
class Importances:
    """The importance of each feature, or of each group of features.

    Attributes
    ----------
    names : tuple of str
        Names of the features or groups.
    values : ndarray of shape (n_features,)
        The importances.
    kind : {"gain", "split", "shap", "permutation"}
        How they were computed.
    low, high : ndarray of shape (n_features,) or None
        Confidence interval of a permutation importance.
    repeats : ndarray of shape (n_features, n_repeats) or None
        Decrease of the score by each permutation.

    Examples
    --------
    >>> feature_importances(model).to_frame()  # doctest: +SKIP
    """

    names: tuple[str, ...]
    values: Floats
    kind: Literal["gain", "split", "shap", "permutation"]
    low: Floats | None = None
    high: Floats | None = None
    repeats: Floats | None = None

    def to_frame(self) -> Any:
        """Return the importances as a data frame, the largest first.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            One line per feature.
        """
        order = np.argsort(-self.values, kind="stable")
        columns: dict[str, Any] = {
            "feature": [self.names[i] for i in order],
            "importance": self.values[order].tolist(),
        }
        if self.low is not None and self.high is not None:
            columns |= {"low": self.low[order].tolist(), "high": self.high[order].tolist()}
        return to_frame(columns)


def feature_importances(
    model: Any, kind: Literal["gain", "split", "shap"] = "gain", X: Any = None, *, normalize: bool = True
) -> Importances:
    """Return importances of the features of a sum of trees.

    Parameters
    ----------
    model : estimator
        A fitted model.
    kind : {"gain", "split", "shap"}, default="gain"
        Total decrease of the impurity, or gain, of the splits of each feature, as ``feature_importances_``;
        the number of these splits; or the mean absolute SHAP value over the rows of X, summed over outputs.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features) or None, default=None
        Rows for ``kind="shap"``.
    normalize : bool, default=True
        Whether the importances sum to 1, as those by gain always do.

    Returns
    -------
    Importances
        One number per feature.

    Examples
    --------
    >>> from spinney import DecisionTreeRegressor
    >>> from spinney.inspect import feature_importances
    >>> model = DecisionTreeRegressor().fit([[0.0, 1.0], [1.0, 1.0]], [2.0, 3.0])
    >>> feature_importances(model, "split").values.tolist()
    [1.0, 0.0]
    """
    total = find_tree_sum(model)
    if kind == "gain":  # the sum is 1, or 0 without splits
        return Importances(total.schema.names, np.asarray(model.feature_importances_, np.float64), kind)
    if kind == "split":
        trees, n = total.trees, total.schema.n_features
        used = np.concatenate([trees.feature[trees.feature >= 0], trees.term_feature])
        values: Floats = np.bincount(total.owner[used], minlength=n).astype(np.float64)
    elif kind == "shap":
        if X is None:
            raise InputError('kind="shap" needs rows', fix="Pass X.")
        means = shap_values(model, X).mean_abs()
        values = means if means.ndim == 1 else means.sum(axis=1)
    else:
        raise InputError(f'kind must be "gain", "split" or "shap", not {show_value(kind)}')
    whole = values.sum()
    return Importances(total.schema.names, values / whole if normalize and whole > 0 else values, kind)


def permutation_importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    scoring: Any = None,
    n_repeats: int = 10,
    groups: Mapping[str, Sequence[str | int]] | None = None,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
    random_state: Any = None,
) -> Importances:
    """Compute how much the score of any model decreases when a feature is permuted (Breiman 2001).

    Use rows that the model was not fitted to.

    Parameters
    ----------
    model : estimator
        Any fitted model.
    X : array-like or data frame of shape (n_rows, n_features)
        Rows to score.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs)
        Labels or values.
    scoring : str, callable or None, default=None
        Score, as in scikit-learn; None is ``model.score``.
    n_repeats : int, default=10
        Number of permutations of each feature, at least 2.
    groups : dict of str to sequence of str or int, or None, default=None
        Columns that are permuted together, by name of the group, such as those of one encoded category or
        correlated ones. None has a group per column.
    confidence : float, default=0.95
        Confidence level of the intervals, which are Student's over the permutations.
    sample_weight : array-like of shape (n_rows,) or None, default=None
        Row weights of the score.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the permutations.

    Returns
    -------
    Importances
        Mean decreases with their intervals; ``repeats`` has all of them.

    Examples
    --------
    >>> from spinney import DecisionTreeRegressor
    >>> from spinney.inspect import permutation_importance
    >>> X, y = [[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0]], [0.0, 1.0, 2.0, 3.0]
    >>> found = permutation_importance(DecisionTreeRegressor().fit(X, y), X, y, random_state=0)
    >>> bool(found.values[0] > 0), float(found.values[1])
    (True, 0.0)
    """
    check_is_fitted(model)
    if n_repeats < 2:
        raise InputError(f"n_repeats must be at least 2 for an interval; it is {n_repeats}")
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be between 0 and 1; it is {confidence}")
    rows = _Columns(X)
    from sklearn.metrics import check_scoring

    score = check_scoring(model, scoring)
    named = {name: [name] for name in rows.names} if groups is None else dict(groups)
    weight = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)}
    before = score(model, X, y, **weight)
    seed, repeats = draw_seed(random_state), np.empty((len(named), n_repeats))
    for g, (name, columns) in enumerate(named.items()):
        positions = [rows.position(column, name) for column in columns]
        for r in range(n_repeats):
            rng = np.random.default_rng([seed, _PERMUTATION_STREAM, g, r])
            order = rng.permutation(rows.n_rows)
            repeats[g, r] = before - score(model, rows.permuted(positions, order), y, **weight)
    means = repeats.mean(axis=1)
    from scipy.stats import t as student_t

    half = student_t.ppf((1 + confidence) / 2, n_repeats - 1) * repeats.std(axis=1, ddof=1) / n_repeats**0.5
    return Importances(tuple(map(str, named)), means, "permutation", means - half, means + half, repeats)


class _Columns:
    """The columns of a table of any kind, with some of them permuted."""

    def __init__(self, X: Any) -> None:
        self._is_frame = hasattr(X, "columns") and hasattr(X, "shape")
        self._X: Any = X if self._is_frame else np.asarray(X)
        if self._X.ndim != 2 if not self._is_frame else False:
            raise InputError("X must have rows and columns")
        self.n_rows = int(self._X.shape[0])
        self.names: list[Any] = list(X.columns) if self._is_frame else list(range(self._X.shape[1]))

    def position(self, column: str | int, group: str | int) -> int:
        """Return the position of a column of a group."""
        if column in self.names:
            return self.names.index(column)
        fix = suggest_columns(column, [str(name) for name in self.names])
        raise InputError(
            f"Group {group!r} has the column {show_value(column)}, which X does not have", fix=fix
        )

    def permuted(self, positions: Sequence[int], order: NDArray[np.int64]) -> Any:
        """Return a copy of the table with the rows of some columns in another order."""
        if not self._is_frame:
            copy = self._X.copy()
            copy[:, list(positions)] = copy[order][:, list(positions)]
            return copy
        if hasattr(self._X, "iloc"):
            copy = self._X.copy()
            for j in positions:
                column = self._X.iloc[:, j]
                copy.isetitem(j, column.iloc[order].set_axis(column.index))
            return copy
        chosen = [self.names[j] for j in positions]
        return self._X.with_columns(self._X.select(chosen)[order.tolist()])
