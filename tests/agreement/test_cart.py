"""DecisionTreeClassifier and -Regressor without bins grow the trees that scikit-learn's grow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn import tree as sklearn_tree

import spinney
from agreement.binary import ATOL, RTOL, Pair, Walk
from agreement.multiway import tree_bytes

pytestmark = pytest.mark.filterwarnings("ignore:.*friedman_mse.*:FutureWarning")

CLASSIFICATION = ("gini", "entropy", "log_loss")


@dataclass
class Case:
    """What one test varies: the parameters of the tree and the shape of the data."""

    criterion: str
    params: dict[str, Any] = field(default_factory=dict)
    n_rows: int = 200
    n_features: int = 5
    n_classes: int = 3
    n_outputs: int = 1
    weights: str = "none"
    missing: float = 0.0

    @property
    def name(self) -> str:
        data = [self.weights] * (self.weights != "none") + ["missing"] * (self.missing > 0)
        data += [f"{self.n_outputs} outputs"] * (self.n_outputs > 1)
        return " ".join([self.criterion, *(f"{k}={v}" for k, v in self.params.items()), *data])

    def models(self) -> tuple[Any, Any]:
        """Make the two estimators to compare."""
        kind = "DecisionTreeClassifier" if self.criterion in CLASSIFICATION else "DecisionTreeRegressor"
        ours = getattr(spinney, kind)(criterion=self.criterion, max_bins=None, **self.params)
        theirs = getattr(sklearn_tree, kind)(criterion=self.criterion, random_state=0, **self.params)
        return ours, theirs


@dataclass
class Data:
    """A training table, and new rows of the same kind."""

    X: NDArray[Any]
    y: NDArray[Any]
    weights: NDArray[np.float64] | None
    X_new: NDArray[Any]


def make_data(case: Case, seed: int) -> Data:
    """Draw a table of numbers that float32 holds exactly and that lie well apart, so that ties are rare."""
    rng = np.random.default_rng(seed)
    n, d = case.n_rows, case.n_features
    X, X_new = (
        np.stack([(rng.permutation(n) + rng.uniform(0.1, 0.9, n)) / 8 for _ in range(d)], axis=1)
        for _ in range(2)
    )
    signal = X[:, [0]] / 10 + np.sin(X[:, [1]]) + np.outer(X[:, 2] > 9, np.arange(case.n_outputs))
    signal = signal + rng.normal(scale=0.5, size=(n, case.n_outputs))
    if case.criterion in CLASSIFICATION:
        y = np.digitize(signal, np.quantile(signal, np.linspace(0, 1, case.n_classes + 1)[1:-1]))
    elif case.criterion == "poisson":
        # Zeros only where sums are exact: scikit-learn takes a child without events for one with few
        # when rounding leaves its sum above 2e-16, and then stops.
        y = np.round(np.maximum(signal, 1 / 64 if case.weights == "real" else 0) * 64) / 64
    else:
        y = signal
    for table in (X, X_new):
        table[rng.random(table.shape) < case.missing] = np.nan
    weights = {
        "none": None,
        "real": rng.uniform(0.2, 3, n),
        "steps": rng.integers(1, 24, n) / 8,
        "with zeros": rng.choice([0.0, 0.5, 1.0, 2.5], n),
    }[case.weights]
    dtype = np.float32 if seed % 2 else np.float64
    X, X_new = X.astype(np.float32).astype(dtype), X_new.astype(np.float32).astype(dtype)
    return Data(X, y[:, 0] if case.n_outputs == 1 else y, weights, X_new)


def compare(case: Case, seed: int) -> Walk:
    """Fit both, walk their trees side by side, and compare what the estimators say of new rows."""
    data = make_data(case, seed)
    ours, theirs = (m.fit(data.X, data.y, data.weights) for m in case.models())
    walk = Pair.of(ours, theirs, data.X, data.weights).walk()
    if walk.complete:
        assert ours.tree_.node_count == theirs.tree_.node_count
        assert (ours.get_depth(), ours.get_n_leaves()) == (theirs.get_depth(), theirs.get_n_leaves())
        assert_allclose(ours.feature_importances_, theirs.feature_importances_, RTOL, ATOL)
        for X in (data.X, data.X_new):
            compare_answers(ours, theirs, X)
    return walk


def compare_answers(ours: Any, theirs: Any, X: NDArray[Any]) -> None:
    assert_allclose(ours.predict(X), theirs.predict(X), RTOL, ATOL)
    if hasattr(ours, "predict_proba"):
        found, expected = ours.predict_proba(X), theirs.predict_proba(X)
        if isinstance(expected, list):
            found, expected = np.concatenate(found, axis=1), np.concatenate(expected, axis=1)
        assert_allclose(found, expected, RTOL, ATOL)
    ours_at, theirs_at = ours.apply(X), theirs.apply(X)
    assert_array_equal(ours.tree_.n_samples[ours_at], theirs.tree_.n_node_samples[theirs_at])
    path_lengths = [np.diff(model.decision_path(X).indptr) for model in (ours, theirs)]
    assert_array_equal(path_lengths[0], path_lengths[1])
    assert_array_equal(path_lengths[0], ours.tree_.depth[ours_at] + 1)


# Counts of rows tie where weights do not, so trees of plain counts are compared with fewer and larger leaves.
COUNTS: dict[str, Any] = {"n_rows": 500, "n_classes": 3}
MIXED, FULL = [1, -1, 0, 1, 0], [1, -1, 1, 1, -1]


def criterion_cases() -> Iterator[Case]:
    """List the criteria with every kind of data."""
    leaf, large = {"min_samples_leaf": 5}, {"min_samples_leaf": 20}
    for criterion in ("gini", "entropy", "log_loss"):
        yield Case(criterion, large, **COUNTS)
        yield Case(criterion, leaf, weights="real")
        yield Case(criterion, leaf, weights="steps", n_classes=2)
        yield Case(criterion, leaf, weights="real", missing=0.2)
        yield Case(criterion, large, missing=0.1, **COUNTS)
        yield Case(criterion, leaf, n_outputs=2)
        yield Case(criterion, {**leaf, "monotonic_cst": FULL}, n_classes=2, weights="real")
        yield Case(criterion, {"max_leaf_nodes": 12, **leaf}, weights="real")
    for criterion in ("squared_error", "absolute_error", "poisson", "friedman_mse"):
        yield Case(criterion, leaf, weights="steps")
        yield Case(criterion, leaf, weights="real", missing=0.2)
        yield Case(criterion, {"max_leaf_nodes": 12, **leaf}, weights="real")
        yield Case(criterion, {"max_depth": 4}, weights="with zeros")
        yield Case(criterion, {**leaf, "monotonic_cst": FULL}, weights="real")
        yield Case(
            criterion, {**leaf, "monotonic_cst": FULL, "max_leaf_nodes": 9}, weights="real", missing=0.1
        )
        if criterion != "friedman_mse":
            yield Case(criterion, leaf, n_outputs=2, weights="real")


def parameter_cases() -> Iterator[Case]:
    """List the limits and prunings."""
    for criterion in ("gini", "squared_error"):
        for params in (
            {"max_depth": 3},
            {"min_samples_split": 60},
            {"min_samples_split": 0.1, "min_samples_leaf": 0.04},
            {"min_weight_fraction_leaf": 0.05},
            {"min_impurity_decrease": 0.006},
            {"ccp_alpha": 0.006},
            {"max_leaf_nodes": 9, "min_impurity_decrease": 0.01},
            {"max_leaf_nodes": 14, "max_depth": 4, "ccp_alpha": 0.003},
        ):
            yield Case(criterion, params, **COUNTS)
            yield Case(criterion, params, weights="real", missing=0.1)
    yield Case("squared_error", {})
    yield Case("squared_error", {}, missing=0.3)
    yield Case("poisson", {}, weights="real")
    leaf = {"min_samples_leaf": 5}
    for class_weight in ("balanced", {0: 1.0, 1: 4.0, 2: 0.25}):
        yield Case("gini", {"class_weight": class_weight, "min_samples_leaf": 20}, **COUNTS)
        yield Case("entropy", {"class_weight": class_weight, **leaf}, weights="real")
    yield Case("gini", {"class_weight": "balanced", **leaf}, n_outputs=2)
    yield Case(
        "gini", {"class_weight": [{0: 1.0, 1: 4.0, 2: 0.25}, {0: 2.0, 1: 1.0, 2: 3.0}], **leaf}, n_outputs=2
    )


@pytest.mark.parametrize("case", [*criterion_cases(), *parameter_cases()], ids=lambda case: case.name)
def test_same_tree_as_scikit_learn(case: Case) -> None:
    total = Walk()
    for seed in range(3):
        total.add(compare(case, seed))
    assert total.compared >= 15
    assert total.share >= 0.9, total


def subtle_cases() -> Iterator[Case]:
    """List where scikit-learn's rule is easy to miss: bounds bind constrained features only; Friedman."""
    leaf = {"min_samples_leaf": 5}
    for criterion in ("gini", "squared_error", "poisson", "absolute_error"):
        yield Case(criterion, {**leaf, "monotonic_cst": MIXED}, n_classes=2, weights="real")
    yield Case("friedman_mse", leaf, n_outputs=2, weights="real")
    yield Case("friedman_mse", {"min_impurity_decrease": 0.01}, weights="real")


