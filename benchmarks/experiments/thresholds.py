"""Thresholds and shares of DP-SUBN, PrivBayes, JTree and PrivHD, each varied on public tables over three parties.

Those shipped were found on adult and nltcs. Here tables of which no result is reported say whether others are better.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.data import Data
from benchmarks.experiment import CODE, Experiment, Point, Table, Values, mean_ratio
from benchmarks.methods.public_tables import grounds, ratios, tries
from benchmarks.methods.table_distances import distances
from privity.common.data.coded_table import CodedTable
from privity.common.synthesis.models import Model

SHIPPED = "as shipped"
VARIED: dict[str, list[Mapping[str, Any]]] = {
    "dp-subn": [
        {"theta": "1"}, {"theta": "4"}, {"frontier_theta": "1"}, {"frontier_theta": "4"},
        {"update": "1/5", "parameters": "17/25"}, {"initialisation": "1/20", "parameters": "17/20"},
    ],
    "privbayes": [{"theta": "2"}, {"theta": "8"}, {"beta": "1/10"}, {"beta": "3/10"}],
    "jtree": [{"strength": "1/20"}, {"strength": "1/5"}, {"theta": "1"}, {"theta": "4"}],
    "privhd": [
        {"strength": "1/20"}, {"strength": "1/5"}, {"theta": "1"}, {"theta": "4"}, {"threshold": "1/100"},
        {"threshold": "1/20"},
    ],
}  # fmt: skip
"""Algorithm -> settings that are tried in the place of those shipped."""


def ways(algorithm: str) -> dict[str, Mapping[str, Any]]:
    named = {", ".join(f"{key} {value}" for key, value in varied.items()): varied for varied in VARIED[algorithm]}
    return {SHIPPED: {}, **named}


def distance_of_rows(table: CodedTable, model: Model) -> float:
    """Mean 2-way distance of as many rows, drawn from the model, as the table has."""
    return distances(table, model.sample(table.rows, np.random.default_rng(1)))["mean2"]


def measure(point: Point, seed: int, _data: Data) -> list[Values]:
    ground = grounds(quick=point["quick"])[point["table"]]
    return ratios(ground, point, seed, ways(point["algorithm"]), lambda model: distance_of_rows(ground.table, model))


def points(quick: bool) -> list[Point]:
    found = tries(list(grounds(quick=quick)), tuple(VARIED), (3,))
    return [{**point, "quick": quick} for point in found][: 4 if quick else 200]


EXPERIMENT = Experiment(
    title="Thresholds and shares of DP-SUBN, PrivBayes, JTree and PrivHD",
    points=points,
    measure=measure,
    shows=[
        Table(
            algorithm,
            ("way",),
            mean_ratio,
            columns={"all": {}, "pure": {"delta": "0"}, "with a delta": {"delta": "1e-9"}},
            where={"algorithm": algorithm},
        )
        for algorithm in VARIED
    ],
    code=(*CODE, "benchmarks/methods/public_tables.py"),
)
