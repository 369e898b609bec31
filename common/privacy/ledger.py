"""The ledger of a population: what has been spent on these people, ever, and how much may be.

A population is declared before anything can be charged to it; its total is a line of the ledger and binds every release
of every node and program that uses the file. A charge is on disk before any noise is drawn; a crash leaves it charged.
One step is charged once: repeating the charge costs nothing, and no other price is accepted there. A charge is settled
with the digest of its one answer before that answer leaves; a second answer to it is refused, whatever became of the
file that held the first.

Lines state what a step costs for one replaced row. What all of them cost a person follows from the rows a person that
the population has now (``privity.common.privacy.privacy_loss``): raising that number prices every line anew. Steps of
a run in rho are charged along one order (``privity.common.privacy.privacy_filter``), so that a run may stop anywhere.
Sums are exact: a step is refused whose price would give its run a denominator beyond ``LONGEST_BITS``. Only where those
of many runs, or of a ledger from before that rule, come to more is a sum rounded up, by less than 1e-60 a line.

Lines are chained by SHA-256 (``privity.common.privacy.ledger_lines``), so that one changed or taken out in the middle
is found at the next opening. A ledger that was taken over or merged keeps its own chain, as a book of its own; a line
of the first book names its end. Nothing here depends on the clock: times are written down for people to read, never
compared.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.accountant import LONGEST_BITS, ZERO, Accountant, kept_short
from privity.common.privacy.budget import readable
from privity.common.privacy.ledger_file import FORMAT_VERSION, MERGED, LedgerFile
from privity.common.privacy.ledger_lines import (
    COLUMNS,
    OWN_BOOK,
    Book,
    Charge,
    Kind,
    Line,
    books,
    charged,
    earlier_lines,
)
from privity.common.privacy.population import Population
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP
from privity.common.privacy.run_budget import RhoBudget, RunBudget
from privity.common.storage.journal import MEMORY


@dataclass(frozen=True)
class Allowance:
    """What one run may cost a person.

    Attributes:
        epsilon, delta: all of its steps together; None is no limit but the population's total.
        budget: what the run's algorithm may spend; a step in rho is charged along the order of this one.
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    budget: RunBudget | None = None


@dataclass(frozen=True)
class Entry:
    """A line as it stands in the ledger; ``at`` is the clock's word and decides nothing.

    Attributes:
        added: (epsilon, delta) that it added to what a person has lost, by the rows a person of now.
        terms: of a line that is no charge.
    """

    kind: Kind
    node: str
    charge: Charge
    added: tuple[Fraction, Fraction]
    terms: dict[str, Any]
    at: str
    answered: bool

    @property
    def in_words(self) -> str:
        """What the line is about: the step that was charged, or what else happened."""
        terms = self.terms
        match self.kind:
            case Kind.CHARGE:
                return self.charge.step
            case Kind.POPULATION:
                people = Population.of_terms("people", terms)
                texts = f"epsilon {readable(people.total_epsilon)}, delta {readable(people.total_delta)}"
                return f"total: {texts}, {people.rows_per_person} rows a person"
            case Kind.ADJUSTMENT:
                return f"adjustment: {terms['reason']}"
            case Kind.MERGE:
                return f"{terms['lines']} lines of another ledger taken over"


