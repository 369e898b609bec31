"""SIGKILL at durable writes of a small run: what comes out is what comes out of a run that nobody disturbs."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privity.common.privacy.ledger import Ledger
from privity.common.privacy.privacy_loss import ZCDP
from privity.common.privacy.run_budget import RhoBudget
from tests.crash.checks import problems
from tests.crash.conftest import Undisturbed
from tests.crash.matrix import EVERY, Worlds, kill_at, kills, points
from tests.crash.node import CURATOR
from tests.crash.runs import COMBINER, IN_RHO, SMALL
from tests.crash.world import again_and_again

pytestmark = pytest.mark.process

EVERYBODY = (CURATOR, *SMALL.names)


@pytest.mark.parametrize("who", [CURATOR, "party-1", COMBINER])
def test_a_node_that_is_killed_at_a_write_changes_nothing(who: str, worlds: Worlds, undisturbed: Undisturbed) -> None:
    """Before a write of this node or after it, one run for each. All writes of all nodes: test_long.py."""
    template, reference = undisturbed(SMALL)
    at = list(points(reference, [who]))[::EVERY]
    found = kill_at(worlds, template, reference, at)
    print(f"\n{who}: {found.killed} kill points")
    assert not found.wrong
    assert not found.unreached
    assert found.killed == len(at) > 0


@pytest.mark.parametrize(
    "who",
    [(CURATOR,), *(pytest.param(who, marks=pytest.mark.long) for who in ((COMBINER,), EVERYBODY))],
    ids=["curator", "combiner", "everybody"],
)
def test_nodes_that_are_killed_at_each_of_their_writes_in_one_run(
    who: tuple[str, ...], worlds: Worlds, undisturbed: Undisturbed
) -> None:
    """Under the operating system's randomness: what was answered once is answered so again, or never left."""
    template, reference = undisturbed(SMALL)
    outcome = worlds.run(template, seed=None, kills=dict.fromkeys(who, again_and_again))
    print(f"\n{', '.join(who)}: killed {kills(outcome)} times in one run")
    assert not problems(outcome, reference, same_noise=False)
    # A node makes at least as many changes as it has lives.
    for name in who:
        assert outcome.lives[name] > 10


@pytest.mark.long
def test_steps_in_rho_are_charged_once_whatever_dies_and_come_to_what_their_sum_does(
    worlds: Worlds, undisturbed: Undisturbed
) -> None:
    """Two owners killed at each of their writes in one run: all ledgers' lines are those of a run that nobody disturbs.

    Everybody, at every point: tests/crash/test_long.py.
    """
    template, reference = undisturbed(IN_RHO)
    outcome = worlds.run(template, seed=None, kills=dict.fromkeys(IN_RHO.names[:2], again_and_again))
    assert not problems(outcome, reference, same_noise=False)
    for party in IN_RHO.names:
        ledger = Ledger(outcome.consortium.party(party) / "state" / "ledger.sqlite", "simulation")
        lines = [entry.charge for entry in ledger.entries() if isinstance(entry.charge.loss, ZCDP)]
        delta = Fraction(IN_RHO.delta)
        rho_budget = RhoBudget(Fraction(IN_RHO.epsilon), delta)
        assert len(lines) > 1
        assert ledger.spent() == rho_budget.filter().spent(sum((line.loss.rho for line in lines), Fraction(0))) <= 1
        assert ledger.spent_delta() == delta
        ledger.close()


def test_the_combiner_is_the_one_that_is_named(undisturbed: Undisturbed) -> None:
    _, reference = undisturbed(SMALL)
    combined = {r.who for r in reference.records.of("replied") if r.content[1].startswith("combine/")}
    assert combined == {COMBINER}


def test_the_same_seed_gives_the_same_run(worlds: Worlds, undisturbed: Undisturbed) -> None:
    template, reference = undisturbed(SMALL)
    assert not problems(worlds.run(template), reference)


def test_another_seed_gives_another_release(worlds: Worlds, undisturbed: Undisturbed) -> None:
    template, reference = undisturbed(SMALL)
    kinds = {problem.kind for problem in problems(worlds.run(template, seed=2), reference)}
    assert kinds == {"another opened value", "another release"}
