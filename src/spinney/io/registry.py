"""The registry of classes by their names in model files, filled as classes are defined."""

from collections.abc import Callable, Mapping
from itertools import count
from types import MappingProxyType
from weakref import WeakKeyDictionary

from spinney.io.errors import UnknownClass

_CLASSES: dict[str, type] = {}
_AGES: WeakKeyDictionary[type, int] = WeakKeyDictionary()
_COUNTER = count()
"""Numbers classes in the order of definition: of two with the same identity, the later one is used."""

_importers: list[Callable[[str], object]] = []


def import_classes_with(importer: Callable[[str], object]) -> None:
    """Set the function that imports the module of Spinney which defines the class of a name.

    It must not import anything else: names come from model files.
    """
    _importers[:] = [importer]


def register(cls: type, name: str | None = None) -> None:
    """Register a class under a name: by default `name` of Spinney's classes, `module:qualname` of others.

    A private class of Spinney (`_CartTree`), or one with an empty name, is a base of others and has no name.

    >>> class Oak: ...
    >>> register(Oak, "Oak in an example")
    >>> find_class("Oak in an example") is Oak
    True
    """
    if name is not None:
        # Stored in the class, because dataclass(slots=True) makes a second class with the same attributes.
        cls._persistent_name = name  # type: ignore[attr-defined]
    _AGES[cls] = next(_COUNTER)
    if (name := _name(cls)) is not None:
        _enter(cls, name)


def _enter(cls: type, name: str) -> None:
    known = _CLASSES.get(name)
    # The same class may be defined again: by a notebook cell, a reload, or dataclass(slots=True).
    if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise TypeError(
            f"{known.__module__}.{known.__qualname__} and {cls.__module__}.{cls.__qualname__} would both be "
            f"called {name!r} in model files; rename one of them."
        )
    _CLASSES[name] = cls


def name_of(cls: type) -> str | None:
    """Return the name of a class in model files, None if it has none.

    >>> name_of(int) is None
    True
    """
    if cls not in _AGES:
        return None
    name = _name(cls)
    # The qualified name of a class may be set after it was registered.
    if name is not None and (name not in _CLASSES or _AGES[_CLASSES[name]] < _AGES[cls]):
        _enter(cls, name)
    return name


def find_class(name: str, renamed: Mapping[str, str] = MappingProxyType({})) -> type:
    """Return the class of a name, or of its new name, in a model file; imports modules of Spinney only.

    >>> find_class("Larch")
    Traceback (most recent call last):
    ...
    spinney.io.errors.UnknownClass: The file has a 'Larch', a class that is not defined. ...
    """
    module, colon, _ = name.partition(":")
    if not colon and name not in _CLASSES:
        for importer in _importers:
            importer(renamed.get(name, name))
    cls = _CLASSES.get(name) or _CLASSES.get(renamed.get(name, name))
    if cls is not None:
        return cls
    fix = (
        f"Import {module!r} before loading" if colon else "Install the version of Spinney that wrote the file"
    )
    raise UnknownClass(
        f"The file has a {name[:200]!r}, a class that is not defined.",
        fix=f"{fix}; loading a file imports no code but Spinney's own.",
    )


def _name(cls: type) -> str | None:
    given: str | None = vars(cls).get("_persistent_name")
    if given is not None:
        return given or None
    if cls.__module__.partition(".")[0] != "spinney":
        return f"{cls.__module__}:{cls.__qualname__}"
    return None if cls.__name__.startswith("_") else cls.__name__
