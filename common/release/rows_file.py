"""Synthetic rows as a file: CSV, or Parquet with types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from privity.common.data.attribute import Attribute
from privity.common.data.coded_table import write_csv
from privity.common.data.schema import Schema
from privity.common.data.table_reading import read_rows
from privity.common.errors import Catalogue, PrivityError
from privity.common.storage.safe_files import appearing

SUFFIXES = (".csv", ".csv.gz", ".parquet")
LARGEST_INT64 = 2**63 - 1


def check_rows_file(path: Path) -> None:
    """Refuse a file whose name says no form that is written."""
    if not path.name.endswith(SUFFIXES):
        raise PrivityError(
            Catalogue.BAD_OPTION, option="out", reason=f"{path.name} is of no kind that is written",
            hint=f"Let its name end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.",
        )  # fmt: skip


def read_decoded(path: Path, schema: Schema) -> pd.DataFrame:
    """Decoded rows of a CSV file as they were before they were written (``coded_table.decode``), types included."""
    texts = read_rows(path)
    return pd.DataFrame({attribute.name: _decoded(texts[attribute.name], attribute) for attribute in schema.attributes})


def _decoded(texts: pd.Series[Any], attribute: Attribute) -> pd.Series[Any]:
    kind = _type_of(attribute)
    read = {"integer": int, "number": float}.get(attribute.type)
    if read is None:
        return pd.Series(texts.tolist(), dtype="str")
    if not attribute.missing and kind != pa.string():
        return texts.astype("int64" if kind == pa.int64() else "float64")
    missing = attribute.missing[:1]
    return pd.Series([text if text in missing else read(text) for text in texts], dtype=object)


def write_rows(frame: pd.DataFrame, schema: Schema, path: Path) -> None:
    """Write decoded rows, whole or not at all.

    Raises:
        PrivityError: file-unreadable, if the place cannot be written.
    """
    if not path.name.endswith(".parquet"):
        write_csv(frame, path)
        return
    with appearing(path) as scratch:
        pq.write_table(typed(frame, schema), scratch)


def typed(frame: pd.DataFrame, schema: Schema) -> pa.Table:
    """Decoded rows with a type for each column: int64, double, bool or string; a missing value is null.

    An integer attribute with categories beyond 64 bits is a column of strings.
    """
    columns = [_column(frame[attribute.name], attribute) for attribute in schema.attributes]
    return pa.Table.from_arrays(columns, names=list(schema.names))


def _column(values: pd.Series[Any], attribute: Attribute) -> pa.Array:
    kind = _type_of(attribute)
    present = values.to_numpy(dtype=object)
    listed = [None if attribute.missing and value == attribute.missing[0] else value for value in present]
    if kind == pa.bool_():
        listed = [None if value is None else value == "true" for value in listed]
    elif kind == pa.string():
        listed = [None if value is None else str(value) for value in listed]
    elif not attribute.missing:
        return pa.array(values.to_numpy(), kind)
    return pa.array(listed, kind)


def _type_of(attribute: Attribute) -> pa.DataType:
    match attribute.type:
        case "number":
            return pa.float64()
        case "boolean":
            return pa.bool_()
        case "integer" if all(abs(int(value)) <= LARGEST_INT64 for value in attribute.categories):
            return pa.int64()
    return pa.string()
