"""Text for trees: names of features, categories and classes, and the split of each branch as a phrase."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from spinney.data.features import Feature
from spinney.tree.tree_arrays import CATEGORY_SET, LINEAR, MULTIWAY, NUMERIC, TreeArrays

# The threshold of the split "known or missing": no float is larger.
_MAX_FLOAT = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class NamedTree:
    """A tree with the names of its features, categories and classes.

    names, categories, n_codes and shows_missing have one entry per feature. categories are empty for a
    numeric feature, or if they are unknown. n_codes is the number of categories, or of the codes that the
    splits distinguish. labels has one entry per output and is None in regression. shows_missing is whether to
    show where missing values go.
    """

    tree: TreeArrays
    names: tuple[str, ...]
    categories: tuple[tuple[Any, ...], ...]
    n_codes: tuple[int, ...]
    labels: tuple[tuple[Any, ...], ...] | None
    shows_missing: tuple[bool, ...]

    def label(self, node: int) -> tuple[Any, ...]:
        """Prediction of a node, one per output: a class label, or a float."""
        value = self.tree.value[node]
        if self.labels is None:
            return tuple(value[:, 0].tolist())
        return tuple(labels[int(row.argmax())] for labels, row in zip(self.labels, value, strict=True))


def named_tree(
    model: Any,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    *,
    features: Sequence[Feature] | None = None,
    show_missing: bool | None = None,
    unnamed: str = "x{}",
) -> NamedTree:
    """Return a tree with its names, from a fitted estimator or from TreeArrays and the given names.

    class_names are labels, or a list of labels per output. show_missing=None shows missing values of features
    with ``has_missing``. unnamed is the template for the names of features that have none.
    """
    tree = model if isinstance(model, TreeArrays) else getattr(model, "tree_", None)
    if tree is None and isinstance(model, BaseEstimator):
        check_is_fitted(model)
    if not isinstance(tree, TreeArrays):
        raise TypeError(f"A fitted tree is needed, with a tree_ of TreeArrays; got {type(model).__name__}.")
    if features is None:
        features = getattr(getattr(model, "schema_", None), "features", None)
    if features is not None and len(features) != tree.n_features:
        raise ValueError(f"features has {len(features)} entries; the tree has {tree.n_features} features.")
    names = _feature_names(model, tree, feature_names, features, unnamed)
    if features is None:
        categories: tuple[tuple[Any, ...], ...] = ((),) * tree.n_features
        has_missing = [False] * tree.n_features
        n_codes = _n_codes(tree)
    else:
        categories = tuple(tuple(feature.categories) for feature in features)
        n_codes = tuple(map(len, categories))
        has_missing = [bool(getattr(feature, "has_missing", False)) for feature in features]
    shown = has_missing if show_missing is None else [show_missing] * tree.n_features
    return NamedTree(tree, names, categories, n_codes, _labels(model, tree, class_names), tuple(shown))


def _n_codes(tree: TreeArrays) -> tuple[int, ...]:
    """Number of category codes per feature that the splits of the tree distinguish.  -> (n_features,)"""
    n_codes = np.zeros(tree.n_features, dtype=np.int64)
    for begin, codes_each in ((tree.set_begin, 64), (tree.branch_begin, 1)):
        length = np.diff(begin)
        nodes = np.flatnonzero(length)
        np.maximum.at(n_codes, tree.feature[nodes], codes_each * length[nodes])
    return tuple(n_codes.tolist())


def _feature_names(
    model: Any,
    tree: TreeArrays,
    given: Sequence[str] | None,
    features: Sequence[Feature] | None,
    unnamed: str,
) -> tuple[str, ...]:
    if given is None:
        given = getattr(model, "feature_names_in_", None)
    # A schema invents names for a plain matrix; use the caller's template instead.
    if given is None and features is not None and getattr(getattr(model, "schema_", None), "has_names", True):
        given = [feature.name for feature in features]
    if given is None:
        given = [unnamed.format(index) for index in range(tree.n_features)]
    if len(given) != tree.n_features:
        raise ValueError(f"feature_names has {len(given)} names; the tree has {tree.n_features} features.")
    return tuple(printable(str(name)) for name in given)


def _labels(model: Any, tree: TreeArrays, given: Sequence[Any] | None) -> tuple[tuple[Any, ...], ...] | None:
    if given is None:
        given = getattr(model, "classes_", None)
    if given is None:
        if tree.max_n_classes == 1:
            return None
        return (tuple(range(tree.max_n_classes)),) * tree.n_outputs
    is_nested = len(given) > 0 and isinstance(given[0], list | tuple | np.ndarray)
    outputs = list(given) if tree.n_outputs > 1 or is_nested else [given]
    labels = tuple(tuple(np.asarray(output).tolist()) for output in outputs)
    if len(labels) != tree.n_outputs or max(map(len, labels)) != tree.max_n_classes:
        sizes = " and ".join(str(len(output)) for output in labels)
        wanted = " and ".join([str(tree.max_n_classes)] * tree.n_outputs)
        raise ValueError(f"class_names has {sizes} names; the tree has {wanted} classes.")
    return labels


# ---- phrases ----


def splits_on_missing(named: NamedTree, node: int) -> bool:
    """Return whether a split sends known values to its first child and missing ones to its second."""
    tree = named.tree
    if tree.missing[node] != 1:
        return False
    if tree.kind[node] == NUMERIC:
        return bool(tree.threshold[node] >= _MAX_FLOAT)
    if tree.kind[node] != CATEGORY_SET or not named.categories[int(tree.feature[node])]:
        return False
    return not codes_of_child(named, node, 1)[0]


def split_text(
    named: NamedTree, node: int, which: int, decimals: int | None = None, max_items: int | None = None
) -> str:
    """Return the condition under which a row goes from a node to a child (0-based), as text.

    decimals applies to thresholds of one feature; sums have six significant digits. At most max_items
    categories or terms of a sum are listed.

    >>> from spinney import DecisionTreeClassifier
    >>> split_text(named_tree(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])), 0, 1)
    'x0 > 0.5'
    """
    tree = named.tree
    kind = tree.kind[node]
    if kind == LINEAR:
        # Significant digits: coefficients of large features are small and would be 0.00 in decimals.
        sign = "<=" if which == 0 else ">"
        return f"{linear_expression(named, node, max_items)} {sign} {format_number(tree.threshold[node])}"
    feature = int(tree.feature[node])
    name = named.names[feature]
    if splits_on_missing(named, node):
        return f"{name} is {'known' if which == 0 else 'missing'}"
    if kind == NUMERIC:
        phrase = f"{name} {'<=' if which == 0 else '>'} {format_number(tree.threshold[node], decimals)}"
    else:
        phrase = f"{name} {_categories_text(named, node, which, max_items)}"
    missing_too = named.shows_missing[feature] and tree.missing[node] == which
    return f"{phrase} or missing" if missing_too else phrase


def _categories_text(named: NamedTree, node: int, which: int, max_items: int | None) -> str:
    known = named.categories[int(named.tree.feature[node])]
    codes, others = codes_of_child(named, node, which)
    if known:
        return membership_text([known[code] for code in codes], [known[code] for code in others], max_items)
    if named.tree.kind[node] == CATEGORY_SET and which == 1:
        return membership_text(None, others, max_items)  # the number of categories is unknown
    return membership_text(codes, None, max_items)


def codes_of_child(named: NamedTree, node: int, which: int) -> tuple[list[int], list[int]]:
    """Category codes that a node sends to a child, and those that it does not."""
    tree = named.tree
    n_codes = named.n_codes[int(tree.feature[node])]
    if tree.kind[node] == MULTIWAY:
        child = np.full(n_codes, -1)
        child[: len(tree.branches(node))] = tree.branches(node)
        here = child == which
    else:
        first = tree.goes_first(node, n_codes)
        here = first if which == 0 else ~first
    return np.flatnonzero(here).tolist(), np.flatnonzero(~here).tolist()


def membership_text(
    values: Sequence[Any] | None, others: Sequence[Any] | None, max_items: int | None = None
) -> str:
    """Return "in values" or "not in others" as text, whichever is shorter; None means unknown.

    At most max_items values are listed.

    >>> membership_text(["green"], ["black", "white"]), membership_text(["black", "white"], ["green"])
    ('= green', '!= green')
    """
    negated = values is None or (others is not None and 0 < len(others) < len(values))
    shown = (others if negated else values) or []
    if len(shown) == 1:
        return f"{'!=' if negated else '='} {format_value(shown[0])}"
    listed = [format_value(value) for value in shown[:max_items]]
    if len(listed) < len(shown):
        listed.append(f"… {len(shown) - len(listed)} more")
    return f"{'not in' if negated else 'in'} {{{', '.join(listed)}}}"


def linear_expression(named: NamedTree, node: int, max_items: int | None = None) -> str:
    """Return the sum of a linear split as text, ``0.5*x1 - 2*x2``, with at most max_items terms."""
    terms = named.tree.terms(node)
    pairs = list(zip(named.tree.term_feature[terms], named.tree.term_coefficient[terms], strict=True))
    parts: list[str] = []
    for feature, coefficient in pairs[:max_items]:
        sign = ("-" if coefficient < 0 else "") if not parts else (" - " if coefficient < 0 else " + ")
        parts.append(f"{sign}{format_number(abs(coefficient))}*{named.names[feature]}")
    if len(parts) < len(pairs):
        parts.append(f" + … {len(pairs) - len(parts)} more terms")
    return "".join(parts)


def format_number(value: float, decimals: int | None = None) -> str:
    """Format a number with so many decimals, or with six significant digits."""
    return f"{float(value):.6g}" if decimals is None else f"{float(value):.{decimals}f}"


def format_value(value: Any) -> str:
    """Format a category or label, in quotes if it is empty or has commas, braces or outer spaces."""
    text = printable(str(value))
    plain = text and text == text.strip() and not any(char in text for char in ",{}")
    return text if plain else f"'{text}'"


def printable(text: str) -> str:
    """Replace control characters, newlines and direction overrides by their escape codes.

    >>> printable("a\\nb")
    'a\\\\nb'
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def display_width(text: str) -> int:
    """Width of a text in terminal columns; East Asian wide characters take two.

    >>> display_width("纹理 a")
    6
    """
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    marks = sum(unicodedata.combining(c) != 0 for c in text)
    return len(text) + wide - marks
