"""A ledger's lines for people to read, over and over: lines are only ever added, so that each is parsed once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from privity.common.privacy.ledger import Entry, Kind, Ledger
from privity.common.privacy.ledger_lines import OWN_BOOK, Pricing
from privity.common.privacy.population import Population


@dataclass
class RunCharges:
    """What one run of one node was charged.

    Attributes:
        at: of its first line; unanswered: charges of which no answer has left.
    """

    node: str
    run: str
    at: str
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    charges: int = 0
    unanswered: int = 0


@dataclass(frozen=True)
class Point:
    """How a ledger stood after a line: for a picture, so that numbers are rounded."""

    at: str
    spent: float
    total: float


class LedgerReader:
    """Lines of a ledger, and their sums by run. Several threads may share it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._forget(ledger.population.rows_per_person)

    def _forget(self, rows: int) -> None:
        self._pricing, self._last = Pricing(rows), 0
        self._entries: list[Entry] = []
        self._totals: dict[int, float] = {}
        self._open: dict[int, int] = {}
        self._runs: dict[tuple[str, str], RunCharges] = {}

    def entries(self) -> list[Entry]:
        """Every line so far, oldest first."""
        with self._lock:
            rows = self._ledger.population.rows_per_person
            if rows != self._pricing.rows:
                # Every line has another price now.
                self._forget(rows)
            new, unanswered = self._ledger.lines_since(self._last)
            for number, line in new:
                entry = self._pricing.entry(line)
                if entry.kind is Kind.CHARGE and not entry.answered:
                    self._open[number] = len(self._entries)
                if entry.kind is Kind.POPULATION and line.book == OWN_BOOK:
                    terms = Population.of_terms("people", entry.terms)
                    self._totals[len(self._entries)] = float(terms.total_epsilon)
                self._entries.append(entry)
                self._add_up(entry)
                self._last = number
            for number in self._open.keys() - unanswered:
                place = self._open.pop(number)
                entry = self._entries[place]
                self._entries[place] = replace(entry, answered=True)
                self._runs[entry.node, entry.charge.run].unanswered -= 1
            return self._entries[:]

    def _add_up(self, entry: Entry) -> None:
        key = (entry.node, entry.charge.run)
        if not entry.charge.run:
            return
        run = self._runs.setdefault(key, RunCharges(*key, entry.at))
        run.epsilon += entry.added[0]
        run.delta += entry.added[1]
        run.charges += entry.kind is Kind.CHARGE
        run.unanswered += entry.kind is Kind.CHARGE and not entry.answered

    def by_run(self) -> list[RunCharges]:
        """What each run was charged, by their first lines."""
        self.entries()
        with self._lock:
            return [replace(one) for one in self._runs.values()]

    def curve(self) -> Iterator[Point]:
        """How spending and the total went, line by line; only lines that changed one of them."""
        spent, total = 0.0, 0.0
        for place, entry in enumerate(self.entries()):
            total = self._totals.get(place, total)
            if not entry.added[0] and place not in self._totals:
                continue
            spent += float(entry.added[0])
            yield Point(entry.at, spent, total)
