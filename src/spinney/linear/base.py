"""`LinearModel`, the base class of linear models: reading features, predictions, model files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, MultiOutputMixin

from spinney.base import TableEstimator
from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.parameters import NONE, Integer, Rule, thread_count
from spinney.data.coding import CODING_RULES, ColumnCoding, numbers_of_categories
from spinney.data.schema import Schema
from spinney.data.target import encode_classes, encode_values, read_target
from spinney.data.weights import check_weights
from spinney.inspect.linear_sum import LinearSum
from spinney.io import require
from spinney.linear.design import Design, fit_values, read_design_table, read_values
from spinney.linear.sparse_coef import SparseCoefficients, dense_coefficients

INPUT_RULES: Mapping[str, tuple[Rule, ...]] = {
    **CODING_RULES,
    "n_jobs": (NONE, Integer(-(2**15), -1), Integer(1, 2**15)),
}


class Training(NamedTuple):
    """What a fit learns from: features, targets (n_rows, n_targets), weights, and how features were read."""

    design: Design
    y: Floats
    weights: Floats | None
    schema: Schema
    coding: ColumnCoding | None
    one_target: bool
    classes: NDArray[Any] | None = None

    @property
    def read_as(self) -> dict[str, Any]:
        """The fitted attributes that tell how features were read."""
        return {"schema_": self.schema, "coding_": self.coding}


class LinearModel(TableEstimator, persistent_name=""):
    """Base class of estimators whose prediction is a function of X @ coef_ + intercept_."""

    _required_attributes: ClassVar[tuple[str, ...]] = ("coef_", "intercept_")
    _state_attributes: ClassVar[tuple[str, ...]] = ("coding_",)
    coef_: Floats
    intercept_: Any
    coding_: ColumnCoding | None = None
    categorical: Literal["one-hot"] | None
    missing: Literal["mean"] | None
    _sum_space: ClassVar[Literal["raw", "value"]] = "raw"

    @property
    def unseen(self) -> Literal["missing", "error"]:  # type: ignore[override]
        """An unseen category counts as missing where missing values are allowed, else it is an error."""
        return "error" if self.missing is None else "missing"

    def _read_rows(self, X: Any, sample_weight: Any) -> tuple[Design, Floats | None, dict[str, Any]]:
        """Read features and weights; the last part is how features were read."""
        table = read_design_table(X)
        if self.categorical is None:
            table = numbers_of_categories(table)
        weights = check_weights(sample_weight, table.n_rows)
        owner = type(self).__name__
        values, coding = fit_values(X, table, weights, self.categorical, self.missing, owner)
        design = Design(values, thread_count(self.n_jobs))
        return design, weights, {"schema": table.schema, "coding": coding}

    def _read_values(self, X: Any, y: Any, sample_weight: Any) -> Training:
        """Read features, weights, and targets that are numbers."""
        self._check_params()
        design, weights, how = self._read_rows(X, sample_weight)
        if isinstance(self, MultiOutputMixin) and is_column(y):
            y = np.asarray(y)[:, 0]  # which is no reason to warn where y may have columns
        target = read_target(y, design.n_rows)
        values = encode_values(target, non_negative=False)
        return Training(design, values, weights, **how, one_target=target.ndim == 1)

    def _design(self, X: Any) -> Design:
        """Read new data as the fit did."""
        table = self._read_table(X)
        values = read_values(X, table, self.coding_, type(self).__name__)
        return Design(values, self._threads_for(table))

    def _scores(self, X: Any) -> Floats:
        """Return X @ coef_.T + intercept_.  -> (n_rows, n_outputs)"""
        design = self._design(X)
        coefficients = dense_coefficients(self.coef_)
        added = np.asarray(self.intercept_, np.float64).reshape(-1)
        return design.product(coefficients, np.broadcast_to(added, len(coefficients)).copy())

    def linear_sum(self) -> LinearSum:
        """Return the model as a sum over its columns, as explanations read it.

        Returns
        -------
        LinearSum
            Coefficients and intercepts by output.
        """
        coefficients = dense_coefficients(self.coef_)
        widths = np.ones(self.schema_.n_features, int) if self.coding_ is None else self.coding_.widths
        added = np.asarray(self.intercept_, np.float64).reshape(-1)
        return LinearSum(
            self.schema_,
            lambda X: self._design(X).values,
            coefficients,
            np.broadcast_to(added, len(coefficients)),
            np.repeat(np.arange(len(widths)), widths),
            () if len(coefficients) == 1 else self._output_names(len(coefficients)),
            self._sum_space,
        )

    def _output_names(self, n_outputs: int) -> tuple[str, ...]:
        return tuple(map(str, range(n_outputs)))

    @property
    def coef_names_(self) -> list[str]:
        """Names of the columns that the coefficients belong to."""
        return list(self.schema_.names) if self.coding_ is None else self.coding_.names(self.schema_)

    def _check_fitted(self) -> None:
        coding = self.coding_
        require(coding is None or type(coding) is ColumnCoding, "the coding of the columns is not valid")
        n_columns = self.schema_.n_features if coding is None else coding.n_columns
        if coding is not None:
            coding.check_schema(self.schema_)
        require(
            coding is not None or not self.schema_.categorical.any(), "a categorical feature is not coded"
        )
        parts: list[Any] = [self.coef_, self.intercept_]
        valid = isinstance(parts[0], np.ndarray) and parts[0].dtype == np.float64 and parts[0].ndim in (1, 2)
        valid = valid and parts[0].shape[-1] == n_columns and bool(np.isfinite(parts[0]).all())
        n_outputs = len(self.coef_) if valid and parts[0].ndim == 2 else 1
        shapes = ((), (1,), (n_outputs,))
        valid = valid and isinstance(parts[1], np.ndarray | float) and np.shape(parts[1]) in shapes
        require(valid and bool(np.isfinite(parts[1]).all()), "the coefficients are not valid")
        self._check_outputs(n_outputs)

    @abstractmethod
    def _check_outputs(self, n_outputs: int) -> None:
        """Raise CorruptModelFile unless the model has so many outputs."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing is not None
        tags.input_tags.categorical = tags.input_tags.string = self.categorical is not None
        return tags


