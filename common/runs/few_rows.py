"""Open numbers of a draft whose domain would be below the noise of a usual run, and what a person declares instead.

A person knows the least and the greatest possible value, and declares them with bins between them; neither is read off
the rows.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from math import floor
from typing import Any

from privity.common.data.attribute import read_number
from privity.common.data.schema import Schema, parse_schema
from privity.common.data.schema_review import ENDS, with_domain
from privity.common.errors import Problem, ProblemsFound
from privity.common.privacy.budget import USUAL, Budget, readable
from privity.common.privacy.run_budget import PureBudget, RhoBudget
from privity.common.runs.planned_run import planned_session
from privity.common.synthesis.learning.category_discovery import after_categories
from privity.common.synthesis.learning.domain_discovery import BINS, GRIDS, SHARE, below_noise, stand_in
from privity.common.text.first_few import first_few

DECLARED_BINS = BINS
"""Between the ends that a person declares."""


def hidden_numbers(schema: Schema, rows: int, budget: Budget = USUAL) -> tuple[str, ...]:
    """Names of the open numbers that a run over so many rows would refuse to discover; none of absent rows."""
    if schema.absent_rows or not rows:
        return ()
    epsilon, delta = after_categories(schema, rows, budget)
    whole = RhoBudget(epsilon, delta) if delta else PureBudget(epsilon)
    session = planned_session(stand_in(schema, numbers=False), {"owner": rows}, 0, whole)
    return tuple(schema.names[place] for place in below_noise(session, session.budget.whole * SHARE * GRIDS))


def in_words(names: Sequence[str], rows: int, budget: Budget = USUAL) -> str:
    """A sentence that says of these numbers what is the matter with them, and what mends it: no value of a row."""
    granted = " and delta ".join(readable(each) for each in budget if each)
    domain, of_each = ("its domain", "") if len(names) == 1 else ("their domains", " of each")
    return (
        f"{first_few(names)}: {rows} rows are too few to discover {domain} at epsilon {granted}. Declare the smallest "
        f"and largest possible value{of_each}, as it is known without the rows, and bins between them."
    )


def with_ends(document: Mapping[str, Any], name: str, texts: Sequence[str], file: str) -> dict[str, Any]:
    """The document in which an open number has these ends: within which it is discovered, or cut into bins.

    Args:
        texts: the smallest and the largest value, as a person writes them; and how many bins, if there are to be any.
            Of whole numbers there are no more than there are values.

    Raises:
        ProblemsFound: they do not fit the field.
    """
    found = copy.deepcopy(dict(document))
    place = next(place for place, field in enumerate(found["fields"]) if field["name"] == name)
    field, wanted = found["fields"][place], len(ENDS)
    if len(texts) not in (wanted, wanted + 1):
        message, remedy = f"{len(texts)} values were given.", "Give two: the smallest, and the largest; then the bins."
        raise ProblemsFound([Problem(file, name, "one-sided-bounds", message, remedy)])
    changes = dict(zip(ENDS, (_value(field, text) for text in texts[:wanted]), strict=True))
    found["fields"][place] = with_domain(field, {**changes, "domain": "discover"})
    schema = parse_schema(found, file)
    if len(texts) == wanted:
        return found
    bins = read_number(texts[-1])
    if bins is None or bins < 1 or bins.denominator != 1:
        message, remedy = f"{texts[-1]!r} is no number of bins.", "Give a whole number from 1 on."
        raise ProblemsFound([Problem(file, name, "bins", message, remedy)])
    attribute = schema.attributes[schema.index(name)]
    points = floor((attribute.edges[-1] - attribute.edges[0]) * 10**attribute.places) + 1
    found["fields"][place] = with_domain(field, {**changes, "bins": min(int(bins), points)})
    parse_schema(found, file)
    return found


def _value(field: Mapping[str, Any], text: str) -> int | float | str:
    """An end as a schema has it: a number, or a date or time as it is written."""
    number = read_number(text) if field["type"] in ("integer", "number") else None
    return text if number is None else int(number) if number.denominator == 1 else float(number)