@pytest.mark.parametrize("case", list(subtle_cases()), ids=lambda case: case.name)
def test_same_tree_as_scikit_learn_in_subtle_cases(case: Case) -> None:
    test_same_tree_as_scikit_learn(case)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "absolute_error", "poisson"])
def test_same_pruning_path_as_scikit_learn(criterion: str) -> None:
    case = Case(criterion, {"min_samples_leaf": 8}, weights="real")
    complete = 0
    for seed in range(6):
        data = make_data(case, seed)
        if not compare(case, seed).complete:
            continue  # another tree has another path
        complete += 1
        ours, theirs = (m.cost_complexity_pruning_path(data.X, data.y, data.weights) for m in case.models())
        assert_allclose(ours.ccp_alphas, theirs.ccp_alphas, RTOL, ATOL)
        assert_allclose(ours.impurities, theirs.impurities, RTOL, ATOL)
        assert len(ours.ccp_alphas) > 5
    assert complete >= 3


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson", "friedman_mse"])
@pytest.mark.parametrize("weights", ["none", "real", "with zeros"])
@pytest.mark.parametrize(
    "params", [{}, {"max_leaf_nodes": 20}, {"min_samples_leaf": 4, "max_depth": 6}], ids=str
)
def test_bins_of_one_value_each_give_the_exact_tree(
    criterion: str, weights: str, params: dict[str, Any]
) -> None:
    for seed in range(3):
        case = Case(criterion, params, n_rows=600, weights=weights, missing=0.1 * (seed % 2))
        data = make_data(case, seed)
        data.X = np.round(data.X * 250 / 75) / 4
        assert max(len(np.unique(column[~np.isnan(column)])) for column in data.X.T) <= 255
        exact, _ = case.models()
        binned = exact.__class__(**{**exact.get_params(), "max_bins": 255})
        bytes_of = [tree_bytes(m.fit(data.X, data.y, data.weights)) for m in (exact, binned)]
        assert [name for name in bytes_of[0] if bytes_of[0][name] != bytes_of[1][name]] == []
