"""Histogram gradient boosting with the parameters, defaults and rules of scikit-learn's."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spinney.base import Estimator, parameters
from spinney.core.errors import InputError
from spinney.core.parameters import NONE, Integer, Kind, OneOf, Real, Rule, Use, check_parameters
from spinney.core.parameters import ArrayLike as ArrayRule
from spinney.data.categories import chosen_columns
from spinney.data.columns import open_source
from spinney.data.schema import Table, memory_for
from spinney.gradient_boosting.base import _BaseGradientBoosting
from spinney.gradient_boosting.callbacks import Round
from spinney.gradient_boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.gradient_boosting.hist_input import with_finite_numbers, without_negative_categories
from spinney.gradient_boosting.parameters import CLASSIFICATION_RULES, REGRESSION_RULES, BoostingParameters
from spinney.losses.losses import Loss
from spinney.trees.parameters import RULES as TREE_RULES

_NEVER = 2**31 - 1
_LOSSES = ("squared_error", "absolute_error", "gamma", "poisson", "quantile")
_CUSTOM_LOSS = Kind("an instance of spinney.losses.Loss", Loss)
_RULES: dict[str, tuple[Rule, ...]] = {
    "learning_rate": (Real(0.0, open_ends="("),),
    "max_iter": (Integer(1),),
    "max_leaf_nodes": TREE_RULES["max_leaf_nodes"],
    "min_samples_leaf": (Integer(1),),
    "l2_regularization": (Real(0.0),),
    "max_features": (Real(0.0, 1.0, open_ends="(", fraction=True),),
    "categorical_features": (NONE, OneOf("from_dtype"), ArrayRule()),
    "validation_fraction": (NONE, Integer(1), Real(0.0, 1.0, open_ends="()", fraction=True)),
    "n_iter_no_change": (Integer(1),),
    "tol": (Real(0.0),),
}


class _StopByLastScores:
    """Callback that stops as scikit-learn does, by the last scores instead of the best one.

    None of the last ``n_iter_no_change`` scores is better by more than ``tol`` than the one before them.
    """

    def __init__(self, n_iter_no_change: int, tol: float) -> None:
        self._n, self._tol = n_iter_no_change, tol
        self._scores: list[float] = []

    def __call__(self, round: Round) -> bool:
        """Return whether to stop."""
        score = round.train_score if round.validation_score is None else round.validation_score
        if score is None:
            return False
        if not self._scores:  # with those of the constant and of earlier fits
            model = round.model()
            scores = model.train_score_ if round.validation_score is None else model.validation_score_
            self._scores = scores.tolist()
        else:
            self._scores.append(score)
        if len(self._scores) <= self._n:
            return False
        return not max(self._scores[-self._n :]) > self._scores[-self._n - 1] + self._tol


@parameters
class HistParameters(BoostingParameters):
    """Parameters of scikit-learn's histogram gradient boosting; those that it lacks are fixed."""

    learning_rate: float = 0.1
    max_iter: int = 100
    max_leaf_nodes: int | None = 31
    max_depth: int | None = None
    min_samples_leaf: int = 20
    l2_regularization: float = 0.0
    max_features: float = 1.0
    max_bins: int = 255
    categorical_features: Any = "from_dtype"
    early_stopping: bool | Literal["auto"] = "auto"
    validation_fraction: int | float | None = 0.1
    n_iter_no_change: int = 10
    tol: float = 1e-7

    preset: Literal["classic"] = field(default="classic", init=False)
    n_estimators: int = field(default=100, init=False)
    refit: bool = field(default=False, init=False)
    n_members: int = field(default=1, init=False)
    growth: Literal["leaf-wise"] = field(default="leaf-wise", init=False)
    min_gain: float = field(default=0.0, init=False)
    min_hessian: float = field(default=1e-3, init=False)
    sampling: Literal["uniform"] = field(default="uniform", init=False)
    subsample: float = field(default=1.0, init=False)
    colsample_bytree: float = field(default=1.0, init=False)
    categorical_split: Literal["subset"] = field(default="subset", init=False)
    categorical_encoding: Literal["subset"] = field(default="subset", init=False)
    categorical_smoothing: float = field(default=10.0, init=False)
    categorical_l2: float = field(default=0.0, init=False)
    random_strength: float = field(default=0.0, init=False)
    splitter: Literal["best"] = field(default="best", init=False)
    unseen: Literal["missing", "error"] = field(default="missing", init=False)
    ledger: bool = field(default=False, init=False)
    n_jobs: int | None = field(default=None, init=False)


