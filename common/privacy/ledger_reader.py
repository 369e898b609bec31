"""A ledger for people to read, over and over: of each line no more is kept than where it is and what it added.

Lines are only ever added, so that each is priced once. Whoever keeps a reader asks ``Ledger.is_as_read`` before it is
used again, and takes a new ledger and a new reader if it is not.
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache

from privity.common.privacy.ledger import Entry, Kind, Ledger
from privity.common.privacy.ledger_lines import NOTHING, OWN_BOOK, Line, Pair, Pricing
from privity.common.privacy.ledger_reservations import Reservation
from privity.common.privacy.population import Population
from privity.common.text.utc_times import utc


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
    held: float
    total: float

    @property
    def taken(self) -> float:
        """What is not left."""
        return self.spent + self.held


def _floats() -> array[float]:
    return array("d")


@dataclass(frozen=True)
class Curve:
    """How spending, reservations and the total went: a point for each line that changed one of them.

    Attributes:
        times: in seconds since 1970, never falling: of a line that was written when the clock had been set back, that
            of the line before.
    """

    times: array[float] = field(default_factory=_floats)
    spent: array[float] = field(default_factory=_floats)
    held: array[float] = field(default_factory=_floats)
    totals: array[float] = field(default_factory=_floats)

    def add(self, at: str, spent: float, held: float, total: float) -> None:
        self.times.append(max(_seconds(at), self.times[-1] if self.times else 0.0))
        self.spent.append(spent)
        self.held.append(held)
        self.totals.append(total)

    def copy(self) -> Curve:
        return Curve(self.times[:], self.spent[:], self.held[:], self.totals[:])

    def __len__(self) -> int:
        return len(self.times)

    def point(self, place: int) -> Point:
        return Point(utc(self.times[place]), self.spent[place], self.held[place], self.totals[place])


@lru_cache(maxsize=64)
def _seconds(at: str) -> float:
    moment = datetime.fromisoformat(at)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


class LedgerReader:
    """Lines of a ledger, and their sums by run. Several threads may share it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._reading = 0

    def _read_on(self) -> None:
        reading, upto, rows = self._ledger.read_so_far()
        if reading != self._reading:
            # Lines are gone, or every line has another price now.
            self._reading, self._last = reading, 0
            self._pricing = Pricing(rows)
            self._numbers, self._added = array("q"), list[Pair]()
            self._runs: dict[tuple[str, str], RunCharges] = {}
            self._curve, self._total = Curve(), 0.0
            self._charged: dict[tuple[str, str], float] = {}
            self._rests: dict[tuple[str, str], float] = {}
        while self._last < upto:
            numbers, lines = self._ledger.some_lines(self._last, upto)
            if not numbers:
                break
            self._take(lines)
            self._numbers.extend(numbers)
            self._last = numbers[-1]

    def _take(self, lines: list[Line]) -> None:
        added = self._pricing.added_by_all(lines)
        self._added += added
        curve, spent = self._curve, self._curve.spent[-1] if self._curve else 0.0
        before, change = NOTHING, 0.0
        for line, pair in zip(lines, added, strict=True):
            key = line.node, line.run
            changed = False
            if line.run:
                run = self._runs.get(key)
                if run is None:
                    run = self._runs[key] = RunCharges(line.node, line.run, line.at)
                run.charges += line.is_charge
            elif line.kind == Kind.POPULATION.value and line.book == OWN_BOOK:
                self._total = float(Population.of_terms("people", line.document).total_epsilon)
                changed = True
            if line.kind == Kind.RESERVATION.value:
                self._rests[key] = float(Reservation.of_line(line).most[0]) - self._charged.get(key, 0.0)
                changed = True
            elif line.kind == Kind.RETURN.value:
                changed = self._rests.pop(key, None) is not None
            if pair is not before:
                before, change = pair, float(pair[0])
            if change:
                spent += change
                self._charged[key] = self._charged.get(key, 0.0) + change
                if key in self._rests:
                    self._rests[key] -= change
                changed = True
            if changed:
                curve.add(line.at, spent, sum(max(rest, 0.0) for rest in self._rests.values()), self._total)

    def entries(self) -> Iterator[Entry]:
        """Every line that there is now, oldest first; read from the file as they are asked for."""
        _, upto, rows = self._ledger.read_so_far()
        pricing, last = Pricing(rows), 0
        while last < upto:
            numbers, lines = self._ledger.some_lines(last, upto)
            yield from map(Entry.of, lines, pricing.added_by_all(lines))
            last = numbers[-1] if numbers else upto

    def newest(
        self, first: int, most: int, words: str = "", since: str = "", until: str = ""
    ) -> tuple[list[Entry], int]:
        """Some lines from the newest on, and how many there are in all.

        Args:
            first: how many of the newest to leave out; words, since, until: which count, as for ``Ledger.numbers_of``.
        """
        with self._lock:
            self._read_on()
            numbers: Sequence[int] = self._numbers
            if words or since or until:
                numbers = self._ledger.numbers_of(words, since, until, self._last)
            end = max(0, len(numbers) - first)
            return self._at(numbers[max(0, end - most) : end])[::-1], len(numbers)

    def _at(self, numbers: Sequence[int]) -> list[Entry]:
        lines = self._ledger.lines_at(numbers)
        return [Entry.of(lines[n], self._added[bisect_left(self._numbers, n)]) for n in numbers if n in lines]

    def by_run(self) -> list[RunCharges]:
        """What each run was charged, by their first lines."""
        with self._lock:
            self._read_on()
            open_ones = self._ledger.unanswered()
            return [
                replace(one, epsilon=told[0], delta=told[1], unanswered=open_ones.get(key, 0))
                for key, one in self._runs.items()
                for told in [self._pricing.told(*key)]
            ]

    def curve(self) -> Curve:
        """How spending, reservations and the total went."""
        with self._lock:
            self._read_on()
            return self._curve.copy()
