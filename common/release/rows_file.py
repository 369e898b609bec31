"""Synthetic rows as a file: CSV, or Parquet with types."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privity.common.data.attribute import FALSE_TEXTS, SPELLINGS, TRUE_TEXTS, Attribute
from privity.common.data.coded_table import CodedTable, write_csv
from privity.common.data.history_reading import read_steps
from privity.common.data.schema import Schema
from privity.common.data.table_reading import read_rows, read_table
from privity.common.data.written_values import arrow_type, as_arrow, as_texts
from privity.common.errors import Catalogue, PrivityError
from privity.common.release.release_contents import EVENTS, SYNTHETIC
from privity.common.storage.safe_files import appearing

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".csv.gz", ".parquet")


def check_rows_file(path: Path) -> None:
    """Refuse a file whose name says no form that is written."""
    if not path.name.endswith(SUFFIXES):
        raise PrivityError(
            Catalogue.BAD_OPTION, option="out", reason=f"{path.name} is of a type that cannot be written",
            hint=f"Let its name end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.",
        )  # fmt: skip


def read_synthetic(folder: Path, schema: Schema) -> CodedTable:
    """The synthetic rows of a release, coded; of histories one step of each person.

    Raises:
        RowProblemsFound: rows that do not fit the schema.
        PrivityError: file-missing, file-unreadable.
    """
    if schema.history is None:
        return read_table(folder / SYNTHETIC, schema)
    return read_steps(schema, folder / SYNTHETIC, folder / EVENTS)


def read_decoded(path: Path, schema: Schema) -> pd.DataFrame:
    """Decoded rows of a CSV file as they were before they were written (``coded_table.decode``)."""
    import pandas as pd

    texts = read_rows(path)
    known = {attribute.name: attribute for attribute in schema.attributes}
    known |= {column.name: column.attribute for column in schema.unread}
    return pd.DataFrame({name: _decoded(texts[name], known.get(str(name))) for name in texts.columns})


def _decoded(texts: pd.Series[Any], attribute: Attribute | None) -> pd.Series[Any]:
    import pandas as pd
    import pyarrow as pa

    if attribute is not None and attribute.type == "boolean":
        written = dict(zip(SPELLINGS.get(attribute.format, ()), (TRUE_TEXTS[0], FALSE_TEXTS[0]), strict=False))
        return pd.Series([written.get(text, text) for text in texts], dtype="str")
    if attribute is None or not attribute.numeric:
        return pd.Series(texts.tolist(), dtype="str")
    made: Callable[[str], Any] = attribute.read if attribute.temporal else Decimal if attribute.exact else float
    made = int if attribute.type == "integer" else made
    missing = attribute.missing[:1]
    values = [text if text in missing else made(text) for text in texts]
    # As they are drawn: whatever may be missing, or is of no width, is an object.
    plain = not attribute.missing and arrow_type(attribute) == pa.float64()
    whole = not attribute.missing and (attribute.temporal is not None or arrow_type(attribute) == pa.int64())
    return pd.Series(values, dtype="float64" if plain else "int64" if whole else object)


def write_rows(frame: pd.DataFrame, schema: Schema, path: Path) -> None:
    """Write decoded rows, whole or not at all.

    Raises:
        PrivityError: file-unreadable, if the place cannot be written.
    """
    if not path.name.endswith(".parquet"):
        write_csv(as_texts(frame, schema), path)
        return
    import pyarrow.parquet as pq

    with appearing(path) as scratch:
        pq.write_table(as_arrow(frame, schema), scratch)
