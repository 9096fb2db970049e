"""What may be a member: an estimator, but no class, no text, and nothing that cannot answer."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import spinney as sp
from spinney.members.patterns import AnyEstimator


@pytest.mark.parametrize(
    "value", [sp.C45Classifier(), LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())]
)
def test_estimators_and_pipelines_are_allowed(value):
    assert AnyEstimator().allows(value)


@pytest.mark.parametrize("value", [sp.C45Classifier, StandardScaler(), "tree", None, 3])
def test_whatever_else_is_not(value):
    assert not AnyEstimator().allows(value)


@pytest.mark.parametrize("kind", [sp.BaggingClassifier, sp.AdaBoostRegressor, sp.OutputSmearingRegressor])
def test_a_pattern_that_is_none_is_refused_by_fit_and_by_nothing_else(kind):
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 2]
    model = kind(n_estimators=2, random_state=0).fit(X, y)
    before = model.predict(X).tolist()
    assert model.set_params(estimator="oak").predict(X).tolist() == before
    with pytest.raises(ValueError, match="estimator"):
        model.fit(X, y)
