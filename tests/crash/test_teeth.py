"""Nodes that are broken on purpose fail the checks of the kill matrix, and only once they are killed."""

from __future__ import annotations

import pytest

from tests.crash.checks import problems
from tests.crash.conftest import Undisturbed
from tests.crash.matrix import AT_ONCE, Worlds, kill_at, points
from tests.crash.node import CURATOR
from tests.crash.runs import COMBINER, SMALL
from tests.harness.long import long_but

pytestmark = pytest.mark.process

AROUND_THE_ANSWER = ("/plan", "ledger", "/vector/", "/round/", "/contribute/")


BROKEN = [
    ("party-forgets", COMBINER, AROUND_THE_ANSWER, {"two noises"}, None),
    ("charged-at-the-end", COMBINER, AROUND_THE_ANSWER, {"other charges"}, None),
    ("charged-again", COMBINER, AROUND_THE_ANSWER, {"other charges"}, None),
    ("party-seals-anew", CURATOR, ("/answer/seal/",), {"two replies"}, None),
    ("curator-forgets", CURATOR, ("rename",), {"forgotten", "not completed"}, None),
    ("party-keeps-reservations", COMBINER, ("#closed/",), {"reservation", "other charges"}, None),
    ("curator-draws-anew", CURATOR, ("/revealed/",), {"another release"}, 1),
    ("curator-asks-once", CURATOR, ("#ended/",), {"signatures"}, None),
]
SHORT = {"charged-again", "curator-forgets"}


@pytest.mark.parametrize(
    ("variant", "who", "at", "kinds", "seed"), long_but([node for node in BROKEN if node[0] in SHORT], BROKEN)
)
def test_a_broken_node_is_found(
    variant: str,
    who: str,
    at: tuple[str, ...],
    kinds: set[str],
    seed: int | None,
    worlds: Worlds,
    undisturbed: Undisturbed,
) -> None:
    template, reference = undisturbed(SMALL)
    whole = worlds.run(template, seed=seed, variant=variant)
    assert not problems(whole, reference, same_noise=seed is not None), "it is broken only where it is killed"
    chosen = [point for point in points(whole, [who]) if any(word in point.name for word in at)]
    killed, seen = 0, set[str]()
    # A fault that was found needs no more kills.
    for first in range(0, len(chosen), AT_ONCE):
        two = chosen[first : first + AT_ONCE]
        found = kill_at(worlds, template, reference, two, seed=seed, variant=variant)
        killed, seen = killed + found.killed, seen | found.kinds()
        if kinds <= seen:
            break
    assert killed > 0
    assert kinds <= seen
