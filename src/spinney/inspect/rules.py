"""IF–THEN rules: one plain record a leaf, its conditions brought down to one a feature."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

from spinney.core.frames import to_frame
from spinney.inspect.wording import (
    FeatureLike,
    Reading,
    among,
    asks_if_known,
    codes_of_child,
    display_width,
    linear_expression,
    number,
    printable,
    read_model,
)
from spinney.tree.tree_arrays import LINEAR, MULTIWAY, NUMERIC

# The THEN of a longer rule stands where its IF ends, instead of moving every other rule's to the right.
_WIDEST_ALIGNED = 100


@dataclass(frozen=True)
class Condition:
    """Limit one feature (or one sum of features): above < x ≤ at_most, or x one of values.

    others are the values that values leaves out; missing tells whether a missing value passes, None: unsaid.
    No limit at all means that any known value passes; no number is above infinity, so then none does.
    """

    feature: str
    above: float = -math.inf
    at_most: float = math.inf
    values: tuple[Any, ...] | None = None
    others: tuple[Any, ...] | None = None
    missing: bool | None = None

    @property
    def only_missing(self) -> bool:
        """Tell whether nothing but a missing value passes."""
        nothing_else = self.above >= self.at_most if self.values is None else not self.values
        return bool(self.missing) and nothing_else

    @property
    def only_known(self) -> bool:
        """Tell whether nothing but a missing value is held back."""
        unlimited = self.above == -math.inf and self.at_most == math.inf
        return self.missing is False and (unlimited if self.values is None else self.others == ())

    def __str__(self) -> str:
        if self.only_missing or self.only_known:
            return f"{self.feature} is {'missing' if self.only_missing else 'known'}"
        if self.values is not None:
            phrase = f"{self.feature} {among(self.values, self.others)}"
        elif math.isinf(self.at_most):
            phrase = f"{self.feature} > {number(self.above)}"
        elif math.isinf(self.above):
            phrase = f"{self.feature} <= {number(self.at_most)}"
        else:
            phrase = f"{number(self.above)} < {self.feature} <= {number(self.at_most)}"
        return f"({phrase} or missing)" if self.missing else phrase


@dataclass(frozen=True)
class Rule:
    """Hold one rule: IF all conditions THEN prediction.

    prediction is a label or a number, and confidence the share of its class in the leaf (None in regression);
    with several outputs both are tuples. std is the spread of the target in the leaf (squared error only).
    weight, share (of all weight) and n_samples are those of the training rows the rule covers.
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
        """Write the conditions joined by AND."""
        return " AND ".join(map(str, self.conditions)) or "always"

    @property
    def conclusion(self) -> str:
        """Write the prediction and how far to trust it."""
        answers = self.prediction if isinstance(self.prediction, tuple) else (self.prediction,)
        told = ", ".join(number(a) if isinstance(a, float) else printable(str(a)) for a in answers)
        spread = f" ± {number(self.std)}" if self.std is not None else ""
        trust = ""
        if self.confidence is not None:
            shares = self.confidence if isinstance(self.confidence, tuple) else (self.confidence,)
            trust = "confidence " + ", ".join(f"{share:.3f}" for share in shares) + ", "
        return f"{told}{spread}  [{trust}weight {number(self.weight)}, {self.share:.1%}]"

    def __str__(self) -> str:
        return f"IF {self.condition} THEN {self.conclusion}"


_Known = dict[Hashable, Condition]
"""What a path has tested so far: by feature number, or by the terms of a linear test."""


