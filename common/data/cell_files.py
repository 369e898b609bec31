"""Tables in files whose cells are values and no texts: workbooks of Excel, files of Stata, SPSS and SAS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from privity.common.data import statistics_files, workbooks
from privity.common.data.dialect import Dialect
from privity.common.data.file_kinds import OLD_WORKBOOK, WORKBOOK, kind_of_file
from privity.common.data.frame_values import Value, text_of
from privity.common.errors import Catalogue, PrivityError

WORKBOOKS = (WORKBOOK, OLD_WORKBOOK)
CELL_FILES = (*WORKBOOKS, *statistics_files.READERS)
EXTRA = "install what reads it, pip install 'privity[files]', or save it as CSV or Parquet"


@dataclass(frozen=True)
class CellRows:
    """The rows of a file.

    Attributes:
        rows: its header, if it has one, and its rows.
        dialect: by which they are told apart.
        read: about how many bytes of the file were read so far.
    """

    rows: Iterator[Sequence[Value]]
    dialect: Dialect
    read: Callable[[], int]


def holds_cells(path: Path | str) -> bool:
    """Whether it is such a file by its first bytes."""
    return kind_of_file(path)[0] in CELL_FILES


@contextmanager
def open_cells(path: Path | str, dialect: Dialect, columns: int = 0) -> Iterator[CellRows]:
    """Open such a file.

    A row has as many values as the table has columns; more only in a sheet without a header, beside its fields.

    Args:
        columns: of a sheet without a header; 0: as many as it has.

    Raises:
        PrivityError: file-missing, file-unreadable; also while rows are read.
    """
    size, done = Path(path).stat().st_size, [0]
    kind = kind_of_file(path)[0]
    if str(path).lower().endswith(".gz"):
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=f"it is {kind} packed by gzip: unpack it")
    try:
        if kind in WORKBOOKS:
            sheet = workbooks.read_sheet(path, dialect.sheet)
            height, rows = sheet.height, _framed(_counted(sheet.rows, done), dialect, columns or sheet.width)
        else:
            names, height, found = statistics_files.read_rows_of(path, kind)
            rows, dialect = _with_names(names, _counted(found, done)), replace(dialect, header=True, skip_rows=0)
    except ImportError as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=f"it is {kind}: {EXTRA}") from error
    yield CellRows(rows, dialect, lambda: min(size, size * done[0] // max(1, height)))


def first_texts(path: Path | str, dialect: Dialect, rows: int) -> list[list[str]]:
    """The texts of the first rows of a sheet as they stand, empty ones too; of another file its names and rows."""
    kind = kind_of_file(path)[0]
    if kind in WORKBOOKS:
        found = workbooks.read_sheet(path, dialect.sheet).rows
        return [list(map(text_of, row)) for row in islice(found, rows)]
    with open_cells(path, dialect) as cells:
        return [list(map(text_of, row)) for row in islice(cells.rows, rows)]


def _counted(rows: Iterator[list[Value]], done: list[int]) -> Iterator[list[Value]]:
    for row in rows:
        done[0] += 1
        yield row


def _with_names(names: list[str], rows: Iterator[list[Value]]) -> Iterator[list[Value]]:
    yield list(names)
    yield from rows


def _framed(rows: Iterator[list[Value]], dialect: Dialect, width: int) -> Iterator[list[Value]]:
    """The table of a sheet: the columns from the first to the last name of its header, or those of its fields.

    A row without a value there is none, wherever it stands: nothing says where a sheet ends.
    """
    rest = islice(rows, dialect.skip_rows, None)
    left = 0
    if dialect.header:
        header = next((list(map(text_of, row)) for row in rest if any(value != "" for value in row)), [])
        named = [place for place, name in enumerate(header) if name]
        if not named:
            return
        left, width = named[0], named[-1] + 1 - named[0]
        yield list(header[left : left + width])
    for row in rest:
        cells = row[left : left + width] if dialect.header or all(value == "" for value in row[width:]) else row
        if any(value != "" for value in cells):
            yield [*cells, *[""] * (width - len(cells))]
