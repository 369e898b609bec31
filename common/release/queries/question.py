"""What can be asked of a release: read, checked against the schema, and answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privity.common.data.regression_formula import place_of
from privity.common.data.schema import Schema
from privity.common.formats.given_values import bad_option
from privity.common.release.queries.answer import POPULATION, TARGETS
from privity.common.release.queries.evidence import Numbers
from privity.common.release.sampling_conditions import Given, conditions_of
from privity.common.text.first_few import first_few

LEVELS = (Fraction(9, 10), Fraction(19, 20), Fraction(99, 100))
DIFFERENCE, RATIO = "difference", "ratio"
COMPARISONS = (DIFFERENCE, RATIO)

Masks = Mapping[int, Numbers]
"""By attribute, 1 for each code that is wanted and 0 for others."""


@dataclass(frozen=True)
class Options:
    """What goes with every question.

    Attributes:
        given: only rows that meet these conditions count.
        by: an attribute: one answer for each of its values.
        compare: each group with the first one, by ``DIFFERENCE`` or ``RATIO``.
        level: of the interval.
        target: ``POPULATION`` or ``ROWS``.
        extrapolate: whether the model may tell of pairs that were not measured.
        midpoints: whether numbers count as the middle of their bins.
    """

    given: Masks
    by: int | None
    compare: str | None
    level: Fraction
    target: str
    extrapolate: bool
    midpoints: bool


def options(
    schema: Schema,
    rows_per_person: int,
    *,
    given: Sequence[Given] = (),
    by: str | None = None,
    compare: str | None = None,
    level: float | Fraction = LEVELS[1],
    target: str = POPULATION,
    extrapolate: bool = False,
    midpoints: bool = False,
    weights: str | None = None,
) -> Options:
    """Checked options.

    Args:
        rows_per_person: the most rows of one person.
        weights: a survey weight, which nobody can use.

    Raises:
        ProblemsFound: of conditions; PrivityError: bad-option.
    """
    if weights is not None:
        reason = "noisy marginals count rows, so that a weight of rows is not known for any of them"
        raise bad_option("weights", reason, "Ask without weights, and describe these rows, with target rows.")
    wanted = next((each for each in LEVELS if abs(float(each) - float(level)) < 1e-9), None)
    if wanted is None:
        raise bad_option("level", f"{level} is none of 0.9, 0.95 and 0.99", "Use one of these.")
    if target not in TARGETS:
        raise bad_option("target", f"{target!r} is unknown", f"Possible: {', '.join(TARGETS)}.")
    if target == POPULATION and rows_per_person > 1:
        reason = (
            f"a person has up to {rows_per_person} rows, which are no independent sample of a population: how alike "
            "they are, no release tells"
        )
        raise bad_option("target", reason, "Ask about these rows: target rows, --target rows.")
    if compare is not None and compare not in COMPARISONS:
        raise bad_option("compare", f"{compare!r} is unknown", f"Possible: {', '.join(COMPARISONS)}.")
    if compare is not None and by is None:
        raise bad_option("compare", "there are no groups to compare", "Name an attribute with by.")
    group = None if by is None else place_of(schema, by, "by")
    return Options(masks(schema, given, "given"), group, compare, wanted, target, extrapolate, midpoints)


def masks(schema: Schema, given: Sequence[Given], option: str) -> dict[int, Numbers]:
    """The codes that meet conditions, by attribute.

    Raises:
        ProblemsFound: as of every condition; PrivityError: bad-option: one that a code meets in part.
    """
    if unread := [name for name, _, _ in given if name in {column.name for column in schema.unread}]:
        reason = f"{unread[0]!r} was not measured: it follows from other columns"
        raise bad_option(option, reason, "Ask by these.")
    found = conditions_of(schema, given)
    for place, weights in found.weights.items():
        part = np.flatnonzero((weights > 0) & (weights < 1))
        if len(part):
            attribute = schema.attributes[place]
            reason = f"{attribute.name}: the condition cuts through {attribute.labels[part[0]]!r}"
            hint = f"Where numbers lie in a bin, nothing tells. Use its ends: {first_few(attribute.labels)}."
            raise bad_option(option, reason, hint)
    if found.left:
        raise bad_option(option, "; ".join(found.words) + " cannot be told by values", "Ask by whole values.")
    return {place: (weights > 0).astype(float) for place, weights in found.weights.items()}


def product(schema: Schema, attributes: Sequence[int], vectors: Sequence[Mapping[int, Numbers]]) -> Numbers:
    """A table over some attributes: the product of vectors of their codes; absent rows count nothing."""
    domain = schema.domain
    table = np.ones([domain[a] for a in attributes])
    for axis, a in enumerate(attributes):
        vector = np.ones(domain[a])
        code = schema.attributes[a].absent_code
        if code is not None:
            vector[code] = 0.0
        for each in vectors:
            if a in each:
                vector = vector * each[a]
        table *= vector.reshape([-1 if i == axis else 1 for i in range(len(attributes))])
    return table
