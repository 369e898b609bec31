"""Runs side by side over real nodes: each gives what it gives alone, whatever waits, stops or starts beside it."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from privity.common.crypto import paillier
from privity.common.protocol.steps import Close, Stopped
from privity.common.text.awaited_words import OWNER
from privity.common.wire.codec import decode_step
from privity.curator import run_driver
from privity.curator.pending_steps import Desk
from privity.curator.run_state_machine import COMPLETED, DISCARDED, EXPIRED, QUEUED, RUNNING, STOPPED, WAITING
from privity.deploy.operator.operator_folder import client_of
from privity.deploy.operator.run_status import explained
from privity.party.approvals import Approvals
from privity.party.policy import Approval
from tests.curator.test_run_driver import end_of, request
from tests.harness.consortium import TestConsortium, make_consortium, open_policy
from tests.harness.network import NetworkConsortium
from tests.interfaces.cli.test_run import operator_of

pytestmark = pytest.mark.process

ASKS = {"party-2": open_policy(approval=Approval.MANUAL)}
REQUESTS = {
    "masks": request(algorithm="dp-subn", key_bits=None, secure_sum="masks"),
    "paillier": request(),
    "models": request(algorithm="independent", key_bits=None, secure_sum="masks"),
}


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.02)


def approve(consortium: TestConsortium, run: str) -> None:
    approvals: Approvals = consortium.parties["party-2"].engine._approvals
    approvals.approve(run, approvals.of(run).spec.digest)


async def released(network: NetworkConsortium) -> dict[str, dict[str, Any]]:
    """Every run to its end: the files of its release but for the run's own digests, which depend on keys."""
    runs, found = network.server.runs, {}
    for name, asked in REQUESTS.items():
        network.submit(name, asked, name)
    for name in REQUESTS:
        assert await end_of(runs, name) == (COMPLETED, "")
        files = {path.name: path for path in runs.release_files(name)}
        document = json.loads(files["run.json"].read_text())
        document.pop("plan_digest")
        found[name] = {"run.json": document} | {
            file: files[file].read_bytes() for file in ("synthetic.csv", "model.json", "marginals.json", "schema.json")
        }
    return found


