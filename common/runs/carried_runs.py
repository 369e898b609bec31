"""Whether a run can carry what it is asked for: told by public numbers, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from privity.common.data.regression_formula import ANALYSES
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.budget import LARGEST_EPSILON
from privity.common.protocol.run_terms import RunTerms
from privity.common.runs.automatic_choice import noise_part
from privity.common.runs.planned_run import planned_session
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.learning.domain_discovery import stand_in

MOST_NOISE = 0.5
"""Of a typical pair's marginal, beyond which histories are refused."""

STEP = Fraction(21, 20)
"""By which an epsilon grows until it is enough."""


def check_carried(
    algorithm: str,
    settings: Mapping[str, Any],
    schema: Schema,
    party_rows: Sequence[int],
    tolerate: int,
    epsilon: Fraction,
    delta: Fraction,
    *,
    part: Fraction = Fraction(1),
    asked: Callable[[Fraction], Fraction] = lambda epsilon: epsilon,
) -> None:
    """Refuse declared analyses that the noise would hide, and histories of too few persons.

    Args:
        settings: unread.
        schema: of the attributes that the run is about; an open domain is taken to be as large as it may be.
        party_rows: public numbers of rows, one for each party.
        tolerate: t; 0 for one party alone.
        epsilon: of the algorithm, without an evaluation's.
        part: of that which is left for the algorithm once numbers are discovered.
        asked: the epsilon to ask for, in all, that the algorithm may have this one.

    Raises:
        PrivityError: bad-option, with the epsilon from which on they are carried; ProblemsFound: bad settings.
    """
    kind, closed = ALGORITHMS[algorithm], stand_in(schema)
    if schema.history is not None:
        _check_persons(closed, party_rows, tolerate, epsilon * part, delta, lambda own: asked(own / part))
    if not settings.get(ANALYSES):
        return
    parties = {f"party {place}": rows for place, rows in enumerate(party_rows, start=1)}
    session = planned_session(closed, parties, tolerate, kind.budget(settings, epsilon, delta))
    kind.check_noise(session, session.budget.whole * part, kind.read(settings, closed), asked)


def _check_persons(
    schema: Schema,
    party_rows: Sequence[int],
    tolerate: int,
    epsilon: Fraction,
    delta: Fraction,
    asked: Callable[[Fraction], Fraction],
) -> None:
    """Refuse histories where most of a pair's marginal would be noise: what follows what is told by such pairs."""

    def part_of_noise(of: Fraction) -> float:
        return noise_part(schema, party_rows, tolerate, of, delta)

    if (part := part_of_noise(epsilon)) <= MOST_NOISE:
        return
    enough = epsilon
    while enough <= LARGEST_EPSILON and part_of_noise(enough) > MOST_NOISE:
        enough = Fraction(f"{float(enough * STEP):.3g}")
    persons = f"{sum(party_rows):,} persons"
    reason = f"of {persons} about {part:.0%} of a pair's marginal would be noise, too much to tell what follows what"
    enough = asked(enough)
    if enough > LARGEST_EPSILON:
        hint = "No epsilon is enough: use tables of more persons, or fewer and coarser attributes."
        raise PrivityError(Catalogue.BAD_OPTION, option="epsilon", reason=reason, hint=hint)
    hint = f"Ask for an epsilon of {float(enough):.3g}, use tables of more persons, or fewer and coarser attributes."
    raise PrivityError(Catalogue.BAD_OPTION, option="epsilon", reason=reason, hint=hint)


def check_run(terms: RunTerms, schema: Schema, party_rows: Sequence[int]) -> None:
    """The same of a run over parties; its evaluation has a share of the budget.

    Raises:
        PrivityError, ProblemsFound: as ``check_carried``.
    """
    rest = terms.epsilon - terms.learning_epsilon
    check_carried(
        terms.algorithm, terms.settings, schema, party_rows, terms.tolerate, terms.learning_epsilon, terms.delta,
        asked=lambda own: own + rest,
    )  # fmt: skip
