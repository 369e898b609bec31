"""Tables: rows of text as a person keeps them, and the coded table that the algorithms count.

Everything here that raises ``RowProblemsFound`` may quote values and row numbers, for the owner's own
screen: its message must never leave the owner's machine.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.extensions import ExtensionArray

from common.attribute import Attribute, value_text
from common.errors import Catalogue, PrivityError, Problem, ProblemsFound
from common.formats import shorten
from common.schema import Schema

Column = npt.NDArray[np.unsignedinteger[Any]]

VALUES_NAMED = 3  # values outside a domain that a message names
ROWS_NAMED = 3  # rows that a message names per value or fault
NAMES_NAMED = 10  # columns that a message names


class RowProblemsFound(ProblemsFound):
    """Faults of a table, with values and row numbers: for the owner's eyes only, never to be sent."""


@dataclass(frozen=True, eq=False)
class CodedTable:
    """Rows as codes: one array of shape (rows,) an attribute, of the smallest unsigned type that fits.

    Every code lies in ``0 .. schema.domain[i] - 1``. The arrays are read-only.
    """

    schema: Schema
    columns: tuple[Column, ...]
    _derived: dict[int, Column] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.schema.attributes):
            raise ValueError("a coded table has one column for each attribute")
        if len({column.shape for column in self.columns}) != 1 or self.columns[0].ndim != 1:
            raise ValueError("the columns of a coded table are vectors of one length")
        columns = []
        for attribute, column in zip(self.schema.attributes, self.columns, strict=True):
            if column.size and not 0 <= int(column.min()) <= int(column.max()) < attribute.size:
                raise ValueError(f"a code lies outside the domain of {attribute.name!r}")
            codes = np.asarray(column, dtype=code_type(attribute.size)).view()
            codes.flags.writeable = False
            columns.append(codes)
        object.__setattr__(self, "columns", tuple(columns))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0])

    def column(self, index: int) -> Column:
        """Return the codes of attribute ``index``, derived ones included, shape (rows,)."""
        if index < len(self.columns):
            return self.columns[index]
        if index not in self._derived:
            derived = self.schema.derived
            codes = derived.derive(index, self.columns[derived.base[index]])
            self._derived[index] = codes.astype(code_type(derived.domain[index]))
        return self._derived[index]

    def over(self, names: Collection[str] | None) -> CodedTable:
        """The table of some of the attributes, in the schema's order; None stands for all."""
        if names is None:
            return self
        schema = self.schema.over(names)
        return CodedTable(schema, tuple(self.columns[self.schema.index(name)] for name in schema.names))

    def with_absent(self, count: int) -> CodedTable:
        """The table with ``count`` absent rows after its own, each absent in every attribute.

        Raises:
            ValueError: the schema declares no absent rows, or the count is negative.
        """
        if not self.schema.absent_rows:
            raise ValueError("the schema declares no absent rows")
        if count < 0:
            raise ValueError("a number of rows is at least 0")
        columns = (
            np.concatenate([column, np.full(count, attribute.absent_code, dtype=column.dtype)])
            for attribute, column in zip(self.schema.attributes, self.columns, strict=True)
        )
        return CodedTable(self.schema, tuple(columns))

    def absent(self) -> npt.NDArray[np.bool_]:
        """Which cells are absent: shape (attributes, rows). A row of a model may be so in some attributes only."""
        cells = np.zeros((len(self.columns), self.rows), dtype=np.bool_)
        if self.schema.absent_rows:
            for place, attribute in enumerate(self.schema.attributes):
                cells[place] = self.columns[place] == attribute.absent_code
        return cells

    def take(self, indices: npt.ArrayLike) -> CodedTable:
        """Return the table of the rows at ``indices`` (positions, or a mask), in that order."""
        places = np.asarray(indices)
        if not places.size:
            places = places.astype(np.intp)
        return CodedTable(self.schema, tuple(column[places] for column in self.columns))


