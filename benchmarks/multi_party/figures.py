"""Which pictures the sweep over parties makes, after the figures of the paper."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from benchmarks.multi_party.cache import Results
from benchmarks.multi_party.points import (
    COMPARED,
    CURVE,
    FIGURE_5,
    MAJORITY,
    MIDDLE,
    REAL_ROWS,
    SUBJECT,
    VIEWS,
    Plan,
    Point,
)
from benchmarks.multi_party.tables import MEASURES, task_names
from benchmarks.multi_party.wire import totals_by_parties
from benchmarks.plots import Line, Panel, draw


def _line(results: Results, points: Sequence[Point], measure: str, by: str, *, dashed: bool = False) -> Line:
    """Over epsilon or parties, where there are results."""
    found = [(float(getattr(point, by)), results.values(point, measure)) for point in points]
    kept = [(x, values) for x, values in found if values]
    return Line([x for x, _ in kept], [values for _, values in kept], dashed)


def _levels(results: Results, data: str, task: str) -> dict[str, float]:
    point = Point("svm", data, REAL_ROWS, "-", 1)
    if not results.seeds(point):
        return {}
    found = {REAL_ROWS: task, MAJORITY: f"{task}, {MAJORITY}"}
    return {name: statistics.mean(results.values(point, key)) for name, key in found.items()}


def _by_epsilon(results: Results, data: str, kind: str, measure: str, title: str, parties: int, plan: Plan) -> Panel:
    lines = {
        v: _line(results, [Point(kind, data, v, e, parties) for e in plan.epsilons], measure, "epsilon")
        for v in COMPARED
    }
    levels = _levels(results, data, measure) if kind == "svm" else {}
    y_label = "misclassification" if kind == "svm" else "total variation distance"
    return Panel(f"{data}: {title}, K = {parties}", "epsilon", y_label, lines, levels)


def _by_parties(results: Results, data: str, kind: str, measure: str, title: str, epsilon: str, plan: Plan) -> Panel:
    lines = {
        v: _line(results, [Point(kind, data, v, epsilon, k) for k in plan.parties], measure, "parties")
        for v in COMPARED
    }
    levels = _levels(results, data, measure) if kind == "svm" else {}
    y_label = "misclassification" if kind == "svm" else "total variation distance"
    return Panel(f"{data}: {title}, eps {epsilon}", "parties K", y_label, lines, levels)


def budgets(results: Results, data: str, plan: Plan) -> list[Panel]:
    """After Figure 4: three parties, over epsilon."""
    panels = [_by_epsilon(results, data, "distance", m, name, MIDDLE, plan) for m, name in MEASURES.items()]
    return panels + [_by_epsilon(results, data, "svm", task, task, MIDDLE, plan) for task in task_names(data)]


def parties(results: Results, data: str, plan: Plan) -> list[Panel]:
    """After Figure 5: one epsilon, over parties; the same at the epsilon of the targets."""
    panels = [_by_parties(results, data, "distance", m, name, FIGURE_5, plan) for m, name in MEASURES.items()]
    panels += [_by_parties(results, data, "svm", task, task, FIGURE_5, plan) for task in task_names(data)]
    return [*panels, _by_parties(results, data, "distance", "mean2", MEASURES["mean2"], CURVE, plan)]


def two_parties(results: Results, data: str, plan: Plan) -> list[Panel]:
    """After Figure 6: two parties, classification over epsilon."""
    return [_by_epsilon(results, data, "svm", task, task, 2, plan) for task in task_names(data)]


def views(results: Results, names: Sequence[str], plan: Plan) -> list[Panel]:
    """After Figure 7: released views, one party."""
    panels = []
    for data in names:
        for bits, title in ((False, "as declared"), (True, "in bits")):
            lines = {
                v.removesuffix(", bits"): _line(
                    results, [Point("views", data, v, e, 1) for e in plan.epsilons], "mean2", "epsilon"
                )
                for v, as_bits in VIEWS.items()
                if as_bits == bits
            }
            panels.append(Panel(f"{data}: released pairs, {title}", "epsilon", "mean 2-way distance", lines))
    return panels


def communication(results: Results, names: Sequence[str]) -> list[Panel]:
    """After Figure 8: bytes of all parties together, moved and unpacked."""
    panels = []
    for data in names:
        lines = {}
        for colour, variant in enumerate((SUBJECT, "frontier always, final", "dp-ccbn")):
            found = totals_by_parties(results, data, variant)
            for place, name in ((0, variant), (1, f"{variant}, unpacked")):
                values = [[total[place]] for total in found.values()]
                lines[name] = Line(list(found), values, dashed=place == 1, colour=colour)
        panels.append(Panel(f"{data}: all parties together", "parties K", "kB", lines, log_y=True))
    return panels


def draw_all(results: Results, names: Sequence[str], plan: Plan, folder: Path) -> dict[str, str]:
    """Draw every picture that has results: its key -> file name."""
    wanted = {"views": views(results, names, plan), "communication": communication(results, names)}
    for data in names:
        wanted[f"budgets_{data}"] = budgets(results, data, plan)
        wanted[f"parties_{data}"] = parties(results, data, plan)
        wanted[f"two_parties_{data}"] = two_parties(results, data, plan)
    return {key: f"{key}.svg" for key, panels in wanted.items() if draw(panels, folder / f"{key}.svg")}
