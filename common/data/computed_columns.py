"""Columns that a table does not have itself: what is computed of those that it has, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction

from privity.common.data.computation import JOINT
from privity.common.data.declared_values import as_declared, source_as_declared
from privity.common.data.dialect import PLAIN
from privity.common.data.frame_values import (
    MISSING,
    Cell,
    Sort,
    Value,
    computed_value,
    is_unread,
    number_of,
)
from privity.common.data.schema import Schema

ALL_DIGITS = Context(prec=2500)
"""Of a difference of two decimals, whose exponents have three digits each."""


def columns_as_declared(schema: Schema, columns: Mapping[str, Sequence[Value]]) -> dict[str, Sequence[Value]]:
    """Columns of an owner's table under their names in the schema, and those that are computed of several.

    Each value of an attribute's column is as the schema writes it.
    """
    table_map, several = schema.table_map, of_several(schema, columns)
    found = {name: values for name, values in columns.items() if name not in table_map.taken} | several
    for place, (column, computed) in enumerate(schema.columns_of(columns)):
        attribute = schema.attributes[place]
        as_written = not schema.dialect.forgiving and schema.marks[place] == PLAIN and column not in table_map.taken
        if column in columns and attribute.name not in several and not as_written:
            word = attribute.column(computed=computed)
            found[word] = [as_declared(schema, place, value, computed=computed) for value in columns[column]]
    return found


def of_several(schema: Schema, columns: Mapping[str, Sequence[Value]]) -> dict[str, Sequence[Value]]:
    """Columns that an owner's table does not have itself and that are computed of several ones, as these stand in it.

    A value is the difference of two numbers, or joined texts; missing if that of one column is; or what is no number,
    if one cannot be read.
    """
    found: dict[str, Sequence[Value]] = {}
    for place, (_, computed) in enumerate(schema.columns_of(columns)):
        attribute = schema.attributes[place]
        compute, names = attribute.compute, schema.table_map.sources_of(attribute)
        if computed and compute is not None and len(names) > 1 and {*names} <= columns.keys():
            rows = zip(*(columns[name] for name in names), strict=True)
            found[attribute.name] = (_joined if compute.beside else _differences)(schema, place, rows)
    return found


def _joined(schema: Schema, place: int, rows: Iterable[tuple[Value, ...]]) -> list[Value]:
    attribute = schema.attributes[place]
    assert attribute.compute is not None
    sources = attribute.compute.sources

    def joined(row: tuple[Value, ...]) -> Value:
        read = [source_as_declared(schema, place, name, value) for name, value in zip(sources, row, strict=True)]
        if any(value in attribute.missing_texts if isinstance(value, str) else value == MISSING for value in read):
            return MISSING
        unread = [value for value in read if is_unread(attribute, value)]
        return unread[0] if unread else JOINT.join(value if isinstance(value, str) else value.text for value in read)

    known: dict[tuple[Value, ...], Value] = {}
    return [known[row] if row in known else known.setdefault(row, joined(row)) for row in rows]


def _differences(schema: Schema, place: int, rows: Iterable[tuple[Value, ...]]) -> list[Value]:
    attribute = schema.attributes[place]
    assert attribute.compute is not None
    source, names = attribute.of_source, attribute.compute.sources
    numbers: dict[tuple[str, Value], int | Fraction | Cell | None] = {}
    known: dict[int | Fraction, Value] = {}

    def number(name: str, value: Value) -> int | Fraction | Cell | None:
        """Of one column; a cell that is missing or of a type that is not read; None of what is no number."""
        if (name, value) not in numbers:
            read = source_as_declared(schema, place, name, value)
            found = MISSING if isinstance(read, str) and read in source.missing_texts else number_of(source, read)
            if isinstance(read, Cell):
                unread = is_unread(source, read) and is_unread(attribute, read)
                missing = read.sort is Sort.MISSING or (found is not None and found in source.missing_numbers)
                found = read if unread else MISSING if missing else found
            numbers[name, value] = found
        return numbers[name, value]

    def difference(pair: tuple[Value, ...]) -> Value:
        left, right = map(number, names, pair)
        if MISSING in (left, right):
            return MISSING
        for value, found in zip(pair, (left, right), strict=True):
            if isinstance(found, Cell):
                return found
            if found is None:
                text = value if isinstance(value, str) else value.text
                # What is none here must be none there, too.
                return text if attribute.read(text) is None else f"{attribute.name}: {text}"
        assert not isinstance(left, Cell | None)
        assert not isinstance(right, Cell | None)
        gap = left - right
        if gap not in known:
            known[gap] = Cell(Sort.NUMBER, str(ALL_DIGITS.divide(Decimal(gap.numerator), Decimal(gap.denominator))))
        return known[gap]

    return list(map(difference, rows))


def with_computed(columns: Mapping[str, Sequence[Value]], schema: Schema) -> Mapping[str, Sequence[Value]]:
    """The columns of a table, and those of attributes that are computed of them."""
    found = dict(columns)
    for attribute in schema.attributes:
        if attribute.name in columns or attribute.compute is None or len(attribute.compute.sources) > 1:
            continue
        if attribute.compute.source in columns:
            known: dict[Value, Value] = {}
            for value in columns[attribute.compute.source]:
                if value not in known:
                    missing = value in attribute.missing
                    known[value] = MISSING if missing else computed_value(attribute, value) or MISSING
            found[attribute.name] = [known[value] for value in columns[attribute.compute.source]]
    return found
