import numpy as np
import pytest

from spinney import DecisionTreeClassifier, ObliqueTreeClassifier, ObliqueTreeRegressor
from spinney.tree.tree_arrays import LINEAR


@pytest.fixture
def diagonal():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    return X, X[:, 0] + 2 * X[:, 1] > 0.3


def test_a_diagonal_border_takes_few_linear_tests(diagonal):
    X, y = diagonal
    oblique = ObliqueTreeClassifier(random_state=0).fit(X, y)
    straight = DecisionTreeClassifier().fit(X, y)
    assert oblique.score(X, y) == 1.0
    assert (oblique.tree_.kind == LINEAR).any()
    assert oblique.get_n_leaves() < straight.get_n_leaves() / 2


def test_regression(diagonal):
    X, y = diagonal
    model = ObliqueTreeRegressor(random_state=0).fit(X, 3.0 * y)
    assert model.score(X, 3.0 * y) == pytest.approx(1.0)
    assert (model.tree_.kind == LINEAR).any()


def test_missing_values_and_categories_are_taken(diagonal):
    X, y = diagonal
    table = X.astype(object)
    table[::11, 0] = np.nan
    table[:, 2] = np.where(X[:, 2] > 0, "high", "low")
    model = ObliqueTreeClassifier(random_state=0).fit(table, y)
    assert model.score(table, y) > 0.95
    assert len(model.predict(table[:3])) == 3


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_sums_over_many_classes_choose_the_same_splits(criterion):
    """From 64 classes on, sums are updated by row; classes without weight get there without a change."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 4))
    y = np.digitize(X[:, 0] + X[:, 1], np.linspace(-3, 3, 59))
    weight = rng.integers(1, 4, 700) * 0.5
    settings = {"criterion": criterion, "min_samples_leaf": 3, "max_depth": 5, "random_state": 0}
    few = ObliqueTreeClassifier(**settings).fit(X, y, sample_weight=weight)
    more = np.vstack([X, rng.normal(size=(30, 4))]), np.append(y, 100 + np.arange(30))
    many = ObliqueTreeClassifier(**settings).fit(*more, sample_weight=np.append(weight, np.zeros(30)))
    assert few.n_classes_ < 64 <= many.n_classes_
    assert (few.tree_.kind == LINEAR).sum() > 5
    assert many.tree_.kind.tolist() == few.tree_.kind.tolist()
    assert many.tree_.threshold.tolist() == few.tree_.threshold.tolist()
    assert many.tree_.term_coefficient.tolist() == few.tree_.term_coefficient.tolist()
