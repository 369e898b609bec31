"""Ends that parties were not told of before the curator started again."""

from __future__ import annotations

import asyncio

import pytest

from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.steps import Close
from privity.common.storage.journal import Journal
from privity.common.wire.codec import decode_step
from privity.curator.announcements import Announcements
from privity.curator.pending_steps import Desk
from privity.curator.run_progress_marks import End, Marks
from privity.curator.run_state_machine import COMPLETED


def left_untold(desk: Desk) -> tuple[Announcements, Marks]:
    journal = Journal()
    marks = Marks(journal)
    marks.note_end("run-1", End(COMPLETED))
    marks.note_closed("run-1", ["removed", "north"])
    return Announcements(journal, marks, desk, lambda _run: None), marks


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
