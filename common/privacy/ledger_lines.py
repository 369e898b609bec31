"""The lines of a ledger: how they are written and chained, and what those of one run have cost a person."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from privity.common.errors import PrivityError
from privity.common.privacy.accountant import LONGEST_BITS, ZERO, Accountant
from privity.common.privacy.budget import readable
from privity.common.privacy.neighbouring_relation import RELATION, check_same_relation
from privity.common.privacy.population import Population
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PrivacyLoss, PureDP
from privity.common.privacy.run_budget import RhoBudget, RunBudget
from privity.common.storage.canonical_json import canonical_texts

OWN_BOOK = 0
LOCK = "lock"
"""Of a reservation's terms: the name of the file beside the ledger that a program at work holds."""

COLUMNS = "book, position, kind, node, run, step, epsilon, delta, rho, terms, at, chain, answer"

Pair = tuple[Fraction, Fraction]
"""Epsilon and delta."""

Price = tuple[str, str, str | None, str]
"""Of a line: epsilon, delta, rho and terms, as they are written."""

NOTHING: Pair = (ZERO, ZERO)

read_once = lru_cache(maxsize=1024)
"""What texts of lines mean: the same few stand in thousands of lines."""


class Kind(Enum):
    """What a line is."""

    POPULATION = "population"
    CHARGE = "charge"
    MERGE = "merge"
    RESERVATION = "reservation"
    RETURN = "return"
    FREEZE = "freeze"
    ADJUSTMENT = "adjustment"


CHARGE = Kind.CHARGE.value


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


class Line(NamedTuple):
    """One row of the file, as it is written."""

    book: int
    position: int
    kind: str
    node: str
    run: str
    step: str
    epsilon: str
    delta: str
    rho: str | None
    terms: str
    at: str
    chain: str = ""
    answer: str | None = None

    def link(self, before: str) -> str:
        """The link of the chain that this line should have."""
        what = [self.kind, self.node, self.run, self.step, self.epsilon, self.delta, self.rho or ""]
        return hashlib.sha256(canonical_texts([before, *what, self.terms, self.at])).hexdigest()

    @property
    def price(self) -> Price:
        """All that says what a charge costs, apart from whose it is."""
        return self[6:10]

    @property
    def is_charge(self) -> bool:
        return self.kind == CHARGE

    @property
    def document(self) -> dict[str, Any]:
        """The terms; nobody changes them."""
        return _document(self.terms)

    @property
    def charge(self) -> Charge:
        return Charge(self.run, self.step, *_loss(self.price))

    @property
    def stated(self) -> Pair:
        """Epsilon and delta as they are written; of a line in rho no epsilon."""
        return Fraction(self.epsilon), Fraction(self.delta)

    @property
    def budget(self) -> RhoBudget | None:
        """The budget in rho that this charge is of; None of any other."""
        return _budget(self.price)

    def check(self) -> None:
        """Raises ValueError for a line that no program of ours writes."""
        try:
            _check(self.kind, self.price)
        except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError, PrivityError) as error:
            raise ValueError("a line cannot be read") from error


@read_once
def _document(terms: str) -> dict[str, Any]:
    found = json.loads(terms)
    if not isinstance(found, dict):
        raise TypeError("the terms of a line are an object")
    return found


@read_once
def _loss(price: Price) -> tuple[PrivacyLoss, bool]:
    """What is lost, and whether that is of a person."""
    epsilon, delta, rho, terms = price
    person = _document(terms).get("for_a_person", False)
    if rho is not None:
        return ZCDP(Fraction(rho), RELATION), person
    if Fraction(delta):
        return ApproxDP(Fraction(epsilon), Fraction(delta), RELATION), person
    return PureDP(Fraction(epsilon), RELATION), person


@read_once
def _budget(price: Price) -> RhoBudget | None:
    _, delta, rho, terms = price
    if rho is None:
        return None
    return RhoBudget(Fraction(_document(terms)["epsilon"]), Fraction(delta))


@read_once
def _check(kind: str, price: Price) -> None:
    epsilon, delta, rho, _ = price
    (loss, _), terms = _loss(price), _document(price[3])
    Charge("", "", loss)
    if min(Fraction(epsilon), Fraction(delta)) < 0:
        raise ValueError("a negative price")
    match Kind(kind):
        case Kind.POPULATION:
            Population.of_terms("people", terms)
        case Kind.MERGE:
            int(terms["book"]), int(terms["after"]), int(terms["lines"]), str(terms["start"])
        case Kind.RESERVATION if rho is not None or not isinstance(terms.get(LOCK, ""), str):
            raise ValueError("no reservation")
        case Kind.CHARGE if (budget := _budget(price)) is not None:
            budget.filter()


@read_once
def _of_a_person(price: Price, rows: int) -> Pair:
    """What a charge costs a person with so many rows; of one in rho, that rho and nothing."""
    loss, person = _loss(price)
    if isinstance(loss, ZCDP):
        return loss.rho, ZERO
    several = loss if person else loss.scaled(rows)
    return several.epsilon, several.delta if isinstance(several, ApproxDP) else ZERO


def charged(before: Accountant, line: Line) -> Accountant:
    """What a run has cost after this line; what it cost before, if the line is no charge."""
    if not line.is_charge:
        return before
    loss, person = _loss(line.price)
    return before.charged(loss, line.budget, for_a_person=person)


def charged_all(before: Accountant, lines: Sequence[Line]) -> Accountant:
    """What a run has cost after all these lines of it."""
    after = summed(before, lines) if len(lines) > 1 else None
    if after is None:
        after = before
        for line in lines:
            after = charged(after, line)
    return after


