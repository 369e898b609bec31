"""The rows of a person that count, of rows that are coded on their way in: those of a CSV file or of a frame.

Whose a row is, and which of two rows of a person comes first, depends on these rows only.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import read_number
from privity.common.data.coded_table import CodedTable, Column
from privity.common.data.csv_reading import Batch
from privity.common.data.frame_values import MISSING, MOMENTS, Cell, Sort, Value
from privity.common.data.schema import Schema
from privity.common.data.table_reading import Coder
from privity.common.data.temporal_pattern import iso_ticks
from privity.common.errors import Problem, RowProblemsFound
from privity.common.text.short_values import shorten
from privity.party.sources.open_texts import texts_in
from privity.party.sources.sql_queries import NO_ORDER, NO_PERSON, TIED, Slots

UNREAD_KEY = (
    "values that cannot tell persons or their rows apart.",
    "Make it a column of texts where it is read, before integers from 2^53 on are rounded: dtype=str.",
)
UNREAD = (Sort.UNREAD, Sort.ROUNDED)

Key = TypeVar("Key", bound=Hashable)


class KeyedBatches(Protocol):
    """Rows that are coded on their way in.

    Attributes:
        name: of where they are, for messages.
    """

    name: str

    def with_keys(self, keys: Sequence[str]) -> Iterator[tuple[list[Column], Batch]]:
        """All rows, some at a time: codes of all attributes, and the values, those of these columns among them.

        Raises:
            RowProblemsFound: after the last row with faults, or if there are no rows.
        """
        ...


@dataclass(frozen=True)
class SlotRows:
    """The rows that count.

    Attributes:
        table: of them, without those that are absent.
        persons: how many there are.
        texts: how many of the rows have each text, by open attribute.
    """

    table: CodedTable
    persons: int
    texts: Mapping[str, Mapping[str, int]]


def load_slots(batches: KeyedBatches, schema: Schema, slots: Slots) -> SlotRows:
    """The first ``most`` rows of each person.

    Raises:
        RowProblemsFound: faults of the rows; rows without a person, or that the order does not tell apart.
    """
    persons: dict[str, int] = {}
    orders: dict[Value, int] = {}
    known: dict[str, dict[str | None, int]] = defaultdict(dict)
    numbers = defaultdict(list)
    parts, owners, places, unread = [], [], [], set()
    for columns, batch in batches.with_keys([slots.person, slots.order]):
        person, order = (_values(batch, column) for column in (slots.person, slots.order))
        unread |= {
            column
            for values, column in ((person, slots.person), (order, slots.order))
            if any(isinstance(value, Cell) and value.sort in UNREAD for value in values)
        }
        parts.append(columns)
        owners.append(_numbered([value if isinstance(value, str) else value.text for value in person], persons))
        places.append(_numbered(order, orders))
        for name, texts in texts_in(schema, batch).items():
            numbers[name].append(_numbered(texts, known[name]))
    problems = [
        Problem(batches.name, shorten(column), "person", message, remedy)
        for wrong, column, (message, remedy) in (
            ("" in persons, slots.person, NO_PERSON),
            ("" in orders, slots.order, NO_ORDER),
            (slots.person in unread, slots.person, UNREAD_KEY),
            (slots.order in unread, slots.order, UNREAD_KEY),
        )
        if wrong
    ]
    codes = np.concatenate(owners)
    ranks = _ranks(list(orders))[np.concatenate(places)]
    by_person = np.lexsort((ranks, codes))
    codes, ranks = codes[by_person], ranks[by_person]
    first = np.concatenate([[True], codes[1:] != codes[:-1]])
    if (~first[1:] & (ranks[1:] == ranks[:-1])).any():
        message, remedy = TIED
        problems.append(Problem(batches.name, shorten(slots.order), "person", message, remedy))
    if problems:
        raise RowProblemsFound(problems)
    number = np.arange(codes.size) - np.maximum.accumulate(np.where(first, np.arange(codes.size), 0))
    kept = np.sort(by_person[number < slots.most])
    table = CodedTable(schema, tuple(np.concatenate(some) for some in zip(*parts, strict=True)))
    counts = {name: _counted(np.concatenate(some)[kept], known[name]) for name, some in numbers.items()}
    return SlotRows(table.take(kept), len(persons), counts)


def _values(batch: Batch, column: str) -> list[Value]:
    """Those of a column of keys; what is missing is the empty text, as in a file."""
    return ["" if value == MISSING else value for value in batch.columns[batch.names.index(column)]]


def _numbered(values: Sequence[Key], known: dict[Key, int]) -> npt.NDArray[np.int64]:
    """The number of each value; a new one gets the next."""
    return np.fromiter((known.setdefault(value, len(known)) for value in values), np.int64, len(values))


def _counted(numbers: npt.NDArray[np.int64], known: Mapping[str | None, int]) -> dict[str, int]:
    found = np.bincount(numbers, minlength=len(known)).tolist()
    return {text: found[number] for text, number in known.items() if text is not None and found[number]}


def _ranks(values: Sequence[Value]) -> npt.NDArray[np.int64]:
    """The place of each of some different values among them, in the order of ``order_key``; equal ones share it."""
    keys = [order_key(value) for value in values]
    place = {key: number for number, key in enumerate(sorted(set(keys)))}
    return np.array([place[key] for key in keys], dtype=np.int64)


def order_key(value: Value) -> tuple[int, int | Fraction | float, str]:
    """What the values of an order column are sorted by: numbers by value, dates and times, then texts byte by byte.

    Which of two values comes first depends on these two only. Of texts the integers are numbers, and numbers of one
    value ("7", "07") stand byte by byte.
    """
    text = value if isinstance(value, str) else value.text
    number: int | Fraction | float | None = read_number(text)
    if isinstance(number, int):
        return 0, number, text
    if isinstance(value, Cell) and value.sort is Sort.NUMBER:
        return 0, float(text) if number is None else number, text
    if isinstance(value, Cell) and value.sort in MOMENTS:
        kind = "datetime" if value.sort is Sort.INSTANT else value.sort.value
        ticks, _ = iso_ticks(kind, text)
        return 1 + MOMENTS.index(value.sort), math.inf if ticks is None else ticks, text
    # Code points stand in the order of their bytes in UTF-8.
    return 1 + len(MOMENTS), 0, text


def no_column(file: str, names: Sequence[str], coder: Coder) -> RowProblemsFound:
    """Keys that are no columns, with what else was wrong so far."""
    remedy = "Correct person and order: they name columns of the rows."
    missing = [Problem(file, shorten(name), "missing-column", "no such column.", remedy) for name in names]
    try:
        coder.check()
    except RowProblemsFound as found:
        missing = [*found.problems, *missing]
    return RowProblemsFound(missing)
