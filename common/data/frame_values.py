"""The values of a pandas DataFrame: each one is read alone, whatever type pandas chose for its column.

pandas chooses the type of a column from all of its values: one missing value makes integers floats. So do polars and
Arrow, and the nullable types are inferred as well. What a value's code is must not depend on other rows, so a value
counts the same in every type that it may be given:

- A number counts as a double, whatever its type; its text is the shortest decimal, without a point if it is integral.
  From 2^53 on doubles do not tell integers apart: such a number is read where the attribute is no whole number only.
  That holds for types that keep integers exact (Int64, Arrow's) too: pandas makes them of columns that were doubles.
- A ``Decimal`` counts by its exact value.
- A boolean has the text ``True`` or ``False``; where the attribute is a number it is 1 or 0.
- A date is ``2024-02-29``, a time ``2024-02-29 12:30:00``, with a fraction if it has one. Where the attribute is a date
  or time these count by their value; so do times with a zone, times of day and durations, which are read nowhere else.
- None, NaN, NA and NaT are missing values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import LONGEST_NUMBER, WHOLE_DOUBLES, Attribute
from privity.common.data.temporal import temporal
from privity.common.data.temporal_columns import NOT_A_TIME, codes_of
from privity.common.data.temporal_pattern import DEFAULT, DIGITS, SECOND
from privity.common.text.short_values import shorten

if TYPE_CHECKING:
    import pandas as pd

READ_TYPES = "text, numbers, booleans, dates, times without a zone, or missing values"

EXACT_DURATION = temporal("duration", DEFAULT, DIGITS, None)

NANOSECONDS = {"s": SECOND, "ms": SECOND // 1000, "us": SECOND // 1_000_000, "ns": 1}
"""Of NumPy's units."""


class Sort(Enum):
    """What a value that is no text is."""

    NUMBER = "number"
    ROUNDED = "number that may have been rounded"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"
    INSTANT = "instant"
    TIME = "time"
    DURATION = "duration"
    MISSING = "missing"
    CONVERTED = "number that had another unit"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Cell:
    """A value that is no text.

    Attributes:
        text: its decimal, or ISO 8601 of a date or time; of a value that is not read, the name of its type; of one that
            had another unit, a fraction.
    """

    sort: Sort
    text: str


MOMENTS = (Sort.DATE, Sort.DATETIME, Sort.INSTANT, Sort.TIME, Sort.DURATION)


Value = str | Cell
"""A text or another value. Two of them are equal only if they have the same code in every attribute."""

MISSING = Cell(Sort.MISSING, "a missing value")


def text_of(value: Value) -> str:
    """A value as a text; empty if it is missing."""
    return value if isinstance(value, str) else "" if value.sort is Sort.MISSING else value.text


NO_NUMBER = "\ud800"
"""Stands for a text that is no number: half of a surrogate pair, which no declared text holds."""


def code_of(attribute: Attribute, value: Value) -> int | None:
    """Return the code of a value, or ``None`` if it lies outside the domain or is not read."""
    if isinstance(value, str):
        return attribute.code_of(value)
    if is_unread(attribute, value):
        return None
    match value.sort:
        case Sort.NUMBER | Sort.ROUNDED:
            return attribute.code_of_number(value.text)
        case Sort.BOOLEAN:
            if attribute.type in ("integer", "number"):
                return attribute.code_of_number("1" if value.text == "True" else "0")
            return attribute.code_of(value.text)
        case Sort.MISSING:
            return attribute.code_of_nothing()
        case Sort.CONVERTED:
            return attribute.code_of_converted(Fraction(value.text))
        case _:
            return attribute.code_of_moment(value.sort.value, value.text)


def code_in_source(attribute: Attribute, value: Value) -> int | None:
    """The code of a value of the column that the attribute is computed of."""
    compute = attribute.compute
    assert compute is not None
    if isinstance(value, str) and value in attribute.missing_texts:
        return attribute.missing_code
    if isinstance(value, Cell) and value.sort is Sort.MISSING:
        return attribute.code_of_nothing()
    if is_unread(attribute, value, computed=True):
        return None
    if compute.log is not None:
        return code_of(attribute.of_source, value)
    if compute.less is not None:
        return code_of(attribute.of_difference, value)
    if compute.beside:
        return code_of(attribute, value)
    found = computed_value(attribute, value)
    return attribute.code_outside if found is None else code_of(attribute, found)


