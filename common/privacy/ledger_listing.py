"""A ledger as people see it, in a terminal or a browser: its columns, and the words in each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from privity.common.privacy.budget import readable
from privity.common.privacy.ledger import Entry


@dataclass(frozen=True)
class Column:
    """A heading, and what stands below it for a line; ``in_full`` is the heading where there is more room."""

    heading: str
    text: Callable[[Any], str]
    number: bool = False
    in_full: str = ""

    @property
    def title(self) -> str:
        """The heading as a browser shows it."""
        told = self.in_full or self.heading
        return told[0].upper() + told[1:]


RUNS = (
    Column("first charge (UTC)", lambda one: one.at),
    Column("run", lambda one: one.run),
    Column("epsilon", lambda one: readable(one.epsilon), number=True),
    Column("delta", lambda one: readable(one.delta), number=True),
    Column("charges", lambda one: str(one.charges), number=True),
    Column("not answered", lambda one: str(one.unanswered), number=True),
)
"""Of what each run was charged (``RunCharges``)."""

LINES = (
    Column("when (UTC)", lambda one: one.at),
    Column("run", lambda one: one.charge.run),
    Column("step", lambda one: one.in_words, in_full="step, or what happened"),
    Column("epsilon", lambda one: readable(one.added[0]), number=True),
    Column("delta", lambda one: readable(one.added[1]), number=True),
    Column("answered", lambda one: {None: "", True: "yes", False: "no"}[one.answered]),
)
"""Of every line (``Entry``)."""

RHO = Column("rho", lambda one: "" if one.rho is None else f"{float(one.rho):.4g}", number=True)


def columns_of(lines: Sequence[Entry]) -> tuple[Column, ...]:
    """The columns of these lines: with rho where a step is charged in it."""
    return (*LINES[:-1], RHO, LINES[-1]) if any(one.rho is not None for one in lines) else LINES
