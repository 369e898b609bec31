"""Formulas of regressions, ``income ~ age + sex + C(region)``: read against a schema."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from privity.common.data.code_values import Numbers, code_values
from privity.common.data.schema import Schema
from privity.common.formats.given_values import bad_option
from privity.common.text.first_few import first_few

ANALYSES = "analyses"
"""The setting by which a run declares formulas, where its algorithm measures the tables that span them."""

MOST_FORMULAS = 16
LINEAR, LOGISTIC = "linear", "logistic"
INTERCEPT = "(intercept)"
HINT = 'Write it as "income ~ age + sex + C(region) + age:sex"; a name with other signs in double quotes.'

_TOKEN = re.compile(r'\s*(?:"([^"]+)"|(C)\(\s*(?:"([^"]+)"|([^()"]+?))\s*\)|([^~+:"()]+?))\s*(?=[~+:]|$)')


@dataclass(frozen=True)
class Variable:
    """An attribute in a formula.

    Attributes:
        columns: of the design, each by its name: numbers of the attribute's codes; those of a category are 0 and 1.
    """

    place: int
    columns: tuple[tuple[str, Numbers], ...]
    middle: bool


@dataclass(frozen=True)
class Formula:
    """A response, and terms of which each is a product of variables."""

    text: str
    response: int
    terms: tuple[tuple[Variable, ...], ...]

    @property
    def attributes(self) -> tuple[int, ...]:
        """All that are named, in ascending order."""
        return tuple(sorted({self.response, *(one.place for term in self.terms for one in term)}))

    @property
    def moments(self) -> tuple[tuple[int, ...], ...]:
        """Attributes whose tables hold what least squares needs: of any two of response and terms; none in another."""
        sides = [{self.response}, *({one.place for one in term} for term in self.terms)]
        found = {tuple(sorted(a | b)) for a, b in combinations(sides, 2)}
        return tuple(sorted(each for each in found if not any(set(each) < set(other) for other in found)))

    @property
    def middle(self) -> bool:
        """Whether numbers in bins are taken for the middle of these."""
        return any(one.middle for term in self.terms for one in term)


def read_formula(text: str, schema: Schema, *, midpoints: bool) -> Formula:
    """The formula of a text.

    Args:
        midpoints: whether numbers in bins may be taken for the middle of these.

    Raises:
        PrivityError: bad-option.
    """
    parts = _split(text, "~")
    if len(parts) != 2:
        raise bad_option("formula", f"{text!r} has no response before a single ~", HINT)
    response = place_of(schema, _name(parts[0])[0], "formula")
    terms = []
    for term in _split(parts[1], "+"):
        variables = [_variable(*_name(each), schema, midpoints=midpoints) for each in _split(term, ":")]
        if any(one.place == response for one in variables):
            raise bad_option("formula", f"{schema.names[response]!r} is on both sides", HINT)
        terms.append(tuple(variables))
    return Formula(text, response, tuple(terms))


def regression_of(formula: Formula, schema: Schema) -> str:
    """The regression that suits a response: ``LOGISTIC`` for one of two values, ``LINEAR`` for numbers.

    Raises:
        PrivityError: bad-option.
    """
    attribute = schema.attributes[formula.response]
    if attribute.values == 2:
        return LOGISTIC
    if not attribute.numeric:
        reason = f"{attribute.name} has {attribute.values} values, and is no number: no regression is of these"
        raise bad_option("formula", reason, "Name a response of two values, or a number.")
    code_values(attribute)
    return LINEAR


def place_of(schema: Schema, name: object, option: str) -> int:
    """Of an attribute.

    Raises:
        PrivityError: bad-option.
    """
    if not isinstance(name, str) or name not in schema.names:
        unread = {column.name for column in schema.unread}
        why = "is no attribute that was measured" if name in unread else "is unknown"
        raise bad_option(option, f"{name!r} {why}", f"Attributes: {first_few(schema.names)}.")
    return schema.index(name)


def _split(text: str, sign: str) -> list[str]:
    """At a sign outside of quotation marks."""
    return re.split(rf'{re.escape(sign)}(?=(?:[^"]*"[^"]*")*[^"]*$)', text)


def _name(text: str) -> tuple[str, bool]:
    """An attribute's name, and whether it is to be a category."""
    found = _TOKEN.fullmatch(text)
    if found is None:
        raise bad_option("formula", f"{text.strip()!r} is no name", HINT)
    quoted, category, quoted_category, named, plain = found.groups()
    return (quoted or quoted_category or named or plain).strip(), category is not None


def _variable(name: str, category: bool, schema: Schema, *, midpoints: bool) -> Variable:
    place = place_of(schema, name, "formula")
    attribute = schema.attributes[place]
    if category or attribute.type in ("string", "boolean"):
        eye = np.eye(attribute.size)
        columns = [(f"{name}[{attribute.labels[code]}]", eye[code]) for code in range(1, attribute.values)]
        if not columns:
            raise bad_option("formula", f"{name} has a single value", "Leave it out.")
        return Variable(place, tuple(columns), middle=False)
    numbers = code_values(attribute)
    if not numbers.exact and not midpoints:
        reason = f"{name} is in bins: where its numbers lie in them, nothing tells"
        hint = f"Take the middle of each bin (midpoints=True, --midpoints), or the bins as categories: C({name})."
        raise bad_option("formula", reason, hint)
    column = np.append(numbers.middle, np.zeros(attribute.apart))
    return Variable(place, ((name, column),), middle=not numbers.exact)


def design(formula: Formula, columns: Sequence[np.ndarray]) -> tuple[list[str], Numbers]:
    """Names of the terms, the intercept first, and their values.

    Args:
        columns: codes of rows, one array for each attribute of the schema.

    Returns:
        The values have the shape (rows, terms).
    """
    names, found = [INTERCEPT], [np.ones(len(columns[0]))]
    for term in formula.terms:
        made: list[tuple[str, Numbers]] = [("", np.ones(len(columns[0])))]
        for one in term:
            made = [
                (f"{known}:{name}" if known else name, values * numbers[columns[one.place]])
                for known, values in made
                for name, numbers in one.columns
            ]
        names += [name for name, _ in made]
        found += [values for _, values in made]
    return names, np.stack(found, axis=1)