class _HistGradientBoosting(HistParameters, _BaseGradientBoosting):
    """Gradient boosting that is set up, stopped and read as scikit-learn's histogram gradient boosting."""

    _parameter_uses: ClassVar[tuple[Use, ...]] = ()  # scikit-learn's classes do not warn

    _rounds_name = "max_iter"
    _multi_output: ClassVar[bool] = False  # as in scikit-learn
    _transient_attributes: ClassVar[tuple[str, ...]] = ("is_categorical_",)

    is_categorical_: NDArray[np.bool_] | None

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> Self:
        """Fit the model; with ``warm_start`` add rounds to the ones of the last fit.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinnedDataset of shape (n_rows, n_features)
            Features. Missing and infinite values and columns of text are allowed.
        y : array-like of shape (n_rows,) or None, default=None
            Class labels or target values; None if X is a `BinnedDataset`, which has its own.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights. Rows of weight 0 are ignored.
        X_val : array-like, sparse matrix or data frame of shape (n_val, n_features) or None, default=None
            Features of validation rows for early stopping, instead of rows held out.
        y_val : array-like of shape (n_val,) or None, default=None
            Targets of the validation rows.
        sample_weight_val : array-like of shape (n_val,) or None, default=None
            Weights of the validation rows.

        Returns
        -------
        object
            The fitted estimator.

        Examples
        --------
        >>> from spinney import HistGradientBoostingRegressor
        >>> model = HistGradientBoostingRegressor(min_samples_leaf=1).fit([[0.0], [1.0]], [2.0, 3.0])
        >>> model.predict([[0.9]]).round(3).tolist()
        [3.0]
        """
        eval_set = None
        if X_val is not None or y_val is not None:
            given, absent = ("X_val", "y_val") if y_val is None else ("y_val", "X_val")
            if X_val is None or y_val is None:
                raise InputError(f"{given} is provided, but {absent} was not provided.")
            if self.early_stopping is False:
                raise InputError(
                    "X_val and y_val are passed to fit while at the same time early_stopping is False",
                    fix='Set early_stopping to True or "auto", or leave them out.',
                )
            eval_set = (with_finite_numbers(X_val), y_val, sample_weight_val)
        self._check_params()
        quantile = vars(self).get("quantile")
        if quantile is not None and self.loss != "quantile":  # scikit-learn accepts it in silence
            warnings.warn(
                f'quantile={quantile} has no effect on the loss {self.loss!r}: set loss="quantile".',
                UserWarning,
                stacklevel=2,
            )
        stop = _StopByLastScores(self.n_iter_no_change, self.tol)
        warm = self.warm_start and hasattr(self, "ensemble_")
        with memory_for(X):
            return self._fit(with_finite_numbers(X), y, sample_weight, None, eval_set, [stop], warm)

    def _learn_table(self, X: Any) -> Table:
        table = super()._learn_table(X)
        if table.dataset is not None:
            return table
        return without_negative_categories(table, chosen_columns(self.categorical_features, open_source(X)))

    def _read_raw_table(self, X: Any) -> Table:
        return super()._read_raw_table(with_finite_numbers(X))

    def _booster_params(self) -> dict[str, Any]:
        names = [one.name for one in fields(BoostingParameters)]
        params = super()._booster_params() | {name: getattr(self, name) for name in names}
        by_dtype = isinstance(self.categorical_features, str)
        return params | {
            "n_estimators": self.max_iter,
            "n_iter_no_change": _NEVER,  # a callback stops instead
            "categorical_features": None if by_dtype else self.categorical_features,
        }

    def _set_fitted(self, **fitted: Any) -> Self:
        n_rounds = fitted["ensemble_"].n_trees // len(fitted["base_score_"])
        return super()._set_fitted(**fitted | {"best_iteration_": n_rounds})

    def _derived(self, fitted: Mapping[str, Any]) -> dict[str, Any]:
        mask = fitted["schema_"].categorical
        return super()._derived(fitted) | {"is_categorical_": mask.copy() if mask.any() else None}

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return Estimator.__repr__(self, N_CHAR_MAX)


