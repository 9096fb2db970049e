"""The types of the compiled core, whichever level is in use."""

from spinney.native import _core as core

LEVELS: tuple[str, ...]
level: str

__all__ = ["LEVELS", "core", "level"]
