"""The values of a pandas DataFrame: each one is read alone, whatever type pandas chose for its column.

pandas chooses the type of a column from all of its values: one missing value makes integers floats. What a value's code
is must not depend on other rows, so a value counts the same in every type that pandas may give it:

- A number counts as a double, whatever its type; its text is the shortest decimal, without a point if it is integral.
- A ``Decimal`` counts by its exact value.
- A boolean has the text ``True`` or ``False``; where the attribute is a number it is 1 or 0.
- A date is ``2024-02-29``, a time ``2024-02-29 12:30:00``, with a fraction if it has one.
- None, NaN, NA and NaT are missing values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from privity.common.data.attribute import LONGEST_NUMBER, Attribute
from privity.common.formats import shorten

READ_TYPES = "text, numbers, booleans, dates, times without a zone, or missing values"


NOT_A_TIME = -(2**63)
"""NaT, in ticks."""


class Sort(Enum):
    """What a value that is no text is."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    MISSING = "missing"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Cell:
    """A value that is no text.

    Attributes:
        text: its decimal; of a value that is not read, the name of its type.
    """

    sort: Sort
    text: str


Value = str | Cell
"""A text or another value. Two of them are equal only if they have the same code in every attribute."""

MISSING = Cell(Sort.MISSING, "a missing value")


def code_of(attribute: Attribute, value: Value) -> int | None:
    """Return the code of a value, or ``None`` if it lies outside the domain or is not read."""
    if isinstance(value, str):
        return attribute.code_of(value)
    match value.sort:
        case Sort.NUMBER:
            return attribute.code_of_number(value.text)
        case Sort.BOOLEAN:
            if attribute.type in ("integer", "number"):
                return attribute.code_of_number("1" if value.text == "True" else "0")
            return attribute.code_of(value.text)
        case Sort.MISSING:
            return attribute.code_of_nothing()
        case Sort.UNREAD:
            return None


def is_unread(value: Value) -> bool:
    """Whether the value is of a type that is not read."""
    return isinstance(value, Cell) and value.sort is Sort.UNREAD


def shown(value: Value) -> str:
    """The value in a message for the owner of the rows."""
    if isinstance(value, str):
        return shorten(value)
    return value.text if value.sort in (Sort.MISSING, Sort.UNREAD) else shorten(value.text)


def read_column(column: pd.Series) -> Sequence[Value]:
    """Read the values of a column, of any type."""
    column = _with_numpy_times(column)
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biufM":
        # Equal values of one such type are read alike, so each is read once.
        distinct, places = np.unique(column.to_numpy(), return_inverse=True)
        values = [read_value(value) for value in distinct]
        return [values[place] for place in places.tolist()]
    try:
        listed = column.tolist()
    except (ArithmeticError, ValueError):
        # Some value is beyond what Python can hold, or is no UTF-8: that is a fault of this value alone.
        return [_read_at(column, place) for place in range(len(column))]
    return [value if type(value) is str else read_value(value) for value in listed]


def _with_numpy_times(column: pd.Series) -> pd.Series:
    """The column itself; one of Arrow's times as NumPy's, which go beyond the year 9999."""
    dtype = column.dtype
    if not isinstance(dtype, pd.ArrowDtype) or not pa.types.is_timestamp(dtype.pyarrow_dtype):
        return column
    if dtype.pyarrow_dtype.tz is not None:
        return column
    numbers = column.array.__arrow_array__()
    ticks = pc.fill_null(numbers.cast(pa.int64()), NOT_A_TIME).to_numpy()
    return pd.Series(ticks.view(f"M8[{dtype.pyarrow_dtype.unit}]"))


def _read_at(column: pd.Series, place: int) -> Value:
    try:
        return read_value(column.iloc[place])
    except (ArithmeticError, ValueError):
        return Cell(Sort.UNREAD, f"{column.dtype} that cannot be read")


def read_value(value: object) -> Value:
    """Read one value; one that cannot be read is no error but a fault of this value."""
    try:
        return _read(value)
    except Exception:  # a type of the owner's own may raise anything, and a time may be beyond pandas' calendar
        return Cell(Sort.UNREAD, f"{type(value).__name__} that cannot be read")


def _read(value: object) -> Value:
    if value is None or value is pd.NA or value is pd.NaT:
        return MISSING
    match value:
        case str():
            return str.__str__(value)
        case bool() | np.bool_():
            return Cell(Sort.BOOLEAN, str(bool(value)))
        case np.timedelta64():  # NumPy counts it among the integers
            return Cell(Sort.UNREAD, type(value).__name__)
        case int() | float() | np.integer() | np.floating():
            return _number(value)
        case Decimal():
            return MISSING if value.is_nan() else Cell(Sort.NUMBER, _decimal_text(value))
        case np.datetime64():
            return _read(pd.Timestamp(value))
        case datetime():
            return Cell(Sort.UNREAD, "a time with a zone") if value.tzinfo is not None else _time_text(value)
        case date():
            return value.isoformat()
        case _:
            return Cell(Sort.UNREAD, type(value).__name__)


def _number(value: int | float | np.integer | np.floating) -> Cell:
    try:
        double = float(value)
    except OverflowError:
        double = math.inf if value > 0 else -math.inf
    if math.isnan(double):
        return MISSING
    return Cell(Sort.NUMBER, _decimal_text(Decimal(repr(double))))


def _decimal_text(number: Decimal) -> str:
    """A decimal without zeros at its end: ``1`` for 1.0, ``0`` for -0.0, ``inf`` for an infinity."""
    if number.is_infinite():
        return "inf" if number > 0 else "-inf"
    if not number:
        return "0"
    exponent = number.as_tuple().exponent
    if number.adjusted() > LONGEST_NUMBER or (isinstance(exponent, int) and exponent < -LONGEST_NUMBER):
        return str(number)
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _time_text(time: datetime) -> str:
    nanoseconds = time.microsecond * 1000 + getattr(time, "nanosecond", 0)
    fraction = f".{nanoseconds:09d}".rstrip("0").rstrip(".")
    day = f"{time.year:04d}-{time.month:02d}-{time.day:02d}"
    return f"{day} {time.hour:02d}:{time.minute:02d}:{time.second:02d}{fraction}"
