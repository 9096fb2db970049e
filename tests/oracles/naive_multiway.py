"""Slow ID3 and C4.5 trees in plain Python, written to be obviously right: what the growers are held to.

A column is a list: numbers for the kind "numeric", integer codes for the kind "categorical".
`None` is a missing value in either; so are NaN in a numeric column and a negative code in a categorical one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

Column = Sequence[float | None]
Entry = tuple[int, float]  # (row, weight of that row in the node)
Counts = list[float]

TINY = (
    1e-12  # a gain must exceed this to be a gain, and a score must beat another by more than this not to tie
)
SLACK = 1e-9  # weights are sums of fractions, so "at least min_samples_leaf" is asked up to this


@dataclass(frozen=True)
class Candidate:
    """One feature's best test at a node; `threshold` is None for a test with a branch for each value."""

    feature: int
    threshold: float | None
    gain: float
    gain_ratio: float
    score: float
    ties: tuple[float, ...] = ()  # every threshold of this feature whose gain is the best one up to rounding


@dataclass
class Node:
    """A node: what came in, what was considered, and what was chosen; a leaf has `feature` None."""

    depth: int
    entries: list[Entry]
    weight: float
    value: list[float]  # class proportions
    candidates: list[Candidate] = field(default_factory=list)
    feature: int | None = None
    threshold: float | None = None
    branch_values: list[float] = field(default_factory=list)  # the value of each child of a multiway test
    children: list[Node] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it, breadth first, as the arrays of a fitted tree do."""
        level = [self]
        while level:
            yield from level
            level = [child for node in level for child in node.children]


# A rule is given the path from the root and the candidates; it returns the test to use, or None for a leaf.
Choose = Callable[[tuple[int, ...], list[Candidate]], Candidate | None]


def is_missing(value: float | None, kind: str) -> bool:
    """Return whether a cell holds no value."""
    if value is None:
        return True
    return value < 0 if kind == "categorical" else math.isnan(value)


def entropy(counts: Sequence[float]) -> float:
    """Return −Σ p log2 p of the shares of `counts`, where 0 log 0 is 0."""
    total = math.fsum(counts)
    return -math.fsum(c / total * math.log2(c / total) for c in counts if c > 0) if total > 0 else 0.0


def midpoint(low: float, high: float) -> float:
    """Return the threshold between two neighbouring values: x ≤ threshold holds for `low`, not `high`."""
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low


@dataclass
class Tree:
    """A grown tree with what is needed to read new rows."""

    root: Node
    kinds: list[str]
    classes: list[object]

    def predict_proba(self, rows: Sequence[Sequence[float | None]]) -> list[list[float]]:
        """Return class proportions of each row; a missing value follows every branch by its weight."""
        return [self._descend(self.root, row) for row in rows]

    def _descend(self, node: Node, row: Sequence[float | None]) -> list[float]:
        if node.feature is None:
            return node.value
        value = row[node.feature]
        if value is None or is_missing(value, self.kinds[node.feature]):
            answers = [(child.weight / node.weight, self._descend(child, row)) for child in node.children]
            return [
                math.fsum(share * answer[k] for share, answer in answers) for k in range(len(self.classes))
            ]
        if node.threshold is not None:
            return self._descend(node.children[0 if value <= node.threshold else 1], row)
        if value not in node.branch_values:
            return node.value
        return self._descend(node.children[node.branch_values.index(value)], row)

    def expected_cost(self, costs: Sequence[float]) -> float:
        """Return the mean price of classifying a training row; each feature on its path is paid for once."""

        def below(node: Node, paid: frozenset[int]) -> float:
            if node.feature is None:
                return node.weight * math.fsum(costs[feature] for feature in paid)
            return math.fsum(below(child, paid | {node.feature}) for child in node.children)

        return below(self.root, frozenset()) / self.root.weight


def attribute_cost_score(rule: str, gain: float, cost: float, omega: float) -> float:
    """Weigh a gain against the price of reading the feature."""
    if rule == "tan":
        return gain**2 / cost
    if rule == "tan-linear":
        return gain / cost
    if rule == "nunez":
        return (math.pow(2, gain) - 1) / math.pow(cost + 1, omega)
    raise ValueError(f"cost_rule is {rule!r}; use 'tan', 'tan-linear' or 'nunez'")


@dataclass
class Grower:
    """Grow one tree from one table; the parameters say which algorithm."""

    columns: Sequence[Column]
    kinds: Sequence[str]
    labels: list[int]  # class of each row, as a position in `classes`
    classes: list[object]
    numeric_thresholds: bool  # C4.5 cuts a numeric column in two; ID3 gives every value a branch
    ratio_among_average: bool  # C4.5 compares gain ratios of features with at least the average gain
    min_samples_leaf: float
    min_samples_split: int
    max_depth: int | None
    min_gain: float
    costs: Sequence[float] | None
    cost_rule: str | None
    omega: float
    choose: Choose | None

    def grow(self, entries: list[Entry], unused: list[int], path: tuple[int, ...] = ()) -> Node:
        """Grow the node of these entries and everything below it."""
        counts = self.count(entries)
        weight = math.fsum(w for _, w in entries)
        node = Node(len(path), entries, weight, [c / weight for c in counts])
        pure = sum(c > 0 for c in counts) <= 1
        too_deep = self.max_depth is not None and node.depth >= self.max_depth
        if pure or too_deep or len(entries) < self.min_samples_split:
            return node
        found = [self.candidate(feature, entries) for feature in unused]
        node.candidates = [candidate for candidate in found if candidate is not None]
        best = self.pick(node.candidates) if self.choose is None else self.choose(path, node.candidates)
        if best is None:
            return node
        node.feature, node.threshold = best.feature, best.threshold
        again = [f for f in unused if f != best.feature or best.threshold is not None]
        node.branch_values, branches = self.split(best, entries)
        node.children = [self.grow(branch, again, (*path, i)) for i, branch in enumerate(branches)]
        return node

    def count(self, entries: Sequence[Entry]) -> Counts:
        """Return the weight of each class."""
        weights: list[list[float]] = [[] for _ in self.classes]
        for row, weight in entries:
            weights[self.labels[row]].append(weight)
        return [math.fsum(w) for w in weights]

    def by_value(self, feature: int, entries: Sequence[Entry]) -> dict[float, list[Entry]]:
        """Group the entries with a known value by that value, in ascending order."""
        groups: dict[float, list[Entry]] = {}
        for entry in entries:
            value = self.columns[feature][entry[0]]
            if value is not None and not is_missing(value, self.kinds[feature]):
                groups.setdefault(value, []).append(entry)
        return {value: groups[value] for value in sorted(groups)}

    def candidate(self, feature: int, entries: list[Entry]) -> Candidate | None:
        """Return the best test of one feature, or None where it has none."""
        groups = list(self.by_value(feature, entries).items())
        if len(groups) < 2:
            return None
        weight = math.fsum(w for _, w in entries)
        if self.kinds[feature] == "categorical" or not self.numeric_thresholds:
            branches = [self.count(group) for _, group in groups]
            if sum(math.fsum(b) >= self.min_samples_leaf - SLACK for b in branches) < 2:
                return None
            return self.scored(feature, None, branches, weight)
        tests: list[Candidate] = []
        for i in range(1, len(groups)):
            below = self.count([entry for _, group in groups[:i] for entry in group])
            above = self.count([entry for _, group in groups[i:] for entry in group])
            if min(math.fsum(below), math.fsum(above)) >= self.min_samples_leaf - SLACK:
                threshold = midpoint(groups[i - 1][0], groups[i][0])
                tests.append(self.scored(feature, threshold, [below, above], weight))
        if not tests:
            return None
        highest = max(test.gain for test in tests)
        level = [test for test in tests if test.gain >= highest - TINY]
        first = level[0]
        ties = tuple(test.threshold for test in level if test.threshold is not None)
        return Candidate(feature, first.threshold, first.gain, first.gain_ratio, first.score, ties)

    def scored(
        self, feature: int, threshold: float | None, branches: list[Counts], weight: float
    ) -> Candidate:
        """Score one test: gain = ρ (H(known) − Σ r̃ H(branch)), and its ratio to IV = −Σ r̃ log2 r̃."""
        sizes = [math.fsum(branch) for branch in branches]
        known = math.fsum(sizes)
        total = [math.fsum(branch[k] for branch in branches) for k in range(len(self.classes))]
        remaining = math.fsum(
            size / known * entropy(branch) for size, branch in zip(sizes, branches, strict=True)
        )
        gain = known / weight * (entropy(total) - remaining)
        ratio = gain / entropy(sizes)
        if self.cost_rule is not None and self.costs is not None:
            score = attribute_cost_score(self.cost_rule, gain, self.costs[feature], self.omega)
        else:
            score = ratio if self.ratio_among_average else gain
        return Candidate(feature, threshold, gain, ratio, score)

    def pick(self, candidates: list[Candidate]) -> Candidate | None:
        """Choose among the features; of equal scores the lowest feature."""
        eligible = candidates
        if self.ratio_among_average and self.cost_rule is None and candidates:
            average = math.fsum(c.gain for c in candidates) / len(candidates)
            eligible = [c for c in candidates if c.gain >= average - TINY * max(1.0, abs(average))]
        best: Candidate | None = None
        for candidate in eligible:
            if best is None or candidate.score > best.score + TINY:
                best = candidate
        if best is None or best.gain <= TINY or best.gain < self.min_gain:
            return None
        return best

    def split(self, test: Candidate, entries: list[Entry]) -> tuple[list[float], list[list[Entry]]]:
        """Return the value of each branch (none for a threshold) and its entries; missing rows go to all."""
        groups = self.by_value(test.feature, entries)
        if test.threshold is None:
            known = list(groups.values())
        else:
            known = [[], []]
            for value, group in groups.items():
                known[0 if value <= test.threshold else 1] += group
        sizes = [math.fsum(w for _, w in branch) for branch in known]
        seen = {row for branch in known for row, _ in branch}
        missing = [entry for entry in entries if entry[0] not in seen]
        branches: list[list[Entry]] = []
        for branch, size in zip(known, sizes, strict=True):
            share = size / math.fsum(sizes)
            everyone = branch + [(row, weight * share) for row, weight in missing]
            branches.append(sorted(entry for entry in everyone if entry[1] > 0))
        return (list(groups) if test.threshold is None else []), branches


def grow_c45(
    columns: Sequence[Column],
    kinds: Sequence[str],
    y: Sequence[object],
    weights: Sequence[float] | None = None,
    *,
    min_samples_leaf: float = 2,
    min_samples_split: int = 2,
    max_depth: int | None = None,
    min_gain: float = 0.0,
    costs: Sequence[float] | None = None,
    cost_rule: str | None = None,
    omega: float = 1.0,
    choose: Choose | None = None,
) -> Tree:
    """Grow an unpruned C4.5 tree.

    `choose` replaces the rule that picks the test: with the choices of another program, ties that rounding
    broke differently do not make the trees drift apart.

    >>> tree = grow_c45([[1.0, 2.0, 3.0, 4.0]], ["numeric"], ["a", "a", "b", "b"])
    >>> tree.root.threshold, tree.predict_proba([[9.0], [None]])
    (2.5, [[0.0, 1.0], [0.5, 0.5]])
    """
    labels, classes, entries = _enter(y, weights)
    grower = Grower(
        columns, kinds, labels, classes, True, True, min_samples_leaf, min_samples_split,
        max_depth, min_gain, costs, cost_rule, omega, choose,
    )  # fmt: skip
    return Tree(grower.grow(entries, list(range(len(columns)))), list(kinds), classes)


def grow_id3(
    columns: Sequence[Column],
    kinds: Sequence[str],
    y: Sequence[object],
    weights: Sequence[float] | None = None,
    *,
    epsilon: float = 0.0,
    min_samples_leaf: float = 0,
    min_samples_split: int = 2,
    max_depth: int | None = None,
    costs: Sequence[float] | None = None,
    cost_rule: str | None = None,
    omega: float = 1.0,
    choose: Choose | None = None,
) -> Tree:
    """Grow an ID3 tree: a branch for every value, numeric or not, and each feature at most once on a path.

    >>> tree = grow_id3([[1.0, 1.0, 2.0, 3.0]], ["numeric"], ["a", "a", "b", "a"])
    >>> tree.root.branch_values, tree.predict_proba([[2.0]])
    ([1.0, 2.0, 3.0], [[0.0, 1.0]])
    """
    labels, classes, entries = _enter(y, weights)
    grower = Grower(
        columns, kinds, labels, classes, False, False, min_samples_leaf, min_samples_split,
        max_depth, epsilon, costs, cost_rule, omega, choose,
    )  # fmt: skip
    return Tree(grower.grow(entries, list(range(len(columns)))), list(kinds), classes)


def _enter(
    y: Sequence[object], weights: Sequence[float] | None
) -> tuple[list[int], list[object], list[Entry]]:
    """Number the classes and make the root's entries: the rows of positive weight."""
    classes: list[object] = sorted(set(y))  # type: ignore[type-var]
    labels = [classes.index(label) for label in y]
    given = [1.0] * len(labels) if weights is None else [float(w) for w in weights]
    entries = [(row, weight) for row, weight in enumerate(given) if weight > 0]
    if not entries:
        raise ValueError("every row has weight 0, so there is nothing to learn from")
    return labels, classes, entries
