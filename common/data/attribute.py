"""One attribute of a table: its finite domain of codes, and the exact reading of a value's text.

Codes run ``0 .. size - 1``: the categories in the order declared, or the bins from the lowest up, then one
category for missing values if the attribute declares any, then one for absent rows if the schema declares
them (``privity.common.data.schema.Schema.absent_rows``). Bins are ``[e_i, e_{i+1})``, the last one
closed. All arithmetic on edges and values is exact (``fractions.Fraction``), never floating point.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import floor

from privity.common.data.bin_labels import bin_labels
from privity.common.data.computation import FORM, Computation
from privity.common.data.field_keys import PlainKey, plain
from privity.common.data.measured_range import MeasuredRange
from privity.common.data.temporal import TEMPORAL, Temporal, temporal
from privity.common.data.temporal_pattern import DEFAULT
from privity.common.data.value_grids import SIGNIFICANT_DIGITS, Grid, decimal_grid, integer_edges, nearest, number_text

Value = str | int | Fraction  # a category: text, integer (or bool), or exact decimal

TYPES = ("string", "integer", "number", "boolean", *TEMPORAL)

TRUE_TEXTS = ("true", "True", "TRUE", "1")  # as Frictionless reads booleans; the first one is written
FALSE_TEXTS = ("false", "False", "FALSE", "0")
SPELLINGS = {"True/False": ("True", "False"), "TRUE/FALSE": ("TRUE", "FALSE")}
"""Formats of booleans beside the default: how each writes true and false. All spellings are read."""

ROLES = ("data owner", "organiser")
"""Who can declare public what was read off rows."""

UNDECLARED = "undeclared"

LARGEST_POINT = 2**62  # a decimal of more digits is counted in points, of which there may be so many
WHOLE_DOUBLES = 2**53  # from here on a double may stand for several integers
LONGEST_NUMBER = 400  # characters; a longer text is not read as a number

_INTEGER = re.compile(r"[+-]?[0-9]{1,400}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True)
class Group:
    """A node of a taxonomy: either inner ``groups`` or ``codes`` of categories; the other one is empty."""

    name: str
    groups: tuple[Group, ...] = ()
    codes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Histogram:
    """How the values of an attribute lie within its bins: a finer histogram, whose edges include those of the bins.

    Attributes:
        weights: one a cell, 0 or more; values are drawn in proportion to those of their bin, evenly if all are 0.
    """

    edges: tuple[Fraction, ...]
    weights: tuple[int, ...]


@dataclass(frozen=True)
class Attribute:
    """A declared attribute. Exactly one of ``categories`` and ``edges`` is not empty.

    ``type`` is one of ``TYPES``; the categories of ``boolean`` are false, true, and values of dates and times are whole
    numbers (``privity.common.data.temporal``), of texts in the ``format``, with a zone if there is a ``timezone``;
    years of two digits are the hundred from ``years_from`` on.
    ``edges`` are the k + 1 edges of k bins; ``bins`` is k if the schema declared a number of bins of
    equal width. ``missing`` are the texts that mean "no value"; if there are any, the code after the values is
    theirs. ``none`` is whether one more is that of an event that there is not, in steps of histories, and ``absent``
    whether the last code is that of absent rows; no text has these.
    ``out_of_domain`` is ``refuse``, ``edge`` (bins only) or ``other`` (the code of the category ``other``).
    ``discover`` is whether the domain is open: ``edges`` are those of a public grid in its place
    (``privity.common.data.public_grid``), or the only category is ``other``. Values of bins are rounded to
    ``decimals`` as they are read. ``histogram`` says how values are drawn within a bin; without one they are drawn
    evenly. ``measured`` is of a domain that was discovered. ``compute`` is what makes the values of another column as
    rows are read; None where they stand in a column of their own. What is ``plain`` means what the format says of its
    key. ``read_off_rows`` is None of what a person wrote; of what a draft read off rows it is ``UNDECLARED``, or which
    of the ``ROLES`` declared it public.
    """

    name: str
    type: str
    categories: tuple[Value, ...] = ()
    ordered: bool = plain("categoriesOrdered", False)
    edges: tuple[Fraction, ...] = ()
    bins: int | None = None
    taxonomy: tuple[Group, ...] = ()
    missing: tuple[str, ...] = ()
    none: bool = False
    absent: bool = False
    out_of_domain: str = "refuse"
    other: Value | None = None
    discover: bool = False
    decimals: int | None = plain("decimals", None)
    histogram: Histogram | None = None
    measured: MeasuredRange | None = None
    format: str = plain("format", DEFAULT)
    timezone: str | None = plain("timezone", None)
    years_from: int | None = plain("yearsFrom", None, digest=True)
    compute: Computation | None = None
    decimal_char: str | None = plain("decimalChar", None, of_rows=True)
    group_char: str | None = plain("groupChar", None, of_rows=True)
    bare_number: bool = plain("bareNumber", True, of_rows=True)
    read_off_rows: str | None = plain("readOffRows", None, digest=True)
    title: str | None = plain("title", None)
    description: str | None = plain("description", None)

    @cached_property
    def size(self) -> int:
        """Number of codes, with those for missing values and for absent rows."""
        return self.present + self.absent

    @cached_property
    def present(self) -> int:
        """Number of codes that a row which is there may have: without the one for absent rows."""
        return self.values + bool(self.missing) + self.none

    @cached_property
    def values(self) -> int:
        """Number of codes of declared values: without those for missing values and for absent rows."""
        return len(self.categories) or len(self.edges) - 1

    @cached_property
    def of_source(self) -> Attribute:
        """Of a logarithm: the same codes as bins of the numbers that it is of; of a difference: how both are read."""
        assert self.compute is not None
        if self.compute.less is not None:
            form = {FORM[key]: value for key, value in self.compute.document if key in FORM}
            plain = {key: getattr(self, key) for key in ("decimal_char", "group_char", "bare_number")}
            return Attribute(self.name, form.pop("type", self.type), missing=self.missing, **form, **plain)
        edges = tuple(self.compute.power(edge) for edge in self.coding_edges)
        return replace(self, type="number", edges=edges, bins=None, decimals=None, histogram=None, compute=None)

    def column(self, *, computed: bool) -> str:
        """The column that it is read from: its own, or the one that it is computed of."""
        return self.compute.source if computed and self.compute is not None else self.name

    @cached_property
    def of_difference(self) -> Attribute:
        """The same codes, where texts that mean a missing value of a column mean nothing."""
        return replace(self, missing=self.missing and ("",), compute=None)

    @property
    def numeric(self) -> bool:
        """Whether values are numbers, dates and times among them."""
        return self.type not in ("string", "boolean")

    @property
    def whole(self) -> bool:
        """Whether values are whole numbers."""
        return self.numeric and self.type != "number"

    @property
    def open_ended(self) -> bool:
        """Whether the bins at the ends also have what lies farther out."""
        return bool(self.edges) and self.out_of_domain == "edge"

    @cached_property
    def beyond_doubles(self) -> bool:
        """Whether exact values of its domain are integers that doubles do not tell apart."""
        reach = (*self.edges, *self.categories, *self.missing_numbers)
        return (self.type == "integer" or self.exact) and any(abs(int(value)) >= WHOLE_DOUBLES for value in reach)

    @cached_property
    def temporal(self) -> Temporal | None:
        """How dates or times are read and written; None of other types."""
        if self.type not in TEMPORAL:
            return None
        return temporal(self.type, self.format, self.decimals, self.timezone, self.years_from)

    def read(self, text: str) -> int | Fraction | None:
        """The number that a text of a file stands for; None if it is none."""
        return read_number(text) if self.temporal is None else self.temporal.read(text)

    def text_of(self, value: Value) -> str:
        """A value as it stands in a file."""
        return value_text(value) if self.temporal is None else self.temporal.text(int(value))

    def name_of(self, value: Value) -> str:
        """A value as it stands in a schema, a rule and a report: a date or time in ISO 8601."""
        if self.temporal is None or isinstance(value, str):
            return value_text(value)
        return self.temporal.iso(value)

    @property
    def binary(self) -> bool:
        """Whether the domain has exactly two codes."""
        return self.size == 2

    @property
    def missing_code(self) -> int | None:
        """The code of missing values, the one after the values; ``None`` if the attribute declares none."""
        return self.values if self.missing else None

    @cached_property
    def missing_texts(self) -> tuple[str, ...]:
        """Texts that mean "no value": those declared, and the empty one beside any of them, if it is no category."""
        empty = self.missing and "" not in (*self.missing, *self.categories)
        return (*self.missing, "") if empty else self.missing

    @property
    def absent_code(self) -> int | None:
        """The code of absent rows, the last one; ``None`` if the schema declares none."""
        return self.present if self.absent else None

    @cached_property
    def zero_code(self) -> int | None:
        """The code that zero has and no other value has; ``None`` if there is none, or the attribute is no number."""
        if self.type not in ("integer", "number", "duration"):
            return None
        if self.categories:
            return self._codes.get(0)
        alone = (code for code, grid in enumerate(self.grids) if grid.first == 0 and grid.count == 1)
        return next(alone, None) if self.whole else None

    @property
    def apart(self) -> int:
        """How many codes are no values: each stays a group of its own in every generalisation."""
        return self.size - self.values

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The text of each code, public, distinct: a category, a bin as ``[17, 22)``, ``(missing)`` or ``(absent)``.

        The bins at the ends are ``87 and more`` and the like if they also have what lies farther out.
        """
        labels = [self.name_of(value) for value in self.categories] or bin_labels(self)
        for label, there in (("(missing)", bool(self.missing)), ("(none)", self.none), ("(absent)", self.absent)):
            if not there:
                continue
            while label in labels:
                label = f"({label})"
            labels.append(label)
        return tuple(labels)

    @cached_property
    def point(self) -> Fraction | None:
        """Distance of neighbouring values, to the nearest of which numbers are read; None where all are told apart."""
        if not self.edges or (self.type == "number" and self.decimals is None):
            return None
        return Fraction(1, 10**self.places)

    @cached_property
    def exact(self) -> bool:
        """Whether the values are decimals of more digits than a double keeps."""
        if self.type != "number" or self.decimals is None or not self.edges:
            return False
        return 10**SIGNIFICANT_DIGITS < self._largest_point <= LARGEST_POINT

    @property
    def _largest_point(self) -> Fraction:
        return max(abs(self.edges[0]), abs(self.edges[-1])) * 10**self.places

    @property
    def places(self) -> int:
        """Digits after the point of the numbers themselves."""
        return self.decimals or 0 if self.type == "number" else 0

    @cached_property
    def coding_edges(self) -> tuple[Fraction, ...]:
        """Numbers from which on the next bin begins: those of decimals half a point below the edge.

        What is at the last one is beyond it if there is a ``point``, and in the last bin if there is none.
        """
        if self.point is None:
            return self.edges
        below = Fraction(self.type == "number", 2)
        return tuple((edge - below) * self.point for edge in self.point_edges)

    @cached_property
    def point_edges(self) -> tuple[int, ...]:
        """Edges of the bins in points: bin i is ``range(e[i], e[i + 1])``."""
        return integer_edges(self.edges, 10**self.places)

    @cached_property
    def grids(self) -> tuple[Grid, ...]:
        """Per bin, the values that are drawn from it; a ``count`` below 1 means that it holds none."""
        return self._grids_between(self.edges)

    @cached_property
    def cell_grids(self) -> tuple[Grid, ...]:
        """The same per cell of the histogram; of none without one."""
        return () if self.histogram is None else self._grids_between(self.histogram.edges)

    def _grids_between(self, edges: Sequence[Fraction]) -> tuple[Grid, ...]:
        """Of cells of which the last one is closed."""
        if self.whole:
            return tuple(Grid(low, high - low, 0) for low, high in pairwise(integer_edges(edges)))
        last = len(edges) - 2
        return tuple(
            decimal_grid(low, high, closed=place == last, decimals=self.decimals, exact=self.exact)
            for place, (low, high) in enumerate(pairwise(edges))
        )

    @cached_property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """The taxonomy's generalisations, from the finest to the coarsest: each maps a code to its group.

        Groups are numbered in the order declared. A category that lies less deep than a level stays as it
        is there; missing values are a group of their own, and so are absent rows. Empty without a taxonomy.
        """
        paths = dict(_paths(self.taxonomy, ()))
        levels: list[tuple[int, ...]] = []
        for depth in range(max(map(len, paths.values()), default=0), 0, -1):
            keys = {code: path[:depth] if len(path) >= depth else (*path, code) for code, path in paths.items()}
            numbers = {key: number for number, key in enumerate(dict.fromkeys(keys.values()))}
            level = [numbers[keys[code]] for code in range(self.values)]
            level += [len(numbers) + place for place in range(self.apart)]
            # A level that groups nothing more than the one before it generalises nothing.
            if len(set(level)) < (len(set(levels[-1])) if levels else self.size):
                levels.append(tuple(level))
        return tuple(levels)

    def code_of(self, text: str) -> int | None:
        """Return the code of a value as written, or ``None`` if it lies outside the domain.

        Texts count as they stand, spaces included. An integer may be written as any decimal that equals
        one ("7.0", "7e0"). NaN and infinities are not numbers, so no rule takes them but ``other``.
        """
        if text in self.missing_texts:
            return self.missing_code
        code = self._code_of_value(text)
        return self._other_code if code is None else code

    def code_of_number(self, text: str) -> int | None:
        """Return the code of a number, given as a decimal: a missing value if a text that means one reads as it."""
        if self.numeric and self.missing and self.read(text) in self.missing_numbers:
            return self.missing_code
        return self.code_of(text)

    def code_of_converted(self, number: Fraction) -> int | None:
        """Return the code of a number that had another unit, in which it was no missing value."""
        code = None if self.whole and number.denominator != 1 else self._code_at(number)
        return self._other_code if code is None else code

    def code_of_moment(self, kind: str, text: str) -> int | None:
        """Return the code of a date, time or duration of a program, as ``Temporal.of_value`` takes it."""
        if self.temporal is None:
            return self.code_of(text)
        number = self.temporal.of_value(kind, text)
        if number is not None and number in self.missing_numbers:
            return self.missing_code
        code = None if number is None else self._code_at(number)
        return self._other_code if code is None else code

    def code_of_name(self, text: str) -> int | None:
        """Return the code of a value as ``name_of`` writes it, or of a text that means a missing one."""
        if self.temporal is None or text in self.missing:
            return self.code_of(text)
        number = self.temporal.read_iso(text)
        return None if number is None else self._code_at(floor(number))

    @property
    def code_outside(self) -> int | None:
        """The code of what lies outside the domain; None if there is none."""
        return self._other_code

    def code_of_nothing(self) -> int | None:
        """Return the code of NULL, NaN or None: a missing value, or outside the domain if none is declared."""
        return self._other_code if self.missing_code is None else self.missing_code

    @cached_property
    def missing_numbers(self) -> frozenset[int | Fraction]:
        """The numbers that texts for missing values read as."""
        return frozenset(number for text in self.missing if (number := self.read(text)) is not None)

    def _code_of_value(self, text: str) -> int | None:
        if self.categories and self.type in ("string", "boolean"):
            return self._codes.get(text)
        number = self.read(text)
        return None if number is None or (self.whole and number.denominator != 1) else self._code_at(number)

    def _code_at(self, number: int | Fraction) -> int | None:
        """The code of a number that is a value of the type."""
        if self.categories:
            return self._codes.get(number)  # an int and an equal Fraction have the same hash
        edges: Sequence[int | Fraction] = self.edges
        if self.point is not None:  # compared with integers, which takes a third of the time
            edges, number = self.point_edges, nearest(number, self.point)
            above = number >= edges[-1]
        else:
            above = number > edges[-1]
        if number < edges[0]:
            return 0 if self.out_of_domain == "edge" else None
        if above:
            return self.values - 1 if self.out_of_domain == "edge" else None
        return min(bisect_right(edges, number) - 1, self.values - 1)

    @cached_property
    def _codes(self) -> dict[Value, int]:
        if self.type == "boolean":
            return {text: code for code, texts in enumerate((FALSE_TEXTS, TRUE_TEXTS)) for text in texts}
        return {value: code for code, value in enumerate(self.categories)}

    @cached_property
    def _other_code(self) -> int | None:
        return None if self.other is None else self._codes[self.other]


