"""A model that was stored and read again is the same model."""

import copy
import io
import pickle
from functools import cache

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import spinney as sp
from contracts.learners import LEARNERS, UNSUPERVISED, fewer, mixed_data
from loops import for_each
from spinney.io import ModelFileError, Persistent, dumps, loads

ALL = [*LEARNERS, *UNSUPERVISED]
each_learner = pytest.mark.parametrize("learner", ALL, ids=lambda learner: learner.name)


def by_file(model, folder):
    sp.save(model, folder / "model.spinney")
    return sp.load(folder / "model.spinney")


def by_joblib(model, folder):
    joblib.dump(model, folder / "model.joblib")
    return joblib.load(folder / "model.joblib")


WAYS = {
    "file": by_file,
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model)),
    "joblib": by_joblib,
    "deepcopy": lambda model, _: copy.deepcopy(model),
    "plain pickle": lambda model, _: pickle.loads(pickle.dumps(with_routing(model))),
}


def with_routing(model):
    """Wire the model for metadata routing, which no file describes: it is then pickled as any object is."""
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        return copy.deepcopy(model).set_fit_request(sample_weight=True)


@cache
def fitted(name):
    """Fit a learner once for all ways to store it."""
    learner = next(one for one in ALL if one.name == name)
    X, y, weights = mixed_data(learner.kind, fewer(learner, 300))
    return learner().fit(X, y, weights)


@each_learner
@for_each("way", WAYS)
def test_a_stored_model_is_the_same_model(learner, way, tmp_path):
    X, y, weights = mixed_data(learner.kind, fewer(learner, 300))
    model = fitted(learner.name)
    again = WAYS[way](model, tmp_path)
    assert type(again) is type(model)
    assert str(again.get_params()) == str(model.get_params())
    for method in ("predict", "predict_proba", "decision_function", "apply"):
        assert hasattr(again, method) == hasattr(model, method)
        if hasattr(model, method):
            assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    if learner.kind == "classifier":
        assert_array_equal(again.classes_, model.classes_)
        assert again.classes_.dtype == model.classes_.dtype
    assert again.feature_names_in_.tolist() == ["a", "b", "color", "noise"]
    assert (again.n_features_in_, getattr(again, "n_outputs_", 1)) == (4, 1)
    for name in ("n_classes_", "schema_", "feature_importances_", "oob_score_", "named_estimators_"):
        assert hasattr(again, name) == hasattr(model, name)
        assert str(getattr(again, name, None)) == str(getattr(model, name, None))
    if hasattr(model, "estimators_samples_"):
        for mine, theirs in zip(again.estimators_samples_, model.estimators_samples_, strict=True):
            assert_array_equal(mine, theirs)
    if hasattr(model, "ledger_"):
        assert str(again.ledger_.to_records()) == str(model.ledger_.to_records())
    if way != "plain pickle":
        assert dumps(again) == dumps(model)
    if way in ("file", "plain pickle"):
        method = "predict" if hasattr(model, "predict") else "apply"
        assert_array_equal(getattr(again.fit(X, y, weights), method)(X), getattr(model, method)(X))


@each_learner
def test_an_unfitted_model_can_be_stored(learner, tmp_path):
    again = by_file(learner(), tmp_path)
    assert str(again.get_params()) == str(learner().get_params())
    with pytest.raises(ValueError, match="not fitted"):
        getattr(again, "predict" if hasattr(again, "predict") else "apply")([[1.0]])


@pytest.mark.parametrize("labels", [["yes", "no"], [True, False], [3, -7], [1.0, 2.0], ["是", "否"]])
def test_labels_of_any_type_come_back(labels):
    y = np.array(labels * 5)
    model = sp.DecisionTreeClassifier().fit(np.arange(10.0)[:, None], y)
    again = loads(dumps(model))
    assert again.classes_.dtype == y.dtype
    assert_array_equal(again.predict(np.arange(10.0)[:, None]), y)


def test_several_outputs_come_back():
    X, y = np.arange(12.0)[:, None], np.array([[i % 2, i // 4] for i in range(12)])
    again = loads(dumps(sp.DecisionTreeClassifier().fit(X, y)))
    assert_array_equal(again.predict(X), y)
    assert [part.shape for part in again.predict_proba(X)] == [(12, 2), (12, 3)]


def _damages():
    def lose(name):
        return lambda fitted: fitted.pop(name)

    def put(name, value):
        return lambda fitted: fitted.__setitem__(name, value)

    def in_tree(name, value):
        return lambda fitted: fitted["tree_"].__setitem__(name, value)

    return {
        "no schema": lose("schema_"),
        "no tree": lose("tree_"),
        "no classes": lose("classes_"),
        "other classes": put("classes_", np.arange(7)),
        "double classes": put("classes_", np.array([1, 1, 2])),
        "two-dimensional classes": put("classes_", np.zeros((3, 1))),
        "list of classes": put("classes_", [np.arange(3)]),
        "nothing for classes": put("classes_", None),
        "max_features": put("max_features_", "many"),
        "ccp_alpha": put("ccp_alpha_", float("nan")),
        "tree of text": put("tree_", "oak"),
        "other features": in_tree("n_features", 3),
        "cycle": in_tree("first_child", np.zeros(3, dtype=np.int32)),
        "ledger": put("ledger_", {}),
        "unknown attribute": put("oracle_", 1),
    }


@for_each("damage", _damages())
def test_content_that_does_not_agree_is_refused(damage, monkeypatch):
    X, y, _ = mixed_data("classifier")
    model = sp.DecisionTreeClassifier(max_depth=2).fit(X, y)
    honest = type(model)._get_state

    def dishonest(self):
        state = honest(self)
        state["fitted"] = {name: dict(v) if isinstance(v, dict) else v for name, v in state["fitted"].items()}
        _damages()[damage](state["fitted"])
        return state

    monkeypatch.setattr(sp.DecisionTreeClassifier, "_get_state", dishonest, raising=False)
    data = dumps(model)
    monkeypatch.undo()
    with pytest.raises(ModelFileError):
        loads(data)


def test_loading_from_an_open_file():
    X, y, _ = mixed_data("regressor")
    model = sp.DecisionTreeRegressor(max_depth=3).fit(X, y)
    stream = io.BytesIO()
    sp.save(model, stream)
    stream.seek(0)
    assert_array_equal(sp.load(stream).predict(X), model.predict(X))
    assert issubclass(sp.DecisionTreeRegressor, Persistent)
