"""Tables: the coded one that the algorithms count, and rows of text made of it."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute, value_text
from privity.common.data.bin_values import Cells, all_cells, drawn
from privity.common.data.schema import Schema
from privity.common.storage.safe_files import appearing

if TYPE_CHECKING:
    import pandas as pd
    from pandas.api.extensions import ExtensionArray

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


def decode(table: CodedTable, generator: np.random.Generator, cells: Mapping[str, Cells] | None = None) -> pd.DataFrame:
    """Write codes as values again; their texts have the same codes.

    A binned number is drawn uniformly from the decimals in its bin (see ``Attribute.grids``), a binned
    integer from its integers. Categories are as declared, a missing value is the first text that means
    one. Columns are int64, float64 or text; a numeric column that may be missing is of type object. Dates and times are
    their numbers (``privity.common.data.written_values``).

    Args:
        cells: what the values of some binned attributes are drawn from, by name; others from all that their bins hold.

    Raises:
        ValueError: a row is absent: there is no text for it.
    """
    import pandas as pd

    if table.absent().any():
        raise ValueError("an absent row has no values")
    columns = {}
    for attribute, codes in zip(table.schema.attributes, table.columns, strict=True):
        columns[attribute.name] = _values(attribute, codes, generator, (cells or {}).get(attribute.name))
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


def _values(
    attribute: Attribute, codes: Column, generator: np.random.Generator, cells: Cells | None
) -> npt.NDArray[Any] | ExtensionArray:
    """Return the values of one column, shape (rows,)."""
    import pandas as pd

    if attribute.categories:
        values = _category_values(attribute)
        if attribute.missing:
            values = np.append(values.astype(object), attribute.missing[0])
        if all(isinstance(value, str) for value in values):
            # As pandas keeps texts, made once for each category instead of once for each row.
            return pd.Series(values).array.take(codes.astype(np.intp))
        return values[codes]
    cells = cells or all_cells(attribute)
    if not attribute.missing:
        return drawn(attribute, cells, codes, generator)
    # The missing ones get a value too, which is overwritten: so all rows cost the same.
    missing = codes == attribute.missing_code
    values = drawn(attribute, cells, np.where(missing, 0, codes), generator).astype(object)
    values[missing] = attribute.missing[0]
    return values


def _category_values(attribute: Attribute) -> npt.NDArray[Any]:
    if attribute.whole and all(-(2**63) <= int(value) < 2**63 for value in attribute.categories):
        return np.array([int(value) for value in attribute.categories], dtype=np.int64)
    if attribute.type == "number":
        return np.array([float(value) for value in attribute.categories])
    if attribute.type == "boolean":
        return np.array([value_text(value) for value in attribute.categories], dtype=object)
    return np.array(attribute.categories, dtype=object)
