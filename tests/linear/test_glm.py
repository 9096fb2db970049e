"""GeneralizedLinearRegressor: every family and link against scikit-learn or the score equations."""

import numpy as np
import pytest
import sklearn.linear_model as theirs
from numpy.testing import assert_allclose
from scipy.optimize import minimize

import spinney as sp
from loops import for_each
from spinney.linear.glm import half_deviance, mean_of

FAMILIES = {
    "normal": ("identity", "log", "inverse"),
    "poisson": ("log", "identity"),
    "gamma": ("log", "inverse", "identity"),
    "tweedie": ("log",),
    "binomial": ("logit", "log", "identity"),
    "inverse-gaussian": ("log", "inverse"),
}
POWERS = {
    "normal": 0.0,
    "poisson": 1.0,
    "gamma": 2.0,
    "tweedie": 1.5,
    "inverse-gaussian": 3.0,
    "binomial": None,
}
CASES = [(family, link) for family, links in FAMILIES.items() for link in links]


def data(family, link, seed):
    """Return rows whose means are valid for the link, with targets of the family."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, size=(150, 3))
    score = X @ [0.3, 0.5, 0.2] + (0.2 if link == "identity" else 0.5)
    if family == "binomial" and link in ("log", "identity"):
        score = -1.5 + X @ [0.3, 0.5, 0.2] if link == "log" else 0.2 + X @ [0.1, 0.2, 0.1]
    mean = mean_of(score, link)[0]
    if family == "normal":
        y = mean + 0.1 * rng.normal(size=150)
    elif family == "poisson":
        y = rng.poisson(mean).astype(float)
    elif family == "binomial":
        y = (rng.random(150) < mean).astype(float)
    elif family == "tweedie":
        y = np.where(rng.random(150) < 0.3, 0.0, rng.gamma(3.0, mean / 3.0))
    else:
        y = rng.gamma(5.0, mean / 5.0)
    return X, y, rng.random(150) + 0.5


@for_each("case", CASES)
def test_families_and_links_are_maximum_likelihood(case):
    family, link = case
    X, y, weights = data(family, link, 0)
    offset = 0.05 * np.arange(150) / 150
    for alpha in (0.0, 0.1):
        model = sp.GeneralizedLinearRegressor(family, link=link, alpha=alpha, tol=1e-9, max_iter=500)
        model.fit(X, y, weights, offset)

        def objective(theta, alpha=alpha):
            mean = mean_of(X @ theta[:-1] + theta[-1] + offset, link)[0]
            with np.errstate(all="ignore"):
                value = np.average(half_deviance(y, mean, POWERS[family]), weights=weights)
            return value + 0.5 * alpha * theta[:-1] @ theta[:-1] if np.isfinite(value) else np.inf

        mine = np.append(model.coef_, model.intercept_)
        step = 1e-5 * np.eye(4)
        slopes = [(objective(mine + one) - objective(mine - one)) / 2e-5 for one in step]
        assert np.abs(slopes).max() < 1e-6, (alpha, slopes)
        other = minimize(objective, mine + 0.01, method="Nelder-Mead", options={"maxiter": 200})
        assert objective(mine) <= other.fun + 1e-9


@for_each("seed", range(3))
def test_coefficients_agree_with_scikit_learn(seed):
    for family, power in (
        ("poisson", 1),
        ("gamma", 2),
        ("tweedie", 1.5),
        ("inverse-gaussian", 3),
        ("normal", 0),
    ):
        link = "identity" if family == "normal" else "log"
        X, y, weights = data(family, link, seed)
        mine = sp.GeneralizedLinearRegressor(family, alpha=0.01, tol=1e-9).fit(X, y, weights)
        other = theirs.TweedieRegressor(power=power, alpha=0.01, tol=1e-10, max_iter=5000, link=link)
        if family != "normal":
            other.set_params(solver="newton-cholesky")
        other.fit(X, y, weights)
        assert_allclose(mine.coef_, other.coef_, rtol=1e-5, atol=1e-6)
        assert_allclose(mine.predict(X), other.predict(X), rtol=1e-5)
        assert_allclose(mine.score(X, y, weights), other.score(X, y, weights), rtol=1e-5)


def test_binomial_is_logistic_regression():
    X, y, weights = data("binomial", "logit", 1)
    glm = sp.GeneralizedLinearRegressor("binomial", alpha=1.0 / weights.sum(), tol=1e-10).fit(X, y, weights)
    logistic = sp.LogisticRegression(tol=1e-10).fit(X, y, weights)
    assert_allclose(glm.coef_, logistic.coef_[0], rtol=1e-8)
    assert_allclose(glm.predict(X), logistic.predict_proba(X)[:, 1], rtol=1e-8)


def test_l1_penalty_and_many_columns():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 12))
    y = rng.poisson(np.exp(0.5 * X[:, 0])).astype(float)
    model = sp.GeneralizedLinearRegressor("poisson", alpha=0.1, l1_ratio=1.0, tol=1e-8).fit(X, y)
    slope = X.T @ (model.predict(X) - y) / 200
    worst = np.where(
        model.coef_ != 0, np.abs(slope + 0.1 * np.sign(model.coef_)), np.maximum(np.abs(slope) - 0.1, 0.0)
    )
    assert worst.max() < 1e-6 and 0 < (model.coef_ != 0).sum() < 12
    wide = rng.normal(size=(100, 1100)) / 10
    count = rng.poisson(np.exp(wide[:, 0])).astype(float)
    large = sp.GeneralizedLinearRegressor("poisson", alpha=0.05, tol=1e-7, max_iter=500).fit(wide, count)
    slope = wide.T @ (large.predict(wide) - count) / 100 + 0.05 * large.coef_
    assert np.abs(slope).max() < 1e-5


def test_an_offset_is_an_exposure():
    rng = np.random.default_rng(3)
    X, exposure = rng.normal(size=(300, 2)), rng.uniform(0.5, 2.0, 300)
    y = rng.poisson(exposure * np.exp(0.3 * X[:, 0])).astype(float)
    by_offset = sp.GeneralizedLinearRegressor("poisson", alpha=0.0, tol=1e-9).fit(
        X, y, offset=np.log(exposure)
    )
    by_rate = sp.GeneralizedLinearRegressor("poisson", alpha=0.0, tol=1e-9).fit(X, y / exposure, exposure)
    assert_allclose(by_offset.coef_, by_rate.coef_, rtol=1e-6)
    assert_allclose(by_offset.predict(X, np.log(exposure)), by_rate.predict(X) * exposure, rtol=1e-6)
    with pytest.raises(ValueError, match="offset"):
        by_offset.fit(X, y, offset=np.ones(3))


@pytest.mark.parametrize(
    ("family", "bad"), [("poisson", -1.0), ("gamma", 0.0), ("inverse-gaussian", 0.0), ("binomial", 1.5)]
)
def test_targets_that_a_family_cannot_have_are_named(family, bad):
    y = np.full(6, 0.5)
    y[4] = bad
    with pytest.raises(ValueError, match="row 4"):
        sp.GeneralizedLinearRegressor(family).fit(np.arange(6.0)[:, None], y)


def test_inverse_links_need_an_intercept():
    with pytest.raises(ValueError, match="intercept"):
        sp.GeneralizedLinearRegressor("gamma", link="inverse", fit_intercept=False).fit(
            [[1.0], [2.0]], [1.0, 2.0]
        )
