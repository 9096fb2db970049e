"""A tree as indented text, in the format of scikit-learn's export_text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spinney.inspect.wording import (
    NamedTree,
    format_number,
    named_tree,
    printable,
    split_text,
    splits_on_missing,
)
from spinney.tree.tree_arrays import LEAF, LINEAR, NUMERIC


def export_text(
    model: Any,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    max_depth: int = 10,
    decimals: int = 2,
    spacing: int = 3,
    show_weights: bool = False,
    show_missing: bool | None = None,
) -> str:
    """Return a fitted tree as text, one line per branch or leaf.

    Parameters
    ----------
    model : estimator or TreeArrays
        A fitted tree, or its ``tree_``.
    feature_names : sequence of str, optional
        Names of the features. Defaults to those seen in `fit`, otherwise feature_0, feature_1, ...
    class_names : sequence, optional
        Labels of the classes; a list of labels per output if there are several. Defaults to ``classes_``.
    max_depth : int, default=10
        Deeper branches are truncated.
    decimals : int, default=2
        Digits after the decimal point. Sums of features have six significant digits instead.
    spacing : int, default=3
        Number of characters per level of indentation.
    show_weights : bool, default=False
        Whether to show the weight of each class at the leaves.
    show_missing : bool, optional
        Whether to show which branch missing values take. Defaults to features that had some in training.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], ["no", "no", "yes"])
    >>> print(export_text(model, feature_names=["width"]), end="")
    |--- width <= 1.50
    |   |--- class: no
    |--- width >  1.50
    |   |--- class: yes
    """
    for name, value, lowest in (
        ("max_depth", max_depth, 0),
        ("decimals", decimals, 0),
        ("spacing", spacing, 1),
    ):
        if not isinstance(value, int) or value < lowest:
            raise ValueError(f"{name} is {value!r}; it must be an integer of at least {lowest}.")
    named = named_tree(model, feature_names, class_names, show_missing=show_missing, unnamed="feature_{}")
    tree = named.tree
    height = _heights(named) if tree.max_depth > max_depth else []
    lines: list[str] = []
    # (node, depth, child): the branch to a child of the node, or the node itself if child is −1.
    walk: list[tuple[int, int, int]] = [(0, 0, -1)]
    while walk:
        node, depth, child = walk.pop()
        indent = ("|" + " " * spacing) * depth + "|" + "-" * spacing + " "
        if child >= 0:
            lines.append(indent + _branch(named, node, child, decimals))
            walk.append((tree.children(node)[child], depth + 1, -1))
        elif tree.kind[node] == LEAF:
            lines.append(indent + _leaf(named, node, decimals, show_weights))
        elif depth > max_depth:
            lines.append(f"{indent}truncated branch of depth {height[node]}")
        else:
            walk += [(node, depth, which) for which in reversed(range(int(tree.n_children[node])))]
    return "\n".join(lines) + "\n"


def _heights(named: NamedTree) -> list[int]:
    """Number of levels from each node down.  -> (n_nodes,)"""
    heights = [1] * named.tree.node_count
    for node in range(named.tree.node_count - 1, 0, -1):
        parent = named.tree.parent[node]
        heights[parent] = max(heights[parent], heights[node] + 1)
    return heights


def _branch(named: NamedTree, node: int, child: int, decimals: int) -> str:
    phrase = split_text(named, node, child, decimals)
    has_threshold = named.tree.kind[node] in (NUMERIC, LINEAR) and not splits_on_missing(named, node)
    if has_threshold and child == 1:
        # Two spaces align the thresholds of both branches.
        head, threshold = phrase.rsplit(" > ", 1)
        return f"{head} >  {threshold}"
    return phrase


def _leaf(named: NamedTree, node: int, decimals: int, show_weights: bool) -> str:
    if named.labels is None:
        return f"value: [{', '.join(format_number(value, decimals) for value in named.label(node))}]"
    text = "class: " + ", ".join(printable(str(label)) for label in named.label(node))
    if not show_weights:
        return text
    tree = named.tree
    weights = [
        "[" + ", ".join(format_number(proportion * tree.weight[node], decimals) for proportion in row) + "]"
        for row in tree.value[node]
    ]
    return f"weights: {', '.join(weights)} {text}"
