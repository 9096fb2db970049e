"""The words for a tree: names of features, categories and classes, and each branch's test as a phrase."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from spinney.tree.tree_arrays import CATEGORY_SET, LINEAR, MULTIWAY, NUMERIC, TreeArrays

# The threshold of the test "known or missing": every number is at most this.
_EVERY_NUMBER = float(np.finfo(np.float64).max)


class FeatureLike(Protocol):
    """Name what is read of a feature; a schema's features have it."""

    @property
    def name(self) -> str:
        """Give the column's name."""

    @property
    def kind(self) -> str:
        """Give "numeric" or "categorical"."""

    @property
    def categories(self) -> Sequence[Any]:
        """Give the values that codes 0, 1, … stand for, none for a numeric column."""


@dataclass(frozen=True)
class Reading:
    """Hold a tree with everything needed to show it to a person.

    names, categories and n_codes have one entry a feature; no categories: numeric, or not known. n_codes is
    the number of categories, or as many codes as the tree's tests tell apart. labels has one entry an output,
    None in regression. shows_missing tells for each feature whether to say where its missing values go.
    """

    tree: TreeArrays
    names: tuple[str, ...]
    categories: tuple[tuple[Any, ...], ...]
    n_codes: tuple[int, ...]
    labels: tuple[tuple[Any, ...], ...] | None
    shows_missing: tuple[bool, ...]

    def label(self, node: int) -> tuple[Any, ...]:
        """Give the answer of a node, one an output: a class label, or a number."""
        value = self.tree.value[node]
        if self.labels is None:
            return tuple(value[:, 0].tolist())
        return tuple(labels[int(row.argmax())] for labels, row in zip(self.labels, value, strict=True))


def read_model(
    model: Any,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[Any] | None = None,
    *,
    features: Sequence[FeatureLike] | None = None,
    show_missing: bool | None = None,
    unnamed: str = "x{}",
) -> Reading:
    """Collect a tree and its names from a fitted estimator, or from a TreeArrays and what the caller gives.

    class_names: the labels, or with several outputs a list of labels for each. show_missing None shows
    missing values for features that say ``has_missing``. unnamed is the pattern for names that are not there.
    """
    tree = model if isinstance(model, TreeArrays) else getattr(model, "tree_", None)
    if tree is None and isinstance(model, BaseEstimator):
        check_is_fitted(model)
    if not isinstance(tree, TreeArrays):
        raise TypeError(f"A fitted tree is needed, with a tree_ of TreeArrays; got {type(model).__name__}.")
    if features is None:
        features = getattr(getattr(model, "schema_", None), "features", None)
    if features is not None and len(features) != tree.n_features:
        raise ValueError(f"features has {len(features)} entries; the tree was made for {tree.n_features}.")
    names = _feature_names(model, tree, feature_names, features, unnamed)
    if features is None:
        categories: tuple[tuple[Any, ...], ...] = ((),) * tree.n_features
        has_missing = [False] * tree.n_features
        n_codes = _codes_told_apart(tree)
    else:
        categories = tuple(tuple(feature.categories or ()) for feature in features)
        n_codes = tuple(map(len, categories))
        has_missing = [bool(getattr(feature, "has_missing", False)) for feature in features]
    shown = has_missing if show_missing is None else [show_missing] * tree.n_features
    return Reading(tree, names, categories, n_codes, _labels(model, tree, class_names), tuple(shown))


def _codes_told_apart(tree: TreeArrays) -> tuple[int, ...]:
    """Count for each feature the category codes that some test of the tree knows.  -> (n_features,)"""
    n_codes = np.zeros(tree.n_features, dtype=np.int64)
    for begin, codes_each in ((tree.set_begin, 64), (tree.branch_begin, 1)):
        length = np.diff(begin)
        tests = np.flatnonzero(length)
        np.maximum.at(n_codes, tree.feature[tests], codes_each * length[tests])
    return tuple(n_codes.tolist())


def _feature_names(
    model: Any,
    tree: TreeArrays,
    given: Sequence[str] | None,
    features: Sequence[FeatureLike] | None,
    unnamed: str,
) -> tuple[str, ...]:
    if given is None:
        given = getattr(model, "feature_names_in_", None)
    # A schema makes up names for a plain matrix; then the pattern of the caller is as good.
    if given is None and features is not None and getattr(getattr(model, "schema_", None), "has_names", True):
        given = [feature.name for feature in features]
    if given is None:
        given = [unnamed.format(index) for index in range(tree.n_features)]
    if len(given) != tree.n_features:
        raise ValueError(
            f"feature_names has {len(given)} names; the tree was made for {tree.n_features} features."
        )
    return tuple(printable(str(name)) for name in given)


def _labels(model: Any, tree: TreeArrays, given: Sequence[Any] | None) -> tuple[tuple[Any, ...], ...] | None:
    if given is None:
        given = getattr(model, "classes_", None)
    if given is None:
        if tree.max_n_classes == 1:
            return None
        return (tuple(range(tree.max_n_classes)),) * tree.n_outputs
    outputs = [given] if tree.n_outputs == 1 and not _is_nested(given) else list(given)
    labels = tuple(tuple(np.asarray(output).tolist()) for output in outputs)
    if len(labels) != tree.n_outputs or max(map(len, labels)) != tree.max_n_classes:
        sizes = " and ".join(str(len(output)) for output in labels)
        wanted = " and ".join([str(tree.max_n_classes)] * tree.n_outputs)
        raise ValueError(f"class_names has {sizes} names; the tree has {wanted} classes.")
    return labels


