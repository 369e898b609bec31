"""Conditions on the rows that somebody asks a model for: what they say, and how rows are found that meet them.

A condition compares a column with values. They are read as those of an owner's table are, and nothing is moved into the
domain: what is asked for is what stands in the rows. A missing value meets a condition that names it, and no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute
from privity.common.data.bin_values import Cells, all_cells, common_spans, narrowed, spans_between
from privity.common.data.coded_table import CodedTable
from privity.common.data.expression import (
    OPERATORS,
    AllOf,
    AnyOf,
    Codes,
    Condition,
    Missing,
    Not,
    Numbers,
    Values,
    parts_of,
)
from privity.common.data.row_constraints import RowConstraint, decoded
from privity.common.data.schema import Schema
from privity.common.data.unread_columns import UnreadColumn
from privity.common.data.value_grids import Grid
from privity.common.errors import Problem, ProblemsFound
from privity.common.release.asked_values import Asked, asked_values
from privity.common.text.first_few import first_few
from privity.common.text.short_values import shorten

if TYPE_CHECKING:
    import pandas as pd

OPTION = "where"

RELATIONS = ("==", "!=", ">=", "<=", "=", ">", "<")
"""As they are written; the longer ones are looked for first."""

RAREST = 1 / 1024
"""Part of a bin's values, from which on values are drawn as a rule wants them before a condition is looked at."""

Given = tuple[str, str, Sequence[object]]
"""A column, a relation and values: ``==`` and ``!=`` may have several."""


@dataclass(frozen=True)
class Conditions:
    """How rows are found that meet conditions.

    Attributes:
        words: the conditions.
        weights: by attribute, of each of its codes which part of its values is wanted, shape (codes,).
        cells: by name of an attribute, what its values are drawn from.
        left: what is looked at in rows that were drawn.
        totals: columns that ``left`` is about and that follow from others.
    """

    words: tuple[str, ...] = ()
    weights: Mapping[int, npt.NDArray[np.float64]] = field(default_factory=dict)
    cells: Mapping[str, Cells] = field(default_factory=dict)
    left: tuple[RowConstraint, ...] = ()
    totals: tuple[UnreadColumn, ...] = ()

    def thinned(self, table: CodedTable, entered: frozenset[int], generator: np.random.Generator) -> CodedTable:
        """The rows that are wanted by their codes, each as often as its weight says.

        Args:
            entered: attributes by whose weights the rows were drawn.
        """
        if not self.weights:
            return table
        wanted = np.ones(table.rows)
        for place, weights in self.weights.items():
            of_rows = weights / weights.max() if place not in entered else (weights > 0).astype(np.float64)
            wanted *= of_rows[table.columns[place]]
        kept = wanted > 0
        if (wanted[kept] < 1).any():
            kept &= generator.random(table.rows) < wanted
        return table.take(kept)

    def met(self, table: CodedTable, frame: pd.DataFrame) -> npt.NDArray[np.bool_]:
        """Which rows meet what is left, shape (rows,).

        Args:
            frame: the same rows, decoded.
        """
        schema = table.schema
        known = dict(zip(schema.names, schema.attributes, strict=True))
        made = {column.name: column for column in self.totals}
        of_attributes = [rule for rule in self.left if rule.attributes[0] not in made]
        codes = dict(zip(schema.names, table.columns, strict=True))
        rows = {**decoded(of_attributes, known, codes, frame)}
        for name, column in made.items():
            assert column.made is not None
            rows[name] = _numbers_of(column.made.values(frame, known))
        return np.logical_and.reduce([rule.condition.of(rows).true for rule in self.left])


def conditions_of(schema: Schema, given: Iterable[Given]) -> Conditions:
    """What the conditions ask for; all of them hold together.

    Raises:
        ProblemsFound: each column that there is not or that cannot be asked for, value outside its domain, and
            conditions that no row can meet, by themselves or by a rule.
    """
    attributes = dict(zip(schema.names, schema.attributes, strict=True))
    columns = {column.name: column for column in schema.unread}
    problems: list[Problem] = []
    asked: dict[str, list[Asked]] = {}
    for name, relation, values in given:
        column = columns.get(name)
        attribute = attributes.get(name) or (None if column is None else column.attribute)
        if attribute is None:
            remedy = f"Columns: {', '.join([*attributes, *columns])}."
            problems.append(_problem(name, "unknown-attribute", "no column is called so.", remedy))
        elif column is not None and column.generate is not None:
            message = "its keys are made anew for every sample, so that none can be asked for."
            problems.append(_problem(name, "key", message, "Ask for values of other columns."))
        else:
            marks = schema.index(name) if name in attributes else None
            found, faults = asked_values(schema, attribute, marks, relation, values)
            problems += [_problem(name, *fault) for fault in faults]
            if not faults:
                asked.setdefault(name, []).append(found)
    conditions, faults_together = _Finder(schema, attributes, columns).found(asked)
    if problems := [*problems, *faults_together]:
        raise ProblemsFound(problems)
    return conditions


