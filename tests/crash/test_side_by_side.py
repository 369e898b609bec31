"""SIGKILL while runs are at work side by side: each comes out as if it had been alone, and nobody died."""

from __future__ import annotations

import pytest

from tests.crash.checks import problems
from tests.crash.conftest import Undisturbed
from tests.crash.matrix import Worlds, kill_at, kills, points
from tests.crash.node import CURATOR
from tests.crash.runs import BUSY, COMBINER, PAIR
from tests.crash.switch import Kill
from tests.harness.long import thinned

pytestmark = pytest.mark.process

EVERY = 36
"""In ``make test`` a kill before every so many writes; in test_long.py before and after all of them. Which of two runs
writes first is chance: what follows after a write in one course may be missing in the next, what comes before is not.
"""


@pytest.mark.parametrize("who", thinned([CURATOR, COMBINER], 2))
def test_a_node_that_is_killed_while_two_runs_are_at_work_changes_neither(
    who: str, worlds: Worlds, undisturbed: Undisturbed
) -> None:
    template, reference = undisturbed(PAIR)
    at = list(points(reference, [who], ["before"]))[::EVERY]
    found = kill_at(worlds, template, reference, at)
    print(f"\n{who}: {found.killed} kill points of two runs")
    assert not found.wrong
    assert not found.unreached
    assert found.killed > 1


@pytest.mark.parametrize("every", [24, pytest.param(1, marks=pytest.mark.long)])
def test_runs_in_every_state_outlive_a_curator_that_is_killed_at_each_of_its_writes(
    every: int, worlds: Worlds, undisturbed: Undisturbed
) -> None:
    """One waits for approval, one is stopped and resumed, two are discarded; all who are to be told of it are.

    In ``make test`` every life ends at its eighth write. Parties, and everybody: tests/crash/test_long.py.
    """
    template, reference = undisturbed(BUSY)
    outcome = worlds.run(template, seed=None, kills={CURATOR: lambda _life: Kill("changed", every)})
    print(f"\nkilled {kills(outcome)} times during four runs")
    assert not problems(outcome, reference, same_noise=False)
    assert outcome.lives[CURATOR] > 40 / every
