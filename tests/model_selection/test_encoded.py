import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import spinney
from spinney.io import CorruptModelFile, dumps, loads
from spinney.model_selection import EncodedClassifier, EncodedRegressor


def test_numbers_are_those_of_a_scaled_pipeline():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) * [1.0, 100.0, 0.01] + [0.0, 5.0, 3.0]
    y = (X[:, 0] + X[:, 1] / 100 > 0).astype(int)
    ours = EncodedClassifier(spinney.SVC()).fit(X, y)
    theirs = make_pipeline(StandardScaler(), spinney.SVC()).fit(X, y)
    assert ours.decision_function(X) == pytest.approx(theirs.decision_function(X), abs=1e-9)
    assert not hasattr(ours, "predict_proba") and (ours.predict(X) == theirs.predict(X)).all()


def test_regression_does_not_depend_on_the_unit_of_the_target():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(60, 2)), rng.normal(size=60)
    y = X[:, 0] + 0.1 * noise
    small, large = (EncodedRegressor(spinney.SVR()).fit(X, y * unit) for unit in (1.0, 2.0**13))
    assert large.predict(X) == pytest.approx(small.predict(X) * 2.0**13, rel=1e-9)


def test_categories_missing_values_and_unseen_ones():
    X = {"c": ["u", "v", None, "u"] * 5, "x": [1.0, 2.0, None, 4.0] * 5}
    model = EncodedClassifier(spinney.GaussianNB()).fit(X, ["p", "q", "q", "p"] * 5)
    new = {"c": ["other", "u"], "x": [None, 1.0]}
    assert model.predict_proba(new).shape == (2, 2)
    assert list(loads(dumps(model)).predict(new)) == list(model.predict(new))
    with pytest.raises(ValueError, match="Unseen category 'other'"):
        EncodedClassifier(spinney.GaussianNB(), unseen="error").fit(X, ["p", "q", "q", "p"] * 5).predict(new)


def test_damaged_scales_are_refused():
    model = EncodedRegressor(spinney.LinearRegression()).fit([[0.0], [1.0]], [0.0, 1.0])
    model.column_scale_ = np.ones(3)
    with pytest.raises(CorruptModelFile, match="scales"):
        loads(dumps(model))
