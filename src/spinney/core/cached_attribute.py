"""`cached_attribute`: an attribute that is computed at its first use, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached_attribute(Generic[T]):  # noqa: N801  (used as a decorator, like functools.cached_property)
    """Decorator of a method whose result becomes an attribute of the instance at its first use.

    As `functools.cached_property` of Python 3.12 and later. That of Python 3.11 has a lock for all instances
    of a class: a process forked while another thread holds it would wait for ever. Without it, two threads
    may both compute the value, and one of the two equal results is kept.

    Parameters
    ----------
    compute : function of the instance
        Computes the value.

    Examples
    --------
    >>> class Circle:
    ...     radius = 2.0
    ...     @cached_attribute
    ...     def area(self) -> float:
    ...         return 3.0 * self.radius**2
    >>> circle = Circle()
    >>> circle.area, vars(circle)
    (12.0, {'area': 12.0})
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        # The instance's own attribute comes before this descriptor, which has no __set__.
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
