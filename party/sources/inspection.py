"""A look at an owner's rows before they are used: for the owner's screen, and nobody else's."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import combinations, islice

from privity.common.data.schema import Schema
from privity.common.data.table_reading import Coder, no_rows
from privity.common.errors import Problem
from privity.party.rows import Rows
from privity.party.sources.address import Address, Form
from privity.party.sources.held_rows import Access
from privity.party.sources.open_rows import connect, faults, known_texts
from privity.party.sources.sql_queries import Questions, Survey
from privity.party.sources.summed_rows import survey_of

MOST_TABLES = 190
"""Pair tables that are counted to see how long it takes: those of 20 attributes."""


@dataclass(frozen=True)
class Inspection:
    """What was seen.

    Attributes:
        types: of the columns, as their store declares them, by attribute.
        problems: what keeps the rows from being used; with values.
        seconds: that reading through all rows took.
    """

    survey: Survey
    types: tuple[str, ...]
    problems: tuple[Problem, ...]
    seconds: float


def inspect(address: Address, schema: Schema, access: Access) -> Inspection:
    """Read through all rows once, and tell what is wrong with them instead of refusing them.

    Raises:
        RowProblemsFound: columns that are missing or do not fit, or a file that has no form.
        PrivityError: source-unreachable, source-refused.
    """
    started = time.monotonic()
    schema = address.read_by(schema)
    if address.form is Form.CSV:
        survey, problems = _inspect_csv(address, schema, access)
        types = ("text",) * len(schema.attributes)
    else:
        store = connect(address, access.memory)
        try:
            questions = Questions(store, schema, known_texts(store, schema, access.slots), access.slots)
            survey = survey_of(store, questions)
            problems = faults(store, questions, schema, access.slots, survey)
            types = tuple(store.columns[name].declared for name, _ in schema.columns_of(store.columns))
        finally:
            store.close()
    return Inspection(survey, types, tuple(problems), time.monotonic() - started)


def _inspect_csv(address: Address, schema: Schema, access: Access) -> tuple[Survey, list[Problem]]:
    keys = [access.slots.person, access.slots.order] if access.slots else []
    rows, misses, problems = 0, [0] * len(schema.attributes), []
    for file in address.files:
        coder = Coder(schema, str(file), keys)
        for _ in coder.read(file):
            pass
        rows += coder.rows
        misses = [a + b for a, b in zip(misses, coder.misses, strict=True)]
        problems += coder.problems()
    if not rows and not problems:
        problems.append(no_rows(address.name))
    # Who has how many rows is seen when they are opened.
    return Survey(rows, rows, tuple(misses), 0), problems


def in_pairs(schema: Schema) -> list[int]:
    """The attributes that a run may count in pairs: those whose domain is yet to be discovered are counted alone."""
    return [place for place, attribute in enumerate(schema.attributes) if not attribute.discover]


def time_to_count(rows: Rows) -> tuple[int, float]:
    """How many pair tables were counted, and how long it took."""
    pairs = list(islice(combinations(in_pairs(rows.schema), 2), MOST_TABLES))
    started = time.monotonic()
    rows.count(pairs or [(0,)])
    return max(len(pairs), 1), time.monotonic() - started
