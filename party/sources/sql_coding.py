"""The coding of a column as SQL, exact for every value.

What a value's code is, ``Attribute.code_of`` says of its text. Here the same rule is put in terms of the store's own
type, so that no text is made of any row: a bin's edge becomes the least value of the type whose text is not below it.
The text of a number is its shortest decimal (Python's ``repr``); that of a date or time is ISO 8601's, a space between.

A date or time is compared by its number, which the store makes of it.

Beyond texts: NULL and NaN are missing values, or outside the domain if the attribute declares none, and a number is
a missing value if one of the texts for them reads as this number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from privity.common.data.attribute import FALSE_TEXTS, TRUE_TEXTS, Attribute, read_number, value_text
from privity.common.data.frame_values import decimal_text
from privity.common.data.table_map import OwnColumn
from privity.common.data.temporal_pattern import SECOND
from privity.party.sources.sql_bounds import (
    ALWAYS,
    LARGEST_INTEGER,
    LEAST_INTEGER,
    below,
    float_literal,
    least_value,
    may_be_infinite,
    not_above,
)
from privity.party.sources.store_columns import FLOATS, NUMBERS, Column, Kind, is_moment

WHOLE_FROM = 2**53
"""Doubles from here on are integers, and some stores cannot round them down."""

LONG_RUN = 64
"""Bins of one width that are told apart by division: those of a grid on which a domain is discovered."""

NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


Numbers = Mapping[str, int | None]
"""Codes of the texts that a column holds; None for one outside the domain."""

Case = tuple[str, int | str]
"""A condition, and the code where it holds."""


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text in SQL."""
    # A NUL would end the statement.
    return " || CHR(0) || ".join("'" + part.replace("'", "''") + "'" for part in text.split("\0"))


def is_read_apart(attribute: Attribute, column: Column, computed: bool = False, own: OwnColumn | None = None) -> bool:
    """Whether the column's different texts must be known first: texts of one number are without end."""
    coded = own is not None and own.codes is not None
    return column.kind is Kind.TEXT and not coded and (attribute.numeric or computed)


def outside(attribute: Attribute) -> int:
    """The number that stands for a value outside the domain: one beyond the codes."""
    return attribute.size


def code_sql(
    attribute: Attribute, column: Column, value: str, texts: Numbers | None = None, own: OwnColumn | None = None
) -> str:
    """An SQL expression of the attribute's code, or of ``outside``; never NULL.

    Args:
        value: SQL of the column's value; a text is compared byte by byte; of what ``is_moment``, of its number.
        texts: of a column that ``is_read_apart``, or what an owner's codes stand for. All others are outside.
        own: what an owner's map says of the column.
    """
    if own is not None and attribute.missing:
        attribute = replace(attribute, missing=(*attribute.missing, *own.missing_moments(attribute)))
    miss = outside(attribute)
    other = miss if attribute.other is None else _code_of_category(attribute, attribute.other)
    null = other if attribute.missing_code is None else attribute.missing_code
    nothing = f"{value} IS NULL"
    if may_be_infinite(column):
        nothing += f" OR {value} = {float_literal(column, 'NaN')}"
    empty: list[Case] = [(nothing, null)]
    if texts is not None:
        known = [(text, miss if code is None else code) for text, code in texts.items()]
        if own is None or own.codes is None:
            return _case([*empty, *_among(value, column, known, _literal_of_text)], miss)
        nothing_too = _among(value, column, [(text, null) for text in attribute.missing_texts], _literal_of_nothing)
        return _case([*empty, *_among(value, column, known, _literal_of_code), *nothing_too], other)
    if is_moment(attribute, column):
        return _case(empty, _moment_sql(attribute, column, value, other))
    literal = _literal if attribute.type in ("integer", "number") else _literal_of_text
    missing: list[Case] = []
    if attribute.missing_code is not None:
        missing += _among(value, column, [(text, attribute.missing_code) for text in attribute.missing_texts], literal)
    if own is not None and own.has_unit:
        return _of_other_unit(attribute, column, value, [*empty, *missing], other, own)
    if attribute.edges:
        return _binned(attribute, column, value, missing, empty, other)
    categories = [(text, code) for code, text in _category_texts(attribute)]
    first = _first_in_row(attribute, column, [text for text, _ in categories])
    if first is None:
        return _case([*empty, *missing, *_among(value, column, categories, literal)], other)
    among = f"{value} BETWEEN {first} AND {first + len(categories) - 1}"
    code = f"CAST({value} AS INTEGER)" if first == 0 else f"CAST(CAST({value} AS BIGINT) - ({first}) AS INTEGER)"
    return _case([*missing, (among, code), *empty], other)


