"""A model file whose parts do not agree is refused."""

import numpy as np
import pytest

import spinney as sp
from contracts.learners import mixed_data
from spinney.bagging.sampling import BootstrapSamples
from spinney.io import ModelFileError, dumps, loads


def put(name, value):
    return lambda fitted: fitted.__setitem__(name, value)


def lose(name):
    return lambda fitted: fitted.pop(name)


def change(name, place, value):
    return lambda fitted: fitted.__setitem__(name, [*fitted[name][:place], value, *fitted[name][place + 1 :]])


OTHER = sp.DecisionTreeClassifier().fit([[0.0, 1.0], [1.0, 0.0]], [8, 9])
NARROW = sp.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
REGRESSOR = sp.DecisionTreeRegressor().fit([[0.0, 1.0], [1.0, 0.0]], [0.0, 1.0])

DAMAGES = {
    "no members": put("estimators_", []),
    "members of text": put("estimators_", ["oak", "elm", "ash"]),
    "members as a dict": put("estimators_", {}),
    "lost members": lose("estimators_"),
    "lost columns": lose("estimators_features_"),
    "lost samples": lose("_samples"),
    "lost classes": lose("classes_"),
    "no samples": put("_samples", 3),
    "other samples": put("_samples", BootstrapSamples(0, 300, 300, True, 9, 9)),
    "too few columns": put("estimators_features_", [np.array([0, 1])]),
    "column out of range": change("estimators_features_", 1, np.array([0, 4])),
    "negative column": change("estimators_features_", 1, np.array([-1, 2])),
    "columns as numbers": change("estimators_features_", 1, np.array([0.0, 1.0])),
    "other number of columns": change("estimators_features_", 1, np.array([0, 1, 2])),
    "a narrow member": change("estimators_", 0, NARROW),
    "a member of other classes": change("estimators_", 0, OTHER),
    "a regressor among classifiers": change("estimators_", 0, REGRESSOR),
    "classes twice": put("classes_", np.array([0, 1, 1])),
    "classes of text": put("classes_", "abc"),
    "no classes": put("classes_", []),
    "too few names": put("feature_names_in_", np.array(["a"], dtype=object)),
    "names of numbers": put("feature_names_in_", np.array([1, 2, 3, 4], dtype=object)),
    "out-of-bag predictions of other rows": put("oob_decision_function_", np.zeros((5, 3))),
    "text as out-of-bag predictions": put("oob_decision_function_", "none"),
    "unknown attribute": put("oracle_", 1),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_content_that_does_not_agree_is_refused(damage, monkeypatch):
    X, y, _ = mixed_data("classifier")
    model = sp.BaggingClassifier(n_estimators=3, max_features=2, oob_score=True, random_state=0).fit(X, y)
    loads(dumps(model))
    honest = sp.BaggingClassifier._get_state

    def dishonest(self):
        state = honest(self)
        DAMAGES[damage](state["fitted"])
        return state

    monkeypatch.setattr(sp.BaggingClassifier, "_get_state", dishonest)
    data = dumps(model)
    monkeypatch.undo()
    with pytest.raises(ModelFileError):
        loads(data)


@pytest.mark.parametrize("damage", [put("oob_prediction_", np.zeros(3)), change("estimators_", 0, OTHER)])
def test_regressors_are_checked_too(damage, monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30.0)
    model = sp.BaggingRegressor(n_estimators=3, oob_score=True, random_state=0).fit(X, y)
    honest = sp.BaggingRegressor._get_state

    def dishonest(self):
        state = honest(self)
        damage(state["fitted"])
        return state

    monkeypatch.setattr(sp.BaggingRegressor, "_get_state", dishonest)
    data = dumps(model)
    monkeypatch.undo()
    with pytest.raises(ModelFileError):
        loads(data)


@pytest.mark.parametrize("make", [sp.BaggingClassifier, sp.BaggingRegressor])
def test_what_is_known_out_of_bag_is_kept_in_the_file(make):
    X, y, weights = mixed_data("classifier", 120)
    model = make(n_estimators=4, oob_score=True, random_state=0).fit(X, y, weights)
    again = loads(dumps(model))
    assert again.oob_score_ == model.oob_score_
    name = "oob_decision_function_" if make is sp.BaggingClassifier else "oob_prediction_"
    np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
