"""What the lines of a ledger come to; they are read as they are added, by whichever process."""

from __future__ import annotations

from collections.abc import Sequence

from privity.common.privacy.accountant import ZERO, Accountant, kept_short
from privity.common.privacy.ledger_file import LedgerFile
from privity.common.privacy.ledger_lines import OWN_BOOK, Kind, Line, charged, charged_all
from privity.common.privacy.ledger_reservations import Reservation
from privity.common.privacy.population import Population


class LedgerSums(LedgerFile):
    """The population of a ledger, and what was charged and is reserved, in all and by run."""

    def _forget(self) -> None:
        super()._forget()
        self._read = 0
        self._population: Population | None = None
        self._runs: dict[tuple[str, str], Accountant] = {}
        self._reserved: dict[tuple[str, str], Reservation] = {}
        self._frozen: set[int] = set()
        self._epsilon, self._delta = ZERO, ZERO

    @property
    def population(self) -> Population:
        """As it is declared now."""
        with self._held():
            return self._now()

    def _now(self) -> Population:
        self._read_on()
        assert self._population is not None
        return self._population

    def _of(self, key: tuple[str, str]) -> Accountant:
        """What was read of one run of one node."""
        assert self._population is not None
        return self._runs.get(key) or Accountant(self._population.rows_per_person)

    def charged_to_run(self, run: str, rows: int) -> Accountant:
        """What this node was charged in a run for a person with so many rows here; rows elsewhere are left out."""
        with self._held():
            lines = self._lines("WHERE kind = 'charge' AND node = ? AND run = ? ORDER BY +id", self.node, run)
        found = Accountant(rows)
        for line in lines:
            found = found if line.charge.for_a_person else charged(found, line)
        return found

    def read_so_far(self) -> tuple[int, int, int]:
        """How often the lines were read from the first one on, up to which they are read now, and the rows a person."""
        with self._held():
            now = self._now()
            return self.reading, self._read, now.rows_per_person

    def _check_lines(self, upto: int) -> None:
        self._read_population(upto)
        super()._check_lines(upto)
        self._read_on()
        if self._population is None:
            raise self._unusable("its first line, with the population's total, is missing")

    def _read_on(self) -> None:
        """Add up the lines that were written since: lines are only ever added."""
        upto = self._last_id()
        if upto > self._read:
            self._read_population(upto)
            for numbers, lines in self._batches(self._read, upto):
                self._take(numbers, lines)

    def _read_population(self, upto: int) -> None:
        for line in self._own_lines(Kind.POPULATION, self._read, upto)[-1:]:
            found = Population.of_terms(self._name, line.document)
            if self._population is not None and found.rows_per_person != self._population.rows_per_person:
                # Every line has another price now.
                self._forget()
            self._population = found

    def _take(self, numbers: Sequence[int], lines: Sequence[Line]) -> None:
        if self._population is None:
            return
        runs: dict[tuple[str, str], list[Line]] = {}
        for line in [line for number, line in zip(numbers, lines, strict=True) if number > self._read]:
            key = (line.node, line.run)
            self._ends[line.book] = (line.position, line.chain)
            if line.is_charge:
                runs.setdefault(key, []).append(line)
            elif line.kind == Kind.RESERVATION.value:
                self._reserved[key] = Reservation.of_line(line)
            elif line.kind == Kind.RETURN.value:
                self._reserved.pop(key, None)
            elif line.kind == Kind.FREEZE.value:
                self._frozen.add(line.book)
            elif line.kind == Kind.ADJUSTMENT.value:
                # An owner's word is about all that the ledger holds; that of a book taken over, about that book.
                self._frozen &= set() if line.book == OWN_BOOK else self._frozen - {line.book}
        for key, charges in runs.items():
            before = self._of(key)
            self._runs[key] = after = charged_all(before, charges)
            was, now = before.spent, after.spent
            self._epsilon = kept_short(self._epsilon - was.epsilon + now.epsilon)
            self._delta = kept_short(self._delta - was.delta + now.delta)
        self._read = max(self._read, numbers[-1])
