"""Tables of few attributes or of few values: what ``auto`` takes there, beside every algorithm that it might.

The tables are of packages. Of the rules of ``auto`` that for noisy pure runs was chosen with them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd

from benchmarks.data import Data
from benchmarks.experiment import CODE, Experiment, Point, Record, Table, Values, chosen, grid, values_of
from benchmarks.methods.learning import learn, session_over
from benchmarks.methods.packaged_tables import packaged
from benchmarks.methods.table_distances import distances
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import parse_schema
from privity.common.runs.automatic_choice import choose

MOST_VALUES = {"swissmetro": 0, "loanapp": 2, "fertil2": 8}
"""Of an attribute, by table; of swissmetro the ones that are named."""

NAMED = "GROUP", "PURPOSE", "LUGGAGE", "AGE", "MALE", "INCOME"
MOST_ATTRIBUTES = {"swissmetro": 6, "loanapp": 13, "fertil2": 9}
METHODS = "all-pairs", "aim", "mst", "dp-subn", "privbayes"
DELTA = "1e-9"


def categorical(name: str, data: Data) -> CodedTable:
    """The first attributes of a packaged table that have few values, without rows that lack one."""
    rows = packaged(name, data)
    few = [column for column in rows if 1 < rows[column].nunique() <= MOST_VALUES[name]] or NAMED
    rows = rows[[*few[: MOST_ATTRIBUTES[name]]]].dropna()
    found = [pd.factorize(rows[column], sort=True) for column in rows]
    fields = [
        {"name": column.lower(), "type": "string", "categories": [str(value) for value in values]}
        for column, (_, values) in zip(rows, found, strict=True)
    ]
    return CodedTable(parse_schema({"fields": fields}, name), tuple(codes.astype(np.uint8) for codes, _ in found))


def measure(point: Point, seed: int, data: Data) -> Values:
    table, generator = categorical(point["data"], data), np.random.default_rng(seed)
    session = session_over(table, point, point["method"], {}, generator)
    started = time.perf_counter()
    model = learn(session, point["method"], {})
    seconds = time.perf_counter() - started
    taken = choose(table.schema, session.party_rows, 0, Fraction(point["epsilon"]), Fraction(point["delta"]))
    return {
        "taken": taken.algorithm, "reason": taken.reason, "seconds": round(seconds, 2), "rows": table.rows,
        **distances(table, model.sample(table.rows, generator)),
    }  # fmt: skip


def points(quick: bool) -> list[Point]:
    if quick:
        return grid(data="fertil2", method="all-pairs", delta=DELTA, epsilon="1", seeds=1)
    some = {"data": tuple(MOST_VALUES), "epsilon": ("0.1", "0.3", "1"), "seeds": 3}
    return [
        *grid(**some, delta="0", method=METHODS),
        *grid(**some, delta=DELTA, method=METHODS[:3]),
    ]


def of_method(method: str, records: Sequence[Record]) -> str:
    values = values_of(chosen(records, {"method": method}), "mean2")
    return f"{np.mean(values):.4f}" if values else "-"


def taken(records: Sequence[Record]) -> str:
    return str(records[0]["taken"])


def beside_the_best(records: Sequence[Record]) -> str:
    """How far what ``auto`` takes is from the best of all."""
    means = {name: np.mean(values_of(chosen(records, {"method": name}), "mean2")) for name in METHODS
             if chosen(records, {"method": name})}  # fmt: skip
    if taken(records) not in means:
        return "-"
    return f"{means[taken(records)] / min(means.values()) - 1:.0%}"


SHOWN: dict[str, str | Callable[[Sequence[Record]], str]] = {
    "rows": "rows:0", **{name: partial(of_method, name) for name in METHODS}, "auto": taken,
    "above the best": beside_the_best,
}  # fmt: skip

EXPERIMENT = Experiment(
    title="Tables of few attributes or of few values",
    points=points,
    measure=measure,
    shows=[Table("mean 2-way distance", ("data", "delta", "epsilon"), SHOWN)],
    tables=(),
    code=(*CODE, "benchmarks/experiments/few_attributes.py"),
)
