import sys

import pytest

from spinney.core.frames import to_frame


def test_pandas_comes_first_then_polars_then_advice(monkeypatch):
    columns = {"名": ["a", "b"], "n": [1, 2]}
    assert type(to_frame(columns)).__module__.startswith("pandas")
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert to_frame(columns).to_dict(as_series=False) == columns
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="to_records"):
        to_frame(columns)
