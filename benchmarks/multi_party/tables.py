"""Markdown tables of the sweep over parties, from results alone."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.datasets import Dataset
from benchmarks.markdown import NONE, spread, standard_error, table
from benchmarks.multi_party.cache import Results
from benchmarks.multi_party.points import (
    COMPARED,
    CURVE,
    IN_SPLITS,
    MAJORITY,
    MIDDLE,
    OPTION_EPSILON,
    OPTIONS,
    REAL_ROWS,
    RIVALS,
    SUBJECT,
    TARGET_EPSILONS,
    TASKS,
    VIEWS,
    Plan,
    Point,
)

MEASURES = {"mean2": "mean 2-way distance", "mean3": "mean 3-way distance", "largest2": "largest 2-way distance"}
BOUNDS = {2: 0.40, 3: 0.20, 5: 0.10, 10: 0.10, 25: 0.10}  # over the single party at the curve's epsilon
FLAT_FROM = 5
TARGETS = (
    ("mean2", "0.2", 0.088),
    ("mean2", "1", 0.062),
    ("mean2", "5", 0.042),
    ("largest2", "0.4", 0.30),
    ("largest2", "0.8", 0.30),
    ("largest2", "1", 0.22),
    ("largest2", "1.6", 0.22),
    ("largest2", "5", 0.22),
)
TARGET_DATA = "adult"


def over_epsilons(
    results: Results, points: dict[str, list[Point]], measure: str, epsilons: Sequence[str], head: str = "eps"
) -> list[str]:
    """One row for each name, whose points follow the epsilons; rows without any result are left out."""
    rows = []
    for name, row in points.items():
        cells = [spread(results.values(point, measure)) for point in row]
        if any(cell != NONE for cell in cells):
            rows.append([name, *cells])
    return table([head, *epsilons], rows)


def compared_by_epsilon(results: Results, data: str, kind: str, measure: str, plan: Plan, parties: int) -> list[str]:
    rows = {v: [Point(kind, data, v, e, parties) for e in plan.epsilons] for v in COMPARED}
    return over_epsilons(results, rows, measure, plan.epsilons) + references(results, data, kind, measure, plan)


def references(results: Results, data: str, kind: str, measure: str, plan: Plan) -> list[str]:
    """Rows of the real rows and of the majority, which know no epsilon."""
    point = Point("svm", data, REAL_ROWS, "-", 1)
    if kind != "svm" or not results.seeds(point):
        return []
    rest = [""] * (len(plan.epsilons) - 1)
    found = {REAL_ROWS: measure, MAJORITY: f"{measure}, {MAJORITY}"}
    return ["| " + " | ".join([name, spread(results.values(point, key)), *rest]) + " |" for name, key in found.items()]


def compared_by_parties(results: Results, data: str, kind: str, measure: str, plan: Plan, epsilon: str) -> list[str]:
    rows = [
        [v, *(spread(results.values(Point(kind, data, v, epsilon, k), measure)) for k in plan.parties)]
        for v in COMPARED
    ]
    head = [f"eps {epsilon}", *(f"K = {k}" for k in plan.parties)]
    return table(head, [row for row in rows if set(row[1:]) != {NONE}])


def curve(results: Results, data: str, plan: Plan) -> list[str]:
    """DP-SUBN over numbers of parties against the single party, with the bounds, and how flat it is."""
    one = results.values(Point("distance", data, SUBJECT, CURVE, 1), "mean2")
    rows, flat = [], []
    for parties in plan.parties:
        values = results.values(Point("distance", data, SUBJECT, CURVE, parties), "mean2")
        if not one or not values:
            continue
        if parties >= FLAT_FROM:
            flat.append(statistics.mean(values))
        cells = [str(parties), str(len(values)), spread(values, 4), NONE, NONE, NONE]
        if parties in BOUNDS:
            excess, error = relative_excess(values, one)
            within = "yes" if excess <= BOUNDS[parties] else "**no**"
            cells[3:] = [f"{100 * excess:+.1f} ± {100 * error:.1f} %", f"{100 * BOUNDS[parties]:.0f} %", within]
        rows.append(cells)
    head = ["K", "seeds", "mean 2-way distance", "above K = 1 (± standard error)", "bound", "within"]
    lines = table(head, rows)
    if len(flat) > 1:
        range_ = 100 * (max(flat) - min(flat)) / statistics.mean(flat)
        lines += [
            "",
            f"From K = {FLAT_FROM} to {plan.parties[-1]} the means lie within {range_:.1f} % of their average.",
        ]
    return lines


def relative_excess(values: Sequence[float], reference: Sequence[float]) -> tuple[float, float]:
    """(mean / mean of the reference) - 1, with its standard error."""
    ratio = statistics.mean(values) / statistics.mean(reference)
    parts = [standard_error(v) / statistics.mean(v) for v in (values, reference)]
    return ratio - 1, ratio * math.hypot(*parts)


def targets(results: Results) -> list[str]:
    rows = []
    for measure, epsilon, bound in TARGETS:
        values = results.values(Point("distance", TARGET_DATA, SUBJECT, epsilon, MIDDLE), measure)
        if values:
            met = "yes" if statistics.mean(values) <= bound else "**no**"
            rows.append([MEASURES[measure], epsilon, spread(values, 4), f"{bound:.3f}", met])
    plain, ours = (
        results.values(Point("distance", TARGET_DATA, v, CURVE, MIDDLE), "mean2") for v in ("plain tree", SUBJECT)
    )
    if plain and ours:
        worse = statistics.mean(ours) > statistics.mean(plain)
        met = "yes" if not worse else "yes, within chance" if min(ours) <= max(plain) else "**no**"
        rows.append([MEASURES["mean2"], CURVE, spread(ours, 4), f"{spread(plain, 4)}, the plain tree here", met])
    return table(["measure", "eps", f"{SUBJECT}, K = {MIDDLE}", "target", "met"], rows) if rows else []


@dataclass(frozen=True)
class Comparison:
    """DP-SUBN and a rival at one setting: mean 2-way distances of all seeds."""

    data: str
    rival: str
    epsilon: str
    parties: int
    ours: tuple[float, ...]
    theirs: tuple[float, ...]

    @property
    def beaten(self) -> bool:
        return statistics.mean(self.ours) < statistics.mean(self.theirs)

    @property
    def overlap(self) -> bool:
        """Whether the ranges over seeds overlap, or are points: such a difference may be chance."""
        if min(len(self.ours), len(self.theirs)) == 1:
            return True
        return min(self.ours) <= max(self.theirs) and min(self.theirs) <= max(self.ours)


def comparisons(results: Results, data: str, plan: Plan) -> list[Comparison]:
    """Every rival at every epsilon and K >= 2 that was measured."""
    found = []
    for rival in RIVALS:
        for epsilon in sorted({*plan.epsilons, *TARGET_EPSILONS}, key=float):
            for parties in plan.parties:
                ours, theirs = (
                    tuple(results.values(Point("distance", data, v, epsilon, parties), "mean2"))
                    for v in (SUBJECT, rival)
                )
                if parties > 1 and ours and theirs:
                    found.append(Comparison(data, rival, epsilon, parties, ours, theirs))
    return found


def beaten(found: Sequence[Comparison]) -> list[str]:
    """For each data set and rival at how many settings DP-SUBN has the smaller mean."""
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for item in found:
        groups.setdefault((item.data, item.rival), []).append(item)
    rows = []
    for (data, rival), items in groups.items():
        clear = sum(item.beaten and not item.overlap for item in items)
        lost = sum(not item.beaten and not item.overlap for item in items)
        won = sum(item.beaten for item in items)
        rows.append([data, rival, f"{won} of {len(items)}", str(clear), str(lost)])
    head = ["data", "rival", "DP-SUBN has the smaller mean", "of these, ranges apart", "larger, ranges apart"]
    return table(head, rows)


def exceptions(found: Sequence[Comparison]) -> list[str]:
    """Every setting at which DP-SUBN does not beat a rival."""
    lost = [item for item in found if not item.beaten]
    if not lost:
        return ["", "There is no exception."] if found else []
    rows = [
        [item.data, item.rival, item.epsilon, str(item.parties), spread(item.ours), spread(item.theirs),
         NONE if len(item.ours) == 1 else "overlap" if item.overlap else "**apart**"]
        for item in lost
    ]  # fmt: skip
    return table(["data", "rival", "eps", "K", SUBJECT, "the rival", "ranges over seeds"], rows)


def options(results: Results, data: str, measure: str, plan: Plan) -> list[str]:
    """The choices within DP-SUBN beside its default."""
    rows = {v: [Point("distance", data, v, e, MIDDLE) for e in plan.epsilons] for v in (SUBJECT, *OPTIONS)}
    return over_epsilons(results, rows, measure, plan.epsilons, f"eps, K = {MIDDLE}")


def options_by_parties(results: Results, data: str, measure: str, plan: Plan) -> list[str]:
    rows = []
    for variant in (SUBJECT, *OPTIONS):
        points = [Point("distance", data, variant, OPTION_EPSILON, k) for k in plan.parties]
        cells = [spread(results.values(point, measure)) for point in points]
        if set(cells) != {NONE}:
            rows.append([variant, *cells])
    return table([f"eps {OPTION_EPSILON}", *(f"K = {k}" for k in plan.parties)], rows) if rows else []


def splits(results: Results, dataset: Dataset, measure: str, plan: Plan) -> list[str]:
    rows = {
        f"{v}, {name}": [Point("distance", dataset.name, v, e, MIDDLE, how) for e in plan.epsilons]
        for v in IN_SPLITS
        for name, how in dataset.splits.items()
    }
    return over_epsilons(results, rows, measure, plan.epsilons, f"eps, K = {MIDDLE}")


def views(results: Results, names: Sequence[str], plan: Plan) -> list[str]:
    """The released views alone: covering design against all pairs."""
    rows = []
    for data in names:
        for variant in VIEWS:
            points = [Point("views", data, variant, e, 1) for e in plan.epsilons]
            seen = [values for point in points for values in results.seeds(point)]
            if seen:
                shape = seen[0]["shape"]
                cells = [spread(results.values(point, "mean2")) for point in points]
                rows.append([data, variant, f"{seen[0]['tables']} ({shape})", *cells])
    return table(["data", "views", "tables", *(f"eps {e}" for e in plan.epsilons)], rows) if rows else []


def learning_seconds(results: Results, names: Sequence[str], plan: Plan) -> list[str]:
    rows = []
    for data in names:
        for variant in COMPARED:
            points = [Point("distance", data, variant, OPTION_EPSILON, k) for k in plan.parties]
            cells = [spread(results.values(point, "seconds"), 2) for point in points]
            if set(cells) != {NONE}:
                rows.append([data, variant, *cells])
    return table(["data", f"eps {OPTION_EPSILON}", *(f"K = {k}" for k in plan.parties)], rows)


def whole_grid(results: Results, data: str, measure: str, plan: Plan) -> list[str]:
    epsilons = sorted({*plan.epsilons, CURVE}, key=float)
    rows = {
        f"{v}, K = {k}": [Point("distance", data, v, e, k) for e in epsilons] for v in COMPARED for k in plan.parties
    }
    return over_epsilons(results, rows, measure, epsilons)


def task_names(data: str) -> list[str]:
    return [task.name for task in TASKS.get(data, ())]
