"""The ledger of a data owner: what has been spent on a population, ever.

Keyed by the declared ``population`` (the people), not by a file: a new extract of the same people
continues it. A charge is on disk before any noise is drawn; a crash leaves it charged. One step is
charged once: repeating the charge under its key costs nothing, and no other amount is accepted there.

A charge is settled with the digest of its one answer before that answer leaves. A repetition of a charge
is free; a second answer to it is refused, whatever became of the file that held the first.
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

    run: str
    step: str
    epsilon: Fraction


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
            " position INTEGER PRIMARY KEY, population TEXT NOT NULL, run TEXT NOT NULL,"
            " step TEXT NOT NULL, epsilon TEXT NOT NULL, answer TEXT,"
            " UNIQUE (population, run, step))"
        )

    def charge(self, charge: Charge, allowance: Allowance, party: str) -> None:
        """Write the charge, or refuse it and write nothing.

        Raises:
            PrivityError: budget-exhausted, or step-changed if this step was charged another amount.
            ValueError: the amount is not positive; a refund is impossible.
        """
        if charge.epsilon <= 0:
            raise ValueError("a charge is a positive amount")
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
            if (earlier.run, earlier.step) == (charge.run, charge.step):
                if earlier.epsilon != charge.epsilon:
                    raise PrivityError(Catalogue.STEP_CHANGED, step=charge.step)
                return
        spent = sum((c.epsilon for c in before), Fraction(0))
        spent_in_run = sum((c.epsilon for c in before if c.run == charge.run), Fraction(0))
        self._check_limit(charge.epsilon, spent, allowance.total, allowance, party)
        self._check_limit(charge.epsilon, spent_in_run, allowance.per_run, allowance, party)
        self._db.execute(
            "INSERT INTO charges (population, run, step, epsilon) VALUES (?, ?, ?, ?)",
            (allowance.population, charge.run, charge.step, str(charge.epsilon)),
        )

    def settle(self, charge: Charge, population: str, answer: str) -> None:
        """Note the digest of the answer that this charge paid for; the first one stays the only one.

        Raises:
            PrivityError: step-answered if another answer was given, or step-refused if nothing was charged.
        """
        key = (population, charge.run, charge.step)
        with self._lock:
            self._db.execute(
                "UPDATE charges SET answer = ? WHERE population = ? AND run = ? AND step = ? AND answer IS NULL",
                (answer, *key),
            )
            row = self._db.execute(
                "SELECT answer FROM charges WHERE population = ? AND run = ? AND step = ?", key
            ).fetchone()
        if row is None:
            raise PrivityError(Catalogue.STEP_REFUSED, step=charge.step, reason="the ledger holds no charge for it")
        if row[0] != answer:
            raise PrivityError(Catalogue.STEP_ANSWERED, step=charge.step, run=charge.run)

    def check(self, epsilon: Fraction, allowance: Allowance, party: str) -> None:
        """Raises PrivityError (budget-exhausted) if the population's total has not this much left."""
        self._check_limit(epsilon, self.spent(allowance.population), allowance.total, allowance, party)

    @staticmethod
    def _check_limit(asked: Fraction, used: Fraction, limit: Fraction, allowance: Allowance, party: str) -> None:
        if used + asked > limit:
            raise PrivityError(
                Catalogue.BUDGET_EXHAUSTED,
                party=party,
                asked=asked,
                left=max(limit - used, Fraction(0)),
                total=limit,
                population=allowance.population,
            )

    def _charges(self, population: str) -> list[Charge]:
        rows = self._db.execute(
            "SELECT run, step, epsilon FROM charges WHERE population = ? ORDER BY position", (population,)
        )
        return [Charge(run, step, Fraction(epsilon)) for run, step, epsilon in rows]

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
