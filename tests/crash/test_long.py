"""Every kind of step under SIGKILL at every durable write, and larger runs under kills at random moments. Long."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable

import pytest

from tests.crash.checks import problems
from tests.crash.conftest import Undisturbed
from tests.crash.matrix import Worlds, kill_at, kills, points
from tests.crash.node import CURATOR
from tests.crash.runs import LARGER, LONG, victims
from tests.crash.world import World, again_and_again

KILLS_IN_A_RUN = 8
SECONDS = 2.0

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("name", LONG)
def test_every_write_of_every_kind_of_step(name: str, worlds: Worlds, undisturbed: Undisturbed) -> None:
    template, reference = undisturbed(LONG[name])
    at = list(points(reference, victims(reference)))
    found = kill_at(worlds, template, reference, at)
    print(f"\n{name}: {found.killed} kill points")
    assert not found.wrong
    # Of runs side by side the order of writes differs, and with people who wait their number.
    assert not found.unreached or len(LONG[name].courses) > 1
    assert found.killed + len(found.unreached) == len(at)
    assert found.killed > len(at) / 2


@pytest.mark.parametrize("name", LONG)
def test_everybody_is_killed_at_each_write_in_one_run(name: str, worlds: Worlds, undisturbed: Undisturbed) -> None:
    template, reference = undisturbed(LONG[name])
    everybody = (CURATOR, *LONG[name].names)
    outcome = worlds.run(template, kills=dict.fromkeys(everybody, again_and_again))
    print(f"\n{name}: killed {kills(outcome)} times in one run")
    assert not problems(outcome, reference)


@pytest.mark.parametrize("seed", range(10))
def test_kills_at_random_moments(seed: int, worlds: Worlds, undisturbed: Undisturbed) -> None:
    """Some victims, some of them several times, while a larger run is under way."""
    template, reference = undisturbed(LARGER)
    outcome = worlds.run(template, disturb=_at_random(seed))
    times = sum(outcome.lives.values()) - len(outcome.lives)
    print(f"\nseed {seed}: killed {times} times in one run")
    assert times > 0
    assert not problems(outcome, reference)


def _at_random(seed: int) -> Callable[[World], None]:
    """Kills whom and when the seed says, counted from the first call."""
    generator = random.Random(seed)
    moments = sorted(generator.uniform(0, SECONDS) for _ in range(KILLS_IN_A_RUN))
    start = math.inf

    def disturb(world: World) -> None:
        nonlocal start
        start = min(start, time.monotonic())
        if moments and time.monotonic() - start > moments[0]:
            moments.pop(0)
            world.kill(generator.choice((CURATOR, *world.names)))

    return disturb
