"""The columns of a store, and which attributes they can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from privity.common.data.attribute import Attribute
from privity.common.data.csv_reading import extra_problems
from privity.common.data.schema import Schema
from privity.common.data.table_map import OwnColumn
from privity.common.errors import Problem
from privity.common.text.short_values import shorten


class Kind(Enum):
    """What the values of a column are; ``OTHER`` is what no attribute can be."""

    TEXT = "text"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    SINGLE = "single-precision number"
    DOUBLE = "double-precision number"
    DECIMAL = "decimal"
    DATE = "date"
    TIMESTAMP = "timestamp"
    INSTANT = "timestamp with time zone"
    TIME = "time"
    DURATION = "interval"
    OTHER = "other"


NUMBERS = (Kind.INTEGER, Kind.SINGLE, Kind.DOUBLE, Kind.DECIMAL)
FLOATS = (Kind.SINGLE, Kind.DOUBLE)

CODED = (Kind.TEXT, Kind.BOOLEAN, *NUMBERS, Kind.DATE, Kind.TIMESTAMP)
"""Kinds whose values an owner's map may list."""

MOMENTS = (Kind.DATE, Kind.TIMESTAMP, Kind.INSTANT, Kind.TIME, Kind.DURATION)

FITTING = {
    "string": (Kind.TEXT, Kind.INTEGER, Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP),
    "boolean": (Kind.TEXT, Kind.BOOLEAN, Kind.INTEGER),
    "integer": (Kind.TEXT, *NUMBERS),
    "number": (Kind.TEXT, *NUMBERS),
    "date": (Kind.TEXT, Kind.DATE, Kind.TIMESTAMP),
    "time": (Kind.TEXT, Kind.TIME),
    "datetime": (Kind.TEXT, Kind.TIMESTAMP, Kind.INSTANT),
    "duration": (Kind.TEXT, Kind.DURATION),
}
"""By the attribute's type. How a broken number or a truth value would be spelled as a text is nobody's to guess."""


MOST_PLACES = 18
"""Digits after the point of a decimal of which differences are computed."""

MICROSECONDS = 1_000_000
"""Of a second."""


@dataclass(frozen=True)
class Column:
    """A column as its store declares it.

    Attributes:
        declared: the store's own name of the type, for messages; empty if the store takes it from the values.
        scale: digits after the point of a decimal; None if there is no limit.
        remedy: what to do if no attribute can be this column; empty where a view helps.
        key: whether the column may tell persons or their rows apart.
        number: SQL of what a date or time is as a whole number, of days or of parts of a second; empty if the store
            cannot tell.
        second: parts of a second.
        part: SQL of a part of a date or time, the name of the part as ``{part}``; empty if the store cannot tell.
        loose: whether there may be values of other types in it, as in SQLite.
    """

    name: str
    kind: Kind
    declared: str
    scale: int | None = None
    remedy: str = ""
    key: bool = True
    number: str = ""
    second: int = MICROSECONDS
    part: str = ""
    loose: bool = False


def column_problems(
    columns: Mapping[str, Column], schema: Schema, source: str, keys: Sequence[str] = ()
) -> list[Problem]:
    """What is wrong with a store's columns, all at once.

    Args:
        keys: columns beside the attributes.

    The messages hold names and types, which are no rows' business.
    """
    problems = []
    for attribute, (name, computed) in zip(schema.attributes, schema.columns_of(columns), strict=True):
        column, sources = columns.get(name), schema.table_map.sources_of(attribute)
        if column is None:
            problems.append(_missing(schema, name, source))
        elif (own := schema.table_map.of(attribute, computed=computed)) is not None and (
            wanted := _wanted_by(own, attribute, column, computed=computed)
        ):
            problems.append(_unmapped(schema, attribute, column, wanted, source))
        elif own is not None and (own.codes is not None or own.has_unit):
            continue
        elif computed and (gone := [each for each in sources if each not in columns]):
            problems.append(_missing(schema, gone[0], source))
        elif computed and not _is_computed(attribute, [columns[each] for each in sources]):
            problems.append(_uncomputed(attribute, column, source))
        elif not computed and not _is_fit(attribute, column):
            problems.append(_unfit(attribute, column, source))
    return problems + extra_problems(columns, schema, source, keys)


def _wanted_by(own: OwnColumn, attribute: Attribute, column: Column, *, computed: bool) -> Sequence[Kind]:
    """The kinds of columns of which an owner's map can be, if this one is of none of them."""
    wanted: Sequence[Kind] = tuple(Kind)
    if own.codes is not None:
        wanted = CODED
    elif own.has_unit:
        exact = attribute.beyond_doubles and not computed
        wanted = tuple(kind for kind in (Kind.TEXT, *NUMBERS) if not (exact and kind in FLOATS))
    elif own.missing and computed:
        wanted = tuple(kind for kind in Kind if kind not in MOMENTS)
    return () if column.kind in wanted else wanted


