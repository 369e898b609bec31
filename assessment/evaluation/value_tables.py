"""Rows with their values, for comparisons by their owner: codes beside the numbers that the codes stand for."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute
from privity.common.data.cell_files import holds_cells, open_cells
from privity.common.data.coded_table import CodedTable, Column
from privity.common.data.computed_columns import columns_as_declared, with_computed
from privity.common.data.csv_reading import Batch
from privity.common.data.dialect import Dialect
from privity.common.data.frame_values import Value, number_of, read_column, read_value
from privity.common.data.row_constraints import RowConstraint
from privity.common.data.row_texts import of_values
from privity.common.data.schema import Schema
from privity.common.data.table_reading import Coder, no_rows
from privity.common.errors import PrivityError, RowProblemsFound
from privity.party.sources.address import Address, Form
from privity.party.sources.held_rows import default_memory
from privity.party.sources.open_rows import connect
from privity.party.sources.sql_coding import quoted

if TYPE_CHECKING:
    import pandas as pd

SEED = 0
"""Of everything that is drawn here: the same tables give the same figures."""

MOST_CELLS = 20_000_000
"""Of a table. Of one that has more, a random part of the rows is kept."""

CHUNK = 1 << 22
"""Bytes that are read at once."""

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


def is_number(attribute: Attribute) -> bool:
    """Whether values are compared as numbers; yes and no count as 1 and 0."""
    return attribute.type != "string"


@dataclass(frozen=True, eq=False)
class ValueTable:
    """Rows as codes and as values.

    Attributes:
        coded: shape (rows,) an attribute.
        numbers: the same for attributes that are numbers, NaN where the value is missing; None for others.
        broken: by row constraint of the schema, the share of all rows that break it.
        read: how many rows the source has, of which those here are a random part if they are fewer.
    """

    coded: CodedTable
    numbers: tuple[Floats | None, ...]
    broken: tuple[float, ...]
    read: int

    @property
    def schema(self) -> Schema:
        return self.coded.schema

    @property
    def rows(self) -> int:
        return self.coded.rows

    def take(self, places: Places) -> ValueTable:
        """These rows, in this order."""
        numbers = tuple(None if one is None else one[places] for one in self.numbers)
        return replace(self, coded=self.coded.take(places), numbers=numbers)

    def shuffled(self, generator: np.random.Generator) -> ValueTable:
        """Every column shuffled alone: each keeps its distribution, and no two have anything to do with each other."""
        orders = [generator.permutation(self.rows) for _ in self.numbers]
        columns = tuple(column[order] for column, order in zip(self.coded.columns, orders, strict=True))
        numbers = tuple(None if one is None else one[order] for one, order in zip(self.numbers, orders, strict=True))
        return replace(self, coded=CodedTable(self.schema, columns), numbers=numbers)

    def limited(self, rows: int) -> ValueTable:
        """At most so many rows, drawn at random."""
        if self.rows <= rows:
            return self
        return self.take(np.sort(np.random.default_rng(SEED).permutation(self.rows)[:rows]))

    def over(self, names: Collection[str]) -> ValueTable:
        """Some of the attributes, in the schema's order."""
        coded = self.coded.over(names)
        kept = [place for place, name in enumerate(self.schema.names) if name in names]
        broken = dict(zip(self.schema.row_constraints, self.broken, strict=True))
        return ValueTable(
            coded,
            tuple(self.numbers[place] for place in kept),
            tuple(broken[rule] for rule in coded.schema.row_constraints),
            self.read,
        )