@parameters
class HistGradientBoostingClassifier(_HistGradientBoosting, GradientBoostingClassifier):  # type: ignore[misc]
    """Histogram gradient boosting for classification, as scikit-learn's ``HistGradientBoostingClassifier``.

    It has exactly the parameters, defaults and rules of scikit-learn, for code that was written for it.
    `GradientBoostingClassifier` has more parameters, and defaults that predict better.

    Parameters
    ----------
    loss : "log_loss" or Loss, default="log_loss"
        Loss to minimise: log loss (softmax for more than two classes), or an instance of a subclass of
        `spinney.losses.Loss`.
    learning_rate : float, default=0.1
        Shrinkage: the factor of every leaf value.
    max_leaf_nodes : int or None, default=31
        Maximum number of leaves of a tree; None is no limit.
    max_depth : int or None, default=None
        Maximum depth of a tree.
    min_samples_leaf : int, default=20
        Minimum number of rows in a leaf.
    l2_regularization : float, default=0.0
        λ, added to the sum of hessians of a leaf.
    max_features : float, default=1.0
        Fraction of features drawn at every node.
    max_bins : int, default=255
        Maximum number of bins per numeric feature, from 2 to 255.
    categorical_features : "from_dtype", array-like of names, indices or bool, or None, default="from_dtype"
        Numeric columns to treat as categorical; their negative values are missing. Columns of text, bool and
        categorical types always are; "from_dtype" and None add none.
    monotonic_cst : array-like of -1, 0 or 1, dict by feature name, or None, default=None
        Constraint per feature: the probability of the second class may only fall (-1), only rise (1),
        or is free (0). Two classes only.
    interaction_cst : "pairwise", "no_interactions", sequence of sets of features, or None, default=None
        Sets of features that may occur on one path of a tree. Features in no set form a set of their own.
    warm_start : bool, default=False
        Whether ``fit`` continues from the rounds of the last fit, up to `max_iter`.
    early_stopping : bool or "auto", default="auto"
        Whether to stop when none of the last `n_iter_no_change` scores is better than the one before them.
        "auto" does so if there are more than 10,000 rows, or validation rows are passed to ``fit``.
    scoring : str, callable or None, default="loss"
        Score for early stopping: "loss" is the negative loss, otherwise the name of a scikit-learn scorer or
        a callable; None is ``score``.
    validation_fraction : int, float or None, default=0.1
        Number or fraction of rows held out for early stopping; None scores the training rows.
    n_iter_no_change : int, default=10
        Number of scores that early stopping looks back.
    tol : float, default=1e-7
        Minimum increase of the score that counts as an improvement.
    verbose : int, default=0
        Above 0, show a progress bar, or messages of the logger ``spinney`` where INFO messages are enabled;
        a number k above 1 logs one message every k rounds.
    random_state : int, RandomState, Generator or None, default=None
        Seed of all random draws: features and rows held out.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; "balanced" gives every class the same total weight.
    max_iter : int, default=100
        Number of rounds, at most.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels in ascending order.
    n_classes_ : int
        Number of classes.
    is_categorical_ : ndarray of shape (n_features,), bool, or None
        Which features are categorical; None if none is.
    n_iter_ : int
        Number of rounds. Predictions use all of them.
    n_trees_per_iteration_ : int
        Number of trees per round: 1 for two classes, else one per class.
    do_early_stopping_ : bool
        Whether early stopping was active.
    train_score_ : ndarray of shape (n_iter_ + 1,)
        Score of the training rows before the first and after every round; empty without early stopping.
    validation_score_ : ndarray of shape (n_iter_ + 1,)
        Score of the validation rows, likewise; empty without validation rows.
    evals_result_ : dict
        Metrics of every set of ``eval_set`` after every round, of the first member: lists by the name of the
        set and of the metric. Empty without ``eval_set``. `evals_frame` returns them as a data frame.
    schema_ : Schema
        Names, kinds and categories of the features.
    ensemble_ : TreeEnsemble
        All trees.
    loss_ : Loss
        The loss.
    base_score_ : ndarray of shape (n_trees_per_iteration_,)
        Constant that the trees are added to.
    best_iteration_ : int
        Number of rounds that predictions use: `n_iter_`.
    chosen_ : dict
        Whether early stopping was chosen, if `early_stopping` is "auto".
    feature_importances_ : ndarray of shape (n_features,)
        Total gain of the splits of each feature, as fractions of the sum.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only if the input has column names.

    Examples
    --------
    >>> from spinney.datasets import make_box
    >>> X, y = make_box(500)
    >>> HistGradientBoostingClassifier().fit(X, y).score(X, y)
    1.0
    """

    _parameter_rules = CLASSIFICATION_RULES | _RULES | {"loss": (OneOf("log_loss"), _CUSTOM_LOSS)}


