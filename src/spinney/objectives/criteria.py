"""The split criteria by name, and what each asks of the target."""

from dataclasses import dataclass

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