def _is_nested(given: Sequence[Any]) -> bool:
    return len(given) > 0 and isinstance(given[0], list | tuple | np.ndarray)


# ---- phrases ----


def asks_if_known(reading: Reading, node: int) -> bool:
    """Tell whether a test sends every known value to its first child and every missing one to its second."""
    tree = reading.tree
    if tree.missing[node] != 1:
        return False
    if tree.kind[node] == NUMERIC:
        return bool(tree.threshold[node] >= _EVERY_NUMBER)
    if tree.kind[node] != CATEGORY_SET or not reading.categories[int(tree.feature[node])]:
        return False
    return not codes_of_child(reading, node, 1)[0]


def branch_test(
    reading: Reading, node: int, which: int, decimals: int | None = None, most: int | None = None
) -> str:
    """Say in words what a row must fulfil at a node to go to its child (0-based).

    decimals is for thresholds of one feature; sums are written in significant digits. most: name only so many
    categories or terms of a sum, and count the others; None: name all.

    >>> branch_test(read_model(model), 0, 1)  # doctest: +SKIP
    'texture in {clear, faint} or missing'
    """
    tree = reading.tree
    kind = tree.kind[node]
    if kind == LINEAR:
        # In significant digits: the coefficient of a feature of large values is small, 0.00 in decimals.
        sign = "<=" if which == 0 else ">"
        return f"{linear_expression(reading, node, most)} {sign} {number(tree.threshold[node])}"
    feature = int(tree.feature[node])
    name = reading.names[feature]
    if asks_if_known(reading, node):
        return f"{name} is {'known' if which == 0 else 'missing'}"
    if kind == NUMERIC:
        phrase = f"{name} {'<=' if which == 0 else '>'} {number(tree.threshold[node], decimals)}"
    else:
        phrase = f"{name} {_among(reading, node, which, most)}"
    missing_too = reading.shows_missing[feature] and tree.missing[node] == which
    return f"{phrase} or missing" if missing_too else phrase


def _among(reading: Reading, node: int, which: int, most: int | None) -> str:
    known = reading.categories[int(reading.tree.feature[node])]
    codes, others = codes_of_child(reading, node, which)
    if known:
        return among([known[code] for code in codes], [known[code] for code in others], most)
    if reading.tree.kind[node] == CATEGORY_SET and which == 1:
        return among(None, others, most)  # how many there are is not known, so the set itself is named
    return among(codes, None, most)


def codes_of_child(reading: Reading, node: int, which: int) -> tuple[list[int], list[int]]:
    """List the category codes that a node sends to its child, and those it does not."""
    tree = reading.tree
    n_codes = reading.n_codes[int(tree.feature[node])]
    if tree.kind[node] == MULTIWAY:
        child = np.full(n_codes, -1)
        child[: len(tree.branches(node))] = tree.branches(node)
        here = child == which
    else:
        first = tree.goes_first(node, n_codes)
        here = first if which == 0 else ~first
    return np.flatnonzero(here).tolist(), np.flatnonzero(~here).tolist()


def among(values: Sequence[Any] | None, others: Sequence[Any] | None, most: int | None = None) -> str:
    """Say that a value is one of these and none of the others, by whichever is shorter; None: not known.

    most: name only so many, and count the others; None: name all.

    >>> among(["green"], ["black", "white"]), among(["black", "white"], ["green"])
    ('= green', '!= green')
    """
    negated = values is None or (others is not None and 0 < len(others) < len(values))
    shown = (others if negated else values) or []
    if len(shown) == 1:
        return f"{'!=' if negated else '='} {value_text(shown[0])}"
    listed = [value_text(value) for value in shown[:most]]
    if len(listed) < len(shown):
        listed.append(f"… {len(shown) - len(listed)} more")
    return f"{'not in' if negated else 'in'} {{{', '.join(listed)}}}"


def linear_expression(reading: Reading, node: int, most: int | None = None) -> str:
    """Write the sum that a linear node tests, as ``0.5*x1 - 2*x2``; most: only so many terms, None: all."""
    terms = reading.tree.terms(node)
    pairs = list(zip(reading.tree.term_feature[terms], reading.tree.term_coefficient[terms], strict=True))
    parts: list[str] = []
    for feature, coefficient in pairs[:most]:
        sign = ("-" if coefficient < 0 else "") if not parts else (" - " if coefficient < 0 else " + ")
        parts.append(f"{sign}{number(abs(coefficient))}*{reading.names[feature]}")
    if len(parts) < len(pairs):
        parts.append(f" + … {len(pairs) - len(parts)} more terms")
    return "".join(parts)


def number(value: float, decimals: int | None = None) -> str:
    """Write a number with so many decimals, or in six significant digits."""
    return f"{float(value):.6g}" if decimals is None else f"{float(value):.{decimals}f}"


def value_text(value: Any) -> str:
    """Write a category or label, in quotes where it would not be told from the words around it."""
    text = printable(str(value))
    plain = text and text == text.strip() and not any(sign in text for sign in ",{}")
    return text if plain else f"'{text}'"


def printable(text: str) -> str:
    """Replace what could steer a terminal or turn the line around (escapes, newlines, overrides) by its code.

    >>> printable("a\\nb")
    'a\\\\nb'
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def display_width(text: str) -> int:
    """Count the columns a text takes in a terminal, where East Asian characters take two.

    >>> display_width("纹理 a")
    6
    """
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    marks = sum(unicodedata.combining(c) != 0 for c in text)
    return len(text) + wide - marks
