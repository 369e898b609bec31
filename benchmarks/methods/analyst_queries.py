"""Questions that an analyst may ask of a table, drawn by rule from its schema and from nothing that was released."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from privity.common.data.attribute import Attribute
from privity.common.data.code_values import code_values
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema
from privity.common.data.value_grids import number_text
from privity.common.errors import PrivityError
from privity.common.release.queries.answer import Answer
from privity.common.release.queries.ask import ask
from privity.common.release.queries.estimator import Estimator, Told
from privity.common.release.queries.evidence import Evidence, ModelRows, Numbers
from privity.common.release.queries.linear_estimates import Linear
from privity.common.release.queries.support import MEASURED, Support
from privity.common.release.sampling_conditions import Given

DRAWN = 0
"""Seed of the questions."""

DECLARED = 1
"""Of the regressions that a run declares."""

LEAST_SHARE = 0.01
"""Of the population, that a value must have which is asked for."""

SHARES, PAIRS, CONDITIONAL, DIFFERENCES, TRIPLES, NUMBERS, REGRESSIONS = 8, 12, 8, 6, 6, 4, 2
MOST_COMPARED = 3
FEW_VALUES = 8

Question = tuple[str, list[str], Mapping[str, Any]]


class OfRows(Estimator):
    """Answers from rows as if they were no synthetic ones: no noise, and the error of sampling of the textbook."""

    def __init__(self, table: CodedTable) -> None:
        class Rows(Evidence):
            model_rows = ModelRows(table.schema, [column.astype(np.int64) for column in table.columns], table.rows)
            schema = table.schema

        super().__init__(Rows(None, (), 1, "", table.rows))  # type: ignore[arg-type]

    def tell(self, attributes: Sequence[int], weights: Numbers, *, extrapolate: bool) -> Told:
        cells = self.evidence.model_rows.cells(tuple(attributes))
        shares = np.bincount(cells, minlength=weights[0].size) / len(cells)
        flat = weights.reshape(len(weights), -1)
        return self._exact(flat @ shares, (flat * shares) @ flat.T)

    def tell_of_rows(self, attributes: Sequence[int], functions: Numbers, *, extrapolate: bool) -> Told:
        return self._exact(functions.mean(axis=0), functions.T @ functions / len(functions))

    def _exact(self, values: Numbers, squares: Numbers) -> Told:
        none = np.zeros_like(squares)
        sampling = (squares - np.outer(values, values)) / self.evidence.rows
        many = len(values)
        linear = Linear(values, values, none, sampling, none, none, np.ones(many), np.zeros(many))
        return Told(linear, Support(MEASURED, 1.0, (), None))


def questions(table: CodedTable) -> list[Question]:
    """The same for every run on a table, whatever was released."""
    generator, schema = np.random.default_rng(DRAWN), table.schema
    shares = [
        np.bincount(c, minlength=a.size) / table.rows for c, a in zip(table.columns, schema.attributes, strict=True)
    ]

    def some(count: int, among: Sequence[int] | None = None) -> list[int]:
        return generator.choice(len(schema.names) if among is None else np.array(among), count, replace=False).tolist()

    def value(*places: int) -> list[Given]:
        found = []
        for place in places:
            frequent = np.flatnonzero(shares[place][: schema.attributes[place].values] >= LEAST_SHARE)
            found += _condition(schema.attributes[place], int(generator.choice(frequent)))
        return found

    found: list[Question] = []
    found += [("share", [], {"where": value(*some(1))}) for _ in range(SHARES)]
    found += [("share", [], {"where": value(*some(2))}) for _ in range(PAIRS)]
    pairs = [some(2) for _ in range(CONDITIONAL)]
    found += [("share", [], {"where": value(a), "given": value(b)}) for a, b in pairs]
    few = [p for p, attribute in enumerate(schema.attributes) if attribute.values <= FEW_VALUES]
    for _ in range(DIFFERENCES):
        (group,) = some(1, few)
        (a,) = some(1, [p for p in range(len(schema.names)) if p != group])
        found.append(("share", [], {"where": value(a), "by": schema.names[group], "compare": "difference"}))
    found += [("share", [], {"where": value(*some(3))}) for _ in range(TRIPLES)]
    numbers = [place for place in range(len(schema.names)) if _is_number(schema, place)]
    for place in some(min(NUMBERS, len(numbers)), numbers) if numbers else []:
        (group,) = some(1, [p for p in few if p != place])
        found.append(("mean", [schema.names[place]], {"midpoints": True}))
        found.append(("quantile", [schema.names[place]], {}))
        compared = {"by": schema.names[group], "compare": "difference", "midpoints": True}
        found.append(("mean", [schema.names[place]], compared))
    if len(numbers) > 1:
        pairs = [some(2, numbers) for _ in range(NUMBERS)]
        found += [("correlation", [schema.names[a] for a in pair], {"midpoints": True}) for pair in pairs]
    two = [place for place in few if schema.attributes[place].values == 2]
    for _ in range(REGRESSIONS):
        found.append(("logistic", [_formula(schema, *some(1, two), some, {*numbers, *few})], {"midpoints": True}))
    return found


def declared_analyses(table: CodedTable) -> list[Question]:
    """Regressions that every run on a table declares: of a response of two values; of a number, if there is one."""
    generator, schema = np.random.default_rng(DECLARED), table.schema

    def some(count: int, among: Sequence[int]) -> list[int]:
        return generator.choice(np.array(among), count, replace=False).tolist()

    few = [p for p, attribute in enumerate(schema.attributes) if attribute.values <= FEW_VALUES]
    two = [p for p in few if schema.attributes[p].values == 2]
    numbers = [p for p in range(len(schema.names)) if _is_number(schema, p)]
    found: list[Question] = [("logistic", [_formula(schema, *some(1, two), some, {*few})], {"midpoints": True})]
    if numbers:
        found.append(("linear", [_formula(schema, *some(1, numbers), some, {*few})], {"midpoints": True}))
    return found


def _formula(schema: Schema, response: int, some: Callable[[int, Sequence[int]], list[int]], terms: set[int]) -> str:
    """A response by three of these attributes."""
    named = [f'"{schema.names[place]}"' for place in (response, *some(3, [p for p in terms if p != response]))]
    return f"{named[0]} ~ {' + '.join(named[1:])}"


def _is_number(schema: Schema, place: int) -> bool:
    try:
        return len(code_values(schema.attributes[place]).low) > 2
    except PrivityError:
        return False


def _condition(attribute: Attribute, code: int) -> list[Given]:
    """That an attribute has a code: of bins the range from edge to edge."""
    if attribute.categories or not attribute.edges:
        return [(attribute.name, "==", [attribute.labels[code]])]
    low, high = (number_text(edge) for edge in attribute.edges[code : code + 2])
    last = code + 1 == attribute.values
    return [(attribute.name, ">=", [low]), *([] if last else [(attribute.name, "<", [high])])]


def answers(estimator: Estimator, question: Question, level: float = 0.95) -> list[Answer] | None:
    """What is told; None where it is refused."""
    statistic, about, others = question
    try:
        found = ask(estimator, statistic, about, level=level, extrapolate=True, **others)
    except PrivityError:
        return None
    return found[:MOST_COMPARED] if "compare" in others else found
