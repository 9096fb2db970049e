"""Isolation forest: anomalies are the rows that a few random splits separate from the others."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from spinney.base import CountsAs, TableEstimator, parameters
from spinney.core.arrays import Floats
from spinney.core.elementary import exp, log
from spinney.core.errors import InputError
from spinney.core.parameters import FLAG, Integer, OneOf, Real, Rule, draw_seed
from spinney.core.seeds import draw_word, stream
from spinney.data.schema import Table, read_table
from spinney.data.sparse import checked_sparse
from spinney.data.training_set import Target, code_table
from spinney.data.weights import check_weights
from spinney.io import Persistent, require
from spinney.members.fitting import run_jobs
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.grower import Grower
from spinney.tree.plan import GrowPlan
from spinney.tree.predictor import Predictor
from spinney.tree.tree_arrays import TreeArrays
from spinney.trees.extra import ExtraTreeRegressor
from spinney.trees.parameters import RULES as TREE_RULES

Rows = NDArray[np.int64]

_AUTO_SAMPLES = 256  # Liu et al.: more rows per tree do not help, they hide anomalies among each other
_ROWS, _COLUMNS, _TREE, _TARGET = range(4)


@dataclass(frozen=True, eq=False)
class IsolationSamples(Persistent):
    """The rows and columns of each tree, drawn again whenever they are needed.

    Attributes
    ----------
    seed : int
        Seed of all draws.
    n_rows, n_draw : int
        Number of training rows, and of rows per tree.
    n_columns, n_columns_drawn : int
        Number of columns, and of columns per tree.
    bootstrap : bool
        Whether rows are drawn with replacement.
    weights : ndarray of shape (n_rows,) or None
        Rows are drawn in proportion to them.
    """

    seed: int
    n_rows: int
    n_draw: int
    n_columns: int
    n_columns_drawn: int
    bootstrap: bool
    weights: Floats | None = None

    def __post_init__(self) -> None:
        numbers = (self.seed, self.n_rows, self.n_draw, self.n_columns, self.n_columns_drawn)
        require(all(type(n) is int and n >= 0 for n in numbers), "a number of rows or columns is not valid")
        require(type(self.bootstrap) is bool and self.seed < 2**64, "the draws of the rows are not valid")
        require(1 <= self.n_draw <= self.n_rows, "the number of rows per tree is not valid")
        require(self.n_columns_drawn <= self.n_columns, "the number of columns per tree is not valid")
        weights = self.weights
        if weights is None:
            return
        valid = isinstance(weights, np.ndarray) and weights.dtype == np.float64
        valid = valid and weights.shape == (self.n_rows,) and bool((weights >= 0).all())
        enough = valid and np.count_nonzero(weights) >= (1 if self.bootstrap else self.n_draw)
        require(enough and bool(np.isfinite(weights).all()), "the weights of the rows are not valid")

    def seed_of(self, t: int, purpose: int) -> int:
        """Return the seed of tree t for a purpose."""
        return draw_word(draw_word(self.seed, t), purpose)

    def rows(self, t: int) -> Rows:
        """Return the rows of tree t, ascending.  -> (n_draw,)"""
        chances = None if self.weights is None else _chances(self.weights)
        rng = stream(self.seed_of(t, _ROWS), 0)
        drawn = rng.choice(self.n_rows, self.n_draw, replace=self.bootstrap, p=chances, shuffle=False)
        return np.sort(drawn).astype(np.int64, copy=False)

    def columns(self, t: int) -> Rows:
        """Return the columns of tree t, ascending.  -> (n_columns_drawn,)"""
        if self.n_columns_drawn == self.n_columns:
            return np.arange(self.n_columns)
        rng = stream(self.seed_of(t, _COLUMNS), 0)
        drawn = rng.choice(self.n_columns, self.n_columns_drawn, replace=False, shuffle=False)
        return np.sort(drawn).astype(np.int64, copy=False)

    def same_draws(self, other: IsolationSamples) -> bool:
        """Return True if the other samples are drawn in the same way from as many rows."""
        return all(np.array_equal(value, getattr(other, name)) for name, value in vars(self).items())


def average_path_length(n: NDArray[Any]) -> Floats:
    """Return c(n), the mean depth of a leaf in a random binary search tree of n rows (Liu et al., eq. 1).

    >>> average_path_length(np.array([1, 2, 256])).round(3).tolist()
    [0.0, 1.0, 10.245]
    """
    many = np.maximum(n, 3).astype(np.float64)
    harmonic = log(many - 1.0) + np.euler_gamma
    length: Floats = 2.0 * harmonic - 2.0 * (many - 1.0) / many
    return np.where(n > 2, length, np.where(n == 2, 1.0, 0.0))


@parameters
class IsolationForest(CountsAs, OutlierMixin, TableEstimator):  # type: ignore[misc]
    """Isolation forest (Liu, Ting and Zhou 2008), which finds anomalies without labels.

    Every tree splits a small sample of the rows by random features and random thresholds. Rows that are
    alone after a few splits are anomalies. The score of a row is 2^(−E[h] / c(n)), with the mean depth E[h]
    of its leaves and the mean depth c(n) of a random tree of n rows. The parameters of scikit-learn's
    ``IsolationForest`` have the same meaning and defaults. Missing values and categorical features are split
    as in other trees.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_samples : "auto", int or float, default="auto"
        Number or fraction of rows per tree. "auto" is 256, or all rows if there are fewer.
    contamination : "auto" or float, default="auto"
        Fraction of anomalies among the training rows, up to 0.5, by which `offset_` is chosen. "auto" is the
        threshold of the original paper.
    max_features : int or float, default=1.0
        Number or fraction of features per tree.
    bootstrap : bool, default=False
        Whether rows are drawn with replacement.
    n_jobs : int or None, default=None
        Number of threads. None and −1 use all cores, None within the limits of an active joblib or
        threadpoolctl context. The fitted forest is the same, to the last bit, for any number.
    random_state : int, RandomState, Generator or None, default=None
        Seed of all draws. None draws it from NumPy's global generator.
    verbose : int, default=0
        Above 0, show a progress bar.
    warm_start : bool, default=False
        Whether ``fit`` keeps the trees of the previous fit and adds more, up to ``n_estimators``.
    categorical_features : list of str or int, mask or None, default=None
        Numeric columns that are categorical. Columns of text, booleans and categorical types always are.
    unseen : {"missing", "error"}, default="missing"
        How to handle categories at predict time that were not seen during fit.

    Attributes
    ----------
    estimator_ : ExtraTreeRegressor
        An unfitted tree with the parameters of the members.
    estimators_ : list of ExtraTreeRegressor
        The trees as fitted estimators, made at every access; a prediction is the length of the path.
    estimators_features_ : list of ndarray
        Columns of each tree. They are drawn again at every access.
    estimators_samples_ : list of ndarray
        Rows of each tree. They are drawn again at every access.
    ensemble_ : TreeEnsemble
        All trees as concatenated arrays. The value of a leaf is its depth plus c(n) of its n rows.
    max_samples_ : int
        Number of rows per tree.
    offset_ : float
        Threshold of the scores: ``decision_function = score_samples − offset_``. −0.5 if ``contamination`` is
        "auto".
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names.

    References
    ----------
    .. [1] F. T. Liu, K. M. Ting and Z.-H. Zhou, "Isolation forest", ICDM 2008.

    Examples
    --------
    >>> model = IsolationForest(random_state=0).fit([[-1.1], [0.3], [0.5], [100.0]])
    >>> model.predict([[0.1], [0.0], [90.0]]).tolist()
    [1, 1, -1]
    """

    counts_as: ClassVar = ("sklearn.ensemble", "IsolationForest")
    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "n_estimators": (Integer(1),),
        "max_samples": (OneOf("auto"), Integer(1), Real(0.0, 1.0, open_ends="(", fraction=True)),
        "contamination": (OneOf("auto"), Real(0.0, 0.5, open_ends="(")),
        "max_features": (Integer(1), Real(0.0, 1.0, open_ends="(", fraction=True)),
        "bootstrap": (FLAG,),
        "verbose": (FLAG, Integer(0)),
        "warm_start": (FLAG,),
        "unseen": TREE_RULES["unseen"],
    }
    _required_attributes: ClassVar[tuple[str, ...]] = ("ensemble_", "offset_", "_samples")
    _transient_attributes: ClassVar[tuple[str, ...]] = ("max_samples_", "_predictor", "_members")

    n_estimators: int = 100
    max_samples: int | float | str = "auto"
    contamination: float | str = "auto"
    max_features: int | float = 1.0
    bootstrap: bool = False
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    warm_start: bool = False
    categorical_features: Any = None
    unseen: Literal["missing", "error"] = "missing"

    ensemble_: TreeEnsemble = field(init=False)
    offset_: float = field(init=False)
    max_samples_: int = field(init=False)
    _samples: IsolationSamples = field(init=False)
    _predictor: Predictor = field(init=False)

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Training rows. Missing values and columns of text are allowed.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights: rows are drawn in proportion to them.

        Returns
        -------
        self
            The fitted forest.

        Examples
        --------
        >>> IsolationForest(random_state=0).fit([[0.0], [0.1], [9.0]]).predict([[9.0]]).tolist()
        [-1]
        """
        self._check_params()
        table = read_table(X, self.categorical_features)
        samples = self._draw_samples(table, check_weights(sample_weight, table.n_rows))
        numbers = range(len(self) if self._continues else 0, self.n_estimators)
        ensemble = self.ensemble_ if self._continues else None
        if numbers:
            grown = self._grow(_row_reader(X, table), samples, numbers)
            ensemble = grown if ensemble is None else ensemble.extend(grown)
        assert ensemble is not None
        offset = -0.5
        if self.contamination != "auto":
            scores = _scores(Predictor(ensemble), samples.n_draw, table, self._threads_for(table))
            offset = float(np.percentile(scores, 100.0 * float(self.contamination)))
        made = vars(self).get("_members") if self._continues else None
        return self._set_fitted(
            schema_=table.schema, ensemble_=ensemble, offset_=offset, _samples=samples, _members=made
        )

    @property
    def _continues(self) -> bool:
        """Whether ``fit`` adds trees to those of the previous fit."""
        return self.warm_start and hasattr(self, "_samples")

    def _draw_samples(self, table: Table, weights: Floats | None) -> IsolationSamples:
        """Return how rows and columns are drawn."""
        n_rows = n_available = table.n_rows
        if weights is not None and not self.bootstrap:
            n_available = int(np.count_nonzero(_chances(weights)))  # a tiny share is rounded to 0
        n_draw = min(_AUTO_SAMPLES, n_rows)
        if Integer(1).allows(self.max_samples):
            n_draw = int(self.max_samples)
            if n_draw > n_rows:
                warnings.warn(
                    f"max_samples ({n_draw}) is greater than the total number of samples ({n_rows}). "
                    "max_samples will be set to n_samples for estimation.",
                    UserWarning,
                    stacklevel=3,
                )
        elif self.max_samples != "auto":
            n_draw = max(1, int(float(self.max_samples) * n_rows))
        n, count = table.n_features, Integer(1).allows(self.max_features)
        n_columns = int(self.max_features) if count else max(1, int(self.max_features * n))
        if n_columns > n:
            raise InputError(f"max_features is {n_columns}, but X has {n} features.")
        samples = IsolationSamples(
            seed=self._samples.seed if self._continues else draw_seed(self.random_state),
            n_rows=n_rows,
            n_draw=min(n_draw, n_available),
            n_columns=n,
            n_columns_drawn=n_columns,
            bootstrap=bool(self.bootstrap),
            weights=None if weights is None else weights.copy(),
        )
        if self._continues:
            self._check_continues(samples)
        return samples

    def _check_continues(self, samples: IsolationSamples) -> None:
        """Raise InputError if trees of these samples cannot be added."""
        if not self._samples.same_draws(samples):
            raise InputError(
                "warm_start=True adds trees for the same rows, drawn in the same way, but the data or the "
                "parameters have changed",
                fix="Fit with the data and parameters of the first fit, or set warm_start=False.",
            )
        if self.n_estimators < len(self):
            raise InputError(
                f"n_estimators is {self.n_estimators}, but there are already {len(self)} trees",
                fix="With warm_start=True n_estimators can only grow.",
            )
        if self.n_estimators == len(self):
            message = "Warm-start fitting without increasing n_estimators does not fit new trees."
            warnings.warn(message, UserWarning, stacklevel=4)

    def _grow(self, read: Callable[[Rows], Table], samples: IsolationSamples, numbers: range) -> TreeEnsemble:
        """Grow the trees of these numbers."""
        plan = GrowPlan(
            criterion="squared_error",
            splitter="random",
            max_features=1,
            max_depth=math.ceil(math.log2(max(samples.n_draw, 2))),
        )
        title = f"{type(self).__name__}: growing trees" if self.verbose else None
        return TreeEnsemble.from_trees(
            run_jobs(_grow_tree, [(read, samples, plan, t) for t in numbers], self.n_jobs, title)
        )

    # ---- fitted attributes ----

    def _derived(self, fitted: Mapping[str, Any]) -> dict[str, Any]:
        own = {"max_samples_": fitted["_samples"].n_draw, "_predictor": Predictor(fitted["ensemble_"])}
        return super()._derived(fitted) | own

    def _check_fitted(self) -> None:
        schema, ensemble, samples = self.schema_, self.ensemble_, self._samples
        require(isinstance(ensemble, TreeEnsemble), "an isolation forest has no trees")
        valid = isinstance(samples, IsolationSamples) and samples.n_columns == schema.n_features
        require(valid, "the samples and the schema have different numbers of features")
        require(ensemble.n_features == schema.n_features, "the trees and the schema have different features")
        ensemble.validate([len(feature.categories) for feature in schema.features])
        require(ensemble.value.shape[1:] == (1, 1), "a tree has more than one value per node")
        require(type(self.offset_) is float and math.isfinite(self.offset_), "offset_ is not a number")

    def __len__(self) -> int:
        return self.ensemble_.n_trees

    def __getitem__(self, index: int) -> ExtraTreeRegressor:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[ExtraTreeRegressor]:
        return iter(self.estimators_)

    @property
    def estimator_(self) -> ExtraTreeRegressor:
        """An unfitted tree with the parameters of the members."""
        check_is_fitted(self)
        depth = math.ceil(math.log2(max(self.max_samples_, 2)))
        return ExtraTreeRegressor(max_features=1, max_depth=depth, max_bins=None, unseen=self.unseen)

    @property
    def estimators_(self) -> list[ExtraTreeRegressor]:
        """The trees as fitted estimators, made at the first access."""
        check_is_fitted(self)
        made: list[ExtraTreeRegressor] = self.__dict__.setdefault("_members", [])
        made += [self._member(t, self.ensemble_.tree(t)) for t in range(len(made), len(self))]
        return list(made)

    def _member(self, t: int, tree: TreeArrays) -> ExtraTreeRegressor:
        """Return tree number t as an estimator of its own columns."""
        member, columns = self.estimator_, self._samples.columns(t)
        member.random_state = self._samples.seed_of(t, _TREE)
        own = np.where(tree.feature >= 0, np.searchsorted(columns, tree.feature), tree.feature)
        tree = replace(tree, feature=own.astype(np.int32), n_features=len(columns))
        return member.set_tree(tree, self.schema_.select(columns.tolist()), max_features=1)

    @property
    def estimators_samples_(self) -> list[Rows]:
        """Rows of each tree, drawn again at every access."""
        check_is_fitted(self)
        return [self._samples.rows(t) for t in range(len(self))]

    @property
    def estimators_features_(self) -> list[Rows]:
        """Columns of each tree, drawn again at every access."""
        check_is_fitted(self)
        return [self._samples.columns(t) for t in range(len(self))]

    # ---- prediction ----

    def score_samples(self, X: Any) -> Floats:
        """Compute the negative anomaly score of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Scores from −1 (anomalies) to 0.
        """
        table = self._read_table(X)
        return _scores(self._predictor, self.max_samples_, table, self._threads_for(table))

    def decision_function(self, X: Any) -> Floats:
        """Compute the score of each row minus `offset_`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Scores, negative for anomalies.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Predict which rows are anomalies.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            −1 for anomalies, 1 for all others.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)


def _chances(weights: Floats) -> Floats:
    """Return the chance of each row to be drawn."""
    chances = weights / weights.max()  # the sum of large weights may overflow
    return np.asarray(chances / chances.sum())


def _row_reader(X: Any, table: Table) -> Callable[[Rows], Table]:
    """Return a function that reads some rows of X, whose table is known."""
    if not sparse.issparse(X):
        return table.take
    rows = checked_sparse(X).tocsr()  # a sparse table decompresses whole columns
    return lambda numbers: table.schema.read(rows[numbers])


def _grow_tree(
    read: Callable[[Rows], Table], samples: IsolationSamples, plan: GrowPlan, t: int
) -> TreeArrays:
    """Grow tree number t; the value of a leaf is the length of the path that it stands for."""
    columns = samples.columns(t)
    table = read(samples.rows(t))
    table = table if len(columns) == samples.n_columns else table.select(columns.tolist())
    # No two rows have the same target, so no node counts as pure. Targets decide where missing values go.
    target = Target(values=stream(samples.seed_of(t, _TARGET), 0).random((table.n_rows, 1)))
    seed = draw_seed(samples.seed_of(t, _TREE))
    grower = Grower(code_table(table, None, None, 1))
    tree = grower.grow(target, plan.replace(seed=seed, tie_seed=seed)).tree
    length = tree.depth + average_path_length(tree.n_samples)
    feature = np.where(tree.feature >= 0, columns[np.maximum(tree.feature, 0)], tree.feature)
    return replace(
        tree,
        value=length[:, None, None],
        feature=feature.astype(np.int32),
        n_features=samples.n_columns,
    )


def _scores(predictor: Predictor, n_draw: int, table: Table, n_threads: int) -> Floats:
    """Return −2^(−mean path length / c(n_draw)).  -> (n_rows,)"""
    length = predictor.mean(table, n_threads)[:, 0, 0]
    normal = float(average_path_length(np.array([n_draw]))[0])
    # Trees of one row have no splits: every row is as normal as any other.
    return -exp(-length / normal * math.log(2.0)) if normal > 0 else np.full(len(length), -0.5)
