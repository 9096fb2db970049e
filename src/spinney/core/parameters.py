"""Parameters of estimators: rules of valid values, which have no effect, the number of threads, the seed."""

from __future__ import annotations

import inspect
import math
import numbers
import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from spinney.core.cached_attribute import cached_attribute
from spinney.core.cores import core_limit
from spinney.core.errors import InputError, show_value

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]


class InvalidParameterError(InputError, TypeError):
    """Invalid parameter of an estimator; both a ValueError and a TypeError, as in scikit-learn.

    >>> str(InvalidParameterError("max_depth", -1, "None or an integer of at least 1", "C45Classifier"))
    'The max_depth of C45Classifier is -1; it takes None or an integer of at least 1.'
    """

    def __init__(self, name: str, value: object, takes: str, owner: str) -> None:
        self.name = name
        super().__init__(f"The {name} of {owner} is {show_value(value)}; it takes {takes}.")


class Rule(Protocol):
    """A rule of valid values; its text is used in messages."""

    def allows(self, value: Any) -> bool:
        """Return whether the value is valid."""

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Integer:
    """Integers from ``min`` to ``max``.

    >>> Integer(1).allows(3), Integer(1).allows(True), str(Integer(2, 255))
    (True, False, 'an integer from 2 to 255')
    """

    min: int
    max: int | None = None

    def allows(self, value: Any) -> bool:
        """Return whether the value is valid."""
        integer = isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)
        return integer and int(value) >= self.min and (self.max is None or int(value) <= self.max)

    def __str__(self) -> str:
        if self.max is None:
            return f"an integer of at least {self.min}"
        return f"an integer from {self.min} to {self.max}"


@dataclass(frozen=True)
class Real:
    """Finite numbers from ``min`` to ``max``; ``open_ends`` excludes ends: "(", ")" or "()".

    ``fraction`` excludes integers, which may have another meaning for the same parameter.

    >>> Real(0.0, 1.0, open_ends="()").allows(0.0), str(Real(0.0, 1.0, open_ends="("))
    (False, 'a number in (0.0, 1.0]')
    """

    min: float
    max: float | None = None
    open_ends: str = ""
    fraction: bool = False

    def allows(self, value: Any) -> bool:
        """Return whether the value is valid."""
        excluded = (bool, np.bool_, numbers.Integral) if self.fraction else (bool, np.bool_)
        if (
            not isinstance(value, numbers.Real)
            or isinstance(value, excluded)
            or not np.isfinite(float(value))
        ):
            return False
        number, upper = float(value), np.inf if self.max is None else self.max
        above = number > self.min if "(" in self.open_ends else number >= self.min
        return above and (number < upper if ")" in self.open_ends else number <= upper)

    def __str__(self) -> str:
        kind = "a fraction" if self.fraction else "a number"
        if self.max is None:
            return f"{kind} {'above' if '(' in self.open_ends else 'of at least'} {self.min}"
        left, right = "(" if "(" in self.open_ends else "[", ")" if ")" in self.open_ends else "]"
        return f"{kind} in {left}{self.min}, {self.max}{right}"


class OneOf:
    """The listed values; True is not 1.

    NumPy's scalars are as valid as the values that they hold.

    >>> OneOf(None, "sqrt").allows("sqrt"), str(OneOf(None, "sqrt"))
    (True, "None or 'sqrt'")
    """

    def __init__(self, *options: Any) -> None:
        self.options = options

    def allows(self, value: Any) -> bool:
        """Return whether the value is valid."""
        if isinstance(value, np.generic):
            value = value.item()
        return any(type(option) is type(value) and option == value for option in self.options)

    def __str__(self) -> str:
        return " or ".join(map(repr, self.options))


class Kind:
    """Instances of some types.

    >>> Kind("a mapping", dict).allows({}), str(Kind("a mapping", dict))
    (True, 'a mapping')
    """

    def __init__(self, text: str, *types: type) -> None:
        self.text, self.types = text, types

    def allows(self, value: Any) -> bool:
        """Return whether the value is valid."""
        return isinstance(value, self.types)

    def __str__(self) -> str:
        return self.text


class ArrayLike:
    """Lists, tuples, arrays, series and frames, but not text.

    >>> ArrayLike().allows([1, 2]), ArrayLike().allows("one")
    (True, False)
    """

    def allows(self, value: Any) -> bool:
        """Return whether the value is valid."""
        if isinstance(value, str | bytes | Mapping):
            return False
        return isinstance(value, Collection) or hasattr(value, "__array__")

    def __str__(self) -> str:
        return "a list or an array"


NONE = OneOf(None)
_NUMBER_OF_ROWS = Integer(0)
FLAG = OneOf(True, False)
_MAX_THREADS = 2**15


_ABSENT = NotImplemented
# Types whose values are compared with those of earlier fits.
_PLAIN_TYPES = frozenset({int, float, str, bool, type(None), type(_ABSENT)})


