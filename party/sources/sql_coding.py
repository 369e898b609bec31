"""The coding of a column as SQL, exact for every value.

What a value's code is, ``Attribute.code_of`` says of its text. Here the same rule is put in terms of the store's own
type, so that no text is made of any row: a bin's edge becomes the least value of the type whose text is not below it.
The text of a number is its shortest decimal (Python's ``repr``); that of a date or time is ISO 8601's, a space between.

A date or time is compared by its number, which the store makes of it.

Beyond texts: NULL and NaN are missing values, or outside the domain if the attribute declares none, and a number is
a missing value if one of the texts for them reads as this number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from itertools import pairwise

import numpy as np

from privity.common.data.attribute import FALSE_TEXTS, TRUE_TEXTS, Attribute, read_number, value_text
from privity.common.data.temporal_pattern import SECOND
from privity.party.sources.store_columns import FLOATS, Column, Kind, is_moment

WHOLE_FROM = 2**53
"""Doubles from here on are integers, and some stores cannot round them down."""

LONG_RUN = 64
"""Bins of one width that are told apart by division: those of a grid on which a domain is discovered."""

LARGEST_INTEGER = 2**63 - 1
LEAST_INTEGER = -(2**63)
DECIMAL_DIGITS = 38
NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}

ALWAYS = "TRUE"

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


def is_read_apart(attribute: Attribute, column: Column, computed: bool = False) -> bool:
    """Whether the column's different texts must be known first: texts of one number are without end."""
    return column.kind is Kind.TEXT and (attribute.numeric or computed)


def outside(attribute: Attribute) -> int:
    """The number that stands for a value outside the domain: one beyond the codes."""
    return attribute.size


def code_sql(attribute: Attribute, column: Column, value: str, texts: Numbers | None = None) -> str:
    """An SQL expression of the attribute's code, or of ``outside``; never NULL.

    Args:
        value: SQL of the column's value; a text is compared byte by byte; of what ``is_moment``, of its number.
        texts: of a column that ``is_read_apart``. A text that is not among them is outside.
    """
    miss = outside(attribute)
    other = miss if attribute.other is None else _code_of_category(attribute, attribute.other)
    null = other if attribute.missing_code is None else attribute.missing_code
    nothing = f"{value} IS NULL"
    if _may_be_infinite(column):
        nothing += f" OR {value} = {_float(column, 'NaN')}"
    empty: list[Case] = [(nothing, null)]
    if texts is not None:
        known = [(text, miss if code is None else code) for text, code in texts.items()]
        return _case([*empty, *_among(value, column, known, _literal_of_text)], miss)
    if is_moment(attribute, column):
        return _case(empty, _moment_sql(attribute, column, value, other))
    literal = _literal if attribute.type in ("integer", "number") else _literal_of_text
    missing: list[Case] = []
    if attribute.missing_code is not None:
        missing += _among(value, column, [(text, attribute.missing_code) for text in attribute.missing_texts], literal)
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
    if not_beyond == ALWAYS and _may_be_infinite(column):
        not_beyond = f"{value} < {_float(column, 'Infinity')}"
    less = below(value, column, edges[0])
    whole = attribute.type == "integer" and column.kind is Kind.INTEGER
    cases.append((f"NOT ({less}) AND {not_beyond}", _bin(edges, column, value, whole)))
    cases += empty
    if _may_be_infinite(column):
        cases.append((f"{value} IN ({_float(column, 'Infinity')}, {_float(column, '-Infinity')})", other))
    low, high = _outer(attribute)
    return _case([*cases, (less, low)], high)


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
        return _float(column, NOT_FINITE[text]) if _may_be_infinite(column) else None
    number = read_number(text)
    if number is None:
        return None
    least = _least(column, Fraction(number))
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


def below(value: str, column: Column, bound: Fraction) -> str:
    """SQL: the text of the value reads as less than the bound."""
    if _has_no_end(column, bound):
        return f"{value} * {bound.denominator} < {bound.numerator}"
    least = _least(column, bound)
    return ALWAYS if least is None else f"{value} < {least[0]}"