def computed_value(attribute: Attribute, value: Value) -> Value | None:
    """What is computed of a value; None if nothing can be. A logarithm is only about what it is."""
    compute = attribute.compute
    assert compute is not None
    if isinstance(value, Cell) and value.sort is Sort.MISSING:
        return value
    if is_unread(attribute, value, computed=True):
        return None
    if compute.log is not None:
        power = number_of(attribute.of_source, value)
        return None if power is None else Cell(Sort.NUMBER, repr(compute.logarithm(power)))
    if compute.moment is None:
        return compute.of_text(value if isinstance(value, str) else value.text)
    if isinstance(value, str):
        number = compute.moment.read(value)
    else:
        number = compute.moment.of_value(value.sort.value, value.text)
    return None if number is None else Cell(Sort.NUMBER, str(compute.of_number(number)))


def number_of(attribute: Attribute, value: Value) -> int | Fraction | None:
    """The number that a value is of an attribute of numbers, whatever the domain; None if it is none."""
    if isinstance(value, str):
        return attribute.read(value)
    if is_unread(attribute, value) or value.sort is Sort.MISSING:
        return None
    if value.sort in MOMENTS and attribute.temporal is not None:
        return attribute.temporal.of_value(value.sort.value, value.text)
    if value.sort is Sort.CONVERTED:
        return Fraction(value.text)
    return attribute.read({"True": "1", "False": "0"}.get(value.text, value.text))


def is_unread(attribute: Attribute, value: Value, computed: bool = False) -> bool:
    """Whether the value is of a type that is not read, or not as this attribute.

    Args:
        computed: whether the value stands in the column that the attribute is computed of.
    """
    if isinstance(value, str):
        return False
    if computed and attribute.compute is not None and len(attribute.compute.sources) > 1:
        return is_unread(attribute, value)
    if computed and attribute.compute is not None and attribute.compute.log is None:
        moment = attribute.compute.moment
        read = value.sort is Sort.NUMBER if moment is None else moment.takes(value.sort.value)
        return not read and value.sort is not Sort.MISSING
    if computed:
        return is_unread(attribute.of_source, value)
    if value.sort in MOMENTS:
        if attribute.temporal is not None:
            return not attribute.temporal.takes(value.sort.value)
        return value.sort not in (Sort.DATE, Sort.DATETIME)
    return value.sort is Sort.UNREAD or (value.sort is Sort.ROUNDED and attribute.type != "number")


def shown(value: Value) -> str:
    """The value in a message for the owner of the rows."""
    if isinstance(value, str):
        return shorten(value)
    kind = {Sort.INSTANT: "a time with a zone, ", Sort.DURATION: "a duration, "}.get(value.sort, "")
    return value.text if value.sort in (Sort.MISSING, Sort.UNREAD) else kind + shorten(value.text)


def read_column(column: pd.Series, *, exact: bool = False) -> Sequence[Value]:
    """Read the values of a column, of any type.

    Args:
        exact: whether integers of a type that keeps them exact count so; only of rows that no release is made of, as
            other rows may have decided that type.
    """
    column, zoned = _with_numpy_times(column)
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "Mm":
        return Moments(column.to_numpy(), zoned)
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        return _each_once(column.to_numpy(), read_value)
    exact = exact and _holds_exact_integers(column.dtype)
    try:
        listed = column.tolist()
    except (ArithmeticError, ValueError):
        # Some value is beyond what Python can hold, or is no UTF-8: that is a fault of this value alone.
        return [_read_at(column, place, exact) for place in range(len(column))]
    return [value if type(value) is str else read_value(value, exact) for value in listed]


def _each_once(values: npt.NDArray[Any], read: Callable[[object], Value]) -> list[Value]:
    """Equal values of one such type are read alike, so each is read once."""
    distinct, places = np.unique(values, return_inverse=True)
    known = [read(value) for value in distinct]
    return [known[place] for place in places.tolist()]


class Moments(Sequence[Value]):
    """A column of NumPy's times or durations; its codes are found without a look at each value, if they can be."""

    def __init__(self, values: npt.NDArray[Any], zoned: bool) -> None:
        self._values, self._zoned = values, zoned

    def codes(self, attribute: Attribute) -> npt.NDArray[np.int64] | None:
        """As ``temporal_columns.codes_of``."""
        unit, count = np.datetime_data(self._values.dtype)
        if unit not in NANOSECONDS:
            return None
        kind = "duration" if self._values.dtype.kind == "m" else "instant" if self._zoned else "datetime"
        return codes_of(attribute, kind, self._values.view(np.int64), NANOSECONDS[unit] * count)

    def listed(self) -> list[Value]:
        """Each value."""
        return _each_once(self._values, self._read)

    def _read(self, value: object) -> Value:
        return _in_utc(read_value(value)) if self._zoned else read_value(value)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.listed())

    def __getitem__(self, place: Any) -> Any:
        return (
            Moments(self._values[place], self._zoned) if isinstance(place, slice) else self._read(self._values[place])
        )


