"""Changes of names since format version 1, applied when an older model file is loaded."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Change: TypeAlias = str | Callable[[Any], dict[str, Any]]
"""The new name of a parameter, or a function from its old value to the parameters that replace it."""

RENAMED_CLASSES: dict[str, str] = {
    "Bags": "BootstrapSamples",
    "KeptBags": "KeptSamples",
}
"""Class name in files of version 1 -> class name today."""

RENAMED_STATE: dict[str, dict[str, str]] = {
    "BaseBagging": {"_bags": "_samples"},
    "BaseForest": {"_bags": "_samples"},
}
"""Class name -> {fitted attribute or record field in files of version 1: its name today}."""


def _values(name: str, **renamed: Any) -> Change:
    """Return a change that renames values of a string parameter and keeps its name."""
    return lambda value: {name: renamed.get(value, value) if isinstance(value, str) else value}


def _verbose(value: Any) -> dict[str, Any]:
    return {"verbose": int(value) if isinstance(value, bool) else value}


def _patience(value: Any) -> dict[str, Any]:
    """Early stopping of AdaBoost was switched on by giving the number of rounds."""
    return {"early_stopping": False} if value is None else {"early_stopping": True, "n_iter_no_change": value}


def _subset(value: Any) -> dict[str, Any]:
    return {"categorical_split": "subset" if value else "multiway"}


_TREE: dict[str, Change] = {"ledger": _values("ledger", thresholds="full")}
_GRADIENT_BOOSTING: dict[str, Change] = {
    "row_fraction": "subsample",
    "column_fraction": "colsample_bytree",
    "sampling": _values("sampling", gradient="goss", variance="mvs"),
    "growth": _values("growth", best="leaf-wise", level="level-wise"),
    "ledger": _values("ledger", candidates="full"),
}
_COMBINED: dict[str, Change] = {"verbose": _verbose}
_PAIRS: dict[str, Mapping[str, Change]] = {
    "DecisionTree": _TREE,
    "ObliqueTree": _TREE,
    "AdaBoost": {"verbose": _verbose, "n_iter_no_change": _patience},
    "GradientBoosting": _GRADIENT_BOOSTING,
    "EnsembleSelection": {"bag_fraction": "max_samples", **_COMBINED},
    "Stacking": _COMBINED,
    "Voting": _COMBINED,
}
RENAMED_PARAMETERS: dict[str, Mapping[str, Change]] = {
    "C45Classifier": {"subset": _subset, **_TREE},
    "ID3Classifier": _TREE,
} | {name + task: changes for name, changes in _PAIRS.items() for task in ("Classifier", "Regressor")}
"""Class name -> {parameter in files of version 1: its change}. Subclasses follow their base class."""


ADDED_PARAMETERS: dict[str, dict[str, Any]] = {
    name + task: values
    for name, values in {"GradientBoosting": {"preset": "classic"}}.items()
    for task in ("Classifier", "Regressor")
}
"""Class name -> {parameter that files of any version may lack: what models had before it existed}.

Other parameters that a file lacks get their defaults."""


def add_parameters(cls: type, state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of an object with the parameters that were added after its file was written.

    Parameters
    ----------
    cls : type
        The class of the object.
    state : dict
        Its state as the file has it.

    Returns
    -------
    dict
        The state, its parameters complete as far as `ADDED_PARAMETERS` tells.

    Examples
    --------
    >>> from spinney import GradientBoostingClassifier
    >>> add_parameters(GradientBoostingClassifier, {"params": {}, "fitted": {}})
    {'params': {'preset': 'classic'}, 'fitted': {}}
    """
    added = {
        name: value for base in cls.__mro__ for name, value in ADDED_PARAMETERS.get(base.__name__, {}).items()
    }
    if added:  # a subclass may fix parameters of its base class
        known = set(cls._get_param_names())  # type: ignore[attr-defined]
        added = {name: value for name, value in added.items() if name in known}
    if not added or type(state.get("params")) is not dict:
        return state
    return {part: added | values if part == "params" else values for part, values in state.items()}


def migrate_state(cls: type, state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of an object of a version 1 file with today's names.

    Parameters
    ----------
    cls : type
        The class of the object.
    state : dict
        Its state as the file has it.

    Returns
    -------
    dict
        The state with new names. A change is left out if the class does not know what it results in.

    Examples
    --------
    >>> from spinney import EnsembleSelectionClassifier
    >>> migrate_state(EnsembleSelectionClassifier, {"params": {"verbose": True}, "fitted": {}})
    {'params': {'verbose': 1}, 'fitted': {}}
    """
    names = [base.__name__ for base in cls.__mro__ if base.__module__.partition(".")[0] == "spinney"]
    fields = {old: new for name in names for old, new in RENAMED_STATE.get(name, {}).items()}
    if not hasattr(cls, "_get_param_names") or not all(type(part) is dict for part in state.values()):
        return _renamed(state, fields)
    changes = {old: change for name in names for old, change in RENAMED_PARAMETERS.get(name, {}).items()}
    return {
        part: _changed(values, changes, set(cls._get_param_names()))
        if part == "params"
        else _renamed(values, fields)
        for part, values in state.items()
    }


def _renamed(values: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in values.items()}


def _changed(params: dict[str, Any], changes: Mapping[str, Change], known: set[str]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in params.items():
        change = changes.get(name, name)
        new = {change: value} if isinstance(change, str) else change(value)
        result |= new if known.issuperset(new) else {name: value}
    return result
