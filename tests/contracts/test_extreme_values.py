"""Features and weights near the ends of float64: a finite model, or an error that names the column."""

import numpy as np
import pytest

import spinney as sp
from spinney.core.errors import InputError
from spinney.io import dumps, loads

RNG = np.random.default_rng(0)
X = RNG.random((60, 3))
LABELS = (X[:, 0] > 0.5).astype(int)
SIDE = RNG.normal(size=60)


@pytest.mark.parametrize(
    "model",
    [
        sp.SVC(),
        sp.SVR(),
        sp.OneClassSVM(),
        sp.Perceptron(),
        sp.GaussianNB(),
        sp.MultinomialNB(),
        sp.LinearDiscriminantAnalysis(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_features_whose_products_overflow_are_refused_by_name(model) -> None:
    large = X.copy()
    large[7, 1] = 1.7e308
    with pytest.raises(InputError, match="products overflow in column 1, row 7"):
        model.fit(large, LABELS)


def test_an_isolation_forest_draws_rows_of_which_few_have_a_weight_that_counts() -> None:
    weights = np.r_[1e-300, 1e300, np.zeros(58)]
    model = sp.IsolationForest(n_estimators=3, random_state=0).fit(X, sample_weight=weights)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("unit", [1e-300, 5e-324, 1e300])
@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_discriminants_do_not_depend_on_the_unit_of_weights(unit: float, solver: str) -> None:
    model, weights = sp.LinearDiscriminantAnalysis(solver=solver), RNG.integers(1, 4, 60).astype(float)
    expected = model.fit(X, LABELS, sample_weight=weights).predict_proba(X)
    scaled = model.fit(X, LABELS, sample_weight=weights * unit).predict_proba(X)
    np.testing.assert_allclose(scaled, expected, rtol=1e-6)


@pytest.mark.parametrize("weights", [np.full(60, 1e300), np.where(SIDE > 0, 1e300, 1e-300)])
def test_probabilities_of_bernoulli_bayes_are_finite_for_huge_weights(weights) -> None:
    probabilities = sp.BernoulliNB().fit(X, LABELS, sample_weight=weights).predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


@pytest.mark.parametrize("weights", [np.where(SIDE > 0, 1e300, 1e-300), np.full(60, 1e250)])
@pytest.mark.parametrize("kind", [sp.GradientBoostingClassifier, sp.HistGradientBoostingClassifier])
def test_boosted_models_of_huge_weights_are_saved_and_loaded(kind, weights) -> None:
    model = kind().fit(X, LABELS, sample_weight=weights)
    assert np.isfinite(model.ensemble_.impurity).all()
    if kind is sp.GradientBoostingClassifier:
        assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert np.array_equal(loads(dumps(model)).predict_proba(X), model.predict_proba(X))
