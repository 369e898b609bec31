"""Masks or Paillier for a run: what hides a party's vector first, seconds and bytes second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from privity.assessment.planning.cost_forecast import PhasePlan, Planner
from privity.common.protocol.secure_sum_method import MASKS, PAILLIER, USUAL_KEY_BITS, Method, SumKind
from privity.common.protocol.session import Session
from privity.common.text import text_table
from privity.common.text.terminal import say

LONGEST_WAIT = 720.0
"""Seconds of sums up to which a second layer is worth its wait: those of ten million cells of three parties."""


@dataclass(frozen=True)
class Way:
    """What all sums of a run take in one way.

    Attributes:
        seconds: on machines of two cores like this one; bytes: that one party sends; relayed: that pass the curator.
    """

    method: Method
    key_bits: int | None
    seconds: float
    bytes: int
    relayed: int

    @classmethod
    def of(cls, phases: Sequence[PhasePlan], kind: SumKind, key_bits: int | None) -> Way:
        seconds = sum(phase.seconds for phase in phases if phase.cells)
        return cls(kind.method, key_bits, seconds, sum(p.bytes for p in phases), sum(p.relayed for p in phases))

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "method": self.method.value, "seconds": round(self.seconds, 2)}


@dataclass(frozen=True)
class SumChoice:
    """Both ways for one run, and the one to take."""

    paillier: Way
    masks: Way

    @property
    def recommended(self) -> Method:
        """Paillier as long as it can be waited for: with masks alone a second layer is given up."""
        return Method.PAILLIER if self.paillier.seconds <= LONGEST_WAIT else Method.MASKS

    @property
    def sentence(self) -> str:
        """What to take, and why."""
        paillier, masks = lasting(self.paillier.seconds), lasting(self.masks.seconds)
        if self.recommended is Method.PAILLIER:
            return (
                "Take paillier: should a party's masks become known, its vector still lies under a key that no combiner"
                f" has; its sums take {paillier}, those of masks {masks}."
            )
        return (
            "Take masks if every party accepts that its combiner reads its vector should its masks become known, which"
            f" paillier prevents; their sums take {masks}, those of paillier {paillier}."
        )

    def to_dict(self) -> dict[str, Any]:
        ways = {way.method.value: way.to_dict() for way in (self.paillier, self.masks)}
        return {**ways, "recommended": self.recommended.value, "why": self.sentence}

    def show(self) -> None:
        columns = ("seconds", "sent", "relayed")
        shown = text_table.table("secure sum", *columns, numbers=columns, box=None)
        for way in (self.paillier, self.masks):
            name = way.method.value if way.key_bits is None else f"{way.method.value}, {way.key_bits} bits"
            moved = (f"{count / 1000:,.0f} kB" for count in (way.bytes, way.relayed))
            text_table.add(shown, name, f"{way.seconds:,.1f}", *moved)
        say()
        text_table.show(shown)
        say(self.sentence)


def compared(
    session: Session, tolerate: int, phases: list[PhasePlan], kind: SumKind, key_bits: int | None
) -> SumChoice | None:
    """Both ways for a run that was rehearsed; None if it takes no sums over parties.

    Args:
        phases: of the way that was asked for, which is ``kind`` with ``key_bits``.
    """
    if len(session.party_rows) == 1 or not any(phase.cells for phase in phases):
        return None
    asked = Way.of(phases, kind, key_bits)
    other, bits = (PAILLIER, USUAL_KEY_BITS) if kind.method is Method.MASKS else (MASKS, None)
    besides = Way.of(Planner(session, tolerate, other, bits).phases(), other, bits)
    return SumChoice(besides, asked) if kind.method is Method.MASKS else SumChoice(asked, besides)


def lasting(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 1:
        return "less than a second"
    return f"about {seconds:,.0f} s" if seconds < 120 else f"about {seconds / 60:,.0f} minutes"
