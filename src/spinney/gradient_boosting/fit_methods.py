"""The public methods of gradient boosting that train: ``fit`` and ``resume``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from spinney.data.schema import memory_for
from spinney.gradient_boosting.base import _BaseGradientBoosting
from spinney.gradient_boosting.callbacks import Callback
from spinney.gradient_boosting.evaluation import EvalArguments, EvalMetric, EvalSet


class FitMethods(_BaseGradientBoosting, persistent_name=""):
    """Gradient boosting that is evaluated on any number of sets; rankings have methods of their own."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        init_score: ArrayLike | None = None,
        eval_set: EvalSet | Sequence[EvalSet] | None = None,
        eval_names: Sequence[str] | None = None,
        eval_metric: EvalMetric | Sequence[EvalMetric] | None = None,
        eval_sample_weight: Sequence[ArrayLike | None] | None = None,
        callbacks: Callback | Sequence[Callback] | None = None,
    ) -> Self:
        """Fit the model; with ``warm_start`` add rounds to the ones of the last fit.

        With ``refit`` there are two passes: rounds with early stopping on a part of the rows, then as many as
        were best, on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or BinnedDataset of shape (n_rows, n_features)
            Features. Missing values and columns of text are allowed. Data frames may be those of pandas,
            polars or Arrow.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs) or None, default=None
            Class labels or target values; None if X is a `BinnedDataset`, which has its own.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights. Rows of weight 0 are ignored.
        init_score : array-like of shape (n_rows,) or (n_rows, n_classes) or None, default=None
            Raw score that each row starts from instead of the optimal constant: the raw score of another
            model, or the logarithm of an exposure. Predictions do not include it.
        eval_set : tuple, list of tuples or None, default=None
            One or several sets of validation rows: (X, y), (X, y, sample_weight) or
            (X, y, sample_weight, init_score). Metrics of all of them are recorded in `evals_result_` after
            every round. Early stopping looks at the last set, by ``scoring``; it replaces
            ``validation_fraction``.
        eval_names : sequence of str or None, default=None
            Names of the sets; None is validation_0, validation_1, …
        eval_metric : str, callable, list of these or None, default=None
            Metrics to record: "loss", the name of a scikit-learn scorer with or without "neg_", a name of
            LightGBM, XGBoost or CatBoost such as "auc", "Logloss", "rmse" or "mae", a scorer, or a function
            of (y, prediction) or (y, prediction, weights), where predictions of classes are probabilities
            and weights None if there are none. One that returns LightGBM's
            (name, value, is_higher_better) is recorded under this name. None is the score of early stopping,
            ``scoring``. Early stopping does not look at others.
        eval_sample_weight : list of array-like or None, default=None
            Weights of the rows of every set, None for those without; instead of the third part of a set.
        callbacks : callable or sequence of callables or None, default=None
            Called with a `Round` after every round. Training stops if one of them returns True. See
            `Progress`, `StopAfter` and `Checkpoint`.

        Returns
        -------
        object
            The fitted estimator.

        Examples
        --------
        >>> from spinney import GradientBoostingRegressor
        >>> model = GradientBoostingRegressor(min_samples_leaf=1).fit([[0.0], [1.0]], [2.0, 3.0])
        >>> model.predict([[0.9]]).round(3).tolist()
        [3.0]
        """
        warm = self.warm_start and hasattr(self, "ensemble_")
        given = eval_set, eval_names, eval_metric, eval_sample_weight
        evals = EvalArguments.read(*given) if any(one is not None for one in given) else None
        with memory_for(X):
            return self._fit(X, y, sample_weight, init_score, evals, callbacks, warm)

    @classmethod
    def resume(
        cls,
        path: str | os.PathLike[str],
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        init_score: ArrayLike | None = None,
        eval_set: EvalSet | Sequence[EvalSet] | None = None,
        eval_names: Sequence[str] | None = None,
        eval_metric: EvalMetric | Sequence[EvalMetric] | None = None,
        eval_sample_weight: Sequence[ArrayLike | None] | None = None,
        callbacks: Callback | Sequence[Callback] | None = None,
    ) -> Self:
        """Resume training from a `Checkpoint`; the result is bit-equal to an uninterrupted fit.

        Parameters
        ----------
        path : str or path-like
            File of the checkpoint.
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Features, as passed to ``fit``.
        y : array-like of shape (n_rows,)
            Targets, as passed to ``fit``.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Row weights, as passed to ``fit``.
        init_score : array-like of shape (n_rows,) or (n_rows, n_classes) or None, default=None
            Initial raw scores, as passed to ``fit``.
        eval_set : tuple, list of tuples or None, default=None
            Validation rows, as passed to ``fit``.
        eval_names : sequence of str or None, default=None
            Names of the sets, as passed to ``fit``.
        eval_metric : str, callable, list of these or None, default=None
            Metrics to record, as passed to ``fit``.
        eval_sample_weight : list of array-like or None, default=None
            Weights of the rows of every set, as passed to ``fit``.
        callbacks : callable or sequence of callables or None, default=None
            Callbacks of the remaining rounds.

        Returns
        -------
        object
            The fitted estimator.

        Examples
        --------
        >>> GradientBoostingClassifier.resume("run.spinney", X, y)  # doctest: +SKIP
        """
        given = eval_set, eval_names, eval_metric, eval_sample_weight
        evals = EvalArguments.read(*given) if any(one is not None for one in given) else None
        model = cls._load_checkpoint(path)
        with memory_for(X):
            return cls._fit(model, X, y, sample_weight, init_score, evals, callbacks, True, path)
