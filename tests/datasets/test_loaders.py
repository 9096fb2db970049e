"""A data set comes in the form asked for, or says what to install."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from spinney.core.errors import InputError
from spinney.datasets import load_xor, loaders
from spinney.datasets.loaders import as_frame


@pytest.mark.parametrize(
    ("installed", "kind"),
    [({"pandas", "polars"}, pd.DataFrame), ({"pandas"}, pd.DataFrame), ({"polars"}, pl.DataFrame)],
)
def test_auto_takes_the_library_that_is_there(monkeypatch, installed, kind):
    monkeypatch.setattr(loaders, "find_spec", lambda name: object() if name in installed else None)
    assert isinstance(load_xor()[0], kind)


def test_without_a_library_there_are_still_arrays(monkeypatch):
    monkeypatch.setattr(loaders, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pandas or polars.*frame=None"):
        load_xor()
    assert load_xor(frame=None)[0].shape == (4, 2)


def test_a_form_that_is_not_there_is_named():
    with pytest.raises(InputError, match="'dask'"):
        load_xor(frame="dask")


def test_arrays_hold_numbers_as_numbers_and_mixtures_as_objects():
    X, y = as_frame({"a": [1.5, 2.5], "b": ["u", None]}, "t", [True, False], None)
    assert X.dtype == object and X.tolist() == [[1.5, "u"], [2.5, None]]
    assert y.tolist() == [True, False]
    assert as_frame({"a": np.ones(2)}, "t", [1, 2], None)[0].dtype == np.float64