def code_type(size: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest unsigned type that holds the codes ``0 .. size - 1``."""
    if size <= 2**8:
        return np.uint8
    return np.uint16 if size <= 2**16 else np.uint32


def read_table(path: Path | str, schema: Schema) -> CodedTable:
    """Read and code a CSV file. Raises as ``read_rows`` and ``encode`` do."""
    return encode(read_rows(path), schema, str(path))


def read_rows(path: Path | str) -> pd.DataFrame:
    """Read a CSV file (gzip if the name ends in .gz) with a header row; every value as text, as it stands.

    UTF-8, comma-separated. Raises ``PrivityError`` (file-missing, file-unreadable) or
    ``RowProblemsFound`` with every fault of the form: no header, a column without a name or with the name
    of another, rows of another length than the header.
    """
    problems = _form_problems(path)
    if problems:
        raise RowProblemsFound(problems)
    with _open_text(path) as file:
        return pd.read_csv(
            file, dtype=str, keep_default_na=False, na_filter=False, skip_blank_lines=False, low_memory=False
        )


def encode(frame: pd.DataFrame, schema: Schema, file: str) -> CodedTable:
    """Code a table by the schema; the order of the frame's columns does not matter.

    ``file`` is the name that messages carry. No row is dropped. Raises ``RowProblemsFound`` with all
    faults at once: no rows, columns that are missing or not declared, and, per attribute, values outside
    the domain where the descriptor refuses them. Its messages quote values and row numbers (row 1 is the
    first one after the header), so they are for the owner's screen only.
    """
    problems = _column_problems([str(name) for name in frame.columns], schema, file)
    if not len(frame):
        problems.append(Problem(file, "", "no-rows", "the table has no rows.", "Give it at least one row."))
    columns = []
    for attribute in schema.attributes:
        if attribute.name not in frame.columns or not frame.columns.is_unique:
            continue
        codes, distinct = pd.factorize(_texts(frame[attribute.name]), use_na_sentinel=False)
        found = [attribute.code_of(text) for text in distinct]
        outside = [place for place, code in enumerate(found) if code is None]
        if outside:
            problems.append(_domain_problem(attribute, codes, distinct, outside, file))
            continue
        lookup = np.array(found, dtype=code_type(attribute.size))
        columns.append(lookup[codes])
    if problems:
        raise RowProblemsFound(problems)
    return CodedTable(schema, tuple(columns))


def decode(table: CodedTable, generator: np.random.Generator) -> pd.DataFrame:
    """Write codes as values again; ``encode`` gives the same codes back.

    A binned number is drawn uniformly from the decimals in its bin (see ``Attribute.grids``), a binned
    integer from its integers. Categories are as declared, a missing value is the first text that means
    one. Columns are int64, float64 or text; a numeric column that may be missing is of type object.

    Raises:
        ValueError: a row is absent: there is no text for it.
    """
    if table.absent().any():
        raise ValueError("an absent row has no values")
    columns = {}
    for attribute, codes in zip(table.schema.attributes, table.columns, strict=True):
        columns[attribute.name] = _values(attribute, codes, generator)
    return pd.DataFrame(columns)


def write_csv(frame: pd.DataFrame, path: Path | str) -> None:
    """Write a CSV file (gzip if the name ends in .gz): whole or not at all, equal bytes for equal frames."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
                    _write_text(frame, packed)
            else:
                _write_text(frame, raw)
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=error.strerror or error) from error
    finally:
        temporary.unlink(missing_ok=True)


def _write_text(frame: pd.DataFrame, file: Any) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    frame.to_csv(text, index=False, lineterminator="\n")
    text.flush()
    text.detach()


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
        ragged = [place for place, row in enumerate(rows, 1) if len(row) != width]
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
    if ragged:
        message = f"not as many values as the header ({width}) in row {_rows(ragged)}."
        remedy = "Give every row one value a column, in quotes if it holds a comma; leave no line empty."
        problems.append(Problem(file, "", "ragged-rows", message, remedy))
    return problems


def _column_problems(names: list[str], schema: Schema, file: str) -> list[Problem]:
    declared = set(schema.names)
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