class LinearRegressor(LinearModel, persistent_name=""):
    """Base class of linear models that predict numbers."""

    _sum_space: ClassVar[Literal["raw", "value"]] = "value"

    def predict(self, X: Any) -> Floats:
        """Predict X @ coef_ + intercept_.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets)
            Predictions.
        """
        scores = self._scores(X)
        return scores[:, 0] if np.ndim(self.coef_) == 1 else scores

    def _check_outputs(self, n_outputs: int) -> None:
        """Any number of outputs is valid."""


def is_column(y: Any) -> bool:
    """Return True if a target is an array or a frame of one column."""
    shape: tuple[int, ...] = getattr(y, "shape", ())
    return len(shape) == 2 and shape[1] == 1


def target_shaped(training: Training, coefficients: Floats, intercept: Floats) -> dict[str, Any]:
    """Return ``coef_`` and ``intercept_`` in the shape of the target.  coefficients (n_targets, n_columns)"""
    if training.one_target:
        return {"coef_": coefficients[0], "intercept_": float(intercept[0])}
    return {"coef_": coefficients, "intercept_": intercept}


class LinearClassifier(SparseCoefficients, ClassifierMixin, LinearModel, persistent_name=""):  # type: ignore[misc]
    """Base class of linear models that predict classes."""

    _required_attributes: ClassVar[tuple[str, ...]] = ("classes_",)

    classes_: NDArray[Any]

    def _output_names(self, n_outputs: int) -> tuple[str, ...]:
        return tuple(map(str, self.classes_.tolist()))

    def _read_labels(self, X: Any, y: Any, sample_weight: Any) -> tuple[Training, NDArray[np.int32]]:
        """Read features, weights, and classes; the second part is class codes (n_rows,)."""
        self._check_params()
        design, weights, how = self._read_rows(X, sample_weight)
        labels = read_target(y, design.n_rows)
        if labels.ndim != 1:
            raise InputError("y should be a 1d array, one label per row; it has several columns.")
        encoded = encode_classes(labels)
        classes = encoded.classes[0]
        if len(classes) < 2:
            raise InputError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but the data "
                f"contains only one class: {classes[0]!r}"
            )
        training = Training(design, np.empty((0, 0)), weights, **how, one_target=True, classes=classes)
        return training, encoded.codes[:, 0]

    def decision_function(self, X: Any) -> Floats:
        """Return the raw scores X @ coef_.T + intercept_.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            One score per class; with two classes, the score of the second.
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the largest score.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class labels.
        """
        scores = self.decision_function(X)
        codes = scores.argmax(axis=1) if scores.ndim > 1 else (scores > 0).astype(np.intp)
        return np.asarray(self.classes_.take(codes))

    def _check_outputs(self, n_outputs: int) -> None:
        classes: Any = vars(self).get("classes_")
        valid = isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) >= 2
        valid = valid and len(set(classes.tolist())) == len(classes)
        require(valid and n_outputs == (1 if len(classes) == 2 else len(classes)), "classes are not valid")
