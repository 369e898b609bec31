"""One sheet of an Excel workbook, as rows of values: each cell is read alone, by its own type.

A number is a double, as in a DataFrame. A date or time is one by the format of its cell; a formula is the value that
was stored with it; an error, such as #N/A, is an empty cell. A sheet is read whole, so what would take too much memory
is refused before.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from privity.common.data.frame_values import Value, read_value
from privity.common.errors import Catalogue, PrivityError
from privity.common.text.first_few import first_few

MOST_BYTES = 1 << 31
"""Of a workbook, unpacked."""
MOST_CELLS = 1 << 26
"""Of a sheet, from its first cell to its last row and column."""
LONGEST_ROW = 1 << 26
"""Bytes."""

CHUNK = 1 << 20
_PLACE = re.compile(rb"""\sr=["']([A-Z]{0,3})([0-9]{1,7})["']""")
_CELLS = (b"<c ", b"<c>", b":c ", b":c>")
_NOT_COMPUTED = re.compile(
    rb"""<(?:\w+:)?c\b([^<>]*)>\s*<(?:\w+:)?f\b(?:[^<>]*/>|[^<>]*>[^<]*</(?:\w+:)?f>)\s*"""
    rb"""(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"""
)
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s>/]")
_IS_TEXT = re.compile(rb"""\st=["']str["']""")
"""A formula whose value is an empty text says so."""

CACHED = 1 << 16
_number = lru_cache(CACHED, typed=True)(read_value)


@dataclass(frozen=True)
class Sheet:
    """A sheet.

    Attributes:
        rows: from the first one on, empty ones too; an empty cell is an empty text.
        width: columns, from the first one to the last that holds anything.
        height: rows.
    """

    rows: Iterator[list[Value]]
    width: int
    height: int


def read_sheet(path: Path | str, wanted: str) -> Sheet:
    """The sheet of this name; if it is empty, the only visible one that holds anything.

    Raises:
        PrivityError: file-unreadable; among others several sheets hold something, or a formula has no value.
        ImportError: the library is not installed.
    """
    import python_calamine as calamine  # an extra

    if zipfile.is_zipfile(path):
        _check(path)
    with _faults_told(path):
        book = calamine.CalamineWorkbook.from_path(str(path))
        known = [one for one in book.sheets_metadata if one.typ == calamine.SheetTypeEnum.WorkSheet]
        visible = [one.name for one in known if one.visible == calamine.SheetVisibleEnum.Visible]
        name = wanted or _only([name for name in visible if book.get_sheet_by_name(name).start], path)
        if name not in [one.name for one in known]:
            raise _unreadable(path, f"no sheet is called {name}: there are {first_few([one.name for one in known])}")
        sheet = book.get_sheet_by_name(name)
    if sheet.start is None or sheet.end is None:
        return Sheet(iter(()), 0, 0)
    return Sheet(_rows(sheet, sheet.start[1], path), sheet.end[1] + 1, sheet.end[0] + 1)


@contextmanager
def _faults_told(path: Path | str) -> Iterator[None]:
    """Say what the library says of a workbook that is damaged; its panics are no exceptions of Python's."""
    try:
        yield
    except PrivityError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if type(error).__name__ == "PasswordError":
            raise _unreadable(path, "it is protected by a password: save it without one") from error
        reason = f"it is no workbook that can be read ({error}): open it in a spreadsheet and save it as .xlsx"
        raise _unreadable(path, reason) from error


def _only(filled: list[str], path: Path | str) -> str:
    if not filled:
        raise _unreadable(path, "no visible sheet holds anything: save the rows in one")
    if len(filled) > 1:
        example = f'"dialect": {{"sheet": "{filled[0]}"}}'
        raise _unreadable(
            path, f"its sheets {first_few(filled)} all hold something: declare one, {example}, or save it alone"
        )
    return filled[0]


def _rows(sheet: Any, left: int, path: Path | str) -> Iterator[list[Value]]:
    before: list[Value] = [""] * left
    rows = sheet.iter_rows()
    while True:
        with _faults_told(path):
            row = next(rows, None)
        if row is None:
            return
        yield [*before, *map(_value, row)]


def _value(cell: object) -> Value:
    if type(cell) is str:
        return cell
    if type(cell) is float:
        return _number(cell)
    # A sheet does not tell a date from its midnight: both stand for it.
    return read_value(datetime.combine(cell, time()) if type(cell) is date else cell)


def _check(path: Path | str) -> None:
    """Refuse a workbook that would take too much memory, or whose formulas were never computed.

    Every part is unpacked here, so that its size is known and not only declared.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            parts = [part for part in archive.infolist() if part.filename.endswith((".xml", ".rels"))]
            if sum(part.file_size for part in parts) > MOST_BYTES:
                raise _unreadable(path, f"unpacked it has more than {MOST_BYTES >> 30} GiB: save the rows as Parquet")
            for part in parts:
                with archive.open(part) as file:
                    if part.filename.startswith("xl/worksheets/"):
                        _check_sheet(file, path)
                    while file.read(CHUNK):
                        pass
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _unreadable(path, "it is no whole workbook: open it in a spreadsheet and save it again") from error


def _check_sheet(file: IO[bytes], path: Path | str) -> None:
    rows = columns = 0
    for part in _whole_rows(file, path):
        places = _PLACE.findall(part)
        rows = max(rows + part.count(b"<row") + part.count(b":row"), max((int(row) for _, row in places), default=0))
        columns = max(columns, 0, *map(_column, {letters for letters, _ in places}))
        if _cells(part) > sum(letters != b"" for letters, _ in places):  # some do not say where they are
            columns = max(columns, *map(_cells, part.split(b"row")))
        bare = _NOT_COMPUTED.finditer(part) if _FORMULA.search(part) else ()
        if found := next((one for one in bare if not _IS_TEXT.search(one[1])), None):
            place = _PLACE.search(found[1])
            where = f" in {(place[1] + place[2]).decode()}" if place else ""
            reason = f"the formula{where} has no stored value: open the workbook in a spreadsheet and save it"
            raise _unreadable(path, reason)
    if rows * columns > MOST_CELLS:
        reason = f"a sheet reaches to row {rows}, column {columns}: delete what stands far from the table"
        raise _unreadable(path, f"{reason}, or save the rows as Parquet")


def _whole_rows(file: IO[bytes], path: Path | str) -> Iterator[bytes]:
    """The text of a sheet in parts, none of which ends within a row."""
    rest = b""
    while chunk := file.read(CHUNK):
        rest += chunk
        if end := rest.rfind(b"row>") + 1:
            yield rest[: end + 3]
            rest = rest[end + 3 :]
        if len(rest) > LONGEST_ROW:
            raise _unreadable(path, "a row of a sheet is too long: save the rows as Parquet")
    yield rest


def _cells(part: bytes) -> int:
    """How many cells begin here."""
    return sum(map(part.count, _CELLS))


def _column(letters: bytes) -> int:
    """The place of a column by its letters, from 1."""
    place = 0
    for letter in letters:
        place = 26 * place + letter - ord("A") + 1
    return place


def _unreadable(path: Path | str, reason: str) -> PrivityError:
    return PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=reason)
