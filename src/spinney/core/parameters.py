"""Checks of arguments: the rules that parameters keep, row weights, and how many threads to use."""

from __future__ import annotations

import numbers
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import joblib
import numpy as np

from spinney.core.errors import InputError, show_value


class InvalidParameterError(InputError, TypeError):
    """Report an estimator's parameter; both a ValueError and a TypeError, as scikit-learn's is.

    >>> str(InvalidParameterError("max_depth", -1, "None or a whole number of at least 1", "C45Classifier"))
    'The max_depth of C45Classifier is -1; it takes None or a whole number of at least 1.'
    """

    def __init__(self, name: str, value: object, takes: str, owner: str) -> None:
        self.name = name
        super().__init__(f"The {name} of {owner} is {show_value(value)}; it takes {takes}.")


class Rule(Protocol):
    """Say which values a parameter takes, and put it into words."""

    def allows(self, value: Any) -> bool:
        """Tell whether the value is one of them."""

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Whole:
    """Allow whole numbers from ``least`` to ``most``.

    >>> Whole(1).allows(3), Whole(1).allows(True), str(Whole(2, 255))
    (True, False, 'a whole number from 2 to 255')
    """

    least: int
    most: int | None = None

    def allows(self, value: Any) -> bool:
        """Tell whether the value is one of them."""
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)
        return whole and int(value) >= self.least and (self.most is None or int(value) <= self.most)

    def __str__(self) -> str:
        if self.most is None:
            return f"a whole number of at least {self.least}"
        return f"a whole number from {self.least} to {self.most}"


@dataclass(frozen=True)
class Real:
    """Allow finite numbers from ``least`` to ``most``; ``open_ends`` names the ends left out, "(", ")", "()".

    ``fraction`` leaves out whole numbers, which may mean something else to the same parameter.

    >>> Real(0.0, 1.0, open_ends="()").allows(0.0), str(Real(0.0, 1.0, open_ends="("))
    (False, 'a number in (0.0, 1.0]')
    """

    least: float
    most: float | None = None
    open_ends: str = ""
    fraction: bool = False

    def allows(self, value: Any) -> bool:
        """Tell whether the value is one of them."""
        if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
            return False
        if (self.fraction and isinstance(value, numbers.Integral)) or not np.isfinite(float(value)):
            return False
        number = float(value)
        above = number > self.least if "(" in self.open_ends else number >= self.least
        most = np.inf if self.most is None else self.most
        return above and (number < most if ")" in self.open_ends else number <= most)

    def __str__(self) -> str:
        kind = "a fraction" if self.fraction else "a number"
        if self.most is None:
            return f"{kind} {'above' if '(' in self.open_ends else 'of at least'} {self.least}"
        left, right = "(" if "(" in self.open_ends else "[", ")" if ")" in self.open_ends else "]"
        return f"{kind} in {left}{self.least}, {self.most}{right}"


@dataclass(frozen=True)
class OneOf:
    """Allow the listed values and no others; True is not 1.

    >>> OneOf(None, "sqrt").allows("sqrt"), str(OneOf(None, "sqrt"))
    (True, "None or 'sqrt'")
    """

    options: tuple[Any, ...]

    def __init__(self, *options: Any) -> None:
        object.__setattr__(self, "options", options)

    def allows(self, value: Any) -> bool:
        """Tell whether the value is one of them."""
        if isinstance(value, np.bool_):
            value = bool(value)
        return any(type(option) is type(value) and option == value for option in self.options)

    def __str__(self) -> str:
        return " or ".join(map(repr, self.options))


@dataclass(frozen=True)
class Kind:
    """Allow instances of some types, or anything that NumPy reads as an array.

    >>> Kind("a mapping", dict).allows({}), str(Kind("a mapping", dict))
    (True, 'a mapping')
    """

    words: str
    types: tuple[type, ...]

    def __init__(self, words: str, *types: type) -> None:
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "types", types)

    def allows(self, value: Any) -> bool:
        """Tell whether the value is one of them."""
        return isinstance(value, self.types)

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class ArrayLike:
    """Allow lists, tuples, arrays, series and frames, but no text.

    >>> ArrayLike().allows([1, 2]), ArrayLike().allows("one")
    (True, False)
    """

    def allows(self, value: Any) -> bool:
        """Tell whether the value is one of them."""
        if isinstance(value, str | bytes | Mapping):
            return False
        return isinstance(value, Collection) or hasattr(value, "__array__")

    def __str__(self) -> str:
        return "a list or an array"


NONE = OneOf(None)
FLAG = OneOf(True, False)


def check_parameters(owner: str, given: Mapping[str, Any], rules: Mapping[str, tuple[Rule, ...]]) -> None:
    """Raise InvalidParameterError for the first parameter that no rule of its own allows.

    >>> check_parameters("C45Classifier", {"max_depth": 3}, {"max_depth": (NONE, Whole(1))})
    """
    for name, allowed in rules.items():
        if name in given and not any(rule.allows(given[name]) for rule in allowed):
            raise InvalidParameterError(name, given[name], ", or ".join(map(str, allowed)), owner)


def thread_count(n_jobs: int | None) -> int:
    """Give the number of threads that ``n_jobs`` asks for, in scikit-learn's manner.

    None is 1 outside of a ``joblib.parallel_config`` context, and what the context says inside one; −1 is
    every core that this process may use. The model does not depend on it.

    >>> thread_count(3)
    3
    """
    if n_jobs is not None and not Whole(-(2**15), 2**15).allows(n_jobs):
        raise InputError(f"n_jobs is {show_value(n_jobs)}; it takes None or a whole number.")
    if n_jobs == 0:
        raise InputError("n_jobs is 0, which has no meaning; use 1 for one thread, -1 for all cores.")
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    return max(1, int(joblib.effective_n_jobs(n_jobs)))


def draw_seed(random_state: Any) -> int:
    """Return a 64-bit seed for a ``random_state``.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None
        An integer always gives the same seed; a generator is advanced by one draw. None is NumPy's global
        generator, so that ``numpy.random.seed`` works as it does for scikit-learn.

    Returns
    -------
    int
        The seed, from 0 to 2**64 − 1.

    Examples
    --------
    >>> draw_seed(7) == draw_seed(7)
    True
    """
    if random_state is None or random_state is np.random:
        random_state = np.random.mtrand._rand
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**64, dtype=np.uint64))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**64, dtype=np.uint64))
    integer = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if not integer or not 0 <= random_state < 2**64:
        raise InputError(
            f"random_state is {show_value(random_state)}; it takes None, an integer from 0 to 2**64 - 1, "
            "a numpy RandomState or a numpy Generator."
        )
    # Hashed, so that 1 and 2 are as different as any two seeds.
    return int(np.random.SeedSequence(int(random_state)).generate_state(1, np.uint64)[0])
