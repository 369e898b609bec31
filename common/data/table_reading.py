"""Read and code rows of text, some at a time: what a person keeps in CSV, or has in a frame.

Everything that raises ``RowProblemsFound`` may quote values and row numbers, for the owner's own screen: its message
must never leave the owner's machine.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from privity.common.data.attribute import Attribute
from privity.common.data.coded_table import CodedTable, Column, code_type
from privity.common.data.frame_values import (
    READ_TYPES,
    Moments,
    Sort,
    Value,
    code_in_source,
    code_of,
    is_unread,
    read_column,
    shown,
)
from privity.common.data.schema import Schema
from privity.common.data.temporal_pattern import DEFAULT
from privity.common.errors import Catalogue, PrivityError, Problem, ProblemsFound
from privity.common.formats import shorten

CELLS_AT_ONCE = 1 << 15
VALUES_NAMED = 3  # values outside a domain that a message names
ROWS_NAMED = 3  # rows that a message names per value or fault
NAMES_NAMED = 10  # columns that a message names
MOST_FAULTS = 1000  # different values outside a domain that are told apart
MOST_TEXTS = 1 << 20  # values of an attribute whose codes are remembered


class RowProblemsFound(ProblemsFound):
    """Faults of a table, with values and row numbers: for the owner's eyes only, never to be sent."""


def read_table(path: Path | str, schema: Schema) -> CodedTable:
    """Read and code a CSV file. Raises as ``read_rows`` and ``encode`` do."""
    coder = Coder(schema, str(path))
    return _joined([columns for columns, _ in coder.read(path)], coder)


def read_rows(path: Path | str) -> pd.DataFrame:
    """Read a CSV file (gzip if the name ends in .gz) with a header row; every value as text, as it stands.

    UTF-8, comma-separated. Raises ``PrivityError`` (file-missing, file-unreadable) or
    ``RowProblemsFound`` with every fault of the form: no header, a column without a name or with the name
    of another, rows of another length than the header.
    """
    return pd.concat(read_batches(path), ignore_index=True)


def read_batches(path: Path | str) -> Iterator[pd.DataFrame]:
    """The same some rows at a time; at least one frame, which shows the columns. Faults are raised at the end."""
    for batch in _csv_batches(path):
        yield pd.DataFrame(dict(zip(batch.names, batch.columns, strict=True)), dtype=object)


def encode(frame: pd.DataFrame, schema: Schema, file: str) -> CodedTable:
    """Code a table by the schema; the order of the frame's columns does not matter.

    Each value is read alone (``privity.common.data.frame_values``), so the types that pandas chose for the columns
    decide nothing.

    ``file`` is the name that messages carry. No row is dropped. Raises ``RowProblemsFound`` with all
    faults at once: no rows, columns that are missing or not declared, values of a type that cannot be read, and,
    per attribute, values outside the domain where the schema refuses them. Its messages quote values and row
    numbers (row 1 is the first one after the header), so they are for the owner's screen only.
    """
    coder = Coder(schema, file)
    names = [str(name) for name in frame.columns]
    read = {column for column, _ in schema.columns_of(names)}
    columns = [read_column(frame.iloc[:, place]) if name in read else () for place, name in enumerate(names)]
    return _joined([coder.code(Batch(names, columns, range(1, len(frame) + 1)))], coder)


def _joined(batches: Sequence[list[Column]], coder: Coder) -> CodedTable:
    """The table of all batches; raises what the coder has found, or that there are no rows."""
    coder.check()
    if not coder.rows:
        raise RowProblemsFound([no_rows(coder.file)])
    return CodedTable(coder.schema, tuple(np.concatenate(columns) for columns in zip(*batches, strict=True)))


def no_rows(file: str) -> Problem:
    """The fault of a table without rows."""
    return Problem(file, "", "no-rows", "the table has no rows.", "Give it at least one row.")


@dataclass(frozen=True)
class Batch:
    """Some rows of a table, column by column.

    Attributes:
        names: of the columns.
        columns: the values of each column.
        numbers: of the rows in their table, from 1.
    """

    names: Sequence[str]
    columns: Sequence[Sequence[Value]]
    numbers: Sequence[int]


class _Places:
    """Rows with the same fault: the first ones, and how many there are."""

    def __init__(self) -> None:
        self._first: list[int] = []
        self._count = 0

    def add(self, rows: Sequence[int]) -> None:
        self._first += rows[: ROWS_NAMED - len(self._first)]
        self._count += len(rows)

    def __str__(self) -> str:
        more = self._count - len(self._first)
        return ", ".join(map(str, self._first)) + (f" and {more} more" if more else "")


class _Codes(dict[Value, int]):
    """The codes of the values of an attribute; one beyond its codes stands for a value outside the domain."""

    def __init__(self, attribute: Attribute, computed: bool = False) -> None:
        super().__init__()
        self._attribute = attribute
        self.computed = computed
        self._code_of = code_in_source if computed else code_of

    def __missing__(self, value: Value) -> int:
        found = self._code_of(self._attribute, value)
        code = self._attribute.size if found is None else found
        if len(self) < MOST_TEXTS:
            self[value] = code
        return code


