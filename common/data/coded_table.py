"""Tables: the coded one that the algorithms count, and rows of text made of it."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.extensions import ExtensionArray

from privity.common.data.attribute import Attribute, Histogram, value_text
from privity.common.data.schema import Schema
from privity.common.storage.safe_files import appearing

Column = npt.NDArray[np.unsignedinteger[Any]]


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


def joined(tables: Sequence[CodedTable]) -> CodedTable:
    """The rows of one table after another, all of one schema; at least one table."""
    columns = zip(*(table.columns for table in tables), strict=True)
    return CodedTable(tables[0].schema, tuple(np.concatenate(parts) for parts in columns))


def code_type(size: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest unsigned type that holds the codes ``0 .. size - 1``."""
    if size <= 2**8:
        return np.uint8
    return np.uint16 if size <= 2**16 else np.uint32


def decode(table: CodedTable, generator: np.random.Generator) -> pd.DataFrame:
    """Write codes as values again; their texts have the same codes.

    A binned number is drawn uniformly from the decimals in its bin (see ``Attribute.grids``), a binned
    integer from its integers. Categories are as declared, a missing value is the first text that means
    one. Columns are int64, float64 or text; a numeric column that may be missing is of type object. Dates and times are
    their numbers (``privity.common.data.written_values``).

    Raises:
        ValueError: a row is absent: there is no text for it.
    """
    if table.absent().any():
        raise ValueError("an absent row has no values")
    columns = {}
    for attribute, codes in zip(table.schema.attributes, table.columns, strict=True):
        columns[attribute.name] = _values(attribute, codes, generator)
    return pd.DataFrame(columns)


def write_csv(frame: pd.DataFrame, path: Path | str, *, quote_all: bool = False) -> None:
    """Write a CSV file (gzip if the name ends in .gz): whole or not at all, equal bytes for equal frames.

    Args:
        quote_all: write every value in quotes, so that any text reads as it was. Without it, Python before 3.13 leaves
            a text with a lone CR unquoted, which then reads as several rows.
    """
    quoting: Literal[0, 1] = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    path = Path(path)
    with appearing(path) as scratch, open(scratch, "wb") as raw:
        if path.suffix == ".gz":
            with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
                _write_text(frame, packed, quoting)
        else:
            _write_text(frame, raw, quoting)


def _write_text(frame: pd.DataFrame, file: Any, quoting: Literal[0, 1]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    frame.to_csv(text, index=False, lineterminator="\n", quoting=quoting)
    text.flush()
    text.detach()


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
        return _sample(attribute, codes, generator)
    # The missing ones get a value too, which is overwritten: so all rows cost the same.
    missing = codes == attribute.missing_code
    drawn = _sample(attribute, np.where(missing, 0, codes), generator).astype(object)
    drawn[missing] = attribute.missing[0]
    return drawn


def _category_values(attribute: Attribute) -> npt.NDArray[Any]:
    if attribute.whole and all(-(2**63) <= int(value) < 2**63 for value in attribute.categories):
        return np.array([int(value) for value in attribute.categories], dtype=np.int64)
    if attribute.type == "number":
        return np.array([float(value) for value in attribute.categories])
    if attribute.type == "boolean":
        return np.array([value_text(value) for value in attribute.categories], dtype=object)
    return np.array(attribute.categories, dtype=object)


def _sample(attribute: Attribute, codes: npt.NDArray[Any], generator: np.random.Generator) -> npt.NDArray[Any]:
    """Draw a value from the bin of each code: int64 for whole numbers, float64 or ``Decimal`` for others."""
    grids = attribute.grids
    if attribute.histogram is not None:
        codes, grids = _cells(attribute, attribute.histogram, codes, generator), attribute.cell_grids
    first = np.array([grid.first for grid in grids], dtype=np.int64)
    count = np.array([grid.count for grid in grids], dtype=np.int64)
    points = first[codes] + generator.integers(0, count[codes])
    if attribute.whole:
        return points
    if attribute.exact:
        decimals = [Decimal(point).scaleb(-attribute.places) for point in points.tolist()]
        return np.array([*decimals, None], dtype=object)[:-1]
    return _scaled(points, np.array([grid.decimals for grid in grids])[codes])


def _cells(
    attribute: Attribute, histogram: Histogram, codes: npt.NDArray[Any], generator: np.random.Generator
) -> npt.NDArray[np.intp]:
    """Draw a cell of the histogram within the bin of each code."""
    places = {edge: place for place, edge in enumerate(histogram.edges)}
    starts = np.array([places[edge] for edge in attribute.edges])
    weights = np.array(histogram.weights, dtype=np.float64)
    empty = np.add.reduceat(weights, starts[:-1]) == 0
    of_bin = np.repeat(np.arange(attribute.values), np.diff(starts))
    weights = np.where(empty[of_bin], [float(grid.count) for grid in attribute.cell_grids], weights)
    ends = np.concatenate([[0.0], np.cumsum(weights)])
    low, high = ends[starts[codes]], ends[starts[codes + 1]]
    found = np.searchsorted(ends, low + generator.random(len(codes)) * (high - low), side="right") - 1
    # A sum that was rounded must lead out of no bin.
    return np.clip(found, starts[codes], starts[codes + 1] - 1)


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