class RuleSet(Sequence[Rule]):
    """Hold the rules of a tree, which cover every row; printing shows them one a line.

    >>> print(rules(model))  # doctest: +SKIP
    IF texture = clear  AND density > 0.3815   THEN ripe    [confidence 1.000, weight 7, 41.2%]
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
        """Give one dict a rule, the conditions as text."""
        return [
            {
                "condition": rule.condition,
                "prediction": rule.prediction,
                "confidence": rule.confidence,
                "std": rule.std,
                "weight": rule.weight,
                "share": rule.share,
                "n_samples": rule.n_samples,
                "node": rule.node,
            }
            for rule in self
        ]

    def to_frame(self) -> Any:
        """Give the rules as a pandas DataFrame, or a polars one where there is no pandas."""
        records = self.to_records()
        return to_frame(
            {name: [record[name] for record in records] for name in (records[0] if records else ())}
        )


def rules(
    model: Any,
    features: Sequence[FeatureLike] | None = None,
    class_names: Sequence[Any] | None = None,
    *,
    show_missing: bool | None = None,
) -> RuleSet:
    """Turn a fitted tree (an estimator, or its ``tree_``) into rules, leaves from left to right.

    A multiway test answers itself for categories it has no branch for: those get a rule of weight 0, so that
    exactly one rule applies to every row without missing values.

    >>> rules(model).to_frame().sort_values("weight")  # doctest: +SKIP
    """
    reading = read_model(model, None, class_names, features=features, show_missing=show_missing)
    squared = getattr(model, "criterion", "squared_error") in ("squared_error", "friedman_mse")
    tree = reading.tree
    found: list[Rule] = []
    walk: list[tuple[int, _Known, bool]] = [(0, {}, tree.is_leaf[0])]
    while walk:
        node, known, ends = walk.pop()
        if ends:
            found.append(_rule(reading, node, known, squared))
            continue
        steps = [
            (child, _narrow(reading, node, which, known)) for which, child in enumerate(tree.children(node))
        ]
        if (unbranched := _unbranched(reading, node, known)) is not None:
            walk.append((node, unbranched, True))
        walk += [(child, conditions, bool(tree.is_leaf[child])) for child, conditions in reversed(steps)]
    return RuleSet(found)


def _narrow(reading: Reading, node: int, which: int, known: _Known) -> _Known:
    """Add the test that leads to a child to what is known on the path, one condition a feature."""
    tree = reading.tree
    if tree.kind[node] == LINEAR:
        terms = tree.terms(node)
        key: Hashable = (*tree.term_feature[terms].tolist(), *tree.term_coefficient[terms].tolist())
        name, missing = linear_expression(reading, node), None
    else:
        feature = int(tree.feature[node])
        key, name, missing = feature, reading.names[feature], None
        if tree.missing[node] >= 0:
            missing = bool(tree.missing[node] == which)
    before = known.get(key, Condition(name, missing=missing))
    if tree.kind[node] == NUMERIC and asks_if_known(reading, node):
        now = before if which == 0 else replace(before, above=math.inf)
    elif tree.kind[node] in (NUMERIC, LINEAR):
        threshold = float(tree.threshold[node])
        now = (
            replace(before, at_most=min(before.at_most, threshold))
            if which == 0
            else replace(before, above=max(before.above, threshold))
        )
    else:
        now = _with_codes(reading, node, before, *codes_of_child(reading, node, which))
    # Along the path a missing value passes only where every test lets it pass.
    both = (
        missing
        if before.missing is None
        else before.missing
        if missing is None
        else before.missing and missing
    )
    return known | {key: replace(now, missing=both)}


def _with_codes(
    reading: Reading, node: int, before: Condition, codes: list[int], others: list[int]
) -> Condition:
    """Keep of a condition's values those that a category test lets through."""
    feature = int(reading.tree.feature[node])
    known = reading.categories[feature] or range(reading.n_codes[feature])
    values, rest = tuple(known[code] for code in codes), tuple(known[code] for code in others)
    if before.values is not None:
        left_out = set(rest)
        values = tuple(value for value in before.values if value not in left_out)
        inside = set(values)
        rest = tuple(value for value in known if value not in inside)
    return replace(before, values=values, others=rest)


def _unbranched(reading: Reading, node: int, known: _Known) -> _Known | None:
    """Give the conditions under which a multiway node answers itself, None where it never does."""
    if reading.tree.kind[node] != MULTIWAY:
        return None
    feature = int(reading.tree.feature[node])
    before = known.get(feature, Condition(reading.names[feature]))
    now = _with_codes(reading, node, before, *codes_of_child(reading, node, -1))
    # A missing value goes to a child, never here.
    return known | {feature: replace(now, missing=None)} if now.values else None


def _rule(reading: Reading, node: int, known: _Known, squared: bool) -> Rule:
    tree = reading.tree
    answered_here = bool(tree.is_leaf[node])  # else for categories that no training row had
    prediction: Any = reading.label(node)
    confidence: Any = None
    if reading.labels is not None:
        confidence = tuple(tree.value[node].max(axis=1).tolist())
    std = None
    if reading.labels is None and squared and tree.n_outputs == 1:
        std = math.sqrt(max(float(tree.impurity[node]), 0.0))
    if tree.n_outputs == 1:
        prediction, confidence = prediction[0], confidence[0] if confidence else None
    weight = float(tree.weight[node]) if answered_here else 0.0
    return Rule(
        conditions=tuple(_shown(reading, key, condition) for key, condition in known.items()),
        prediction=prediction,
        confidence=confidence,
        std=std,
        weight=weight,
        share=weight / float(tree.weight[0]) if tree.weight[0] > 0 else 0.0,
        n_samples=int(tree.n_samples[node]) if answered_here else 0,
        node=node,
    )


def _shown(reading: Reading, key: Hashable, condition: Condition) -> Condition:
    """Leave out where missing values go if that is not to be said, unless it is all that is asked."""
    said = not isinstance(key, int) or reading.shows_missing[key]
    if said or condition.only_missing or condition.only_known:
        return condition
    return replace(condition, missing=None)