def _problem(name: str, rule: str, message: str, remedy: str) -> Problem:
    return Problem(OPTION, shorten(name), rule, message, remedy)


@dataclass(frozen=True)
class _Finder:
    """Finds how conditions are met that were read."""

    schema: Schema
    attributes: Mapping[str, Attribute]
    columns: Mapping[str, UnreadColumn]

    def found(self, asked: Mapping[str, Sequence[Asked]]) -> tuple[Conditions, list[Problem]]:
        """The conditions, and why no row can meet them; they are of use only if nothing keeps rows from it."""
        words = tuple(each.words(name) for name, conditions in asked.items() for each in conditions)
        of_attributes: dict[str, list[Asked]] = {}
        totals: list[UnreadColumn] = []
        problems: list[Problem] = []
        for name, conditions in asked.items():
            if name in self.attributes:
                of_attributes.setdefault(name, []).extend(conditions)
                continue
            column = self.columns[name]
            base, wanted = self._by_source(column, conditions)
            if base is not None:
                of_attributes.setdefault(base, []).append(wanted)
            elif column.made is not None and column.made.sources:
                totals.append(column)
            if not self._may_be(column, conditions):
                problems.append(self._none(name, conditions))
        ruled = {name for rule in self.schema.row_constraints for name in rule.attributes}
        weights, cells, left = {}, {}, []
        for name, conditions in of_attributes.items():
            attribute = self.attributes[name]
            of_codes, narrow = _narrowed(attribute, conditions)
            if not of_codes.any():
                problems.append(self._none(name, conditions))
                continue
            if narrow is not None and name in ruled and of_codes[: attribute.values].max(initial=0) >= RAREST:
                # Which other values of a bin a rule leaves is seen in rows alone.
                of_codes = (of_codes > 0).astype(np.float64)
                left.append(_rule(name, attribute, conditions))
            elif narrow is not None:
                cells[name] = narrow
            weights[self.schema.index(name)] = of_codes
        if not problems:
            problems = self._forbidden(of_attributes)
        left += [_rule(column.name, column.attribute, asked[column.name]) for column in totals]
        return Conditions(words, weights, cells, tuple(left), tuple(totals)), problems

    def _by_source(self, column: UnreadColumn, conditions: Sequence[Asked]) -> tuple[str | None, Asked]:
        """What a column that looks an attribute up asks of that; None of other columns."""
        made = column.made
        of_code = getattr(made, "of_code", ())
        if made is None or not of_code:
            return None, conditions[0]
        base = self.attributes[made.sources[0]]
        own = made.attribute
        places = [own.categories.index(value) for value in of_code]
        wanted = [own_place for own_place in range(own.values) if _all_hold(own, conditions, own_place)]
        literals: list[int | Fraction | None] = [
            _literal(base, code) for code, place in enumerate(places) if place in wanted
        ]
        if base.missing and all(each.holds(None) for each in conditions):
            literals.append(None)
        words = " and ".join(each.words(column.name) for each in conditions)
        return base.name, Asked("==", tuple(literals), (f"what has {words}",))

    def _may_be(self, column: UnreadColumn, conditions: Sequence[Asked]) -> bool:
        """Whether some row can have what is asked of a column that is no attribute."""
        own, made = column.attribute, column.made
        if made is None:
            return all(each.holds(None) for each in conditions)
        if own.edges:
            low, high = own.edges[0], own.edges[-1]
            return all(each.holds(None) or each.reaches(low, high) for each in conditions)
        value = getattr(made, "value", None)
        return value is None or _all_hold(own, conditions, own.categories.index(value))

    def _none(self, name: str, conditions: Sequence[Asked]) -> Problem:
        words = " and ".join(each.words(name) for each in conditions)
        column = self.columns.get(name)
        attribute = self.attributes[name] if column is None else column.attribute
        known = "it stays empty" if not attribute.size > 0 else f"its domain is {first_few(attribute.labels)}"
        return _problem(name, "no-value", f"no row has {words}: {known}.", "Ask for other values.")

    def _forbidden(self, asked: Mapping[str, Sequence[Asked]]) -> list[Problem]:
        """A fault for each rule that no row can meet together with the conditions."""
        problems = []
        for rule in self.schema.row_constraints:
            about = [name for name in rule.attributes if name in asked]
            if about and _cannot_meet(rule, {name: asked[name] for name in about}, self.attributes):
                words = " and ".join(each.words(name) for name in about for each in asked[name])
                message = f"the rule {rule.rule} forbids {words}."
                problems.append(_problem(", ".join(about), "forbidden", message, "Ask for rows that the rule allows."))
        return problems


