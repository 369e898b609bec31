"""Columns of a synthetic table that are no attributes: keys that are made anew, and columns that stay empty.

What stands in a column of these names is never read, and nothing of it is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd

from privity.common import formats
from privity.common.errors import Problem

TYPES = {"number": "integer", "uuid": "string"}
"""By the kind of a key, its type."""

KEYS = frozenset(("name", "type", "title", "description", "generate", "empty"))


@dataclass(frozen=True)
class UnreadColumn:
    """A column that is written and never read.

    Attributes:
        generate: ``number`` from 1 on, or ``uuid``; None of a column that stays empty.
        before: how many attributes stand before it.
        document: as declared.
    """

    name: str
    type: str
    generate: str | None
    before: int
    document: tuple[tuple[str, Any], ...]


def is_unread_column(item: object) -> bool:
    """Whether a field of a schema declares such a column."""
    return isinstance(item, dict) and bool({"generate", "empty"} & item.keys())


def read_unread_column(
    item: Mapping[str, Any], place: int, before: int, file: str
) -> tuple[UnreadColumn, list[Problem]]:
    """Read a well-formed field, with every fault of it."""
    problems = []

    def fault(key: str, rule: str, message: str, remedy: str) -> None:
        where = f"fields[{place}].{key}"
        problems.append(Problem(file, where, rule, f"attribute {formats.shorten(item['name'])}: {message}", remedy))

    for key in sorted(item.keys() - KEYS):
        fault(key, "unread-column", f"{key!r} does not go with a column that is not read.", f"Leave {key!r} out.")
    generate = item.get("generate")
    if generate is not None and "empty" in item:
        fault("empty", "unread-column", "it is generated and stays empty.", "Keep one of 'generate' and 'empty'.")
    if generate is not None and item["type"] != TYPES[generate]:
        message = f"a {generate} is of type {TYPES[generate]}, and {item['type']} is declared."
        fault("type", "unread-column", message, f"Declare the type {TYPES[generate]}.")
    return UnreadColumn(item["name"], item["type"], generate, before, tuple(item.items())), problems


def with_unread(frame: pd.DataFrame, columns: Sequence[UnreadColumn], generator: np.random.Generator) -> pd.DataFrame:
    """Decoded rows with these columns in their places."""
    if not columns:
        return frame
    found: dict[str, Any] = {}
    waiting = list(columns)
    for place, name in enumerate([*frame.columns, None]):
        while waiting and waiting[0].before <= place:
            column = waiting.pop(0)
            found[column.name] = _values(column, len(frame), generator)
        if name is not None:
            found[str(name)] = frame[name]
    return pd.DataFrame(found, index=frame.index)


def _values(column: UnreadColumn, rows: int, generator: np.random.Generator) -> Any:
    if column.generate == "number":
        return np.arange(1, rows + 1, dtype=np.int64)
    if column.generate is None:
        return np.full(rows, "", dtype=object)
    drawn = generator.bytes(16 * rows)
    return [str(UUID(bytes=drawn[16 * row : 16 * (row + 1)], version=4)) for row in range(rows)]
