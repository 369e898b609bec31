"""Many runs in one process: nothing of them stays but what docs/data_model.md lists as kept for ever.

``python -m benchmarks soak`` does the same for an hour over real processes, with memory and time.
"""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.privacy.ledger import Allowance, Charge
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.runs.run_request import parse_request
from privity.common.storage.journal import Journal
from privity.curator.run_state import Run
from privity.curator.run_state_machine import COMPLETED
from privity.deploy.operator.operator_folder import client_of
from tests.curator.test_run_driver import end_of, request
from tests.harness.consortium import TestConsortium, make_consortium
from tests.harness.ledgers import charged
from tests.harness.network import NetworkConsortium
from tests.harness.places import ROOT
from tests.interfaces.cli.test_run import operator_of

pytestmark = pytest.mark.process

RUNS = 20
REQUEST = request(epsilon="1/100", key_bits=None, secure_sum="masks")
FREE = Allowance()
NOTHING = Fraction(0)


def kept_for_ever() -> tuple[set[str], set[str]]:
    """Marks that docs/data_model.md says are kept for ever: of the curator, and of a party."""
    text = (ROOT / "docs" / "data_model.md").read_text(encoding="utf-8")
    curator, party = text.split("## A run at the curator")[1].split("## A run at a party")

    def marks(section: str) -> set[str]:
        rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `#")]
        kept = [row[0] for row in rows if row[-1].startswith(("for ever", "the same"))]
        return set(re.findall(r"`(#\w+)[/`]", " ".join(kept)))

    return marks(curator), marks(party)


def kinds(journal: Journal) -> Counter[str]:
    return Counter(key.partition("/")[0] for key in journal.keys(""))


def open_handles() -> int:
    return len(os.listdir("/proc/self/fd"))


def tasks() -> Counter[str]:
    return Counter(task.get_coro().__qualname__ for task in asyncio.all_tasks())


async def soon(more: Callable[[], object]) -> None:
    """Nothing more: what is under way when a run ends (calls, signs of life) ends soon after it."""
    for _ in range(500):
        if not more():
            return
        await asyncio.sleep(0.02)
    assert not more()


async def drive(network: NetworkConsortium, tokens: Iterable[int]) -> None:
    """Runs that are all queued at once, each to its end."""
    runs = network.server.runs
    for name in [network.submit(f"token-{token}", REQUEST) for token in tokens]:
        assert await end_of(runs, name) == (COMPLETED, "")


@pytest.mark.long
def test_of_runs_that_have_ended_only_marks_are_there_and_nothing_is_open(tmp_path: Path) -> None:
    consortium = make_consortium(3, rows=20, folder=tmp_path)

    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, consortium) as network:
            await drive(network, range(3))
            await asyncio.sleep(0.5)
            handles, at_work = open_handles(), tasks()
            await drive(network, range(3, RUNS))
            await soon(lambda: max(open_handles() - handles, 0))
            await soon(lambda: tasks() - at_work)
            curator = kinds(network.server.runs._journal)
            for word in ("#heard", "#last"):  # one a party
                curator.pop(word, None)
            assert curator == dict.fromkeys(("#token", "#ended", "#closed"), RUNS) | {"#limits": 3}
            of_curator, of_party = kept_for_ever()
            assert set(curator) <= of_curator
            for party in consortium.parties.values():
                marks = dict.fromkeys(("#asked", "#attested", "#closed", "#nonce"), RUNS)
                kept = kinds(party.journal)
                assert kept.pop("#unasked") == RUNS, "for a day"
                assert kept == marks | {"#ledger": 1, "#policy": 1}
                assert set(kept) <= of_party
                assert len(charged(party.ledger)) == RUNS, "each run was charged once"

    asyncio.run(scenario())
    assert sorted(path.name for path in (tmp_path / "curator").iterdir() if path.is_dir()) == ["releases"]
    assert len(list((tmp_path / "curator" / "releases").iterdir())) == RUNS, "nothing half-written"


class Work:
    """Counts instructions of SQLite's machine: what a statement costs, whatever else the computer does."""

    def __init__(self, *connections: sqlite3.Connection) -> None:
        self.done = 0
        for connection in connections:
            connection.set_progress_handler(self._step, 1)

    def _step(self) -> None:
        self.done += 1


def add_ended_runs(consortium: TestConsortium, number: int) -> None:
    """As if every party had taken part in so many runs more, which are closed."""
    for party in consortium.parties.values():
        journal = party.journal
        (asked, *_), (closed, *_) = journal.keys("#asked/"), journal.keys("#closed/")
        for place in range(number):
            # Digests are those of a step: marks of ended runs are not looked up.
            journal.record(f"#asked/old-{place}", "asked", journal.content(asked) or b"")
            journal.record(f"#closed/old-{place}", "closed", journal.content(closed) or b"")
            party.ledger.charge(Charge(f"old-{place}", "round/a", PureDP(NOTHING, RELATION)), FREE, "party")


@pytest.mark.long
def test_a_run_costs_a_party_no_more_after_many_others(tmp_path: Path) -> None:
    consortium = make_consortium(3, rows=20, folder=tmp_path)

    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, consortium) as network:
            await drive(network, range(3))
            stores = [store._db for party in consortium.parties.values() for store in (party.journal, party.ledger)]
            work = Work(*stores)
            await drive(network, [3])
            before = work.done
            add_ended_runs(consortium, 200)
            # What was written meanwhile is read once.
            await drive(network, [4])
            work.done = 0
            await drive(network, [5])
            assert work.done <= 1.2 * before

    asyncio.run(scenario())


@pytest.mark.long
def test_a_curator_lists_a_hundred_thousand_runs(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2, domain=(2, 3), rows=20)
        async with NetworkConsortium(tmp_path, consortium) as network:
            parsed = parse_request(REQUEST)
            for number in range(100_000):
                run = Run(f"run-{number:012}", parsed, "2026-01-01T00:00:00+00:00", COMPLETED)
                network.server.runs._runs[run.name] = run
            listed = await asyncio.to_thread(client_of(operator_of(network)).runs)
            names = list(network.server.runs._runs)
            assert [run.run for run in listed.runs] == names[listed.left_out :]
            assert listed.left_out > 0

    asyncio.run(scenario())
