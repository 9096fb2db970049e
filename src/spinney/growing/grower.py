"""grow: from a table and a target to a fitted tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spinney.data.table import LazyColumns, Table
from spinney.growing.plan import GrowPlan
from spinney.growing.target import Target
from spinney.model.tree_arrays import TreeArrays
from spinney.native import core

TREE_FIELDS = (
    "kind", "feature", "threshold", "first_child", "n_children", "missing", "value", "weight", "n_samples",
    "impurity", "set_begin", "set_bits", "branch_begin", "branch", "term_begin", "term_feature",
    "term_coefficient", "term_fill",
)  # fmt: skip

# Columns that are made on demand are coded a few at a time; so much memory may be taken by those of one time.
_CHUNK_BYTES = 1 << 25


@dataclass(frozen=True)
class Grown:
    """Hold a fitted tree and, when asked for, its candidates: arrays node, feature, threshold, gain, …"""

    tree: TreeArrays
    candidates: dict[str, NDArray[Any]]


def code_table(
    table: Table, weights: NDArray[np.float64] | None, max_bins: int | None, n_threads: int
) -> core.CodeMatrix:
    """Code every column of a table: at most ``max_bins`` bins each, or exact ranks when it is None."""
    n_categories = [len(f.categories or ()) if f.kind == "categorical" else 0 for f in table.schema.features]
    columns = table.columns
    if table.block is not None or not isinstance(columns, LazyColumns):
        data = columns if table.block is None else table.block
        return core.build_codes(data, n_categories, weights, max_bins or 0, n_threads)
    step = max(n_threads, _CHUNK_BYTES // (8 * table.n_rows))
    chunks = [slice(begin, begin + step) for begin in range(0, len(columns), step)]
    coded = (
        core.build_codes(list(columns[chunk]), n_categories[chunk], weights, max_bins or 0, n_threads)
        for chunk in chunks
    )
    matrix = next(coded)
    for others in coded:
        matrix.extend(others)
    return matrix


def grow(matrix: core.CodeMatrix, target: Target, plan: GrowPlan, n_threads: int = 1) -> Grown:
    """Grow one tree by the plan. The result is the same for any number of threads."""
    options = {name: getattr(plan, name) for name in plan.__dataclass_fields__}
    options["n_threads"] = n_threads
    options["ordered"] = plan.needs_ordered_grower
    grown = core.grow(matrix, target.classes, list(target.n_classes), target.values, target.weights, options)
    tree = TreeArrays(n_features=matrix.n_columns, **{name: grown[name] for name in TREE_FIELDS})
    candidates = grown["candidates"]
    return Grown(tree, {**candidates, "chosen": candidates["chosen"].view(np.bool_)})
