"""Randomness made ahead while a party waits: for one block, used once, and never in a simulation."""

from __future__ import annotations

import asyncio
import time
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.protocol.secure_sum_method import MASKS
from privity.party import sum_contributions
from tests.common.protocol.test_secure_sum import NO_NOISE, TABLES, round_of
from tests.harness.consortium import TestConsortium, make_consortium
from tests.harness.network import NetworkConsortium
from tests.harness.steps import pure


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sum_contributions, "AHEAD", 40)


def ready(consortium: TestConsortium, party: str = "party-1") -> int:
    residues = consortium.parties[party].engine._contributions._residues
    return 0 if residues is None else residues.ready


def prepared(consortium: TestConsortium) -> int:
    engine = consortium.parties["party-1"].engine
    while engine.prepare():
        pass
    return ready(consortium)


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
    assert prepared(consortium) == 0, "masks need none"


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
