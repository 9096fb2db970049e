"""Tables that the tests of the store share."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def frame():
    """Numbers of both widths, integers, few and many categories, missing values, target and weights."""
    rng = np.random.default_rng(0)
    n = 9000
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.integers(0, 5, n),
            "color": pd.Series(rng.choice(["red", "green", "blue"], n), dtype=object),
            "zip": pd.Series([f"z{i:03d}" for i in rng.integers(0, 400, n)], dtype=object),
            "e": (rng.normal(size=n) * 64).round() / 64,  # the same in float32
            "flag": rng.random(n) < 0.3,
        }
    )
    frame["e"] = frame["e"].astype(np.float32)
    frame.loc[rng.random(n) < 0.1, "a"] = np.nan
    frame.loc[rng.random(n) < 0.1, "color"] = None
    signal = frame["e"] + (frame["color"] == "red") + frame["zip"].str[1:].astype(int) / 200
    frame["y"] = np.where(signal + rng.normal(size=n) > 1.2, "yes", "no")
    frame["y"] = frame["y"].astype(object)
    frame["value"] = signal + rng.normal(size=n)
    frame["w"] = rng.integers(0, 4, n) / 4
    return frame
