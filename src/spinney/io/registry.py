"""The registry: the name under which a model file knows each class, filled as classes are defined."""

from itertools import count
from weakref import WeakKeyDictionary

from spinney.io.errors import UnknownClass

_CLASSES: dict[str, type] = {}
_AGES: WeakKeyDictionary[type, int] = WeakKeyDictionary()
_COUNTER = count()
"""Classes in the order of their definition: of two with one identity, the later one counts."""


def register(cls: type, name: str | None = None) -> None:
    """Enter a class: under a given name, else Spinney's own bare, a user's as ``module:qualname``.

    A private class of Spinney (`_BaseTree`) is a base of others and has no name, unless one is given.

    >>> class Oak: ...
    >>> register(Oak, "Oak in an example")
    >>> find_class("Oak in an example") is Oak
    True
    """
    if name is not None:
        # Kept in the class, because dataclass(slots=True) makes a second class from what the first one holds.
        cls._persistent_name = name  # type: ignore[attr-defined]
    _AGES[cls] = next(_COUNTER)
    name = _name(cls)
    if name is not None:
        _enter(cls, name)


def _enter(cls: type, name: str) -> None:
    known = _CLASSES.get(name)
    # The same class may be defined again: by a notebook cell, a reload, or dataclass(slots=True).
    if known is not None and _identity(known) != _identity(cls):
        raise TypeError(
            f"{known.__module__}.{known.__qualname__} and {cls.__module__}.{cls.__qualname__} would both be "
            f"called {name!r} in model files; rename one of them."
        )
    _CLASSES[name] = cls


def name_of(cls: type) -> str | None:
    """Give the name of a class in model files, None where it has none.

    >>> name_of(int) is None
    True
    """
    if cls not in _AGES:
        return None
    name = _name(cls)
    # A class may get its qualified name only after it was registered.
    if name is not None and (name not in _CLASSES or _AGES[_CLASSES[name]] < _AGES[cls]):
        _enter(cls, name)
    return name


def is_registered(name: str) -> bool:
    """Return whether a class of this name in model files is defined."""
    return name in _CLASSES


def find_class(name: str) -> type:
    """Look up a class by its name in a file; never imports anything.

    >>> find_class("Larch")
    Traceback (most recent call last):
    ...
    spinney.io.errors.UnknownClass: The file holds a 'Larch', a class not defined here. ...
    """
    cls = _CLASSES.get(name)
    if cls is not None:
        return cls
    module, colon, _ = name.partition(":")
    fix = (
        f"Import {module!r} before loading" if colon else "Install the version of Spinney that wrote the file"
    )
    raise UnknownClass(
        f"The file holds a {name[:200]!r}, a class not defined here.",
        fix=f"{fix}; loading a file imports no code by itself.",
    )


def _identity(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


def _name(cls: type) -> str | None:
    given: str | None = vars(cls).get("_persistent_name")
    if given is not None:
        return given
    if cls.__module__.partition(".")[0] != "spinney":
        return f"{cls.__module__}:{cls.__qualname__}"
    return None if cls.__name__.startswith("_") else cls.__name__
