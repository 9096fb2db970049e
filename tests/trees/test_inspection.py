import pytest

from spinney import DecisionTreeClassifier


def test_a_ledger_that_was_not_kept_says_how_to_keep_it():
    model = DecisionTreeClassifier()
    with pytest.raises(AttributeError, match=r"no ledger_.*ledger=True.*fit it\."):
        model.ledger_  # noqa: B018
    model.fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(AttributeError, match=r"no ledger_.*ledger=True.*fit it again"):
        model.ledger_  # noqa: B018
    assert not hasattr(model, "ledger_") and "ledger_" not in vars(model)
    assert len(model.set_params(ledger=True).fit([[0.0], [1.0]], [0, 1]).ledger_.to_records()) == 1
