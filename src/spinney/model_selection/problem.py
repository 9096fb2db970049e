"""A table with its target, weights, groups and time order, read once for all learners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.parameters import draw_seed
from spinney.core.seeds import draw_word
from spinney.data.target import encode_classes, read_target
from spinney.data.weights import check_weights
from spinney.members.tables import count_rows, count_training_rows, take_rows
from spinney.model_selection.folds import Split, make_folds
from spinney.model_selection.metrics import Task, recognise_task


@dataclass(frozen=True, eq=False)
class Problem:
    """What learners are compared on.

    Attributes
    ----------
    X : table
        Features.
    y : ndarray of shape (n_rows,)
        Target.
    task : {"classification", "regression"}
        The task.
    classes : ndarray of shape (n_classes,) or None
        Class labels; None in regression.
    codes : ndarray of shape (n_rows,) or None
        Class codes; None in regression.
    weights : ndarray of shape (n_rows,) or None
        Row weights.
    groups, order : ndarray of shape (n_rows,) or None
        Groups of rows that are not divided, and times.
    seed : int
        Seed of folds and learners.
    """

    X: Any
    y: NDArray[Any]
    task: Task
    classes: NDArray[Any] | None
    codes: NDArray[np.int32] | None
    weights: Floats | None
    groups: NDArray[Any] | None
    order: NDArray[Any] | None
    seed: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def n_classes(self) -> int:
        """Number of classes, 0 in regression."""
        return 0 if self.classes is None else len(self.classes)

    def take(self, rows: NDArray[np.intp]) -> Problem:
        """Return the same problem with some rows only."""
        parts: tuple[Any, ...] = (self.codes, self.weights, self.groups, self.order)
        codes, weights, groups, order = (None if one is None else one[rows] for one in parts)
        return Problem(
            take_rows(self.X, rows), self.y[rows], self.task, self.classes, codes, weights, groups, order,
            self.seed,
        )  # fmt: skip

    def folds(self, cv: Any, repeats: int = 1) -> list[Split]:
        """Return the splits of a cross-validation."""
        return make_folds(
            self.codes,
            self.n_rows,
            cv,
            repeats=repeats,
            groups=self.groups,
            order=self.order,
            seed=self.seed,
        )


def read_problem(
    X: Any,
    y: Any,
    *,
    task: Task | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    order: Any = None,
    random_state: Any = 0,
) -> Problem:
    """Read a table and its target; the task is recognised from the target unless it is given.

    >>> read_problem([[0.0], [1.0]], ["a", "b"]).task
    'classification'
    """
    n_rows = count_training_rows(X)
    target = read_target(y, n_rows)
    if target.ndim != 1:
        raise InputError(f"y has {target.shape[1]} outputs; learners are compared on one at a time.")
    task = task or recognise_task(target)
    codes = classes = None
    if task == "classification":
        labels = encode_classes(target)
        codes, classes = labels.codes[:, 0], labels.classes[0]
        if len(classes) < 2:
            raise InputError("y has one class only, so there is nothing to learn.")
    else:
        try:
            target = target.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"y must hold numbers for regression ({error})", fix='Set task="classification".'
            ) from None
    for name, given in (("groups", groups), ("time order", order)):
        if given is not None and count_rows(given) != n_rows:
            raise InputError(f"The {name} has {count_rows(given)} entries for {n_rows} rows.")
    return Problem(
        X,
        target,
        task,
        classes,
        codes,
        check_weights(sample_weight, n_rows),
        None if groups is None else np.asarray(groups),
        None if order is None else np.asarray(order),
        draw_seed(random_state),
    )


def task_of(estimator: Any) -> Task | None:
    """Return the task of an estimator, None if it does not say.

    >>> from spinney import DecisionTreeRegressor
    >>> task_of(DecisionTreeRegressor())
    'regression'
    """
    if is_classifier(estimator):
        return "classification"
    return "regression" if is_regressor(estimator) else None


def seeded_copy(estimator: Any, seed: int, n_jobs: int | None) -> Any:
    """Return an unfitted copy with a seed where ``random_state`` is None, and n_jobs where it can be set.

    >>> from spinney import DecisionTreeClassifier
    >>> isinstance(seeded_copy(DecisionTreeClassifier(), 1, None).random_state, int)
    True
    """
    copied = clone(estimator)
    params = copied.get_params()
    chosen: dict[str, Any] = {}
    for purpose, name in enumerate(sorted(params)):
        if name.split("__")[-1] == "random_state" and params[name] is None:
            chosen[name] = draw_word(seed, purpose) % 2**31
    if n_jobs is not None:
        chosen |= {name: n_jobs for name in params if name.split("__")[-1] == "n_jobs"}
    return copied.set_params(**chosen)
