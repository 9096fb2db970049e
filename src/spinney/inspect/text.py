"""A tree as indented text, in the look that scikit-learn's users know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spinney.inspect.wording import Reading, asks_if_known, branch_test, number, printable, read_model
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
    """Write a fitted tree (an estimator, or its ``tree_``) as text, one line a branch or leaf.

    Deeper branches than max_depth are only mentioned. show_weights adds the weight of each class at the
    leaves. show_missing says which branch missing values take, None: of features that had some in training.
    decimals is for all numbers but those in sums of features, which have six significant digits.

    >>> print(export_text(model))  # doctest: +SKIP
    |--- petal width <= 0.80
    |   |--- class: setosa
    |--- petal width >  0.80
    |   |--- class: versicolor
    """
    for name, value, least in (
        ("max_depth", max_depth, 0),
        ("decimals", decimals, 0),
        ("spacing", spacing, 1),
    ):
        if not isinstance(value, int) or value < least:
            raise ValueError(f"{name} is {value!r}; it takes a whole number of at least {least}.")
    reading = read_model(model, feature_names, class_names, show_missing=show_missing, unnamed="feature_{}")
    tree = reading.tree
    height = _heights(reading) if tree.max_depth > max_depth else []
    lines: list[str] = []
    # (node, depth, child): the branch to that child of the node, or the node itself where child is −1.
    walk: list[tuple[int, int, int]] = [(0, 0, -1)]
    while walk:
        node, depth, child = walk.pop()
        indent = ("|" + " " * spacing) * depth + "|" + "-" * spacing + " "
        if child >= 0:
            lines.append(indent + _branch(reading, node, child, decimals))
            walk.append((tree.children(node)[child], depth + 1, -1))
        elif tree.kind[node] == LEAF:
            lines.append(indent + _answer(reading, node, decimals, show_weights))
        elif depth > max_depth:
            lines.append(f"{indent}truncated branch of depth {height[node]}")
        else:
            walk += [(node, depth, which) for which in reversed(range(int(tree.n_children[node])))]
    return "\n".join(lines) + "\n"


def _heights(reading: Reading) -> list[int]:
    """Count the levels of nodes from each node down.  -> (n_nodes,)"""
    heights = [1] * reading.tree.node_count
    for node in range(reading.tree.node_count - 1, 0, -1):
        above = reading.tree.parent[node]
        heights[above] = max(heights[above], heights[node] + 1)
    return heights


def _branch(reading: Reading, node: int, child: int, decimals: int) -> str:
    phrase = branch_test(reading, node, child, decimals)
    threshold_test = reading.tree.kind[node] in (NUMERIC, LINEAR) and not asks_if_known(reading, node)
    if threshold_test and child == 1:
        # Two blanks, so that the thresholds of both branches stand below each other.
        head, threshold = phrase.rsplit(" > ", 1)
        return f"{head} >  {threshold}"
    return phrase


def _answer(reading: Reading, node: int, decimals: int, show_weights: bool) -> str:
    if reading.labels is None:
        return f"value: [{', '.join(number(answer, decimals) for answer in reading.label(node))}]"
    answer = "class: " + ", ".join(printable(str(label)) for label in reading.label(node))
    if not show_weights:
        return answer
    tree = reading.tree
    weights = [
        "[" + ", ".join(number(share * tree.weight[node], decimals) for share in row) + "]"
        for row in tree.value[node]
    ]
    return f"weights: {', '.join(weights)} {answer}"