def _binned(
    attribute: Attribute, column: Column, value: str, missing: Sequence[Case], empty: Sequence[Case], other: int
) -> str:
    """The code of a number that has bins. Most values lie in one: what is in none is asked afterwards."""
    cases = list(missing)
    if attribute.type == "integer" and column.loose:
        cases.append((f"{value} <> CAST({value} AS BIGINT)", other))
    elif attribute.type == "integer" and column.kind is not Kind.INTEGER:
        floor = f"{value} <> FLOOR({value})"
        cases.append((f"ABS({value}) < {WHOLE_FROM} AND {floor}" if column.kind in FLOATS else floor, other))
    edges = attribute.coding_edges
    not_beyond = (not_above if attribute.point is None else below)(value, column, edges[-1])
    if not_beyond == ALWAYS and may_be_infinite(column):
        not_beyond = f"{value} < {float_literal(column, 'Infinity')}"
    less = below(value, column, edges[0])
    whole = attribute.type == "integer" and column.kind is Kind.INTEGER
    cases.append((f"NOT ({less}) AND {not_beyond}", _bin(edges, column, value, whole)))
    cases += empty
    if may_be_infinite(column):
        cases.append((f"{value} IN ({float_literal(column, 'Infinity')}, {float_literal(column, '-Infinity')})", other))
    low, high = _outer(attribute)
    return _case([*cases, (less, low)], high)


def _of_other_unit(
    attribute: Attribute, column: Column, value: str, cases: Sequence[Case], other: int, own: OwnColumn
) -> str:
    """The code of a number in the owner's unit: compared with what the edges are in it."""
    found = list(cases)
    if may_be_infinite(column):
        found.append((f"{value} IN ({float_literal(column, 'Infinity')}, {float_literal(column, '-Infinity')})", other))
    if not attribute.edges:
        half = Fraction(attribute.type == "integer", 2)
        for code, category in enumerate(attribute.categories):
            low, high = (own.unconverted(Fraction(category) + by) for by in (-half, half))
            end = below(value, column, high) if half else not_above(value, column, high)
            found.append((f"NOT ({below(value, column, low)}) AND {end}", code))
        return _case(found, other)
    edges = own.unconverted_edges(attribute)
    closed = attribute.point is None and attribute.type == "number"
    end = (not_above if closed else below)(value, column, edges[-1])
    less = below(value, column, edges[0])
    low_code, high_code = _outer(attribute)
    found += [(less, low_code), (end, _bin(edges, column, value, whole=False))]
    return _case(found, high_code)


def _first_in_row(attribute: Attribute, column: Column, texts: Sequence[str]) -> int | None:
    """The least of categories that are integers in a row, in order, such as the codes of a coded column."""
    first = read_number(texts[0])
    if first is None or column.kind is not Kind.INTEGER or column.loose or attribute.type == "boolean":
        return None
    last = first + len(texts) - 1
    in_a_row = [str(first + place) for place in range(len(texts))] == list(texts)
    return int(first) if in_a_row and first >= LEAST_INTEGER and last <= LARGEST_INTEGER else None


