"""Which algorithm a run takes that names none: by public numbers alone, and by what was measured.

The choice depends on the share of a pair's marginal that is noise if half of the budget measures a tree of pairs.
Measured (docs/choosing.md, "The automatic choice"): where all pairs can be measured clearly at once, ``all-pairs`` is
closest. Elsewhere ``aim`` is with a delta, or nearly so; without one it is as long as noise is a small part, and beyond
that ``privbayes``, which has few tables to pay for. It never adds a delta.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from privity.common.data.regression_formula import ANALYSES
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.budget import parse_delta, parse_epsilon
from privity.common.privacy.run_budget import PureBudget, RhoBudget
from privity.common.protocol.evaluation_scores import evaluation_of
from privity.common.protocol.run_terms import AUTO
from privity.common.protocol.session import Session
from privity.common.runs.planned_run import planned_session
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.algorithms.all_pairs import forecast
from privity.common.synthesis.inference.pooled_estimates import noise_distance
from privity.common.synthesis.learning.domain_discovery import stand_in

RULES = 3
"""Version of the rules below; a release says by which its algorithm was chosen."""

LARGEST_PART = 0.15
"""Of a typical pair's marginal that is noise, up to which ``aim`` is taken without a delta."""

CLEAR = 0.1
"""Mean part of the pairs' marginals that is noise if all are measured, up to which ``all-pairs`` is taken."""

CANDIDATES = ("aim", "all-pairs", "privbayes", "one-way")
"""What may be chosen."""

ALLOWED_AT_FIRST = ("dp-subn", *CANDIDATES)
"""By a new policy: what may be chosen, and the algorithm that was made for many parties."""

LIKELY_ROWS = 10_000
"""Of each party, where nobody says."""


@dataclass(frozen=True)
class Chosen:
    """An algorithm, and why."""

    algorithm: str
    reason: str

    def document(self) -> dict[str, Any]:
        """What run.json says of it."""
        return {"rules": RULES, "reason": self.reason}


def choose(
    schema: Schema,
    party_rows: Sequence[int],
    tolerate: int,
    epsilon: Fraction,
    delta: Fraction,
    settings: Mapping[str, Any] | None = None,
) -> Chosen:
    """The algorithm for a table of this schema.

    Args:
        party_rows: public numbers of rows, one for each party.
        tolerate: t; 0 for one party alone.
        settings: declared analyses, if any.

    Raises:
        PrivityError, ProblemsFound: other settings, or analyses that cannot be measured.
    """
    check_automatic(settings or {})
    closed = stand_in(schema)
    if settings:
        ALGORITHMS["aim"].check(settings, closed)
    elif _too_large("aim", closed):
        return Chosen("one-way", "all pairs of attributes have more cells than can be counted")
    session = _planned(closed, party_rows, tolerate, epsilon, delta)
    if len(closed.domain) > 1 and not _too_large("all-pairs", closed):
        noise = forecast(session, session.budget.whole)
        if noise <= CLEAR:
            return Chosen(
                "all-pairs", f"all pairs measured at once are {noise:.1%} noise; up to {CLEAR:.0%} it is closest"
            )
    if settings:
        return Chosen("aim", "it measures the tables of declared analyses")
    part = noise_part(closed, party_rows, tolerate, epsilon, delta)
    told = f"noise is about {min(part, 1):.0%} of a typical pair's marginal"
    if delta:
        return Chosen("aim", f"{told}; with a delta aim is closest, or nearly so")
    if part <= LARGEST_PART:
        return Chosen("aim", f"{told}; up to {LARGEST_PART:.0%} aim is closest")
    if _too_large("privbayes", closed):
        return Chosen("aim", f"{told}; pairs are too large for privbayes")
    return Chosen("privbayes", f"{told}; above {LARGEST_PART:.0%} privbayes is closest without a delta, or nearly so")


def _too_large(algorithm: str, schema: Schema) -> bool:
    try:
        ALGORITHMS[algorithm].check({}, schema)
    except PrivityError as error:
        if error.kind is not Catalogue.DOMAIN_TOO_LARGE:
            raise
        return True
    return False


def check_automatic(settings: Mapping[str, Any]) -> None:
    """Refuse settings beside an algorithm that is yet to be chosen, but for declared analyses.

    Raises:
        PrivityError: bad-option.
    """
    if {*settings} - {ANALYSES}:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="settings", reason=f"they belong to one algorithm, not to {AUTO!r}",
            hint="Name the algorithm, or leave the settings out.",
        )  # fmt: skip


def with_algorithm(
    request: dict[str, Any], schema: Schema, party_rows: Sequence[int], told: str = ""
) -> dict[str, Any]:
    """The run request with the algorithm that it left to be chosen, and why; as it is if it names one.

    Args:
        schema: of the attributes that the run is about.
        party_rows: public numbers of rows, or likely ones.
        told: follows the reason.

    Raises:
        PrivityError: bad-option: settings of an algorithm that is not named.
    """
    if request["algorithm"] != AUTO:
        return request
    learning = parse_epsilon(request["epsilon"])
    if (evaluation := evaluation_of(request)) is not None:
        learning -= evaluation.epsilon
    chosen = choose(
        schema, party_rows, request["tolerate"], learning, parse_delta(request["delta"]), request["settings"]
    )
    chosen = replace(chosen, reason=chosen.reason + told)
    return {**request, "algorithm": chosen.algorithm, "automatic": chosen.document()}


def noise_part(schema: Schema, party_rows: Sequence[int], tolerate: int, epsilon: Fraction, delta: Fraction) -> float:
    """By how much noise alone moves a pair's marginal, in total variation distance: the expectation, mean over pairs.

    Each is taken to be 1 at the most, and measured with a tree of pairs for half of the budget.
    """
    session = _planned(schema, party_rows, tolerate, epsilon, delta)
    pairs = [a * b for a, b in combinations(schema.domain, 2)]
    if not pairs:
        return 0.0
    deviation = math.sqrt(session.noise_variance(len(schema.domain) - 1, session.budget.whole / 2))
    moved = [min(1.0, noise_distance(deviation * cells, session.rows)) for cells in pairs]
    return sum(moved) / len(moved)


def _planned(schema: Schema, party_rows: Sequence[int], tolerate: int, epsilon: Fraction, delta: Fraction) -> Session:
    budget = RhoBudget(epsilon, delta) if delta else PureBudget(epsilon)
    parties = {f"party {place}": rows for place, rows in enumerate(party_rows, start=1)}
    return planned_session(schema, parties, tolerate, budget)
