"""The ledger of a data owner: what has been spent on a population, ever.

A ledger file belongs to one declared ``population`` (the people), not to a file of rows: a new extract of
the same people continues it, and a ledger of other people is refused. A charge is on disk before any noise
is drawn; a crash leaves it charged. One step is charged once: repeating the charge under its key costs
nothing, and no other amount is accepted there.

A charge is settled with the digest of its one answer before that answer leaves. A repetition of a charge
is free; a second answer to it is refused, whatever became of the file that held the first.

A run may have one account in rho (``common.privacy.concentrated``). Its charges state a rho and the run's
delta; what is written beside each, as (epsilon, delta), is what it adds to the whole: after any of them the
run has paid the epsilon of the sum of its rho, and its delta once.

Charges are chained by SHA-256, so that a line changed or taken out in the middle is found at the next
opening. Nothing here depends on the clock: times are written down for people to read, never compared.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from common.canonical import canonical_bytes
from common.errors import Catalogue, PrivityError
from common.journal import MEMORY, connect, room_wanted
from common.privacy.concentrated import converted
from common.privacy.person import cost_of_a_person, rho_of_a_person

FORMAT_VERSION = "2"
WITHOUT_RHO = "1"
"""The version before, whose lines had no rho: such a ledger is continued."""

_ZERO = Fraction(0)


@dataclass(frozen=True)
class Charge:
    """One line of the ledger: which step of which run cost how much.

    Attributes:
        epsilon, delta: what it costs on its own. To be charged in rho: no epsilon, and the delta of the run. Of a
            line that was charged in rho: what it added to what the run had paid before.
        rho: in the run's account; None for a charge on its own.
    """

    run: str
    step: str
    epsilon: Fraction
    delta: Fraction = _ZERO
    rho: Fraction | None = None


@dataclass(frozen=True)
class Entry:
    """A charge as it stands in the ledger; ``at`` is the clock's word and decides nothing."""

    charge: Charge
    at: str
    answered: bool


@dataclass(frozen=True)
class Allowance:
    """What an owner allows to be spent on these people; a limit of None is none.

    Attributes:
        total, total_delta: by all runs together, ever.
        per_run, per_run_delta: by one run.
        rows_per_person: most rows that one of them has; limits and charges are for a person with so many.
    """

    total: Fraction | None
    per_run: Fraction | None
    total_delta: Fraction | None = _ZERO
    per_run_delta: Fraction = _ZERO
    rows_per_person: int = 1

    def for_a_person(self, charge: Charge) -> Charge:
        """What a charge for one replaced row costs a person, all of whose rows may be replaced."""
        if charge.rho is not None:
            return replace(charge, rho=rho_of_a_person(charge.rho, self.rows_per_person))
        epsilon, delta = cost_of_a_person(charge.epsilon, charge.delta, self.rows_per_person)
        return replace(charge, epsilon=epsilon, delta=delta)


@dataclass(frozen=True)
class _Sum:
    """Of charges.

    Attributes:
        epsilon, delta: of all of them.
        rho: of those in a run's account; its_epsilon, its_delta: what these were charged.
    """

    epsilon: Fraction = _ZERO
    delta: Fraction = _ZERO
    rho: Fraction = _ZERO
    its_epsilon: Fraction = _ZERO
    its_delta: Fraction = _ZERO

    @classmethod
    def of(cls, line: Charge) -> _Sum:
        if line.rho is None:
            return cls(line.epsilon, line.delta)
        return cls(line.epsilon, line.delta, line.rho, line.epsilon, line.delta)

    def __add__(self, other: _Sum) -> _Sum:
        return _Sum(
            self.epsilon + other.epsilon,
            self.delta + other.delta,
            self.rho + other.rho,
            self.its_epsilon + other.its_epsilon,
            self.its_delta + other.its_delta,
        )


_NOTHING = _Sum()


