"""What parties are told of where runs stand: each time until the party has taken it, however long it is away."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable, Collection, Sequence
from functools import partial

from privity.common.consortium.manifest import manifest_of_run
from privity.common.errors import PrivityError
from privity.common.protocol.steps import Close, Stopped
from privity.common.storage.journal import Journal
from privity.curator.pending_steps import Desk
from privity.curator.run_progress_marks import Marks
from privity.curator.signed_releases import SignedReleases

_log = logging.getLogger("privity.curator")

CLOSE_SECONDS = 10
"""How long the end of a run waits for parties to take it, before they are told in their own time."""


class Announcements:
    """Tells the parties of runs, over the desk.

    Args:
        asked: the parties that the request of a run names; None if it names none.
        signed: what the parties of a run that has a release are asked to attest before they are told of its end.
    """

    def __init__(
        self,
        journal: Journal,
        marks: Marks,
        desk: Desk,
        asked: Callable[[str], Sequence[str] | None],
        signed: SignedReleases,
    ) -> None:
        self._journal = journal
        self._asked = asked
        self._marks = marks
        self._desk = desk
        self._signed = signed
        self._telling: dict[str, dict[str, asyncio.Task[None]]] = {}

    def stopped(self, run: str, since: str) -> None:
        """Tell that a run was stopped, or with nothing in ``since`` that it goes on again."""
        self._desk.withdraw(run)
        for party in self._members(run):
            self._desk.tell(party, Stopped(run, since))

    async def ended(self, run: str) -> set[str]:
        """Tell that a run has ended; the parties that did not take it for a while, and are to be told later."""
        told = self._tell(run, self._members(run))
        if told:
            await asyncio.wait(told.values(), timeout=CLOSE_SECONDS)
        return {party for party, task in told.items() if not _was_told(task)}

    def later(self, run: str, parties: Collection[str]) -> None:
        """Go on telling of an end that the marks say was not told."""
        for party, task in self._tell(run, parties).items():
            task.add_done_callback(partial(self._note, run, party))

    def _tell(self, run: str, parties: Collection[str]) -> dict[str, asyncio.Task[None]]:
        """Each party in its own time, in the place of whoever was being told of the run before."""
        for task in self._telling.pop(run, {}).values():
            task.cancel()
        self._desk.withdraw(run)
        self._signed.forget(run)
        told = {party: asyncio.create_task(self._tell_end(run, party)) for party in parties}
        if told:
            self._telling[run] = dict(told)
        for party, task in told.items():
            task.add_done_callback(partial(self._told, run, party))
        return told

    def _told(self, run: str, party: str, task: asyncio.Task[None]) -> None:
        """One less to be told."""
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a party is not told of an end", extra={"run": run, "error": type(error).__name__})
        telling = self._telling.get(run, {})
        if telling.get(party) is task:
            del telling[party]
            if not telling:
                del self._telling[run]
                self._signed.forget(run)

    async def _tell_end(self, run: str, party: str) -> None:
        """Have the party attest a release before it forgets the run; then tell it of the end."""
        end = self._close(run)
        step = self._signed.step(run, party)
        # Whoever does not understand what it is told is not told again.
        if step is not None:
            with contextlib.suppress(PrivityError):
                await self._signed.take(run, party, await self._desk.tell(party, step))
        with contextlib.suppress(PrivityError):
            await self._desk.tell(party, end)

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

    def close(self) -> None:
        """Tell nobody any more; who was not told is told after the next start."""
        for telling in list(self._telling.values()):
            for task in list(telling.values()):
                task.cancel()

    def _note(self, run: str, party: str, task: asyncio.Task[None]) -> None:
        if _was_told(task):
            self._note_told(run, party)

    def _note_told(self, run: str, party: str) -> None:
        # No room on the disk, or the process ends: the party is told once more then.
        with contextlib.suppress(PrivityError, sqlite3.Error):
            self._marks.note_told(run, party)

    def _members(self, run: str) -> tuple[str, ...]:
        """The parties of a run that has begun to ask them."""
        kept = self._journal.recall(f"{run}/manifest", "manifest")
        return () if kept is None else manifest_of_run(kept).members_of_run(self._asked(run))


def _was_told(task: asyncio.Task[None]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None
