"""Metadata routing through classifiers over binary members, as scikit-learn's have it."""

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline

import spinney as sp

X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.arange(60) % 3
LABELS = np.column_stack([Y > 0, Y > 1]).astype(int)


class Remembers(ClassifierMixin, BaseEstimator):
    """Keeps the arguments of its last fit."""

    def fit(self, X, y, sample_weight=None, remark=None):
        self.given_ = (np.asarray(X), sample_weight, remark)
        self.classes_ = np.unique(y)
        return self

    def partial_fit(self, X, y, classes=None, sample_weight=None, remark=None):
        return self.fit(X, classes, sample_weight, remark)

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))

    def decision_function(self, X):
        return np.zeros(len(X))


CASES = [
    (sp.OneVsRestClassifier, Y, {}),
    (sp.OneVsRestClassifier, LABELS, {}),
    (sp.OneVsOneClassifier, Y, {}),
    (sp.OutputCodeClassifier, Y, {"code": "one-vs-one"}),
    (sp.ClassifierChain, LABELS, {}),
]


@pytest.fixture(autouse=True)
def _routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def assert_members_got_the_metadata_of_their_rows(model):
    for fitted in model.estimators_:
        rows, weights, remark = fitted.given_
        np.testing.assert_array_equal(weights, rows[:, 0] ** 2)
        np.testing.assert_array_equal(remark, rows[:, 1])


@pytest.mark.parametrize(("learner", "y", "params"), CASES)
def test_members_get_the_metadata_of_their_rows(learner, y, params):
    member = Remembers().set_fit_request(sample_weight=True, remark=True)
    model = learner(member, **params).fit(X, y, sample_weight=X[:, 0] ** 2, remark=X[:, 1])
    assert_members_got_the_metadata_of_their_rows(model)


@pytest.mark.parametrize(("learner", "y", "params"), CASES)
def test_members_get_only_what_they_request(learner, y, params):
    member = Remembers().set_fit_request(sample_weight=False, remark=True)
    with pytest.raises(TypeError, match="not routed to any object"):
        learner(member, **params).fit(X, y, sample_weight=np.ones(60), remark=X[:, 1])
    with pytest.raises(UnsetMetadataPassedError):
        learner(Remembers(), **params).fit(X, y, sample_weight=np.ones(60))


@pytest.mark.parametrize("learner", [sp.OneVsRestClassifier, sp.OneVsOneClassifier])
def test_partial_fit_routes_too(learner):
    member = Remembers().set_partial_fit_request(sample_weight=True, remark=True)
    model = learner(member).partial_fit(X, Y, [0, 1, 2], sample_weight=X[:, 0] ** 2, remark=X[:, 1])
    assert_members_got_the_metadata_of_their_rows(model)


@pytest.mark.parametrize(("learner", "y", "params"), CASES)
def test_metadata_needs_routing(learner, y, params):
    with (
        sklearn.config_context(enable_metadata_routing=False),
        pytest.raises(ValueError, match="enable_metadata_routing=True"),
    ):
        learner(Remembers(), **params).fit(X, y, remark=X[:, 1])


def test_metadata_passes_through_nested_routers():
    inner = Remembers().set_fit_request(sample_weight=True)
    model = make_pipeline(sp.OneVsRestClassifier(inner)).fit(X, Y, sample_weight=X[:, 0] ** 2)
    rows, weights, _ = model[-1].estimators_[0].given_
    np.testing.assert_array_equal(weights, rows[:, 0] ** 2)
    stack = sp.StackingClassifier([("tree", sp.DecisionTreeClassifier(max_depth=2))], cv=GroupKFold(3))
    stacks = sp.OneVsRestClassifier(stack).fit(X, Y, groups=np.arange(60) // 5)
    assert stacks.predict(X).shape == (60,)
