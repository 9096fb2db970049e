import numpy as np
import pytest

from spinney import DecisionTreeClassifier
from spinney.data.schema import read_table
from spinney.trees.fitted import Problem


def test_a_ledger_that_was_not_kept_says_how_to_keep_it():
    model = DecisionTreeClassifier()
    with pytest.raises(AttributeError, match=r"no ledger_.*ledger=True.*fit it\."):
        model.ledger_  # noqa: B018
    model.fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(AttributeError, match=r"no ledger_.*ledger=True.*fit it again"):
        model.ledger_  # noqa: B018
    assert not hasattr(model, "ledger_") and "ledger_" not in vars(model)
    assert len(model.set_params(ledger=True).fit([[0.0], [1.0]], [0, 1]).ledger_.to_records()) == 1


def test_a_problem_knows_its_rows_classes_and_strata():
    table = read_table(np.zeros((4, 1)))
    codes = np.array([[0], [1], [1], [0]], dtype=np.int32)
    problem = Problem(table, codes, (np.array(["n", "y"]),), np.array([1.0, 0.0, 2.0, 0.5]), 0, 1)
    assert problem.n_used == 3
    assert problem.n_classes == (2,)
    assert problem.strata.tolist() == [0, 1, 1, 0]
    target = problem.target(problem.weights)
    assert target.classes is codes and target.values is None

    regression = Problem(table, codes.astype(float), (), None, 0, 1)
    assert regression.n_used == 4 and regression.full_weights.tolist() == [1.0] * 4
    assert regression.strata is None
    assert regression.target(None).classes is None