def _unmapped(schema: Schema, attribute: Attribute, column: Column, wanted: Sequence[Kind], source: str) -> Problem:
    message = f"the column {_its_type(column)}, and the map {schema.table_map.file} says otherwise."
    kinds = ", ".join(kind.value for kind in wanted if kind is not Kind.OTHER)
    remedy = f"Make it one of these by a view: {kinds}; or correct its field in the map."
    return Problem(source, shorten(attribute.name), "column-type", message, remedy)


def _is_fit(attribute: Attribute, column: Column) -> bool:
    return column.kind in fitting(attribute) and (bool(column.number) or not is_moment(attribute, column))


def _is_computed(attribute: Attribute, columns: Sequence[Column]) -> bool:
    """Whether the attribute can be computed of the columns."""
    compute, column = attribute.compute, columns[0]
    assert compute is not None
    if compute.beside:
        return all(one.kind in (Kind.TEXT, Kind.INTEGER) and not one.loose for one in columns)
    if compute.less is not None:
        if compute.moment is None:
            return all(_is_exact(one) for one in columns)
        alike = column.kind is columns[1].kind is not Kind.TEXT
        return alike and all(_is_fit(attribute.of_source, one) for one in columns)
    if compute.log is not None:
        return _is_fit(attribute.of_source, column)
    return column.kind is Kind.TEXT or (has_parts(attribute, column) and bool(column.part))


def _missing(schema: Schema, name: str, source: str) -> Problem:
    remedy = schema.table_map.remedy or "Add it (a view will do), or take it out of the schema."
    return Problem(source, shorten(name), "missing-column", "no such column.", remedy)


def _is_exact(column: Column) -> bool:
    """Whether its numbers are decimals of few digits, of which a store has exact differences."""
    return not column.loose and (
        column.kind is Kind.INTEGER or (column.kind is Kind.DECIMAL and column.scale in range(MOST_PLACES + 1))
    )


def has_parts(attribute: Attribute, column: Column) -> bool:
    """Whether the column's dates or times are those that the attribute is a part of."""
    compute = attribute.compute
    if compute is None or compute.moment is None:
        return False
    instant = Kind.TIMESTAMP if compute.moment.zone is None else Kind.INSTANT
    return column.kind is {"date": Kind.DATE, "time": Kind.TIME}.get(compute.moment.type, instant)


def fitting(attribute: Attribute) -> tuple[Kind, ...]:
    """The kinds of columns that the attribute may be.

    Of two integers that are one double none is read of a column of doubles: a missing value may have made it one.
    """
    kinds = FITTING[attribute.type]
    if attribute.beyond_doubles:
        return tuple(kind for kind in kinds if kind not in FLOATS)
    if attribute.type != "datetime":
        return kinds
    other = Kind.INSTANT if attribute.timezone is None else Kind.TIMESTAMP
    return tuple(kind for kind in kinds if kind is not other)


def is_moment(attribute: Attribute, column: Column) -> bool:
    """Whether the column's dates or times are those of the attribute, and no texts of them."""
    return attribute.temporal is not None and column.kind in MOMENTS


def key_problems(columns: Mapping[str, Column], names: Sequence[str], source: str) -> list[Problem]:
    """What is wrong with the columns of persons and of their order, by name."""
    problems = []
    for name in names:
        column = columns.get(name)
        if column is None:
            remedy = "Correct person and order: they name columns of the rows."
            problems.append(Problem(source, shorten(name), "missing-column", "no such column.", remedy))
        elif not column.key:
            message = f"the column {_its_type(column)}."
            problems.append(Problem(source, shorten(name), "column-type", message, column.remedy))
    return problems


def _unfit(attribute: Attribute, column: Column, source: str) -> Problem:
    zone = "" if attribute.timezone is None else f" with the timezone {attribute.timezone}"
    message = f"the column {_its_type(column)}, the attribute is of type {attribute.type}{zone}."
    wanted = ", ".join(kind.value for kind in fitting(attribute) if column.number or kind not in MOMENTS)
    remedy = column.remedy or f"Make it one of these by a view: {wanted}; or declare another type."
    return Problem(source, shorten(attribute.name), "column-type", message, remedy)


def _uncomputed(attribute: Attribute, column: Column, source: str) -> Problem:
    message = f"the column {_its_type(column)}, and {shorten(attribute.name)} is not computed of such a one here."
    text = "" if attribute.compute is None or attribute.compute.less is not None else ", or make this one text"
    remedy = column.remedy or f"Add a column {shorten(attribute.name)} by a view{text}."
    return Problem(source, shorten(column.name), "column-type", message, remedy)


def _its_type(column: Column) -> str:
    return f"is of type {column.declared}" if column.declared else "has no declared type"
