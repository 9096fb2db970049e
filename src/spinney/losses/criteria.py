"""Split criteria by name, with the kind of target each is for."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import chunk_mean


@dataclass(frozen=True)
class Criterion:
    """Split criterion: its name in the core and the task it is for.

    ``non_negative_target`` is True where the criterion is undefined for negative targets.
    """

    core_name: str
    task: str
    non_negative_target: bool = False


CRITERIA: dict[str, Criterion] = {
    "gini": Criterion("gini", "classification"),
    "entropy": Criterion("entropy", "classification"),
    "log_loss": Criterion("entropy", "classification"),
    # The weight that a leaf misclassifies; AdaBoost's source takes the stump that minimizes it.
    "error": Criterion("error", "classification"),
    "squared_error": Criterion("squared_error", "regression"),
    # Friedman's improvement w_l·w_r/w · (mean_l − mean_r)² is the decrease of the squared error.
    "friedman_mse": Criterion("squared_error", "regression"),
    "absolute_error": Criterion("absolute_error", "regression"),
    "poisson": Criterion("poisson", "regression", non_negative_target=True),
}


def impurity_scale(
    criterion: Criterion, y: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> float:
    """Magnitude of the impurities for targets y of shape (n_rows, n_outputs); 1 for classes.

    It is the impurity of all rows; for Poisson the mean, because the deviance is at most a multiple of it.
    Overflow is clipped to the largest float.

    >>> impurity_scale(CRITERIA["squared_error"], np.array([[1.0], [3.0]]), None)
    1.0
    """
    if criterion.task == "classification":
        return 1.0
    # Values and weights are scaled to about 1, so that no square or product overflows or underflows.
    exponent = int(np.frexp(np.abs(y).max())[1])
    near_one = np.ldexp(y, -exponent)
    if weights is not None:
        weights = weights / weights.max()
    mean = chunk_mean(near_one, weights)
    power = 2 if criterion.core_name == "squared_error" else 1
    impurity = mean
    if criterion.core_name != "poisson":
        impurity = chunk_mean(np.abs(near_one - mean) ** power, weights)
    with np.errstate(over="ignore"):
        scale = np.ldexp(impurity.mean(), power * exponent)
    return float(min(scale, np.finfo(np.float64).max))