def _outer(attribute: Attribute) -> tuple[int, int]:
    """Codes of what lies below the bins, and above them."""
    return (0, attribute.values - 1) if attribute.out_of_domain == "edge" else (outside(attribute),) * 2


def _moment_sql(attribute: Attribute, column: Column, value: str, other: int) -> str:
    """The code of a whole number of days or of parts of a second; a point of the attribute holds some of these."""
    assert attribute.temporal is not None
    size = 1 if column.kind is Kind.DATE else attribute.temporal.unit * column.second // SECOND
    number = replace(column, kind=Kind.INTEGER)
    cases: list[Case] = []
    if attribute.type == "date" and size > 1:
        cases.append((f"{value} % {size} <> 0", other))
    missing = {found for text in attribute.missing if (found := attribute.read(text)) is not None}
    known = [(int(point), attribute.missing_code or 0) for point in sorted(missing)]
    if not attribute.edges:
        known += [(int(point), code) for code, point in enumerate(attribute.categories)]
    for point, code in known:
        cases.append((f"{value} BETWEEN {point * size} AND {(point + 1) * size - 1}", code))
    if not attribute.edges:
        return _case(cases, other) if cases else str(other)
    low, high = _outer(attribute)
    edges = [bound * size for bound in attribute.coding_edges]
    cases += [(below(value, number, edges[0]), low), (f"NOT ({below(value, number, edges[-1])})", high)]
    return _case(cases, _bin(edges, number, value, whole=True))


def part_sql(attribute: Attribute, column: Column) -> str:
    """SQL of the part of a date or time that the attribute is."""
    compute = attribute.compute
    assert compute is not None
    assert compute.moment is not None
    zone = compute.moment.zone
    value = quoted(column.name)
    if zone is not None:
        offset = zone.utcoffset(None)
        # A zone without a name is an offset, whose sign some stores turn round.
        value = f"({value} AT TIME ZONE {text_literal('UTC' if offset is not None else str(zone))})"
        value = f"({value} + INTERVAL '{int(offset.total_seconds())} seconds')" if offset else value
    part = "ISODOW" if compute.part == "weekday" else str(compute.part).upper()
    return column.part.format(part=part, value=value)


def derived_sql(code: str, codes: Iterable[int]) -> str:
    """An SQL expression of a derived attribute; ``codes`` gives its value for each code of its base.

    Of a value outside the domain it is one beyond the codes.
    """
    by_value: dict[int, list[str]] = {}
    for base, derived in enumerate(codes):
        by_value.setdefault(derived, []).append(str(base))
    return _case([(f"{code} IN ({', '.join(some)})", derived) for derived, some in by_value.items()], max(by_value) + 1)


def _case(cases: Iterable[Case], otherwise: int | str) -> str:
    whens = " ".join(f"WHEN {condition} THEN {code}" for condition, code in cases)
    return f"CASE {whens} ELSE {otherwise} END"


def _code_of_category(attribute: Attribute, category: object) -> int:
    return attribute.categories.index(category)


def _category_texts(attribute: Attribute) -> Iterator[tuple[int, str]]:
    if attribute.type == "boolean":
        for code, spelled in enumerate((FALSE_TEXTS, TRUE_TEXTS)):
            yield from ((code, text) for text in spelled)
    else:
        yield from ((code, value_text(value)) for code, value in enumerate(attribute.categories))


def _among(
    value: str, column: Column, codes: Iterable[tuple[str, int]], literal_of: Callable[[Column, str], str | None]
) -> Iterator[Case]:
    """Cases for the values of the column that these texts stand for."""
    by_code: dict[int, list[str]] = {}
    for text, code in codes:
        literal = literal_of(column, text)
        if literal is not None:
            by_code.setdefault(code, []).append(literal)
    for code, literals in by_code.items():
        yield f"{value} IN ({', '.join(dict.fromkeys(literals))})", code


