"""Formulas of regressions, ``income ~ age + sex + C(region)``: read against a schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod

import numpy as np

from privity.common.data.code_values import Numbers, code_values
from privity.common.data.schema import Schema
from privity.common.formats.given_values import bad_option
from privity.common.text.first_few import first_few

ANALYSES = "analyses"
"""The setting by which a run declares formulas, where its algorithm measures the tables that span them."""

MOST_FORMULAS, MOST_LETTERS = 16, 1000
"""Of a run; of a formula."""

MOST_TERMS = 64
CONDITION = 1e12
"""Of the terms' squares, from which on some are sums of others."""

LINEAR, LOGISTIC = "linear", "logistic"
INTERCEPT = "(intercept)"
HINT = 'Write it as "income ~ age + sex + C(region) + age:sex"; a name with other signs in double quotes.'
OF_FEW_VALUES = "Leave it out, group its values, or declare them, if they are yet to be discovered."


@dataclass(frozen=True)
class Variable:
    """An attribute in a formula.

    Attributes:
        name: as it is written, without quotation marks.
        columns: of the design, each by its name: numbers of the attribute's codes; those of a category are 0 and 1.
    """

    name: str
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
    def columns(self) -> list[tuple[str, tuple[tuple[int, Numbers], ...]]]:
        """Of the design: names, the intercept first, and the factors of each: attributes, numbers of their codes."""
        found: list[tuple[str, tuple[tuple[int, Numbers], ...]]] = [(INTERCEPT, ())]
        for term in self.terms:
            for parts in product(*([(one.place, *column) for column in one.columns] for one in term)):
                found.append((":".join(name for _, name, _ in parts), tuple((a, numbers) for a, _, numbers in parts)))
        return found

    @property
    def moments(self) -> tuple[tuple[int, ...], ...]:
        """Attributes whose tables hold what least squares needs: of any two of response and terms; none in another."""
        sides = {frozenset({self.response}), *(frozenset(one.place for one in term) for term in self.terms)}
        found = {a | b for a, b in combinations(sides, 2)} | {side for side in sides if len(sides) == 1}
        return tuple(sorted(tuple(sorted(each)) for each in found if not any(each < other for other in found)))

    @property
    def middle(self) -> bool:
        """Whether numbers in bins are taken for the middle of these."""
        return any(one.middle for term in self.terms for one in term)


def read_formula(text: str, schema: Schema, *, midpoints: bool) -> Formula:
    """The formula of a text.

    Args:
        midpoints: whether numbers in bins may be taken for the middle of these.

    Raises:
        PrivityError: bad-option: it is none, or names what there is not; terms that can never be told apart.
    """
    if len(text) > MOST_LETTERS or "\n" in text or "\r" in text:
        reason = f"it has {len(text)} letters, or several lines: a formula has at most {MOST_LETTERS}, in one line"
        raise bad_option("formula", reason, HINT)
    parts = _split(text, "~")
    if len(parts) != 2:
        many = "no" if len(parts) == 1 else "more than one"
        raise bad_option("formula", f"it has {many} ~ between a response and terms", HINT)
    name, category = _name(parts[0])
    if category:
        raise bad_option("formula", f"C() is for terms, and {name!r} is the response", f"Write {name} ~ ...")
    response = _place(name, schema)
    terms = list[tuple[Variable, ...]]()
    for term in _split(parts[1], "+"):
        variables = [_variable(*_name(each), schema, midpoints=midpoints) for each in _split(term, ":")]
        if any(one.place == response for one in variables):
            raise bad_option("formula", f"{schema.names[response]!r} is on both sides", HINT)
        terms.append(tuple(variables))
        if (columns := 1 + sum(prod(len(one.columns) for one in each) for each in terms)) > MOST_TERMS:
            reason = f"the formula has {columns} terms, at most {MOST_TERMS} are fitted"
            raise bad_option("formula", reason, "Leave some out, or group their values.")
    found = Formula(text, response, tuple(terms))
    _check_terms(found, schema)
    return found


