"""What is measured, and how often."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.copula.outputs import THRESHOLDS

ERRORS, DISTANCE, COST = "errors", "distance", "cost"

TABLE_2 = (
    "dpc",
    "dpc" + THRESHOLDS,
    "dpc, pld",
    "dpc, advanced",
    "dpc, advanced" + THRESHOLDS,
    "Lap",
    "cop",
    "cop" + THRESHOLDS,
    "cop-ID",
    "cop-1" + THRESHOLDS,
    "no-cor",
)
"""In the order of the document. cop-1 has no winner worth the name: its variables are all the same."""

EPSILONS = ("1/4", "1/2", "1", "2", "5")
"""Of Figure 6, in the paper .25 to 5."""

RIVALS = ("copula", "copula, delta 2^-30", "privbayes", "jtree", "one-way")

PAPER = {"5240260 25x26,24": "2.5 h", "5000000 2x1000": "6 h", "5000000 2x2000": "19 h"}
"""Tables of the paper's sizes, rows and sizes of attributes, and its hours."""

BY_ROWS = tuple(f"{rows} 25x26,24" for rows in (500_000, 1_000_000, 2_000_000, 4_000_000))
BY_ATTRIBUTES = tuple(f"1000000 2x{attributes}" for attributes in (125, 250, 500, 1000))


@dataclass(frozen=True)
class Point:
    """One thing measured: a kind, which of its kind, and an epsilon."""

    kind: str
    what: str
    epsilon: str = "1"

    def __str__(self) -> str:
        return f"{self.kind} of {self.what} at {self.epsilon}"


@dataclass(frozen=True)
class Plan:
    """How many seeds of which points."""

    errors: int = 5
    distances: int = 10
    sizes: tuple[str, ...] = (*PAPER, *BY_ROWS, *BY_ATTRIBUTES)

    def points(self) -> dict[Point, int]:
        found = {Point(ERRORS, what): 1 if what == "no-cor" else self.errors for what in TABLE_2}
        found |= {Point(ERRORS, "dpc", epsilon): self.errors for epsilon in EPSILONS}
        found |= {Point(DISTANCE, what): self.distances for what in RIVALS}
        return found | {Point(COST, size): 1 for size in ("table", *self.sizes)}


QUICK = Plan(1, 1, ("2000 3x4,2", "4000 3x4,2"))
