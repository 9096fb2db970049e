"""Base estimators of ensembles: which objects qualify, and copies with seeds and random parameters."""

from __future__ import annotations

import hashlib
import inspect
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.utils import Tags, get_tags

from spinney.core.errors import InputError, show_value
from spinney.core.seeds import stream

# scikit-learn's estimators accept no larger seed.
_MAX_SEED = 2**31 - 1

# Estimators whose tags the outermost call of `base_estimator_tags` has met. Ensembles ask for the tags of a
# base estimator more than once, and that again for those of its own: exponential in the depth without.
_TAGS: ContextVar[dict[int, tuple[Any, Tags]] | None] = ContextVar("_TAGS", default=None)


@dataclass(frozen=True)
class AnyEstimator:
    """Parameter rule that allows estimator objects with ``fit`` and ``predict``, but no classes.

    >>> from spinney.trees import C45Classifier
    >>> AnyEstimator().allows(C45Classifier()), AnyEstimator().allows(C45Classifier)
    (True, False)
    """

    def allows(self, value: Any) -> bool:
        """Return True if the value is an estimator object."""
        if isinstance(value, type) or not all(hasattr(value, name) for name in ("fit", "get_params")):
            return False
        # Some learners, such as scikit-learn's StackingClassifier, have predict only when they are fitted.
        later = hasattr(type(value), "predict") and (is_classifier(value) or is_regressor(value))
        return hasattr(value, "predict") or later

    def __str__(self) -> str:
        return "an estimator with fit and predict"


def base_estimator_tags(estimator: Any) -> Tags:
    """Return a copy of an estimator's scikit-learn tags; default tags if it is not an estimator.

    >>> from spinney.trees import C45Classifier
    >>> base_estimator_tags(C45Classifier()).input_tags.allow_nan
    True
    """
    known = _TAGS.get()
    if known is None:
        token = _TAGS.set({})
        try:
            return base_estimator_tags(estimator)
        finally:
            _TAGS.reset(token)
    if id(estimator) not in known:
        tags = get_tags(estimator if AnyEstimator().allows(estimator) else BaseEstimator())
        known[id(estimator)] = (estimator, tags)
    return deepcopy(known[id(estimator)][1])


# Names that a subclass may define and still have every method of its base class.
_HARMLESS = frozenset({"__init__", "__module__", "__qualname__", "__doc__", "__annotations__", "__slots__"})


def has_own_methods(estimator: Any) -> bool:
    """Return True if every method of one of Spinney's estimators is its own, and none is overridden.

    Ensembles may then replace calls of its methods by faster functions of the same result.

    >>> from spinney.trees import C45Classifier
    >>> class Cautious(C45Classifier):
    ...     def predict(self, X):
    ...         return super().predict(X)
    >>> has_own_methods(C45Classifier()), has_own_methods(Cautious())
    (True, False)
    """
    cls: Any = type(estimator)
    own = [name for name, value in vars(estimator).items() if callable(value)]
    return _defines_no_method(cls) and not any(hasattr(cls, name) for name in own)


@cache
def _defines_no_method(cls: Any) -> bool:
    """Return True unless classes outside of Spinney, derived from its own, redefine something."""
    bases = list(inspect.getmro(cls))
    own = [base.__module__.partition(".")[0] == "spinney" for base in bases]
    if not any(own):
        return False
    names = {name for base, is_own in zip(bases, own, strict=True) if is_own for name in vars(base)}
    derived = bases[: own.index(True)]
    return not any((set(vars(base)) - _HARMLESS) & names for base in derived)


class CopiesEnsemble(MetaEstimatorMixin):  # type: ignore[misc]
    """Base class of ensembles whose members are copies of one base estimator, ``estimator``."""

    estimator: Any
    estimators_: list[Any]

    @abstractmethod
    def _default_estimator(self) -> Any:
        """Return the base estimator to use if ``estimator`` is None."""

    def _base_estimator(self) -> Any:
        """Return the estimator that members are copies of."""
        return self._default_estimator() if self.estimator is None else self.estimator

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: int) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = base_estimator_tags(self._base_estimator()).input_tags
        return tags


def make_member(estimator: Any, seed: int | None = None, **params: Any) -> Any:
    """Return an unfitted copy of an estimator with other parameters and random states drawn from a seed.

    Parameters
    ----------
    estimator : estimator
        The base estimator.
    seed : int, optional
        If given, every ``random_state``, also of nested estimators (``pca__random_state``), is set to a
        number drawn from this seed. Random states named in ``params`` are left alone.
    **params
        Parameters to set, as for ``set_params``.

    Returns
    -------
    estimator
        The copy.

    Examples
    --------
    >>> from spinney import DecisionTreeClassifier
    >>> member = make_member(DecisionTreeClassifier(), seed=1, max_depth=3)
    >>> member.max_depth, isinstance(member.random_state, int)
    (3, True)
    """
    member = clone(estimator)
    if params:
        member.set_params(**params)
    if seed is not None:
        names = [name for name in sorted(member.get_params()) if name.split("__")[-1] == "random_state"]
        drawn = stream(seed, 0).integers(_MAX_SEED, size=len(names)).tolist()
        states = dict(zip(names, drawn, strict=True))
        member.set_params(**{name: state for name, state in states.items() if name not in params})
    return member


def draw_parameters(distributions: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Draw a random value for each parameter.

    A draw depends only on the seed and the name of its parameter, not on the other parameters.

    Parameters
    ----------
    distributions : mapping of str to distribution
        A distribution is a list, range or 1-D array (entries equally likely), a frozen distribution of
        ``scipy.stats`` (anything with ``rvs``), or a function of a ``numpy.random.Generator``. Names are
        those of ``set_params``: ``a__b`` is parameter b of the nested estimator a.
    seed : int
        The seed of all draws.

    Returns
    -------
    dict
        One value per name. NumPy scalars become Python numbers, so that a model file can store them.

    Examples
    --------
    >>> draw_parameters({"max_depth": [3], "tree__ccp_alpha": lambda rng: 0.5}, seed=0)
    {'max_depth': 3, 'tree__ccp_alpha': 0.5}
    """
    if not isinstance(distributions, Mapping):
        raise InputError(
            f"parameter_distributions is {show_value(distributions)}; it must be a dict by parameter name."
        )
    return {name: _draw(name, given, _generator(seed, name)) for name, given in distributions.items()}


def _generator(seed: int, name: Any) -> np.random.Generator:
    if not isinstance(name, str):
        raise InputError(f"parameter_distributions has the key {show_value(name)}; keys are parameter names.")
    # Python's own hash of a string differs between processes.
    return stream(seed, int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little"))


def _draw(name: str, given: Any, rng: np.random.Generator) -> Any:
    """Draw one value from a distribution."""
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
            f"The distribution of parameter {name!r} is {show_value(given)}; it must be a list of values, a "
            "frozen distribution of scipy.stats, or a function of a numpy Generator",
            fix=f"For a constant value, write [{show_value(given)}].",
        )
    is_scalar = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0)
    return value.item() if is_scalar else value
