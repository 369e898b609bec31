"""Decoded rows as their readers want them: texts of a file, columns of Arrow and Parquet, columns of pandas.

In a decoded frame (``privity.common.data.coded_table.decode``) dates and times are their numbers, and a missing value
is the first text that means one.
"""

from __future__ import annotations

from datetime import time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import FALSE_TEXTS, SPELLINGS, TRUE_TEXTS, Attribute
from privity.common.data.schema import Schema
from privity.common.data.temporal_columns import texts_of
from privity.common.data.temporal_pattern import DEFAULT, SECOND

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

LARGEST_INT64 = 2**63 - 1
DECIMAL_DIGITS = 38
"""Of the widest decimal of Arrow that databases read."""

Mask = npt.NDArray[np.bool_]


def as_texts(frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """The rows as they stand in a CSV file: dates, times and booleans in their declared format; others as they are."""
    import pandas as pd

    written = {name: _texts(attribute, frame[name]) for name, attribute in _columns(frame, schema)}
    return pd.DataFrame(written, index=frame.index)


def as_arrow(frame: pd.DataFrame, schema: Schema) -> pa.Table:
    """The rows with a type for each column; a missing value is null, and only where it is declared."""
    import pyarrow as pa

    there = _columns(frame, schema)
    fields = [pa.field(name, arrow_type(attribute), nullable=bool(attribute.missing)) for name, attribute in there]
    columns = [_arrow(attribute, frame[name]) for name, attribute in there]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def as_pandas(frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """The rows as pandas has such values: a missing one is NA, NaN, NaT or None, as the type has it."""
    import pandas as pd

    values = {name: _pandas(attribute, frame[name]) for name, attribute in _columns(frame, schema)}
    return pd.DataFrame(values, index=frame.index)


def _columns(frame: pd.DataFrame, schema: Schema) -> list[tuple[str, Attribute]]:
    """The columns of decoded rows with what is declared of them; a column that stays empty is all missing."""
    known = {attribute.name: attribute for attribute in schema.attributes}
    known |= {column.name: column.attribute for column in schema.unread}
    return [(str(name), known[str(name)]) for name in frame.columns]


def arrow_type(attribute: Attribute) -> pa.DataType:
    """The type of an attribute's values in Arrow and in Parquet."""
    import pyarrow as pa

    match attribute.type:
        case "boolean":
            return pa.bool_()
        case "integer":
            largest = max((abs(int(value)) for value in attribute.categories), default=0)
            if largest <= LARGEST_INT64:
                return pa.int64()
            return pa.decimal128(DECIMAL_DIGITS, 0) if largest < 10**DECIMAL_DIGITS else pa.string()
        case "number":
            return pa.decimal128(DECIMAL_DIGITS, attribute.places) if attribute.exact else pa.float64()
        case "date":
            return pa.date32()
        case "time":
            return pa.time64("us")
        case "datetime":
            return pa.timestamp(_unit(attribute), tz=attribute.timezone)
        case "duration":
            return pa.duration(_unit(attribute))
    return pa.string()


def pandas_type(attribute: Attribute) -> Any:
    """The type of an attribute's column in pandas; that of a text is pandas' own."""
    import pandas as pd
    import pyarrow as pa

    unit = _pandas_unit(attribute)
    match attribute.type:
        case "boolean":
            return "boolean" if attribute.missing else "bool"
        case "integer" if arrow_type(attribute) == pa.int64():
            # A column of int64 may have been one of doubles.
            return "Int64" if attribute.missing or attribute.beyond_doubles else "int64"
        case "number" if not attribute.exact:
            return "float64"
        case "datetime" if attribute.temporal is not None and attribute.temporal.zone is not None:
            return pd.DatetimeTZDtype(unit, tz=attribute.temporal.zone)
        case "date" | "datetime":
            return f"datetime64[{unit}]"
        case "duration":
            return f"timedelta64[{unit}]"
        case "string":
            return "str"
    return "object"


def _unit(attribute: Attribute) -> Literal["ms", "us"]:
    """The unit of Arrow that holds every value."""
    size = SECOND if attribute.temporal is None else attribute.temporal.unit
    return "ms" if size >= SECOND // 1000 else "us"


def _pandas_unit(attribute: Attribute) -> Literal["s", "us"]:
    """The unit that pandas reads dates and times in; seconds of durations that are too long for it."""
    if attribute.type != "duration" or attribute.temporal is None:
        return "us"
    longest = max((abs(int(value)) for value in (*attribute.edges, *attribute.categories)), default=0)
    return "us" if longest * attribute.temporal.unit // (SECOND // 1_000_000) < LARGEST_INT64 else "s"


def _ticks(attribute: Attribute, numbers: npt.NDArray[np.int64], unit: str) -> npt.NDArray[np.int64]:
    """Numbers of dates and times in a unit that holds them."""
    assert attribute.temporal is not None
    size = attribute.temporal.unit // {"s": SECOND, "ms": SECOND // 1000, "us": SECOND // 1_000_000}[unit]
    return numbers * size


def _missing(attribute: Attribute, column: pd.Series) -> Mask:
    if not attribute.missing:
        return np.zeros(len(column), dtype=np.bool_)
    if attribute.type in ("string", "boolean"):
        return (column == attribute.missing[0]).to_numpy(dtype=np.bool_)
    # All values are numbers.
    return np.fromiter((isinstance(value, str) for value in column), np.bool_, len(column))


def _numbers(column: pd.Series, missing: Mask) -> npt.NDArray[Any]:
    """The numbers of a column, with 0 where there is none."""
    values = column.to_numpy()
    return np.where(missing, 0, values) if missing.any() else values


def _texts(attribute: Attribute, column: pd.Series) -> Any:
    if attribute.type == "boolean" and attribute.format != DEFAULT:
        true, false = SPELLINGS[attribute.format]
        return column.map({TRUE_TEXTS[0]: true, FALSE_TEXTS[0]: false}).fillna(column).array
    if attribute.temporal is None:
        if not attribute.exact:
            return column.array
        return [value if isinstance(value, str) else format(value, "f") for value in column]
    missing = _missing(attribute, column)
    distinct, places = np.unique(_numbers(column, missing).astype(np.int64), return_inverse=True)
    texts = texts_of(attribute.temporal, distinct)[places]
    texts[missing] = attribute.missing[0] if attribute.missing else ""
    return texts


def _arrow(attribute: Attribute, column: pd.Series) -> pa.Array:
    import pyarrow as pa

    kind, missing = arrow_type(attribute), _missing(attribute, column)
    if attribute.temporal is not None:
        numbers = _numbers(column, missing).astype(np.int64)
        if attribute.type == "date":
            return pa.array(numbers.astype(np.int32), pa.int32(), mask=missing).view(kind)
        return pa.array(_ticks(attribute, numbers, kind.unit), pa.int64(), mask=missing).view(kind)
    if kind in (pa.int64(), pa.float64()):
        width = np.int64 if kind == pa.int64() else np.float64
        return pa.array(_numbers(column, missing).astype(width), kind, mask=missing)
    values = column.to_numpy(dtype=object)
    if kind == pa.bool_():
        return pa.array((values == "true").astype(np.bool_), kind, mask=missing)
    made = str if kind == pa.string() else Decimal
    return pa.array([None if gone else made(value) for value, gone in zip(values, missing, strict=True)], kind)


def _pandas(attribute: Attribute, column: pd.Series) -> Any:
    import pandas as pd

    kind, missing = pandas_type(attribute), _missing(attribute, column)
    if attribute.temporal is not None:
        numbers = _numbers(column, missing).astype(np.int64)
        if attribute.type == "time":
            microseconds = _ticks(attribute, numbers, "us").tolist()
            times = [None if gone else _time(one) for one, gone in zip(microseconds, missing, strict=True)]
            return pd.Series(times, index=column.index, dtype=object)
        unit = _pandas_unit(attribute)
        ticks = np.where(missing, np.iinfo(np.int64).min, _ticks(attribute, numbers, unit))
        values = pd.Series(ticks.view(f"{'m' if attribute.type == 'duration' else 'M'}8[{unit}]"), index=column.index)
        if isinstance(kind, pd.DatetimeTZDtype):
            return values.dt.tz_localize("UTC").dt.tz_convert(kind.tz)
        return values
    if kind in ("bool", "boolean"):
        values = pd.Series(column.to_numpy(dtype=object) == "true", index=column.index, dtype=kind)
    elif kind in ("int64", "Int64", "float64"):
        width = "float64" if kind == "float64" else "int64"
        values = pd.Series(_numbers(column, missing).astype(width), index=column.index).astype(kind)
    else:
        values = column
    return values.mask(missing, None) if missing.any() else values


def _time(microseconds: int) -> time:
    second, rest = divmod(microseconds, 1_000_000)
    return time(second // 3600, second // 60 % 60, second % 60, rest)
