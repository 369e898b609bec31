"""What is computed of several columns of a store, as SQL: exact, and missing where one of them is.

What it is, ``privity.common.data.computed_columns.of_several`` says of their texts.
"""

from __future__ import annotations

from collections.abc import Sequence

from privity.common.data.attribute import Attribute
from privity.common.data.computation import JOINT
from privity.common.data.temporal_pattern import SECOND
from privity.party.sources.sql_coding import quoted, text_literal
from privity.party.sources.store_columns import Column, Kind

FAR = 2**62
"""Of a date or time, up or down, if it is infinite: as the stores have it."""

UNREAD = "0.5"
"""Stands for what is no difference: no whole number, so that it is outside every domain of these."""

DIGITS = 37
"""Of a decimal, so that a difference of two has no more than 38."""


def difference_sql(attribute: Attribute, column: Column, less: Column) -> tuple[str, Column]:
    """SQL of a column less another one, and a column of such values."""
    if attribute.compute is None or attribute.compute.moment is None:
        scale = max(column.scale or 0, less.scale or 0)
        left, right = (_decimal(attribute, one, scale) for one in (column, less))
        return f"{left} - {right}", Column(column.name, Kind.DECIMAL, "difference", scale)
    (first, left, odd), (second, right, uneven) = (_points(attribute.of_source, one) for one in (column, less))
    # What is infinitely far away stays so.
    far = f"WHEN ABS({second}) = {FAR} THEN -({second}) WHEN ABS({first}) = {FAR} THEN {first}"
    nothing = f"WHEN {first} IS NULL OR {second} IS NULL THEN NULL"
    if not (odd or uneven):
        made = f"CASE {nothing} {far} ELSE {left} - {right} END"
        return made, Column(column.name, Kind.INTEGER, "difference")
    unread = " OR ".join(part for part in (odd, uneven) if part)
    made = f"CASE {nothing} WHEN {unread} THEN {UNREAD} {far} ELSE {left} - {right} END"
    return f"CAST({made} AS DECIMAL(38, 1))", Column(column.name, Kind.DECIMAL, "difference", 1)


def joined_sql(attribute: Attribute, columns: Sequence[tuple[Column, str]]) -> str:
    """SQL of the texts of columns, joined.

    Args:
        columns: of texts or integers, each with SQL of its value.
    """
    parts = []
    for column, value in columns:
        text = value if column.kind is Kind.TEXT else f"CAST({value} AS VARCHAR)"
        missing = ", ".join(map(text_literal, attribute.missing_texts))
        parts.append(f"CASE WHEN {text} IN ({missing}) THEN NULL ELSE {text} END" if missing else text)
    return f" || {text_literal(JOINT)} || ".join(f"({part})" for part in parts)


def _decimal(attribute: Attribute, column: Column, scale: int) -> str:
    value = quoted(column.name)
    texts = {f"CAST('{number}' AS DECIMAL({DIGITS}, {scale}))" for number in _missing(attribute, column, scale)}
    gone = f"CASE WHEN {value} IN ({', '.join(sorted(texts))}) THEN NULL ELSE {value} END" if texts else value
    return f"CAST({gone} AS DECIMAL({DIGITS}, {scale}))"


def _missing(attribute: Attribute, column: Column, scale: int) -> list[str]:
    """Numbers of the column that mean a missing value."""
    scaled = [number * 10**scale for number in attribute.of_source.missing_numbers]
    digits = [int(number) for number in scaled if number.denominator == 1 and abs(number) < 10**DIGITS]
    return [
        f"{'-' * (number < 0)}{abs(number) // 10**scale}.{abs(number) % 10**scale:0{max(scale, 1)}d}"
        for number in digits
    ]


def _points(source: Attribute, column: Column) -> tuple[str, str, str]:
    """SQL of a date or time as the store has it, and in points; and of whether it is no value, if it may be none."""
    assert source.temporal is not None
    size = 1 if column.kind is Kind.DATE else source.temporal.unit * column.second // SECOND
    number = f"({column.number})"
    if source.missing_numbers:
        ranges = " OR ".join(
            f"{number} BETWEEN {int(point) * size} AND {(int(point) + 1) * size - 1}"
            for point in sorted(source.missing_numbers)
        )
        number = f"(CASE WHEN {ranges} THEN NULL ELSE {column.number} END)"
    if size == 1:
        return number, number, ""
    odd = f"{number} % {size} <> 0 AND ABS({number}) <> {FAR}" if source.type == "date" else ""
    even = f"({number} - (({number} % {size}) + {size}) % {size})"
    # A quotient of doubles may be off by a little where it is large; what is left then has an exact one.
    nearly = f"CAST(ROUND({even} / {size}) AS BIGINT)"
    return number, f"({nearly} + CAST(ROUND(({even} - {nearly} * {size}) / {size}) AS BIGINT))", odd
