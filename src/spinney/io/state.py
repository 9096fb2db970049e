"""`Persistent`, the base class of objects that can be saved, loaded and pickled."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

from spinney.io.container import decode, encode, read_header
from spinney.io.errors import CorruptModelFile, UnsavableValue, require
from spinney.io.registry import name_of, register
from spinney.io.values import pack_model, unpack_model

_SCIKIT_LEARN_ATTRIBUTES = frozenset({"_metadata_request", "_sklearn_output_config"})
"""How a model is routed into others; pickled, but not part of a model file."""


class Persistent:
    """Base class of objects that can be saved in model files.

    Dataclasses and estimators need to define nothing more:

    - A dataclass is saved as its fields and built by its `__init__`, so `__post_init__` may validate.
    - An estimator is saved as its parameters and its fitted attributes, whose names end in an underscore.
      A class may list them in `_state_attributes` (private ones too); no others are saved then. Of those in
      `_required_attributes`, a fitted model has all and an unfitted one none. The lists of base classes are
      combined. `_transient_attributes` can be computed again and are left out of files and pickles.

    Other classes define `_get_state` and `_set_state`. Files come from any source: `_set_state`, or
    `_check_state` after it, must check every type, length, range and index that later code relies on. A
    KeyError, TypeError and the like within them is reported as `CorruptModelFile`, but do not rely on that.
    Loaded arrays are read-only.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Stump(Persistent):
    ...     feature: int
    ...     threshold: float
    >>> from spinney.io import dumps, loads
    >>> loads(dumps(Stump(0, 2.5)))
    Stump(feature=0, threshold=2.5)
    """

    __slots__ = ()
    _state_attributes: ClassVar[tuple[str, ...]] = ()
    _required_attributes: ClassVar[tuple[str, ...]] = ()
    _transient_attributes: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, *, persistent_name: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        register(cls, persistent_name)

    def _get_state(self) -> dict[str, Any]:
        """Return the state as plain values, arrays and other persistent objects."""
        if hasattr(self, "get_params"):
            params: dict[str, Any] = self.get_params(deep=False)
            return {"params": dict(sorted(params.items())), "fitted": _fitted(self, params)}
        if dataclasses.is_dataclass(self):
            return {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.init}
        raise UnsavableValue(f"{type(self).__name__} has to define _get_state and _set_state to be saved.")

    def _set_state(self, state: dict[str, Any]) -> None:
        """Set the state that `_get_state` returned; `__init__` has not been called."""
        if hasattr(self, "get_params"):
            _fill_estimator(self, state)
        elif dataclasses.is_dataclass(self):
            names = {field.name for field in dataclasses.fields(self) if field.init}
            _check_names(type(self), "field", state, names.__contains__)
            type(self).__init__(self, **state)
        else:
            raise CorruptModelFile(f"A {type(self).__name__} cannot be part of a model file.")

    def _check_state(self) -> None:
        """Check that the parts fit together after the state is set; raise `CorruptModelFile` if not."""

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        """Pickle and copy through the bytes of a model file, or as usual if one cannot store a value."""
        if _SCIKIT_LEARN_ATTRIBUTES.isdisjoint(getattr(self, "__dict__", ())):
            try:
                document, classes = pack_model(self)
                return _rebuild, (encode(document), *sorted(classes, key=lambda cls: str(name_of(cls))))
            except UnsavableValue:
                pass
        return super().__reduce_ex__(protocol)


def _rebuild(data: bytes, *classes: type) -> Any:
    """Unpickle. The classes are pickled beside the bytes, so that a worker process has imported them."""
    return unpack_model(decode(data), read_header(data).version, {name_of(cls) or "": cls for cls in classes})


def _declared(cls: type, what: str) -> set[str]:
    return {name for base in cls.__mro__ for name in vars(base).get(what, ())}


def _is_fitted_name(cls: type) -> Callable[[str], bool]:
    """Return a predicate for the names of the fitted attributes of a class."""
    declared = _declared(cls, "_state_attributes") | _declared(cls, "_required_attributes")
    if declared:
        return declared.__contains__
    return lambda name: (
        name.isidentifier() and name.endswith("_") and not name.startswith("_") and not hasattr(cls, name)
    )


def _fitted(model: object, params: dict[str, Any]) -> dict[str, Any]:
    """Return the fitted attributes, sorted by name so that files do not depend on the order of setting."""
    is_fitted = _is_fitted_name(type(model))
    ignored = _declared(type(model), "_transient_attributes") | _SCIKIT_LEARN_ATTRIBUTES | set(params)
    fitted = {}
    for name, value in sorted(vars(model).items()):
        if is_fitted(name):
            fitted[name] = value
        elif name not in ignored:
            raise UnsavableValue(
                f"Attribute {name!r} of {type(model).__name__} would be lost in a model file.",
                fix="Add its name to _state_attributes of the class to save it, or to _transient_attributes "
                "to leave it out.",
            )
    missing = _missing(type(model), fitted)
    if missing:
        raise UnsavableValue(
            f"{type(model).__name__} is only partly fitted: it has no {missing[0]!r}.",
            fix="Fit it before saving it.",
        )
    return fitted


def _missing(cls: type, fitted: dict[str, Any]) -> list[str]:
    """Return the attributes that a fitted model must have and this one does not."""
    return sorted(_declared(cls, "_required_attributes") - set(fitted)) if fitted else []


def _fill_estimator(model: Any, state: dict[str, Any]) -> None:
    cls = type(model)
    valid = list(state) == ["params", "fitted"] and all(type(part) is dict for part in state.values())
    require(valid, f"the state of a {cls.__name__} is not parameters and fitted attributes")
    _check_names(cls, "parameter", state["params"], set(cls._get_param_names()).__contains__)
    _check_names(cls, "fitted attribute", state["fitted"], _is_fitted_name(cls))
    missing = _missing(cls, state["fitted"])
    require(not missing, f"a {cls.__name__} has no {''.join(map(repr, missing[:1]))}")
    # Parameters that are newer than the file get their defaults.
    cls.__init__(model, **state["params"])
    for name, value in state["fitted"].items():
        setattr(model, name, value)


def _check_names(cls: type, what: str, found: dict[str, Any], known: Callable[[str], bool]) -> None:
    for name in found:
        require(known(name), f"{cls.__name__} has no {what} {name[:100]!r}")
