"""Ledgers of declared populations, for tests that are about what is charged to them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from privity.common.privacy.ledger import MEMORY, Charge, Entry, Kind, Ledger
from privity.common.privacy.population import Population

PEOPLE = "people"


def declared(
    path: Path | str = MEMORY,
    name: str = PEOPLE,
    total: Fraction | int | str = 1000,
    delta: Fraction | int | str = 1,
    rows: int = 1,
    node: str = "",
) -> Ledger:
    """The ledger of a population with these terms; declared, unless the file has it so already."""
    return Ledger.declare(path, Population(name, Fraction(total), Fraction(delta), rows), node)


def charged(ledger: Ledger) -> list[Entry]:
    """Its charges, oldest first: no line of another kind."""
    return [entry for entry in ledger.entries() if entry.kind is Kind.CHARGE]


def charges(ledger: Ledger) -> list[Charge]:
    """The same, as they were stated."""
    return [entry.charge for entry in charged(ledger)]
