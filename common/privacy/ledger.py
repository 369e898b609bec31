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
of many runs come to more is a sum rounded up, by less than 1e-60 a line.

A run reserves its whole budget when it begins (``reserve``), and gives back what it did not spend when it ends
(``give_back``); both are lines. Of what is reserved, the larger of it and what its run was charged counts against the
total for everybody. So no run fails half-way because another one began, and no charge goes beyond the total.

Lines are chained by SHA-256 (``privity.common.privacy.ledger_lines``), so that one changed or taken out in the middle
is found at the next opening. A ledger that was merged keeps its own chain, as a book of its own; a line of the first
book names its end. Nothing here depends on the clock: times are written down for people to read, never
compared.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from privity.common.errors import Catalogue, PrivityError, by_face
from privity.common.privacy.accountant import LONGEST_BITS, ZERO, Accountant
from privity.common.privacy.budget import readable
from privity.common.privacy.ledger_file import MERGED
from privity.common.privacy.ledger_lines import (
    LOCK,
    OWN_BOOK,
    Allowance,
    Charge,
    Entry,
    Kind,
    Pair,
    books,
    charged,
    entries_of,
)
from privity.common.privacy.ledger_reservations import Reservation, exhausted, lock_held, pair
from privity.common.privacy.ledger_sums import LedgerSums
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.population import Population
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP
from privity.common.privacy.run_budget import RhoBudget
from privity.common.storage.journal import MEMORY

WORDS = ("", "delta ")
"""Before an epsilon and a delta in what is told."""

WHOLE = "the whole reservation"
"""Step of a run that was cut off by a restore: what it may have cost and no other line says."""

ATTESTED = "own attestation"
"""Step of a run whose charges were lost: what this node attested and no other line says."""

ADJUSTED = "adjustment"
"""In the place of a run, of what an owner said was spent."""


