"""Whom a run waits for, told so that nobody can time a party's counting."""

from __future__ import annotations

import time

from privity.curator.pending_steps import Awaited, Desk

SEEN_EVERY_SECONDS = 10.0


class LatelyAwaited:
    """People and silent parties as it is now; what parties are at work on as it was up to ten seconds ago.

    When a step is answered may depend on rows; when a person acts, or a connection is lost, does not.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._seen: dict[str, tuple[float, list[Awaited]]] = {}

    def of(self, run: str) -> list[Awaited]:
        """The steps of a run that lie at the desk."""
        now, found = time.monotonic(), self._desk.awaited(run)
        self._seen = {name: seen for name, seen in self._seen.items() if now - seen[0] <= SEEN_EVERY_SECONDS}
        _, at_work = self._seen.setdefault(run, (now, [awaited for awaited in found if not awaited.of_person]))
        exact = [awaited for awaited in found if awaited.of_person]
        told = {(awaited.party, awaited.step) for awaited in exact}
        return [*exact, *(awaited for awaited in at_work if (awaited.party, awaited.step) not in told)]