def read_values(address: Address, schema: Schema, most_rows: int | None = None) -> ValueTable:
    """Read a table, whole or a random part of it.

    Args:
        most_rows: more are not kept; ``MOST_CELLS`` holds besides.

    Raises:
        RowProblemsFound: all faults of the table at once, with values: for the owner's screen only.
        PrivityError: source-unreachable, source-refused, file-missing, file-unreadable.
    """
    schema = address.read_by(schema)
    limit = max(1, MOST_CELLS // len(schema.attributes))
    reading = _Reading(schema, limit if most_rows is None else min(limit, most_rows))
    if address.form is Form.CSV:
        reading.expect(sum(_lines(file, schema.dialect) for file in address.files))
        for file in address.files:
            coder = Coder(schema, str(file))
            for codes, batch in coder.read(file, reading.thinned):
                if coder.sound:
                    reading.add(codes, batch)
            coder.check()
    else:
        reading.add_columns(*_stored(address), address.name)
    return reading.table(address.name)


def values_of_frame(frame: pd.DataFrame, schema: Schema, name: str, most_rows: int | None = None) -> ValueTable:
    """The same of a DataFrame; ``name`` is for messages."""
    limit = max(1, MOST_CELLS // len(schema.attributes))
    reading = _Reading(schema, limit if most_rows is None else min(limit, most_rows))
    reading.add_frame(frame, name)
    return reading.table(name)


def _stored(address: Address) -> tuple[list[str], list[Sequence[Value]]]:
    """The rows of a store: names of its columns, and their values."""
    store = connect(address, default_memory())
    try:
        names = list(store.columns)
        found = store.rows(f"SELECT {', '.join(map(quoted, names))} FROM {store.relation}")  # noqa: S608 - quoted
    finally:
        store.close()
    return names, [[read_value(value, exact=True) for value in column] for column in zip(*found, strict=True)]


def _lines(file: Path, dialect: Dialect) -> int:
    """Line ends of a text file, packed or not, or rows; 0 of one that cannot be read, of which its reader tells."""
    opener: Any = gzip.open if file.name.lower().endswith(".gz") else open
    try:
        if holds_cells(file):
            with open_cells(file, dialect) as cells:
                return sum(1 for _ in cells.rows)
        with opener(file, "rb") as packed:
            return sum(block.count(b"\n") for block in iter(lambda: packed.read(CHUNK), b""))
    except (OSError, EOFError, zlib.error, PrivityError):
        return 0


class _Reading:
    """What was read so far: every row, or each with the same chance."""

    def __init__(self, schema: Schema, most: int) -> None:
        self._schema, self._most = schema, most
        self._chance = 1.0
        self._codes: list[list[Column]] = []
        self._numbers: list[list[Floats | None]] = []
        self._generator = np.random.default_rng(SEED)
        self._floats = [_Floats(attribute) for attribute in schema.attributes]
        self._broken = [0] * len(schema.row_constraints)
        self.read = 0

    def expect(self, rows: int) -> None:
        """About so many rows are to come."""
        self._chance = min(1.0, self._most / max(1, rows))

    def thinned(self, batch: Batch) -> Batch:
        """The rows of the batch that are kept."""
        self.read += len(batch.numbers)
        self._rules(batch)
        if self._chance == 1:
            return batch
        kept = (self._generator.random(len(batch.numbers)) < self._chance).tolist()
        columns = [list(compress(column, kept)) for column in batch.columns]
        return Batch(batch.names, columns, list(compress(batch.numbers, kept)))

    def add_frame(self, frame: pd.DataFrame, name: str) -> None:
        """Keep rows of a frame; ``name`` is for messages."""
        columns = [read_column(frame.iloc[:, place], exact=True) for place in range(frame.shape[1])]
        self.add_columns([str(column) for column in frame.columns], columns, name)

    def add_columns(self, names: Sequence[str], columns: Sequence[Sequence[Value]], name: str) -> None:
        """The same of columns of values."""
        rows = len(columns[0]) if columns else 0
        self.expect(rows)
        batch = self.thinned(Batch(names, columns or [()] * len(names), range(1, rows + 1)))
        coder = Coder(self._schema, name)
        codes = coder.code(batch)
        coder.check()
        self.add(codes, batch)

    def add(self, codes: list[Column], batch: Batch) -> None:
        """Keep these rows."""
        columns = with_computed(self._columns(batch), self._schema)
        self._codes.append(codes)
        self._numbers.append(
            [
                floats.of(code, columns[attribute.name])
                for attribute, floats, code in zip(self._schema.attributes, self._floats, codes, strict=True)
            ]
        )

    def _rules(self, batch: Batch) -> None:
        import pandas as pd

        rules: Sequence[RowConstraint] = self._schema.row_constraints
        if not rules or not len(batch.numbers):
            return
        attributes = {attribute.name: attribute for attribute in self._schema.attributes}
        named = {name for rule in rules for name in rule.attributes}
        columns = with_computed(self._columns(batch), self._schema)
        if named <= set(columns):
            frame = pd.DataFrame({name: list(columns[name]) for name in named}, dtype=object)
            rows = of_values(rules, attributes, frame)
            for place, rule in enumerate(rules):
                self._broken[place] += int(rule.refused(rows).sum())

    def _columns(self, batch: Batch) -> dict[str, Sequence[Value]]:
        return columns_as_declared(self._schema, dict(zip(batch.names, batch.columns, strict=True)))

    def table(self, name: str) -> ValueTable:
        """What was kept; ``name`` is for messages."""
        if not self.read:
            raise RowProblemsFound([no_rows(name)])
        broken = tuple(count / self.read for count in self._broken)
        codes = tuple(np.concatenate(column) for column in zip(*self._codes, strict=True))
        numbers = tuple(_joined(column) for column in zip(*self._numbers, strict=True))
        return ValueTable(CodedTable(self._schema, codes), numbers, broken, self.read)


def _joined(parts: Sequence[Floats | None]) -> Floats | None:
    present = [part for part in parts if part is not None]
    return np.concatenate(present) if present else None


class _Floats:
    """The numbers of an attribute's values."""

    def __init__(self, attribute: Attribute) -> None:
        self._attribute = attribute
        self._number = is_number(attribute)
        self._missing = attribute.missing_code
        self._of_code: Floats | None = None
        if self._number and not attribute.edges:
            values = range(attribute.values) if attribute.type == "boolean" else map(float, attribute.categories)
            self._of_code = np.array([*values, *[np.nan] * attribute.apart], dtype=np.float64)

    def of(self, codes: Column, values: Sequence[Value]) -> Floats | None:
        """Shape (rows,): NaN where there is none; None for an attribute that is no number. All have a code."""
        if self._of_code is not None:
            return self._of_code[codes]
        if not self._number:
            return None
        try:
            if self._attribute.temporal is not None:
                raise ValueError
            numbers = np.fromiter(map(float, values), np.float64, len(values))  # type: ignore[arg-type]
        except (TypeError, ValueError):  # a missing value, or one that is no text
            numbers = np.array([self._float(value) for value in values], dtype=np.float64)
        if self._missing is not None:
            numbers[codes == self._missing] = np.nan  # "-999" may mean that there is none
        return numbers

    def _float(self, value: Value) -> float:
        if isinstance(value, str) and self._attribute.temporal is None:
            try:
                return float(value)
            except ValueError:
                return math.nan
        number = number_of(self._attribute, value)
        return math.nan if number is None else float(number)


def no_structure(table: ValueTable) -> ValueTable:
    """As ``ValueTable.shuffled``: what a release without any structure would be at best."""
    return table.shuffled(np.random.default_rng(SEED))


def only_sampling(table: ValueTable, rows: int) -> ValueTable:
    """So many rows drawn from the real ones with replacement: no release of that size can be expected to be closer."""
    return table.take(np.random.default_rng(SEED).integers(0, table.rows, rows))
