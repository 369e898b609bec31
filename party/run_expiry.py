"""When a run was last heard of, so that what is kept of one that nobody goes on with can be erased."""

from __future__ import annotations

import time
from collections.abc import Mapping

from privity.common.storage.journal import Journal

LET_GO_EVERY_SECONDS = 3600.0
HEARD_SECONDS = 3600.0
"""How exactly it is known when a run was last heard of."""

MOST_RUNS = 100
"""Of which a party keeps more than marks at a time: enrolled in, and neither closed nor let go."""


def let_go_every(lease: float) -> float:
    """Seconds between two looks at what has fallen silent."""
    return min(LET_GO_EVERY_SECONDS, lease / 10)


class LastHeard:
    """Of the runs that a party's journal keeps."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._silent: dict[str, float] = {}

    def runs(self) -> set[str]:
        """Runs of which the journal keeps more than marks. Marks are kept for ever: none of them is read."""
        return self._journal.heads_besides("#")

    def is_full(self, run: str) -> bool:
        """Whether there is no room for one run more, unless it is this one."""
        return len(self.runs() - {run}) >= MOST_RUNS

    def at(self, run: str) -> float | None:
        """When a step of the run was last given, to within ``HEARD_SECONDS``."""
        times = (self._journal.last_write(f"{run}/"), self._journal.written(_key(run)))
        return max((at for at in times if at is not None), default=None)

    def hear(self, run: str) -> None:
        """Note that the run is heard of, although nothing new is written."""
        heard = self.at(run)
        if heard is not None and time.time() - heard >= HEARD_SECONDS:
            self.forget(run)
            self._journal.record(_key(run), "heard", b"")

    def forget(self, run: str) -> None:
        """Erase the note."""
        self._journal.drop([_key(run)])

    def expired(self, times: Mapping[str, float | None], lease: float) -> list[str]:
        """Runs that were last heard of more than ``lease`` seconds ago; to be called now and then.

        A run is among them when it was found so twice, with a while between by a clock that nobody sets: one wrong
        reading of the other erases nothing.
        """
        oldest, now = time.time() - lease, time.monotonic()
        silent = {run for run, at in times.items() if at is not None and at < oldest}
        self._silent = {run: self._silent.get(run, now) for run in silent}
        return [run for run, found in self._silent.items() if now - found >= let_go_every(lease) / 2]


def _key(run: str) -> str:
    return f"#heard/{run}"
