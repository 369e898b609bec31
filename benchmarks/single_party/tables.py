"""Markdown tables of the sweep over PrivBayes, from results alone."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.cache import Results
from benchmarks.markdown import NONE, spread, standard_error, standard_errors_apart, table
from benchmarks.series import Series
from benchmarks.single_party.points import (
    DEFAULT,
    LARGEST_TARGETS,
    METHODS,
    MOONSHOTS,
    ONE_WAY,
    SCORE_DATA,
    SCORE_EPSILONS,
    TARGET_DATA,
    TARGET_EPSILONS,
    TARGETS,
    Plan,
    Point,
)

CLOSE = 2.0
"""Standard errors within which two means are told apart by chance."""


def targets(results: Results[Point]) -> list[str]:
    """Measured against asked for; at the least epsilon the bound is the 1-way release, run beside it."""
    names = {"mean2": "mean 2-way distance", "largest2": "largest 2-way distance"}
    rows = []
    beside = results.values(Point("whole", TARGET_DATA, ONE_WAY, TARGET_EPSILONS[0]), "mean2")
    first = [(TARGET_EPSILONS[0], "mean2", statistics.mean(beside), "1-way release: ")] if beside else []
    asked = [*first, *((e, m, bound, "") for e, m, bound in (*TARGETS, *LARGEST_TARGETS))]
    for epsilon, measure, bound, of in asked:
        found = results.values(Point("whole", TARGET_DATA, DEFAULT, epsilon), measure)
        if found:
            rows.append([
                epsilon, names[measure], str(len(found)), f"{spread(found, 4)} ± {standard_error(found):.4f}",
                f"{of}{bound:.4f}" if of else f"{bound:.3f}", _met(found, bound).replace("no", "**no**"),
            ])  # fmt: skip
    return table(["eps", "measure", "seeds", "PrivBayes (± standard error)", "at most", "met"], rows)


def _met(found: Sequence[float], bound: float) -> str:
    """Whether the mean is within the bound, and whether another run might tell otherwise."""
    away = abs(statistics.mean(found) - bound)
    chance = ", within chance" if away < CLOSE * standard_error(found) else ""
    return ("yes" if statistics.mean(found) <= bound else "no") + chance


def moonshots(results: Results[Point]) -> list[str]:
    """PrivBayes, the 1-way release beside it, and the mark that is hoped for."""
    rows = []
    for epsilon, bound in MOONSHOTS:
        found, beside = (
            {m: results.values(Point("whole", TARGET_DATA, method, epsilon), m) for m in ("mean2", "largest2")}
            for method in (DEFAULT, ONE_WAY)
        )
        if found["mean2"]:
            rows.append([
                epsilon, spread(found["mean2"], 4), spread(found["largest2"]), spread(beside["mean2"], 4),
                spread(beside["largest2"]), f"{bound:.3f}", _met(found["mean2"], bound),
            ])  # fmt: skip
    head = ["eps", "PrivBayes, mean", "PrivBayes, largest", "1-way release, mean", "1-way release, largest"]
    return table([*head, "moonshot (mean)", "reached"], rows)


def score_order(results: Results[Point]) -> list[str]:
    """Mean 3-way distance by score, and how far the scores are apart."""
    rows = []
    for epsilon in SCORE_EPSILONS:
        for how, method in (("default", "{}, default beta"), (".3", "score {}")):
            by_score = {
                s: results.values(Point("whole", SCORE_DATA, method.format(s), epsilon), "mean3") for s in "FRI"
            }
            if all(by_score.values()):
                apart = [_apart(by_score[b], by_score[a]) for a, b in ("FR", "RI")]
                rows.append([epsilon, how, *(spread(values, 4) for values in by_score.values()), *apart])
    return table(["eps", "beta", "F", "R", "I", "R - F", "I - R"], rows)


def _apart(first: Sequence[float], second: Sequence[float]) -> str:
    away = standard_errors_apart(first, second)
    difference = statistics.mean(first) - statistics.mean(second)
    return f"{difference:+.4f}" + (f" ({away:+.1f} s.e.)" if away is not None else "")


def better_rivals(results: Results[Point], found: Sequence[Series[Point]], subject: str = DEFAULT) -> list[str]:
    """Rows where a rival's mean is clearly below the subject's, with both means; by series."""
    rows = []
    for series in found:
        by_name = series.values(results)
        for name, cells in by_name.items():
            where = [
                f"{x}: {statistics.mean(cell):.3f} < {statistics.mean(mine):.3f}"
                for x, cell, mine in zip(series.x, cells, by_name.get(subject, []), strict=False)
                if cell and mine and _clearly_below(cell, mine)
            ]
            if name != subject and where:
                rows.append([series.title, name, "; ".join(where)])
    return table(["of", "rival", "at eps: rival < PrivBayes"], rows) if rows else ["", "Nowhere."]


def _clearly_below(first: Sequence[float], second: Sequence[float]) -> bool:
    away = standard_errors_apart(first, second)
    return statistics.mean(first) < statistics.mean(second) if away is None else away <= -CLOSE


def seconds(results: Results[Point], data: str, plan: Plan) -> list[str]:
    """Seconds of one fit of all rows."""
    rows = []
    for name in METHODS:
        cells = [results.values(Point("whole", data, name, e), "seconds") for e in plan.epsilons]
        if any(cells):
            rows.append([name, *(f"{statistics.mean(cell):.2f}" if cell else NONE for cell in cells)])
    return table(["eps", *plan.epsilons], rows)
