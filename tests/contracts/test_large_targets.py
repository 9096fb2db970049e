"""Targets near the largest float64 give predictions between the smallest and the largest of them."""

import numpy as np
import pytest

import spinney as sp
from spinney.core.errors import InputError
from spinney.io import dumps, loads

X = np.random.default_rng(0).normal(size=(30, 2))
LARGEST = np.finfo(np.float64).max
TARGETS = {
    "large": np.linspace(1.5e308, 1.7e308, 30),
    "both signs": np.where(X[:, 0] > 0, 1e308, -1e308),
    "largest": np.full(30, LARGEST),
}
MODELS = {
    "forest": sp.RandomForestRegressor(n_estimators=10, oob_score=True, random_state=0),
    "absolute": sp.RandomForestRegressor(n_estimators=10, criterion="absolute_error", random_state=0),
    "extra": sp.ExtraTreesRegressor(n_estimators=7, random_state=0),
    "bagging": sp.BaggingRegressor(n_estimators=10, oob_score=True, random_state=0),
    "tree": sp.DecisionTreeRegressor(max_depth=2),
    "smearing": sp.OutputSmearingRegressor(n_estimators=5, random_state=0),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_predictions_are_between_the_targets(model: str, target: str) -> None:
    y = TARGETS[target]
    predicted = MODELS[model].fit(X, y).predict(X)
    assert np.isfinite(predicted).all()
    if model == "smearing":  # its members are fitted to noisy targets
        return
    # Multiplied by 2⁻², so that the tolerance does not overflow.
    assert (predicted / 4 <= y.max() / 4 * (1 + 1e-9 * np.sign(y.max()))).all()
    assert (predicted / 4 >= y.min() / 4 * (1 - 1e-9 * np.sign(y.min()))).all()


def test_the_mean_of_usual_targets_has_the_same_bits_as_before() -> None:
    y = np.random.default_rng(1).normal(size=30)
    model = sp.RandomForestRegressor(n_estimators=7, random_state=0).fit(X, y)
    members = [tree.predict(X) for tree in model.estimators_]
    assert np.array_equal(model.predict(X), sum(members) / len(members))
    bagging = sp.BaggingRegressor(n_estimators=7, random_state=0).fit(X, y)
    votes = [member.predict(X) for member in bagging.estimators_]
    assert np.array_equal(bagging.predict(X), sum(votes) / len(votes))


@pytest.mark.parametrize("kind", [sp.DecisionTreeRegressor, sp.ExtraTreeRegressor, sp.RandomForestRegressor])
def test_importances_are_finite(kind: type) -> None:
    y = np.where(X[:, 0] > 0, 1.0, -1.0) * np.linspace(1.5e308, 1.7e308, 30)
    for criterion in ("squared_error", "absolute_error"):
        model = kind(criterion=criterion, max_depth=2, random_state=0).fit(X, y)
        assert np.isfinite(model.feature_importances_).all()
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_selection_names_targets_whose_squares_overflow() -> None:
    members = [("one", sp.DecisionTreeRegressor(max_depth=1)), ("two", sp.DecisionTreeRegressor())]
    with pytest.raises(ValueError, match="too large for squared errors"):
        sp.EnsembleSelectionRegressor(members, cv=2).fit(X, 1e308 * np.linspace(-1.0, 1.0, 30))


@pytest.mark.parametrize("loss", ["absolute_error", "huber"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_boosting_starts_from_a_finite_constant(loss: str) -> None:
    model = sp.GradientBoostingRegressor(loss=loss, n_estimators=3, n_members=2, random_state=0)
    assert np.isfinite(model.fit(X, np.full(30, LARGEST)).predict(X)).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_boosting_refuses_targets_whose_gradients_or_leaf_values_overflow() -> None:
    options = {"n_estimators": 5, "min_samples_leaf": 1, "learning_rate": 1.0, "random_state": 0}
    one_large = np.r_[1.7e308, X[1:, 0]]
    with pytest.raises(InputError, match="gradients of round 0 are not finite; scale the target"):
        sp.GradientBoostingRegressor(**options).fit(X, one_large)
    with pytest.raises(InputError, match="values of the leaves are not finite"):
        sp.GradientBoostingRegressor(loss="absolute_error", **options).fit(
            X, np.where(X[:, 0] > 0, LARGEST, -LARGEST)
        )


@pytest.mark.filterwarnings("ignore")
def test_a_generalized_linear_model_refuses_targets_that_overflow() -> None:
    with pytest.raises(InputError, match=r"coefficients are not finite"):
        sp.GeneralizedLinearRegressor().fit(X, X[:, 0] / np.abs(X[:, 0]).max() * 1.7e308)


@pytest.mark.parametrize("seed", range(4))
def test_importances_of_forests_with_one_huge_target_are_finite(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, 3))
    y = np.where(np.arange(60) == 0, 1e300, rows[:, 0])
    model = sp.RandomForestRegressor(n_estimators=10, random_state=seed).fit(rows, y)
    assert np.isfinite(model.feature_importances_).all()
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "model", [sp.HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=3), sp.AdaBoostRegressor()]
)
def test_models_of_huge_targets_are_saved_and_loaded(model) -> None:
    for y in (np.where(np.arange(30) == 0, 1e300, X[:, 0]), np.where(X[:, 0] > 0, 1.7e308, -1.7e308)):
        try:
            model.fit(X, y)
        except InputError:
            continue
        predicted = model.predict(X)
        assert np.isfinite(predicted).all()
        assert np.array_equal(loads(dumps(model)).predict(X), predicted)
        assert np.isfinite(getattr(model, "feature_importances_", predicted)).all()


def test_a_hard_margin_of_huge_targets_is_refused() -> None:
    with pytest.raises(InputError, match="coefficients are not finite"):
        sp.PassiveAggressiveRegressor(C=np.inf).fit(X, np.where(X[:, 0] > 0, 1.7e308, -1.7e308))
