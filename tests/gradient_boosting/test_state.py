"""A file whose parts do not agree with each other is refused, whatever part it is."""

from dataclasses import replace

import numpy as np
import pytest

from contracts.learners import mixed_data
from spinney import GradientBoostingClassifier, GradientBoostingRegressor
from spinney.gradient_boosting.ledger import GradientLedger
from spinney.gradient_boosting.passes import Position, TrainedRounds
from spinney.io import ModelFileError, dumps, loads
from spinney.losses.losses import SquaredLoss


def model(**params):
    X, y, _ = mixed_data("classifier")
    settings = {"n_estimators": 4, "random_state": 0, "early_stopping": True, "ledger": True} | params
    return GradientBoostingClassifier(**settings, preset="classic").fit(X, y)


def rounds(n_features=None, base_score=None):
    """Make the rounds of a finished member, damaged in one part."""
    found = TrainedRounds.of(vars(model()))
    if n_features is not None:
        other = GradientBoostingRegressor(n_estimators=1).fit([[0.0], [1.0]], [0.0, 1.0])
        return replace(found, ensemble=other.ensemble_)
    return found if base_score is None else replace(found, base_score=base_score)


ONE_TREE = model(n_estimators=1).ensemble_
DAMAGES = {
    "no trees": {"ensemble_": None},
    "trees of text": {"ensemble_": "oak"},
    "too few trees": {"ensemble_": ONE_TREE[:2]},
    "fewer rounds": {"ensemble_": ONE_TREE},
    "no loss": {"loss_": "squared"},
    "no constant": {"base_score_": np.zeros(2)},
    "infinite constant": {"base_score_": np.full(3, np.inf)},
    "constant of text": {"base_score_": "0"},
    "no best round": {"best_iteration_": 0},
    "best round after the last": {"best_iteration_": 5},
    "best round in parts": {"best_iteration_": 2.0},
    "classes twice": {"classes_": np.array([1, 1, 2])},
    "two classes": {"classes_": np.array([0, 1])},
    "classes of lists": {"classes_": [0, 1, 2]},
    "scores of other rounds": {"train_score_": np.zeros(3)},
    "scores of text": {"validation_score_": ["high"]},
    "negative seed": {"_seed": -1},
    "seed of text": {"_seed": "7"},
    "stopping perhaps": {"do_early_stopping_": "perhaps"},
    "ledger of text": {"ledger_": "much"},
    "ledger of other rounds": {
        "ledger_": GradientLedger(np.zeros(2), np.zeros(2), np.zeros(2, np.int64), np.zeros(2))
    },
    "fingerprint of a number": {"_fingerprint": 3},
    "statistics of text": {"statistics_": "high"},
    "choices of text": {"chosen_": "much"},
    "a choice of a list": {"chosen_": {"learning_rate": [0.1]}},
    "a choice of no finite rounds": {"chosen_": {"refit_rounds": (1.5,)}},
    "no members": {"_n_members": 0},
    "members of text": {"_n_members": "two"},
    "scores of members of text": {"_n_members": 2, "train_score_": ["high"]},
    "a position of text": {"_position": "first"},
    "a member of other features": {"_position": Position(member=1, finished=(rounds(n_features=1),))},
    "a member of fewer classes": {
        "_position": Position(member=1, finished=(rounds(base_score=np.zeros(1)),))
    },
}


def test_an_honest_file_is_read():
    found = model()
    assert dumps(loads(dumps(found))) == dumps(found)
    found.__dict__["_position"] = Position(member=1, finished=(rounds(),))
    assert dumps(loads(dumps(found))) == dumps(found)


def test_unsound_positions_are_refused():
    for wrong in ({"phase": "third"}, {"member": 1}, {"n_rounds": 0}, {"finished": ["none"]}):
        with pytest.raises(ModelFileError):
            Position(**wrong)
    for wrong in ({"ensemble": "oak"}, {"train_score": [0.0]}, {"refit_rounds": "many"}, {"ledger": "much"}):
        with pytest.raises(ModelFileError):
            replace(rounds(), **wrong)


@pytest.mark.parametrize("damage", DAMAGES)
def test_parts_that_do_not_agree_are_refused(damage):
    damaged = model()
    damaged.__dict__.update(DAMAGES[damage])
    with pytest.raises(ModelFileError):
        loads(dumps(damaged))


@pytest.mark.parametrize("name", ["schema_", "ensemble_", "loss_", "base_score_", "classes_", "_seed"])
def test_parts_that_are_not_there(name, monkeypatch):
    damaged = model()
    honest = GradientBoostingClassifier._get_state

    def dishonest(self):
        state = honest(self)
        del state["fitted"][name]
        return state

    monkeypatch.setattr(GradientBoostingClassifier, "_get_state", dishonest)
    data = dumps(damaged)
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match=name):
        loads(data)


def test_a_regressor_has_no_classes():
    X, y, _ = mixed_data("regressor")
    damaged = GradientBoostingRegressor(n_estimators=2, preset="classic").fit(X, y)
    damaged.classes_ = np.array([0, 1])
    with pytest.raises(ModelFileError, match="regressor has classes"):
        loads(dumps(damaged))


def test_trees_that_point_elsewhere_are_refused():
    X, y, _ = mixed_data("regressor")
    damaged = GradientBoostingRegressor(n_estimators=2, preset="classic").fit(X, y)
    feature = damaged.ensemble_.feature.copy()
    feature[0] = 99
    object.__setattr__(damaged.ensemble_, "feature", feature)
    with pytest.raises(ModelFileError, match="feature"):
        loads(dumps(damaged))


def test_a_ledger_that_is_unsound_is_refused():
    for wrong in (
        {"train_loss": np.zeros(3)},
        {"n_leaves": np.zeros(5)},
        {"gain": [0.0] * 5},
        {"candidates": ["none"]},
    ):
        damaged = model()
        for name, value in wrong.items():
            object.__setattr__(damaged.ledger_, name, value)
        if "candidates" in wrong:
            with pytest.raises(AttributeError):
                dumps(damaged)
            continue
        with pytest.raises(ModelFileError, match=r"[Ll]edger"):
            loads(dumps(damaged))
    assert SquaredLoss() == loads(dumps(SquaredLoss()))
