import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

import spinney as sp

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(300, 3))
Y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * RNG.normal(size=300)


class Recorder(KNeighborsRegressor):
    """Remember the targets that it was fitted to."""

    def fit(self, X, y):
        self.seen_ = np.asarray(y)
        return super().fit(X, y)


def noise(**params):
    model = sp.OutputSmearingRegressor(Recorder(1), random_state=3, **params).fit(X, Y)
    return model, np.array([member.seen_ - Y for member in model.estimators_])


@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_the_noise_is_normal_and_in_units_of_the_deviation(scale):
    model, added = noise(scale=scale, n_estimators=30)
    assert_allclose(model.noise_, [scale * Y.std()])
    assert stats.kstest(added.ravel() / (scale * Y.std()), "norm").pvalue > 1e-3


def test_noise_differs_by_row_and_member():
    _, added = noise(n_estimators=40)
    correlation = np.corrcoef(added)
    assert np.abs(correlation[np.triu_indices(40, 1)]).max() < 5 / np.sqrt(300)


def test_no_scale_no_noise_and_a_constant_stays_one():
    _, added = noise(scale=0.0, n_estimators=2)
    assert not added.any()
    constant = sp.OutputSmearingRegressor(n_estimators=3).fit(X, np.full(300, 2.5))
    assert constant.noise_ == 0 and (constant.predict(X) == 2.5).all()


def test_large_targets_do_not_overflow():
    model = sp.OutputSmearingRegressor(n_estimators=3, random_state=0).fit(X, Y * 1e300)
    assert_allclose(model.noise_, 0.5 * Y.std() * 1e300, rtol=1e-12)
    assert np.isfinite(model.predict(X)).all()


def test_the_mean_is_better_than_a_tree():
    rng = np.random.default_rng(1)
    T = rng.uniform(-1, 1, size=(3000, 3))
    truth = np.sin(3 * T[:, 0]) + T[:, 1] ** 2
    tree = sp.DecisionTreeRegressor(random_state=0).fit(X, Y).score(T, truth)
    assert sp.OutputSmearingRegressor(random_state=0).fit(X, Y).score(T, truth) > tree + 0.05


def test_predictions_are_means():
    model = sp.OutputSmearingRegressor(LinearRegression(), n_estimators=4, random_state=0).fit(X, Y)
    assert_allclose(model.predict(X), np.mean([member.predict(X) for member in model.estimators_], axis=0))


def test_several_targets_have_noise_of_their_own_size():
    both = np.column_stack([Y, 100 * Y[::-1]])
    model = sp.OutputSmearingRegressor(Recorder(1), n_estimators=30, random_state=0).fit(X, both)
    assert model.n_outputs_ == 2 and model.predict(X).shape == (300, 2)
    added = np.array([member.seen_ - both for member in model.estimators_])
    assert_allclose(added.std(axis=(0, 1)), 0.5 * both.std(axis=0), rtol=0.05)
    assert abs(np.corrcoef(added.reshape(-1, 2).T)[0, 1]) < 0.05


def test_the_deviation_is_that_of_the_weighted_rows():
    weights = np.where(X[:, 0] > 0, 3.0, 0.0)
    model = sp.OutputSmearingRegressor(n_estimators=1, random_state=0).fit(X, Y, weights)
    assert_allclose(model.noise_, 0.5 * Y[X[:, 0] > 0].std())
