"""How to get a model again: versions, seed, hashes, parameters and command."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from spinney.core.errors import show_value
from spinney.io import UnsavableValue, dumps, inspect_file
from spinney.io.state import Persistent
from spinney.native import level
from spinney.reporting.rows import EvaluationRows

_PACKAGES = ("spinney", "numpy", "scipy", "scikit-learn", "narwhals")


@dataclass(frozen=True)
class Provenance:
    """What is needed to repeat a result; `model_hash` is None for a model that cannot be saved."""

    class_name: str
    created: str
    versions: tuple[tuple[str, str], ...]
    seed: str
    model_hash: str | None
    model_bytes: int | None
    n_trees: int | None
    n_nodes: int | None
    data_hash: str
    parameters: tuple[tuple[str, str, bool], ...]
    """Name, value, and whether it is the default."""
    chosen: tuple[tuple[str, str], ...]
    command: str
    metadata: tuple[tuple[str, str], ...]


def describe_provenance(
    model: Any, rows: EvaluationRows, command: str | None, metadata: Mapping[str, Any] | None
) -> Provenance:
    """Compute the reproducibility block."""
    params = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    defaults = _defaults(type(model))
    parameters = tuple(
        (name, show_value(value), name in defaults and _same(value, defaults[name]))
        for name, value in sorted(params.items())
    )
    summary = None
    if isinstance(model, Persistent):
        try:
            summary = inspect_file(dumps(model))
        except UnsavableValue:  # a function among the parameters
            summary = None
    chosen = getattr(model, "chosen_", None)
    facts = dict(metadata or {})
    given = command or str(facts.pop("command", "")) or _python_command(model)
    return Provenance(
        type(model).__name__,
        now(),
        tuple(list_versions()),
        show_value(params["random_state"]) if "random_state" in params else "",
        None if summary is None else summary.content_hash,
        None if summary is None else summary.n_bytes,
        None if summary is None else summary.n_trees,
        None if summary is None else summary.n_nodes,
        hash_rows(rows),
        parameters,
        tuple((str(k), show_value(v)) for k, v in chosen.items()) if isinstance(chosen, Mapping) else (),
        given,
        tuple((str(k), _fact_text(v)) for k, v in facts.items()),
    )


def _fact_text(value: Any) -> str:
    """Return metadata as text.

    >>> _fact_text("churn.csv"), _fact_text({"a": "numeric", "b": "date"}), _fact_text(3)
    ('churn.csv', 'a: numeric, b: date', '3')
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {one}" for name, one in value.items())
    return value if isinstance(value, str) else show_value(value)


def now() -> str:
    """Return date and time, as a report states them."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def list_versions() -> list[tuple[str, str]]:
    """Return what a result may depend on: versions of packages, the system and the vector level."""
    found = [("Python", platform.python_version())]
    for name in _PACKAGES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:  # the source tree, not installed
            continue
    system = f"{platform.system()} {platform.machine()}"
    return [*found, ("system", system), ("vector level", str(level))]


def _defaults(cls: type) -> dict[str, Any]:
    """Return the default of every parameter that has one."""
    import inspect

    signature = inspect.signature(cls)
    return {name: one.default for name, one in signature.parameters.items() if one.default is not one.empty}


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and isinstance(a, int | float | str | bool | tuple) and a == b)


def _python_command(model: Any) -> str:
    shown = repr(model).split("\n#")[0]
    return f"{shown}.fit(X, y)"


def hash_rows(rows: EvaluationRows) -> str:
    """Return a hash of the values of the rows and their target."""
    digest = blake2b(digest_size=16)
    for j, feature in enumerate(rows.table.schema.features):
        digest.update(repr((feature.name, feature.kind, feature.categories)).encode())
        digest.update(np.ascontiguousarray(rows.table.column(j)).tobytes())
    if rows.y is not None:
        digest.update(repr(rows.y.tolist()).encode())
    return digest.hexdigest()
