"""Members made from a pattern: an unfitted copy whose every ``random_state`` has a number of its own."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from spinney.core.seeds import stream

# What scikit-learn's estimators take as a seed goes no further than this.
_SEEDS = 2**31 - 1


def make_member(estimator: Any, seed: int | None = None, **params: Any) -> Any:
    """Copy an estimator unfitted, set ``params``, and given a seed draw every ``random_state`` from it.

    Also the states of nested estimators (``pca__random_state``), but none that ``params`` names: what is
    asked for by name is kept.

    >>> from spinney import DecisionTreeClassifier
    >>> member = make_member(DecisionTreeClassifier(), seed=1, max_depth=3)
    >>> member.max_depth, isinstance(member.random_state, int)
    (3, True)
    """
    member = clone(estimator)
    if params:
        member.set_params(**params)
    if seed is not None:
        found = [name for name in sorted(member.get_params(deep=True)) if _is_random_state(name)]
        draws = stream(seed, 0).integers(_SEEDS, size=len(found)).tolist()
        member.set_params(
            **{name: draw for name, draw in zip(found, draws, strict=True) if name not in params}
        )
    return member


def _is_random_state(name: str) -> bool:
    return name.rpartition("__")[2] == "random_state"
