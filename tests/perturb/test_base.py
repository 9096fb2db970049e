"""Files of ensembles over members: what does not agree is refused when it is read."""

import numpy as np
import pandas as pd
import pytest

import spinney as sp
from spinney.io import ModelFileError, dumps, loads

X = pd.DataFrame({"a": np.arange(12.0), "b": np.arange(12.0) % 5})
Y = np.arange(12) % 3
MODELS = {
    "flipping": lambda: sp.OutputFlippingClassifier(n_estimators=2).fit(X, Y),
    "smearing": lambda: sp.OutputSmearingRegressor(n_estimators=2).fit(X, Y),
    "code": lambda: sp.OutputCodeClassifier().fit(X, Y),
}


def put(name, value):
    return lambda fitted: fitted.__setitem__(name, value)


def lose(name):
    return lambda fitted: fitted.pop(name)


def other_members(fitted):
    fitted["estimators_"] = [sp.DecisionTreeClassifier().fit(np.arange(5.0)[:, None], np.arange(5) % 2)] * 3


def of_the_other_task(fitted):
    classes = "classes_" in fitted
    kind = sp.DecisionTreeRegressor if classes else sp.DecisionTreeClassifier
    fitted["estimators_"] = [kind().fit(X, Y) for _ in fitted["estimators_"]]


EVERY = {
    "no members": put("estimators_", []),
    "text for members": put("estimators_", "oaks"),
    "numbers for members": put("estimators_", [1, 2, 3]),
    "members not fitted": put("estimators_", [sp.DecisionTreeClassifier()] * 3),
    "members of other features": other_members,
    "members of the other task": of_the_other_task,
    "no number of features": lose("n_features_in_"),
    "other names": put("feature_names_in_", np.array(["a"], object)),
    "numbers for names": put("feature_names_in_", np.array([1, 2], object)),
}
OF_CLASSIFIERS = {
    "no classes": lose("classes_"),
    "unordered classes": put("classes_", np.array([2, 0, 1])),
    "double classes": put("classes_", np.array([0, 0, 1])),
    "mixed classes": put("classes_", np.array([0, "b", 1.5], object)),
    "fewer classes": put("classes_", np.array([0, 1])),
}
OF_CODES = {
    "no code": lose("code_book_"),
    "other numbers": put("code_book_", np.full((3, 3), 5, np.int8)),
    "floats": put("code_book_", np.ones((3, 3))),
    "fewer columns": put("code_book_", np.array([[1], [-1], [0]], np.int8)),
    "nothing asked": put("code_book_", np.zeros((3, 3), np.int8)),
}
OF_SMEARING = {
    "no noise": lose("noise_"),
    "negative noise": put("noise_", np.array([-1.0])),
    "noise of two": put("noise_", np.array([1.0, 1.0])),
}
CASES = [(model, name, damage) for model in MODELS for name, damage in EVERY.items()]
CASES += [(model, name, damage) for model in ("flipping", "code") for name, damage in OF_CLASSIFIERS.items()]
CASES += [("code", name, damage) for name, damage in OF_CODES.items()]
CASES += [("smearing", name, damage) for name, damage in OF_SMEARING.items()]


@pytest.mark.parametrize(
    "model, damage", [(m, d) for m, _, d in CASES], ids=[f"{m}, {n}" for m, n, _ in CASES]
)
def test_content_that_does_not_agree_is_refused(model, damage, monkeypatch):
    fitted = MODELS[model]()
    honest = type(fitted)._get_state

    def dishonest(self):
        state = honest(self)
        damage(state["fitted"])
        return state

    monkeypatch.setattr(type(fitted), "_get_state", dishonest)
    data = dumps(fitted)
    monkeypatch.undo()
    loads(dumps(fitted))
    with pytest.raises(ModelFileError):
        loads(data)
