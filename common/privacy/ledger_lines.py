"""The lines of a ledger: how they are written and chained, and what those of one run have cost a person."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from privity.common.errors import PrivityError
from privity.common.privacy.accountant import ZERO, Accountant
from privity.common.privacy.budget import readable
from privity.common.privacy.neighbouring_relation import RELATION, check_same_relation
from privity.common.privacy.population import Population
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PrivacyLoss, PureDP
from privity.common.privacy.run_budget import RhoBudget, RunBudget
from privity.common.storage.canonical_json import canonical_bytes

OWN_BOOK = 0
LOCK = "lock"
"""Of a reservation's terms: the name of the file beside the ledger that a program at work holds."""

COLUMNS = "book, position, kind, node, run, step, epsilon, delta, rho, terms, at, chain, answer"


class Kind(Enum):
    """What a line is."""

    POPULATION = "population"
    CHARGE = "charge"
    ADJUSTMENT = "adjustment"
    MERGE = "merge"
    RESERVATION = "reservation"
    RETURN = "return"


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
class Charge:
    """What a step of a run costs.

    Attributes:
        loss: for one replaced row; of a step in rho, that rho.
        for_a_person: whether the loss is that of a person, however many rows it has here.

    Raises:
        TypeError: a bare number in the place of a loss, or one for another relation.
    """

    run: str
    step: str
    loss: PrivacyLoss
    for_a_person: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.loss, PrivacyLoss):
            raise TypeError(f"a charge is a privacy loss, never {type(self.loss).__name__}")
        check_same_relation(RELATION, self.loss.relation)
        if isinstance(self.loss, ApproxDP) and not self.loss.delta:
            # As a line of the ledger reads.
            object.__setattr__(self, "loss", PureDP(self.loss.epsilon, self.loss.relation))


@dataclass(frozen=True)
class Line:
    """One row of the file, as it is written. Lines of earlier versions have no terms."""

    book: int
    position: int
    kind: str
    node: str
    run: str
    step: str
    epsilon: str
    delta: str
    rho: str | None
    terms: str | None
    at: str
    chain: str = ""
    answer: str | None = None

    def link(self, before: str) -> str:
        """The link of the chain that this line should have."""
        if self.terms is None:
            rho = [] if self.rho is None else [self.rho]
            content = [before, self.run, self.step, self.epsilon, self.delta, self.at, *rho]
        else:
            what = [self.kind, self.node, self.run, self.step, self.epsilon, self.delta, self.rho or ""]
            content = [before, *what, self.terms, self.at]
        return hashlib.sha256(canonical_bytes(content)).hexdigest()

    @property
    def document(self) -> dict[str, Any]:
        found = {} if self.terms is None else json.loads(self.terms)
        if not isinstance(found, dict):
            raise TypeError("the terms of a line are an object")
        return found

    @property
    def charge(self) -> Charge:
        person = self.document.get("for_a_person", False)
        return Charge(self.run, self.step, self._loss, person)

    @property
    def _loss(self) -> PrivacyLoss:
        if self.rho is not None:
            return ZCDP(Fraction(self.rho), RELATION)
        epsilon, delta = self.stated
        return ApproxDP(epsilon, delta, RELATION) if delta else PureDP(epsilon, RELATION)

    @property
    def stated(self) -> tuple[Fraction, Fraction]:
        """Epsilon and delta as they are written; of a line in rho no epsilon, but for those of earlier versions."""
        return Fraction(self.epsilon), Fraction(self.delta)

    @property
    def budget(self) -> RhoBudget | None:
        """The budget in rho that this charge is of; None of any other, and of those of earlier versions."""
        if self.rho is None or self.terms is None:
            return None
        return RhoBudget(Fraction(self.document["epsilon"]), Fraction(self.delta))

    def check(self) -> None:
        """Raises ValueError for a line that no program of ours writes."""
        try:
            _, terms = self.charge, self.document
            if min(self.stated) < 0:
                raise ValueError("a negative price")
            match Kind(self.kind):
                case Kind.POPULATION:
                    Population.of_terms("people", terms)
                case Kind.MERGE:
                    int(terms["book"]), int(terms["after"]), int(terms["lines"]), str(terms["start"])
                case Kind.RESERVATION if self.rho is not None or not isinstance(terms.get(LOCK, ""), str):
                    raise ValueError("no reservation")
                case Kind.CHARGE if self.budget is not None:
                    self.budget.filter()
        except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError, PrivityError) as error:
            raise ValueError("a line cannot be read") from error


