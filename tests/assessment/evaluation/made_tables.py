"""Small tables with point masses, missing values and texts, for the tests of evaluations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from privity.assessment.evaluation.value_tables import ValueTable, values_of_frame
from privity.common.data.schema import Schema, parse_schema

FIELDS: list[dict[str, Any]] = [
    {"name": "age", "type": "integer", "edges": [0, 20, 40, 60, 80]},
    {"name": "ward", "type": "string", "categories": ["north", "south <b>", "west"]},
    {"name": "sick", "type": "boolean"},
    {"name": "pay", "type": "number", "edges": [-1000, 0, 100, 10000], "missingValues": ["NA"]},
    {"name": "loss", "type": "integer", "edges": [0, 1000, 5000]},
    {"name": "note", "type": "string", "categories": ["a", "b"], "missingValues": [""]},
]
RULES = ["age >= 18 or sick == false", "loss <= 4000"]


def schema(rules: list[str] | None = None) -> Schema:
    document: dict[str, Any] = {"fields": FIELDS}
    return parse_schema({**document, **({"rowConstraints": rules} if rules else {})}, "s")


def frame(rows: int, seed: int = 0) -> pd.DataFrame:
    """Age decides who is sick and what is paid; nine in ten have no loss."""
    generator = np.random.default_rng(seed)
    age = generator.integers(0, 80, rows)
    sick = (age >= 40) ^ (generator.random(rows) < 0.1)
    pay = np.round(age * 50 + generator.normal(0, 300, rows), 2).astype(str).astype(object)
    pay[generator.random(rows) < 0.1] = "NA"
    return pd.DataFrame(
        {
            "age": age.astype(str),
            "ward": np.array(["north", "south <b>", "west"])[generator.choice(3, rows, p=[0.6, 0.35, 0.05])],
            "sick": np.where(sick, "true", "false"),
            "pay": pay,
            "loss": np.where(generator.random(rows) < 0.9, 0, generator.integers(1, 5000, rows)).astype(str),
            "note": np.where(pay == "NA", "", np.array(["a", "b"])[generator.integers(0, 2, rows)]),
        },
        dtype=object,
    )


def table(rows: int, seed: int = 0, rules: list[str] | None = None) -> ValueTable:
    return values_of_frame(frame(rows, seed), schema(rules), "rows")
