"""Parameters of a tree that speak of columns, restated for a tree that is given some of the columns only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.trees.base import _BaseTree

# What a feature has that a dict by name leaves out.
_BY_FEATURE = {"feature_costs": 1.0, "monotonic_cst": 0}


def narrow(tree: _BaseTree, columns: NDArray[np.int64], names: Sequence[str]) -> None:
    """Restate ``categorical_features``, ``feature_costs`` and ``monotonic_cst`` for the columns of a bag.

    names are those of all columns. What is wrong for the whole table is left as it is: the tree says so.

    >>> from spinney import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier(feature_costs={"b": 3.0}, categorical_features=["a", "c"])
    >>> narrow(tree, np.array([1, 2]), ["a", "b", "c"])
    >>> tree.feature_costs, tree.categorical_features
    ([3.0, 1.0], [1])
    """
    restated: dict[str, Any] = {}
    for name, other in _BY_FEATURE.items():
        given = getattr(tree, name, None)
        if isinstance(given, Mapping) and set(given) <= set(names):
            restated[name] = [given.get(names[j], other) for j in columns]
        elif given is not None and not isinstance(given, Mapping | str) and len(given) == len(names):
            restated[name] = [given[j] for j in columns]
    categorical = _positions(tree.categorical_features, names)
    if categorical is not None:
        restated["categorical_features"] = [i for i, j in enumerate(columns.tolist()) if j in categorical]
    tree.set_params(**restated)


def _positions(chosen: Any, names: Sequence[str]) -> set[int] | None:
    """Give the positions that ``categorical_features`` names, None where it names none or is not valid."""
    if chosen is None or isinstance(chosen, str):
        return None
    items = np.asarray(list(chosen), dtype=object).tolist()
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        return {j for j, item in enumerate(items) if item} if len(items) == len(names) else None
    position_of: dict[Any, int] = {j: j for j in range(len(names))} | {n: j for j, n in enumerate(names)}
    return {position_of[item] for item in items} if all(item in position_of for item in items) else None
