"""Tables and descriptors as files, for tests that go through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 89}, "bins": 8},
    {"name": "ward", "type": "string", "categories": ["north", "south", "west"]},
    {"name": "smoker", "type": "boolean"},
    {"name": "score", "type": "integer", "categories": [0, 1, 2, 3], "categoriesOrdered": True},
    {"name": "cost", "type": "number", "constraints": {"minimum": 0, "maximum": 1000}, "edges": [0, 10, 100, 1000]},
]


def people(rows: int, seed: int = 0) -> pd.DataFrame:
    """Made-up patients whose attributes hang together."""
    generator = np.random.default_rng(seed)
    age = generator.integers(18, 90, rows)
    smoker = generator.random(rows) < 0.2 + 0.4 * (age < 40)
    score = np.clip(age // 25 + smoker - generator.integers(0, 2, rows), 0, 3)
    return pd.DataFrame(
        {
            "age": age,
            "ward": np.array(["north", "south", "west"])[generator.integers(0, 3, rows)],
            "smoker": np.where(smoker, "true", "false"),
            "score": score,
            "cost": (generator.random(rows) * 250 * (score + 1)).round(2),
        }
    )


def write_people(folder: Path, rows: int, *, gzip: bool = False) -> tuple[Path, Path]:
    """(table, schema) as files."""
    table = folder / ("people.csv.gz" if gzip else "people.csv")
    people(rows).to_csv(table, index=False)
    schema = folder / "people.schema.json"
    schema.write_text(json.dumps({"name": "people", "fields": FIELDS}), encoding="utf-8")
    return table, schema
