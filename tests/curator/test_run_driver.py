"""The curator's runs: submitted once, ended in a named state, closed whatever happens in between."""

from __future__ import annotations

import asyncio
import gc
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from privity.common.errors import PrivityError
from privity.common.protocol.steps import Close
from privity.common.runs.run_request import parse_request
from privity.curator.announcements import Announcements
from privity.curator.run_queue import Runs
from privity.curator.run_state_machine import COMPLETED, DISCARDED, FAILED, QUEUED, RUNNING, STOPPED
from tests.harness.consortium import TestConsortium, make_consortium, open_policy
from tests.harness.network import NetworkConsortium

pytestmark = pytest.mark.process

REQUEST = {"format_version": 1, "algorithm": "one-way", "epsilon": "1", "tolerate": 1, "key_bits": 2048}


def request(**changes: object) -> bytes:
    return json.dumps({**REQUEST, **changes}).encode()


def consortium_for_runs(**options: object) -> TestConsortium:
    return make_consortium(2, domain=(2, 3), rows=20, **options)


async def end_of(runs: Runs, name: str) -> tuple[str, str]:
    async for run in runs.watch(name):
        state, reason = run.state, run.reason
    return state, reason


def test_a_run_from_submission_to_release(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = consortium_for_runs()
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            name = network.submit("token", request())
            assert network.submit("token", request()) == name, "the same token names the same run"
            with pytest.raises(PrivityError, match="another request"):
                network.submit("token", request(epsilon="2"))
            assert await end_of(runs, name) == (COMPLETED, "")
            assert {p.name for p in runs.release_files(name)} >= {"synthetic.csv", "run.json"}
            for party in consortium.parties.values():
                assert party.journal.keys(f"{name}/") == []
            assert runs._journal.keys(f"{name}/") == [], "the run's secrets are erased"
            shutil.rmtree(tmp_path / "curator" / "releases" / name)
            with pytest.raises(PrivityError, match="deleted at the curator"):
                runs.release_files(name)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"algorithm": "magic"}, "unknown"),
        ({"tolerate": 2}, "2 colluding"),
        ({"epsilon": "0"}, "is not from 0.000001 to 100"),
        ({"epsilon": "0.33333333333333333"}, "too many digits"),
        ({"key_bits": 512}, "key_bits"),
        ({"settings": {"theta": "6"}}, "no such setting"),
        ({"more": 1}, "unknown key 'more'"),
        ({"rows": 0}, "rows"),
        ({"algorithm": "discover"}, "leaves the domain of no number open"),
    ],
)
def test_a_bad_request_is_refused_before_any_party_is_asked(tmp_path: Path, change: dict, said: str) -> None:
    async def scenario() -> None:
        consortium = consortium_for_runs()
        async with NetworkConsortium(tmp_path, consortium) as network:
            with pytest.raises(PrivityError, match=said):
                network.submit("token", request(**change))

    asyncio.run(scenario())


def test_more_rows_than_a_release_can_have_are_refused_before_anything_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    consortium = make_consortium(3, domain=(8,) * 12)
    with pytest.raises(PrivityError, match="a release of 12 attributes has 22369621 at most"):
        consortium.drive(tmp_path / "release", algorithm="one-way", rows=100_000_000)
    monkeypatch.setattr("privity.common.release.synthetic_rows.MOST_RELEASE_CELLS", 12 * 179)
    with pytest.raises(PrivityError, match=r"the parties state 180 rows \(party-1 60\)") as found:
        consortium.drive(tmp_path / "release", run="run-2", algorithm="one-way")
    assert found.value.remedy == "Give --rows, with 179 or fewer."
    assert {party.ledger.spent() for party in consortium.parties.values()} == {0}
    consortium.drive(tmp_path / "release", run="run-3", algorithm="one-way", rows=179)
    assert len((tmp_path / "release" / "synthetic.csv").read_text().splitlines()) == 180


def test_the_size_of_a_release_counts_the_attributes_that_the_run_is_about() -> None:
    consortium = make_consortium(2, domain=(2,) * 3)
    rows = parse_request(request(rows=100_000_000, attributes=list(consortium.schema.names[:2])))
    rows.check(consortium.manifest, consortium.schema)
    with pytest.raises(PrivityError, match="rows"):
        replace(rows, attributes=None).check(consortium.manifest, consortium.schema)


