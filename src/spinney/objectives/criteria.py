"""The split criteria by name, and what each asks of the target."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spinney.base.errors import InputError


@dataclass(frozen=True)
class Criterion:
    """A split criterion: its name in the core, and the kind of target it is for."""

    core_name: str
    task: str
    non_negative_target: bool = False


CRITERIA: dict[str, Criterion] = {
    "gini": Criterion("gini", "classification"),
    "entropy": Criterion("entropy", "classification"),
    "log_loss": Criterion("entropy", "classification"),
    "squared_error": Criterion("squared_error", "regression"),
    # Friedman's improvement w_l·w_r/w · (mean_l − mean_r)² is the decrease of the squared error.
    "friedman_mse": Criterion("squared_error", "regression"),
    "absolute_error": Criterion("absolute_error", "regression"),
    "poisson": Criterion("poisson", "regression", non_negative_target=True),
}


def find_criterion(name: str, task: str) -> Criterion:
    """Look up a criterion for a task, ``"classification"`` or ``"regression"``.

    >>> find_criterion("log_loss", "classification").core_name
    'entropy'
    """
    known = [key for key, criterion in CRITERIA.items() if criterion.task == task]
    if name not in known:
        raise InputError(f"criterion is {name!r}; for {task} it takes one of {', '.join(map(repr, known))}.")
    return CRITERIA[name]


def impurity_scale(
    criterion: Criterion, y: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> float:
    """Give how large impurities of targets y (n_rows, n_outputs) are, 1 for classes.

    It is the impurity of all rows, or for Poisson the mean, of which the deviance is at most some multiple.
    None of it overflows for |y| < 2^200.

    >>> impurity_scale(CRITERIA["squared_error"], np.array([[1.0], [3.0]]), None)
    1.0
    """
    if criterion.task == "classification":
        return 1.0
    if weights is not None:
        weights = weights / weights.max()  # so that their products with squares stay finite
    mean = np.average(y, axis=0, weights=weights)
    if criterion.core_name == "poisson":
        return float(np.mean(mean))
    power = 1 if criterion.core_name == "absolute_error" else 2
    return float(np.mean(np.average(np.abs(y - mean) ** power, axis=0, weights=weights)))