def _holds_exact_integers(dtype: object) -> bool:
    """Whether the column keeps integers as they are, beside missing values too."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(dtype, pd.ArrowDtype):
        return pa.types.is_integer(dtype.pyarrow_dtype)
    return isinstance(dtype, pd.api.extensions.ExtensionDtype) and dtype.kind in "iu" and dtype.name[0] in "IU"


def _with_numpy_times(column: pd.Series) -> tuple[pd.Series, bool]:
    """The column itself; times with a zone as NumPy's in UTC, and Arrow's too, which go beyond the year 9999."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    dtype = column.dtype
    if isinstance(dtype, pd.DatetimeTZDtype):
        return column.dt.tz_convert(None), True
    kind = dtype.pyarrow_dtype if isinstance(dtype, pd.ArrowDtype) else None
    if kind is None or not (pa.types.is_timestamp(kind) or pa.types.is_duration(kind)):
        return column, False
    ticks = pc.fill_null(column.array.__arrow_array__().cast(pa.int64()), NOT_A_TIME).to_numpy()
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    return pd.Series(ticks.view(f"{'M' if pa.types.is_timestamp(kind) else 'm'}8[{kind.unit}]")), zoned


def _in_utc(value: Value) -> Value:
    if isinstance(value, Cell) and value.sort is Sort.DATETIME:
        return Cell(Sort.INSTANT, f"{value.text}Z")
    return value


def _read_at(column: pd.Series, place: int, exact: bool) -> Value:
    try:
        return read_value(column.iloc[place], exact)
    except (ArithmeticError, ValueError):
        return Cell(Sort.UNREAD, f"{column.dtype} that cannot be read")


def read_value(value: object, exact: bool = False) -> Value:
    """Read one value; one that cannot be read is no error but a fault of this value.

    Args:
        exact: whether an integer counts by its exact value.
    """
    try:
        if exact and isinstance(value, int | np.integer):
            return Cell(Sort.NUMBER, str(int(value)))
        return _read(value)
    except Exception:  # a type of the owner's own may raise anything, and a time may be beyond pandas' calendar
        return Cell(Sort.UNREAD, f"{type(value).__name__} that cannot be read")


def _read(value: object) -> Value:
    import pandas as pd

    if value is None or value is pd.NA or value is pd.NaT:
        return MISSING
    match value:
        case str():
            return str.__str__(value)
        case bool() | np.bool_():
            return Cell(Sort.BOOLEAN, str(bool(value)))
        case np.timedelta64():  # NumPy counts it among the integers
            return _read(pd.Timedelta(value))
        case int() | float() | np.integer() | np.floating():
            return _number(value)
        case Decimal():
            return MISSING if value.is_nan() else Cell(Sort.NUMBER, decimal_text(value))
        case np.datetime64():
            return _read(pd.Timestamp(value))
        case datetime():
            if value.tzinfo is None:
                return Cell(Sort.DATETIME, _time_text(value))
            return Cell(Sort.INSTANT, f"{_time_text(value.astimezone(UTC))}Z")
        case date():
            return Cell(Sort.DATE, value.isoformat())
        case time() if value.tzinfo is None:
            return Cell(Sort.TIME, value.isoformat())
        case timedelta():
            return Cell(Sort.DURATION, _duration_text(value))
        case _:
            return Cell(Sort.UNREAD, type(value).__name__)


def _number(value: int | float | np.integer | np.floating) -> Cell:
    try:
        double = float(value)
    except OverflowError:
        return Cell(Sort.ROUNDED, "inf" if value > 0 else "-inf")
    if math.isnan(double):
        return MISSING
    rounded = abs(double) >= WHOLE_DOUBLES and not math.isinf(double)
    return Cell(Sort.ROUNDED if rounded else Sort.NUMBER, decimal_text(Decimal(repr(double))))


def decimal_text(number: Decimal) -> str:
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


def _duration_text(duration: timedelta) -> str:
    nanoseconds = duration.microseconds * 1000 + getattr(duration, "nanoseconds", 0)
    ticks = (duration.days * 86_400 + duration.seconds) * SECOND + nanoseconds
    return EXACT_DURATION.iso(ticks)


def _time_text(time: datetime) -> str:
    nanoseconds = time.microsecond * 1000 + getattr(time, "nanosecond", 0)
    fraction = f".{nanoseconds:09d}".rstrip("0").rstrip(".")
    day = f"{time.year:04d}-{time.month:02d}-{time.day:02d}"
    return f"{day} {time.hour:02d}:{time.minute:02d}:{time.second:02d}{fraction}"