PLAIN_KEYS: dict[str, PlainKey] = {
    each.name: each.metadata["plain"] for each in fields(Attribute) if "plain" in each.metadata
}
"""By the names of an attribute's fields."""


def read_number(text: str) -> int | Fraction | None:
    """Read a decimal exactly; ``None`` if the text is none. ASCII digits, no spaces, exponent to 999."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if len(text) <= LONGEST_NUMBER and _NUMBER.fullmatch(text):
        whole, _, digits = text.partition(".")
        if digits.isdigit():  # the same as below in half the time
            return Fraction(int(whole + digits), 10 ** len(digits))
        return Fraction(text)
    return None


def is_double(number: Fraction) -> bool:
    """Whether a double gives the number exactly, and it is written in ``SIGNIFICANT_DIGITS``."""
    return Fraction(number_text(number)) == Fraction(repr(float(number))) == number


def value_text(value: Value) -> str:
    """Write a category as it stands in a table."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return (TRUE_TEXTS if value else FALSE_TEXTS)[0]
    return number_text(value)


def _paths(groups: tuple[Group, ...], above: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Walk a taxonomy's leaves as (code, positions of the groups that hold it, outermost first)."""
    for place, group in enumerate(groups):
        path = (*above, place)
        yield from ((code, path) for code in group.codes)
        yield from _paths(group.groups, path)
