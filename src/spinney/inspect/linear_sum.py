"""LinearSum: a model as a sum of coefficients times columns, and its SHAP values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.data.schema import Schema


@dataclass(frozen=True, eq=False)
class LinearSum:
    """The output of a linear model: ``design(X) @ coefficients.T + intercept``.

    Attributes
    ----------
    schema : Schema
        The features.
    design : callable
        Reads X as numbers, (n_rows, n_columns), as the model does.
    coefficients : ndarray of shape (n_outputs, n_columns)
        The coefficients.
    intercept : ndarray of shape (n_outputs,)
        The constants.
    owner : ndarray of shape (n_columns,)
        The feature that each column comes from; one-hot columns have the same.
    output_names : tuple of str
        Names of the outputs, empty if there is only one.
    space : {"raw", "value"}
        What the sum is: a raw score, or the predicted value.
    """

    schema: Schema
    design: Callable[[Any], Any]
    coefficients: Floats
    intercept: Floats
    owner: NDArray[np.intp]
    output_names: tuple[str, ...]
    space: Literal["raw", "value"]

    def contributions(self, X: Any, background: Any) -> tuple[Floats, Floats]:
        """Return the SHAP values and the mean output of the background.

        The Shapley value of a feature is the sum over its columns of coefficient · (value − mean of the
        background), since the model has no interactions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Rows to explain.
        background : array-like, sparse matrix or data frame of shape (n_background, n_features)
            Background rows.

        Returns
        -------
        tuple of ndarray
            Values of shape (n_rows, n_features, n_outputs), and base values of shape (n_outputs,).
        """
        rows, others = self.design(X), self.design(background)
        mean = np.asarray(others.mean(axis=0)).reshape(-1)
        away = (rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)) - mean
        values = np.zeros((len(away), self.schema.n_features, len(self.coefficients)))
        for column, feature in enumerate(self.owner.tolist()):
            values[:, feature] += away[:, column, None] * self.coefficients[:, column]
        return values, self.coefficients @ mean + self.intercept
