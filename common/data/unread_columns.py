"""Columns of a synthetic table that are no attributes: made anew, empty, or following from attributes.

What stands in a column of these names is never read, and nothing of it is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd

from privity.common.data.attribute import Attribute
from privity.common.data.computation import FORM
from privity.common.data.field_form import FieldForm
from privity.common.data.made_columns import MADE, MOMENTS, Lookup, Total, read_lookup, read_total
from privity.common.errors import Problem
from privity.common.text.short_values import shorten

TYPES = {"number": "integer", "uuid": "string"}
"""By the kind of a key, its type."""

KEYS = frozenset(("name", "type", "title", "description", "generate", "empty"))
OF_MADE = MADE | {"missingValues"}


@dataclass(frozen=True)
class UnreadColumn:
    """A column that is written and never read.

    Attributes:
        generate: ``number`` from 1 on, or ``uuid``; None of others.
        made: what it follows from; None of a column that is made anew or stays empty.
        before: how many attributes stand before it.
        document: as declared.
    """

    name: str
    type: str
    generate: str | None
    before: int
    document: tuple[tuple[str, Any], ...]
    made: Total | Lookup | None = None

    @property
    def attribute(self) -> Attribute:
        """What its values are."""
        if self.made is not None:
            return self.made.attribute
        # Categories say how large numbers are, and those of a column without values are none.
        return Attribute(self.name, self.type, missing=() if self.generate else ("",))

    def over(self, attributes: Mapping[str, Attribute]) -> UnreadColumn:
        """The same by these domains of what it follows from."""
        return replace(self, made=self.made.over(attributes)) if isinstance(self.made, Total) else self


def is_unread_column(item: object) -> bool:
    """Whether a field of a schema declares such a column."""
    return isinstance(item, dict) and bool((MADE | {"generate", "empty"}) & item.keys())


def read_unread_column(
    item: Mapping[str, Any], place: int, before: int, file: str
) -> tuple[UnreadColumn, list[Problem]]:
    """Read a well-formed field, with every fault of it."""
    problems = []

    def fault(key: str, rule: str, message: str, remedy: str) -> None:
        where = f"fields[{place}].{key}"
        problems.append(Problem(file, where, rule, f"attribute {shorten(item['name'])}: {message}", remedy))

    made = MADE & item.keys()
    moment = {*FORM} if "sum" in item and item["type"] in MOMENTS else set()
    for key in sorted(item.keys() - KEYS - (OF_MADE if made else set()) - moment):
        fault(key, "unread-column", f"{key!r} does not go with a column that is not read.", f"Leave {key!r} out.")
    generate = item.get("generate")
    if made and (set(item) & {"generate", "empty"} or made > {"lookup"}):
        message = "it is declared to be made in more than one way."
        fault(sorted(made)[0], "unread-column", message, "Keep one of 'sum', 'lookup', 'generate' and 'empty'.")
    if generate is not None and "empty" in item:
        fault("empty", "unread-column", "it is generated and stays empty.", "Keep one of 'generate' and 'empty'.")
    if generate is not None and item["type"] != TYPES[generate]:
        message = f"a {generate} is of type {TYPES[generate]}, and {item['type']} is declared."
        fault("type", "unread-column", message, f"Declare the type {TYPES[generate]}.")
    return UnreadColumn(item["name"], item["type"], generate, before, tuple(item.items())), problems


def with_made(
    column: UnreadColumn, place: int, missing: Sequence[str], known: Mapping[str, Attribute], file: str
) -> tuple[UnreadColumn, list[Problem]]:
    """The column with what it follows from, and every fault of that; all attributes are known."""
    item = dict(column.document)
    problems = []

    def fault(key: str, rule: str, message: str, remedy: str) -> None:
        where = f"fields[{place}].{key}"
        problems.append(Problem(file, where, rule, f"attribute {shorten(column.name)}: {message}", remedy))

    if not MADE & item.keys():
        return column, []
    texts = item.get("missingValues", missing)
    if texts:
        # Those of the schema are written down with each field.
        column = replace(column, document=tuple({**item, "missingValues": list(texts)}.items()))
    if "lookup" in item:
        return replace(column, made=read_lookup(item, texts, known, fault)), problems
    form = FieldForm(file, place, item, list(texts))
    form.read_form()
    if form.problems:
        return column, form.problems
    return replace(column, made=read_total(item, texts, known, fault)), problems


def with_unread(
    frame: pd.DataFrame,
    attributes: Sequence[Attribute],
    columns: Sequence[UnreadColumn],
    generator: np.random.Generator,
) -> pd.DataFrame:
    """Decoded rows with these columns in their places."""
    if not columns:
        return frame
    known = {attribute.name: attribute for attribute in attributes}
    found: dict[str, Any] = {}
    waiting = list(columns)
    for place, name in enumerate([*frame.columns, None]):
        while waiting and waiting[0].before <= place:
            column = waiting.pop(0)
            made = column.made
            found[column.name] = _values(column, len(frame), generator) if made is None else made.values(frame, known)
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
