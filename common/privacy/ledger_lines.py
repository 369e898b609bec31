"""The lines of a ledger: how they are written and chained, and what those of one run have cost a person."""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from typing import Any

from privity.common.errors import PrivityError
from privity.common.privacy.group_privacy import EpsilonDelta, cost_of_a_person, rho_of_a_person
from privity.common.privacy.population import Population
from privity.common.privacy.privacy_filter import spent_under_unknown_cap
from privity.common.privacy.zcdp_budget import RhoBudget
from privity.common.storage.canonical_json import canonical_bytes

OWN_BOOK = 0
COLUMNS = "book, position, kind, node, run, step, epsilon, delta, rho, terms, at, chain, answer"
ZERO = Fraction(0)

LONGEST_BITS = 1024
"""Of the denominator of what one run, or all of them, were charged. A run of one of our algorithms needs
60 at most."""

FINE = 10**60
"""A sum with a longer denominator is rounded up to a multiple of 1/FINE."""


def is_short(*sums: Fraction) -> bool:
    """Whether sums of charges can be kept as they are."""
    return all(one.denominator.bit_length() <= LONGEST_BITS for one in sums)


def kept_short(total: Fraction) -> Fraction:
    """A sum of charges, exact if its denominator is short, and else a little more: denominators add up."""
    return total if is_short(total) else Fraction(math.ceil(total * FINE), FINE)


class Kind(Enum):
    """What a line is."""

    POPULATION = "population"
    CHARGE = "charge"
    ADJUSTMENT = "adjustment"
    MERGE = "merge"


@dataclass(frozen=True)
class Charge:
    """What a step of a run costs.

    Attributes:
        epsilon, delta: for one replaced row. Of a step in rho: no epsilon, and the delta of the run.
        rho: of a step of a run in rho; None of any other.
        for_a_person: whether the epsilon is that of a person, however many rows it has here.
    """

    run: str
    step: str
    epsilon: Fraction
    delta: Fraction = ZERO
    rho: Fraction | None = None
    for_a_person: bool = False


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
        rho = None if self.rho is None else Fraction(self.rho)
        person = self.document.get("for_a_person", False)
        return Charge(self.run, self.step, Fraction(self.epsilon), Fraction(self.delta), rho, person)

    @property
    def rho_budget(self) -> RhoBudget | None:
        """The budget in rho that this charge is of; None of any other, and of those of earlier versions."""
        if self.rho is None or self.terms is None:
            return None
        return RhoBudget(Fraction(self.document["epsilon"]), Fraction(self.delta))

    def check(self) -> None:
        """Raises ValueError for a line that no program of ours writes."""
        try:
            charge, terms = self.charge, self.document
            if min(charge.epsilon, charge.delta, charge.rho or ZERO) < 0:
                raise ValueError("a negative price")
            match Kind(self.kind):
                case Kind.POPULATION:
                    Population.of_terms("people", terms)
                case Kind.MERGE:
                    int(terms["book"]), int(terms["after"]), int(terms["lines"]), str(terms["start"])
                case Kind.CHARGE if self.rho_budget is not None:
                    self.rho_budget.filter()
        except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError, PrivityError) as error:
            raise ValueError("a line cannot be read") from error


@dataclass(frozen=True)
class Spent:
    """What one run of one node has cost a person with so many rows.

    Attributes:
        epsilon, delta: of the steps that are not in rho.
        rho: of the steps in rho, for one row, by the run's budget in rho; None: of an earlier version.
        earlier_delta: at which a run of an earlier version converted its rho.
        exact: whether none of these sums had to be rounded up.
    """

    rows: int
    epsilon: Fraction = ZERO
    delta: Fraction = ZERO
    rho: dict[RhoBudget | None, Fraction] = field(default_factory=dict)
    earlier_delta: Fraction = ZERO
    exact: bool = True

    def with_line(self, line: Line) -> Spent:
        if line.kind != Kind.CHARGE.value:
            return self
        charge = line.charge
        if charge.rho is not None:
            rho_budget = line.rho_budget
            rho = self.rho.get(rho_budget, ZERO) + charge.rho
            earlier = self.earlier_delta + (charge.delta if rho_budget is None else ZERO)
            return replace(
                self,
                rho={**self.rho, rho_budget: kept_short(rho)},
                earlier_delta=kept_short(earlier),
                exact=self.exact and is_short(rho, earlier),
            )
        epsilon, delta = (charge.epsilon, charge.delta)
        if not charge.for_a_person:
            epsilon, delta = cost_of_a_person(epsilon, delta, self.rows)
        epsilon, delta = self.epsilon + epsilon, self.delta + delta
        exact = self.exact and is_short(epsilon, delta)
        return replace(self, epsilon=kept_short(epsilon), delta=kept_short(delta), exact=exact)

    @property
    def loss(self) -> EpsilonDelta:
        """(epsilon, delta)."""
        epsilon, delta = self.epsilon, self.delta
        for rho_budget, of_row in self.rho.items():
            rho = rho_of_a_person(of_row, self.rows)
            if rho_budget is None:
                epsilon, delta = epsilon + spent_under_unknown_cap(rho, self.earlier_delta), delta + self.earlier_delta
            else:
                epsilon, delta = epsilon + rho_budget.filter(self.rows).spent(rho), delta + rho_budget.delta
        return epsilon, delta


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