class Ledger(LedgerFile):
    """The ledger of one population. Several threads, processes and nodes may share the file.

    Args:
        path: the file; ``:memory:``, which only ``declare`` makes, is for tests and throwaway simulations.
        population: whom it is about.
        node: who charges: two nodes may run steps of one name, and each of them is charged.

    Raises:
        PrivityError: ledger-unusable: there is none, it is damaged, of other people, of another version, merged into
            another, or may not be read and written.
    """

    def __init__(self, path: Path | str, population: str, node: str = "") -> None:
        self._start(path, population, node)
        with self._told():
            self._open()
            self._check()

    @classmethod
    def declare(cls, path: Path | str, population: Population, node: str = "") -> Ledger:
        """Make the ledger of a population that was not declared before, or open the one that says the same already.

        A ledger of an earlier version in its place is taken over: its lines stay, runs in rho are priced anew.

        Raises:
            PrivityError: as the constructor; bad-option if it was declared with other terms.
        """
        self = cls.__new__(cls)
        self._start(path, population.name, node)
        with self._told():
            self._connect()
            with self._transaction():
                self._declare(population)
            self._check()
        if self.population != population:
            was = self.population
            reason = (
                f"{population.name!r} is declared already, with epsilon {readable(was.total_epsilon)}, delta"
                f" {readable(was.total_delta)} and {was.rows_per_person} rows a person"
            )
            hint = "Use it as it is, or change it: privity population change --help."
            raise PrivityError(Catalogue.BAD_OPTION, option="population", reason=reason, hint=hint)
        return self

    def _forget(self) -> None:
        self._read = 0
        self._population: Population | None = None
        self._runs: dict[tuple[str, str], Accountant] = {}
        self._epsilon, self._delta = ZERO, ZERO

    def _declare(self, population: Population) -> None:
        tables = self._tables()
        earlier = "charges" in tables
        if tables and not earlier:
            return
        if earlier:
            self._check_earlier(self._db)
        self._make_tables(population.name)
        # No two ledgers begin alike, so that a line says by its link which one it is of.
        self._append(Kind.POPULATION, terms={**population.terms(), "ledger": secrets.token_hex(16)})
        if earlier:
            self._take_in([Book(0, "", earlier_lines(self._db, self.node))])
            self._db.execute("DROP TABLE charges")

    def _check(self) -> None:
        super()._check()
        self._read_on()
        if self._population is None:
            raise self._unusable("its first line, with the population's total, is missing")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction of a ledger that still counts, whatever another process has made of it since it was opened."""
        with self._held(), self._transaction():
            self._check_not_merged(self._about())
            self._read_on()
            yield

    @property
    def population(self) -> Population:
        """As it is declared now."""
        with self._held():
            return self._now()

    def _now(self) -> Population:
        self._read_on()
        assert self._population is not None
        return self._population

    def change(self, wanted: Population, expected: Population) -> None:
        """Declare another total or more rows a person, as a line of the ledger.

        A lower total binds at once, also below what was spent. More rows a person price every line anew.

        Args:
            expected: what the one who decided saw; refused if another process has changed it since.

        Raises:
            PrivityError: bad-option: it was changed meanwhile, or fewer rows a person; ledger-unusable.
        """
        with self._writing():
            now = self._now()
            if now != expected:
                reason = f"the total was changed meanwhile, to epsilon {readable(now.total_epsilon)}"
                hint = "Look at it again (privity population list), and decide again."
                raise PrivityError(Catalogue.BAD_OPTION, option="population", reason=reason, hint=hint)
            if wanted.rows_per_person < now.rows_per_person:
                reason = f"a person has up to {now.rows_per_person} rows in tables that were released"
                hint = f"Keep {now.rows_per_person} or more."
                raise PrivityError(Catalogue.BAD_OPTION, option="rows_per_person", reason=reason, hint=hint)
            if wanted != now:
                self._append(Kind.POPULATION, terms=wanted.terms())

    def charge(self, charge: Charge, allowance: Allowance, party: str) -> bool:
        """Write the charge, or refuse it and write nothing.

        Returns:
            whether it was charged before, and settled with an answer: then no other may be made.

        Raises:
            PrivityError: budget-exhausted, step-changed if this step was charged another price, step-refused if its
                run began under an earlier version or its charges cannot be added up exactly, or ledger-unusable.
            ValueError: a loss in rho, and the run has no budget in rho.

        A loss of 0 is a line too: it marks an answer that holds no rows and must still be given once.
        """
        budget = allowance.budget if isinstance(charge.loss, ZCDP) else None
        if isinstance(charge.loss, ZCDP) and not isinstance(budget, RhoBudget):
            raise ValueError("a step in rho is charged to a run with a budget in rho")
        assert budget is None or isinstance(budget, RhoBudget)
        terms: dict[str, Any] = {} if budget is None else {"epsilon": str(budget.epsilon)}
        if charge.for_a_person:
            terms["for_a_person"] = True
        with self._writing():
            key = (self.node, charge.run)
            found = self._lines("WHERE kind = 'charge' AND node = ? AND run = ? AND step = ?", *key, charge.step)
            if found:
                was = found[0]
                if was.charge != charge or (was.terms is not None and (was.document, was.budget) != (terms, budget)):
                    raise PrivityError(Catalogue.STEP_CHANGED, step=charge.step)
                return was.answer is not None
            before = self._of(key)
            if budget is not None and None in before.rho:
                reason = "its run began under an earlier version of Privity, which priced it otherwise"
                raise PrivityError(Catalogue.STEP_REFUSED, step=charge.step, reason=reason)
            if budget is not None and before.rho and budget not in before.rho:
                raise PrivityError(Catalogue.STEP_CHANGED, step=charge.step)
            line = self._written(Kind.CHARGE, self.node, charge, terms, budget)
            after = charged(before, line)
            if not after.exact:
                reason = f"the charges of its run would have a common denominator of more than {LONGEST_BITS} bits"
                raise PrivityError(Catalogue.STEP_REFUSED, step=charge.step, reason=reason)
            self._check_affordable(before, after, allowance, party)
            self._insert(line)
            return False

    def _of(self, key: tuple[str, str]) -> Accountant:
        """What was read of one run of one node."""
        assert self._population is not None
        return self._runs.get(key) or Accountant(self._population.rows_per_person)

    def _check_affordable(self, before: Accountant, after: Accountant, allowance: Allowance, party: str) -> None:
        population = self._now()
        was, now = before.spent, after.spent
        for word, old, new, whole, of_run, total in (
            ("", was.epsilon, now.epsilon, self._epsilon, allowance.epsilon, population.total_epsilon),
            ("delta ", was.delta, now.delta, self._delta, allowance.delta, population.total_delta),
        ):
            if new <= old:
                # A line that costs nothing may be written even where less than nothing is left.
                continue
            if of_run is not None and new > of_run:
                raise self._exhausted(party, word, new - old, of_run - old, of_run)
            if whole - old + new > total:
                raise self._exhausted(party, word, new - old, total - whole, total)

    def _exhausted(self, party: str, word: str, asked: Fraction, left: Fraction, limit: Fraction) -> PrivityError:
        over = (
            ""
            if left >= 0
            else f" ({readable(-left)} more than that is spent: the total was lowered, or lines were"
            " priced anew for more rows a person or because an earlier version priced runs in rho too low)"
        )
        return PrivityError(
            Catalogue.BUDGET_EXHAUSTED,
            party=party,
            asked=f"{word}{readable(asked)}",
            left=readable(max(left, ZERO)),
            total=readable(limit) + over,
            population=self._name,
        )

    def check(self, most: ApproxDP, party: str) -> None:
        """Raises PrivityError (budget-exhausted) if the totals have not this much left for a person."""
        with self._held():
            population = self._now()
            for word, asked, used, total in (
                ("", most.epsilon, self._epsilon, population.total_epsilon),
                ("delta ", most.delta, self._delta, population.total_delta),
            ):
                if asked and used + asked > total:
                    raise self._exhausted(party, word, asked, total - used, total)

    def _read_on(self) -> None:
        """Add up the lines that were written since, by whichever process: lines are only ever added."""
        new = self._db.execute(f"SELECT id, {COLUMNS} FROM lines WHERE id > ? ORDER BY id", (self._read,)).fetchall()
        lines = [(line_id, Line(*fields)) for line_id, *fields in new]
        declared = [line for _, line in lines if line.kind == Kind.POPULATION.value and line.book == OWN_BOOK]
        if declared:
            found = Population.of_terms(self._name, declared[-1].document)
            if self._population is not None and found.rows_per_person != self._population.rows_per_person:
                # Every line has another price now.
                self._forget()
                self._read_on()
                return
            self._population = found
        if self._population is None:
            return
        for line_id, line in lines:
            key = (line.node, line.run)
            before = self._of(key)
            after = charged(before, line)
            if after is not before:
                was, now = before.spent, after.spent
                self._epsilon = kept_short(self._epsilon - was.epsilon + now.epsilon)
                self._delta = kept_short(self._delta - was.delta + now.delta)
                self._runs[key] = after
            self._read = line_id

    def settle(self, charge: Charge, answer: str) -> None:
        """Note the digest of the answer that this charge paid for; the first one stays the only one.

        Raises:
            PrivityError: step-answered if another answer was given, step-refused if nothing was charged,
                or ledger-unusable.
        """
        where = "WHERE kind = 'charge' AND node = ? AND run = ? AND step = ?"
        key = (self.node, charge.run, charge.step)
        with self._held():
            self._check_not_merged(self._about())
            self._db.execute(f"UPDATE lines SET answer = ? {where} AND answer IS NULL", (answer, *key))
            row = self._db.execute(f"SELECT answer FROM lines {where}", key).fetchone()
        if row is None:
            raise PrivityError(Catalogue.STEP_REFUSED, step=charge.step, reason="the ledger holds no charge for it")
        if row[0] != answer:
            raise PrivityError(Catalogue.STEP_ANSWERED, step=charge.step, run=charge.run)

    def entries(self) -> list[Entry]:
        """Every line, oldest first, with what it added."""
        with self._held():
            rows = self._now().rows_per_person
            lines = self._lines("ORDER BY id")
        runs: dict[tuple[str, str], Accountant] = {}
        told: dict[tuple[str, str], tuple[Fraction, Fraction]] = {}
        found = []
        for line in lines:
            key = (line.node, line.run)
            runs[key] = charged(runs.get(key, Accountant(rows)), line)
            epsilon, delta = told.get(key, (ZERO, ZERO))
            if line.terms is None and line.rho is not None:
                # As it was charged then; the adjustment has the rest.
                added = line.stated
            else:
                now = runs[key].spent
                added = now.epsilon - epsilon, now.delta - delta
            told[key] = epsilon + added[0], delta + added[1]
            answered = line.answer is not None
            found.append(Entry(Kind(line.kind), line.node, line.charge, added, line.document, line.at, answered))
        return found

    def spent(self, run: str | None = None) -> Fraction:
        """Epsilon that a person has been charged, in all or by one run of this node."""
        return self._spent(run)[0]

    def spent_delta(self, run: str | None = None) -> Fraction:
        """The same for delta."""
        return self._spent(run)[1]

    def _spent(self, run: str | None) -> tuple[Fraction, Fraction]:
        with self._held():
            self._read_on()
            if run is None:
                return self._epsilon, self._delta
            found = self._of((self.node, run)).spent
            return found.epsilon, found.delta

    def merge(self, path: Path, node: str = "") -> int:
        """Take over another ledger of the same people; it is closed, and refused from then on. How many lines are new.

        Its chains stay as they were, in books of their own. It may be done again after a crash in between.

        Args:
            node: who has charged its lines, if it is of an earlier version.

        Raises:
            PrivityError: ledger-unusable: either of them; it has more rows a person.
        """
        other = Ledger.__new__(Ledger)
        other._start(path, self._name, self.node)
        with other._told():
            other._open()
            if other._file == self._file:
                raise other._unusable("it is the ledger that it would be merged into")
        with closing(other), other._told(), other._transaction():
            earlier = "charges" in other._tables()
            if earlier:
                other._check_earlier(other._db)
                found = [Book(0, "", earlier_lines(other._db, node))]
            else:
                other._check()
                if other._now().rows_per_person > self.population.rows_per_person:
                    raise other._unusable("its people have more rows each; raise rows per person first")
                found = books(other._lines("ORDER BY id"))
            with self._writing():
                try:
                    taken = self._take_in(found)
                except sqlite3.IntegrityError:
                    reason = "it charged the same steps otherwise: it may be a copy of this ledger"
                    raise other._unusable(reason) from None
            other._db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (MERGED, str(self._path)))
            other._db.execute("INSERT OR REPLACE INTO about VALUES ('format_version', ?)", (FORMAT_VERSION,))
            if earlier:
                # A program of that version that has it open must not go on.
                other._db.execute("ALTER TABLE charges RENAME TO charges_that_were_merged")
        self.spent()
        return taken


__all__ = ["MEMORY", "Allowance", "Charge", "Entry", "Kind", "Ledger"]
