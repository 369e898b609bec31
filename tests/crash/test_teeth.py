"""Nodes that are broken on purpose fail the checks of the kill matrix, and only once they are killed."""

from __future__ import annotations

import pytest

from tests.crash.checks import problems
from tests.crash.conftest import Undisturbed
from tests.crash.matrix import Worlds, kill_at, points
from tests.crash.node import CURATOR
from tests.crash.runs import COMBINER, SMALL

pytestmark = pytest.mark.process

AROUND_THE_ANSWER = ("/plan", "ledger", "/vector/", "/round/", "/contribute/")


@pytest.mark.parametrize(
    ("variant", "who", "at", "kinds"),
    [
        ("party-forgets", COMBINER, AROUND_THE_ANSWER, {"two noises"}),
        ("charged-at-the-end", COMBINER, AROUND_THE_ANSWER, {"other charges"}),
        ("charged-again", COMBINER, AROUND_THE_ANSWER, {"other charges"}),
        ("party-seals-anew", CURATOR, ("/answer/seal/",), {"two replies"}),
        ("curator-forgets", CURATOR, ("rename",), {"repeated", "not completed"}),
    ],
)
def test_a_broken_node_is_found(
    variant: str, who: str, at: tuple[str, ...], kinds: set[str], worlds: Worlds, undisturbed: Undisturbed
) -> None:
    template, reference = undisturbed(SMALL)
    whole = worlds.run(template, seed=None, variant=variant)
    assert not problems(whole, reference, same_noise=False), "it is broken only where it is killed"
    chosen = [point for point in points(whole, [who]) if any(word in point.name for word in at)]
    found = kill_at(worlds, template, reference, chosen, seed=None, variant=variant)
    assert found.killed > 0
    assert kinds <= found.kinds()
