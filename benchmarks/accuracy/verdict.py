"""Who is ahead where, and which targets are met: sentences and tables from results alone."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.accuracy.methods import COMPARED, ONE_WAY, SLOW
from benchmarks.accuracy.points import (
    AT_THEIR_COUNT,
    CURVE,
    DELTA,
    GUARANTEES,
    PARTY_BOUNDS,
    PEERS,
    PURE,
    PURE_TARGETS,
    REPLACED,
    SECONDS_TARGET,
    TARGET_DATA,
    TARGETS,
    Plan,
    Point,
    as_their_count,
)
from benchmarks.cache import Results
from benchmarks.markdown import NONE, spread, standard_errors_apart, table

CLOSE = 2.0
"""Standard errors within which two means are told apart by chance."""


@dataclass(frozen=True)
class Best:
    """The method of least mean 2-way distance, and the values of its runs."""

    method: str
    values: Sequence[float]

    @property
    def mean(self) -> float:
        return statistics.mean(self.values)

    def __str__(self) -> str:
        return f"{self.method}, {spread(self.values, 4)}"


def best(results: Results[Point], points: Sequence[Point]) -> Best | None:
    found = [Best(point.method, values) for point in points if (values := _values(results, point))]
    return min(found, key=lambda one: one.mean, default=None)


def _values(results: Results[Point], point: Point) -> list[float]:
    """Mean 2-way distances of tables; of a peer's model before any row is sampled, where that is known."""
    return results.values(point, "model2") or results.values(point, "mean2")


def ours(data: str, epsilon: str, guarantee: str, parties: int = 1) -> list[Point]:
    return [Point("whole", data, m, epsilon, guarantee, parties) for m in COMPARED]


def peers(data: str, epsilon: str, guarantee: str) -> list[Point]:
    """At the same guarantee: a replaced row."""
    return [
        Point("whole", data, name, epsilon, guarantee)
        for name, peer in PEERS.items()
        if peer.delta == guarantee and REPLACED in peer.counted
    ]


def winners(results: Results[Point], names: Sequence[str], plan: Plan) -> list[str]:
    """Best of ours beside the best peer at the same guarantee, one party; by table, guarantee and epsilon."""
    rows = []
    for data in names:
        for guarantee in plan.guarantees:
            for epsilon in plan.epsilons:
                mine = best(results, ours(data, epsilon, guarantee))
                theirs = best(results, peers(data, epsilon, guarantee))
                if mine is None and theirs is None:
                    continue
                flat = results.values(Point("whole", data, ONE_WAY, epsilon, guarantee), "mean2")
                rows.append([
                    data, GUARANTEES[guarantee], epsilon, _cell(mine), _cell(theirs), _ahead(mine, theirs),
                    spread(flat, 4),
                ])  # fmt: skip
    head = ["table", "guarantee", "eps", "best of ours", "best peer, replaced row", "ahead", "1-way tables alone"]
    return table(head, rows)


def _cell(found: Best | None) -> str:
    return "not measured" if found is None else str(found)


def _ahead(mine: Best | None, theirs: Best | None) -> str:
    """Who has the lesser mean, and whether chance may tell otherwise."""
    if mine is None or theirs is None:
        return NONE
    ahead, part = ("ours", 1 - mine.mean / theirs.mean) if mine.mean <= theirs.mean else (
        "**the peer**", 1 - theirs.mean / mine.mean,
    )  # fmt: skip
    apart = standard_errors_apart(mine.values, theirs.values)
    unsure = ", within chance" if apart is not None and abs(apart) < CLOSE else ""
    return f"{ahead}, by {100 * part:.0f} %{unsure}"


