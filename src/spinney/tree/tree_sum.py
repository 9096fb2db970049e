"""TreeSum: a fitted model as a sum of trees, which is what explanations need to know of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.data.schema import Schema, Table
from spinney.data.target import by_output
from spinney.native import core
from spinney.tree.ensemble import TreeEnsemble
from spinney.tree.tree_arrays import LEAF, LINEAR

Space = Literal["raw", "probability", "value"]


@dataclass(frozen=True, eq=False)
class TreeSum:
    """A model whose output is ``offset + scale · Σ trees``.

    Attributes
    ----------
    trees : TreeEnsemble
        The trees, with the values that are summed.
    schema : Schema
        The features of the input.
    read : callable
        Reads an input as the table that the trees split on.
    space : {"raw", "probability", "value"}
        What the sum is: a raw score, class probabilities, or the predicted value.
    scale : float
        Factor of the sum.
    offset : ndarray of shape (n_outputs,)
        Constant.
    outputs_per_round : int or None
        If set, tree t has one value, of output ``t % outputs_per_round``.
    columns : ndarray of shape (n_outputs,)
        Which of the summed numbers are outputs; others only fill up arrays.
    output_names : tuple of str
        Names of the outputs; empty if there is one output without a name.
    owner : ndarray of shape (trees.n_features,)
        Feature of the input that each column of the table comes from.
    votes : bool
        Whether trees vote, so that a row divided by missing values has no sum.
    n_jobs : int or None
        Number of threads.
    encoded_schema : Schema or None
        The columns that the trees split on, if they are not the features of the input.

    Examples
    --------
    >>> model.tree_sum().trees.n_trees  # doctest: +SKIP
    """

    trees: TreeEnsemble
    schema: Schema
    read: Callable[[Any], Table]
    space: Space
    scale: float
    offset: Floats
    columns: NDArray[np.intp]
    output_names: tuple[str, ...]
    owner: NDArray[np.int64]
    outputs_per_round: int | None = None
    votes: bool = False
    n_jobs: int | None = None
    encoded_schema: Schema | None = None

    @property
    def table_schema(self) -> Schema:
        """The columns that the trees split on."""
        return self.schema if self.encoded_schema is None else self.encoded_schema

    @property
    def is_fractional(self) -> bool:
        """Whether some split sends missing values to every child."""
        return bool(((self.trees.missing < 0) & (self.trees.kind != LEAF)).any())

    def check_axis_parallel(self, what: str) -> None:
        """Raise InputError if a split is oblique: it has no path-dependent game per feature.

        Parameters
        ----------
        what : str
            What was asked for, for the message.
        """
        if (self.trees.kind == LINEAR).any():
            raise InputError(
                f"{what} are not defined for oblique splits, which test a sum of several features",
                fix="Use spinney.inspect.permutation_importance, or fit axis-parallel trees.",
            )

    def explainer(self) -> core.TreeExplainer:
        """Return the trees in the layout of explanations; InputError if one is too deep for them."""
        owners = self.owner.tolist()
        try:
            return core.TreeExplainer(self.trees, self.outputs_per_round or 0, owners, self.schema.n_features)
        except ValueError as error:
            raise InputError(
                f"The model cannot be explained: {error}",
                fix="Use spinney.inspect.permutation_importance, or limit max_depth.",
            ) from error


def value_sum(
    trees: TreeEnsemble,
    schema: Schema,
    read: Callable[[Any], Table],
    classes: Any,
    *,
    n_jobs: int | None = None,
    votes: bool = False,
) -> TreeSum:
    """Return the mean of trees with values for all outputs: a tree, a forest, or bagged trees.

    ``classes`` are the ``classes_`` of the model, None in regression. votes: the trees vote for the class of
    the largest value.
    """
    outputs = None if classes is None else by_output(classes)
    if votes:
        assert outputs is not None
        trees = replace(trees, value=_votes(trees.value, [len(labels) for labels in outputs]))
    columns, names = _outputs(outputs, trees.n_outputs, trees.width)
    return TreeSum(
        trees,
        schema,
        read,
        "value" if classes is None else "probability",
        1.0 / trees.n_trees,
        np.zeros(len(columns)),
        columns,
        names,
        np.arange(trees.n_features),
        votes=votes,
        n_jobs=n_jobs,
    )


def _votes(value: Floats, n_classes: Sequence[int]) -> Floats:
    """Return 1 for the class of the largest value and 0 for others.  value (n_nodes, n_outputs, width)"""
    votes = np.zeros_like(value)
    for k, n in enumerate(n_classes):
        votes[np.arange(len(value)), k, value[:, k, :n].argmax(axis=1)] = 1.0
    return votes


def _outputs(
    classes: Sequence[NDArray[Any]] | None, n_outputs: int, width: int
) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Return which of the values are outputs, and their names."""
    if classes is None:
        names = () if n_outputs == 1 else tuple(f"output {k}" for k in range(n_outputs))
        return np.arange(n_outputs) * width, names
    columns = [k * width + c for k, labels in enumerate(classes) for c in range(len(labels))]
    several = len(classes) > 1
    named = [
        f"output {k}: {label}" if several else str(label)
        for k, labels in enumerate(classes)
        for label in labels.tolist()
    ]
    return np.array(columns, dtype=np.intp), tuple(named)
