"""Read a file in the dialect that is declared for it, some rows at a time; every value of CSV as a text.

Nothing about the file is found out from it. What looks at it again when something is wrong
(``privity.common.data.reading_hints``) is for messages alone.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path

from privity.common.data.cell_files import CellRows, holds_cells, open_cells
from privity.common.data.csv_text import bytes_read, csv_rows, open_text
from privity.common.data.dialect import Dialect
from privity.common.data.frame_values import MISSING, Value, text_of
from privity.common.data.reading_hints import encoding_hint, quoting_hint
from privity.common.data.schema import Schema
from privity.common.errors import Problem, RowProblemsFound
from privity.common.text.first_few import first_few
from privity.common.text.short_values import shorten

CELLS_AT_ONCE = 1 << 15
ROWS_NAMED = 3  # rows that a message names per value or fault


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


class Places:
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


def csv_batches(
    path: Path | str,
    dialect: Dialect,
    names: Sequence[str] = (),
    *,
    used: Collection[str] | None = None,
    at: Callable[[int], None] = lambda read: None,
) -> Iterator[Batch]:
    """The rows of a file (gzip if the name ends in .gz); at least one batch, if the header has no fault.

    Args:
        names: of the columns of a file without a header; if there are none, its columns are numbered.
        used: columns that are looked at, if others may be named anyhow.
        at: is told before each batch how many bytes of the file were read.

    Raises:
        PrivityError: file-missing, file-unreadable.
        RowProblemsFound: at the end, every fault of the form. Rows of another length than the header were left out.
    """
    file = str(path)
    problems: list[Problem] = []
    try:
        with _open_records(path, dialect, len(names)) as found:
            for batch in _batches(found.rows, found.dialect, list(names), used, file, problems):
                at(found.read())
                yield batch
    except UnicodeDecodeError as error:
        message, remedy = encoding_hint(path, dialect, error)
        problems.append(Problem(file, "", "encoding", message, remedy))
    except csv.Error as error:
        message, remedy = quoting_hint(path, dialect, str(error))
        problems.append(Problem(file, "", "quoting", message, remedy))
    if problems:
        raise RowProblemsFound(problems)


@contextmanager
def _open_records(path: Path | str, dialect: Dialect, columns: int) -> Iterator[CellRows]:
    if holds_cells(path):
        with open_cells(path, dialect, columns) as cells:
            yield cells
        return
    with open_text(path, dialect) as text:
        yield CellRows(csv_rows(text, dialect), dialect, lambda: bytes_read(text))


def _batches(
    rows: Iterator[Sequence[Value]],
    dialect: Dialect,
    header: list[str],
    used: Collection[str] | None,
    file: str,
    problems: list[Problem],
) -> Iterator[Batch]:
    first = next(rows, None) if dialect.header or not header else None
    if dialect.header:
        header = list(map(text_of, first or []))
    elif first is not None:
        header = [f"column {place}" for place in range(1, len(first) + 1)]
        rows = chain([first], rows)
    width = len(header)
    problems += header_problems(header, file, used)
    ragged = Places()
    at_once = max(1, CELLS_AT_ONCE // max(1, width))
    for start in count(1, at_once):
        some: list[Sequence[Value]] = list(islice(rows, at_once))
        if not some and start > 1:
            break
        numbers: Sequence[int] = range(start, start + len(some))
        if any(len(row) != width for row in some):
            if dialect.forgiving:
                some = [_fitted(row, width) for row in some]
            else:
                ragged.add([number for number, row in zip(numbers, some, strict=True) if len(row) != width])
                numbers = [number for number, row in zip(numbers, some, strict=True) if len(row) == width]
                some = [row for row in some if len(row) == width]
        if not problems:
            yield Batch(header, list(zip(*some, strict=True)) or [()] * width, numbers)
    if header and str(ragged):
        message = f"not as many values as the header ({width}) in row {ragged}."
        remedy = (
            'Give every row one value a column, in quotes if it holds the delimiter. Or declare in "dialect" '
            '"skipBlankRows": true if they are empty lines, "badRows": "missing" if what they lack is missing.'
        )
        problems.append(Problem(file, "", "ragged-rows", message, remedy))


def _fitted(row: Sequence[Value], width: int) -> Sequence[Value]:
    """A row of the right length: cells that it lacks are missing, and all are of one that has too many."""
    if len(row) > width:
        return [MISSING] * width
    return [*row, *[MISSING] * (width - len(row))]


def header_problems(header: list[str], file: str, used: Collection[str] | None) -> list[Problem]:
    """What is wrong with the names of columns by themselves."""
    if not header:
        return [Problem(file, "", "no-header", "the first line is no header.", "Begin with the names of columns.")]
    problems = []
    unnamed = [str(place) for place, name in enumerate(header, 1) if not name]
    if unnamed and used is None:
        message = f"column {first_few(unnamed)} has no name."
        remedy = 'Give every column a name, or declare "extraColumns": "ignore".'
        problems.append(Problem(file, "header", "unnamed-column", message, remedy))
    return problems + repeated([name for name in header if name and (used is None or name in used)], file)


def repeated(names: list[str], file: str) -> list[Problem]:
    """Names that are there more than once."""
    twice = [shorten(name) for name, times in Counter(names).items() if times > 1]
    message = f"{first_few(twice)} appear more than once."
    remedy = (
        "Give every column its own name. Or name the fields in the order of the columns, and declare "
        '"dialect": {"header": false, "skipRows": 1}.'
    )
    return [Problem(file, "header", "duplicate-column", message, remedy)] if twice else []


def extra_problems(names: Collection[str], schema: Schema, source: str, also: Collection[str]) -> list[Problem]:
    """Columns that are neither attributes nor otherwise known, where the schema does not ignore them."""
    if schema.extra_columns:
        return []
    extra = [shorten(name) for name in names if name not in schema.known_columns and name not in also]
    remedy = 'Remove it, declare it, or declare "extraColumns": "ignore".'
    return [Problem(source, "header", "extra-column", f"{first_few(extra)}: not declared.", remedy)] if extra else []
