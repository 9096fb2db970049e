"""Spinney: decision trees and tree ensembles with scikit-learn's interface.

Public names are listed in `__init__.pyi` and imported on first use (SPEC 1 of Scientific Python), so that
`import spinney` is fast and `spinney.load` imports only what the model needs.
"""

import ast
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from spinney.io.registry import import_classes_with


def _read_stub() -> dict[str, str]:
    """Return the module of each public name."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [statement for statement in stub.body if isinstance(statement, ast.ImportFrom)]
    return {alias.name: str(statement.module) for statement in imports for alias in statement.names}


_MODULES = _read_stub()
_PACKAGES = {f"{module}.{name}".split(".")[1] for name, module in _MODULES.items()}

try:
    __version__ = version("spinney")
except PackageNotFoundError:  # the source tree, not installed
    __version__ = "unknown"

__all__ = ["__version__", *sorted(_MODULES)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if name in _PACKAGES:
        return import_module(f"spinney.{name}")
    if module is None:
        raise AttributeError(f"module 'spinney' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _import_class(name: str) -> list[Any]:
    """Import a public class, or all of Spinney for another class of a model file."""
    everything = [known for known, module in _MODULES.items() if module != "spinney"]
    return [__getattr__(known) for known in ([name] if name in _MODULES else everything)]


import_classes_with(_import_class)
