"""The ledger of rounds: its columns, its tables, and the bounds it is made of."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spinney as sp
from spinney.adaboost.ledger import RoundLedger, edge_bound, error_bound, exponential
from spinney.datasets import load_xor
from spinney.io import ModelFileError, dumps, loads

COLUMNS = ["round", "error", "weight", "z", "exponential_loss", "train_error", "product_bound", "edge_bound"]


def test_one_row_a_round_in_a_frame():
    model = sp.AdaBoostClassifier(algorithm="discrete", n_estimators=3, ledger=True).fit(*load_xor())
    frame = model.ledger_.to_frame()
    assert list(frame.columns) == COLUMNS
    assert frame["round"].tolist() == [1, 2, 3]
    np.testing.assert_allclose(frame["z"], [2 * math.sqrt(e * (1 - e)) for e in (1 / 4, 1 / 6, 1 / 10)])
    np.testing.assert_allclose(frame["exponential_loss"], np.cumprod(frame["z"]))
    assert model.ledger_.to_records()[2]["train_error"] == 0.0
    assert len(model.ledger_[:2]) == 2 and repr(model.ledger_) == "RoundLedger(3 rounds)"


def test_there_is_none_unless_asked_for():
    assert not hasattr(sp.AdaBoostClassifier(n_estimators=2).fit(*load_xor()), "ledger_")


@pytest.mark.parametrize("algorithm", ["gentle", "logit"])
def test_bounds_that_no_theorem_gives_are_not_given(algorithm):
    ledger = sp.AdaBoostClassifier(algorithm=algorithm, n_estimators=3, ledger=True).fit(*load_xor()).ledger_
    assert np.isnan(ledger.product_bound).all() and np.isnan(ledger.edge_bound).all()
    assert np.isfinite(ledger.exponential_loss).all()


@given(st.integers(2, 9), st.floats(0.0, 1.0), st.floats(0.01, 1.0))
def test_the_edge_bound_is_never_below_that_of_the_error(n_classes, place, rate):
    error = max(1e-12, place * (1 - 1 / n_classes))
    odds = rate * (math.log((1 - error) / error) + math.log(n_classes - 1))
    assert error_bound(error, n_classes, odds) <= edge_bound(error, n_classes, rate) * (1 + 1e-12)


def test_steps_too_long_have_no_edge_bound():
    assert math.isnan(edge_bound(0.3, 2, 1.5))


def test_a_loss_too_large_for_a_float_stays_finite():
    assert np.isfinite(exponential(np.array([-1e6]))).all()


def test_files_with_unsound_columns_are_refused():
    ledger = RoundLedger.from_rows([dict.fromkeys(COLUMNS, 1.0)])
    assert loads(dumps(ledger)).to_records() == ledger.to_records()
    for name, column in [("error", np.zeros(2)), ("z", np.zeros(1, np.float32)), ("weight", "much")]:
        broken = loads(dumps(ledger))
        object.__setattr__(broken, name, column)
        with pytest.raises(ModelFileError, match=name):
            loads(dumps(broken))
