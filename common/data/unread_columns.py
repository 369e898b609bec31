"""Columns of a synthetic table that are no attributes: made anew, empty, constant, or following from attributes.

What stands in a column of these names is never read, and nothing of it is counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from privity.common.data.attribute import Attribute
from privity.common.data.computation import FORM
from privity.common.data.constant_columns import CONSTANT, Constant, read_constant
from privity.common.data.field_form import FieldForm
from privity.common.data.made_columns import MADE, MOMENTS, Lookup, Total, read_lookup, read_total
from privity.common.data.schema_document import exact_text
from privity.common.errors import Problem
from privity.common.text.short_values import shorten

if TYPE_CHECKING:
    import pandas as pd

KEYS = frozenset(("name", "type", "title", "description"))
OF_KIND = {
    "generate": frozenset(("generate", "start", "pattern")),
    "empty": frozenset(("empty", "readOffRows")),
    "constant": CONSTANT,
    **dict.fromkeys(sorted(MADE), MADE | {"missingValues"}),
}
"""By the key that says what such a column is, the keys that go with it beside those of every field."""

DIGITS = re.compile("#+")
"""Of a pattern: where the number stands."""

LARGEST_START = 2**53
"""Of the keys of a table: with the rows before it, they are far from the end of 64 bits."""


@dataclass(frozen=True)
class UnreadColumn:
    """A column that is written and never read.

    Attributes:
        generate: ``number`` or ``uuid``; None of others.
        made: what it follows from, or its constant; None of a column that is made anew or stays empty.
        before: how many attributes stand before it.
        document: as declared.
        start, pattern: of numbers: the first one, and how they are written; None is a plain number.
    """

    name: str
    type: str
    generate: str | None
    before: int
    document: tuple[tuple[str, Any], ...]
    made: Total | Lookup | Constant | None = None
    start: int = 1
    pattern: str | None = None

    @property
    def attribute(self) -> Attribute:
        """What its values are."""
        if self.made is not None:
            return self.made.attribute
        # Categories say how large numbers are, and those of a column without values are none.
        return Attribute(self.name, self.type, missing=() if self.generate else ("",))

    @property
    def read_off_rows(self) -> str | None:
        """As that of an attribute."""
        return dict(self.document).get("readOffRows")

    @property
    def in_words(self) -> str:
        """What it holds."""
        if self.made is not None:
            return "made of others" if self.made.sources else "the same in each row"
        return "keys made anew" if self.generate else "left empty"

    def over(self, attributes: Mapping[str, Attribute]) -> UnreadColumn:
        """The same by these domains of what it follows from."""
        return replace(self, made=self.made.over(attributes)) if isinstance(self.made, Total) else self


def is_unread_column(item: object) -> bool:
    """Whether a field of a schema declares such a column."""
    return isinstance(item, dict) and bool(OF_KIND.keys() & item.keys())


def read_unread_column(
    item: Mapping[str, Any], place: int, before: int, file: str
) -> tuple[UnreadColumn, list[Problem]]:
    """Read a well-formed field, with every fault of it."""
    problems = []

    def fault(key: str, rule: str, message: str, remedy: str) -> None:
        where = f"fields[{place}].{key}"
        problems.append(Problem(file, where, rule, f"attribute {shorten(item['name'])}: {message}", remedy))

    kinds = OF_KIND.keys() & item.keys()
    moment = {*FORM} if "sum" in item and item["type"] in MOMENTS else set()
    allowed = KEYS.union(moment, *(OF_KIND[kind] for kind in kinds))
    for key in sorted(item.keys() - allowed):
        fault(key, "unread-column", f"{key!r} does not go with a column that is not read.", f"Leave {key!r} out.")
    if len(kinds) > 1 and not kinds <= {"sum", "less"}:
        message = f"it is declared in more than one way: {', '.join(sorted(kinds))}."
        fault(sorted(kinds)[0], "unread-column", message, "Keep one of them.")
    generate, pattern = item.get("generate"), item.get("pattern")
    wanted = "string" if pattern is not None or generate == "uuid" else "integer"
    if generate is not None and item["type"] != wanted:
        what = "a key by a pattern" if pattern is not None else f"a {generate}"
        message = f"{what} is of type {wanted}, and {item['type']} is declared."
        fault("type", "unread-column", message, f"Declare the type {wanted}.")
    for key in sorted({"start", "pattern"} & item.keys()) if generate == "uuid" else ():
        fault(key, "unread-column", f"{key!r} does not go with a uuid.", f"Leave {key!r} out.")
    start = item.get("start", 1)
    column = UnreadColumn(item["name"], item["type"], generate, before, tuple(item.items()), None, start, pattern)
    if "constant" not in item or problems:
        return column, problems
    constant, faults = read_constant(item, place, file)
    return replace(column, made=constant), faults


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
    skipped: int = 0,
) -> pd.DataFrame:
    """Decoded rows with these columns in their places.

    Args:
        skipped: how many numbers of keys other rows have already.
    """
    import pandas as pd

    if not columns:
        return frame
    known = {attribute.name: attribute for attribute in attributes}
    found: dict[str, Any] = {}
    waiting = list(columns)
    for place, name in enumerate([*frame.columns, None]):
        while waiting and waiting[0].before <= place:
            column = waiting.pop(0)
            made = column.made
            found[column.name] = (
                _values(column, len(frame), generator, skipped) if made is None else made.values(frame, known)
            )
        if name is not None:
            found[str(name)] = frame[name]
    return pd.DataFrame(found, index=frame.index)


def _values(column: UnreadColumn, rows: int, generator: np.random.Generator, skipped: int) -> Any:
    if column.generate is None:
        return np.full(rows, "", dtype=object)
    if column.generate == "number":
        numbers = np.arange(rows, dtype=np.int64) + (column.start + skipped)
        return numbers if column.pattern is None else [_key(column.pattern, number) for number in numbers.tolist()]
    drawn = generator.bytes(16 * rows)
    return [str(UUID(bytes=drawn[16 * row : 16 * (row + 1)], version=4)) for row in range(rows)]


def _key(pattern: str, number: int) -> str:
    """The number in its place, with zeros in front of it up to so many digits."""
    return DIGITS.sub(lambda run: str(number).zfill(len(run[0])), pattern)


def constants_read_off_rows(columns: Sequence[UnreadColumn]) -> list[list[str | None]]:
    """In a digest, of columns that a draft read off rows: name, constant (None of an empty one), who declared it."""
    marked = [column for column in columns if column.read_off_rows is not None]
    values = [exact_text(one.made.value) if isinstance(one.made, Constant) else None for one in marked]
    return [[one.name, value, one.read_off_rows] for one, value in zip(marked, values, strict=True)]


def with_keys(columns: Sequence[UnreadColumn]) -> list[UnreadColumn]:
    """Those with numbers for keys, which two tables may share."""
    return [column for column in columns if column.generate == "number"]
