"""Values that conditions name, read as the values of an owner's table are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor

from privity.common.data.attribute import Attribute
from privity.common.data.declared_values import as_declared
from privity.common.data.expression import OPERATORS
from privity.common.data.frame_values import Cell, Sort, Value, code_of, number_of, read_value, shown
from privity.common.data.schema import Schema
from privity.common.data.table_reading import expected
from privity.common.data.value_grids import nearest
from privity.common.text.first_few import first_few

Literal = int | Fraction | None
"""The code of a text or a truth value, a number of others; None is a missing value."""

Fault = tuple[str, str, str]
"""A rule, what is wrong, what to do."""


@dataclass(frozen=True)
class Asked:
    """A condition on one column: ``==`` one of the literals, ``!=`` all of them, or in another relation to one.

    Attributes:
        named: the values in the words of whoever asks.
    """

    relation: str
    literals: tuple[Literal, ...]
    named: tuple[str, ...] = ()

    def holds(self, value: Literal) -> bool:
        """Whether a value meets it; a missing one does if it is named."""
        if value is None:
            return self.relation == "==" and None in self.literals
        known = [literal for literal in self.literals if literal is not None]
        compared = [bool(OPERATORS[self.relation](value, literal)) for literal in known]
        return any(compared) if self.relation == "==" else all(compared)

    def reaches(self, low: Fraction, high: Fraction) -> bool:
        """Whether a number from one to the other may meet it."""
        known = [literal for literal in self.literals if literal is not None]
        if self.relation == "==":
            return any(low <= literal <= high for literal in known)
        return self.holds(low) or self.holds(high) or self.relation == "!="

    def words(self, name: str) -> str:
        """The condition."""
        sign = "=" if self.relation == "==" else self.relation
        return f"{name} {sign} {' or '.join(self.named)}"


def asked_values(
    schema: Schema, attribute: Attribute, place: int | None, relation: str, values: Sequence[object]
) -> tuple[Asked, list[Fault]]:
    """Read the values of a condition, with every fault of it; it is of use only if there is none.

    Args:
        attribute: what the column's values are.
        place: its index in the schema; None of a column that is not read.
    """
    faults: list[Fault] = []
    literals: list[Literal] = []
    named = []
    ordering = relation not in ("==", "!=")
    if not values or (ordering and len(values) > 1):
        found = "none is given" if not values else "several are given"
        faults.append(("form", f"{relation} needs one value, and {found}.", "Give one value."))
    if ordering and not (attribute.numeric or attribute.ordered):
        message = f"{relation} compares values that have an order, and it has none."
        faults.append(("order", message, "Name the values, or declare categoriesOrdered."))
    for given in values if not faults else ():
        value = read_value(given, exact=True)
        if isinstance(value, Cell) and value.sort is Sort.DATE and attribute.type == "datetime":
            value = value.text  # its midnight
        if place is not None:
            value = as_declared(schema, place, value)
        literal, fault = _literal_of(attribute, value, ordering)
        number = attribute.numeric and literal is not None
        named.append(attribute.name_of(literal) if number and literal is not None else shown(value))
        literals.append(literal)
        faults += fault
    return Asked(relation, tuple(literals), tuple(named)), faults


def _literal_of(attribute: Attribute, value: Value, ordering: bool) -> tuple[Literal, list[Fault]]:
    missing = value in attribute.missing_texts or (isinstance(value, Cell) and value.sort is Sort.MISSING)
    if missing and ordering:
        return None, [("missing-value", "a missing value is neither more nor less.", "Give a value.")]
    if missing and attribute.missing:
        return None, []
    if ordering and attribute.numeric:
        number = _number(attribute, value)
        if number is None:
            return None, [("unknown-value", f"{shown(value)} is none of type {attribute.type}.", _written(attribute))]
        return Fraction(number), []
    if not (attribute.categories or len(attribute.edges)):
        return None, [("unknown-value", f"{shown(value)} is no value of it: it stays empty.", "Ask for none.")]
    code = _code(replace(attribute, out_of_domain="refuse", other=None), value)
    if code is None:
        return None, [_outside(attribute, value)]
    if code == attribute.missing_code:
        return None, []
    if attribute.type in ("string", "boolean"):
        return code, []
    if attribute.categories:
        category = attribute.categories[code]
        assert not isinstance(category, str)
        return Fraction(category), []
    number = Fraction(_number(attribute, value) or 0)
    if attribute.whole:
        return Fraction(floor(number)), []
    if attribute.point is not None:
        return nearest(number, attribute.point) * attribute.point, []
    double = Fraction(repr(float(number)))
    if attribute.code_of(repr(float(number))) != code:
        return None, [("unknown-value", f"{shown(value)} has more digits than are kept.", "Round it.")]
    return double, []


def _code(attribute: Attribute, value: Value) -> int | None:
    """The code of a value, which may be a date or time in ISO 8601 or as the column is written."""
    if isinstance(value, str) and attribute.temporal is not None:
        code = attribute.code_of_name(value)
        return attribute.code_of(value) if code is None else code
    return code_of(attribute, value)


def _number(attribute: Attribute, value: Value) -> int | Fraction | None:
    """The number of a value, whatever the domain."""
    if isinstance(value, str) and attribute.temporal is not None:
        number = attribute.temporal.read_iso(value)
        return attribute.read(value) if number is None else number
    return number_of(attribute, value)


def _outside(attribute: Attribute, value: Value) -> Fault:
    known = expected(attribute) if attribute.edges else f"one of {first_few(attribute.labels)}"
    counted = _code(attribute, value)
    label = "" if counted is None else f", and rows with it count as {attribute.labels[counted]}"
    return "unknown-value", f"{shown(value)} is no value of its domain{label}.", f"Ask for {known}."


def _written(attribute: Attribute) -> str:
    return "Write dates and times as in ISO 8601." if attribute.temporal is not None else "Write a number."
