"""One run as the operator sees it, while the curator lives."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from fractions import Fraction

from privity.common.protocol.session import Progress
from privity.common.runs.run_request import RunRequest
from privity.curator.refusals import Refused
from privity.curator.run_progress_marks import End
from privity.curator.run_state_machine import ENDED, QUEUED, Event, State, after

_START = Progress("queued", 0, 0, 0, 0, 0, Fraction(0))


@dataclass(slots=True)
class Run:
    """One run as the operator sees it.

    Attributes:
        submitted, submitter: when, in UTC, and by which operator; signed: the request as that operator signed it.
        since: when it came into this state, in UTC.
        last_error: the last thing that went wrong and was tried again.
        refusals: what each party said that refused it.
    """

    name: str
    request: RunRequest
    submitted: str
    submitter: str = ""
    signed: bytes = b""
    state: State = QUEUED
    reason: str = ""
    remedy: str = ""
    since: str = ""
    progress: Progress = _START
    last_error: str = ""
    refusals: tuple[Refused, ...] = ()
    _changed: asyncio.Event | None = None

    @property
    def open(self) -> bool:
        """Whether it has not ended for good: a run that was stopped may be resumed."""
        return self.state not in ENDED

    def move(self, event: Event, since: str, why: End | None = None) -> None:
        """What an event makes of it; the only way into another state.

        Args:
            why: where it stands, if it does not go on.

        Raises:
            ValueError: the event means nothing in this state.
        """
        self._stand(after(self.state, event), why or End(QUEUED), since)

    def stand(self, end: End, since: str) -> None:
        """It is found on disk to stand so."""
        self._stand(State(end.state), end, since)

    def _stand(self, state: State, end: End, since: str) -> None:
        self.update(state=state, since=since, reason=end.reason, remedy=end.remedy, refusals=end.refusals)

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