def _literal(attribute: Attribute, code: int) -> int | Fraction:
    """A category as conditions have it."""
    value = attribute.categories[code]
    return code if attribute.type in ("string", "boolean") or isinstance(value, str) else Fraction(value)


def _all_hold(attribute: Attribute, conditions: Sequence[Asked], code: int) -> bool:
    return all(each.holds(_literal(attribute, code)) for each in conditions)


def _narrowed(attribute: Attribute, conditions: Sequence[Asked]) -> tuple[npt.NDArray[np.float64], Cells | None]:
    """Which part of each code's values is wanted, shape (codes,), and what they are drawn from if not from all."""
    missing = [float(all(each.holds(None) for each in conditions))] if attribute.missing else []
    absent = [0.0] * attribute.absent
    if attribute.categories:
        held = [float(_all_hold(attribute, conditions, code)) for code in range(attribute.values)]
        return np.array([*held, *missing, *absent]), None

    def spans(grid: Grid) -> list[tuple[int, int]]:
        found = [(0, grid.count)]
        for each in conditions:
            found = common_spans(found, _spans(each, grid))
        return found

    cells = all_cells(attribute)
    cells, shares = narrowed(cells, spans, _off_grid(attribute, conditions))
    return np.concatenate([shares, missing, absent]), None if np.isin(shares, (0, 1)).all() else cells


def _spans(asked: Asked, grid: Grid) -> list[tuple[int, int]]:
    numbers = sorted(Fraction(number) for number in set(asked.literals) if number is not None)
    if asked.relation == "==":
        return [span for number in numbers for span in spans_between(grid, number, number)]
    if asked.relation == "!=":
        ends = [None, *numbers, None]
        return [span for low, high in pairwise(ends) for span in spans_between(grid, low, high, open_ends=True)]
    (number,) = numbers
    low, high = (number, None) if asked.relation.startswith(">") else (None, number)
    return spans_between(grid, low, high, open_ends=asked.relation in ("<", ">"))


def _off_grid(attribute: Attribute, conditions: Sequence[Asked]) -> list[tuple[int, Fraction]]:
    """Numbers that are asked for and are no points of their bins, each with its bin; only of numbers of any digits."""
    if attribute.categories or attribute.point is not None:
        return []
    cells = all_cells(attribute)
    found = []
    for number in {n for each in conditions if each.relation == "==" for n in each.literals if n is not None}:
        code = attribute.code_of(repr(float(number)))
        if code is None or not all(each.holds(number) for each in conditions):
            continue
        grids = cells.grids[cells.starts[code] : cells.starts[code + 1]]
        if not any(spans_between(grid, Fraction(number), Fraction(number)) for grid in grids):
            found.append((code, Fraction(number)))
    return sorted(found)


def _condition(name: str, attribute: Attribute, asked: Asked) -> Condition:
    """True of the rows that meet it, and false of all others."""
    missing = Missing(name)
    numbers = [literal for literal in asked.literals if literal is not None]
    if attribute.type in ("string", "boolean"):
        places = tuple(range(attribute.values))
        parts: list[Condition] = [Codes(asked.relation, name, places, int(code)) for code in numbers]
    else:
        parts = [Numbers(asked.relation, name, Fraction(number)) for number in numbers]
    if asked.relation != "==":
        return AllOf((Not(missing), *parts))
    if None in asked.literals:
        return AnyOf((missing, *parts))
    return AllOf((Not(missing), AnyOf(tuple(parts))))


def _rule(name: str, attribute: Attribute, conditions: Sequence[Asked]) -> RowConstraint:
    return RowConstraint(name, AllOf(tuple(_condition(name, attribute, each) for each in conditions)))


