"""Embedding of rows by the leaves that they reach in a forest of random trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from spinney.bagging.base import SAMPLING_RULES
from spinney.base import TableEstimator, parameters
from spinney.core.arrays import Floats
from spinney.core.parameters import FLAG, Rule, draw_seed
from spinney.core.seeds import stream
from spinney.data.schema import read_table
from spinney.forests.estimators import ExtraTreesRegressor
from spinney.io import require
from spinney.tree.predictor import Predictor
from spinney.tree.structure import LEAF
from spinney.trees.base import BaseTree
from spinney.trees.parameters import RULES as TREE_RULES

if TYPE_CHECKING:
    from sklearn.preprocessing import OneHotEncoder

_TARGET_STREAM = 104
_TREE_NAMES = (
    "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf", "max_leaf_nodes",
    "min_impurity_decrease", "categorical_features", "unseen", "n_jobs", "verbose", "n_estimators",
)  # fmt: skip
"""Parameters that are those of the forest."""


@parameters
class RandomTreesEmbedding(TransformerMixin, TableEstimator):  # type: ignore[misc]
    """Unsupervised embedding by the leaves of totally random trees (Moosmann, Triggs and Jurie 2006).

    Every node splits one random feature at a random threshold. A row becomes a sparse vector with a 1 for
    each leaf that it reaches, so neighbours share many entries. The parameters of scikit-learn's
    ``RandomTreesEmbedding`` have the same meaning and defaults.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_depth : int or None, default=5
        Maximum depth of a tree; None is no limit.
    min_samples_split : int or float, default=2
        Minimum number of rows to split a node, or fraction of all rows.
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf, or fraction of all rows.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a fraction of the total weight.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves, grown best-first; None is no limit.
    min_impurity_decrease : float, default=0.0
        Minimum decrease of the variance of random targets.
    sparse_output : bool, default=True
        Whether ``transform`` returns a sparse matrix.
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
        How to handle categories at transform time that were not seen during fit.

    Attributes
    ----------
    forest_ : ExtraTreesRegressor
        The trees, fitted to random targets.
    estimator_ : ExtraTreeRegressor
        An unfitted tree with the parameters of the members.
    estimators_ : list of ExtraTreeRegressor
        The trees as fitted estimators, made at every access.
    estimators_samples_ : list of ndarray
        Rows of each tree: all of them.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity decrease by the splits of each feature, with sum 1.
    one_hot_encoder_ : OneHotEncoder
        Encoder of the leaves, made at every access.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had column names.
    n_outputs_ : int
        Number of targets: 1.

    Examples
    --------
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
    >>> embedding = RandomTreesEmbedding(n_estimators=5, max_depth=1, random_state=0)
    >>> embedding.fit_transform(X).shape
    (5, 10)
    """

    _parameter_rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        name: rules for name, rules in (TREE_RULES | SAMPLING_RULES).items() if name in _TREE_NAMES
    } | {"sparse_output": (FLAG,), "warm_start": (FLAG,)}
    _required_attributes: ClassVar[tuple[str, ...]] = ("forest_", "_seed")
    _transient_attributes: ClassVar[tuple[str, ...]] = ("_column_of", "_predictor")

    n_estimators: int = field(default=100, kw_only=False)
    max_depth: int | None = 5
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    min_weight_fraction_leaf: float = 0.0
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    sparse_output: bool = True
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    warm_start: bool = False
    categorical_features: Any = None
    unseen: Literal["missing", "error"] = "missing"

    forest_: ExtraTreesRegressor = field(init=False)
    _seed: int = field(init=False)
    _column_of: NDArray[np.int64] = field(init=False)
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
            Row weights.

        Returns
        -------
        self
            The fitted embedding.
        """
        self._check_params()
        continues = self.warm_start and hasattr(self, "forest_")
        seed = self._seed if continues else draw_seed(self.random_state)
        forest = copy(self.forest_) if continues else ExtraTreesRegressor(max_features=1, random_state=seed)
        forest.set_params(warm_start=continues, **{name: getattr(self, name) for name in _TREE_NAMES})
        n_rows = read_table(X, self.categorical_features).n_rows
        forest.fit(X, stream(seed, _TARGET_STREAM).random(n_rows), sample_weight)
        forest.set_params(warm_start=False, n_jobs=None, verbose=0)
        return self._set_fitted(schema_=forest.schema_, forest_=forest, _seed=seed)

    def fit_transform(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> sparse.csr_matrix | Floats:
        """Grow the trees, and return the embedding of the training rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Training rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights.

        Returns
        -------
        csr_matrix or ndarray of shape (n_rows, n_leaves)
            The embedding.
        """
        return self.fit(X, y, sample_weight).transform(X)

    def transform(self, X: Any) -> sparse.csr_matrix | Floats:
        """Return the leaves that each row reaches, one-hot encoded.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        csr_matrix or ndarray of shape (n_rows, n_leaves)
            1 for the leaf of each tree, else 0.
        """
        leaves = self.apply(X)
        columns = self._column_of[leaves + self.forest_.ensemble_.tree_begin[:-1]]
        n_rows, n_trees = columns.shape
        begin = np.arange(n_rows + 1) * n_trees
        shape = (n_rows, int(self._column_of.max()) + 1)
        encoded = sparse.csr_matrix((np.ones(columns.size), columns.ravel(), begin), shape=shape)
        return encoded if self.sparse_output else encoded.toarray()

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_trees)
            Node numbers.
        """
        table = self._read_table(X)
        return self._predictor.apply(table, self._threads_for(table))

    def decision_path(self, X: Any) -> tuple[Any, NDArray[np.int64]]:
        """Return the nodes that each row passes in each tree.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        path : csr_array of shape (n_rows, n_nodes)
            1 for the nodes on the path of a row.
        offsets : ndarray of shape (n_trees + 1,)
            The columns of tree t are ``offsets[t]`` to ``offsets[t + 1]``.
        """
        table = self._read_table(X)
        path = self._predictor.decision_path(table, self._threads_for(table))
        return path, self.forest_.ensemble_.tree_begin.copy()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of the embedding.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the features; only checked against those of the fit.

        Returns
        -------
        ndarray of shape (n_leaves,), object
            ``randomtreesembedding_{tree}_{leaf}``.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        leaves = [(t, leaf) for t, part in enumerate(self._leaves()) for leaf in part.tolist()]
        return np.array([f"randomtreesembedding_{t}_{leaf}" for t, leaf in leaves], dtype=object)

    # ---- fitted attributes ----

    def _leaves(self) -> list[NDArray[np.int64]]:
        """Return the numbers of the leaves of each tree."""
        return [np.flatnonzero(tree.is_leaf) for tree in self.forest_.ensemble_.trees()]

    def _derived(self, fitted: Mapping[str, Any]) -> dict[str, Any]:
        ensemble = fitted["forest_"].ensemble_
        own = {"_column_of": np.cumsum(ensemble.kind == LEAF) - 1, "_predictor": Predictor(ensemble)}
        return super()._derived(fitted) | own

    def _check_fitted(self) -> None:
        forest, seed = self.forest_, self._seed
        require(type(forest) is ExtraTreesRegressor and hasattr(forest, "ensemble_"), "forest_ has no trees")
        require(forest.schema_ == self.schema_, "the forest has other features")
        require(type(seed) is int and 0 <= seed < 2**64, "the seed is not an unsigned 64-bit integer")

    @property
    def estimator_(self) -> BaseTree:
        """An unfitted tree with the parameters of the members."""
        check_is_fitted(self)
        return self.forest_.estimator_

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.forest_)

    def __getitem__(self, index: int) -> BaseTree:
        member: BaseTree = self.forest_[index]
        return member

    def __iter__(self) -> Iterator[BaseTree]:
        return iter(self.forest_)

    @property
    def estimators_(self) -> list[BaseTree]:
        """The trees as fitted estimators, made at every access."""
        check_is_fitted(self)
        return list(self.forest_.estimators_)

    @property
    def estimators_samples_(self) -> list[NDArray[np.int64]]:
        """Rows of each tree: all of them."""
        check_is_fitted(self)
        return self.forest_.estimators_samples_

    @property
    def feature_importances_(self) -> Floats:
        """Impurity decrease by the splits of each feature, with sum 1.  (n_features,)"""
        check_is_fitted(self)
        return self.forest_.feature_importances_

    @property
    def n_outputs_(self) -> int:
        """Number of targets: 1."""
        check_is_fitted(self)
        return self.forest_.n_outputs_

    @property
    def one_hot_encoder_(self) -> OneHotEncoder:
        """Encoder of the leaves, made at every access."""
        from sklearn.preprocessing import OneHotEncoder

        check_is_fitted(self)
        leaves = self._leaves()
        encoder = OneHotEncoder(categories=leaves, sparse_output=self.sparse_output)
        return encoder.fit(np.array([[part[0] for part in leaves]]))
