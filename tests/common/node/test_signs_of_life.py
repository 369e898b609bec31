"""A party's signs of life during a long step, over connections that are cut or go deaf."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.protocol.secure_sum_method import MASKS as BY_MASKS
from privity.common.protocol.steps import Reply, Step
from tests.harness.bad_line import Deaf, Line, Relay
from tests.harness.consortium import make_consortium
from tests.harness.network import NetworkConsortium
from tests.harness.steps import pure

pytestmark = pytest.mark.process

NO_NOISE = Fraction(100)
SILENCE_SECONDS, PATIENCE_SECONDS, STEP_SECONDS = 0.5, 2.0, 4.0
STANDING = 6700
"""Bytes of both directions when a first sign of life or two have passed."""


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: Deaf(0), id="accepted and never answered", marks=pytest.mark.long),
        pytest.param(lambda: Deaf(STANDING), id="black hole"),
    ],
)
def test_a_long_step_over_a_stalled_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[], Line]
) -> None:
    """The first connection for signs of life is bad, and the party's other one is dead: the step is not given up."""
    monkeypatch.setattr("privity.party.agent.ALIVE_SECONDS", 0.3)
    dead = Deaf(1 << 30)

    def line(number: int) -> Line:
        return dead if number == 0 else make() if number == 1 else Line()

    async def scenario() -> list[Line]:
        consortium = make_consortium(2, domain=(2, 3), rows=50)
        network = NetworkConsortium(
            tmp_path, consortium, patience=PATIENCE_SECONDS, silence=SILENCE_SECONDS, dialling=False
        )
        async with network, Relay(network.port, line) as relay:
            network.start_agent("party-1", curator=f"127.0.0.1:{relay.port}")
            network.start_agent("party-2")
            plan = await network.begin(consortium.spec(epsilon=NO_NOISE, secure_sum=BY_MASKS))
            engine = consortium.parties["party-1"].engine
            handle = engine.handle

            def slowly(step: Step) -> Reply:
                if not dead.shut:
                    dead.shut = True
                    time.sleep(STEP_SECONDS)
                return handle(step)

            monkeypatch.setattr(engine, "handle", slowly)
            (table,) = await network.session(plan).measure("test", [(0, 1)], pure(NO_NOISE))
            assert table.counts.sum() == 100
            return relay.lines

    lines = asyncio.run(scenario())
    assert len(lines) >= 4, "two bad connections, and one new one for each"
