"""The ledger of a data owner: what has been spent on a population, ever.

Keyed by the declared ``population`` (the people), not by a file: a new extract of the same people
continues it. A charge is on disk before any noise is drawn; a crash leaves it charged. One step is
charged once: repeating the charge under its key costs nothing, and no other amount is accepted there.

A repetition is free only while the journal that holds the answer exists: the key contains the
journal's own identity, so an owner who lost the answers and draws fresh noise pays again.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from common.errors import Catalogue, PrivityError
from common.journal import MEMORY, connect


@dataclass(frozen=True)
class Charge:
    """One line of the ledger: which step of which run cost how much."""

    journal: str
    run: str
    step: str
    epsilon: Fraction

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.journal, self.run, self.step)


@dataclass(frozen=True)
class Allowance:
    """What an owner allows: on which people, in all and for one run."""

    population: str
    total: Fraction
    per_run: Fraction


class Ledger:
    """Charges in pure epsilon under basic composition; several processes may share the file."""

    def __init__(self, path: Path | str = MEMORY) -> None:
        self._lock = threading.Lock()
        self._db = connect(path)
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS charges ("
            " position INTEGER PRIMARY KEY, population TEXT NOT NULL, journal TEXT NOT NULL,"
            " run TEXT NOT NULL, step TEXT NOT NULL, epsilon TEXT NOT NULL,"
            " UNIQUE (population, journal, run, step))"
        )

    def charge(self, charge: Charge, allowance: Allowance, party: str) -> None:
        """Write the charge, or refuse it and write nothing.

        Raises:
            PrivityError: budget-exhausted, or step-changed if this step was charged another amount.
        """
        with self._lock:
            # An immediate transaction locks the file, so concurrent runs cannot both pass the check.
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._charge(charge, allowance, party)
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _charge(self, charge: Charge, allowance: Allowance, party: str) -> None:
        before = self._charges(allowance.population)
        for earlier in before:
            if earlier.key == charge.key:
                if earlier.epsilon != charge.epsilon:
                    raise PrivityError(Catalogue.STEP_CHANGED, step=charge.step)
                return
        spent = sum((c.epsilon for c in before), Fraction(0))
        spent_in_run = sum((c.epsilon for c in before if c.run == charge.run), Fraction(0))
        for limit, used in ((allowance.total, spent), (allowance.per_run, spent_in_run)):
            if used + charge.epsilon > limit:
                raise PrivityError(
                    Catalogue.BUDGET_EXHAUSTED,
                    party=party,
                    asked=charge.epsilon,
                    left=max(limit - used, Fraction(0)),
                    total=limit,
                    population=allowance.population,
                )
        self._db.execute(
            "INSERT INTO charges (population, journal, run, step, epsilon) VALUES (?, ?, ?, ?, ?)",
            (allowance.population, *charge.key, str(charge.epsilon)),
        )

    def _charges(self, population: str) -> list[Charge]:
        rows = self._db.execute(
            "SELECT journal, run, step, epsilon FROM charges WHERE population = ? ORDER BY position", (population,)
        )
        return [Charge(journal, run, step, Fraction(epsilon)) for journal, run, step, epsilon in rows]

    def charges(self, population: str) -> list[Charge]:
        """Every charge of the population, oldest first."""
        with self._lock:
            return self._charges(population)

    def spent(self, population: str, run: str | None = None) -> Fraction:
        """What the population has been charged, in all or by one run."""
        charges = self.charges(population)
        return sum((c.epsilon for c in charges if run in (None, c.run)), Fraction(0))

    def close(self) -> None:
        with self._lock:
            self._db.close()
