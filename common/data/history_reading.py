"""Two tables of histories, coded on their way in, and the steps that are made of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from privity.common.data.coded_table import CodedTable, Column
from privity.common.data.csv_reading import Batch
from privity.common.data.declared_values import as_declared
from privity.common.data.frame_values import MISSING, Cell, Sort, Value, number_of
from privity.common.data.history import History
from privity.common.data.history_steps import Coded, Disorders, Histories, hashed, in_order, steps_of
from privity.common.data.schema import Schema
from privity.common.data.table_reading import Coder, frame_batch, no_rows
from privity.common.data.value_grids import nearest
from privity.common.errors import Problem, RowProblemsFound
from privity.common.text.short_values import shorten

if TYPE_CHECKING:
    import pandas as pd

Whole = npt.NDArray[np.int64]
Batches = Iterable[tuple[list[Column], Batch]]
Source = Callable[[Coder], Batches]
"""Gives all rows of a table, coded by this coder, and their values."""

POSITION = re.compile(r"[+-]?[0-9]{1,18}(?:\.0)?")
FAR = 2**61
"""In points."""

UNREAD_KEY = (Sort.UNREAD, Sort.ROUNDED)


def frame_source(frame: pd.DataFrame) -> Source:
    """The rows of a frame."""

    def coded(coder: Coder) -> Iterator[tuple[list[Column], Batch]]:
        batch = frame_batch(frame, coder.schema, coder.also)
        yield coder.code(batch), batch

    return coded


@dataclass(frozen=True)
class Read:
    """Both tables, coded.

    Attributes:
        order: of each event, in points; where it is a position, that.
        keys: texts by which persons are known, by their numbers.
    """

    schema: Schema
    persons: Coded
    events: Coded
    order: Whole
    keys: Sequence[str]

    def steps(self) -> tuple[CodedTable, Disorders]:
        """One step of each person."""
        hashes = map(hashed, self.keys)
        table, _, disorders = steps_of(self.schema, self.persons, self.events, self.order, hashes)
        return table, disorders

    def in_order(self) -> Histories:
        """Each person with all events that count."""
        assert self.schema.history is not None
        return in_order(self.schema.history, self.persons, self.events, self.order)[0]


def read_histories(schema: Schema, persons: Source, events: Source, names: tuple[str, str]) -> Read:
    """Read both tables.

    Args:
        schema: of steps.
        names: what messages call the two tables.

    Raises:
        RowProblemsFound: every fault of both tables.
        PrivityError: file-missing, file-unreadable.
    """
    history = schema.history
    assert history is not None
    known: dict[str, int] = {}
    of_persons = _Table(history.persons, names[0], history.key)
    of_events = _Table(history.events, names[1], history.reference, _Order(history))
    of_persons.read(persons, known)
    people = len(known)
    of_events.read(events, known)
    if problems := [*of_persons.problems(), *of_events.problems(empty=True)]:
        raise RowProblemsFound(problems)
    coded = of_events.coded()
    # Of nobody in the table of persons.
    owned = np.where(coded.keys < people, coded.keys, -1)
    keys = [key for key, number in known.items() if number < people]
    return Read(schema, of_persons.coded(), Coded(coded.columns, owned), of_events.order, keys)


def file_source(path: Path | str, at: Callable[[int], None] = lambda read: None) -> Source:
    """The rows of a file."""
    return lambda coder: coder.read(path, at=at)


def read_steps(schema: Schema, persons: Path, events: Path) -> CodedTable:
    """The same of two files; raises as ``read_histories``."""
    return read_histories(schema, file_source(persons), file_source(events), (str(persons), str(events))).steps()[0]


class _Order:
    """What the events of a person follow one another by, of each event: points, or positions."""

    def __init__(self, history: History[Schema]) -> None:
        self._events, self.column = history.events, history.order
        self.is_position = history.gap is None
        self._known: dict[Value, int | None] = {}
        self.unread: list[Value] = []

    def numbers(self, batch: Batch) -> Whole:
        """Of a batch of events; 0 where there is none, which is a fault."""
        values = batch.columns[batch.names.index(self.column)]
        return np.fromiter((self._number(value) or 0 for value in values), np.int64, len(values))

    def _number(self, value: Value) -> int | None:
        if value not in self._known:
            self._known[value] = found = self._position(value) if self.is_position else self._points(value)
            if found is None:
                self.unread.append(value)
        return self._known[value]

    def _points(self, value: Value) -> int | None:
        place = self._events.index(self.column)
        attribute = self._events.attributes[place]
        number = number_of(attribute, as_declared(self._events, place, value, computed=False))
        assert attribute.point is not None
        # Far beyond the domain one point is as another, and may not fit.
        return None if number is None else min(max(nearest(number, attribute.point), -FAR), FAR)

    def _position(self, value: Value) -> int | None:
        text = value if isinstance(value, str) else value.text
        return int(text.removesuffix(".0")) if POSITION.fullmatch(text) else None


class _Table:
    """One of the two tables: codes, and whose each row is."""

    def __init__(self, schema: Schema, name: str, key: str, order: _Order | None = None) -> None:
        self._schema, self.name, self._key, self._order = schema, name, key, order
        also = [key, *([order.column] if order is not None and order.is_position else [])]
        self._coder = Coder(schema, name, also)
        self._parts: list[list[Column]] = []
        self._keys: list[Whole] = []
        self._orders: list[Whole] = []
        self._problems: list[Problem] = []

    def read(self, source: Source, known: dict[str, int]) -> None:
        """Read all rows; a new key gets the next number."""
        nobody = unread = False
        for columns, batch in source(self._coder):
            if missing := [name for name in self._coder.also if name not in batch.names]:
                self._problems = [self._no_column(name) for name in missing]
                return
            if not self._coder.sound:
                continue
            values = ["" if value == MISSING else value for value in batch.columns[batch.names.index(self._key)]]
            unread |= any(isinstance(value, Cell) and value.sort in UNREAD_KEY for value in values)
            texts = [value if isinstance(value, str) else value.text for value in values]
            nobody |= "" in texts
            # An event of nobody is not read.
            self._keys.append(
                np.fromiter(
                    (known.setdefault(text, len(known)) if text else -1 for text in texts), np.int64, len(texts)
                )
            )
            self._parts.append(columns)
            if self._order is not None:
                self._orders.append(self._order.numbers(batch))
        if unread:
            message = "values that cannot tell persons apart."
            remedy = "Make it a column of texts where it is read, before integers from 2^53 on are rounded: dtype=str."
            self._problems.append(Problem(self.name, shorten(self._key), "person", message, remedy))
        if nobody and self._order is None:
            message = "persons without a key."
            remedy = "Give each person a key, which no other person has."
            self._problems.append(Problem(self.name, shorten(self._key), "person", message, remedy))
        if self._order is not None and self._order.unread:
            some = ", ".join(shorten(str(getattr(value, "text", value))) for value in self._order.unread[:3])
            message, remedy = f"values that are no order: {some}.", "Write whole numbers, such as 1, 2, 3."
            self._problems.append(Problem(self.name, shorten(self._order.column), "person", message, remedy))

    def problems(self, *, empty: bool = False) -> list[Problem]:
        """All that was wrong.

        Args:
            empty: whether there may be no rows.
        """
        none = [] if empty or self._coder.rows else [no_rows(self.name)]
        return [*self._coder.problems(), *self._problems, *none]

    def coded(self) -> Coded:
        """All rows."""
        if not self._parts:
            nothing = np.zeros(0, dtype=np.uint8)
            return Coded([nothing] * len(self._schema.attributes), np.zeros(0, dtype=np.int64))
        columns: Sequence[Column] = [np.concatenate(some) for some in zip(*self._parts, strict=True)]
        return Coded(columns, np.concatenate(self._keys))

    @property
    def order(self) -> Whole:
        """Of each row."""
        return np.concatenate(self._orders) if self._orders else np.zeros(0, dtype=np.int64)

    def _no_column(self, name: str) -> Problem:
        remedy = "Add it: the two tables are linked by it, or their events are ordered by it."
        return Problem(self.name, shorten(name), "missing-column", "no such column.", remedy)
