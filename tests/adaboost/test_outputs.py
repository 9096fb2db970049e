"""Several outputs: one model for each, which is the model of that output alone."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import spinney as sp
from spinney.core.errors import InputError
from spinney.io import CorruptModelFile, dumps, loads

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
LABELS = (X > 0).astype(int)
MIXED = np.array([["a", "x"], ["b", "y"], ["b", "z"]])[np.digitize(X[:, 0], [-0.5, 0.5])]
VALUES = np.c_[X[:, 0] ** 2, X[:, 1]]


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (sp.AdaBoostClassifier(n_estimators=4), LABELS),
        (sp.AdaBoostClassifier(n_estimators=4), MIXED),
        (sp.AdaBoostClassifier(n_estimators=3, algorithm="logit"), LABELS),
        (sp.AdaBoostClassifier(sp.LogisticRegression(), n_estimators=3), LABELS),
        (sp.AdaBoostRegressor(n_estimators=4, random_state=0), VALUES),
    ],
    ids=["labels", "classes", "logit", "any member", "regression"],
)
def test_each_output_has_the_model_of_that_output_alone(model, y):
    model.fit(X, y)
    for k, output in enumerate(model.outputs_):
        alone = type(model)(**model.get_params(deep=False)).fit(X, y[:, k])
        assert dumps(output) == dumps(alone)
        assert_array_equal(model.predict(X)[:, k], alone.predict(X))
    assert model.predict(X).shape == y.shape
    assert_array_equal(loads(dumps(model)).predict(X), model.predict(X))
    assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    assert not hasattr(model, "estimators_")
    assert dumps(model.fit(X, y[:, 0])) == dumps(type(model)(**model.get_params(deep=False)).fit(X, y[:, 0]))


def test_probabilities_of_several_outputs():
    model = sp.AdaBoostClassifier(n_estimators=4).fit(X, MIXED)
    assert [part.shape for part in model.predict_proba(X)] == [(80, 2), (80, 3)]
    assert not hasattr(model, "decision_function")
    assert [labels.tolist() for labels in model.classes_] == [["a", "b"], ["x", "y", "z"]]
    labels = sp.AdaBoostClassifier(n_estimators=4).fit(X, LABELS)
    assert labels.score(X, LABELS) > 0.9
    assert labels.feature_importances_.shape == (3,)


def test_a_warm_start_continues_every_output():
    model = sp.AdaBoostRegressor(n_estimators=2, warm_start=True, random_state=0).fit(X, VALUES)
    continued = model.set_params(n_estimators=5).fit(X, VALUES)
    at_once = sp.AdaBoostRegressor(n_estimators=5, warm_start=True, random_state=0).fit(X, VALUES)
    assert dumps(continued) == dumps(at_once)
    with pytest.raises(InputError, match="number of outputs"):
        model.fit(X, np.c_[VALUES, VALUES])
    with pytest.raises(InputError, match="several outputs"):
        model.fit(X, VALUES[:, 0])


def test_what_needs_one_output_says_so():
    model = sp.AdaBoostClassifier(n_estimators=2).fit(X, LABELS)
    for call in (lambda: model.margins(X, LABELS[:, 0]), model.tree_sum, lambda: sp.to_c(model)):
        with pytest.raises(InputError, match="several outputs"):
            call()


def test_outputs_of_a_file_are_checked():
    model = sp.AdaBoostClassifier(n_estimators=2).fit(X, LABELS)
    model.outputs_ = [*model.outputs_[:2], sp.AdaBoostRegressor(n_estimators=2).fit(X, X[:, 0])]
    with pytest.raises(CorruptModelFile, match="of another kind"):
        loads(dumps(model))
    for outputs in ([], [sp.AdaBoostClassifier(n_estimators=1).fit(X, LABELS[:, 0])]):
        model.outputs_ = outputs
        with pytest.raises(CorruptModelFile):
            loads(dumps(model))