class Coder:
    """Codes rows batch by batch, and gathers what is wrong with any of them.

    The code of a value depends on this value and on the schema only.

    Args:
        file: the name that messages carry.
        also: columns beside the attributes, which are left alone.
    """

    def __init__(self, schema: Schema, file: str, also: Sequence[str] = ()) -> None:
        self.schema, self.file = schema, file
        self.rows = 0
        self._also = also
        self._columns_checked = False
        self._problems: list[Problem] = []
        self._codes = [_Codes(attribute) for attribute in schema.attributes]
        self._outside: list[dict[Value, _Places]] = [{} for _ in schema.attributes]
        self._misses = [0] * len(schema.attributes)

    def read(
        self, path: Path | str, thinned: Callable[[Batch], Batch] = lambda batch: batch
    ) -> Iterator[tuple[list[Column], Batch]]:
        """Code a CSV file, some rows at a time. Faults of its form are found too.

        Args:
            thinned: leaves rows of a batch out, which are not coded then.

        Raises:
            PrivityError: file-missing, file-unreadable.
        """
        try:
            for batch in map(thinned, _csv_batches(path)):
                yield self.code(batch), batch
        except RowProblemsFound as found:
            self._problems += found.problems

    def code(self, batch: Batch) -> list[Column]:
        """Codes of one more batch, an array an attribute; of no use once something was wrong."""
        if not self._columns_checked:
            self._columns_checked = True
            self._problems = _column_problems(list(batch.names), self.schema, self.file, self._also)
            columns = zip(self.schema.attributes, self.schema.columns_of(batch.names), strict=True)
            self._codes = [_Codes(attribute, computed) for attribute, (_, computed) in columns]
        self.rows += len(batch.numbers)
        places = {name: place for place, name in enumerate(batch.names)}
        if len(places) < len(batch.names):
            return []
        return [
            self._code(place, attribute, batch.columns[places[column]], batch.numbers)
            for place, (attribute, (column, _)) in enumerate(
                zip(self.schema.attributes, self.schema.columns_of(batch.names), strict=True)
            )
            if column in places
        ]

    def _code(self, place: int, attribute: Attribute, values: Sequence[Value], numbers: Sequence[int]) -> Column:
        coding, width = self._codes[place], code_type(attribute.size + 1)
        known = values.codes(attribute) if isinstance(values, Moments) and not coding.computed else None
        if known is None:
            known = np.fromiter(map(coding.__getitem__, values), width, len(values))
        codes: Column = known.astype(width)
        missed = np.flatnonzero(codes == attribute.size)
        if missed.size:
            self._misses[place] += missed.size
            outside = self._outside[place]
            for row in missed.tolist():
                if values[row] in outside or len(outside) < MOST_FAULTS:
                    outside.setdefault(values[row], _Places()).add([numbers[row]])
        return codes

    @property
    def sound(self) -> bool:
        """Whether nothing was wrong so far."""
        return not self._problems and not any(self._outside)

    @property
    def misses(self) -> tuple[int, ...]:
        """Rows outside the domain so far, by attribute."""
        return tuple(self._misses)

    def check(self) -> None:
        """Raise ``RowProblemsFound`` with all that was found wrong so far."""
        problems = self.problems()
        if problems:
            raise RowProblemsFound(problems)

    def problems(self) -> list[Problem]:
        """All that was found wrong so far."""
        problems = list(self._problems)
        for attribute, codes, outside in zip(self.schema.attributes, self._codes, self._outside, strict=True):
            unread = {value: rows for value, rows in outside.items() if is_unread(attribute, value, codes.computed)}
            unfit = {value: rows for value, rows in outside.items() if value not in unread}
            if unread:
                problems.append(_type_problem(attribute, unread, self.file))
            if unfit:
                problems.append(_domain_problem(attribute, unfit, self.file))
        return problems


@contextmanager
def _open_text(path: Path | str) -> Iterator[io.TextIOBase]:
    """Open a text file, packed or not; turn every way in which reading can fail into a PrivityError."""
    opener: Any = gzip.open if str(path).lower().endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield file
    except FileNotFoundError as error:
        raise PrivityError(Catalogue.FILE_MISSING, file=path) from error
    except UnicodeDecodeError as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason="not UTF-8 text") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason="not a whole gzip file") from error
    except csv.Error as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=f"not CSV: {error}") from error
    except OSError as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=error.strerror or error) from error


