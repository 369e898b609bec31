"""Runs over parties one of which has its rows in PostgreSQL: its server stops, its rows change, its node restarts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from privity.common.protocol.steps import Begin, Contribute, Done, Enrol, Enrolled, Refusal
from privity.curator.run_state_machine import COMPLETED, FAILED, RUNNING
from privity.party.charged_releases import ChargedReleases
from privity.party.keys import Keys
from privity.party.run_admission import CHANGED
from privity.party.sources.address import parse_address
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.open_rows import Opened, open_rows
from privity.party.sources.rows import Rows
from privity.party.step_answers import PartyEngine
from tests.common.protocol.test_secure_sum import round_of
from tests.curator.test_run_driver import end_of, request
from tests.harness import postgresql
from tests.harness.consortium import TestConsortium, make_consortium, seeded
from tests.harness.long import long_but
from tests.harness.network import NetworkConsortium
from tests.harness.stores import put

pytestmark = pytest.mark.external

SEED = 5
MEMORY = 1 << 28
NAME = "party-2"
RUN = request(algorithm="dp-subn", settings={"frontier": "always"})


@pytest.fixture
def server() -> Iterator[postgresql.Server]:
    with postgresql.server() as running:
        yield running


def consortium_of(folder: Path | None = None) -> TestConsortium:
    return make_consortium(2, domain=(2, 3, 2), rows=60, seed=SEED, folder=folder)


def moved(consortium: TestConsortium, server: postgresql.Server, folder: Path, hold: Hold) -> Opened:
    """The second party's rows, in PostgreSQL."""
    table = consortium.parties[NAME].table
    names = consortium.schema.names
    rows = [dict(zip(names, map(str, codes), strict=True)) for codes in zip(*table.columns, strict=True)]
    address = parse_address(put("postgresql", folder / "moved", rows, server))
    return open_rows(address, consortium.schema, Access(hold, MEMORY, cache=folder / "coded"))


def start_with(consortium: TestConsortium, rows: Rows) -> None:
    """Start the second party again, from its files if it has any, with these rows."""
    old = consortium.parties[NAME]
    consortium.restart(NAME) if consortium.folder else None
    new = consortium.parties[NAME]
    new.releases = ChargedReleases(NAME, rows, new.journal, new.ledger, seeded(SEED, NAME))
    new.engine = PartyEngine(
        new.releases, lambda: consortium.policies[NAME], Keys(NAME, old.identity), consortium.manifest
    )


def before_question(found: Opened, number: int, happen: Callable[[], None]) -> list[str]:
    """Something that happens right before the server is asked for the so-manieth time; gives what was asked."""
    assert found.store is not None
    asked: list[str] = []
    answer = found.store.rows

    def rows(query: str) -> object:
        asked.append(query)
        if len(asked) == number:
            happen()
        return answer(query)

    found.store.rows = rows  # type: ignore[method-assign, assignment]
    return asked


def opened_tables(network: NetworkConsortium, name: str) -> dict[str, str]:
    files = {file.name: file for file in network.server.runs.release_files(name)}
    return {kind: files[kind].read_text() for kind in ("marginals.json", "model.json")}