def test_runs_side_by_side_give_what_they_give_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models, tables, and the figures of run.json: bytes, rounds, cells and ciphertexts of each run are its own."""
    monkeypatch.setattr(run_driver, "secrets", SimpleNamespace(randbits=lambda _bits: 5))
    pair = paillier.generate_keypair(2048)
    monkeypatch.setattr(run_driver.paillier, "generate_keypair", lambda *_bits, **_options: pair)
    found, most = [], []
    first = make_consortium(3, seed=1)
    for at_once in (1, 3):
        folder = tmp_path / str(at_once)
        folder.mkdir()
        identities = {name: party.identity for name, party in first.parties.items()}
        consortium = make_consortium(3, seed=1, identities=identities, tls=first.tls)

        async def scenario(folder=folder, consortium=consortium, at_once=at_once) -> dict[str, Any]:
            async with NetworkConsortium(folder, consortium, runs_at_once=at_once) as network:
                runs, seen = network.server.runs, [0]

                async def watch() -> None:
                    while True:
                        seen.append(sum(run.state == RUNNING for run in runs.all()))
                        await asyncio.sleep(0.005)

                watching = asyncio.create_task(watch())
                result = await released(network)
                watching.cancel()
                most.append(max(seen))
                return result

        found.append(asyncio.run(scenario()))
    assert most == [1, 3], "they were driven so"
    assert found[0] == found[1]
    assert all(run["run.json"]["bytes"] for run in found[0].values())


def test_a_run_that_waits_for_its_owner_lets_others_by_and_takes_the_next_place(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2, rows=20, policies=ASKS)
        async with NetworkConsortium(tmp_path, consortium, runs_at_once=1) as network:
            runs = network.server.runs
            names = [network.submit(name, request(), name) for name in ("first", "second", "third")]
            await until(lambda: all(runs.get(name).state == WAITING for name in names))
            approve(consortium, "third")
            assert await end_of(runs, "third") == (COMPLETED, "")
            assert [runs.get(name).state for name in names] == [WAITING, WAITING, COMPLETED]
            for name in ("second", "first"):
                approve(consortium, name)
                assert await end_of(runs, name) == (COMPLETED, "")

    asyncio.run(scenario())


def test_an_answer_that_comes_while_an_owner_is_awaited_is_counted(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2, rows=20, policies=ASKS)
        async with NetworkConsortium(tmp_path, consortium, dialling=False) as network:
            runs = network.server.runs
            run = runs.get(network.submit("autumn", request(), "autumn"))
            network.start_agent("party-2")
            await until(lambda: run.state == WAITING)
            network.start_agent("party-1")
            await until(lambda: run.progress.done == 1)
            assert run.state == WAITING

    asyncio.run(scenario())


def test_not_more_runs_wait_than_parties_keep_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privity.curator.run_queue.MOST_WAITING", 2)

    async def scenario() -> None:
        consortium = make_consortium(2, rows=20, policies=ASKS)
        async with NetworkConsortium(tmp_path, consortium, runs_at_once=1) as network:
            runs = network.server.runs
            names = [network.submit(name, request(), name) for name in ("first", "second", "third")]
            await until(lambda: [runs.get(name).state for name in names] == [WAITING, WAITING, QUEUED])
            runs.stop("first", discard=True)
            await until(lambda: runs.get("third").state == WAITING)

    asyncio.run(scenario())


def test_operator_and_owner_read_the_same_words_and_they_outlive_the_curator(tmp_path: Path) -> None:
    async def said(network: NetworkConsortium) -> str:
        await until(lambda: network.server.runs.get("autumn").state == WAITING)
        status = await asyncio.to_thread(client_of(operator_of(network)).why, "autumn")
        assert (status.state, status.since) == ("WAITING", status.awaited[0].since)
        return "\n".join(explained(status))

    async def scenario() -> None:
        consortium = make_consortium(2, rows=20, policies=ASKS, folder=tmp_path)
        approvals = consortium.parties["party-2"].engine._approvals
        async with NetworkConsortium(tmp_path, consortium) as network:
            network.submit("autumn", request(), "autumn")
            words = await said(network)
            owner = approvals.of("autumn").in_words("party-2")
            assert owner.startswith(f"awaits party-2: {OWNER}, since 20")
            assert f"It {owner}." in words
        async with NetworkConsortium(tmp_path, consortium, dialling=False) as network:
            shutil.rmtree(tmp_path / "operator")
            # The party is away, and the curator knows from before what it waits for.
            network.start_agent("party-1")
            network.server.desk._started -= 20
            words = await said(network)
            assert f"It {owner}; nothing was heard of party-2 since 20" in words
            assert "at work" not in words
            assert network.server.runs.notes(network.server.runs.get("autumn"))[0].startswith(owner)

    asyncio.run(scenario())


@pytest.mark.parametrize("away", [pytest.param(False, marks=pytest.mark.long), True])
@pytest.mark.parametrize("end", [STOPPED, DISCARDED, EXPIRED])
def test_a_run_that_goes_on_no_more_waits_at_no_party(tmp_path: Path, end: str, away: bool) -> None:
    """Parties that are away are told at their next connection, also by a curator that started again meanwhile."""

    async def scenario() -> None:
        consortium = make_consortium(2, rows=20, policies=ASKS, folder=tmp_path)
        approvals = consortium.parties["party-2"].engine._approvals
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            run = runs.get(network.submit("autumn", request(), "autumn"))
            await until(lambda: run.state == WAITING)
            if away:
                await network.stop_agent("party-2")
            if end == EXPIRED:
                runs._journal._db.execute("UPDATE entries SET at = at - 1000")
                runs._taken_up.clear()
                runs._leases._lease, runs._leases.every = 1.0, 0.1
                worker = asyncio.create_task(runs.expire())
                await until(lambda: run.state == EXPIRED)
                worker.cancel()
            else:
                runs.stop("autumn", discard=end == DISCARDED)
            assert run.state == end, "at once"
            await end_of(runs, "autumn")
            if away:
                assert approvals.of("autumn").waits, "it cannot know yet"
                assert bool(runs._marks.untold()) == (end != STOPPED)
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            await until(lambda: not approvals.of("autumn").waits)
            assert approvals.of("autumn").in_words("party-2") == f"{end}, since {runs.get('autumn').since}"
            await until(lambda: not runs._marks.untold())
            if end == STOPPED:
                runs.resume("autumn")
                await until(lambda: approvals.of("autumn").waits)
                approve(consortium, "autumn")
                assert await end_of(runs, "autumn") == (COMPLETED, "")
                assert approvals.of("autumn").in_words("party-2") == f"COMPLETED, since {runs.get('autumn').since}"

    asyncio.run(scenario())


def test_steps_of_runs_come_by_turns() -> None:
    async def scenario() -> list[str]:
        desk = Desk(patience=100)
        asking = [
            asyncio.create_task(desk.ask("party-1", step, "p"))
            for step in (Close("long", "a"), Stopped("long", ""), Close("short", "a"))
        ]
        await asyncio.sleep(0)
        given = [decode_step(await desk.next_step("party-1", 0) or b"").run for _ in range(4)]
        for task in asking:
            task.cancel()
        return given

    assert asyncio.run(scenario()) == ["long", "short", "long", "short"]


def test_a_curator_that_ends_with_several_runs_at_work_goes_on_with_all(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(3, rows=20, folder=tmp_path)
        async with NetworkConsortium(tmp_path, consortium) as network:
            await network.stop_agent("party-3")
            runs = network.server.runs
            for name, asked in REQUESTS.items():
                network.submit(name, asked, name)
            await until(lambda: sum(run.state == RUNNING for run in runs.all()) == 2)
            await asyncio.sleep(0.3)
            runs.stop("masks")
            await until(lambda: runs.get("models").state == RUNNING)
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            assert [run.state for run in runs.all()] == [STOPPED, QUEUED, QUEUED]
            runs.resume("masks")
            for name in REQUESTS:
                assert await end_of(runs, name) == (COMPLETED, "")
        for party in consortium.parties.values():
            assert all(0 < party.ledger.spent(name) <= 1 for name in REQUESTS)

    asyncio.run(scenario())
