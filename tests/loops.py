"""Loops inside a test: many seeds or cases are one test, and a failure names the values it came with."""

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any


def for_each(name: str, values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call a test once per value of one of its arguments; the other arguments stay pytest's.

    Parameters
    ----------
    name : str
        The argument of the test.
    values : iterable
        Its values. They are copied, so that a generator may be given.
    """
    cases = list(values)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def loop(*args: Any, **kwargs: Any) -> None:
            for case in cases:
                try:
                    test(*args, **kwargs, **{name: case})
                except BaseException as error:
                    error.add_note(f"with {name}={getattr(case, 'name', case)!r}")
                    raise

        signature = inspect.signature(test)
        others = [parameter for key, parameter in signature.parameters.items() if key != name]
        loop.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        del loop.__wrapped__  # type: ignore[attr-defined]  # pytest would look through it
        return loop

    return decorate