def _check_terms(formula: Formula, schema: Schema) -> None:
    """Refuse terms that stand there twice, products without their parts, and what no rows tell apart."""
    written = [Counter(one.name for one in term) for term in formula.terms]
    for place, term in enumerate(written):
        if term in written[:place]:
            raise bad_option("formula", f"{':'.join(term.elements())} stands there twice", "Leave one of them out.")
        alone = [name for name in term if Counter([name]) not in written]
        if term.total() > 1 and alone:
            joined = ":".join(term.elements())
            hint = f"Write {' + '.join([*dict.fromkeys(term)])} + {joined}."
            raise bad_option("formula", f"{joined} stands there without {alone[0]}", hint)
    # Squares of the terms over rows with every combination of values, as often as any other.
    columns = formula.columns
    gram = np.ones((len(columns), len(columns)))
    for place in {a for _, factors in columns for a, _ in factors}:
        values = np.ones((len(columns), schema.attributes[place].values))
        for row, (_, factors) in enumerate(columns):
            for a, numbers in factors:
                if a == place:
                    part = numbers[: values.shape[1]]
                    values[row] *= part / max(float(np.abs(part).max()), 1e-300)
        gram *= values @ values.T / values.shape[1]
    if empty := [name for (name, _), value in zip(columns, gram.diagonal(), strict=True) if value <= 0]:
        raise bad_option("formula", f"no row can have {empty[0]}", "Leave it out.")
    if dependent(gram):
        raise bad_option("formula", "some terms are sums of others", "Leave one of them out.")


def dependent(gram: Numbers) -> bool:
    """Whether some of the terms with these squares, above 0, are sums of others."""
    scale = np.sqrt(gram.diagonal())
    scaled = gram / np.outer(scale, scale)
    return not np.isfinite(scaled).all() or bool(np.linalg.cond(scaled) > CONDITION)


def regression_of(formula: Formula, schema: Schema) -> str:
    """The regression that suits a response: ``LOGISTIC`` for one of two values, ``LINEAR`` for numbers.

    Raises:
        PrivityError: bad-option.
    """
    attribute = schema.attributes[formula.response]
    # Two bins of a number that is yet to be discovered are no two values.
    if attribute.values == 2 and (attribute.categories or not attribute.numeric):
        return LOGISTIC
    if not attribute.numeric:
        reason = f"{attribute.name} has {attribute.values} values, and is no number: no regression is of these"
        raise bad_option("formula", reason, f"Name a response of two values, or a number. {OF_FEW_VALUES}")
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
    parts, quoted = [""], False
    for letter in text:
        quoted ^= letter == '"'
        if letter == sign and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _name(text: str) -> tuple[str, bool]:
    """An attribute's name, and whether it is to be a category."""
    name = text.strip()
    if not name:
        raise bad_option("formula", "a side of it, or a term, is empty", HINT)
    if category := name.startswith("C(") and name.endswith(")"):
        name = name[2:-1].strip()
    if len(name) > 2 and name[0] == name[-1] == '"':
        name = name[1:-1].replace('""', "\0")
        found = name.replace("\0", '"') if '"' not in name else ""
    else:
        found = "" if any(sign in name for sign in '()"') else name
    if not found:
        raise bad_option("formula", f"{text.strip()!r} is no name", HINT)
    return found, category


def _place(name: str, schema: Schema) -> int:
    if name not in schema.names and (name.isdigit() or any(sign in name for sign in "*-^/|%.")):
        raise bad_option("formula", f"{name!r} is unknown, and only +, : and C() are understood", HINT)
    return place_of(schema, name, "formula")


def _variable(name: str, category: bool, schema: Schema, *, midpoints: bool) -> Variable:
    place = _place(name, schema)
    attribute = schema.attributes[place]
    if category or attribute.type in ("string", "boolean"):
        if attribute.values > MOST_TERMS:
            reason = f"{name} has {attribute.values} values, at most {MOST_TERMS} are fitted"
            raise bad_option("formula", reason, OF_FEW_VALUES)
        eye = np.eye(attribute.size)
        columns = [(f"{name}[{attribute.labels[code]}]", eye[code]) for code in range(1, attribute.values)]
        return Variable(f"C({name})" if category else name, place, tuple(columns), middle=False)
    numbers = code_values(attribute)
    if not numbers.exact and not midpoints:
        reason = f"{name} is in bins: where its numbers lie in them, nothing tells"
        hint = f"Take the middle of each bin (midpoints=True, --midpoints), or the bins as categories: C({name})."
        raise bad_option("formula", reason, hint)
    column = np.append(numbers.middle, np.zeros(attribute.apart))
    return Variable(name, place, ((name, column),), middle=not numbers.exact)


def design(formula: Formula, columns: Sequence[np.ndarray]) -> tuple[list[str], Numbers]:
    """Names of the terms, the intercept first, and their values.

    Args:
        columns: codes of rows, one array for each attribute of the schema.

    Returns:
        The values have the shape (rows, terms).
    """
    terms = formula.columns
    found = np.ones((len(columns[0]), len(terms)))
    for place, (_, factors) in enumerate(terms):
        for a, numbers in factors:
            found[:, place] *= numbers[columns[a]]
    return [name for name, _ in terms], found