def summed(before: Accountant, lines: Sequence[Line]) -> Accountant | None:
    """The same by one sum for each price; None if sums are rounded on the way, so that their order would matter."""
    prices = Counter([line.price for line in lines if line.is_charge])
    numbers = [before.epsilon, before.delta, *before.rho.values()]
    for price in prices:
        numbers += _of_a_person(price, before.rows)
    # What all of them can be added up over, in any order.
    if math.lcm(*(number.denominator for number in numbers)).bit_length() > LONGEST_BITS:
        return None
    for price, times in prices.items():
        loss, _ = _loss(price)
        if isinstance(loss, ZCDP):
            before = before.charged(ZCDP(times * loss.rho, RELATION), _budget(price))
            continue
        epsilon, delta = _of_a_person(price, before.rows)
        if times * delta > 1:
            return None
        before = before.charged(ApproxDP(times * epsilon, times * delta, RELATION), for_a_person=True)
    return before


@dataclass(frozen=True)
class Entry:
    """A line as it stands in the ledger; ``at`` is the clock's word and decides nothing.

    Attributes:
        added: (epsilon, delta) that it added to what a person has lost, by the rows a person of now.
        terms: of a line that is no charge.
        answered: whether a charge was followed by its answer; None of a line that is none.
    """

    kind: Kind
    node: str
    charge: Charge
    added: Pair
    terms: dict[str, Any]
    at: str
    answered: bool | None

    @classmethod
    def of(cls, line: Line, added: Pair) -> Entry:
        answered = line.answer is not None if line.is_charge else None
        return cls(Kind(line.kind), line.node, line.charge, added, line.document, line.at, answered)

    @property
    def rho(self) -> Fraction | None:
        """Of a step in rho, for one row."""
        return self.charge.loss.rho if isinstance(self.charge.loss, ZCDP) else None

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
                rows = "1 row" if people.rows_per_person == 1 else f"{people.rows_per_person} rows"
                return f"total: {texts}, {rows} a person"
            case Kind.MERGE:
                return f"{terms['lines']} lines of another ledger taken over"
            case Kind.RESERVATION:
                loss = self.charge.loss
                assert not isinstance(loss, ZCDP)
                epsilon, delta = loss.epsilon, loss.delta if isinstance(loss, ApproxDP) else ZERO
                return f"reserved for the run: epsilon {readable(epsilon)}, delta {readable(delta)}"
            case Kind.RETURN:
                return "the run has ended: what it had reserved and not spent is returned"
            case Kind.FREEZE:
                return "set back: charges are missing, and nothing more is charged until its owner adjusts it"
            case Kind.ADJUSTMENT:
                return "its owner said what was spent"


class Pricing:
    """Tells of lines, oldest first, what each added for a person with so many rows."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._runs: dict[tuple[str, str], Accountant] = {}
        self._told: dict[tuple[str, str], Pair] = {}

    def told(self, node: str, run: str) -> Pair:
        """What the lines so far of a run of a node added."""
        return self._told.get((node, run), NOTHING)

    def added_by_all(self, lines: Sequence[Line]) -> list[Pair]:
        """The same as ``added`` of one after another; equal prices are one object."""
        runs: dict[tuple[str, str], list[int]] = {}
        for place, line in enumerate(lines):
            runs.setdefault((line.node, line.run), []).append(place)
        found = [NOTHING] * len(lines)
        for key, places in runs.items():
            of_run = [lines[place] for place in places]
            if not self._summed(key, of_run):
                for place in places:
                    found[place] = self.added(lines[place])
                continue
            for place, line in zip(places, of_run, strict=True):
                if line.is_charge:
                    found[place] = _of_a_person(line.price, self.rows)
        return found

    def _summed(self, key: tuple[str, str], lines: Sequence[Line]) -> bool:
        """Whether each of the next lines of a run adds its own price, whatever stands before it."""
        before = self._runs.get(key, Accountant(self.rows))
        if before.rho or any(line.rho is not None for line in lines):
            return False
        after = summed(before, lines)
        if after is None or after.delta > 1:
            return False
        self._runs[key], self._told[key] = after, (after.epsilon, after.delta)
        return True

    def added(self, line: Line) -> Pair:
        """(epsilon, delta) that the next line added."""
        key = (line.node, line.run)
        self._runs[key] = charged(self._runs.get(key, Accountant(self.rows)), line)
        epsilon, delta = self.told(*key)
        now = self._runs[key].spent
        self._told[key] = now.epsilon, now.delta
        return now.epsilon - epsilon, now.delta - delta


def entries_of(lines: Iterable[Line], rows: int) -> list[Entry]:
    """Lines, oldest first, with what each added for a person with so many rows."""
    pricing = Pricing(rows)
    return [Entry.of(line, pricing.added(line)) for line in lines]


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


def check_chains(lines: Iterable[Line], taken: Sequence[Mapping[str, Any]]) -> None:
    """Raises ValueError, with the reason, if a line is missing, was changed, or is none.

    Args:
        taken: what the lines say of books that were taken over (``merges``).
    """
    ends = {int(terms.get("book", OWN_BOOK)): (terms.get("after", 0), terms.get("start", "")) for terms in taken}
    for line in lines:
        position, link = ends.get(line.book, (0, ""))
        try:
            whole = line.position == position + 1 and line.chain == line.link(link)
        except TypeError:  # no text
            whole = False
        if not whole:
            raise ValueError("a line was changed or taken out")
        ends[line.book] = (line.position, line.chain)
        line.check()
    if any(ends[terms["book"]][0] < terms["lines"] for terms in taken):
        raise ValueError("lines that were taken over are missing")
