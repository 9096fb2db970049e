"""The members of a boosted model: their settings, the turns they take, and which of them are averaged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from spinney.gradient_boosting.defaults import (
    MAX_LOSS_TO_TRY_AGAIN,
    MAX_MEMBER_LOSS,
    MAX_MEMBER_LOSS_SMALL_REGRESSION,
    SMALL_ROWS,
    Kind,
    Value,
    Variant,
    member_variants,
)


@dataclass(frozen=True)
class MemberPlan:
    """The settings of each member.

    Members take turns: those of one turn have the variants of the settings one after the other, the same
    seed and the same validation rows.

    Attributes
    ----------
    settings : mapping
        Parameters of the model, with the chosen ones instead of "auto".
    variants : tuple of Variant
        What the members of one turn have instead.
    max_loss : float
        Fraction by which the validation loss of a member may exceed the least one of its turn.

    Examples
    --------
    >>> settings = {"preset": "auto", "growth": "mixed", "early_stopping": True, "n_members": 4}
    >>> plan = MemberPlan.of(settings | {"max_depth": None}, {}, "regression", 1000)
    >>> [(plan.name(member), plan.turn(member)) for member in range(3)]
    [('leaf-wise', 0), ('symmetric', 0), ('leaf-wise', 1)]
    """

    settings: Mapping[str, Any]
    variants: tuple[Variant, ...]
    max_loss: float = MAX_MEMBER_LOSS

    @classmethod
    def of(cls, settings: Mapping[str, Any], chosen: Mapping[str, Value], kind: Kind, n_rows: int) -> Self:
        """Return the plan of a model; a parameter that the user has set is the same in all members."""
        free = {"growth", *chosen} | ({"max_depth"} if settings["max_depth"] is None else set())
        variants = member_variants(settings, kind, n_rows)
        different: list[Variant] = []
        for variant in (one.with_only(free) for one in variants):
            if variant.settings not in [one.settings for one in different]:
                different.append(variant)
        is_small_regression = kind == "regression" and n_rows < SMALL_ROWS
        max_loss = MAX_MEMBER_LOSS_SMALL_REGRESSION if is_small_regression else MAX_MEMBER_LOSS
        return cls(settings, tuple(different), max_loss)

    def _variant(self, member: int) -> Variant:
        return self.variants[member % len(self.variants)]

    def turn(self, member: int) -> int:
        """Return the turn of a member."""
        return member // len(self.variants)

    def settings_of(self, member: int) -> Mapping[str, Any]:
        """Return the parameters of a member."""
        return {**self.settings, **self._variant(member).settings}

    def name(self, member: int) -> str:
        """Return how a member grows trees, and what else it has of its own."""
        variant = self._variant(member).settings
        others = [f"{name}={value}" for name, value in variant.items() if name != "growth"]
        return ", ".join([str(variant.get("growth", self.settings["growth"])), *others])

    def is_kept(self, member: int, losses: Sequence[float]) -> bool:
        """Return whether a member is averaged: not if its loss is far from the least one of its turn.

        Parameters
        ----------
        member : int
            Index of the member.
        losses : sequence of float
            Validation losses of the members so far, NaN for those that were not fitted.

        Returns
        -------
        bool
            What is known so far: a later member of the turn may have a lower loss.

        Examples
        --------
        >>> plan = MemberPlan({}, (Variant({"growth": "leaf-wise"}), Variant({"growth": "symmetric"})))
        >>> [plan.is_kept(member, [1.0, 1.2, 3.0, 3.1]) for member in range(4)]
        [True, False, True, True]
        """
        return not self._exceeds(member, losses, self.max_loss)

    def is_tried(self, member: int, losses: Sequence[float]) -> bool:
        """Return whether a member is fitted: not if its settings were much worse in an earlier turn."""
        earlier = range(member - len(self.variants), -1, -len(self.variants))
        return not any(self._exceeds(one, losses, MAX_LOSS_TO_TRY_AGAIN) for one in earlier)

    def _exceeds(self, member: int, losses: Sequence[float], fraction: float) -> bool:
        begin = self.turn(member) * len(self.variants)
        turn = [
            loss * variant.handicap
            for loss, variant in zip(losses[begin : begin + len(self.variants)], self.variants, strict=False)
        ]
        least = min((loss for loss in turn if not math.isnan(loss)), default=0.0)
        return turn[member - begin] > least + fraction * abs(least)
