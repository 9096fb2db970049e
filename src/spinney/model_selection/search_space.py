"""Search spaces: ranges and choices of parameters that `tune` draws from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from spinney.core.errors import InputError, show_value


@dataclass(frozen=True)
class Uniform:
    """Numbers of a range, drawn uniformly or, with ``log``, uniformly in the logarithm.

    Parameters
    ----------
    low : float
        Smallest value.
    high : float
        Largest value.
    log : bool, default=False
        Whether to draw the logarithm uniformly.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> 0.01 <= Uniform(0.01, 0.3, log=True).draw(rng) <= 0.3
    True
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        _check_range(self)

    def draw(self, rng: np.random.Generator) -> float:
        """Return a random value.

        Parameters
        ----------
        rng : numpy.random.Generator
            Random number generator.

        Returns
        -------
        float
            The value.
        """
        if self.log:
            return float(math.exp(rng.uniform(math.log(self.low), math.log(self.high))))
        return float(rng.uniform(self.low, self.high))


@dataclass(frozen=True)
class Integers:
    """Integers of a range, both ends included.

    Parameters
    ----------
    low : int
        Smallest value.
    high : int
        Largest value.
    log : bool, default=False
        Whether to draw the logarithm uniformly.

    Examples
    --------
    >>> Integers(3, 3).draw(np.random.default_rng(0))
    3
    """

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        _check_range(self)

    def draw(self, rng: np.random.Generator) -> int:
        """Return a random value.

        Parameters
        ----------
        rng : numpy.random.Generator
            Random number generator.

        Returns
        -------
        int
            The value.
        """
        if self.log:
            value = math.exp(rng.uniform(math.log(self.low - 0.5), math.log(self.high + 0.5)))
            return min(max(round(value), self.low), self.high)
        return int(rng.integers(self.low, self.high, endpoint=True))


@dataclass(frozen=True)
class Choice:
    """One of some values: numbers, strings, booleans or None.

    Parameters
    ----------
    options : tuple
        The values.

    Examples
    --------
    >>> Choice(("gini",)).draw(np.random.default_rng(0))
    'gini'
    """

    options: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.options:
            raise InputError("A Choice needs at least one option.")

    def draw(self, rng: np.random.Generator) -> Any:
        """Return a random option.

        Parameters
        ----------
        rng : numpy.random.Generator
            Random number generator.

        Returns
        -------
        object
            The option.
        """
        return self.options[int(rng.integers(len(self.options)))]


Distribution: TypeAlias = Uniform | Integers | Choice


def _check_range(given: Uniform | Integers) -> None:
    if not given.low <= given.high or (given.log and given.low <= 0):
        fix = "With log=True both ends must be above 0." if given.log else "The first end is the smaller one."
        raise InputError(f"{given} is not a valid range", fix=fix)


def read_space(space: Mapping[str, Any]) -> dict[str, Distribution]:
    """Read a search space: distributions, lists of options, or pairs (low, high) with "log" as a third part.

    >>> read_space({"max_depth": (2, 8), "learning_rate": (0.01, 0.3, "log")})["learning_rate"]
    Uniform(low=0.01, high=0.3, log=True)
    """
    return {name: _read_one(name, given) for name, given in space.items()}


def _read_one(name: str, given: Any) -> Distribution:
    if isinstance(given, Uniform | Integers | Choice):
        return given
    if isinstance(given, list):
        return Choice(tuple(given))
    is_range = isinstance(given, tuple) and 2 <= len(given) <= 3 and all(map(_is_number, given[:2]))
    if is_range and (len(given) == 2 or given[2] == "log"):
        log = len(given) == 3
        if all(isinstance(end, int | np.integer) for end in given[:2]):
            return Integers(int(given[0]), int(given[1]), log)
        return Uniform(float(given[0]), float(given[1]), log)
    raise InputError(
        f"The search space of {name!r} is {show_value(given)}",
        fix='It takes (low, high), (low, high, "log"), a list of options, Uniform, Integers or Choice.',
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def draw_point(space: Mapping[str, Distribution], seed: Sequence[int]) -> dict[str, Any]:
    """Return one random point; every parameter has its own stream, so that adding one changes no other.

    >>> draw_point({"max_depth": Integers(2, 8)}, [0, 1]) == draw_point({"max_depth": Integers(2, 8)}, [0, 1])
    True
    """
    return {
        name: one.draw(np.random.default_rng([*seed, *name.encode()])) for name, one in sorted(space.items())
    }
