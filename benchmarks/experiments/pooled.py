"""Pooled estimates on real tables: how often the true count is within its error bar, and what pooling gains.

Each run is a whole run of an algorithm over K parties in one process, with production releases. Every attribute and
every pair is estimated from all its noisy marginals together, and once more from the one that has the least noise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from benchmarks.data import Data
from benchmarks.experiment import CODE, Experiment, Point, Record, Table, Values, grid, values_of
from benchmarks.methods.learning import learn, session_over
from privity.common.data.contingency_tables import contingency_table
from privity.common.release.report.noisy_association import strength
from privity.common.release.report.pair_strengths import measured_strengths
from privity.common.release.report.quality import CHANGED
from privity.common.synthesis.inference.pooled_estimates import Pooled, PooledEstimates

DELTAS = {"aim": "1e-9", "mst": "1e-9", "privbayes": "0"}


def measure(point: Point, seed: int, data: Data) -> Values:
    table, generator = data.table(point["data"]), np.random.default_rng(seed)
    point = {**point, "delta": DELTAS[point["algorithm"]]}
    session = session_over(table, point, point["algorithm"], {}, generator)
    learn(session, point["algorithm"], {})
    tables = [noisy for _, noisy in session.record.measured]
    derived, variables = table.schema.derived, session.noise_variables
    attributes = range(len(table.schema.domain))
    started = time.perf_counter()
    pooled = PooledEstimates(tables, derived, variables)
    ones = [pooled.one(a) for a in attributes]
    pairs = [(pair, estimate) for pair in combinations(attributes, 2) if (estimate := pooled.of(*pair)) is not None]
    pairs = [(pair, estimate) for pair, estimate in pairs if estimate.whole]
    found = {"tables": len(tables), "pairs": len(pairs), "seconds": time.perf_counter() - started}
    single = [((a,), estimate) for a, estimate in zip(attributes, ones, strict=True) if estimate is not None]
    for name, some in (("1-way", single), ("2-way", pairs)):
        inside = [np.abs(one.counts - contingency_table(table, of)) <= one.half_widths + 1e-6 for of, one in some]
        found[f"{name} cells"] = sum(one.size for one in inside)
        found[f"{name} inside"] = sum(int(one.sum()) for one in inside)
    alone: list[Pooled | None] = []
    for pair, _ in pairs:
        each = [PooledEstimates([one], derived, variables).of(*pair) for one in tables]
        whole = [one for one in each if one is not None and one.whole]
        alone.append(min(whole, key=lambda one: one.distance))
    for name, estimates in (("pooled", [one for _, one in pairs]), ("alone", alone)):
        strengths = measured_strengths(estimates)
        true = [strength(contingency_table(table, pair), table.rows).v for pair, _ in pairs]
        found[f"{name} distance"] = sum(one.distance for one in estimates if one is not None)
        found[f"{name} clear"] = sum(one is not None and one.noise <= CHANGED for one in strengths)
        found[f"{name} V inside"] = sum(
            one is not None and abs(one.v - v) <= one.half_width for one, v in zip(strengths, true, strict=True)
        )
    return found


def of_all(measure: str, whole: str, text: str) -> Callable[[Sequence[Record]], str]:
    """A share of all runs together."""
    return lambda records: text.format(sum(values_of(records, measure)) / max(1, sum(values_of(records, whole))))


def mean(measure: str) -> Callable[[Sequence[Record]], str]:
    return lambda records: f"{np.mean(values_of(records, measure)):.0f}"


def table_of(data: str) -> Table:
    shown = {
        "tables": mean("tables"),
        "pairs": mean("pairs"),
        "1-way within": of_all("1-way inside", "1-way cells", "{:.1%}"),
        "2-way within": of_all("2-way inside", "2-way cells", "{:.1%}"),
        "noise of a pair": of_all("pooled distance", "pairs", "{:.4f}"),
        "by one table": of_all("alone distance", "pairs", "{:.4f}"),
        "clear pairs": mean("pooled clear"),
        "by one": mean("alone clear"),
        "V within": of_all("pooled V inside", "pairs", "{:.1%}"),
        "V by one": of_all("alone V inside", "pairs", "{:.1%}"),
        "seconds": lambda records: f"{np.mean(values_of(records, 'seconds')):.2f}",
    }
    return Table(data, ("algorithm", "parties", "epsilon"), shown, where={"data": data})


def points(quick: bool) -> list[Point]:
    if quick:
        return grid(data="nltcs", algorithm="mst", parties=1, epsilon="1", seeds=2)
    return grid(data=("nltcs", "adult"), algorithm=("mst", "privbayes", "aim"), parties=(1, 3), epsilon="1", seeds=3)


EXPERIMENT = Experiment(
    title="Pooled estimates: how often the true count is within its error bar",
    points=points,
    measure=measure,
    shows=[table_of(data) for data in ("adult", "nltcs")],
    tables=("adult", "nltcs"),
    code=(*CODE, "benchmarks/experiments/pooled.py"),
)
