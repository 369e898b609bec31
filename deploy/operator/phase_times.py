"""How long each phase of a simulation took, for the screen of whoever runs it.

One machine sees all rows of a simulation, so these times tell its owner nothing new. They depend on rows: no file of a
release has them, and no curator of a real run takes them.
"""

from __future__ import annotations

import time

TIMES = "Seconds by phase, not in the release:"


class PhaseTimes:
    """Adds up the time of each phase of a run.

    Attributes:
        seconds: By phase, in the order of the run.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._phase = "start"
        self._since = time.monotonic()

    def enter(self, phase: str) -> None:
        """A phase begins, or goes on."""
        now = time.monotonic()
        self.seconds[self._phase] = self.seconds.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = phase, now

    def __str__(self) -> str:
        return f"{TIMES} " + ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in self.seconds.items())
