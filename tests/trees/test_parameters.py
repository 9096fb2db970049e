import numpy as np
import pytest

from spinney.data.schema import read_table
from spinney.tree.plan import NO_LIMIT
from spinney.trees.parameters import features_to_try, limit, read_costs, read_monotone, rows_or_share


def test_limits_and_shares():
    assert limit(None) == limit(10**12) == NO_LIMIT
    assert [rows_or_share(v, 25) for v in (1, 0.1, 1.0)] == [1, 3, 25]
    assert [features_to_try(v, 10) for v in (None, "sqrt", "log2", 0.01, 0.5, 3)] == [10, 3, 3, 1, 5, 3]


def test_costs_by_position_and_by_name():
    schema = read_table([[1.0, 2.0]]).schema
    assert read_costs([2, 3], "tan", schema).tolist() == [2.0, 3.0]
    assert read_costs({"x1": 4}, "tan", schema).tolist() == [1.0, 4.0]
    assert read_costs([0, 1], "nunez", schema).tolist() == [0.0, 1.0]
    for bad, words in [
        ([0, 1], r"is 0.0 in column 0\. With .* finite number above 0\."),
        ([1], "shape"),
        ({"z": 1}, r"'z', .*Columns: 'x0', 'x1'"),
        ({"x11": 1}, r"'x11', .*Did you mean 'x1'"),
        ({None: 1}, "None"),
        (["a", "b"], "numbers"),
    ]:
        with pytest.raises(ValueError, match=words):
            read_costs(bad, "tan", schema)


def test_constraints_fit_the_table():
    schema = read_table([["a", 2.0]]).schema
    assert read_monotone([0, 1], schema, 1, (2,)).dtype == np.int8
    assert read_monotone([0, 0], schema, 1, (2,)) is None
    assert read_monotone([0, 1], schema, 1, (1,)) is None
    assert read_monotone({"x1": -1}, schema, 1, (2,)).tolist() == [0, -1]
    assert read_monotone({}, schema, 1, (2,)) is None
    with pytest.raises(ValueError, match=r"monotonic_cst names 'x11'.*Did you mean 'x1'"):
        read_monotone({"x11": 1}, schema, 1, ())
    with pytest.raises(ValueError, match=r"-1, 0 or 1"):
        read_monotone({"x1": 2}, schema, 1, ())
    with pytest.raises(ValueError, match=r"column 0.*no order"):
        read_monotone([1, 0], schema, 1, ())
