"""IF–THEN rules: one per leaf, with at most one condition per feature."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, overload

from spinney.core.frames import to_frame
from spinney.data.features import Feature
from spinney.inspect.wording import (
    NamedTree,
    codes_of_child,
    display_width,
    format_number,
    linear_expression,
    membership_text,
    named_tree,
    printable,
    splits_on_missing,
)
from spinney.tree.tree_arrays import LINEAR, MULTIWAY, NUMERIC

# A longer rule is not aligned with the others, so that it does not move them to the right.
_WIDEST_ALIGNED = 100


@dataclass(frozen=True)
class Condition:
    """Condition on one feature, or one sum of features: ``above < x <= at_most``, or x one of `values`.

    Parameters
    ----------
    feature : str
        Name of the feature, or a sum such as ``0.5*x1 - 2*x2``.
    above : float, default=-inf
        Exclusive lower bound. No value passes if it is infinite.
    at_most : float, default=inf
        Inclusive upper bound.
    values : tuple or None, default=None
        Categories that pass; None for a numeric feature.
    others : tuple or None, default=None
        Categories that do not pass.
    missing : bool or None, default=None
        Whether a missing value passes; None if it is not stated.

    Examples
    --------
    >>> print(Condition("density", above=0.25, at_most=0.5, missing=True))
    (0.25 < density <= 0.5 or missing)
    """

    feature: str
    above: float = -math.inf
    at_most: float = math.inf
    values: tuple[Any, ...] | None = None
    others: tuple[Any, ...] | None = None
    missing: bool | None = None

    @property
    def only_missing(self) -> bool:
        """Whether only a missing value passes."""
        nothing_else = self.above >= self.at_most if self.values is None else not self.values
        return bool(self.missing) and nothing_else

    @property
    def only_known(self) -> bool:
        """Whether every value passes except a missing one."""
        unlimited = self.above == -math.inf and self.at_most == math.inf
        return self.missing is False and (unlimited if self.values is None else self.others == ())

    def __str__(self) -> str:
        if self.only_missing or self.only_known:
            return f"{self.feature} is {'missing' if self.only_missing else 'known'}"
        if self.values is not None:
            phrase = f"{self.feature} {membership_text(self.values, self.others)}"
        elif math.isinf(self.at_most):
            phrase = f"{self.feature} > {format_number(self.above)}"
        elif math.isinf(self.above):
            phrase = f"{self.feature} <= {format_number(self.at_most)}"
        else:
            phrase = f"{format_number(self.above)} < {self.feature} <= {format_number(self.at_most)}"
        return f"({phrase} or missing)" if self.missing else phrase


@dataclass(frozen=True)
class Rule:
    """One rule: IF all conditions THEN prediction.

    Parameters
    ----------
    conditions : tuple of Condition
        The conditions, at most one per feature.
    prediction : label or float
        The prediction; a tuple with several outputs.
    confidence : float or None
        Proportion of the predicted class in the leaf; None in regression, a tuple with several outputs.
    std : float or None
        Standard deviation of the target in the leaf; None unless the criterion is the squared error.
    weight : float
        Weight of the training rows that the rule covers.
    share : float
        `weight` as a fraction of the weight of all training rows.
    n_samples : int
        Number of the training rows that the rule covers.
    node : int
        Index of the leaf.

    Examples
    --------
    >>> print(Rule((Condition("density", at_most=0.5),), "ripe", 0.75, None, 8.0, 0.5, 8, 3))
    IF density <= 0.5 THEN ripe  [confidence 0.750, weight 8, 50.0%]
    """

    conditions: tuple[Condition, ...]
    prediction: Any
    confidence: Any
    std: float | None
    weight: float
    share: float
    n_samples: int
    node: int

    @property
    def condition(self) -> str:
        """The conditions as text, joined by AND."""
        return " AND ".join(map(str, self.conditions)) or "always"

    @property
    def conclusion(self) -> str:
        """The prediction, its confidence and its weight as text."""
        outputs = self.prediction if isinstance(self.prediction, tuple) else (self.prediction,)
        shown = ", ".join(format_number(y) if isinstance(y, float) else printable(str(y)) for y in outputs)
        spread = f" ± {format_number(self.std)}" if self.std is not None else ""
        trust = ""
        if self.confidence is not None:
            values = self.confidence if isinstance(self.confidence, tuple) else (self.confidence,)
            trust = "confidence " + ", ".join(f"{value:.3f}" for value in values) + ", "
        return f"{shown}{spread}  [{trust}weight {format_number(self.weight)}, {self.share:.1%}]"

    def __str__(self) -> str:
        return f"IF {self.condition} THEN {self.conclusion}"


_Known = dict[Hashable, Condition]
"""The conditions of a path so far, by feature index or by the terms of a linear split."""


class RuleSet(Sequence[Rule]):
    """The rules of a tree, which cover every row. Printing shows one rule per line.

    Parameters
    ----------
    members : sequence of Rule
        The rules.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], ["no", "no", "yes"])
    >>> print(rules(model))
    IF x0 <= 1.5  THEN no  [confidence 1.000, weight 2, 66.7%]
    IF x0 > 1.5   THEN yes  [confidence 1.000, weight 1, 33.3%]
    """

    def __init__(self, members: Sequence[Rule]) -> None:
        self._members = tuple(members)

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> RuleSet: ...
    def __getitem__(self, index: int | slice) -> Rule | RuleSet:
        return RuleSet(self._members[index]) if isinstance(index, slice) else self._members[index]

    def __len__(self) -> int:
        return len(self._members)

    def __repr__(self) -> str:
        return f"RuleSet({len(self)} rules)"

    def __str__(self) -> str:
        heads = [f"IF {rule.condition}" for rule in self]
        widths = [display_width(head) for head in heads]
        column = max((width for width in widths if width <= _WIDEST_ALIGNED), default=0)
        return "\n".join(
            f"{head}{' ' * (column - width)}  THEN {rule.conclusion}"
            for head, width, rule in zip(heads, widths, self, strict=True)
        )

    def to_records(self) -> list[dict[str, Any]]:
        """Return one dict per rule.

        Returns
        -------
        list of dict
            The fields of the rules, the conditions as text under ``"condition"``.
        """
        names = [field.name for field in fields(Rule)[1:]]
        return [
            {"condition": rule.condition} | {name: getattr(rule, name) for name in names} for rule in self
        ]

    def to_frame(self) -> Any:
        """Return the rules as a data frame, of polars if pandas is not installed.

        Returns
        -------
        DataFrame
            One row per rule, with the columns of `to_records`.
        """
        records = self.to_records()
        return to_frame(
            {name: [record[name] for record in records] for name in (records[0] if records else ())}
        )


def rules(
    model: Any,
    features: Sequence[Feature] | None = None,
    class_names: Sequence[Any] | None = None,
    *,
    show_missing: bool | None = None,
) -> RuleSet:
    """Return the rules of a fitted tree, leaves from left to right.

    A multiway split predicts its own value for categories that it has no branch for: those get a rule of
    weight 0, so that exactly one rule applies to every row without missing values.

    Parameters
    ----------
    model : estimator or TreeArrays
        A fitted tree, or its ``tree_``.
    features : sequence of Feature, optional
        Names, kinds and categories of the features. Defaults to those of the estimator's schema.
    class_names : sequence, optional
        Labels of the classes; a list of labels per output if there are several.
    show_missing : bool, optional
        Whether conditions state where missing values go. Defaults to features that had some in training.

    Returns
    -------
    RuleSet
        The rules.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], ["no", "no", "yes"])
    >>> rules(model)[0].prediction
    'no'
    """
    named = named_tree(model, None, class_names, features=features, show_missing=show_missing)
    squared = getattr(model, "criterion", "squared_error") in ("squared_error", "friedman_mse")
    tree = named.tree
    found: list[Rule] = []
    walk: list[tuple[int, _Known, bool]] = [(0, {}, tree.is_leaf[0])]
    while walk:
        node, known, ends = walk.pop()
        if ends:
            found.append(_rule(named, node, known, squared))
            continue
        steps = [
            (child, _narrow(named, node, which, known)) for which, child in enumerate(tree.children(node))
        ]
        if (unbranched := _unbranched(named, node, known)) is not None:
            walk.append((node, unbranched, True))
        walk += [(child, conditions, bool(tree.is_leaf[child])) for child, conditions in reversed(steps)]
    return RuleSet(found)


def _narrow(named: NamedTree, node: int, which: int, known: _Known) -> _Known:
    """Add the split that leads to a child to the conditions of the path, one condition per feature."""
    tree = named.tree
    if tree.kind[node] == LINEAR:
        terms = tree.terms(node)
        key: Hashable = (*tree.term_feature[terms].tolist(), *tree.term_coefficient[terms].tolist())
        name, missing = linear_expression(named, node), None
    else:
        feature = int(tree.feature[node])
        key, name, missing = feature, named.names[feature], None
        if tree.missing[node] >= 0:
            missing = bool(tree.missing[node] == which)
    before = known.get(key, Condition(name, missing=missing))
    if tree.kind[node] == NUMERIC and splits_on_missing(named, node):
        now = before if which == 0 else replace(before, above=math.inf)
    elif tree.kind[node] in (NUMERIC, LINEAR):
        threshold = float(tree.threshold[node])
        if which == 0:
            now = replace(before, at_most=min(before.at_most, threshold))
        else:
            now = replace(before, above=max(before.above, threshold))
    else:
        now = _with_codes(named, node, before, *codes_of_child(named, node, which))
    # A missing value passes only if it passes every split of the path.
    stated = [passes for passes in (before.missing, missing) if passes is not None]
    return known | {key: replace(now, missing=all(stated) if stated else None)}


def _with_codes(
    named: NamedTree, node: int, before: Condition, codes: list[int], others: list[int]
) -> Condition:
    """Restrict the values of a condition to those that pass a categorical split."""
    feature = int(named.tree.feature[node])
    known = named.categories[feature] or range(named.n_codes[feature])
    values, rest = tuple(known[code] for code in codes), tuple(known[code] for code in others)
    if before.values is not None:
        left_out = set(rest)
        values = tuple(value for value in before.values if value not in left_out)
        inside = set(values)
        rest = tuple(value for value in known if value not in inside)
    return replace(before, values=values, others=rest)


def _unbranched(named: NamedTree, node: int, known: _Known) -> _Known | None:
    """Conditions under which a multiway node predicts its own value, None if it never does."""
    if named.tree.kind[node] != MULTIWAY:
        return None
    feature = int(named.tree.feature[node])
    before = known.get(feature, Condition(named.names[feature]))
    now = _with_codes(named, node, before, *codes_of_child(named, node, -1))
    # A missing value goes to a child, never here.
    return known | {feature: replace(now, missing=None)} if now.values else None


def _rule(named: NamedTree, node: int, known: _Known, squared: bool) -> Rule:
    tree = named.tree
    is_leaf = bool(tree.is_leaf[node])  # else for categories that no training row had
    prediction: Any = named.label(node)
    confidence: Any = None
    if named.labels is not None:
        confidence = tuple(tree.value[node].max(axis=1).tolist())
    std = None
    if named.labels is None and squared and tree.n_outputs == 1:
        std = math.sqrt(max(float(tree.impurity[node]), 0.0))
    if tree.n_outputs == 1:
        prediction, confidence = prediction[0], confidence[0] if confidence else None
    weight = float(tree.weight[node]) if is_leaf else 0.0
    return Rule(
        conditions=tuple(_shown(named, key, condition) for key, condition in known.items()),
        prediction=prediction,
        confidence=confidence,
        std=std,
        weight=weight,
        share=weight / float(tree.weight[0]) if tree.weight[0] > 0 else 0.0,
        n_samples=int(tree.n_samples[node]) if is_leaf else 0,
        node=node,
    )


def _shown(named: NamedTree, key: Hashable, condition: Condition) -> Condition:
    """Remove where missing values go if it is not to be stated, unless it is the entire condition."""
    is_stated = not isinstance(key, int) or named.shows_missing[key]
    if is_stated or condition.only_missing or condition.only_known:
        return condition
    return replace(condition, missing=None)
