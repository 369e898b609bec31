"""Read and code rows of text, some at a time: what a person keeps in CSV, or has in a frame.

Everything that raises ``RowProblemsFound`` may quote values and row numbers, for the owner's own screen: its message
must never leave the owner's machine.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from common.attribute import Attribute, value_text
from common.errors import Catalogue, PrivityError, Problem, ProblemsFound
from common.formats import shorten
from common.schema import Schema
from common.table import CodedTable, Column, code_type

ROWS_AT_ONCE = 1 << 18
VALUES_NAMED = 3  # values outside a domain that a message names
ROWS_NAMED = 3  # rows that a message names per value or fault
NAMES_NAMED = 10  # columns that a message names
MOST_FAULTS = 1000  # different values outside a domain that are told apart
MOST_TEXTS = 1 << 20  # texts of an attribute whose codes are remembered


class RowProblemsFound(ProblemsFound):
    """Faults of a table, with values and row numbers: for the owner's eyes only, never to be sent."""


def read_table(path: Path | str, schema: Schema) -> CodedTable:
    """Read and code a CSV file. Raises as ``read_rows`` and ``encode`` do."""
    coder = Coder(schema, str(path))
    return joined([coder.code(frame) for frame in read_batches(path)], coder)


def read_rows(path: Path | str) -> pd.DataFrame:
    """Read a CSV file (gzip if the name ends in .gz) with a header row; every value as text, as it stands.

    UTF-8, comma-separated. Raises ``PrivityError`` (file-missing, file-unreadable) or
    ``RowProblemsFound`` with every fault of the form: no header, a column without a name or with the name
    of another, rows of another length than the header.
    """
    return pd.concat(read_batches(path), ignore_index=True)


def read_batches(path: Path | str) -> Iterator[pd.DataFrame]:
    """The same some rows at a time; at least one frame, which shows the columns."""
    problems = _form_problems(path)
    if problems:
        raise RowProblemsFound(problems)
    with _open_text(path) as file:
        yield from pd.read_csv(
            file, dtype=str, keep_default_na=False, na_filter=False, skip_blank_lines=False, chunksize=ROWS_AT_ONCE
        )


def encode(frame: pd.DataFrame, schema: Schema, file: str) -> CodedTable:
    """Code a table by the schema; the order of the frame's columns does not matter.

    ``file`` is the name that messages carry. No row is dropped. Raises ``RowProblemsFound`` with all
    faults at once: no rows, columns that are missing or not declared, and, per attribute, values outside
    the domain where the descriptor refuses them. Its messages quote values and row numbers (row 1 is the
    first one after the header), so they are for the owner's screen only.
    """
    coder = Coder(schema, file)
    return joined([coder.code(frame)], coder)


def joined(batches: Sequence[list[Column]], coder: Coder) -> CodedTable:
    """The table of all batches; raises what the coder has found."""
    coder.check()
    return CodedTable(coder.schema, tuple(np.concatenate(columns) for columns in zip(*batches, strict=True)))


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


class Coder:
    """Codes rows batch by batch, and gathers what is wrong with any of them.

    Args:
        file: the name that messages carry.
        also: columns beside the attributes, which are left alone.
    """

    def __init__(self, schema: Schema, file: str, also: Sequence[str] = ()) -> None:
        self.schema = schema
        self.rows = 0
        self._file, self._also = file, also
        self._columns_checked = False
        self._problems: list[Problem] = []
        self._codes: list[dict[str, int | None]] = [{} for _ in schema.attributes]
        self._outside: list[dict[str, _Places]] = [{} for _ in schema.attributes]
        self._misses = [0] * len(schema.attributes)

    def code(self, frame: pd.DataFrame) -> list[Column]:
        """Codes of one more batch, an array an attribute; of no use once something was wrong."""
        if not self._columns_checked:
            self._columns_checked = True
            self._problems = _column_problems(
                [str(name) for name in frame.columns], self.schema, self._file, self._also
            )
        columns = []
        for place, attribute in enumerate(self.schema.attributes):
            if attribute.name in frame.columns and frame.columns.is_unique:
                columns.append(self._code(place, attribute, frame[attribute.name]))
        self.rows += len(frame)
        return columns

    def _code(self, place: int, attribute: Attribute, column: pd.Series) -> Column:
        codes, distinct = pd.factorize(_texts(column), use_na_sentinel=False)
        known = self._codes[place]
        if len(known) > MOST_TEXTS:
            known.clear()
        for text in distinct:
            if text not in known:
                known[text] = attribute.code_of(text)
        found = [known[text] for text in distinct]
        outside = self._outside[place]
        for number, code in enumerate(found):
            if code is None:
                rows = (np.flatnonzero(codes == number) + self.rows + 1).tolist()
                self._misses[place] += len(rows)
                if distinct[number] in outside or len(outside) < MOST_FAULTS:
                    outside.setdefault(distinct[number], _Places()).add(rows)
        lookup = np.array([0 if code is None else code for code in found], dtype=code_type(attribute.size))
        return lookup[codes]

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
        if not self.rows:
            message = "the table has no rows."
            problems.append(Problem(self._file, "", "no-rows", message, "Give it at least one row."))
        for attribute, outside in zip(self.schema.attributes, self._outside, strict=True):
            if outside:
                problems.append(_domain_problem(attribute, outside, self._file))
        return problems


