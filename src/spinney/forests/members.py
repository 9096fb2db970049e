"""The members of a forest as a list whose changes are changes of the forest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any
from weakref import WeakMethod

import numpy as np
from numpy.typing import NDArray

from spinney.core.errors import InputError
from spinney.data.target import same_classes
from spinney.trees.base import BaseTree

Replace = Callable[[list[BaseTree]], None]
_CHANGES = (
    "__delitem__", "__iadd__", "__imul__", "__setitem__", "append", "clear", "extend", "insert", "pop",
    "remove", "reverse", "sort",
)  # fmt: skip


class MemberList(list[BaseTree]):
    """A list of members that tells the forest of every change before it is made.

    It is a plain list after `copy` and `pickle`.

    Parameters
    ----------
    members : iterable of BaseTree
        The members.
    replace : method
        Called with the members after the change; an error in it leaves the list as it was. It is not called
        any more when the forest is gone.

    Examples
    --------
    >>> from spinney import RandomForestRegressor
    >>> forest = RandomForestRegressor(5, random_state=0).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> del forest.estimators_[3:]
    >>> len(forest.estimators_), len(forest)
    (3, 3)
    """

    def __init__(self, members: Iterable[BaseTree], replace: Replace) -> None:
        super().__init__(members)
        self._replace = WeakMethod(replace)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return list, (list(self),)

    def add_grown(self, members: Iterable[BaseTree]) -> None:
        """Append members that the forest has already."""
        super().extend(members)


def _telling(name: str) -> Callable[..., Any]:
    change = getattr(list, name)

    @wraps(change)
    def told(self: MemberList, *args: Any, **named: Any) -> Any:
        replace = self._replace()
        if replace is not None:
            members = list(self)
            change(members, *args, **named)
            replace(members)
        return change(self, *args, **named)

    return told


for _name in _CHANGES:
    setattr(MemberList, _name, _telling(_name))


def check_members(members: list[Any], model: Any) -> None:
    """Raise InputError unless the members are fitted trees of the columns and classes of a forest."""
    if not members:
        raise InputError("estimators_ is empty, and a forest has at least one tree.")
    schema, classes = model.schema_, vars(model).get("classes_")
    kinds = [(feature.kind, feature.categories) for feature in schema.features]
    for t, member in enumerate(members):
        fitted = isinstance(member, BaseTree) and hasattr(member, "tree_")
        if not fitted or [(one.kind, one.categories) for one in member.schema_.features] != kinds:
            raise InputError(
                f"estimators_[{t}] is not one of Spinney's trees, fitted to the columns of the forest",
                fix="Use trees of forests that were fitted to the same columns.",
            )
        same = same_classes(vars(member).get("classes_"), classes)
        if not same or member.tree_.value.shape[1:] != model.ensemble_.value.shape[1:]:
            raise InputError(
                f"estimators_[{t}] was fitted to another target: other classes or number of outputs",
                fix="Use trees of forests that were fitted to the same classes and outputs.",
            )


def member_numbers(
    members: list[BaseTree], before: list[BaseTree], known: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the numbers of members, as `MemberSamples` has them; those of others are new and negative.

    ``known`` are the numbers of the members ``before``.
    """
    number_of = {id(member): int(number) for member, number in zip(before, known, strict=True)}
    fresh = int(np.maximum(known, ~known).max()) + 1
    return np.array([number_of.get(id(member), ~(fresh + t)) for t, member in enumerate(members)], np.int64)
