"""What the sweep over numbers of parties measures: the algorithms, the points, the seeds, the paper's targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.datasets import Dataset
from benchmarks.utility import DEGREES
from privity.common.data.schema import Schema
from privity.common.errors import PrivityError
from privity.common.release.evaluation.classifier_utility import Task
from privity.common.synthesis.algorithms import ALGORITHMS

COMPARED: dict[str, tuple[str, dict[str, Any]]] = {
    "dp-subn": ("dp-subn", {}),
    "independent": ("independent", {}),
    "dp-ccbn": ("dp-ccbn", {}),
    "privbayes": ("privbayes", {}),
    "plain tree": ("dp-subn", {"degree": 1, "edges": "all", "frontier_theta": "1000"}),
    "one-way": ("one-way", {}),
}
"""Name in the tables -> algorithm of the registry and settings; run over every epsilon and K."""

OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "frontier useful": ("dp-subn", {"frontier": "useful"}),
    "frontier always, final": ("dp-subn", {"frontier": "always", "schedule": "final"}),
    "frontier always, back-loaded": ("dp-subn", {"frontier": "always", "schedule": "back-loaded"}),
    "frontier always, uniform": ("dp-subn", {"frontier": "always", "schedule": "uniform"}),
    "frontier always, views covering": ("dp-subn", {"frontier": "always", "views": "covering"}),
    "frontier always, views pairs": ("dp-subn", {"frontier": "always", "views": "pairs"}),
    "attributes native": ("dp-subn", {"attributes": "native"}),
    "attributes binary": ("dp-subn", {"attributes": "binary"}),
    "bits, frontier always, views covering": (
        "dp-subn",
        {"attributes": "binary", "frontier": "always", "views": "covering"},
    ),
    "bits, frontier always, views pairs": (
        "dp-subn",
        {"attributes": "binary", "frontier": "always", "views": "pairs"},
    ),
    "quotas rows": ("dp-subn", {"quotas": "rows"}),
    "quotas balanced": ("dp-subn", {"quotas": "balanced"}),
}
"""Choices within DP-SUBN, run at K = 3 over every epsilon and at a few more K."""

VARIANTS = {**COMPARED, **OPTIONS}
SUBJECT = "dp-subn"
RIVALS = tuple(name for name in COMPARED if name != SUBJECT)
IN_BITS = tuple(name for name, (_, settings) in OPTIONS.items() if settings.get("attributes") == "binary")
"""Minutes for a run on adult, so one seed and few epsilons; left out where all attributes are binary already."""
IN_BITS_EPSILONS = ("0.2", "0.8")
IN_SPLITS = (*COMPARED, "quotas rows", "quotas balanced")
"""Also run where the rows are not split evenly at random."""

EPSILONS = ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6")
PARTIES = (1, 2, 3, 5, 10, 25)
MIDDLE = 3  # parties, where only epsilon varies
FIGURE_5 = "0.2"  # epsilon, where only the number of parties varies
CURVE = "1"  # epsilon of the curve over parties
TARGET_EPSILONS = ("0.2", "1", "5")
FEW_PARTIES, OPTION_EPSILON = (2, 10), "0.8"  # where the choices within DP-SUBN are run besides

REAL_ROWS, MAJORITY = "real rows", "majority"
VIEWS = {"covering design": False, "all pairs": False, "covering design, bits": True, "all pairs, bits": True}
"""Of the comparison of views: name -> whether attributes are written as bits first."""

REAL = (
    (SUBJECT, "0.2", 3),
    (SUBJECT, "0.8", 3),
    (SUBJECT, "0.8", 2),
    (SUBJECT, "0.8", 5),
    (SUBJECT, "0.8", 10),
    ("frontier always, final", "0.8", 3),
    ("frontier always, final", "0.8", 10),
    ("frontier always, uniform", "0.8", 3),
    ("dp-ccbn", "0.8", 3),
    ("independent", "0.8", 3),
    ("one-way", "0.8", 3),
)
"""(variant, epsilon, K) of the runs by real processes."""


TASKS: dict[str, tuple[Task, ...]] = {
    "adult": (
        Task("post-secondary degree", "education", DEGREES, ("education-num",)),
        Task("income > 50K", "income", (">50K",)),
    ),
    "nltcs": (
        Task("getting about outside", "getting about outside", (1,)),
        Task("managing money", "managing money", (1,)),
    ),
}
"""Classification by name of the data set. The paper has the two of adult and no other data set."""


@dataclass(frozen=True)
class Point:
    """One setting of the sweep. ``kind`` is distance, svm, views or real; ``split`` as in ``privity simulate``."""

    kind: str
    data: str
    variant: str
    epsilon: str
    parties: int
    split: str = "random"

    def __str__(self) -> str:
        return f"{self.data}: {self.kind}, {self.variant}, eps {self.epsilon}, K = {self.parties}, {self.split}"


@dataclass(frozen=True)
class Plan:
    """How much is measured: epsilons and parties of the grid, and seeds (more of them for the curve)."""

    epsilons: tuple[str, ...] = EPSILONS
    parties: tuple[int, ...] = PARTIES
    seeds: int = 3
    curve_seeds: int = 5
    in_bits: bool = True
    real: bool = False
    real_seeds: int = 1
    real_points: tuple[tuple[str, str, int], ...] = REAL

    def points(self, dataset: Dataset, refused: Sequence[str] = ()) -> dict[Point, int]:
        """Every point of one table with its number of seeds; variants that cannot run are left out."""
        chosen = {
            point: seeds for point, seeds in self._all(dataset, dataset.name).items() if point.variant not in refused
        }
        # Long ones first, so that no process is left over with one at the end.
        return dict(sorted(chosen.items(), key=lambda item: _late(item[0])))

    def _all(self, dataset: Dataset, name: str) -> dict[Point, int]:
        grid = [Point("distance", name, v, e, k) for v in COMPARED for k in self.parties for e in self.epsilons]
        grid += [Point("distance", name, v, e, MIDDLE) for v in COMPARED for e in TARGET_EPSILONS]
        quick = [v for v in OPTIONS if v not in IN_BITS]
        grid += [Point("distance", name, v, e, MIDDLE) for v in quick for e in self.epsilons]
        few = [k for k in FEW_PARTIES if k in self.parties]
        if OPTION_EPSILON in self.epsilons:
            grid += [Point("distance", name, v, OPTION_EPSILON, k) for v in quick for k in few]
        skewed = [how for how in dataset.splits.values() if how != "random"]
        grid += [Point("distance", name, v, e, MIDDLE, how) for v in IN_SPLITS for how in skewed for e in self.epsilons]
        wide = max(dataset.schema.domain) > 2
        views = [v for v, bits in VIEWS.items() if wide or not bits]
        grid += [Point("views", name, v, e, 1) for v in views for e in self.epsilons]
        if name in TASKS:
            grid += [Point("svm", name, v, e, k) for v in COMPARED for k in (2, MIDDLE) for e in self.epsilons]
            grid += [Point("svm", name, v, FIGURE_5, k) for v in COMPARED for k in self.parties]
            grid.append(Point("svm", name, REAL_ROWS, "-", 1))
        points = dict.fromkeys(grid, self.seeds)
        curve = [Point("distance", name, v, CURVE, k) for v in COMPARED for k in self.parties]
        points |= dict.fromkeys(curve, max(self.seeds, self.curve_seeds))
        if wide and self.in_bits:
            bits = [Point("distance", name, v, e, MIDDLE) for v in IN_BITS for e in IN_BITS_EPSILONS]
            points |= dict.fromkeys(bits, 1)
        if self.real:
            points |= {point: self.real_seeds if point.parties <= 5 else 1 for point in self.real_of(name)}
        return points

    def real_of(self, name: str) -> list[Point]:
        """The points by real processes of one table."""
        return [Point("real", name, v, e, k) for v, e, k in self.real_points]


QUICK = Plan(
    epsilons=("0.2", "0.8"),
    parties=(1, 2, 3, 5),
    seeds=1,
    curve_seeds=2,
    in_bits=False,
    real_seeds=1,
    real_points=((SUBJECT, "0.8", 3), ("frontier always, final", "0.8", 3), ("dp-ccbn", "0.8", 3)),
)
"""A small plan that shows every table and picture within a minute."""


def _late(point: Point) -> tuple[bool, bool, int]:
    return point.kind == "real", point.variant not in IN_BITS, -point.parties


def refusal(variant: str, schema: Schema) -> str | None:
    """Why the registry does not run a variant, or None if it does."""
    algorithm, settings = VARIANTS[variant]
    if algorithm not in ALGORITHMS:
        return f"there is no algorithm {algorithm!r}"
    try:
        ALGORITHMS[algorithm].check(settings, schema)
    except PrivityError as error:
        return " ".join(error.message.split())
    return None
