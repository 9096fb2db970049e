"""The trees of an ensemble with their names: one of them to read, or the nodes of all as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from spinney.core.arrays import Floats
from spinney.core.errors import InputError
from spinney.core.frames import to_frame
from spinney.data.schema import Schema, Table
from spinney.inspect.rules import RuleSet, rules
from spinney.inspect.text import export_text
from spinney.inspect.wording import NamedTree, format_value, named_tree, split_text
from spinney.tree.predictor import Predictor
from spinney.tree.tree_arrays import LEAF, TreeArrays
from spinney.tree.tree_sum import TreeSum

_KINDS = ("leaf", "numeric", "category set", "multiway", "oblique")


@dataclass(frozen=True, eq=False)
class TreeView:
    """One tree of a boosted model, with the names of its features and categories.

    ``export_text``, ``plot_tree``, ``tree_svg`` and ``export_graphviz`` take it as they take a fitted tree.

    Attributes
    ----------
    tree_ : TreeArrays
        The tree; its values are what it adds to the raw score.
    schema_ : Schema
        The features that it splits on.
    output : str or None
        The class whose raw score it adds to, None if there is only one score.

    Examples
    --------
    >>> print(model[0].to_text())  # doctest: +SKIP
    """

    tree_: TreeArrays
    schema_: Schema
    output: str | None = None
    # The impurity of its nodes is the gain of their splits, not a variance.
    criterion: ClassVar[str] = "gain"

    def __repr__(self) -> str:
        of = "" if self.output is None else f", output={self.output!r}"
        return f"TreeView(n_leaves={self.tree_.n_leaves}, max_depth={self.tree_.max_depth}{of})"

    def rules(self, *, show_missing: bool | None = None) -> RuleSet:
        """Return the tree as IF–THEN rules.

        Parameters
        ----------
        show_missing : bool or None, default=None
            Whether to include where missing values go; None only for features with missing values in
            training.

        Returns
        -------
        RuleSet
            One rule per leaf.
        """
        return rules(self, show_missing=show_missing)

    def to_text(self, *, decimals: int = 4) -> str:
        """Return the tree as text.

        Parameters
        ----------
        decimals : int, default=4
            Digits after the decimal point.

        Returns
        -------
        str
            One line per node.
        """
        return export_text(self, decimals=decimals)


def view_tree(total: TreeSum, index: int) -> TreeView:
    """Return one tree of a sum."""
    t = range(total.trees.n_trees)[index]
    per_round = total.outputs_per_round
    output = None
    if per_round is not None and total.output_names:
        output = total.output_names[t % per_round]
    return TreeView(total.trees.tree(t), total.table_schema, output)


def _named(total: TreeSum, tree: TreeArrays) -> NamedTree:
    return named_tree(tree, list(total.table_schema.names), features=total.table_schema.features)


def nodes_frame(total: TreeSum) -> Any:
    """Return a data frame with one line per node of all trees of a sum."""
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    boosted = total.outputs_per_round is not None
    names = [f"value {name}" for name in total.output_names] if not boosted else []
    names = names or ["value"]
    values: list[Floats] = []
    for t in range(total.trees.n_trees):
        tree = total.trees.tree(t)
        _add_nodes(columns, t, _named(total, tree))
        flat = tree.value.reshape(tree.node_count, -1)
        values.append(flat if boosted else flat[:, total.columns])
    value = np.concatenate(values)
    return to_frame(columns | {name: value[:, k].tolist() for k, name in enumerate(names)})


_COLUMNS = (
    "tree", "node", "depth", "parent", "first_child", "n_children", "kind", "feature", "split", "threshold",
    "missing_child", "weight", "n_samples", "impurity",
)  # fmt: skip


def _add_nodes(columns: dict[str, list[Any]], t: int, named: NamedTree) -> None:
    """Append the nodes of one tree; splits are described by the condition of their first child."""
    tree = named.tree
    inner = ~tree.is_leaf
    missing = np.where(inner & (tree.missing >= 0), tree.first_child + tree.missing, -1)
    parts: dict[str, list[Any]] = {
        "tree": [t] * tree.node_count,
        "node": list(range(tree.node_count)),
        "depth": tree.depth.tolist(),
        "parent": tree.parent.tolist(),
        "first_child": tree.first_child.tolist(),
        "n_children": tree.n_children.tolist(),
        "kind": [_KINDS[kind] for kind in tree.kind.tolist()],
        "feature": [named.names[j] if j >= 0 else None for j in tree.feature.tolist()],
        "split": [split_text(named, i, 0) if tree.kind[i] != LEAF else None for i in range(tree.node_count)],
        "threshold": [x if ok else None for x, ok in zip(tree.threshold.tolist(), inner, strict=True)],
        "missing_child": missing.tolist(),
        "weight": tree.weight.tolist(),
        "n_samples": tree.n_samples.tolist(),
        "impurity": tree.impurity.tolist(),
    }
    for name, part in parts.items():
        columns[name] += part


# ---- the path of one row ----


@dataclass(frozen=True, eq=False)
class DecisionSteps:
    """The path of one row through all trees, with the contribution of each step (Saabas 2014).

    A step's contribution is the change of the mean output, by training weight, from a node to its child.
    Contributions and the base value sum to the output of the row.

    Attributes
    ----------
    base_value : ndarray of shape (n_outputs,)
        Mean output over the training rows.
    tree, node : ndarray of shape (n_steps,)
        Tree of each step, and the node that it leads to.
    fraction : ndarray of shape (n_steps,)
        Fraction of the row that takes the step: 1 unless a missing value divided it.
    feature : tuple of str
        Feature that is tested.
    condition : tuple of str
        The condition that the row meets.
    contribution : ndarray of shape (n_steps, n_outputs)
        Change of the output.
    output_names : tuple of str
        Names of the outputs, empty if there is only one.

    Examples
    --------
    >>> model.decision_steps(X[:1]).to_frame()  # doctest: +SKIP
    """

    base_value: Floats
    tree: Any
    node: Any
    fraction: Floats
    feature: tuple[str, ...]
    condition: tuple[str, ...]
    contribution: Floats
    output_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.tree)

    def to_frame(self) -> Any:
        """Return the steps as a data frame.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            One line per step.
        """
        names = [f"contribution {name}" for name in self.output_names] or ["contribution"]
        columns: dict[str, Any] = {
            "tree": self.tree.tolist(),
            "node": self.node.tolist(),
            "feature": list(self.feature),
            "condition": list(self.condition),
            "fraction": self.fraction.tolist(),
        }
        return to_frame(columns | {n: self.contribution[:, k].tolist() for k, n in enumerate(names)})


def decision_steps(total: TreeSum, X: Any) -> DecisionSteps:
    """Return the path of one row through the trees of a sum."""
    table: Table = total.read(X)
    if table.n_rows != 1:
        raise InputError(
            f"A path is that of one row; X has {table.n_rows}", fix="Pass one row, X[i : i + 1]."
        )
    path = Predictor(total.trees).decision_path(table)
    reached = dict(zip(path.indices.tolist(), path.data.tolist(), strict=True))
    n_outputs, per_round = len(total.columns), total.outputs_per_round
    base, steps = total.offset.astype(np.float64).copy(), []
    for t in range(total.trees.n_trees):
        begin, tree = int(total.trees.tree_begin[t]), total.trees.tree(t)
        named, means = _named(total, tree), _node_means(tree)
        at = np.arange(n_outputs) if per_round is None else np.array([t % per_round])
        means = means[:, total.columns] if per_round is None else means
        base[at] += means[0] * total.scale
        # The last node of a row may be an inner one, whose own value it has instead of the mean.
        nodes = [node for node in range(tree.node_count) if begin + node in reached]
        for node in nodes:
            fraction = reached[begin + node]
            change = np.zeros(n_outputs)
            if node:
                parent = int(tree.parent[node])
                change[at] = fraction * (means[node] - means[parent]) * total.scale
                which = node - int(tree.first_child[parent])
                feature = int(tree.feature[parent])
                name = named.names[feature] if feature >= 0 else "several"
                steps.append((t, node, fraction, name, split_text(named, parent, which), change))
            stays = not tree.is_leaf[node] and not any(
                begin + child in reached for child in tree.children(node)
            )
            if stays:
                own = tree.value[node].ravel() if per_round else tree.value[node].ravel()[total.columns]
                change = np.zeros(n_outputs)
                change[at] = fraction * (own - means[node]) * total.scale
                name = named.names[int(tree.feature[node])]
                steps.append((t, node, fraction, name, f"{format_value(name)} has no branch", change))
    trees, numbers, fractions, features, conditions, changes = (
        zip(*steps, strict=True) if steps else ((), (), (), (), (), ())
    )
    return DecisionSteps(
        base,
        np.array(trees, dtype=np.int64),
        np.array(numbers, dtype=np.int64),
        np.array(fractions),
        tuple(features),
        tuple(conditions),
        np.array(changes).reshape(len(steps), n_outputs),
        total.output_names,
    )


def _node_means(tree: TreeArrays) -> Floats:
    """Return the mean value of each node by the training weight of its leaves.  -> (n_nodes, n_values)"""
    means = tree.value.reshape(tree.node_count, -1).copy()
    for node in np.flatnonzero(~tree.is_leaf)[::-1].tolist():
        children = list(tree.children(node))
        weight = tree.weight[node]
        shares = tree.weight[children] / weight if weight > 0 else np.full(len(children), 1 / len(children))
        means[node] = shares @ means[children]
    return means
