"""One attribute of 5,000 codes beside eight ordinary ones: seconds, and how far tables are from the rows.

The table is invented: codes as frequent as words by the law of Zipf, in 500 groups of ten and 20 chapters. The other
attributes depend on group or chapter. ``declared`` says whether the schema has these as a taxonomy.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from benchmarks.data import Data
from benchmarks.experiment import CODE, Experiment, Point, Table, Values, grid
from benchmarks.methods.learning import synthesize
from benchmarks.methods.table_distances import shares_of, variation
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import parse_schema

GROUPS, OF_A_GROUP, OF_A_CHAPTER = 500, 10, 25
SIZES = (2, 3, 4, 5, 6, 8, 10, 16)
ROWS = 50_000


@cache
def made(declared: bool, rows: int = ROWS) -> CodedTable:
    generator = np.random.default_rng(1)
    codes = [
        f"{chr(65 + g // OF_A_CHAPTER)}{g % OF_A_CHAPTER:02d}.{c}" for g in range(GROUPS) for c in range(OF_A_GROUP)
    ]
    of_group = 1 / (1.0 + generator.permutation(GROUPS))
    within = np.array([1 / (1.0 + generator.permutation(OF_A_GROUP)) for _ in range(GROUPS)])
    weights = (of_group[:, None] * within / within.sum(axis=1, keepdims=True)).ravel()
    columns = [generator.choice(len(codes), rows, p=weights / weights.sum())]
    group, chapter = columns[0] // OF_A_GROUP, columns[0] // (OF_A_GROUP * OF_A_CHAPTER)
    for place, size in enumerate(SIZES):
        given, levels = ((chapter, 20), (group, GROUPS), (columns[-1], SIZES[place - 1]))[place % 3]
        law = 0.7 * generator.dirichlet(np.full(size, 0.5), levels) + 0.3 * generator.dirichlet(np.ones(size))
        drawn = (generator.random((rows, 1)) > law.cumsum(axis=1)[given]).sum(axis=1)
        columns.append(np.minimum(drawn, size - 1))
    field = {"name": "code", "type": "string", "categories": codes, **({"taxonomy": [1, 3]} if declared else {})}
    others = [
        {"name": f"a{place}", "type": "string", "categories": [f"v{value}" for value in range(size)]}
        for place, size in enumerate(SIZES)
    ]
    return CodedTable(parse_schema({"fields": [field, *others]}, "many codes"), tuple(columns))


def measure(point: Point, seed: int, _data: Data) -> Values:
    real = made(point["declared"])
    drawn, seconds = synthesize(real, point, point["algorithm"], {}, np.random.default_rng(seed))
    parts = {"codes": 1, "groups": OF_A_GROUP, "chapters": OF_A_GROUP * OF_A_CHAPTER}
    found: Values = {"seconds": seconds, "code": variation(*shares_of(real, drawn, (0,)))}
    for name, width in parts.items():
        grouped = [CodedTable(real.schema, (table.columns[0] // width, *table.columns[1:])) for table in (real, drawn)]
        apart = [variation(*shares_of(*grouped, (0, other))) for other in range(1, len(SIZES) + 1)]
        found[f"pairs of {name}"] = float(np.mean(apart))
    return found


def points(quick: bool) -> list[Point]:
    if quick:
        return grid(algorithm="mst", declared=True, epsilon="1", delta="0")
    ways = ("dp-subn", "privbayes", "jtree", "aim", "mst")
    return [{**p, "seeds": 1} for p in grid(epsilon=("1", "10"), algorithm=ways, declared=(False, True), delta="0")]


EXPERIMENT = Experiment(
    title="An attribute of 5,000 codes",
    points=points,
    measure=measure,
    shows=(
        Table(
            "codes",
            ("epsilon", "algorithm", "declared"),
            {
                "seconds": "seconds:1", "codes": "code", "pairs of codes": "pairs of codes",
                "pairs of groups": "pairs of groups", "pairs of chapters": "pairs of chapters",
            },
        ),
    ),
    code=(*CODE, "common/data/attribute.py"),
    alone=lambda _: True,
)  # fmt: skip
