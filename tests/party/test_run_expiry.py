"""A run in which nothing moves ends EXPIRED at the curator, and a party lets go of what it no longer hears of."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from unittest.mock import ANY

import pytest

from privity.common.consortium.manifest_file import ManifestFile
from privity.common.consortium.schema_file import SchemaFile
from privity.common.errors import PrivityError
from privity.common.protocol.steps import Begin, Contribute, Done, Enrol, Pending, Refusal
from privity.common.text.awaited_words import OWNER
from privity.curator.metrics import CuratorMetrics
from privity.curator.pending_steps import Desk
from privity.curator.run_queue import Runs
from privity.curator.run_state_machine import AT_WORK, COMPLETED, EXPIRED, STOPPED, WAITING
from privity.party.config import DAY
from privity.party.policy import Approval
from privity.party.step_answers import PartyEngine
from tests.common.protocol.test_secure_sum import round_of
from tests.curator.test_full_disk import fill, fill_pages
from tests.curator.test_run_driver import consortium_for_runs, end_of, request
from tests.harness.consortium import TestConsortium, make_consortium, open_policy
from tests.harness.network import NetworkConsortium, submit_signed

LEASE = 3.0


def age(journal, seconds: float) -> None:
    """As if everything had been written so much earlier."""
    journal._db.execute("UPDATE entries SET at = at - ?", (seconds,))


def let_go(engine: PartyEngine, lease: float) -> None:
    """As the node does: twice, with a while between."""
    for _ in range(2):
        engine.let_go(lease)
        engine._heard._silent = {run: found - lease for run, found in engine._heard._silent.items()}


async def until(condition) -> None:
    while not condition():
        await asyncio.sleep(0.02)


@pytest.mark.process
def test_a_run_that_waits_for_a_yes_that_does_not_come_expires_and_holds_nothing_up(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = consortium_for_runs(policies={"party-2": open_policy(approval=Approval.MANUAL)})
        async with NetworkConsortium(tmp_path, consortium, lease=LEASE, runs_at_once=1) as network:
            runs = network.server.runs
            first, second = network.submit("one", request()), network.submit("two", request(tolerate=1, rows=5))
            await until(lambda: consortium.parties["party-2"].engine.awaits(second))
            assert runs.get(first).state == WAITING
            approvals = consortium.parties["party-2"].engine._approvals
            approvals.approve(second, approvals.of(second).spec.digest)
            assert await end_of(runs, second) == (COMPLETED, "")
            state, reason = await end_of(runs, first)
            assert state == EXPIRED
            assert "party-2 (the approval of its owner)" in reason
            await until(lambda: not runs._journal.keys(f"{first}/"))
            with pytest.raises(PrivityError, match="ended for good"):
                runs.resume(first)
            for party in consortium.parties.values():
                await until(lambda party=party: not party.journal.keys(f"{first}/"))
                assert party.ledger.spent(first) == 0

    asyncio.run(scenario())


@pytest.mark.process
def test_a_stopped_run_expires_unless_it_is_resumed_and_a_resumption_begins_the_lease_anew(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = consortium_for_runs(policies={"party-2": open_policy(approval=Approval.MANUAL)})
        async with NetworkConsortium(tmp_path, consortium, lease=10.0) as network:
            runs = network.server.runs
            name = network.submit("one", request())
            await until(lambda: runs.get(name).state == WAITING and runs._journal.keys(f"{name}/answer/"))
            runs.stop(name)
            assert (await end_of(runs, name))[0] == STOPPED
            age(runs._journal, 90.0)
            moved = runs._marks.moved(name)
            runs.resume(name)
            assert runs._marks.moved(name) > moved + 60.0
            runs.stop(name)
            assert (await end_of(runs, name))[0] == STOPPED
            age(runs._journal, 200.0)
            runs._leases._lease = LEASE
            await until(lambda: runs.get(name).state == EXPIRED)
            assert "a resumption: stopped by the operator" in runs.get(name).reason
            for party in consortium.parties.values():
                await until(lambda party=party: not party.journal.keys(f"{name}/"))

    asyncio.run(scenario())


@pytest.mark.process
def test_a_stopped_runs_lease_goes_on_while_the_curator_is_down_and_a_running_ones_begins_anew(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = consortium_for_runs(folder=tmp_path, policies={"party-2": open_policy(approval=Approval.MANUAL)})
        async with NetworkConsortium(tmp_path, consortium, lease=10.0) as network:
            runs = network.server.runs
            stopped = network.submit("one", request())
            await until(lambda: runs._journal.keys(f"{stopped}/answer/"))
            runs.stop(stopped)
            assert (await end_of(runs, stopped))[0] == STOPPED
            running = network.submit("two", request())
            await until(lambda: runs._journal.keys(f"{running}/answer/"))
            age(runs._journal, 200.0)
        async with NetworkConsortium(tmp_path, consortium, lease=10.0) as network:
            runs = network.server.runs
            await until(lambda: runs.get(stopped).state == EXPIRED or runs._marks.end(stopped) is not None)
            assert runs._marks.end(stopped).state == EXPIRED
            assert runs.get(running).state in AT_WORK
            assert runs._marks.end(running) is None

    asyncio.run(scenario())


def test_a_queued_run_does_not_expire(tmp_path: Path) -> None:
    consortium = consortium_for_runs()
    with_files = NetworkConsortium(tmp_path, consortium)
    manifests = ManifestFile(with_files.folder / "manifest.json", with_files.folder / "organiser.pub")
    desk, schemas = Desk(1.0), SchemaFile(tmp_path / "unused", consortium.schema)

    async def scenario() -> None:
        runs = Runs(tmp_path / "other", manifests, schemas, desk, CuratorMetrics(_registry()), 0.1)
        name = submit_signed(runs, consortium.operator, "one", request())
        age(runs._journal, 10.0)
        expiry = asyncio.create_task(runs.expire())
        await asyncio.sleep(0.1)
        assert runs.get(name).state == "QUEUED"
        expiry.cancel()

    asyncio.run(scenario())


def _registry():
    from prometheus_client import CollectorRegistry

    return CollectorRegistry()


def begun(tmp_path: Path, **options) -> tuple[TestConsortium, object]:
    consortium = make_consortium(folder=tmp_path, **options)
    return consortium, consortium.begin()


def test_a_party_erases_a_run_of_which_it_hears_no_more_and_its_charges_stay(tmp_path: Path) -> None:
    consortium, plan = begun(tmp_path)
    round_ = round_of(plan)
    consortium.seal(round_, consortium.attempt(round_))
    party = consortium.parties["party-2"]
    let_go(party.engine, 60.0)
    assert party.journal.keys("run-1/vector/")
    age(party.journal, 61.0)
    let_go(party.engine, 60.0)
    assert party.journal.keys("run-1/") == []
    assert party.ledger.spent() == 1
    for again in (party, consortium.restart("party-2")):
        reply = consortium.tell(again.name, Contribute(round_of(plan, "2")))
        assert isinstance(reply, Refusal)
        assert "the run is closed" in reply.message
    assert party.ledger.spent() == 1


def test_a_run_that_is_heard_of_does_not_expire_at_the_party(tmp_path: Path) -> None:
    consortium, plan = begun(tmp_path)
    party = consortium.parties["party-2"]
    age(party.journal, 100.0)
    consortium.tell("party-2", Contribute(round_of(plan)))
    let_go(party.engine, 60.0)
    assert party.journal.keys("run-1/vector/")


def test_a_run_that_waited_too_long_for_its_owner_is_forgotten_and_a_no_is_not(tmp_path: Path) -> None:
    consortium = make_consortium(folder=tmp_path, policies={"party-2": open_policy(approval=Approval.MANUAL)})
    party = consortium.parties["party-2"]
    approvals = party.engine._approvals
    for name in ("waits", "rejected", "fresh"):
        if name == "fresh":
            age(party.journal, 100.0)
        consortium.tell("party-2", Enrol(consortium.spec(run=name)))
        if name == "rejected":
            approvals.reject(name)
    let_go(party.engine, 60.0)
    assert [(filed.spec.run, filed.state) for filed in approvals.filed()] == [
        ("waits", "ended"), ("rejected", "rejected"), ("fresh", "waits for approval"),
    ]  # fmt: skip


@pytest.mark.process
def test_the_node_lets_go_without_any_curator(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium, _ = begun(tmp_path)
        network = NetworkConsortium(tmp_path, consortium)
        network.port = 1  # nobody is there
        (tmp_path / "party-2-manifest.json").write_bytes((tmp_path / "manifest.json").read_bytes())
        journal = consortium.parties["party-2"].journal
        age(journal, 100.0)
        network.start_agent("party-2", lease_days=10.0 / DAY)
        await until(lambda: not journal.keys("run-1/"))
        await network.stop_agent("party-2")

    started = time.monotonic()
    asyncio.run(asyncio.wait_for(scenario(), 60))
    assert time.monotonic() > started


def test_one_wrong_reading_of_the_clock_erases_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    consortium, _ = begun(tmp_path)
    party = consortium.parties["party-2"]
    with monkeypatch.context() as wrong:
        now = time.time()
        wrong.setattr(time, "time", lambda: now + 1000.0)
        party.engine.let_go(60.0)
        party.engine.let_go(60.0)
    let_go(party.engine, 60.0)
    assert party.journal.keys("run-1/")


def test_a_step_that_is_repeated_is_a_word_about_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privity.party.run_expiry.HEARD_SECONDS", 50.0)
    consortium, plan = begun(tmp_path)
    party = consortium.parties["party-2"]
    age(party.journal, 100.0)
    assert consortium.tell("party-2", Begin(plan)) == Done()
    let_go(party.engine, 60.0)
    assert party.journal.keys("run-1/")


def test_a_yes_of_which_nothing_came_is_forgotten(tmp_path: Path) -> None:
    consortium = make_consortium(folder=tmp_path, policies={"party-2": open_policy(approval=Approval.MANUAL)})
    party = consortium.parties["party-2"]
    approvals = party.engine._approvals
    consortium.tell("party-2", Enrol(consortium.spec()))
    approvals.approve("run-1", approvals.of("run-1").spec.digest)
    age(party.journal, 100.0)
    let_go(party.engine, 60.0)
    assert approvals.of("run-1").end[0] == "EXPIRED"
    assert not approvals.of("run-1").approved
    assert consortium.tell("party-2", Enrol(consortium.spec())) == Pending(OWNER, ANY)


def test_what_cannot_be_erased_now_does_not_end_the_node(tmp_path: Path) -> None:
    consortium, _ = begun(tmp_path)
    party = consortium.parties["party-2"]
    age(party.journal, 100.0)
    make_room = fill(party.journal)
    fill_pages(party.journal)
    let_go(party.engine, 60.0)
    assert party.journal.keys("run-1/")
    make_room()
    let_go(party.engine, 60.0)
    assert party.journal.keys("run-1/") == []
