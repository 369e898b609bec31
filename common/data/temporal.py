"""Dates, times and durations as exact whole numbers, and back to the texts of a file.

A value is a number of points from 1970-01-01T00:00:00 (with a time zone: in UTC), from midnight, or from nothing. A
point is a day of a date; of other types a second or a decimal part of it, or a minute or an hour where the format has
nothing finer. A finer value lies in the point that holds it. So bins, edges and histograms are those of integers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, timedelta, timezone, tzinfo
from fractions import Fraction
from functools import cached_property, lru_cache
from zoneinfo import ZoneInfo

from privity.common.data.temporal_pattern import (
    DAY,
    DEFAULT,
    HOUR,
    MINUTE,
    SECOND,
    UNIX_DAY,
    YEARS_FROM,
    FormError,
    Pattern,
    iso_format,
    iso_ticks,
    tokens_of,
)

TEMPORAL = ("date", "time", "datetime", "duration")


@dataclass(frozen=True)
class Temporal:
    """How the values of one attribute are read and written.

    Attributes:
        type: one of ``TEMPORAL``.
        unit: nanoseconds of a point.
        zone: in which times are written; None if they have none.
        pattern: of the texts in a file.
        lenient: whether any text of ISO 8601 is read, and not that of the pattern only.
    """

    type: str
    unit: int
    zone: tzinfo | None
    pattern: Pattern
    lenient: bool

    @property
    def years(self) -> tuple[int, int]:
        """The first and the last year that can be written, in any zone."""
        if "y" in self.pattern.letters:
            first, last = self.pattern.years_from, self.pattern.years_from + 99
            return (first, last) if self.zone is None else (first + 1, last - 1)
        return (1, 9999) if self.zone is None else (2, 9998)

    @property
    def first(self) -> int:
        """The number of the first day that can be written in any zone."""
        return self.midnight(self.years[0])

    def midnight(self, year: int) -> int:
        """The number of the beginning of a year."""
        return _midnight(year) // self.unit

    @property
    def last(self) -> int:
        """The last number of the last day that can be."""
        return self.midnight(self.years[1] + 1) - 1

    def read(self, text: str) -> int | None:
        """The number of a text as it stands in a file; None if it is none."""
        ticks = self._iso_ticks(text) if self.lenient else self.pattern.ticks(text)
        return None if ticks is None else ticks // self.unit

    def text(self, number: int) -> str:
        """The number as it stands in a file."""
        return self.pattern.write(number * self.unit)

    def read_iso(self, text: str) -> Fraction | None:
        """The number of a text of ISO 8601, whatever the format; not whole if it is finer than a point.

        An edge may be between two days; a date stands for its midnight.
        """
        ticks = self._iso_ticks(text)
        if ticks is None and self.zone is None and self.type in ("date", "datetime"):
            ticks, _ = iso_ticks("datetime" if self.type == "date" else "date", text)
        return None if ticks is None else Fraction(ticks, self.unit)

    def iso(self, number: int | Fraction) -> str:
        """The number in ISO 8601, as fine as its points: for a schema, a report and a rule. An edge may be finer."""
        if number.denominator == 1:
            return self._iso_pattern.write(int(number) * self.unit)
        ticks = int(number * self.unit)
        unit, kind = 1 if ticks % SECOND else SECOND, "datetime" if self.type == "date" else self.type
        return Pattern(kind, iso_format(kind, unit, self.zone is not None), unit, self.zone).write(ticks)

    def of_value(self, kind: str, text: str) -> int | None:
        """The number of a value of a program; None if it is none of this type.

        Args:
            kind: one that ``takes``.
            text: in ISO 8601, an instant in UTC.
        """
        if kind != "datetime" or self.type == "datetime":
            ticks = self._iso_ticks(text)
            return None if ticks is None else ticks // self.unit
        ticks = iso_ticks("datetime", text)[0]
        return None if ticks is None or ticks % DAY else ticks // DAY

    def takes(self, kind: str) -> bool:
        """Whether values of a program are of this type: a type, or ``instant`` of a datetime with a zone.

        A date may be a datetime at midnight, as pandas has it.
        """
        wanted = "instant" if self.zone is not None else self.type
        return kind == wanted or (self.type, kind) == ("date", "datetime")

    def _iso_ticks(self, text: str) -> int | None:
        ticks, offset = iso_ticks(self.type, text)
        if ticks is None or (offset is None) != (self.zone is None):
            return None
        return ticks - (offset or 0)

    @cached_property
    def _iso_pattern(self) -> Pattern:
        return Pattern(self.type, iso_format(self.type, self.unit, self.zone is not None), self.unit, self.zone)


@lru_cache(maxsize=1024)
def temporal(kind: str, form: str, decimals: int | None, zone: str | None, years_from: int | None = None) -> Temporal:
    """How values of a type are read and written.

    Args:
        years_from: first of the hundred years that two digits stand for; None is ``YEARS_FROM``.

    Raises:
        FormError: the format or the time zone cannot be used.
    """
    found = None if zone is None else _zone(zone)
    if years_from is not None and "%y" not in form:
        raise FormError("yearsFrom", "the format has no %y.", "Leave 'yearsFrom' out, or write %y into the format.")
    if form == DEFAULT:
        unit = DAY if kind == "date" else SECOND // 10 ** (decimals or 0)
        return Temporal(kind, unit, found, Pattern(kind, iso_format(kind, unit, found is not None), unit, found), True)
    tokens = tokens_of(kind, form)
    letters = {letter for letter, _ in tokens}
    if (("z" in letters) or (":z" in letters)) != (found is not None):
        message, remedy = "it has %z, and no 'timezone' is declared.", "Declare the time zone, or leave %z out."
        if found is not None:
            message, remedy = "a 'timezone' is declared, and it has no %z.", "Add %z, or leave 'timezone' out."
        raise FormError("format", message, remedy)
    if "f" in letters:
        decimals = 6 if decimals is None else decimals
        if not decimals:
            raise FormError("decimals", "the format has %f.", "Declare how many digits it has, or leave %f out.")
    elif decimals:
        raise FormError("decimals", "the format has no %f.", "Add %f to the format, or leave 'decimals' out.")
    unit = DAY
    for letter, size in (
        ("H", HOUR),
        ("I", HOUR),
        ("M", MINUTE),
        ("S", SECOND),
        ("f", SECOND // 10 ** (decimals or 0)),
    ):
        unit = size if letter in letters else unit
    pattern = Pattern(kind, form, unit, found, YEARS_FROM if years_from is None else years_from)
    return Temporal(kind, unit, found, pattern, False)


def _midnight(year: int) -> int:
    """Nanoseconds from 1970 to the beginning of a year, which may be one after the last of the calendar."""
    days = 365 * (year - 1) + (year - 1) // 4 - (year - 1) // 100 + (year - 1) // 400
    return (days + 1 - UNIX_DAY) * DAY


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    if found := re.fullmatch(r"([+-])([0-9]{2}):([0-9]{2})", name):
        minutes = (60 * int(found[2]) + int(found[3])) * (-1 if found[1] == "-" else 1)
        if abs(minutes) < 24 * 60 and int(found[3]) < 60:
            return timezone(timedelta(minutes=minutes))
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        message = f"no time zone is called {name!r} here."
        remedy = 'Write UTC, an offset such as "+01:00", or a name such as "Europe/Vienna" (install tzdata for these).'
        raise FormError("timezone", message, remedy) from None