@pytest.mark.long
def test_a_run_waits_for_rows_whose_server_stops_and_is_that_of_an_undisturbed_one(
    server: postgresql.Server, tmp_path: Path
) -> None:
    async def run_of(consortium: TestConsortium, folder: Path, *, stops: bool) -> dict[str, str]:
        await asyncio.to_thread(folder.mkdir)
        async with NetworkConsortium(folder, consortium) as network:
            served = network.server.runs
            name = network.submit("one", RUN, "the-run")
            if stops:
                while not served.notes(served.get(name)):
                    assert served.get(name).state in ("QUEUED", RUNNING), served.get(name).reason
                    await asyncio.sleep(0.02)
                (note,) = served.notes(served.get(name))
                assert note.startswith(f"awaits {NAME}: its rows, since 20")
                charged = consortium.parties[NAME].ledger.spent()
                await asyncio.sleep(2.5)
                assert consortium.parties[NAME].ledger.spent() == charged, "a step that waits is charged once"
                await asyncio.to_thread(server.start)
            assert await end_of(served, name) == (COMPLETED, "")
            return opened_tables(network, name)

    undisturbed = consortium_of()
    expected = asyncio.run(run_of(undisturbed, tmp_path / "undisturbed", stops=False))
    disturbed = consortium_of()
    found = moved(disturbed, server, tmp_path, Hold.STORE)
    start_with(disturbed, found.rows)
    asked = before_question(found, 2, server.stop)
    assert asyncio.run(run_of(disturbed, tmp_path / "disturbed", stops=True)) == expected
    assert len(asked) > 2
    for name, party in disturbed.parties.items():
        assert party.ledger.spent() == undisturbed.parties[name].ledger.spent()


@pytest.mark.parametrize("question", [1, 2])
def test_a_run_whose_rows_change_fails_and_says_nothing_of_where_they_are(
    question: int, server: postgresql.Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    consortium = consortium_of()
    found = moved(consortium, server, tmp_path, Hold.STORE)
    start_with(consortium, found.rows)
    before_question(found, question, lambda: server.execute("UPDATE visits SET \"A0\" = '1' WHERE \"A0\" = '0'"))

    async def scenario() -> list[str]:
        async with NetworkConsortium(tmp_path, consortium) as network:
            served = network.server.runs
            name = network.submit("one", RUN)
            state, reason = await end_of(served, name)
            assert state == FAILED
            assert CHANGED in reason
            run = served.get(name)
            return [reason, run.remedy, run.last_error]

    told = asyncio.run(scenario())
    told += [str(value) for record in caplog.records for value in (record.getMessage(), *record.__dict__.values())]
    told += [message.decode(errors="replace") for _, message in consortium.recorder.received]
    assert any(CHANGED in text for text in told)
    for secret in (f":{server.port}", f"{postgresql.OWNER}@", "visits", "postgresql://", str(server.folder)):
        assert not [text for text in told if secret in text]


@pytest.mark.parametrize("hold", long_but([Hold.STORE, Hold.CACHE], Hold))
def test_a_node_that_starts_again_goes_on_with_the_same_rows_and_with_no_others(
    hold: Hold, server: postgresql.Server, tmp_path: Path
) -> None:
    consortium = consortium_of(tmp_path)
    found = moved(consortium, server, tmp_path, hold)
    start_with(consortium, found.rows)
    plan = consortium.begin()
    round_ = round_of(plan)

    def again(*statements: str) -> None:
        server.execute(*statements)
        address = parse_address(server.url("visits"))
        access = Access(hold, MEMORY, cache=tmp_path / "coded")
        start_with(consortium, open_rows(address, consortium.schema, access).rows)

    # The same rows in another order, too.
    again("CREATE TABLE others AS SELECT * FROM visits ORDER BY 3, 2, 1", "DROP TABLE visits",
          "ALTER TABLE others RENAME TO visits")  # fmt: skip
    assert consortium.tell(NAME, Begin(plan)) == Done()
    assert consortium.tell(NAME, Contribute(round_)) == Done()
    spent = consortium.parties[NAME].ledger.spent()
    again()
    assert consortium.tell(NAME, Contribute(round_)) == Done()
    again("UPDATE visits SET \"A0\" = '1' WHERE ctid = (SELECT min(ctid) FROM visits WHERE \"A0\" = '0')")
    refusal = consortium.tell(NAME, Contribute(round_of(plan, "another")))
    assert isinstance(refusal, Refusal)
    assert CHANGED in refusal.message
    assert "visits" not in refusal.message + refusal.remedy
    assert consortium.parties[NAME].ledger.spent() == spent
    # A new run is over the rows as they are now.
    spec = consortium.spec("run-2")
    assert isinstance(consortium.tell(NAME, Enrol(spec)), Enrolled)
