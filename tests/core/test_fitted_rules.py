"""Every rule of a fitted attribute rejects, and every fitted attribute of every learner has a check."""

import json
from typing import Any

import numpy as np
import pytest

import spinney as sp
from contracts.learners import LEARNERS, Learner
from spinney.core.fitted_rules import FITTED_RULES, broken_rule
from spinney.io import ModelFileError, dumps, from_json, loads, to_json
from spinney.io.container import decode, encode

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(int)
WRONG: tuple[Any, ...] = (None, "text", -7.5, [], np.zeros((3, 1, 2, 1)))


@pytest.mark.parametrize("name", FITTED_RULES)
def test_every_rule_rejects(name: str) -> None:
    rejected = [value for value in WRONG if broken_rule({name: value}) is not None]
    assert len(rejected) >= len(WRONG) - 1  # -7.5 may be a score
    assert broken_rule({name: None}) == f"{name} is not {FITTED_RULES[name].takes}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_features_in_", 2**31),
        ("n_features_in_", True),
        ("n_outputs_", 0),
        ("classes_", np.array([np.nan, 1.0])),
        ("classes_", [np.array([1]), [2]]),
        ("feature_names_in_", np.array(["a", 3], dtype=object)),
        ("validation_errors_", np.array([np.inf])),
        ("estimators_", ({},)),
    ],
)
def test_values_at_the_edge_are_rejected(name: str, value: Any) -> None:
    assert broken_rule({name: value}) is not None


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
def test_every_fitted_attribute_is_checked_when_a_file_is_loaded(learner: Learner) -> None:
    document = decode(dumps(learner().fit(X, Y)))
    state = document["state"]
    for name in state["fitted"]:
        for wrong in WRONG:
            damaged = {**document, "state": {**state, "fitted": {**state["fitted"], name: wrong}}}
            with pytest.raises(ModelFileError):
                loads(encode(damaged))
                pytest.fail(f"{name} = {wrong!r} was accepted")


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        (sp.SVC(), "kernel", "none"),
        (sp.SVC(), "degree", ""),
        (sp.SVC(), "coef0", []),
        (sp.RandomForestClassifier(n_estimators=2), "max_depth", "deep"),
        (sp.StackingClassifier([("tree", sp.DecisionTreeClassifier())]), "passthrough", 3),
    ],
)
def test_a_fitted_model_with_an_invalid_parameter_is_not_loaded(model: Any, name: str, value: Any) -> None:
    document = json.loads(to_json(model.fit(X, Y)))
    document["state"]["params"][name] = value
    with pytest.raises(ModelFileError, match=f"The {name} of {type(model).__name__} is"):
        from_json(json.dumps(document))
