"""What rules do to the rows of a release: entered into the model, by rejection, and none.

Rows are of ``dp-subn`` and ``aim`` with the domains that a careful steward declares (``benchmarks/careful``), and rules
that hold by their meaning: times that are missing together, a part that is no more than its whole, families.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np

from benchmarks.data import Data
from benchmarks.experiment import CODE, Experiment, Point, Table, Values, grid
from benchmarks.experiments.raw_data import CAREFUL, MOST_ROWS, raw
from benchmarks.methods.learning import learn, session_over
from benchmarks.methods.table_distances import shares_of, variation
from privity.common.data.coded_table import CodedTable, decode, joined
from privity.common.data.row_constraints import RowConstraint, decoded
from privity.common.data.schema import Schema, parse_schema
from privity.common.data.table_reading import encode
from privity.common.release.synthetic_rows import synthesise_release
from privity.common.synthesis.models import Model
from privity.common.synthesis.models.load_model import load_model

RULES = {
    "flights": [
        "not missing(dep_time) or missing(arr_time)",
        "not missing(dep_time) or missing(dep_delay)",
        "not missing(arr_time) or missing(arr_delay)",
    ],
    "cps_taxunits": ["e00650 <= e00600", "e01700 <= e01500"],
    "adult": [
        "age >= 18 or `marital-status` == 'Never-married'",
        "relationship not in ['Husband', 'Wife'] or `marital-status` in ['Married-civ-spouse', 'Married-AF-spouse']",
        "relationship != 'Husband' or sex == 'Male'",
        "relationship != 'Wife' or sex == 'Female'",
    ],
}
MOST_DRAWN = 32
"""Rows that rejection draws for each that is wanted."""


def table_of(name: str, data: Data, seed: int) -> CodedTable:
    document = json.loads((CAREFUL / f"{name}.json").read_text(encoding="utf-8"))
    schema = parse_schema({**document, "rowConstraints": RULES[name]}, name)
    rows = raw(name, data).astype(str)[list(schema.names)].replace({"nan": "", "NA": ""})
    if name == "flights":
        # Numbers of a column with missing values were read as doubles.
        rows = rows.replace(r"\.0$", "", regex=True)
    kept = np.random.default_rng(seed).permutation(len(rows))[:MOST_ROWS]
    return encode(rows.iloc[np.sort(kept)].reset_index(drop=True), schema, name)


def rejected(model: Model, schema: Schema, rows: int, seed: int) -> CodedTable:
    """Rows as they were found before rules were entered: whatever breaks one is thrown away."""
    generator, found, tables = np.random.default_rng(seed), 0, []
    for _ in range(MOST_DRAWN):
        table = CodedTable(schema, model.sample(rows, generator).columns)
        tables.append(table.take(~breaking(table, schema.row_constraints, generator)))
        found += tables[-1].rows
        if found >= rows:
            break
    return joined(tables).take(np.arange(min(rows, found)))


def breaking(table: CodedTable, rules: tuple[RowConstraint, ...], generator: np.random.Generator) -> np.ndarray:
    schema = table.schema
    attributes = dict(zip(schema.names, schema.attributes, strict=True))
    codes = dict(zip(schema.names, table.columns, strict=True))
    rows = decoded(rules, attributes, codes, decode(table, generator))
    return np.asarray(np.logical_or.reduce([rule.refused(rows) for rule in rules]))


WAYS: dict[str, Callable[[Model, Schema, int, int], CodedTable]] = {
    "none": lambda model, _schema, rows, seed: model.sample(rows, np.random.default_rng(seed)),
    "rejection": rejected,
    "entered": lambda model, schema, rows, seed: (
        synthesise_release(load_model(model.to_dict(), schema, "model"), rows, seed).table
    ),
}


def measure(point: Point, seed: int, data: Data) -> list[Values]:
    real = table_of(point["data"], data, seed)
    rules = real.schema.row_constraints
    plain = CodedTable(replace(real.schema, row_constraints=()), real.columns)
    generator = np.random.default_rng(seed)
    model = learn(session_over(plain, point, point["algorithm"], {}, generator), point["algorithm"], {})
    touched = sorted({real.schema.index(name) for rule in rules for name in rule.attributes})
    others = [a for a in range(len(real.columns)) if a not in touched]
    found = []
    for way, drawn in WAYS.items():
        made = CodedTable(real.schema, drawn(model, real.schema, real.rows, seed).columns)

        def apart(*marginal: int, made: CodedTable = made) -> float:
            return variation(*shares_of(real, made, marginal))

        codes = [(a, real.schema.attributes[a].missing_code) for a in touched]
        lost = [
            abs(float((real.columns[a] == code).mean()) - float((made.columns[a] == code).mean()))
            for a, code in codes
            if code is not None
        ]
        values: Values = {
            "way": way,
            "single": float(np.mean([apart(a) for a in touched])),
            "pairs": float(np.mean([apart(*pair) for pair in combinations(touched, 2)])),
            "beside": float(np.mean([apart(a, b) for a in touched for b in others])),
        }
        if way == "none":
            # Of the other ways no row does, with the values that it was found with.
            values["broken"] = float(breaking(made, rules, generator).mean())
        found.append({**values, "missing": max(lost)} if lost else values)
    return found


def points(quick: bool) -> list[Point]:
    budget = {"epsilon": "1", "delta": "1/1000000000"}
    if quick:
        return grid(data="adult", algorithm="privbayes", **budget)
    few = grid(data=("flights", "adult"), algorithm="dp-subn", **{**budget, "delta": "0"})
    return [*few, *grid(data=tuple(RULES), algorithm=("aim", "mst"), **budget)]


EXPERIMENT = Experiment(
    title="Rules: entered into the model, by rejection, and none",
    points=points,
    measure=measure,
    shows=(
        Table(
            "rules",
            ("data", "algorithm", "way"),
            {
                "rows that break one": "broken:4", "missing, worst": "missing:4", "1-way": "single:4",
                "pairs of these": "pairs:4", "pairs with others": "beside:4",
            },
        ),
    ),
    tables=("adult", "cps_taxunits"),
    code=(
        *CODE, "common/release/synthetic_rows.py", "common/release/rules_in_model.py", "common/data/expression.py",
        "common/data/expression_parser.py", "common/data/row_constraints.py",
    ),
)  # fmt: skip
