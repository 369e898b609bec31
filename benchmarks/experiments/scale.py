"""Speed and memory of PrivBayes: the usual table, its bits with three parents each, and five million rows.

Each measurement has a process of its own, so that its peak memory is its own. The large table is made from a seed, with
dependent columns of 2 to 16 values, and is never stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.data import Data
from benchmarks.experiment import CODE, Experiment, Point, Table, Values
from benchmarks.methods.own_process import fit_and_sample, in_own_process
from privity.common.data.coded_table import CodedTable, code_type
from privity.common.data.schema import parse_schema

SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 2, 3, 4, 16, 8, 7, 2, 16, 5, 9, 2, 3, 14, 16, 4, 6, 2, 11, 8, 2, 13)
FOLLOWING = 0.5
"""Part of the rows in which a column follows from two earlier ones."""

LIGHT = {"inference": "tables"}
"""The network itself is the model, and what takes time is counting, drawing and sampling."""

BITS = {"encoding": "binary", "theta": "1", **LIGHT}


def made_table(rows: int, sizes: tuple[int, ...], seed: int) -> CodedTable:
    """Columns of these sizes, each in half of the rows a sum of one or two earlier ones; 16 values are bins."""
    generator = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for place, size in enumerate(sizes):
        column = generator.integers(0, size, rows, dtype=np.uint8)
        if place:
            sources = generator.choice(place, size=min(place, 2), replace=False)
            follows = generator.random(rows, dtype=np.float32) < FOLLOWING
            total = sum(columns[source].astype(np.uint16) for source in sources)
            column = np.where(follows, total % size, column)
        columns.append(column.astype(code_type(size)))
    fields = [
        {"name": f"a{place}", "type": "number", "bins": size, "constraints": {"minimum": 0, "maximum": size}}
        if size == max(sizes)
        else {"name": f"a{place}", "type": "string", "categories": [f"v{code}" for code in range(size)]}
        for place, size in enumerate(sizes)
    ]
    return CodedTable(parse_schema({"format_version": 1, "name": "made", "fields": fields}, "schema"), tuple(columns))


def fitted(data: Data, made_rows: int, epsilon: str, settings: dict[str, Any]) -> Values:
    table = made_table(made_rows, SIZES, 1) if made_rows else data.table("adult")
    model, found = fit_and_sample(table, "privbayes", epsilon, settings)
    network = model.to_dict()["nodes"]
    return {**found, "nodes": len(network), "parents": max(len(node["parents"]) for node in network)}


def measure(point: Point, _seed: int, data: Data) -> Values:
    return in_own_process(fitted, data, point["made_rows"], point["epsilon"], point["settings"])


def points(quick: bool) -> list[Point]:
    rows = 5_000 if quick else 5_000_000
    return [
        {"what": "the table as it is", "made_rows": 0, "epsilon": "1", "settings": LIGHT, "goal": "2 s"},
        {"what": "its bits, score F, 3 parents", "made_rows": 0, "epsilon": "8", "settings": BITS, "goal": "20 s"},
        {"what": "a made table", "made_rows": rows, "epsilon": "1", "settings": LIGHT, "goal": "120 s, 6 GB"},
    ][:: 2 if quick else 1]


EXPERIMENT = Experiment(
    title="Speed and memory of PrivBayes",
    points=points,
    measure=measure,
    shows=(
        Table(
            "fit and sample",
            ("what", "epsilon"),
            {
                "rows": "rows:0", "attributes": "attributes:0", "in the network": "nodes:0",
                "most parents": "parents:0", "fit, s": "fit:2", "sample, s": "sample:2", "both, s": "both:2",
                "processor, s": "cpu:1", "peak, GB": "peak:2", "goal": "goal",
            },
        ),
    ),
    tables=("adult",),
    code=(*CODE, "benchmarks/methods/own_process.py"),
    alone=lambda _: True,
)  # fmt: skip