def _cannot_meet(
    rule: RowConstraint, asked: Mapping[str, Sequence[Asked]], attributes: Mapping[str, Attribute]
) -> bool:
    """Whether it is certain that no row meets both; False where that is not found out."""
    pairs = [part for part in parts_of(rule.condition) if isinstance(part, Numbers) and isinstance(part.right, str)]
    if len(pairs) > 1 or any(_off_grid(attributes[name], conditions) for name, conditions in asked.items()):
        return False
    marks: list[Condition] = []
    for part in pairs:
        names = [name for name in (part.left, part.right) if isinstance(name, str)]
        points = {attributes[name].point if attributes[name].edges else 1 for name in names}
        if part.relation in ("==", "!=") and (len(points) > 1 or None in points):
            return False
        # What is asked of one is looked at in the other as well.
        literals = {n for name in names for each in asked.get(name, ()) for n in each.literals if n is not None}
        marks += [
            AnyOf((Numbers("<", name, Fraction(n)), Numbers(">=", name, Fraction(n)), Missing(name)))
            for name in names
            for n in sorted(literals)
        ]
    wanted = [_condition(name, attributes[name], each) for name, conditions in asked.items() for each in conditions]
    both = RowConstraint(rule.rule, AllOf((rule.condition, *wanted, *marks)))
    possible = both.possible({name: replace(attributes[name], absent=False) for name in rule.attributes})
    return possible is not None and not possible.any()


def _numbers_of(values: npt.NDArray[Any]) -> Values:
    """A total's values as conditions look at them."""
    if values.dtype != object:
        return Values(values, np.zeros(len(values), dtype=np.bool_))
    missing = np.fromiter((isinstance(value, str) for value in values), np.bool_, len(values))
    exact = np.empty(len(values), dtype=object)
    exact[:] = [Fraction(0) if gone else Fraction(str(value)) for value, gone in zip(values, missing, strict=True)]
    return Values(exact, missing)


def read_condition(text: str, schema: Schema) -> Given:
    """Column, relation and values of a text such as ``age>=18``, ``ward=north|south`` or ``ward!=north``.

    Names and values may hold such signs themselves: the longest name of a column counts, and a whole text that is a
    value is that value.

    Raises:
        ProblemsFound: there is no such sign in it.
    """
    names = {column.name: column.attribute for column in schema.unread}
    names |= dict(zip(schema.names, schema.attributes, strict=True))
    splits = []
    place = 1
    while place < len(text):
        relation = next((sign for sign in RELATIONS if text.startswith(sign, place)), None)
        if relation is not None:
            splits.append((text[:place], relation, text[place + len(relation) :]))
        place += len(relation or " ")
    for name, relation, value in reversed(splits):
        for known, said in ((name, value), (name.strip(), value.strip())):
            if known in names:
                return known, "==" if relation == "=" else relation, _alternatives(said, names[known])
    if splits:
        name, relation, value = splits[0]
        return name, "==" if relation == "=" else relation, [value]
    message = "it compares nothing: there is no =, !=, <, <=, > or >= in it."
    raise ProblemsFound([_problem(text, "form", message, "Write COLUMN=VALUE, COLUMN>=VALUE and the like.")])


def _alternatives(text: str, attribute: Attribute) -> Sequence[str]:
    """The text itself if it is a value; else what stands between bars."""
    whole = text in attribute.missing_texts or text in attribute.categories
    return [text] if whole else text.split("|")


def given_conditions(where: Mapping[str, Any]) -> list[Given]:
    """Conditions as Python has them: a value, several in a list, or values by their relation.

    ``{"ward": ["north", "south"], "age": {">=": 18, "<": 65}, "sex": {"!=": "f"}}``.

    Raises:
        ProblemsFound: a relation that there is not.
    """
    import pandas as pd

    found: list[Given] = []
    for name, wanted in where.items():
        for relation, value in (wanted if isinstance(wanted, Mapping) else {"==": wanted}).items():
            if relation not in OPERATORS:
                message = f"{relation!r} is no relation."
                raise ProblemsFound([_problem(str(name), "form", message, f"Possible: {', '.join(OPERATORS)}.")])
            several = isinstance(value, list | tuple | set | frozenset | range | np.ndarray | pd.Series | pd.Index)
            found.append((str(name), relation, list(value) if several else [value]))
    return found
