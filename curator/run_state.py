"""One run as the operator sees it, while the curator lives."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from fractions import Fraction

from privity.common.protocol.session import Progress
from privity.curator.refusals import Refused
from privity.curator.run_progress_marks import DISCARDED, QUEUED, RUNNING, STOPPED, End
from privity.curator.run_request import RunRequest

_START = Progress("queued", 0, 0, 0, 0, 0, Fraction(0))


@dataclass(slots=True)
class Run:
    """One run as the operator sees it.

    Attributes:
        submitted, submitter: when, in UTC, and by which operator; empty if that was not kept.
        last_error: the last thing that went wrong and was tried again.
        refusals: what each party said that refused it.
    """

    name: str
    request: RunRequest
    submitted: str
    submitter: str = ""
    state: str = QUEUED
    reason: str = ""
    remedy: str = ""
    progress: Progress = _START
    last_error: str = ""
    refusals: tuple[Refused, ...] = ()
    _changed: asyncio.Event | None = None

    @property
    def open(self) -> bool:
        """Whether it has not ended for good: a run that was stopped may be resumed."""
        return self.state in (QUEUED, RUNNING) or (self.state == STOPPED and self.reason != DISCARDED.reason)

    def stand(self, end: End) -> None:
        """It does not go on."""
        self.update(state=end.state, reason=end.reason, remedy=end.remedy, refusals=end.refusals)

    def update(self, **fields: object) -> None:
        for name, value in fields.items():
            setattr(self, name, value)
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    def next_change(self) -> asyncio.Event:
        """Set at the next change, and made only if somebody waits for it: runs are kept for ever."""
        if self._changed is None:
            self._changed = asyncio.Event()
        return self._changed