class Ledger:
    """Charges under basic composition; several processes may share the file.

    Args:
        path: the file, made if absent; ``:memory:`` is for tests and throwaway simulations.
        population: the people whom it is about.
    Raises:
        PrivityError: ledger-unusable: damaged, of other people, of another version, or no ledger.
    """

    def __init__(self, path: Path | str, population: str) -> None:
        self.population = population
        self._path = path
        self._lock = threading.Lock()
        self._read, self._total = 0, _NOTHING
        # Of one run, the one that was charged last: a node lives longer than any number of them.
        self._of_run: tuple[str, _Sum] = ("", _NOTHING)
        with self._told():
            self._db = connect(path)
            self._open()

    def _open(self) -> None:
        if self._db.execute("PRAGMA quick_check").fetchone() != ("ok",):
            raise self._unusable("it is damaged")
        with self._transaction():
            tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not tables:
                self._db.execute("CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
                self._db.execute(
                    "CREATE TABLE charges (position INTEGER PRIMARY KEY, run TEXT NOT NULL, step TEXT NOT NULL,"
                    " epsilon TEXT NOT NULL, delta TEXT NOT NULL, at TEXT NOT NULL, chain TEXT NOT NULL,"
                    " answer TEXT, rho TEXT, UNIQUE (run, step))"
                )
                self._db.executemany(
                    "INSERT INTO about VALUES (?, ?)",
                    [("format_version", FORMAT_VERSION), ("population", self.population)],
                )
            elif not {"about", "charges"} <= tables:
                raise self._unusable("it is no ledger")
            about = dict(self._db.execute("SELECT key, value FROM about"))
            if about.get("format_version") == WITHOUT_RHO and about.get("population") == self.population:
                # An older program must not go on with a ledger whose lines it would add up wrongly.
                self._db.execute("ALTER TABLE charges ADD COLUMN rho TEXT")
                self._db.execute("UPDATE about SET value = ? WHERE key = 'format_version'", (FORMAT_VERSION,))
                about["format_version"] = FORMAT_VERSION
        if about.get("format_version") != FORMAT_VERSION:
            raise self._unusable("it is of another version")
        if about.get("population") != self.population:
            raise self._unusable(f"it belongs to population {about.get('population')!r}, not {self.population!r}")
        self._check_chain()

    def _check_chain(self) -> None:
        link = ""
        for run, step, epsilon, delta, at, rho, chain in self._db.execute(
            "SELECT run, step, epsilon, delta, at, rho, chain FROM charges ORDER BY position"
        ):
            link = _chain(link, run, step, epsilon, delta, at, *_rho_text(rho))
            if chain != link:
                raise self._unusable("a line was changed or taken out")

    def _unusable(self, reason: str) -> PrivityError:
        return PrivityError(Catalogue.LEDGER_UNUSABLE, file=self._path, reason=reason)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what SQLite meets (a full disk, a damaged page, a lock) into a refusal that says so."""
        try:
            with room_wanted(self._path):
                yield
        except sqlite3.Error as error:
            raise self._unusable(f"SQLite says: {error}") from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        # An immediate transaction locks the file, so concurrent runs cannot both pass the check.
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def charge(self, charge: Charge, allowance: Allowance, party: str) -> None:
        """Write the charge, or refuse it and write nothing.

        Raises:
            PrivityError: budget-exhausted, step-changed if this step was charged another amount, or
                ledger-unusable.
            ValueError: the amount is negative; a refund is impossible. (An amount of 0 is a line too: it
                marks an answer that holds no rows and must still be given once.)
        """
        if charge.epsilon < 0 or charge.delta < 0 or (charge.rho is not None and charge.rho < 0):
            raise ValueError("a charge is not negative")
        if charge.rho is not None and (charge.epsilon or not charge.delta):
            raise ValueError("a charge in rho states no epsilon, and the delta of its run")
        with self._lock, self._told(), self._transaction():
            row = self._db.execute(
                "SELECT run, step, epsilon, delta, rho FROM charges WHERE run = ? AND step = ?",
                (charge.run, charge.step),
            ).fetchone()
            earlier = None if row is None else _line(*row)
            self._read_on()
            in_run = self._by(charge.run)
            if charge.rho is not None and in_run.its_delta not in (_ZERO, charge.delta):
                raise PrivityError(Catalogue.STEP_CHANGED, step=charge.step)
            if earlier is None:
                line = charge if charge.rho is None else _telescoped(charge, in_run)
                self._check(line, allowance, party)
                self._append(line)
            elif (earlier if charge.rho is None else replace(earlier, epsilon=_ZERO, delta=charge.delta)) != charge:
                raise PrivityError(Catalogue.STEP_CHANGED, step=charge.step)

    def _append(self, charge: Charge) -> None:
        last = self._db.execute("SELECT chain FROM charges ORDER BY position DESC LIMIT 1").fetchone()
        at = datetime.now(UTC).isoformat(timespec="seconds")
        line = (charge.run, charge.step, str(charge.epsilon), str(charge.delta), at)
        rho = None if charge.rho is None else str(charge.rho)
        chain = _chain(last[0] if last else "", *line, *_rho_text(rho))
        self._db.execute(
            "INSERT INTO charges (run, step, epsilon, delta, at, rho, chain) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*line, rho, chain),
        )

    def _check(self, asked: Charge, allowance: Allowance, party: str) -> None:
        self._read_on()
        whole, in_run = self._total, self._by(asked.run)
        for word, amount, used, limit in (
            ("", asked.epsilon, whole.epsilon, allowance.total),
            ("", asked.epsilon, in_run.epsilon, allowance.per_run),
            ("delta ", asked.delta, whole.delta, allowance.total_delta),
            ("delta ", asked.delta, in_run.delta, allowance.per_run_delta),
        ):
            if limit is not None and used + amount > limit:
                raise PrivityError(
                    Catalogue.BUDGET_EXHAUSTED,
                    party=party,
                    asked=f"{word}{amount}",
                    left=max(limit - used, _ZERO),
                    total=limit,
                    population=self.population,
                )

    def check(self, epsilon: Fraction, delta: Fraction, allowance: Allowance, party: str) -> None:
        """Raises PrivityError (budget-exhausted) if the population's totals have not this much left."""
        whole = Allowance(allowance.total, None, allowance.total_delta, delta)
        with self._lock, self._told():
            self._check(Charge("", "", epsilon, delta), whole, party)

    def _read_on(self) -> None:
        """Add up the lines that were written since, by whichever process: lines are only ever added."""
        for position, *fields in self._db.execute(
            "SELECT position, run, step, epsilon, delta, rho FROM charges WHERE position > ? ORDER BY position",
            (self._read,),
        ):
            line = _line(*fields)
            charged = _Sum.of(line)
            self._total += charged
            if line.run == self._of_run[0]:
                self._of_run = (line.run, self._of_run[1] + charged)
            self._read = position

    def _by(self, run: str) -> _Sum:
        """What one run was charged, of the lines that were read."""
        if self._of_run[0] != run:
            lines = self._db.execute(
                "SELECT run, step, epsilon, delta, rho FROM charges WHERE run = ? AND position <= ?", (run, self._read)
            )
            self._of_run = (run, sum((_Sum.of(_line(*fields)) for fields in lines), _NOTHING))
        return self._of_run[1]

    def settle(self, charge: Charge, answer: str) -> None:
        """Note the digest of the answer that this charge paid for; the first one stays the only one.

        Raises:
            PrivityError: step-answered if another answer was given, step-refused if nothing was charged,
                or ledger-unusable.
        """
        key = (charge.run, charge.step)
        with self._lock, self._told():
            self._db.execute(
                "UPDATE charges SET answer = ? WHERE run = ? AND step = ? AND answer IS NULL", (answer, *key)
            )
            row = self._db.execute("SELECT answer FROM charges WHERE run = ? AND step = ?", key).fetchone()
        if row is None:
            raise PrivityError(Catalogue.STEP_REFUSED, step=charge.step, reason="the ledger holds no charge for it")
        if row[0] != answer:
            raise PrivityError(Catalogue.STEP_ANSWERED, step=charge.step, run=charge.run)

    def _entries(self) -> list[Entry]:
        return [
            Entry(_line(*fields), at, answer is not None)
            for *fields, at, answer in self._db.execute(
                "SELECT run, step, epsilon, delta, rho, at, answer FROM charges ORDER BY position"
            )
        ]

    def entries(self) -> list[Entry]:
        """Every charge, oldest first."""
        with self._lock, self._told():
            return self._entries()

    def end(self) -> tuple[int, str]:
        """How many lines there are, and the link of the last one; 0 and "" of an empty ledger."""
        with self._lock, self._told():
            last = self._db.execute("SELECT position, chain FROM charges ORDER BY position DESC LIMIT 1").fetchone()
        return (0, "") if last is None else (last[0], last[1])

    def check_extends(self, lines: int, link: str) -> None:
        """Demand a ledger that once had so many lines, the last of them with this link: all before are as they were.

        Raises:
            PrivityError: ledger-unusable.
        """
        with self._lock, self._told():
            row = self._db.execute("SELECT chain FROM charges WHERE position = ?", (lines,)).fetchone()
        if row is None or row[0] != link:
            raise self._unusable(f"it was set back, or is another one: the journal knows {lines} lines of it")

    def spent(self, run: str | None = None) -> Fraction:
        """Epsilon that these people have been charged, in all or by one run."""
        with self._lock, self._told():
            self._read_on()
            return self._total.epsilon if run is None else self._by(run).epsilon

    def spent_delta(self, run: str | None = None) -> Fraction:
        """The same for delta."""
        with self._lock, self._told():
            self._read_on()
            return self._total.delta if run is None else self._by(run).delta

    def close(self) -> None:
        with self._lock:
            self._db.close()


def _line(run: str, step: str, epsilon: str, delta: str, rho: str | None) -> Charge:
    return Charge(run, step, Fraction(epsilon), Fraction(delta), None if rho is None else Fraction(rho))


def _telescoped(charge: Charge, in_run: _Sum) -> Charge:
    """A charge in rho with what it adds to what the run has paid in rho."""
    assert charge.rho is not None
    epsilon = converted(in_run.rho + charge.rho, charge.delta)
    return replace(charge, epsilon=max(_ZERO, epsilon - in_run.its_epsilon), delta=charge.delta - in_run.its_delta)


def _rho_text(rho: str | None) -> list[str]:
    """What a line's link covers besides: nothing where there is no rho, as it ever was."""
    return [] if rho is None else [rho]


def _chain(link: str, *line: str) -> str:
    return hashlib.sha256(canonical_bytes([link, *line])).hexdigest()


__all__ = ["MEMORY", "Allowance", "Charge", "Entry", "Ledger"]