def _csv_batches(path: Path | str) -> Iterator[Batch]:
    """The rows of a CSV file as texts; at least one batch, which shows the columns, if the header has no fault.

    Raises:
        PrivityError: file-missing, file-unreadable.
        RowProblemsFound: at the end, every fault of the form. Rows of another length than the header were left out.
    """
    file = str(path)
    with _open_text(path) as text:
        rows = csv.reader(text, strict=True)
        header = next(rows, [])
        width = len(header)
        problems = _header_problems(header, file)
        ragged = _Places()
        at_once = max(1, CELLS_AT_ONCE // max(1, width))
        numbers: Sequence[int] = ()
        for start in count(1, at_once):
            some = list(islice(rows, at_once))
            if not some and start > 1:
                break
            numbers = range(start, start + len(some))
            if any(len(row) != width for row in some):
                ragged.add([number for number, row in zip(numbers, some, strict=True) if len(row) != width])
                numbers = [number for number, row in zip(numbers, some, strict=True) if len(row) == width]
                some = [row for row in some if len(row) == width]
            if not problems:
                yield Batch(header, list(zip(*some, strict=True)) or [()] * width, numbers)
    if header and str(ragged):
        message = f"not as many values as the header ({width}) in row {ragged}."
        remedy = "Give every row one value a column, in quotes if it holds a comma; leave no line empty."
        problems.append(Problem(file, "", "ragged-rows", message, remedy))
    if problems:
        raise RowProblemsFound(problems)


def _header_problems(header: list[str], file: str) -> list[Problem]:
    if not header:
        return [Problem(file, "", "no-header", "the first line is no header.", "Begin with the names of columns.")]
    problems = []
    unnamed = [str(place) for place, name in enumerate(header, 1) if not name]
    if unnamed:
        message = f"column {_some(unnamed)} has no name."
        problems.append(Problem(file, "header", "unnamed-column", message, "Give every column a name."))
    return problems + _repeated([name for name in header if name], file)


def _repeated(names: list[str], file: str) -> list[Problem]:
    twice = [shorten(name) for name, times in Counter(names).items() if times > 1]
    message, remedy = f"{_some(twice)} appear more than once.", "Give every column its own name."
    return [Problem(file, "header", "duplicate-column", message, remedy)] if twice else []


def _column_problems(names: list[str], schema: Schema, file: str, also: Sequence[str]) -> list[Problem]:
    wanted = list(dict.fromkeys(column for column, _ in schema.columns_of(names)))
    declared = {*wanted, *schema.known_columns, *also}
    missing = [shorten(name) for name in wanted if name not in set(names)]
    extra = [shorten(name) for name in names if name not in declared]
    problems = []
    if len(missing) == len(wanted):
        message = "the first line names none of the declared attributes."
        remedy = "Begin with a header of their names, or use the schema of this table."
        return [Problem(file, "header", "no-header", message, remedy)]
    if missing:
        remedy = "Add them, or take them out of the schema."
        problems.append(
            Problem(file, "header", "missing-column", f"{_some(missing)}: declared, but no such column.", remedy)
        )
    problems += _repeated(names, file)
    if extra:
        message = f"{_some(extra)}: not declared."
        problems.append(Problem(file, "header", "extra-column", message, "Remove it, or declare it."))
    return problems


def _domain_problem(attribute: Attribute, outside: dict[Value, _Places], file: str) -> Problem:
    """Describe the values outside one attribute's domain (with values and rows: for the owner only)."""
    message = f"outside the domain: {_named(outside)}. Expected {expected(attribute)}."
    remedy = "Correct the values (spaces count), declare them, or declare missingValues or outOfDomain."
    return Problem(file, attribute.name, "out-of-domain", message, remedy)


def _type_problem(attribute: Attribute, unread: dict[Value, _Places], file: str) -> Problem:
    message = f"values of a type that is not read: {_named(unread)}. Expected {READ_TYPES}."
    sorts = {value.sort for value in unread if not isinstance(value, str)}
    remedy = " ".join(text for sort, text in _REMEDIES.items() if sort in sorts) or _CONVERT
    return Problem(file, attribute.name, "value-type", message, remedy)


_CONVERT = "Convert the column first: .astype(str) makes texts."
_REMEDIES = {
    Sort.ROUNDED: "pandas may have rounded integers from 2**53 on: .astype('Int64') before, or texts, keep them exact.",
    Sort.INSTANT: 'Declare the type datetime and a "timezone", or take the zone away: .dt.tz_localize(None).',
    Sort.DATETIME: "Declare the type datetime, without a timezone.",
    Sort.DATE: "Declare the type date.",
    Sort.TIME: "Declare the type time.",
    Sort.DURATION: "Declare the type duration.",
}
"""What to do about values that an attribute of another type cannot be."""


def _named(values: dict[Value, _Places]) -> str:
    named = [f"{shown(value)} (row {rows})" for value, rows in list(values.items())[:VALUES_NAMED]]
    more = len(values) - VALUES_NAMED
    least = "at least " if len(values) == MOST_FAULTS else ""
    return ", ".join(named) + (f" and {least}{more} more values" if more > 0 else "")


def expected(attribute: Attribute) -> str:
    """The domain of an attribute in words."""
    if attribute.edges:
        low, high = attribute.name_of(attribute.edges[0]), attribute.name_of(attribute.edges[-1])
        form = "" if attribute.format == DEFAULT else f", written as {attribute.format}"
        what = {"integer": "an integer"}.get(attribute.type, f"a {attribute.type}")
        return f"{what} from {low} to {high}{form}"
    return f"one of {_some([shorten(label) for label in attribute.labels[: attribute.values]])}"


def _some(texts: list[str]) -> str:
    more = len(texts) - NAMES_NAMED
    return ", ".join(texts[:NAMES_NAMED]) + (f" and {more} more" if more > 0 else "")
