"""Ledgers of declared populations, for tests that are about what is charged to them; and those of earlier versions."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path

from privity.common.privacy.ledger import MEMORY, Charge, Entry, Kind, Ledger
from privity.common.privacy.loss_conversion import converted
from privity.common.privacy.population import Population
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP
from privity.common.storage.canonical_json import canonical_bytes

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


def earlier_ledger(
    path: Path,
    charges: Sequence[Charge],
    version: str = "2",
    name: str = PEOPLE,
    answers: Sequence[str | None] = (),
    delta: Fraction = Fraction(0),
) -> tuple[int, str]:
    """A ledger's file as version "1" or "2" wrote it, with its schema and its chain; gives its end.

    Version 1 had no rho. Version 2 wrote beside a rho what the charge added to the rho so far, converted at the run's
    delta, and the delta with the first of them.

    Args:
        charges: all as priced for a person.
        answers: of the first charges: the digest with which each was settled.
        delta: at which runs in rho converted it.
    """
    rho_column = {"1": "", "2": " rho TEXT,"}[version]
    link, rhos = "", dict.fromkeys([charge.run for charge in charges], Fraction(0))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        db.executemany("INSERT INTO about VALUES (?, ?)", [("format_version", version), ("population", name)])
        db.execute(
            "CREATE TABLE charges (position INTEGER PRIMARY KEY, run TEXT NOT NULL, step TEXT NOT NULL,"
            " epsilon TEXT NOT NULL, delta TEXT NOT NULL, at TEXT NOT NULL, chain TEXT NOT NULL,"
            f" answer TEXT,{rho_column} UNIQUE (run, step))"
        )
        for charge in charges:
            loss, rho = charge.loss, []
            if isinstance(loss, ZCDP):
                before = rhos[charge.run]
                rhos[charge.run] = after = before + loss.rho
                epsilon = converted(after, delta) - converted(before, delta)
                at, rho = Fraction(0) if before else delta, [str(loss.rho)]
            else:
                epsilon, at = loss.epsilon, loss.delta if isinstance(loss, ApproxDP) else Fraction(0)
            line = (charge.run, charge.step, str(epsilon), str(at), "2025-01-31T12:00:00+00:00")
            link = hashlib.sha256(canonical_bytes([link, *line, *rho])).hexdigest()
            db.execute(
                f"INSERT INTO charges (run, step, epsilon, delta, at, chain{', rho' * len(rho)})"
                f" VALUES (?, ?, ?, ?, ?, ?{', ?' * len(rho)})",
                (*line, link, *rho),
            )
        db.executemany("UPDATE charges SET answer = ? WHERE position = ?", zip(answers, range(1, 1000), strict=False))
    return len(charges), link
