"""Random hyper-parameters: one value for each name, drawn from what the user gives as its distribution."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spinney.core.errors import InputError, show_value
from spinney.core.seeds import stream


def draw_parameters(distributions: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Draw a value of each parameter; ``a__b`` names parameter b of the part called a, as in ``set_params``.

    A distribution is a list, a range or a one-dimensional array (each entry equally likely), a frozen
    distribution of ``scipy.stats`` (anything with ``rvs``), or a function of a ``numpy.random.Generator``.
    A draw depends on the seed and its own name alone: leaving another parameter out does not change it.

    >>> draw_parameters({"max_depth": [3], "tree__ccp_alpha": lambda rng: 0.5}, seed=0)
    {'max_depth': 3, 'tree__ccp_alpha': 0.5}
    """
    if not isinstance(distributions, Mapping):
        raise InputError(
            f"The distributions of parameters are {show_value(distributions)}; they must be a dict by name."
        )
    return {name: _draw(name, given, _generator(seed, name)) for name, given in distributions.items()}


def _generator(seed: int, name: Any) -> np.random.Generator:
    if not isinstance(name, str):
        raise InputError(f"The distribution of {show_value(name)} has no parameter: names are text.")
    # Python's own hash of a text differs from run to run.
    return stream(seed, int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little"))


def _draw(name: str, given: Any, rng: np.random.Generator) -> Any:
    """Draw one value, a plain Python number where NumPy gives a scalar, so that a model file can hold it."""
    if callable(getattr(given, "rvs", None)):
        value = given.rvs(random_state=rng)
    elif isinstance(given, Sequence | np.ndarray) and not isinstance(given, str | bytes):
        if getattr(given, "shape", None) == () or not len(given):
            raise InputError(f"The distribution of parameter {name!r} is empty.", fix="List its values.")
        value = given[int(rng.integers(len(given)))]
    elif callable(given):
        value = given(rng)
    else:
        raise InputError(
            f"The distribution of parameter {name!r} is {show_value(given)}; it takes a list of values, a "
            "frozen distribution of scipy.stats, or a function of a numpy Generator",
            fix=f"For one value that is always the same, write [{show_value(given)}].",
        )
    whole_array = isinstance(value, np.ndarray) and value.ndim == 0
    return value.item() if isinstance(value, np.generic) or whole_array else value
