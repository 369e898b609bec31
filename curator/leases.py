"""For how long a run may stand still, stopped or waiting for somebody, before it ends for good."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from privity.common.errors import Catalogue, PrivityError
from privity.curator.run_progress_marks import End
from privity.curator.run_state import Run
from privity.curator.run_state_machine import EXPIRED, Event, may

EXPIRE_EVERY_SECONDS = 60.0
HOUR, DAY = 3600.0, 86400.0


class Leases:
    """The leases of all runs, looked at now and then.

    A queued run waits for others and not for anybody: its lease begins when it is driven.

    Args:
        lease: seconds.
        moved: when something last happened to a run, in seconds since 1970.
    """

    def __init__(self, lease: float, moved: Callable[[str], float | None]) -> None:
        self.every = min(EXPIRE_EVERY_SECONDS, lease / 10)
        self._lease = lease
        self._moved = moved
        self._still: dict[str, float] = {}

    def is_over(self, run: Run, taken_up: float) -> bool:
        """Whether the run was found to stand still twice, with a while between by a clock that nobody sets.

        Args:
            taken_up: when it was begun or gone on with, in seconds since 1970.
        """
        moved = self._moved(run.name) if may(run.state, Event.EXPIRE) else None
        if moved is None or time.time() - max(moved, taken_up) <= self._lease:
            self._still.pop(run.name, None)
            return False
        found = self._still.setdefault(run.name, time.monotonic())
        return time.monotonic() - found >= min(HOUR, self._lease / 10)

    def expired(self, run: Run, waits: Sequence[str]) -> End:
        """The end of a run, with the reason why it stood still."""
        why = f"an answer of {', '.join(waits)}" if waits else f"a resumption: {run.reason}"
        error = PrivityError(Catalogue.RUN_EXPIRED, days=f"{self._lease / DAY:g}", awaited=why)
        return End(EXPIRED, error.message, error.remedy, error.code)
