"""Invented tables that are wide: many attributes, many categories, many bins; each with some dependence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

GROUP = 10
"""Attributes that depend on one hidden variable."""

MANY = 5_000
"""Categories of a postcode, a diagnosis, an occupation."""


def sizes_of(name: str) -> list[int]:
    """Categories of each attribute of a table, or its bins."""
    small = [2 + place * 7 % 11 for place in range(500)]
    return {
        "wide": small,
        "codes": [MANY] * 3 + small[:17],
        "both": [MANY] * 2 + small[:498],
        "bins": [(10, 100, 1_000)[place % 3] for place in range(60)],
    }[name]


def write_table(name: str, rows: int, folder: Path) -> tuple[Path, Path]:
    """The table and its schema, in files; the same at every call."""
    generator = np.random.default_rng(1)
    hidden = generator.normal(size=(rows, -(-len(sizes_of(name)) // GROUP)))
    columns, fields = {}, []
    for place, size in enumerate(sizes_of(name)):
        level = 0.6 * hidden[:, place // GROUP] + 0.8 * generator.normal(size=rows)
        ranks = level.argsort().argsort() / rows
        code = (ranks**1.5 * size).astype(np.int64) if name != "bins" else ranks
        if name == "bins":
            key = f"n{place}"
            columns[key] = (code * 1000).round(2)
            fields.append({"name": key, "type": "number", "bins": size,
                           "constraints": {"minimum": 0, "maximum": 1000}})  # fmt: skip
        else:
            key = f"{'code' if size == MANY else 'a'}{place}"
            names = np.array([f"c{value}" for value in range(size)])
            columns[key] = names[code]
            fields.append({"name": key, "type": "string", "categories": names.tolist()})
    data, schema = folder / f"{name}.csv", folder / f"{name}.schema.json"
    pd.DataFrame(columns).to_csv(data, index=False)
    schema.write_text(json.dumps({"format_version": 1, "name": name, "fields": fields}), encoding="utf-8")
    return data, schema