class _KnownValues:
    """Values of parameters that were found in order before, by what they were compared with.

    That is kept alive, so that nothing else has its id. Only values of plain types are known.
    """

    most = 4096

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], object] = {}

    def key(self, rules: object, names: Iterable[str], given: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Return what the values of these names are known by, None if one is of another type."""
        values = [given.get(name, _ABSENT) for name in names]
        types = tuple(map(type, values))
        return (id(rules), types, *values) if _PLAIN_TYPES.issuperset(types) else None

    def has(self, key: tuple[Any, ...] | None) -> bool:
        """Return whether the values of a key are known."""
        return key is not None and key in self._known

    def add(self, key: tuple[Any, ...] | None, rules: object) -> None:
        """Make the values of a key known."""
        if key is None:
            return
        if len(self._known) >= self.most:
            self._known.clear()
        self._known[key] = rules


_valid, _used = _KnownValues(), _KnownValues()
_DEFAULTS: WeakKeyDictionary[Callable[..., None], dict[str, Any]] = WeakKeyDictionary()
"""Default values of the parameters of each constructor."""
_USED_NAMES: dict[int, tuple[Sequence[Use], tuple[str, ...]]] = {}
"""Uses of parameters by their id, and the names that they are about."""


def check_parameters(owner: str, given: Mapping[str, Any], rules: Mapping[str, tuple[Rule, ...]]) -> None:
    """Raise InvalidParameterError for the first parameter that no rule of its own allows.

    Values of plain types that were valid before are looked up: a fit of a small table takes less time than
    the rules of its parameters.

    >>> check_parameters("C45Classifier", {"max_depth": 3}, {"max_depth": (NONE, Integer(1))})
    """
    key = _valid.key(rules, rules, given)
    if _valid.has(key):
        return
    for name, allowed in rules.items():
        value = given.get(name, _ABSENT)
        if value is not _ABSENT and not any(rule.allows(value) for rule in allowed):
            raise InvalidParameterError(name, value, ", or ".join(map(str, allowed)), owner)
    _valid.add(key, rules)


def plain_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with NumPy's scalars, as searches draw them, as values of Python's own types.

    >>> plain_values({"max_depth": np.int64(3), "loss": "auto"})
    {'max_depth': 3, 'loss': 'auto'}
    """
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}


@dataclass(frozen=True)
class Use:
    """Parameters that have an effect only with some values of another parameter.

    Attributes
    ----------
    names : tuple of str
        The parameters.
    other : str
        The other parameter.
    values : tuple
        Values of the other parameter with which they have an effect; empty for all but `unless`.
    unless : tuple
        Values of the other parameter with which they have none.

    Examples
    --------
    >>> use = Use(("degree",), "kernel", values=("poly",))
    >>> use.has_effect("poly"), use.has_effect("linear"), str(use)
    (True, False, "kernel='poly'")
    """

    names: tuple[str, ...]
    other: str
    values: tuple[Any, ...] = ()
    unless: tuple[Any, ...] = ()

    def has_effect(self, other: Any) -> bool:
        """Return whether the parameters have an effect with this value of the other one."""
        return self._listed.allows(other) == bool(self.values)

    @cached_attribute
    def _listed(self) -> OneOf:
        return OneOf(*(self.values or self.unless))

    def __str__(self) -> str:
        values = " or ".join(map(repr, self.values or self.unless))
        return f"{self.other}={values}" if self.values else f"{self.other} other than {values}"


VALIDATION_ROWS = Use(("validation_fraction",), "early_stopping", unless=(False,))
EARLY_STOPPING = Use(("validation_fraction", "n_iter_no_change", "tol"), "early_stopping", unless=(False,))


def warn_of_unused(estimator: Any, uses: Sequence[Use]) -> None:
    """Warn of each parameter that is not at its default value, and has no effect.

    Parameters
    ----------
    estimator : object
        Has the parameters as attributes.
    uses : sequence of Use
        When parameters of its class have an effect.
    """
    given, named = vars(estimator), set[str]()
    cls, key = type(estimator), _used.key(uses, _names_of(uses), given)
    if key is not None:
        key = (*key, cls)  # by which the defaults are found
    if _used.has(key):
        return
    for use in uses:
        if use.has_effect(given.get(use.other)):
            continue
        defaults = _defaults_of(cls)
        for name in use.names:
            known = name in given and name in defaults and name not in named
            if known and not _is_default(given[name], defaults[name]):
                named.add(name)
                message = (
                    f"{name}={show_value(given[name])} has no effect on {cls.__name__}: it is "
                    f"for {use}, and {use.other} is {show_value(given.get(use.other))}."
                )
                warnings.warn(message, UserWarning, stacklevel=_level_of_caller())
    if not named:
        _used.add(key, uses)


