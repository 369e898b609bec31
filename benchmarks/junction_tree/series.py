"""Which results of the sweep over junction trees stand side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.junction_tree.baskets import NAME as BASKETS
from benchmarks.junction_tree.points import (
    BINARY,
    COMPARED,
    GENERAL,
    GRID_SIZES,
    ONE_WAY,
    OPTIONS,
    PRIVIEW,
    REAL_ROWS,
    SEVERAL,
    SINGLE,
    SIZES,
    SVM,
    SVM_SINGLE,
    Plan,
    Point,
)
from benchmarks.series import DISTANCE, ERROR, Series
from benchmarks.utility import TASKS

L2 = "mean L2 error"
NAMED = {"mean2": "2-way marginals", "mean3": "3-way marginals"}
Rows = dict[str, list[tuple[Point, str]]]


def _rows(kind: str, data: str, methods: Sequence[str], measure: str, epsilons: Sequence[str], parties: int) -> Rows:
    named = "" if parties == SINGLE else f", K = {parties}"
    return {f"{m}{named}": [(Point(kind, data, m, e, parties), measure) for e in epsilons] for m in methods}


def _compared(kind: str, data: str, measure: str, epsilons: Sequence[str]) -> Rows:
    """One party first, then several."""
    first, then = (_rows(kind, data, COMPARED, measure, epsilons, parties) for parties in (SINGLE, SEVERAL))
    return first | then


def k_way(data: str, plan: Plan) -> list[Series[Point]]:
    """JTree's Figure 2: a panel for each epsilon, over k."""
    found = []
    for epsilon in plan.epsilons:
        rows: Rows = {}
        for k in SIZES:
            column = _compared("k-way", data, f"l2-{k}", [epsilon])
            column |= _rows("k-way", data, (ONE_WAY, PRIVIEW), f"l2-{k}", [epsilon], SINGLE)
            for name, cells in column.items():
                rows.setdefault(name, []).extend(cells)
        found.append(Series(f"{data}, eps {epsilon}", "k", L2, [str(k) for k in SIZES], rows))
    return found


def distances(data: str, plan: Plan) -> list[Series[Point]]:
    """JTree's Figure 3."""
    found = []
    for measure, title in NAMED.items():
        rows = _compared("distance", data, measure, plan.task_epsilons)
        rows |= _rows("distance", data, [ONE_WAY], measure, plan.task_epsilons, SINGLE)
        found.append(Series(f"{data}: {title}", "epsilon", DISTANCE, plan.task_epsilons, rows))
    return found


def options(data: str, plan: Plan) -> list[Series[Point]]:
    """What the choices within JTree and PrivHD are worth."""
    chosen = [*COMPARED[:2], *OPTIONS]
    return [
        Series(
            f"{data}: {title}", "epsilon", DISTANCE, plan.task_epsilons,
            _rows("distance", data, chosen, measure, plan.task_epsilons, SINGLE),
        )
        for measure, title in NAMED.items()
    ]  # fmt: skip


def tasks(data: str, plan: Plan) -> list[Series[Point]]:
    """JTree's Figure 4."""
    found = []
    for task in TASKS[data]:
        rows = _compared("tasks", data, task.name, plan.task_epsilons)
        rows |= _rows("classifier", data, [SVM, SVM_SINGLE], task.name, plan.task_epsilons, SINGLE)
        real = {REAL_ROWS: (Point("classifier", data, REAL_ROWS), task.name)}
        found.append(Series(f"{data}: SVM, {task.name}", "epsilon", ERROR, plan.task_epsilons, rows, real))
    return found


def grid(data: str, plan: Plan) -> list[Series[Point]]:
    """PrivHD's Figure 6."""
    return [
        Series(
            f"{data}: {k}-way marginals", "epsilon", DISTANCE, plan.grid_epsilons,
            _rows("grid", data, [*COMPARED, ONE_WAY], f"mean{k}", plan.grid_epsilons, SINGLE),
        )
        for k in GRID_SIZES
    ]  # fmt: skip


SECTIONS: dict[str, tuple[Callable[[str, Plan], list[Series[Point]]], tuple[str, ...]]] = {
    "k-way": (k_way, (BINARY, BASKETS)),
    "distances": (distances, (GENERAL,)),
    "options": (options, (GENERAL,)),
    "tasks": (tasks, (GENERAL,)),
    "grid": (grid, (BINARY, GENERAL)),
}
"""Section -> its series, and the tables that it is about."""