@contextmanager
def _open_text(path: Path | str) -> Iterator[io.TextIOBase]:
    """Open a text file, packed or not; turn every way in which reading can fail into a PrivityError."""
    opener: Any = gzip.open if str(path).endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield file
    except FileNotFoundError as error:
        raise PrivityError(Catalogue.FILE_MISSING, file=path) from error
    except UnicodeDecodeError as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason="not UTF-8 text") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason="not a whole gzip file") from error
    except (csv.Error, pd.errors.ParserError) as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=f"not CSV: {error}") from error
    except OSError as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=error.strerror or error) from error


def _form_problems(path: Path | str) -> list[Problem]:
    """Find the faults of the file's form, which the fast reader would mend silently."""
    file = str(path)
    with _open_text(path) as text:
        rows = csv.reader(text, strict=True)
        header = next(rows, [])
        width = len(header)
        ragged = _Places()
        for place, row in enumerate(rows, 1):
            if len(row) != width:
                ragged.add([place])
    if not header:
        return [Problem(file, "", "no-header", "the first line is no header.", "Begin with the names of columns.")]
    problems = []
    unnamed = [str(place) for place, name in enumerate(header, 1) if not name]
    if unnamed:
        message = f"column {_some(unnamed)} has no name."
        problems.append(Problem(file, "header", "unnamed-column", message, "Give every column a name."))
    twice = [shorten(name) for name in dict.fromkeys(header) if name and header.count(name) > 1]
    if twice:
        message = f"{_some(twice)} appear more than once."
        problems.append(Problem(file, "header", "duplicate-column", message, "Give every column its own name."))
    if str(ragged):
        message = f"not as many values as the header ({width}) in row {ragged}."
        remedy = "Give every row one value a column, in quotes if it holds a comma; leave no line empty."
        problems.append(Problem(file, "", "ragged-rows", message, remedy))
    return problems


def _column_problems(names: list[str], schema: Schema, file: str, also: Sequence[str]) -> list[Problem]:
    declared = {*schema.names, *also}
    missing = [shorten(name) for name in schema.names if name not in set(names)]
    extra = [shorten(name) for name in names if name not in declared]
    problems = []
    if len(missing) == len(schema.names):
        message = "the first line names none of the declared attributes."
        remedy = "Begin with a header of their names, or use the descriptor of this table."
        return [Problem(file, "header", "no-header", message, remedy)]
    if missing:
        remedy = "Add them, or take them out of the descriptor."
        problems.append(
            Problem(file, "header", "missing-column", f"{_some(missing)}: declared, but no such column.", remedy)
        )
    twice = [shorten(name) for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        message = f"{_some(twice)} appear more than once."
        problems.append(Problem(file, "header", "duplicate-column", message, "Give every column its own name."))
    if extra:
        message = f"{_some(extra)}: not declared."
        problems.append(Problem(file, "header", "extra-column", message, "Remove it, or declare it."))
    return problems


def _domain_problem(attribute: Attribute, outside: dict[str, _Places], file: str) -> Problem:
    """Describe the values outside one attribute's domain (with values and rows: for the owner only)."""
    named = [f"{shorten(text)} (row {places})" for text, places in list(outside.items())[:VALUES_NAMED]]
    more = ""
    if len(outside) > VALUES_NAMED:
        least = "at least " if len(outside) == MOST_FAULTS else ""
        more = f" and {least}{len(outside) - VALUES_NAMED} more values"
    message = f"outside the domain: {', '.join(named)}{more}. Expected {expected(attribute)}."
    remedy = "Correct the values (spaces count), declare them, or declare missingValues or outOfDomain."
    return Problem(file, attribute.name, "out-of-domain", message, remedy)


def expected(attribute: Attribute) -> str:
    """The domain of an attribute in words."""
    if attribute.edges:
        low, high = value_text(attribute.edges[0]), value_text(attribute.edges[-1])
        return f"{'an integer' if attribute.type == 'integer' else 'a number'} from {low} to {high}"
    return f"one of {_some([shorten(label) for label in attribute.labels[: attribute.values]])}"


def _texts(column: pd.Series) -> npt.NDArray[Any]:
    """Return a column as an object array of texts; a number as its shortest exact decimal."""
    values = column.to_numpy(dtype=object)
    if pd.api.types.is_string_dtype(column.dtype) and all(type(value) is str for value in values):
        return values
    return np.array([str(value) for value in values], dtype=object)


def _some(texts: list[str]) -> str:
    more = len(texts) - NAMES_NAMED
    return ", ".join(texts[:NAMES_NAMED]) + (f" and {more} more" if more > 0 else "")