def not_above(value: str, column: Column, bound: Fraction) -> str:
    """SQL: the text of the value reads as the bound or less."""
    if _has_no_end(column, bound):
        return f"{value} * {bound.denominator} <= {bound.numerator}"
    least = _least(column, bound)
    if least is None:
        return ALWAYS
    return f"{value} {'<=' if least[1] == bound else '<'} {least[0]}"


def _least(column: Column, bound: Fraction) -> tuple[str, Fraction] | None:
    """The least value of the column that reads as the bound or more: in SQL, and exactly. None: there is none."""
    match column.kind:
        case Kind.INTEGER:
            whole = math.ceil(bound)
            held = max(whole, LEAST_INTEGER)
            # No literal is the least integer itself.
            written = f"{held + 1} - 1" if held == LEAST_INTEGER else str(held)
            return None if whole > LARGEST_INTEGER else (f"({written})", Fraction(held))
        case Kind.DECIMAL:
            return _least_decimal(column.scale, bound)
        case Kind.SINGLE:
            least = _least_single(bound)
        case _:
            least = _least_double(bound)
    return None if least is None else (_float(column, least), Fraction(least))


def _least_decimal(scale: int | None, bound: Fraction) -> tuple[str, Fraction] | None:
    if scale is None:
        # It has a decimal's end, within as many digits as its denominator has bits.
        return f"CAST('{_decimal_text(bound, bound.denominator.bit_length())}' AS NUMERIC)", bound
    digits = math.ceil(bound * 10**scale)
    if digits >= 10**DECIMAL_DIGITS:
        return None
    least = Fraction(max(digits, 1 - 10**DECIMAL_DIGITS), 10**scale)
    return f"CAST('{_decimal_text(least, scale)}' AS DECIMAL({DECIMAL_DIGITS}, {scale}))", least


def _decimal_text(number: Fraction, scale: int) -> str:
    digits = abs(int(number * 10**scale))
    fraction = f".{digits % 10**scale:0{scale}d}" if scale else ""
    return f"{'-' if number < 0 else ''}{digits // 10**scale}{fraction}"


def _has_no_end(column: Column, bound: Fraction) -> bool:
    """Whether a decimal without a limit to its digits is compared with a number that no decimal is, such as 1/3."""
    if column.kind is not Kind.DECIMAL or column.scale is not None:
        return False
    rest = bound.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest > 1


def _least_double(bound: Fraction) -> str | None:
    if bound > Fraction(float(np.finfo(np.float64).max)):
        return None
    guess = float(bound)
    while Fraction(repr(guess)) >= bound:
        guess = math.nextafter(guess, -math.inf)
        if math.isinf(guess):
            break
    guess = math.nextafter(guess, math.inf)
    while Fraction(repr(guess)) < bound:
        guess = math.nextafter(guess, math.inf)
    return repr(guess)


def _least_single(bound: Fraction) -> str | None:
    if bound > Fraction(float(np.finfo(np.float32).max)):
        return None
    low, high = np.float32(-np.inf), np.float32(np.inf)
    guess = np.float32(float(max(bound, Fraction(float(np.finfo(np.float32).min)))))
    while np.isfinite(guess) and Fraction(str(guess)) >= bound:
        guess = np.nextafter(guess, low)
    guess = np.nextafter(guess, high)
    while Fraction(str(guess)) < bound:
        guess = np.nextafter(guess, high)
    return str(guess)


def _float(column: Column, text: str) -> str:
    """A number in SQL, of the column's own precision: else it would be compared as a wider one."""
    kind = {Kind.SINGLE: "FLOAT4", Kind.DECIMAL: "NUMERIC"}.get(column.kind, "FLOAT8")
    return f"CAST('{text}' AS {kind})"


def _may_be_infinite(column: Column) -> bool:
    """Whether the column may hold NaN and infinities: floats, and PostgreSQL's decimals without a limit."""
    return column.kind in FLOATS or (column.kind is Kind.DECIMAL and column.scale is None)