def _names_of(uses: Sequence[Use]) -> tuple[str, ...]:
    """Return the names of all parameters that some uses are about."""
    known, names = _USED_NAMES.get(id(uses), (None, ()))
    if known is not uses:
        names = tuple(dict.fromkeys(name for use in uses for name in (*use.names, use.other)))
        _USED_NAMES[id(uses)] = uses, names
    return names


def _defaults_of(cls: type) -> Mapping[str, Any]:
    """Return the default values of the parameters of a class."""
    constructor = cls.__init__  # type: ignore[misc]
    if constructor not in _DEFAULTS:
        known = inspect.signature(constructor).parameters.items()
        _DEFAULTS[constructor] = {name: parameter.default for name, parameter in known}
    return _DEFAULTS[constructor]


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (np.ndim(value) == 0 and bool(value == default))


def _level_of_caller() -> int:
    """Return the stack level, as `warn_of_unused` counts it, of the first function outside the package."""
    frame, level = sys._getframe(1), 1  # noqa: SLF001
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("spinney."):
        frame, level = frame.f_back, level + 1
    return level


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``.

    Parameters
    ----------
    n_jobs : int or None
        None is the cores that this process may use, by its affinity and the quota of its container. Within
        ``joblib.parallel_config(n_jobs=...)``, in a joblib worker, or where ``threadpoolctl`` limits all
        thread pools, it is that limit. −1 is all cores, also within such a limit of threadpoolctl.

    Returns
    -------
    int
        The number of threads.

    Examples
    --------
    >>> thread_count(3)
    3
    """
    if type(n_jobs) is int and 0 < n_jobs <= _MAX_THREADS:
        return n_jobs
    check_threads(n_jobs)
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    if n_jobs is not None or _is_joblib_configured():
        import joblib

        return max(1, int(joblib.effective_n_jobs(n_jobs)))
    return max(1, min(_count_cores(_affinity()), _thread_pool_limit()))


def check_threads(n_jobs: Any) -> None:
    """Raise InputError if a value is no number of threads.

    >>> check_threads(-1)
    """
    if n_jobs is not None and not Integer(-_MAX_THREADS, _MAX_THREADS).allows(n_jobs):
        raise InputError(f"n_jobs is {show_value(n_jobs)}; it takes None or an integer.")
    if n_jobs == 0:
        raise InputError("n_jobs is 0, which has no meaning; use 1 for one thread, -1 for all cores.")


def _is_joblib_configured() -> bool:
    """Return True inside of a joblib worker, or of a context that sets the number of jobs."""
    if "joblib" not in sys.modules:
        return False
    import joblib

    context = joblib.parallel_config()  # a copy of the configuration of this thread, and then its end
    context.unregister()
    backend, _ = joblib.parallel.get_active_backend()
    return bool(backend.nesting_level) or isinstance(context.old_parallel_config["n_jobs"], int)


def _affinity() -> int:
    """Return the number of cores that the scheduler may put this process on."""
    if sys.version_info >= (3, 13):
        return os.process_cpu_count() or 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _count_cores(affinity: int) -> int:
    """Return the cores of a process with this affinity; the quota of its container is read once."""
    return min(affinity, core_limit())


@cache
def _thread_pools() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _thread_pool_limit() -> int:
    """Return the largest size of the thread pools of BLAS and OpenMP, which ``threadpool_limits`` sets.

    Before threadpoolctl is imported, only the environment can have set it.
    """
    if "threadpoolctl" not in sys.modules:
        given = os.environ.get("OMP_NUM_THREADS", "")
        return int(given) if given.isdecimal() and int(given) > 0 else 2**15
    return max((int(pool.num_threads) for pool in _thread_pools().lib_controllers), default=2**15)


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
        random_state = np.random.mtrand._rand  # noqa: SLF001
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
    return _hash_seed(int(random_state))


@lru_cache(maxsize=1024)
def _hash_seed(seed: int) -> int:
    """Hash a seed, so that 1 and 2 are as different as any two seeds."""
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])


def rows_or_share(value: float, n_rows: int) -> int:
    """Return a number of rows; a fraction is a share of all rows, rounded up.

    >>> rows_or_share(0.1, 25), rows_or_share(7, 25)
    (3, 7)
    """
    if type(value) is int or _NUMBER_OF_ROWS.allows(value):
        return int(value)
    return math.ceil(value * n_rows)


def features_to_try(max_features: int | float | str | None, n_features: int) -> int:
    """Return how many features are considered per node.

    >>> features_to_try("sqrt", 16), features_to_try(0.5, 5), features_to_try(None, 5)
    (4, 2, 5)
    """
    if max_features is None:
        return n_features
    if isinstance(max_features, str):
        root = math.sqrt(n_features) if max_features == "sqrt" else math.log2(n_features)
        return max(1, int(root))
    return int(max_features) if Integer(1).allows(max_features) else max(1, int(max_features * n_features))