@parameters
class HistGradientBoostingRegressor(_HistGradientBoosting, GradientBoostingRegressor):  # type: ignore[misc]
    """Histogram gradient boosting for regression, as scikit-learn's ``HistGradientBoostingRegressor``.

    It has exactly the parameters, defaults and rules of scikit-learn, for code that was written for it.
    `GradientBoostingRegressor` has more parameters, and defaults that predict better.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        Loss to minimise: "squared_error", "absolute_error", "gamma", "poisson" or "quantile", or an instance
        of a subclass of `spinney.losses.Loss`.
    learning_rate : float, default=0.1
        Shrinkage: the factor of every leaf value.
    max_leaf_nodes : int or None, default=31
        Maximum number of leaves of a tree; None is no limit.
    max_depth : int or None, default=None
        Maximum depth of a tree.
    min_samples_leaf : int, default=20
        Minimum number of rows in a leaf.
    l2_regularization : float, default=0.0
        λ, added to the sum of hessians of a leaf.
    max_features : float, default=1.0
        Fraction of features drawn at every node.
    max_bins : int, default=255
        Maximum number of bins per numeric feature, from 2 to 255.
    categorical_features : "from_dtype", array-like of names, indices or bool, or None, default="from_dtype"
        Numeric columns to treat as categorical; their negative values are missing. Columns of text, bool and
        categorical types always are; "from_dtype" and None add none.
    monotonic_cst : array-like of -1, 0 or 1, dict by feature name, or None, default=None
        Constraint per feature: the prediction may only fall (-1), only rise (1),
        or is free (0).
    interaction_cst : "pairwise", "no_interactions", sequence of sets of features, or None, default=None
        Sets of features that may occur on one path of a tree. Features in no set form a set of their own.
    warm_start : bool, default=False
        Whether ``fit`` continues from the rounds of the last fit, up to `max_iter`.
    early_stopping : bool or "auto", default="auto"
        Whether to stop when none of the last `n_iter_no_change` scores is better than the one before them.
        "auto" does so if there are more than 10,000 rows, or validation rows are passed to ``fit``.
    scoring : str, callable or None, default="loss"
        Score for early stopping: "loss" is the negative loss, otherwise the name of a scikit-learn scorer or
        a callable; None is ``score``.
    validation_fraction : int, float or None, default=0.1
        Number or fraction of rows held out for early stopping; None scores the training rows.
    n_iter_no_change : int, default=10
        Number of scores that early stopping looks back.
    tol : float, default=1e-7
        Minimum increase of the score that counts as an improvement.
    verbose : int, default=0
        Above 0, show a progress bar, or messages of the logger ``spinney`` where INFO messages are enabled;
        a number k above 1 logs one message every k rounds.
    random_state : int, RandomState, Generator or None, default=None
        Seed of all random draws: features and rows held out.
    quantile : float or None, default=None
        Quantile that ``loss="quantile"`` predicts; None is the median.
    max_iter : int, default=100
        Number of rounds, at most.

    Attributes
    ----------
    is_categorical_ : ndarray of shape (n_features,), bool, or None
        Which features are categorical; None if none is.
    n_iter_ : int
        Number of rounds. Predictions use all of them.
    n_trees_per_iteration_ : int
        Number of trees per round.
    do_early_stopping_ : bool
        Whether early stopping was active.
    train_score_ : ndarray of shape (n_iter_ + 1,)
        Score of the training rows before the first and after every round; empty without early stopping.
    validation_score_ : ndarray of shape (n_iter_ + 1,)
        Score of the validation rows, likewise; empty without validation rows.
    evals_result_ : dict
        Metrics of every set of ``eval_set`` after every round, of the first member: lists by the name of the
        set and of the metric. Empty without ``eval_set``. `evals_frame` returns them as a data frame.
    schema_ : Schema
        Names, kinds and categories of the features.
    ensemble_ : TreeEnsemble
        All trees.
    loss_ : Loss
        The loss.
    base_score_ : ndarray of shape (n_trees_per_iteration_,)
        Constant that the trees are added to.
    best_iteration_ : int
        Number of rounds that predictions use: `n_iter_`.
    chosen_ : dict
        Whether early stopping was chosen, if `early_stopping` is "auto".
    feature_importances_ : ndarray of shape (n_features,)
        Total gain of the splits of each feature, as fractions of the sum.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only if the input has column names.

    Examples
    --------
    >>> X, y = [[float(i)] for i in range(40)], [float(i // 20) for i in range(40)]
    >>> HistGradientBoostingRegressor().fit(X, y).predict([[35.0]]).round(3).tolist()
    [1.0]
    """

    _parameter_rules = (
        REGRESSION_RULES
        | _RULES
        | {"loss": (OneOf(*_LOSSES), _CUSTOM_LOSS), "quantile": (NONE, Real(0.0, 1.0, open_ends="()"))}
    )

    huber_delta: float | None = field(default=None, init=False)
    tweedie_power: float = field(default=1.5, init=False)

    def _check_params(self) -> None:
        check_parameters(type(self).__name__, vars(self), self._parameter_rules)