def _literal_of_text(column: Column, text: str) -> str | None:
    """The column's value with this very text, in SQL; None if it can hold none."""
    if column.kind is Kind.INTEGER:
        number = read_number(text)
        return _literal(column, text) if number is not None and str(number) == text else None
    return _literal(column, text)


def _literal_of_code(column: Column, text: str) -> str | None:
    """The column's value that an owner's map calls so; a number is called by its shortest decimal."""
    if column.kind not in NUMBERS:
        return _literal_of_text(column, text)
    shortest = read_number(text) is not None and decimal_text(Decimal(text)) == text
    return _number_literal(column, text) if shortest else None


def _literal_of_nothing(column: Column, text: str) -> str | None:
    return _literal(column, text) if column.kind in NUMBERS else _literal_of_text(column, text)


def stands_for_a_value(column: Column, text: str) -> bool:
    """Whether a value of the column may have this text where the attribute is one of texts."""
    return _literal_of_text(column, text) is not None


def _literal(column: Column, text: str) -> str | None:
    """The value that this text stands for, in SQL; None if the column can hold none. A number may be written anyhow."""
    match column.kind:
        case Kind.TEXT:
            return text_literal(text)
        case Kind.BOOLEAN:
            return {"true": "TRUE", "false": "FALSE"}.get(text)
        case Kind.DATE:
            return _moment(text, "DATE", lambda t: date.fromisoformat(t).isoformat())
        case Kind.TIMESTAMP:
            return _moment(text, "TIMESTAMP", _timestamp_text)
        case _:
            return _number_literal(column, text)


def _number_literal(column: Column, text: str) -> str | None:
    if text in NOT_FINITE:
        return float_literal(column, NOT_FINITE[text]) if may_be_infinite(column) else None
    number = read_number(text)
    if number is None:
        return None
    least = least_value(column, Fraction(number))
    # Only one of them has this very text.
    return None if least is None or least[1] != number else least[0]


def _moment(text: str, kind: str, canonical: Callable[[str], str]) -> str | None:
    try:
        same = canonical(text) == text
    except ValueError:
        return None
    return f"CAST({text_literal(text)} AS {kind})" if same else None


def _timestamp_text(text: str) -> str:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        raise ValueError("a time of no zone is meant")
    fraction = f".{moment.microsecond:06d}".rstrip("0").rstrip(".")
    return f"{moment:%Y-%m-%d %H:%M:%S}{fraction}"


def _bin(edges: Sequence[Fraction], column: Column, value: str, whole: bool) -> str:
    """The bin of a value that lies in one, found by halves; among many bins of one width of integers by division."""
    values = len(edges) - 1
    starts = _runs(edges) if whole else list(range(values))

    def among(first: int, end: int) -> str:
        if end - first > 1:
            middle = (first + end) // 2
            less = below(value, column, edges[starts[middle]])
            return f"CASE WHEN {less} THEN {among(first, middle)} ELSE {among(middle, end)} END"
        code = starts[first]
        if (starts[end] if end < len(starts) else values) == code + 1:
            return str(code)
        width = int(edges[code + 1] - edges[code])
        return (
            f"{code} + CAST(FLOOR(CAST(CAST({value} AS BIGINT) - ({int(edges[code])}) AS FLOAT8) / {width}) AS INTEGER)"
        )

    return among(0, len(starts))


def _runs(edges: Sequence[Fraction]) -> list[int]:
    """The first bins of runs of one width, where they are long; every other bin is one by itself.

    A narrow type may not hold a difference from an edge, so that it is one of 64 bits. Widths and numbers of the bins
    are so small that a quotient of doubles has the right whole part.
    """
    widths = [upper - lower for lower, upper in pairwise(edges)]
    starts = [place for place in range(len(widths)) if not place or widths[place] != widths[place - 1]]
    found: list[int] = []
    for start, end in pairwise([*starts, len(widths)]):
        long = end - start >= LONG_RUN and (end - start) * widths[start] < WHOLE_FROM
        found += [start] if long else range(start, end)
    return found
