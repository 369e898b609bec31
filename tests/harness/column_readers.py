"""Readers that look at a whole column: put in the place of ours, they must be found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from privity.column_types import open_schema


def ranks_by_all(texts: Sequence[str]) -> np.ndarray:
    """Finding A1: the order of texts as integers if all of them are, else byte by byte."""
    try:
        return np.argsort(np.argsort([int(text) for text in texts]))
    except ValueError:
        return np.argsort(np.argsort(np.array(texts, dtype=object)))


def column_as_text(column: pd.Series) -> list[str]:
    """Finding A2: values as texts of the type that pandas chose for their column."""
    return column.map(str).tolist()


def types_by_dtype(table: pd.DataFrame, types: Mapping[str, Any]) -> dict[str, Any]:
    """An open schema of the types that pandas chose for the columns, whatever was declared."""
    kinds = {"b": "boolean", "i": "integer", "u": "integer", "f": "number"}
    declared = {name: kind if isinstance(kind, Mapping) else {} for name, kind in types.items()}
    chosen = {str(name): kinds.get(column.dtype.kind, "string") for name, column in table.items()}
    return open_schema(table, {name: {**keys, "type": chosen[name]} for name, keys in declared.items()})
