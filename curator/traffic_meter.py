"""What a run has moved so far, by phase and party, in public quantities: the stuff of progress.

It holds no times: how long a phase takes depends on rows.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from privity.common.protocol.run_record import RunRecord
from privity.common.protocol.session import Progress


class Meter:
    """Counts bytes, cells and ciphertexts, and tells a listener at every change."""

    def __init__(self, listener: Callable[[Progress], None] = lambda _progress: None) -> None:
        self.bytes: dict[str, dict[str, int]] = {}
        self.ciphertexts: dict[str, int] = {}
        self.rounds: dict[str, int] = {}
        self.cells: dict[str, int] = {}
        self.last_error = ""
        self._listener = listener
        self._phase = "start"
        self._done = self._parties = 0
        self._epsilon = Fraction(0)

    def enter(self, phase: str) -> None:
        """A phase begins, or goes on."""
        self._phase, self._done = phase, 0
        self._tell()

    def finish(self) -> None:
        self._tell()

    def expect(self, replies: int) -> None:
        self._done, self._parties = 0, replies
        self._tell()

    def answered(self) -> None:
        self._done += 1
        self._tell()

    def traffic(self, party: str, count: int) -> None:
        """Bytes of one message between curator and party, either way."""
        phase = self.bytes.setdefault(self._phase, {})
        phase[party] = phase.get(party, 0) + count

    def sent(self, ciphertexts: int) -> None:
        self.ciphertexts[self._phase] = self.ciphertexts.get(self._phase, 0) + ciphertexts
        self._tell()

    def charged(self, record: RunRecord) -> None:
        """Something is charged."""
        payers = {payer for cost in record.costs for payer in cost.payers}
        self._epsilon = max((record.epsilon(payer) for payer in payers), default=Fraction(0))
        self._tell()

    def troubled(self, error: str) -> None:
        """Something went wrong that is tried again in another way."""
        self.last_error = error
        self._tell()

    def exchanged(self, cells: int = 0) -> None:
        """One more exchange with parties that all wait for: a secure sum of so many cells, or a selection."""
        self.rounds[self._phase] = self.rounds.get(self._phase, 0) + 1
        if cells:
            self.cells[self._phase] = self.cells.get(self._phase, 0) + cells
        self._tell()

    def _tell(self) -> None:
        total = sum(sum(parties.values()) for parties in self.bytes.values())
        self._listener(
            Progress(
                phase=self._phase,
                done=self._done,
                parties=self._parties,
                cells=sum(self.cells.values()),
                ciphertexts=sum(self.ciphertexts.values()),
                bytes=total,
                epsilon=self._epsilon,
            )
        )
