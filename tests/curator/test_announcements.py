"""Ends that parties were not told of before the curator started again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.steps import Close, Done, Stopped
from privity.common.storage.journal import Journal
from privity.common.wire.codec import decode_step, encode_reply
from privity.curator.announcements import Announcements
from privity.curator.pending_steps import Desk
from privity.curator.run_progress_marks import End, Marks
from privity.curator.run_state_machine import COMPLETED
from privity.curator.signed_releases import SignedReleases


class NothingSigned(SignedReleases):
    """No release is there, so that nobody is asked to attest one."""

    def __init__(self, marks: Marks) -> None:
        super().__init__(Path("/nowhere"), None, None, marks, lambda _run, _why: None)  # type: ignore[arg-type]


def left_untold(desk: Desk) -> tuple[Announcements, Marks]:
    journal = Journal()
    marks = Marks(journal)
    marks.note_end("run-1", End(COMPLETED))
    marks.note_closed("run-1", ["removed", "north"])
    return Announcements(journal, marks, desk, lambda _run: None, NothingSigned(marks)), marks


def test_the_end_is_told_to_those_who_are_members_and_forgotten_of_others() -> None:
    async def scenario() -> None:
        desk = Desk(10)
        announcements, marks = left_untold(desk)
        announcements.of_before(["north"])
        assert marks.untold() == [("run-1", "north")]
        told = decode_step(await desk.next_step("north", 1) or b"")
        assert isinstance(told, Close)
        assert (told.run, told.state) == ("run-1", COMPLETED)

    asyncio.run(scenario())


def test_a_full_disk_keeps_nobody_from_being_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise PrivityError(Catalogue.NO_ROOM, file="journal")

    async def scenario() -> None:
        desk = Desk(10)
        announcements, marks = left_untold(desk)
        monkeypatch.setattr(marks, "note_told", full)
        announcements.of_before(["north"])
        assert await desk.next_step("north", 1) is not None

    asyncio.run(scenario())


def test_a_reply_to_a_stop_is_none_to_the_word_that_the_run_goes_on() -> None:
    async def scenario() -> None:
        desk = Desk(10)
        announcements, _ = left_untold(desk)
        announcements._members = lambda _run: ("north",)  # type: ignore[method-assign]
        announcements.stopped("run-2", "2026-01-02T03:04:05+00:00")
        taken = decode_step(await desk.next_step("north", 1) or b"")
        announcements.stopped("run-2", "")
        desk.deliver("north", encode_reply("run-2", taken.key, Done()))
        await asyncio.sleep(0)
        assert decode_step(await desk.next_step("north", 1) or b"") == Stopped("run-2", "")

    asyncio.run(scenario())