def charged(before: Accountant, line: Line) -> Accountant:
    """What a run has cost after this line; what it cost before, if the line is no charge."""
    if line.kind != Kind.CHARGE.value:
        return before
    charge = line.charge
    if isinstance(charge.loss, ZCDP) and line.budget is None:
        return before.charged_earlier(charge.loss, line.stated[1])
    return before.charged(charge.loss, line.budget, for_a_person=charge.for_a_person)


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
            case Kind.RESERVATION:
                loss = self.charge.loss
                assert not isinstance(loss, ZCDP)
                epsilon, delta = loss.epsilon, loss.delta if isinstance(loss, ApproxDP) else ZERO
                return f"reserved for the run: epsilon {readable(epsilon)}, delta {readable(delta)}"
            case Kind.RETURN:
                return "the run has ended: what it had reserved and not spent is returned"


class Pricing:
    """Tells of lines, oldest first, what each added for a person with so many rows."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._runs: dict[tuple[str, str], Accountant] = {}
        self._told: dict[tuple[str, str], tuple[Fraction, Fraction]] = {}

    def entry(self, line: Line) -> Entry:
        """The next line, as it stands in the ledger."""
        key = (line.node, line.run)
        self._runs[key] = charged(self._runs.get(key, Accountant(self.rows)), line)
        epsilon, delta = self._told.get(key, (ZERO, ZERO))
        if line.terms is None and line.rho is not None:
            # As it was charged then; the adjustment has the rest.
            added = line.stated
        else:
            now = self._runs[key].spent
            added = now.epsilon - epsilon, now.delta - delta
        self._told[key] = epsilon + added[0], delta + added[1]
        answered = line.answer is not None
        return Entry(Kind(line.kind), line.node, line.charge, added, line.document, line.at, answered)


def entries_of(lines: Iterable[Line], rows: int) -> list[Entry]:
    """Lines, oldest first, with what each added for a person with so many rows."""
    pricing = Pricing(rows)
    return [pricing.entry(line) for line in lines]


@dataclass(frozen=True)
class Book:
    """A chain of lines that goes on after a line of this position and link."""

    after: int
    start: str
    lines: Sequence[Line]


def merges(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """What a ledger's own lines say of the books that it took over; ValueError for what no program of ours writes."""
    try:
        return [line.document for line in lines if line.kind == Kind.MERGE.value and line.book == OWN_BOOK]
    except (TypeError, RecursionError) as error:
        raise ValueError("a line cannot be read") from error


def books(lines: Sequence[Line]) -> list[Book]:
    """All books of a ledger, its own first."""
    starts = {terms["book"]: (terms["after"], terms["start"]) for terms in merges(lines)}
    numbers = sorted({line.book for line in lines})
    return [Book(*starts.get(n, (0, "")), [line for line in lines if line.book == n]) for n in numbers]


def check_chains(lines: Sequence[Line]) -> None:
    """Raises ValueError, with the reason, if a line is missing, was changed, or is none."""
    taken = merges(lines)
    ends = {int(terms.get("book", OWN_BOOK)): (terms.get("after", 0), terms.get("start", "")) for terms in taken}
    for line in lines:
        position, link = ends.get(line.book, (0, ""))
        if line.position != position + 1 or line.chain != line.link(link):
            raise ValueError("a line was changed or taken out")
        ends[line.book] = (line.position, line.chain)
    for line in lines:
        line.check()
    if any(ends[terms["book"]][0] < terms["lines"] for terms in taken):
        raise ValueError("lines that were taken over are missing")


def earlier_lines(db: sqlite3.Connection, node: str) -> list[Line]:
    """The lines of a ledger of an earlier version, as charged by a node."""
    columns = {row[1] for row in db.execute("PRAGMA table_info(charges)")}
    rho = "rho" if "rho" in columns else "NULL"
    charge = Kind.CHARGE.value
    return [
        Line(1, position, charge, node, run, step, epsilon, delta, rho_text, None, at, chain, answer)
        for position, run, step, epsilon, delta, rho_text, at, chain, answer in db.execute(
            f"SELECT position, run, step, epsilon, delta, {rho}, at, chain, answer FROM charges ORDER BY position"
        )
    ]
