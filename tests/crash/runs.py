"""The runs that are killed: a small one in every test, and in the long tests one for every kind of step."""

from __future__ import annotations

from collections.abc import Sequence

from tests.crash.node import CURATOR
from tests.crash.world import Course, Outcome, Run

WIDE = ("ward", "smoker", "score", "cost")

SMALL = Run()
"""One opened sum, under masks."""

IN_RHO = Run("dp-subn", {"schedule": "uniform"}, fields=WIDE, rows=200, delta="0.000000001")
"""Draws and openings that are charged to one account in rho."""

COMBINER = "party-3"
"""Its combiner."""

PAIR = Run(courses=(("first", Course.STRAIGHT), ("second", Course.STRAIGHT)))
"""Two at work side by side."""

BUSY = Run(
    courses=(
        ("late", Course.LATE),
        ("resumed", Course.RESUMED),
        ("undecided", Course.UNDECIDED),
        ("discarded", Course.DISCARDED),
    ),
    manual=True,
    notices=True,
)
"""Runs in every state, side by side, and all who are to be told of it."""

LONG = {
    "small": SMALL,
    "paillier": Run(secure_sum="paillier"),
    "uniform": Run("dp-subn", {"schedule": "uniform"}, fields=WIDE, rows=200),
    "privbayes": Run("privbayes", fields=WIDE, rows=500, epsilon="5"),
    "independent": Run("independent", fields=WIDE, rows=200, epsilon="5"),
    "manual": Run(manual=True),
    "tree": Run(parties=9),
    "rho": IN_RHO,
    "pair": PAIR,
    "busy": BUSY,
    "aim": Run("aim", {"tables": 3, "selection": "parties"}, fields=WIDE, rows=200, delta="0.000000001"),
}
"""Openings with noise replacement, draws, models learnt apart, owners who say yes, a tree of combiners, an account
in rho, draws that follow from a model of what was opened."""

LARGER = Run("dp-subn", {"schedule": "uniform"}, parties=5, fields=("age", *WIDE), rows=300)
"""Killed at random moments."""


def victims(reference: Outcome) -> Sequence[str]:
    """Everybody; of many parties the combiners and one other."""
    names = reference.run.names
    if len(names) <= 3:
        return (CURATOR, *names)
    combiners = {r.who for r in reference.records.of("replied") if r.content[1].startswith("combine/")}
    return (CURATOR, *sorted(combiners), next(name for name in names if name not in combiners))
