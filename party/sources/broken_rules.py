"""How many of an owner's rows break each rule: for the owner's screen, and nobody else's."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd

from privity.common.data.constraints.row_texts import of_values
from privity.common.data.frame_values import read_value, with_computed
from privity.common.data.schema import Schema
from privity.common.data.table_reading import read_batches
from privity.party.sources.address import Address, Form
from privity.party.sources.open_rows import connect
from privity.party.sources.sql_coding import quoted
from privity.party.sources.store_columns import MOMENTS, Column

MOST_COMBINATIONS = 1 << 20
"""Of values of all attributes that a rule is about, in a store other than CSV."""


def broken_rows(address: Address, schema: Schema, memory: int) -> list[int | None]:
    """For each rule how many rows break it; None if there are too many combinations of values to look at.

    The rows have been found to be in the domain. A number counts as it is written, not by its bin.

    Raises:
        PrivityError: source-unreachable, source-refused.
    """
    rules = schema.row_constraints
    if not rules:
        return []
    if address.form is Form.CSV:
        counts: Counter[int] = Counter()
        for file in address.files:
            for frame in read_batches(file):
                for place in range(len(rules)):
                    counts[place] += int(_refused(frame, schema, place).sum())
        return [counts[place] for place in range(len(rules))]
    store = connect(address, memory)
    try:
        found: list[int | None] = []
        for place, rule in enumerate(rules):
            columns = dict(zip(schema.names, schema.columns_of(store.columns), strict=True))
            names = [columns[name][0] for name in rule.attributes]
            texts = [f"{_text(store.columns[name])} AS t{i}" for i, name in enumerate(names)]
            keys = ", ".join(f"t{i}" for i in range(len(texts)))
            listed = f"SELECT {', '.join(texts)} FROM {store.relation}"
            query = (
                f"SELECT {keys}, CAST(COUNT(*) AS BIGINT) AS n FROM ({listed}) AS texts "
                f"GROUP BY {keys} LIMIT {MOST_COMBINATIONS + 1}"
            )
            rows = store.rows(query)
            if len(rows) > MOST_COMBINATIONS:
                found.append(None)
                continue
            values = [[read_value(value) for value in row[:-1]] for row in rows]
            frame = pd.DataFrame(values, columns=names, dtype=object)
            frame = frame.loc[:, ~frame.columns.duplicated()]
            times = np.array([int(row[-1]) for row in rows], dtype=np.int64)
            found.append(int(times[_refused(frame, schema, place)].sum()))
        return found
    finally:
        store.close()


def _text(column: Column) -> str:
    """SQL of a column's value: a date or time as it is, else its text."""
    return quoted(column.name) if column.kind in MOMENTS else f"CAST({quoted(column.name)} AS VARCHAR)"


def _refused(frame: pd.DataFrame, schema: Schema, place: int) -> np.ndarray:
    rule = schema.row_constraints[place]
    attributes = dict(zip(schema.names, schema.attributes, strict=True))
    columns = with_computed({str(name): list(frame[name]) for name in frame.columns}, schema)
    frame = pd.DataFrame({name: columns[name] for name in rule.attributes}, dtype=object)
    return rule.refused(of_values([rule], attributes, frame))
