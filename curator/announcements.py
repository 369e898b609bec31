"""What parties are told of where runs stand: each time until the party has taken it, however long it is away."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Collection, Sequence
from functools import partial

from privity.common.consortium.manifest import manifest_of_run
from privity.common.errors import PrivityError
from privity.common.protocol.steps import Close, Reply, Stopped
from privity.common.storage.journal import Journal
from privity.curator.pending_steps import Desk
from privity.curator.run_progress_marks import Marks

CLOSE_SECONDS = 10
"""How long the end of a run waits for parties to take it, before they are told in their own time."""


class Announcements:
    """Tells the parties of runs, over the desk.

    Args:
        asked: the parties that the request of a run names; None if it names none.
    """

    def __init__(
        self, journal: Journal, marks: Marks, desk: Desk, asked: Callable[[str], Sequence[str] | None]
    ) -> None:
        self._journal = journal
        self._asked = asked
        self._marks = marks
        self._desk = desk

    def stopped(self, run: str, since: str) -> None:
        """Tell that a run was stopped, or with nothing in ``since`` that it goes on again."""
        self._desk.withdraw(run)
        for party in self._members(run):
            self._desk.tell(party, Stopped(run, since))

    async def ended(self, run: str) -> set[str]:
        """Tell that a run has ended; the parties that did not take it for a while, and are to be told later."""
        self._desk.withdraw(run)
        told = {party: self._desk.tell(party, self._close(run)) for party in self._members(run)}
        if told:
            await asyncio.wait(told.values(), timeout=CLOSE_SECONDS)
        return {party for party, reply in told.items() if not reply.done()}

    def later(self, run: str, parties: Collection[str]) -> None:
        """Go on telling of an end that the marks say was not told."""
        self._desk.withdraw(run)
        for party in parties:
            reply = self._desk.tell(party, self._close(run))
            reply.add_done_callback(partial(self._note, run, party))

    def _close(self, run: str) -> Close:
        """The end that the marks have; what one party said is not told to others but for its name."""
        end = self._marks.end(run)
        assert end is not None
        why = f"refused by {', '.join(one.party for one in end.refusals)}" if end.refusals else ""
        return Close(run, end.state, self._marks.since(run), why)

    def of_before(self, parties: Collection[str]) -> None:
        """Go on with what an earlier process left; what is for none of these parties is forgotten."""
        runs: dict[str, list[str]] = {}
        for run, party in self._marks.untold():
            if party in parties:
                runs.setdefault(run, []).append(party)
            else:
                self._note_told(run, party)
        for run, away in runs.items():
            self.later(run, away)

    def _note(self, run: str, party: str, reply: asyncio.Future[Reply]) -> None:
        if not reply.cancelled():
            self._note_told(run, party)

    def _note_told(self, run: str, party: str) -> None:
        # No room on the disk, or the process ends: the party is told once more then.
        with contextlib.suppress(PrivityError, sqlite3.Error):
            self._marks.note_told(run, party)

    def _members(self, run: str) -> tuple[str, ...]:
        """The parties of a run that has begun to ask them."""
        kept = self._journal.recall(f"{run}/manifest", "manifest")
        if kept is not None:
            with contextlib.suppress(PrivityError):  # of an earlier version: its parties let go of it by themselves
                return manifest_of_run(kept, run).members_of_run(self._asked(run))
        return ()