def test_a_partys_refusal_is_the_reason_of_the_end(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = consortium_for_runs(policies={"party-2": open_policy(algorithms=("dp-subn",))})
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            state, reason = await end_of(runs, network.submit("token", request()))
            assert state == FAILED
            assert "party-2 refuses" in reason
            # The curator lives on and the next run completes.
            other = network.submit("another", request(algorithm="dp-subn"))
            assert (await end_of(runs, other))[0] == COMPLETED

    asyncio.run(scenario())


async def stopped_ones(network: NetworkConsortium, *, discard: bool = False) -> tuple[str, str]:
    """One run that was at work and one that was queued, each stopped twice."""
    runs = network.server.runs
    running, queued = network.submit("one", request()), network.submit("two", request())
    await asyncio.sleep(1.0)
    for _ in range(2):
        runs.stop(running, discard=discard)
        runs.stop(queued, discard=discard)
        await asyncio.sleep(0.2)
    return running, queued


def test_runs_that_are_discarded_end_so_and_nothing_of_them_is_kept(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = consortium_for_runs()
        async with NetworkConsortium(tmp_path, consortium) as network:
            await network.stop_agent("party-2")
            runs = network.server.runs
            names = await stopped_ones(network, discard=True)
            network.start_agent("party-2")
            for name in names:
                assert await end_of(runs, name) == (DISCARDED, "discarded by the operator")
                assert runs._journal.keys(f"{name}/") == []
                with pytest.raises(PrivityError, match="ended for good: discarded"):
                    runs.resume(name)
            for party in consortium.parties.values():
                assert party.ledger.spent() <= 1

    asyncio.run(scenario())


@pytest.mark.parametrize("restarted", [pytest.param(False, marks=pytest.mark.long), True])
def test_stopped_runs_are_resumed_where_they_were(tmp_path: Path, restarted: bool) -> None:
    async def scenario() -> None:
        consortium = consortium_for_runs(folder=tmp_path)
        async with NetworkConsortium(tmp_path, consortium) as network:
            await network.stop_agent("party-2")
            runs = network.server.runs
            names = await stopped_ones(network)
            for name in names:
                assert (await end_of(runs, name)) == (STOPPED, "stopped by the operator")
            if not restarted:
                network.start_agent("party-2")
                await resumed(runs, names)
        if restarted:
            async with NetworkConsortium(tmp_path, consortium) as network:
                assert {run.state for run in network.server.runs.all()} == {STOPPED}, "they do not go on by themselves"
                await resumed(network.server.runs, names)
        for party in consortium.parties.values():
            assert party.ledger.spent() == 2

    async def resumed(runs: Runs, names: tuple[str, str]) -> None:
        for name in names:
            runs.resume(name)
            runs.resume(name)
        for name in names:
            assert (await end_of(runs, name))[0] == COMPLETED
            runs.stop(name)
            assert runs.get(name).state == COMPLETED

    asyncio.run(scenario())


def test_a_run_that_is_resumed_before_it_could_stop_goes_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = consortium_for_runs()
        async with NetworkConsortium(tmp_path, consortium) as network:
            await network.stop_agent("party-2")
            runs = network.server.runs
            name = network.submit("one", request())
            while not runs.awaited(runs.get(name)):
                await asyncio.sleep(0.05)
            runs.stop(name)
            runs.resume(name)
            network.start_agent("party-2")
            while runs.get(name).state != COMPLETED:
                assert runs.get(name).state != FAILED, runs.get(name).reason
                await asyncio.sleep(0.05)

    asyncio.run(scenario())


def test_a_run_whose_end_could_not_be_brought_about_is_taken_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privity.curator.run_queue.ROOM_SECONDS", 0.1)
    ended, failed = Announcements.ended, []

    async def failing(self: Announcements, run: str) -> set[str]:
        if not failed:
            failed.append(run)
            raise OSError("the disk said something that nobody foresaw")
        return await ended(self, run)

    monkeypatch.setattr(Announcements, "ended", failing)

    async def scenario() -> None:
        consortium = consortium_for_runs()
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            assert (await end_of(runs, network.submit("one", request())))[0] == COMPLETED
        assert len(failed) == 1

    asyncio.run(scenario())


def test_a_stopped_run_can_be_discarded_afterwards(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = consortium_for_runs()
        async with NetworkConsortium(tmp_path, consortium) as network:
            await network.stop_agent("party-2")
            runs = network.server.runs
            name, _ = await stopped_ones(network)
            assert runs._journal.keys(f"{name}/")
            network.start_agent("party-2")
            runs.stop(name, discard=True)
            while runs._journal.recall(f"#closed/{name}", "closed") is None:
                await asyncio.sleep(0.05)
            assert runs._journal.keys(f"{name}/") == []
            assert runs.get(name).reason == "discarded by the operator"

    asyncio.run(scenario())


def test_a_silent_party_stops_the_run_which_can_be_resumed(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = consortium_for_runs()
        async with NetworkConsortium(tmp_path, consortium, patience=2.0) as network:
            await network.stop_agent("party-2")
            runs = network.server.runs
            name = network.submit("one", request())
            await asyncio.sleep(1.5)
            (awaited,) = runs.awaited(runs.get(name))
            assert (awaited.party, awaited.step) == ("party-2", "enrol")
            state, reason = await end_of(runs, name)
            assert state == STOPPED
            assert "no answer from party-2" in reason
            assert f"privity run resume {name}" in runs.get(name).remedy
            network.start_agent("party-2")
            runs.resume(name)
            assert (await end_of(runs, name))[0] == COMPLETED
            for party in consortium.parties.values():
                assert party.ledger.spent() == 1

    asyncio.run(scenario())


def test_a_curator_that_stops_takes_its_run_up_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = consortium_for_runs(folder=tmp_path)
        async with NetworkConsortium(tmp_path, consortium) as network:
            await network.stop_agent("party-2")
            name = network.submit("token", request())
            await asyncio.sleep(1.0)
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            assert (await end_of(runs, name))[0] == COMPLETED
        for party in consortium.parties.values():
            assert party.ledger.spent() == 1

    asyncio.run(scenario())


def test_a_curator_that_dies_before_telling_the_parties_tells_them_at_its_next_start(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = consortium_for_runs(folder=tmp_path)
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            desk, tell = network.server.desk, network.server.desk.tell

            def dead_before_close(party, step):
                if isinstance(step, Close):
                    return asyncio.get_running_loop().create_future()
                return tell(party, step)

            desk.tell = dead_before_close
            name = network.submit("token", request())
            while runs._journal.recall(f"#ended/{name}", "ended") is None:
                await asyncio.sleep(0.05)
            assert consortium.parties["party-1"].journal.keys(f"{name}/")
        async with NetworkConsortium(tmp_path, consortium) as network:
            assert (await end_of(network.server.runs, name))[0] == COMPLETED
            assert consortium.parties["party-1"].journal.keys(f"{name}/") == []
            assert network.server.runs._journal.keys(f"{name}/") == []

    asyncio.run(scenario())


@pytest.mark.parametrize("name", ["token", "ended", "stopped", "closed"])
def test_no_name_of_a_run_reaches_the_curators_own_marks(tmp_path: Path, name: str) -> None:
    async def scenario() -> None:
        consortium = consortium_for_runs(folder=tmp_path)
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            before = network.submit("before", request())
            runs.stop(before)
            assert network.submit("token", request(), name) == name
            with pytest.raises(PrivityError, match="another run is called"):
                network.submit("other", request(), name)
            assert (await end_of(runs, name))[0] == COMPLETED
        async with NetworkConsortium(tmp_path, consortium) as network:
            assert [(r.name, r.state) for r in network.server.runs.all()] == [(before, STOPPED), (name, COMPLETED)]

    asyncio.run(scenario())


def test_a_discard_that_a_restart_overtakes_is_not_lost(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = consortium_for_runs(folder=tmp_path)
        async with NetworkConsortium(tmp_path, consortium) as network:
            await network.stop_agent("party-2")
            runs = network.server.runs
            name, _ = await stopped_ones(network)
            network.submit("busy", request())
            await asyncio.sleep(0.5)
            runs.stop(name, discard=True)
        async with NetworkConsortium(tmp_path, consortium) as network:
            assert await end_of(network.server.runs, name) == (DISCARDED, "discarded by the operator")
            assert network.server.runs._journal.keys(f"{name}/") == []

    asyncio.run(scenario())


@pytest.mark.parametrize("discard", [False, True])
def test_a_stop_in_the_moment_of_the_start_is_a_stop(tmp_path: Path, discard: bool) -> None:
    async def scenario() -> None:
        consortium = consortium_for_runs()
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            name = network.submit("token", request())
            while name not in runs._tasks:
                await asyncio.sleep(0)
            runs.stop(name, discard=discard)
            state, reason = await asyncio.wait_for(end_of(runs, name), 20)
            assert state == (DISCARDED if discard else STOPPED)
            assert reason.startswith("discarded" if discard else "stopped")
            if not discard:
                runs.resume(name)
                assert (await asyncio.wait_for(end_of(runs, name), 20))[0] == COMPLETED

    asyncio.run(scenario())


def test_what_a_run_waits_for_is_told_in_steps_of_ten_seconds(tmp_path: Path) -> None:
    """Else whoever asks often would time each party's counting."""

    async def scenario() -> None:
        consortium = consortium_for_runs()
        async with NetworkConsortium(tmp_path, consortium) as network:
            await network.stop_agent("party-2")
            runs = network.server.runs
            run = runs.get(network.submit("token", request()))
            while run.state != "RUNNING" or not network.server.desk.awaited(run.name):
                await asyncio.sleep(0.01)
            seen = runs.awaited(run)
            assert seen
            desk = network.server.desk.awaited
            network.server.desk.awaited = lambda _run: []
            assert runs.awaited(run) == seen, "it is answered meanwhile, and that is not told yet"
            runs._lately._seen.clear()
            assert runs.awaited(run) == []
            network.server.desk.awaited = desk

    asyncio.run(scenario())


def test_a_curator_that_ends_begins_no_other_run(tmp_path: Path) -> None:
    """The run at work is interrupted, and the next in the queue stays there for the next start."""
    lost: list[dict[str, Any]] = []

    async def scenario() -> list[str]:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: lost.append(context))
        async with NetworkConsortium(tmp_path, consortium_for_runs(), dialling=False, runs_at_once=1) as network:
            runs = network.server.runs
            names = [network.submit(token, request()) for token in ("first", "second")]
            while runs.get(names[0]).state != RUNNING:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        return [runs.get(name).state for name in names]

    assert asyncio.run(scenario()) == [RUNNING, QUEUED]
    # A task that failed unseen is told of when it is collected.
    gc.collect()
    assert lost == []
