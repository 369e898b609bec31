"""What the sweep over junction trees measures: methods, points, seeds and targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.junction_tree.baskets import NAME as BASKETS
from benchmarks.utility import TASKS

JTREE, PRIVHD, PRIVBAYES, ONE_WAY = "jtree", "privhd", "privbayes", "one-way"
COMPARED = (JTREE, PRIVHD, PRIVBAYES)
PRIVIEW = "PriView"
SVM, SVM_SINGLE, REAL_ROWS = "PrivateSVM", "PrivateSVM, one task", "real rows"

OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "jtree, cliques apart": (JTREE, {"clusters": "apart"}),
    "privhd, always a filter": (PRIVHD, {"filter": "always"}),
    "privhd, no filter": (PRIVHD, {"filter": "never"}),
}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in (*COMPARED, ONE_WAY)},
    **OPTIONS,
}
"""Name in the tables -> algorithm of the registry and settings."""

SIZES = (4, 6, 8)
"""Attributes of the marginals of the k-way error, in the JTree paper."""
EPSILONS = ("0.1", "1")
TASK_EPSILONS = ("0.2", "0.5", "0.8", "1")
GRID_SIZES = (2, 3, 5, 6)
"""Those of PrivHD's experiments."""
GRID_EPSILONS = ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6")
SINGLE, SEVERAL = 1, 3  # parties
BINARY, GENERAL, WIDE = "nltcs", "adult", "diabetes130"
GRAPHS = "graphs"

TARGET_EPSILON = "1"
COST_EPSILONS = ("0.1", "1")
COST_GOAL = "120 s, 4 GB"


@dataclass(frozen=True)
class Point:
    """One setting of the sweep.

    Attributes:
        kind: ``k-way`` (L2 error of random marginals), ``distance`` (all 2- and 3-way ones), ``tasks`` (classifiers
            trained on the sample), ``classifier`` (rivals of these), ``grid`` (PrivHD's), ``cost`` (a process of its
            own) or ``merging`` (methods of OptimalMerging, on a random graph for each seed).
        method: a name in ``METHODS``, or a rival's.
    """

    kind: str
    data: str
    method: str = ""
    epsilon: str = "-"
    parties: int = SINGLE

    def __str__(self) -> str:
        return f"{self.data}: {self.kind}, {self.method}, eps {self.epsilon}, K = {self.parties}"


@dataclass(frozen=True)
class Plan:
    """How much is measured: seeds of the kinds of points, and random graphs."""

    seeds: Mapping[str, int] = field(
        default_factory=lambda: {"k-way": 5, "distance": 5, "tasks": 3, "classifier": 3, "grid": 3, "cost": 1}
    )
    target_seeds: int = 30
    graphs: int = 100
    parties: tuple[int, ...] = (SINGLE, SEVERAL)
    epsilons: tuple[str, ...] = EPSILONS
    task_epsilons: tuple[str, ...] = TASK_EPSILONS
    grid_epsilons: tuple[str, ...] = GRID_EPSILONS
    cost_epsilons: tuple[str, ...] = COST_EPSILONS

    def points(self, data: str) -> dict[Point, int]:
        """Every point of one table with its number of seeds; of a table that has no part here, none."""
        found: list[Point] = []
        if data in (BINARY, BASKETS):
            found += [Point("k-way", data, m, e, k) for m in COMPARED for e in self.epsilons for k in self.parties]
            found += [Point("k-way", data, m, e) for m in (ONE_WAY, PRIVIEW) for e in self.epsilons]
        if data == GENERAL:
            by_parties = [(m, e, k) for m in COMPARED for e in self.task_epsilons for k in self.parties]
            found += [Point(kind, data, m, e, k) for kind in ("distance", "tasks") for m, e, k in by_parties]
            found += [Point("distance", data, m, e) for m in (*OPTIONS, ONE_WAY) for e in self.task_epsilons]
        if data in TASKS and data == GENERAL:
            found += [Point("classifier", data, m, e) for m in (SVM, SVM_SINGLE) for e in self.task_epsilons]
            found.append(Point("classifier", data, REAL_ROWS))
        if data in (BINARY, GENERAL):
            found += [Point("grid", data, m, e) for m in (*COMPARED, ONE_WAY) for e in self.grid_epsilons]
        if data == WIDE:
            found += [Point("cost", data, m, e) for m in COMPARED for e in self.cost_epsilons]
        points = {point: self.seeds[point.kind] for point in found}
        points |= {p: max(self.target_seeds, n) for p, n in points.items() if is_target(p)}
        if data == GRAPHS:
            points[Point("merging", GRAPHS)] = self.graphs
        return points


def is_target(point: Point) -> bool:
    """Whether the comparison with PrivBayes is about this point."""
    return point.kind == "distance" and point.epsilon == TARGET_EPSILON and point.method in COMPARED


QUICK = Plan(
    seeds=dict.fromkeys(("k-way", "distance", "tasks", "classifier", "grid", "cost"), 1),
    target_seeds=2,
    graphs=5,
    parties=(SINGLE,),
    epsilons=("1",),
    task_epsilons=("0.2", "1"),
    grid_epsilons=("0.2",),
    cost_epsilons=("1",),
)
"""A small plan that shows most tables and pictures within two minutes."""
