import numpy as np
import pytest

from spinney import DecisionTreeClassifier, DecisionTreeRegressor
from spinney.losses.criteria import CRITERIA, impurity_scale


def test_criteria_are_found_by_task():
    assert CRITERIA["friedman_mse"].core_name == "squared_error"
    with pytest.raises(ValueError, match="'gini' or 'entropy' or 'log_loss'"):
        DecisionTreeClassifier(criterion="squared_error").fit([[0.0], [1.0]], [0, 1])


def test_the_scale_of_squared_error_is_the_impurity_of_all_rows():
    rng = np.random.default_rng(0)
    y, weights = rng.normal(size=(50, 2)), rng.random(50)
    for w in (None, weights, weights * 1e300):
        root = DecisionTreeRegressor(max_depth=1).fit(np.arange(50.0)[:, None], y, w).tree_.impurity[0]
        assert impurity_scale(CRITERIA["squared_error"], y, w) == pytest.approx(root)


def test_the_scale_is_in_the_units_of_the_impurity():
    y = np.array([[0.0], [1.0], [5.0]])
    for name, power in {"squared_error": 2, "absolute_error": 1, "poisson": 1}.items():
        ratio = impurity_scale(CRITERIA[name], 8 * y, None) / impurity_scale(CRITERIA[name], y, None)
        assert ratio == pytest.approx(8**power)
    assert impurity_scale(CRITERIA["gini"], y, None) == 1.0


def test_the_scale_of_extreme_values_is_finite():
    y = np.array([[-1e308], [1e308]])
    assert impurity_scale(CRITERIA["squared_error"], y, None) == np.finfo(float).max
    assert impurity_scale(CRITERIA["absolute_error"], y, None) == 1e308
    assert impurity_scale(CRITERIA["absolute_error"], y * 5e-324 * 1e10, None) > 0
    assert impurity_scale(CRITERIA["squared_error"], np.zeros((3, 1)), None) == 0