class Ledger(LedgerSums):
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
            how = by_face("privity population change --help", "Ledger(NAME).change(...)")
            hint = f"Use it as it is, or change it: {how}."
            raise PrivityError(Catalogue.BAD_OPTION, option="population", reason=reason, hint=hint)
        return self

    def _declare(self, population: Population) -> None:
        if self._tables():
            return
        self._make_tables(population.name)
        # No two ledgers begin alike, so that a line says by its link which one it is of.
        self._append(Kind.POPULATION, terms={**population.terms(), "ledger": secrets.token_hex(16)})

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction of a ledger that still counts, whatever another process has made of it since it was opened."""
        with self._held(), self._transaction():
            self._check_not_merged(self._about())
            self._read_on()
            yield

    def change(self, wanted: Population, expected: Population) -> None:
        """Declare another total or more rows a person, as a line of the ledger.

        A lower total binds at once, also below what was spent. More rows a person price every line anew.

        Args:
            expected: what the one who decided saw; refused if another process has changed it since.

        Raises:
            PrivityError: bad-option: it was changed meanwhile, or fewer rows a person; ledger-unusable.
        """
        with self._writing():
            wanted.check_follows(now := self._now(), expected)
            if wanted != now:
                self._append(Kind.POPULATION, terms=wanted.terms())

    def charge(self, charge: Charge, allowance: Allowance, party: str) -> bool:
        """Write the charge, or refuse it and write nothing.

        Returns:
            whether it was charged before, and settled with an answer: then no other may be made.

        Raises:
            PrivityError: population-frozen, budget-exhausted, step-changed if this step was charged another price,
                step-refused if the charges of its run cannot be added up exactly, or ledger-unusable.
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
                if was.charge != charge or (was.document, was.budget) != (terms, budget):
                    raise PrivityError(Catalogue.STEP_CHANGED, step=charge.step)
                return was.answer is not None
            self._check_not_frozen()
            before = self._of(key)
            if budget is not None and before.rho and budget not in before.rho:
                raise PrivityError(Catalogue.STEP_CHANGED, step=charge.step)
            line = self._written(Kind.CHARGE, self.node, charge, terms, budget)
            after = charged(before, line)
            if not after.exact:
                reason = f"the charges of its run would have a common denominator of more than {LONGEST_BITS} bits"
                raise PrivityError(Catalogue.STEP_REFUSED, step=charge.step, reason=reason)
            self._check_affordable(key, before, after, allowance, party)
            self._insert(line)
            return False

    def _check_affordable(
        self, key: tuple[str, str], before: Accountant, after: Accountant, allowance: Allowance, party: str
    ) -> None:
        """Refuse a charge beyond what its run may cost, or beyond the total less what other runs have reserved."""
        reserved = self._reserved[key].most if key in self._reserved else (ZERO, ZERO)
        of_run = (allowance.epsilon, allowance.delta)
        limits = zip(WORDS, pair(before.spent), pair(after.spent), reserved, of_run, strict=True)
        for word, old, new, own, most in limits:
            if new <= old:
                # A line that costs nothing may be written even where less than nothing is left.
                continue
            if most is not None and new > most:
                raise exhausted(party, self._name, word, new - old, most - old, most)
            self._check_total(key, word, max(new, own), new - old, party)

    def _check_total(self, key: tuple[str, str], word: str, needed: Fraction, asked: Fraction, party: str) -> None:
        """Refuse what a run needs in all if the total, less what all others spent and reserved, has not so much."""
        place, population = WORDS.index(word), self._now()
        total = (population.total_epsilon, population.total_delta)[place]
        spent = (self._epsilon, self._delta)[place] - pair(self._of(key).spent)[place]
        others = (one for one in self._reserved.values() if one.key != key)
        held = sum((one.rest(self._of(one.key).spent)[place] for one in others), ZERO)
        if spent + held + needed > total:
            left = total - spent - held - needed + asked
            raise exhausted(party, self._name, word, asked, left, total, held)

    def check(self, most: ApproxDP, party: str, run: str = "") -> None:
        """Raises PrivityError (population-frozen, budget-exhausted) if a run may not cost a person so much."""
        with self._held():
            self._read_on()
            self._check_not_frozen()
            key = (self.node, run)
            for word, asked, used in zip(WORDS, pair(most), pair(self._of(key).spent), strict=True):
                if asked > used:
                    self._check_total(key, word, asked, asked - used, party)

    def reserve(self, run: str, most: ApproxDP, party: str, lock: str = "") -> None:
        """Reserve what a run of this node may cost a person in all, or refuse it and write nothing.

        To reserve the same again changes nothing; something else takes the place of what the run had reserved.

        Args:
            lock: the file that this program holds while it is at work (``reserving``); "" of a node.

        Raises:
            PrivityError: budget-exhausted: the totals have not this much left; ledger-unusable.
        """
        key = (self.node, run)
        with self._writing():
            if key in self._reserved and self._reserved[key].most == pair(most):
                return
            for one in list(self._reserved.values()):
                if one.is_left_over(self._path):
                    self._append(Kind.RETURN, terms={}, run=one.run, node=one.node)
            self.check(most, party, run)
            terms = {"for_a_person": True, **({LOCK: lock} if lock else {})}
            self._insert(self._written(Kind.RESERVATION, self.node, Charge(run, "", most, for_a_person=True), terms))

    @contextmanager
    def reserving(self, run: str, most: ApproxDP, party: str) -> Iterator[None]:
        """Reserve for a run of this process; returned at its end, and by whoever reserves next if it was killed.

        Raises:
            PrivityError: as ``reserve``.
        """
        with lock_held(self._path, run) as lock:
            self.reserve(run, most, party, lock)
            try:
                yield
            finally:
                self.give_back(run)

    def give_back(self, run: str, node: str | None = None) -> bool:
        """Return what a run reserved and was not charged; whether there was a reservation.

        To be called when nothing more is charged for it: what comes all the same finds only what is left for everybody.

        Args:
            node: of the run; None is this one.

        Raises:
            PrivityError: ledger-unusable.
        """
        key = (self.node if node is None else node, run)
        with self._writing():
            found = key in self._reserved
            if found:
                self._append(Kind.RETURN, terms={}, run=run, node=key[0])
            return found

    def freeze(self) -> None:
        """Note that lines are missing: nothing more is charged or reserved until the owner says what was spent.

        Raises:
            PrivityError: ledger-unusable.
        """
        with self._writing():
            if not self._frozen:
                self._append(Kind.FREEZE, terms={})

    def check_not_frozen(self) -> None:
        """Raises PrivityError (population-frozen) while the owner has yet to say what was spent."""
        with self._held():
            self._read_on()
            self._check_not_frozen()

    def _check_not_frozen(self) -> None:
        if self._frozen:
            raise PrivityError(Catalogue.POPULATION_FROZEN, population=self._name)

    def adjust(self, spent: ApproxDP) -> None:
        """Charge what is missing of what a person has lost in all, and thaw the ledger.

        Raises:
            PrivityError: bad-option: more than that stands in the ledger already; ledger-unusable.
        """
        with self._writing():
            missing = spent.epsilon - self._epsilon, spent.delta - self._delta
            for word, least, gap in zip(("epsilon", "delta"), (self._epsilon, self._delta), missing, strict=True):
                if gap < 0:
                    reason = f"{readable(least)} stands in the ledger already"
                    hint = "Say at least that: what was charged never comes back."
                    raise PrivityError(Catalogue.BAD_OPTION, option=f"spent-{word}", reason=reason, hint=hint)
            if any(missing):
                step = f"adjustment {self._end(OWN_BOOK)[0]}"
                self._charge_outright(ADJUSTED, Charge(ADJUSTED, step, ApproxDP(*missing, RELATION), for_a_person=True))
            self._append(Kind.ADJUSTMENT, terms={})

    def charge_whole(self, run: str, most: ApproxDP | None = None, step: str = WHOLE) -> None:
        """Charge a run of this node with all that it may cost, once, and end its reservation: no charge is missed then.

        Args:
            most: what it may cost a person in all; None is what it has reserved.
            step: how the line is called: there is one of each name.

        Raises:
            PrivityError: ledger-unusable.
        """
        key = (self.node, run)
        with self._writing():
            held = [] if most is None else [pair(most)]
            held += [self._reserved[key].most] if key in self._reserved else []
            spent = pair(self._of(key).spent)
            rest = tuple(max([ZERO, *(one[place] - spent[place] for one in held)]) for place in (0, 1))
            again = self._lines("WHERE kind = 'charge' AND node = ? AND run = ? AND step = ?", *key, step)
            if any(rest) and not again:
                self._charge_outright(
                    self.node, Charge(run, step, ApproxDP(rest[0], rest[1], RELATION), for_a_person=True)
                )
            if key in self._reserved:
                self._append(Kind.RETURN, terms={}, run=run, node=self.node)

    def _charge_outright(self, node: str, charge: Charge) -> None:
        """Of what is spent already: the total does not bind it, and no answer follows."""
        line = self._written(Kind.CHARGE, node, charge, {"for_a_person": True})
        self._insert(line._replace(answer=hashlib.sha256(charge.step.encode()).hexdigest()))
        self._read_on()

    def reserved(self) -> list[Reservation]:
        """The reservations that stand, the oldest first; ``most`` of each is what is not spent of it yet."""
        with self._held():
            self._read_on()
            standing = [one for one in self._reserved.values() if not one.is_left_over(self._path)]
            return [replace(one, most=one.rest(self._of(one.key).spent)) for one in standing]

    def held(self, run: str = "") -> Pair:
        """What is reserved, as (epsilon, delta); for a run of this node, by others."""
        others = [one.most for one in self.reserved() if one.key != (self.node, run)]
        return sum((most[0] for most in others), ZERO), sum((most[1] for most in others), ZERO)

    def left(self, run: str = "") -> Pair:
        """What is neither spent nor reserved, as (epsilon, delta); for a run of this node, besides what it reserved."""
        with self._held():
            held, now = self.held(run), self._now()
            return now.total_epsilon - self._epsilon - held[0], now.total_delta - self._delta - held[1]

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
            raise PrivityError(Catalogue.STEP_REFUSED, step=charge.step, reason="the ledger has no charge for it")
        if row[0] != answer:
            raise PrivityError(Catalogue.STEP_ANSWERED, step=charge.step, run=charge.run)

    def entries(self) -> list[Entry]:
        """Every line, oldest first, with what it added."""
        with self._held():
            rows = self._now().rows_per_person
            return entries_of(self._lines("ORDER BY id"), rows)

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

    def merge(self, path: Path) -> int:
        """Take over another ledger of the same people; it is closed, and refused from then on. How many lines are new.

        Its chains stay as they were, in books of their own. It may be done again after a crash in between.

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
        self.spent()
        return taken


__all__ = ["MEMORY", "Allowance", "Charge", "Entry", "Kind", "Ledger"]