def _domain_problem(
    attribute: Attribute,
    codes: npt.NDArray[np.intp],
    distinct: npt.NDArray[Any],
    outside: list[int],
    file: str,
) -> Problem:
    """Describe the values outside one attribute's domain (with values and rows: for the owner only)."""
    named = [
        f"{shorten(distinct[place])} (row {_rows((np.flatnonzero(codes == place) + 1).tolist())})"
        for place in outside[:VALUES_NAMED]
    ]
    more = f" and {len(outside) - VALUES_NAMED} more values" if len(outside) > VALUES_NAMED else ""
    if attribute.edges:
        low, high = value_text(attribute.edges[0]), value_text(attribute.edges[-1])
        wanted = f"{'an integer' if attribute.type == 'integer' else 'a number'} from {low} to {high}"
    else:
        wanted = f"one of {_some([shorten(label) for label in attribute.labels[: attribute.values]])}"
    message = f"outside the domain: {', '.join(named)}{more}. Expected {wanted}."
    remedy = "Correct the values (spaces count), declare them, or declare missingValues or outOfDomain."
    return Problem(file, attribute.name, "out-of-domain", message, remedy)


def _texts(column: pd.Series) -> npt.NDArray[Any]:
    """Return a column as an object array of texts; a number as its shortest exact decimal."""
    values = column.to_numpy(dtype=object)
    if pd.api.types.is_string_dtype(column.dtype) and all(type(value) is str for value in values):
        return values
    return np.array([str(value) for value in values], dtype=object)


def _values(attribute: Attribute, codes: Column, generator: np.random.Generator) -> npt.NDArray[Any] | ExtensionArray:
    """Return the values of one column, shape (rows,)."""
    if attribute.categories:
        values = _category_values(attribute)
        if attribute.missing:
            values = np.append(values.astype(object), attribute.missing[0])
        if all(isinstance(value, str) for value in values):
            # As pandas keeps texts, made once for each category instead of once for each row.
            return pd.Series(values).array.take(codes.astype(np.intp))
        return values[codes]
    if not attribute.missing:
        return _draw(attribute, codes, generator)
    # The missing ones get a draw too, which is overwritten: so all rows cost the same.
    missing = codes == attribute.missing_code
    drawn = _draw(attribute, np.where(missing, 0, codes), generator).astype(object)
    drawn[missing] = attribute.missing[0]
    return drawn


def _category_values(attribute: Attribute) -> npt.NDArray[Any]:
    if attribute.type == "integer" and all(-(2**63) <= int(value) < 2**63 for value in attribute.categories):
        return np.array([int(value) for value in attribute.categories], dtype=np.int64)
    if attribute.type == "number":
        return np.array([float(value) for value in attribute.categories])
    if attribute.type == "boolean":
        return np.array([value_text(value) for value in attribute.categories], dtype=object)
    return np.array(attribute.categories, dtype=object)


def _draw(attribute: Attribute, codes: npt.NDArray[Any], generator: np.random.Generator) -> npt.NDArray[Any]:
    """Draw a value from the bin of each code: int64 for integers, float64 for numbers."""
    grids = attribute.grids
    first = np.array([grid.first for grid in grids], dtype=np.int64)
    count = np.array([grid.count for grid in grids], dtype=np.int64)
    points = first[codes] + generator.integers(0, count[codes])
    if attribute.type == "integer":
        return points
    return _scaled(points, np.array([grid.decimals for grid in grids])[codes])


def _scaled(points: npt.NDArray[np.int64], decimals: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    """Return the doubles nearest to ``points / 10**decimals``.

    Points have at most 15 digits and powers of ten up to 10**22 are doubles, so that one division or
    product rounds once; and a double nearest to a decimal of 15 digits is printed as that decimal.
    """
    if np.any(np.abs(decimals) > 22):
        return np.array([float(f"{point}e{-places}") for point, places in zip(points, decimals, strict=True)])
    powers = np.array([float(10**place) for place in range(23)])
    scale = powers[np.abs(decimals)]
    return np.where(decimals >= 0, points / scale, points * scale)


def _some(texts: list[str]) -> str:
    more = len(texts) - NAMES_NAMED
    return ", ".join(texts[:NAMES_NAMED]) + (f" and {more} more" if more > 0 else "")


def _rows(places: list[int]) -> str:
    more = len(places) - ROWS_NAMED
    return ", ".join(map(str, places[:ROWS_NAMED])) + (f" and {more} more" if more > 0 else "")