def in_words(results: Results[Point], names: Sequence[str], plan: Plan) -> list[str]:
    """One sentence for each table and guarantee."""
    lines = []
    for data in names:
        for guarantee in plan.guarantees:
            pairs = [
                (e, best(results, ours(data, e, guarantee)), best(results, peers(data, e, guarantee)))
                for e in plan.epsilons
            ]
            both = [(e, mine, theirs) for e, mine, theirs in pairs if mine and theirs]
            won = [e for e, mine, theirs in both if mine.mean <= theirs.mean]
            lost = [e for e, mine, theirs in both if mine.mean > theirs.mean]
            if both:
                text = f"ours is ahead of every measured peer at eps {', '.join(won)}" if won else ""
                text += "; " if won and lost else ""
                text += f"a peer is ahead at eps {', '.join(lost)}" if lost else ""
            elif any(mine for _, mine, _ in pairs):
                text = "no peer was measured at this guarantee"
            elif any(theirs for _, _, theirs in pairs):
                text = "peers alone were measured"
            else:
                text = "not measured"
            lines.append(f"- {data}, {GUARANTEES[guarantee]}: {text}.")
    return ["", *lines]


def targets(results: Results[Point]) -> list[str]:
    """Those of one party on adult, beside the best of ours; first what takes at most as long as is allowed."""
    rows = []
    for name, bounds in TARGETS.items():
        for epsilon, bound in bounds:
            quick = name != "with more time"
            points = ours(TARGET_DATA, epsilon, DELTA)
            if quick:
                points = [p for p in points if _within(results, p)]
            else:
                points += [Point("whole", TARGET_DATA, m, epsilon, DELTA) for m in SLOW]
            rows.append([GUARANTEES[DELTA], name, epsilon, f"{bound:g}", *_met(results, points, bound)])
    for epsilon, bound in PURE_TARGETS:
        points = ours(TARGET_DATA, epsilon, PURE)
        rows.append([GUARANTEES[PURE], "", epsilon, f"{bound:g}", *_met(results, points, bound)])
    return table(["guarantee", "time", "eps", "at most", "best of ours", "seconds", "met"], rows)


def at_their_count(results: Results[Point]) -> list[str]:
    """The targets beside a run of ours whose tables have as much noise as theirs."""
    rows = []
    for (epsilon, bound), (_, slow) in zip(*TARGETS.values(), strict=True):
        ours_at = as_their_count(epsilon)
        values = results.values(Point("whole", TARGET_DATA, AT_THEIR_COUNT, ours_at, DELTA), "mean2")
        if values:
            rows.append([epsilon, ours_at, spread(values, 4), f"{bound:g}", f"{slow:g}"])
    return table(["their eps", "eps of a replaced row", AT_THEIR_COUNT, *TARGETS], rows) if rows else []


def _within(results: Results[Point], point: Point) -> bool:
    seconds = results.values(point, "seconds")
    return bool(seconds) and statistics.mean(seconds) <= SECONDS_TARGET


def _met(results: Results[Point], points: Sequence[Point], bound: float) -> list[str]:
    found = best(results, points)
    if found is None:
        return ["not measured", NONE, NONE]
    seconds = next(results.values(p, "seconds") for p in points if p.method == found.method)
    return [str(found), f"{statistics.mean(seconds):.0f}", "yes" if found.mean <= bound else "**no**"]


def party_targets(results: Results[Point], data: str, plan: Plan, guarantee: str = DELTA) -> list[str]:
    """By how much each method's distance over K parties exceeds that of one, beside what it may."""
    many = [k for k in plan.parties if k > 1]
    rows = []
    for method in COMPARED:
        one = results.values(Point("whole", data, method, CURVE, guarantee), "mean2")
        cells = []
        for k in many:
            values = results.values(Point("whole", data, method, CURVE, guarantee, k), "mean2")
            if not one or not values:
                cells.append(NONE)
                continue
            excess = statistics.mean(values) / statistics.mean(one) - 1
            over = k in PARTY_BOUNDS and excess > PARTY_BOUNDS[k]
            cells.append(f"{100 * excess:+.0f} %{' **above**' if over else ''}")
        if set(cells) != {NONE}:
            rows.append([method, *cells])
    if not rows:
        return ["", "Not measured."]
    asked = [f"at most +{100 * PARTY_BOUNDS[k]:.0f} %" if k in PARTY_BOUNDS else NONE for k in many]
    return table([f"eps {CURVE}, {GUARANTEES[guarantee]}", *(f"K = {k}" for k in many)], [*rows, ["target", *asked]])
