"""Randomness made ahead while a party waits: for one block, used once, and never in a simulation."""

from __future__ import annotations

import asyncio
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privity.common.crypto.residues import Residues
from privity.common.protocol.secure_sum_method import MASKS
from privity.common.protocol.steps import Close
from privity.party import sum_contributions
from tests.common.protocol.test_secure_sum import NO_NOISE, TABLES, round_of
from tests.harness.consortium import TestConsortium, make_consortium
from tests.harness.network import NetworkConsortium
from tests.harness.steps import pure


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sum_contributions, "AHEAD", 40)


def residues_of(consortium: TestConsortium, party: str = "party-1", run: str = "run-1") -> Residues | None:
    of_run = consortium.parties[party].engine._contributions._runs.get(run)
    return None if of_run is None else of_run.residues


def ready(consortium: TestConsortium, party: str = "party-1", run: str = "run-1") -> int:
    residues = residues_of(consortium, party, run)
    return 0 if residues is None else residues.ready


def prepared(consortium: TestConsortium, run: str = "run-1") -> int:
    engine = consortium.parties["party-1"].engine
    while engine.prepare():
        pass
    return ready(consortium, run=run)


def test_a_block_takes_what_lies_ready() -> None:
    consortium = make_consortium(simulation=False)
    assert prepared(consortium) == 0, "no run has begun"
    plan = consortium.begin()
    before = prepared(consortium)
    assert before >= 40
    round_ = round_of(plan)
    consortium.seal(round_, consortium.attempt(round_, first=1))
    assert ready(consortium) == before - 1, "one plaintext, one residue"
    consortium.begin(consortium.spec(run="run-2", secure_sum=MASKS))
    assert prepared(consortium, "run-2") == 0, "masks need none"
    assert ready(consortium) >= 40, "those of the first run stay its own"


def test_runs_side_by_side_have_randomness_of_their_own_and_none_is_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both runs have one key here, so that a residue of one would do for the other, too."""
    consortium, used = make_consortium(simulation=False), list[int]()
    take = Residues.take

    def taken(self: Residues, count: int) -> list[Any]:
        found = take(self, count)
        used.extend(map(int, found))
        return found

    monkeypatch.setattr(Residues, "take", taken)
    plans = [consortium.begin(consortium.spec(run=run)) for run in ("run-1", "run-2")]
    assert min(prepared(consortium), prepared(consortium, "run-2")) >= 40, "neither keeps the other from it"
    own, other = residues_of(consortium), residues_of(consortium, run="run-2")
    assert own is not other
    for number in range(3):
        for plan in plans:
            round_ = round_of(plan, f"round-{number}", Fraction(1, 3))
            consortium.seal(round_, consortium.attempt(round_, first=1))
    assert residues_of(consortium) is own, "no step of another run drives it out"
    assert ready(consortium) < 48 > ready(consortium, run="run-2"), "both were used"
    consortium.tell("party-1", Close("run-2", "COMPLETED"))
    assert residues_of(consortium) is own, "nor does its end"
    assert len(set(used)) == len(used) > 0


def test_a_party_keeps_randomness_of_few_runs_only() -> None:
    consortium = make_consortium(simulation=False)
    for number in range(sum_contributions.RUNS_KEPT + 1):
        consortium.begin(consortium.spec(run=f"run-{number}"))
    assert residues_of(consortium, run="run-0") is None
    assert len(consortium.parties["party-1"].engine._contributions._runs) == sum_contributions.RUNS_KEPT


def test_a_simulation_has_no_idle_time() -> None:
    consortium = make_consortium()
    consortium.begin()
    assert prepared(consortium) == 0


@pytest.mark.process
def test_a_party_that_waits_for_its_next_step_makes_some(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(simulation=False)
        async with NetworkConsortium(tmp_path, consortium) as network:
            plan = await network.begin(consortium.spec(epsilon=NO_NOISE))
            deadline = time.monotonic() + 20
            while ready(consortium, "party-2") < 40:
                assert time.monotonic() < deadline, "nothing is made ahead"
                await asyncio.sleep(0.02)
            (table,) = await network.session(plan).measure("test", [TABLES[0]], pure(Fraction(NO_NOISE)))
            assert table.counts.sum() == 180

    asyncio.run(scenario())
