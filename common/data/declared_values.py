"""The values of an owner's table as the schema writes them, each by itself: in its dialect and the owner's words.

This is the one place where a value of an owner's row becomes one of the consortium's. Files, frames and the texts of a
store are coded by it. A store that codes columns by itself is told by it what each code of the owner's map is, and
compares numbers of another unit with the edges in that unit (``privity.party.sources.sql_coding``).
"""

from __future__ import annotations

import re

from privity.common.data.attribute import Attribute, read_number
from privity.common.data.dialect import PLAIN
from privity.common.data.frame_values import (
    MISSING,
    MOMENTS,
    NO_NUMBER,
    Cell,
    Sort,
    Value,
    code_in_source,
    code_of,
)
from privity.common.data.schema import Schema
from privity.common.data.table_map import OwnColumn

_UNDECODED = re.compile("[\udc80-\udcff]")
"""What bytes are read as that are not in the encoding of their file."""


def as_declared(schema: Schema, place: int, value: Value, *, computed: bool = False) -> Value:
    """A value of an owner's table as the schema writes it: a number without marks, and all else in the schema's words.

    Args:
        computed: whether it stands in the column that the attribute is computed of. What is computed of several columns
            is in the schema's words: their values were put into them before.
    """
    attribute = schema.attributes[place]
    if computed and attribute.compute is not None and len(attribute.compute.sources) > 1:
        return value
    return _declared(schema, place, schema.table_map.of(attribute, computed=computed), value, computed)


def source_as_declared(schema: Schema, place: int, source: str, value: Value) -> Value:
    """The same of a value in one of the columns that an attribute is computed of, by its name in the schema."""
    return _declared(schema, place, schema.table_map.columns.get(source), value, computed=True)


def _declared(schema: Schema, place: int, own: OwnColumn | None, value: Value, computed: bool) -> Value:
    attribute = schema.attributes[place]
    if isinstance(value, str):
        if schema.dialect.forgiving and _UNDECODED.search(value):
            return MISSING
        marks, known = schema.marks[place], () if own is None else own.missing
        number = attribute.type in ("integer", "number") and not (
            computed and attribute.compute and not attribute.compute.of_numbers
        )
        coded = own is not None and own.codes is not None
        if marks != PLAIN and number and not coded and value not in (*attribute.missing_texts, *known):
            value = marks.plain(value) or NO_NUMBER
    if own is None or own.renamed_only:
        return value
    compute = attribute.compute if computed else None
    of_source = compute is not None and (compute.log is not None or compute.less is not None)
    return _in_words(own, attribute.of_source if of_source else attribute, value)


def code_in(schema: Schema, place: int, value: Value, *, computed: bool = False) -> int | None:
    """Return the code of a value of an owner's table, or ``None`` as ``code_of`` does; arguments as ``as_declared``."""
    coding = code_in_source if computed else code_of
    return coding(schema.attributes[place], as_declared(schema, place, value, computed=computed))


def _in_words(own: OwnColumn, attribute: Attribute, value: Value) -> Value:
    """A value of an owner's column in the schema's words; a text that no domain has of what the map does not know."""
    sort = Sort.NUMBER if isinstance(value, str) else value.sort
    if sort in (Sort.MISSING, Sort.UNREAD) or (sort is Sort.ROUNDED and attribute.whole):
        return value
    text = value if isinstance(value, str) else value.text.lower() if sort is Sort.BOOLEAN else value.text
    if own.codes is not None and text in own.codes and sort is not Sort.ROUNDED:
        return own.codes[text]
    if text in own.missing or text in attribute.missing_texts or _is_missing(own, attribute, value):
        return MISSING
    if own.codes is not None:
        return NO_NUMBER
    if own.has_unit:
        number = read_number(text)
        return NO_NUMBER if number is None else Cell(Sort.CONVERTED, str(own.converted(attribute, number)))
    if own.moment is None or not isinstance(value, str):
        return value
    point, kind = own.moment.read(text), "instant" if own.moment.zone is not None else own.moment.type
    return NO_NUMBER if point is None else Cell(Sort(kind), own.moment.iso(point))


def _is_missing(own: OwnColumn, attribute: Attribute, value: Value) -> bool:
    """Whether a value that is no text is a number, date or time that means "no value"."""
    if isinstance(value, str):
        return False
    if value.sort in (Sort.NUMBER, Sort.ROUNDED):
        number = read_number(value.text)
        return number in own.missing_numbers or (attribute.numeric and number in attribute.missing_numbers)
    if attribute.temporal is None or value.sort not in MOMENTS or not attribute.temporal.takes(value.sort.value):
        return False
    point = attribute.temporal.of_value(value.sort.value, value.text)
    return point in map(attribute.temporal.read, own.missing_moments(attribute))
