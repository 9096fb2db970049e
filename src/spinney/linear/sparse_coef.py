"""`SparseCoefficients`: coefficients that may be kept as a sparse matrix."""

from __future__ import annotations

from typing import Any, ClassVar, Self, cast

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from spinney.core.arrays import Floats
from spinney.io import require


def dense_coefficients(coef: Any) -> Floats:
    """Return coefficients, dense or sparse, as one dense row per output.

    >>> dense_coefficients(sparse.csr_matrix([[0.0, 2.0]])).tolist(), dense_coefficients(np.ones(2)).tolist()
    ([[0.0, 2.0]], [[1.0, 1.0]])
    """
    return np.atleast_2d(cast("Any", coef).toarray() if sparse.issparse(coef) else coef)


class SparseCoefficients:
    """Mixin of linear classifiers whose ``coef_`` can be made sparse and dense again.

    Predictions do not change. Model files hold dense coefficients, and whether they are to be sparse.
    """

    _state_attributes: ClassVar[tuple[str, ...]] = ("_coef_is_sparse",)

    coef_: Any

    def sparsify(self) -> Self:
        """Make ``coef_`` a sparse matrix, which takes less memory if most coefficients are 0.

        Returns
        -------
        self
            The estimator.
        """
        check_is_fitted(self)
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Make ``coef_`` an array again, as it is after ``fit``.

        Returns
        -------
        self
            The estimator.
        """
        check_is_fitted(self)
        self.coef_ = dense_coefficients(self.coef_)
        return self

    def _get_state(self) -> dict[str, Any]:
        state: dict[str, Any] = super()._get_state()  # type: ignore[misc]
        fitted = state["fitted"]
        if "coef_" in fitted and sparse.issparse(fitted["coef_"]):
            fitted = {**fitted, "coef_": dense_coefficients(fitted["coef_"]), "_coef_is_sparse": True}
        return {**state, "fitted": fitted}

    def _check_state(self) -> None:
        super()._check_state()  # type: ignore[misc]
        if "_coef_is_sparse" in vars(self):
            require(vars(self).pop("_coef_is_sparse") is True, "the kind of the coefficients is not valid")
            self.sparsify()
