"""Attributes that are computed of one or two other columns as rows are read: of one row's values, by declaration alone.

A table that has a column of the attribute's own name, as every synthetic one has, is read there: nothing is computed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from privity.common.data.temporal import Temporal, temporal
from privity.common.data.temporal_pattern import DAY, DEFAULT, EPOCH, HOUR, MINUTE, UNIX_DAY, YEARS_FROM, FormError

PARTS = {
    "year": None, "quarter": (1, 4), "month": (1, 12), "week": (1, 53), "day": (1, 31), "weekday": (1, 7),
    "hour": (0, 23), "minute": (0, 59),
}  # fmt: skip
"""Of a date or time, by name: the first and the last one. Weeks are those of ISO 8601, and Monday is weekday 1."""

FORM = {
    "type": "type", "format": "format", "timezone": "timezone", "decimals": "decimals", "yearsFrom": "years_from",
}  # fmt: skip
"""Keys that say how a column of dates or times is read, and what an attribute calls them."""

JOINT = " | "
"""Between the texts of columns that are joined."""

OF_DAYS = ("year", "quarter", "month", "week", "day", "weekday")
DIGITS = 60
"""Of a power, beyond those of any column."""


@dataclass(frozen=True)
class Computation:
    """What is computed of which column; one of part, prefix or groups, log, less, and beside.

    Attributes:
        source: the column.
        moment: how its dates or times are read, for a part or a difference; None of a difference of numbers.
        prefix: so many characters of a text.
        groups: names of groups by the texts that they hold; after the prefix, if there is one.
        log: the base of a logarithm.
        less: another column, which is taken from the first one.
        beside: other columns, whose texts are joined with those of the first one.
        document: as declared; of a difference also with the form of its columns.
    """

    source: str
    document: tuple[tuple[str, Any], ...]
    part: str | None = None
    moment: Temporal | None = None
    prefix: int | None = None
    groups: Mapping[str, str] | None = None
    log: int | None = None
    less: str | None = None
    beside: tuple[str, ...] = ()

    def __hash__(self) -> int:
        return hash((self.source, self.part, self.prefix, self.log, self.less, self.beside))

    @property
    def sources(self) -> tuple[str, ...]:
        """All columns that are read."""
        return (self.source, *self.beside) if self.less is None else (self.source, self.less)

    @property
    def of_numbers(self) -> bool:
        """Whether it is computed of numbers."""
        return self.log is not None or (self.less is not None and self.moment is None)

    def of_number(self, number: int) -> int:
        """The part of a date or time, which is given by its number."""
        assert self.moment is not None
        ticks = number * self.moment.unit
        if self.moment.zone is not None:
            moment = EPOCH + timedelta(microseconds=ticks // 1000)
            offset = moment.astimezone(self.moment.zone).utcoffset() or timedelta()
            ticks += int(offset / timedelta(microseconds=1)) * 1000
        day, clock = divmod(ticks, DAY)
        if self.part in ("hour", "minute"):
            return clock // HOUR if self.part == "hour" else clock // MINUTE % 60
        found = date.fromordinal(day + UNIX_DAY)
        match self.part:
            case "quarter":
                return (found.month + 2) // 3
            case "week":
                return found.isocalendar().week
            case "weekday":
                return found.isoweekday()
        return {"year": found.year, "month": found.month}.get(self.part or "", found.day)

    def of_text(self, text: str) -> str | None:
        """The prefix or group of a text; None if it is in no group."""
        found = text if self.prefix is None else text[: self.prefix]
        return found if self.groups is None else self.groups.get(found)

    def power(self, exponent: Fraction) -> Fraction:
        """The number whose logarithm this is; exact if it is whole, else so near that no value lies between."""
        assert self.log is not None
        if exponent.denominator == 1:
            return Fraction(self.log) ** int(exponent)
        context = Context(prec=DIGITS)
        return Fraction(context.power(Decimal(self.log), context.divide(exponent.numerator, exponent.denominator)))

    def logarithm(self, number: int | Fraction) -> float:
        """Of a number of the source; -inf of what has none."""
        assert self.log is not None
        return math.log(number) / math.log(self.log) if number > 0 else -math.inf


def read_computation(declared: Mapping[str, Any], fields: Mapping[str, Mapping[str, Any]]) -> Computation:
    """Read a well-formed ``compute`` of a field.

    Args:
        fields: of the schema, by name: a source among them has its type there.

    Raises:
        FormError: it cannot be computed so.
    """
    kinds = [key for key in ("part", "prefix", "groups", "log", "less", "with") if key in declared]
    if kinds not in (["part"], ["prefix"], ["groups"], ["prefix", "groups"], ["log"], ["less"], ["with"]):
        remedy = "Declare part, prefix, groups, log, less or with."
        raise FormError("compute", "it does not say what is computed.", remedy)
    if "less" in declared:
        return _difference(declared, fields)
    if declared["from"] in declared.get("with", ()):
        raise FormError("compute", "it is a column beside itself.", "Name other columns in 'with'.")
    document = tuple(declared.items())
    source = declared["from"]
    if "part" not in declared:
        if odd := {*FORM} & declared.keys():
            raise FormError("compute", f"{sorted(odd)[0]!r} goes with part and less only.", "Leave it out.")
        groups = declared.get("groups")
        members = None if groups is None else _members(groups)
        beside = tuple(declared.get("with", ()))
        return Computation(
            source, document, prefix=declared.get("prefix"), groups=members, log=declared.get("log"), beside=beside
        )
    known = {**fields.get(source, {}), **declared}
    if known.get("type") not in (types := ("date", "datetime", "time")):
        message = f"{source!r} is of no declared type that has parts."
        raise FormError("compute", message, f'Declare "type" beside "from": {", ".join(types)}.')
    fits = {"time": ("hour", "minute"), "date": OF_DAYS}.get(known["type"], tuple(PARTS))
    if declared["part"] not in fits:
        message = f"a {known['type']} has no {declared['part']}."
        raise FormError("compute", message, f"Use one of: {', '.join(fits)}.")
    form, years = known.get("format", DEFAULT), known.get("yearsFrom")
    moment = temporal(known["type"], form, known.get("decimals"), known.get("timezone"), years)
    return Computation(source, document, part=declared["part"], moment=moment)


def _difference(declared: Mapping[str, Any], fields: Mapping[str, Mapping[str, Any]]) -> Computation:
    """A difference of two columns that are read alike: as the fields of their names say, or as is declared with it."""
    source, less = declared["from"], declared["less"]
    if source == less:
        raise FormError("compute", "it is a column less itself.", "Name two columns.")
    both = [(name, fields[name]) for name in (source, less) if name in fields]
    for name, item in both:
        if {"compute", "generate", "empty"} & item.keys():
            raise FormError("compute", f"{name!r} is not read of a table.", "Name columns of the table.")
    forms = [("compute", declared)] if "type" in declared else []
    forms += [(name, item) for name, item in both if item["type"] not in ("integer", "number")]
    if forms and len(forms) < len(both):
        raise FormError("compute", "a number and a date or time have no difference.", "Name two columns of one type.")
    if not forms:
        if odd := {*FORM} & declared.keys():
            raise FormError("compute", f"{sorted(odd)[0]!r} says nothing without a type.", "Leave it out.")
        return Computation(source, tuple(declared.items()), less=less)
    read = [
        {key: item[key] for key in FORM if item.get(key, DEFAULT) not in (DEFAULT, 0, YEARS_FROM)} for _, item in forms
    ]
    if (kind := read[0]["type"]) not in ("date", "datetime"):
        message = f"{kind} columns have no difference."
        raise FormError("compute", message, "Name columns of integers, numbers, dates or datetimes.")
    for (name, _), form in zip(forms, read, strict=True):
        if form != read[0]:
            message = f"{name!r} is not declared to be read as {forms[0][0]!r} is."
            raise FormError("compute", message, f"Declare both with the same {', '.join(FORM)}.")
    form = read[0]
    keys = [form.get(key) for key in ("decimals", "timezone", "yearsFrom")]
    moment = temporal(kind, form.get("format", DEFAULT), *keys)
    document = {"from": source, "less": less, **form}
    return Computation(source, tuple(document.items()), moment=moment, less=less)


def _members(groups: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The group of each text."""
    found: dict[str, str] = {}
    for name, texts in groups.items():
        for text in texts:
            if found.setdefault(text, name) != name:
                message = f"{text!r} is in the groups {found[text]!r} and {name!r}."
                raise FormError("compute", message, "Keep it in one of them.")
    return found
