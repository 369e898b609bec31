"""A full disk, of a party's journal, its ledger, the curator's journal or its releases: the run waits and goes on."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.ledger import Allowance, Charge, Ledger
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.protocol.steps import Contribute, Done, Pending, Refusal, SealBlock, Sealed
from privity.common.storage.journal import Journal
from privity.curator import run_driver, run_queue
from privity.curator.run_state_machine import COMPLETED, RUNNING
from tests.common.protocol.test_secure_sum import round_of
from tests.curator.test_run_driver import consortium_for_runs, end_of, request
from tests.harness.consortium import make_consortium
from tests.harness.network import NetworkConsortium

pytestmark = pytest.mark.process


def fill(store) -> Callable[[], None]:
    """Take all room from a journal or a ledger, as SQLite sees it; gives back what makes room again."""
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (pages,) = store._db.execute("PRAGMA page_count").fetchone()
    (free,) = store._db.execute("PRAGMA freelist_count").fetchone()
    assert free == 0
    (most,) = store._db.execute("PRAGMA max_page_count").fetchone()
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    return lambda: store._db.execute(f"PRAGMA max_page_count = {most}")


def fill_pages(journal: Journal) -> None:
    """With small entries, until there is no room on its last page either."""

    def fill_them() -> None:
        for entry in range(10_000):
            journal.record(f"#filler/{entry}", "d", b"")

    with pytest.raises(PrivityError, match="no room"):
        fill_them()


def fill_up(ledger: Ledger) -> None:
    """With lines that cost nothing, until there is no room on its last page either."""

    def fill_pages() -> None:
        for line in range(1000):
            ledger.charge(Charge("other", str(line), PureDP(Fraction(0), RELATION)), Allowance(), "party-2")

    with pytest.raises(PrivityError, match="no room"):
        fill_pages()


@pytest.mark.parametrize("which", ["journal", "ledger"])
def test_a_party_without_room_says_what_it_waits_for_and_goes_on(tmp_path: Path, which: str) -> None:
    async def scenario() -> None:
        consortium = consortium_for_runs(folder=tmp_path)
        async with NetworkConsortium(tmp_path, consortium) as network:
            served = network.server.runs
            make_room = fill(getattr(consortium.parties["party-2"], which))
            if which == "ledger":
                fill_up(consortium.parties["party-2"].ledger)
            name = network.submit("one", request())
            while not served.notes(served.get(name)):
                if served.get(name).state not in ("QUEUED", RUNNING):
                    raise AssertionError(served.get(name).reason)
                await asyncio.sleep(0.02)
            (note,) = served.notes(served.get(name))
            assert note.startswith("awaits party-2: room on its disk, since 20")
            make_room()
            assert await end_of(served, name) == (COMPLETED, "")
        assert [party.ledger.spent() for party in consortium.parties.values()] == [1, 1]

    asyncio.run(scenario())


def test_blocks_are_sealed_of_nothing_that_waits_for_room(tmp_path: Path) -> None:
    """However the room comes and goes: one vector, one noise, settled before a block of it leaves."""
    consortium = make_consortium(folder=tmp_path)
    round_ = round_of(consortium.begin())
    party, seal = consortium.parties["party-2"], SealBlock("run-1", consortium.attempt(round_), 0)
    settle, refused = party.ledger.settle, []

    def without_room(charge: Charge, answer: str) -> None:
        if len(refused) < 2:
            refused.append(answer)
            raise PrivityError(Catalogue.NO_ROOM, file="the ledger")
        settle(charge, answer)

    party.ledger.settle = without_room
    for _ in range(2):
        assert consortium.tell("party-2", Contribute(round_)) == Pending("room on its disk")
        reply = consortium.tell("party-2", seal)
        assert isinstance(reply, Refusal)
        assert "did not contribute" in reply.message
    assert consortium.tell("party-2", Contribute(round_)) == Done()
    assert len(set(refused)) == 1, "the vector that was kept is the one that is settled"
    assert isinstance(consortium.tell("party-2", seal), Sealed)
    assert party.ledger.spent() == 1


def test_a_checkpoint_without_room_is_put_off(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    journal = Journal(tmp_path / "journal.sqlite")
    make_room = fill(journal)
    for number in range(3):
        with contextlib.suppress(PrivityError):
            journal.record(f"run/{number}", "d", bytes(3000))
    journal.erase("run/")
    assert journal.keys("run/") == []
    make_room()
    journal.record("run/0", "d", b"x")
    assert journal.recall("run/0", "d") == b"x"


def test_a_curator_without_room_goes_on_when_there_is_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_queue, "ROOM_SECONDS", 0.1)

    async def scenario() -> None:
        consortium = consortium_for_runs(folder=tmp_path)
        async with NetworkConsortium(tmp_path, consortium) as network:
            await network.stop_agent("party-2")
            served = network.server.runs
            name = network.submit("one", request())
            while not served._journal.keys(f"{name}/answer/"):
                await asyncio.sleep(0.02)
            make_room = fill(served._journal)
            network.start_agent("party-2")
            while not served.get(name).last_error:
                await asyncio.sleep(0.02)
            run = served.get(name)
            assert run.state == RUNNING
            assert "no room on the disk of" in run.last_error
            make_room()
            assert await end_of(served, name) == (COMPLETED, "")
        assert [party.ledger.spent() for party in consortium.parties.values()] == [1, 1]

    asyncio.run(scenario())


def test_a_release_for_which_there_is_no_room_is_written_when_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_queue, "ROOM_SECONDS", 0.1)
    tried: list[Path] = []
    write = run_driver.write_with_report

    def without_room(folder: Path, *content: object) -> None:
        tried.append(folder)
        if len(tried) < 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(folder, *content)

    monkeypatch.setattr(run_driver, "write_with_report", without_room)

    async def scenario() -> None:
        consortium = consortium_for_runs(folder=tmp_path)
        async with NetworkConsortium(tmp_path, consortium) as network:
            served = network.server.runs
            name = network.submit("one", request())
            assert await end_of(served, name) == (COMPLETED, "")
            assert len(tried) == 3
            assert {file.name for file in served.release_files(name)} >= {"synthetic.csv"}

    asyncio.run(scenario())
