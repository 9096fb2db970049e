"""The error to expect of an ensemble from that of its members: independent voters, or correlated means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr

from spinney.core.errors import InputError, show_value
from spinney.core.parameters import InvalidParameterError, OneOf, check_parameters

_METHOD = OneOf("binomial", "hoeffding", "correlated")


def ensemble_error(
    n_members: ArrayLike, error: ArrayLike, method: str = "binomial", *, covariance: ArrayLike = 0.0
) -> Any:
    """Give the error of an ensemble of so many members, each with the same error.

    - "binomial": the chance that no more than half of T independent voters are right,
      Σ_{k ≤ T/2} C(T, k) (1 − ε)^k ε^(T − k); a tie is an error. ``error`` is ε, the error rate of one.
    - "hoeffding": its bound exp(−½ T (1 − 2ε)²), which holds for ε < ½; from there on it is 1.
    - "correlated": the mean squared error of the mean of T predictions without bias, σ²/T + (T − 1) c / T.
      ``error`` is σ², the variance of the error of one, and ``covariance`` c that of the errors of two.

    Arrays are combined as NumPy does; numbers give a float.

    >>> round(ensemble_error(25, 0.35), 3), round(ensemble_error(25, 0.35, "hoeffding"), 3)
    (0.06, 0.325)
    >>> ensemble_error(4, 1.0, "correlated", covariance=0.2)
    0.4
    """
    check_parameters("ensemble_error", {"method": method}, {"method": (_METHOD,)})
    members, errors, shared = _read(n_members, error, covariance)
    if method == "correlated":
        result = _of_mean(members, errors, shared)
    else:
        if np.any(shared != 0.0):
            raise InputError(
                f"A covariance has no meaning for method={method!r}, whose voters are independent.",
                fix='Leave it out, or use method="correlated".',
            )
        result = _of_votes(members, errors, method)
    return float(result) if np.ndim(result) == 0 else result


def _read(n_members: ArrayLike, error: ArrayLike, covariance: ArrayLike) -> tuple[NDArray[np.float64], ...]:
    arrays = []
    for name, given in (("n_members", n_members), ("error", error), ("covariance", covariance)):
        try:
            arrays.append(np.asarray(given, dtype=np.float64))
        except (TypeError, ValueError):
            raise InvalidParameterError(name, given, "numbers", "ensemble_error") from None
        if not np.isfinite(arrays[-1]).all():
            raise InvalidParameterError(name, given, "finite numbers", "ensemble_error")
    members, errors, shared = arrays
    if np.any(members < 1) or np.any(members != np.trunc(members)):
        raise InvalidParameterError("n_members", n_members, "whole numbers of at least 1", "ensemble_error")
    try:
        np.broadcast_shapes(members.shape, errors.shape, shared.shape)
    except ValueError:
        raise InputError(
            f"n_members, error and covariance have the shapes {members.shape}, {errors.shape} and "
            f"{shared.shape}, which do not go together."
        ) from None
    return members, errors, shared


def _of_votes(members: NDArray[np.float64], errors: NDArray[np.float64], method: str) -> Any:
    if np.any((errors < 0) | (errors > 1)):
        raise InvalidParameterError("error", errors.tolist(), "error rates from 0 to 1", "ensemble_error")
    if method == "binomial":
        return bdtr(members // 2, members.astype(np.int64), 1.0 - errors)
    lead = np.maximum(0.0, 1.0 - 2.0 * errors)
    return np.exp(-0.5 * members * lead**2)


def _of_mean(members: NDArray[np.float64], errors: NDArray[np.float64], shared: NDArray[np.float64]) -> Any:
    if np.any(errors < 0):
        raise InvalidParameterError("error", errors.tolist(), "variances of at least 0", "ensemble_error")
    # A matrix of covariances with equal entries is one of real errors only within these limits.
    least = -errors / np.maximum(members - 1, 1)
    slack = 1e-12 * errors
    if np.any((shared > errors + slack) | ((shared < least - slack) & (members > 1))):
        raise InputError(
            f"The covariance {show_value(shared.tolist())} is impossible for this variance and these members",
            fix="It lies between −error / (n_members − 1) and error.",
        )
    return np.maximum(0.0, (errors + (members - 1) * shared) / members)
