"""Which pairs of attributes a release will tell of, by the estimates and the measures of its report."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

from privity.common.protocol.session import Session
from privity.common.protocol.step_limits import TABLE_CELLS
from privity.common.release.report.pair_strengths import MOST_SHOWN, measured_strengths
from privity.common.release.report.quality import CHANGED
from privity.common.synthesis.inference.pooled_estimates import PooledEstimates


@dataclass(frozen=True)
class PairForecast:
    """Of all pairs that fit a table.

    Attributes:
        pairs: how many there are.
        measured: those that a noisy marginal holds.
        told: of them those of which the report can tell whether their dependence was kept: noise alone stays below
            what counts as a change of Cramer's V, if the values are as frequent as each other.
        error: total variation distance that noise is expected to make in the pooled estimate of a pair, at most 1;
            the mean over those that are measured by their codes. None if none is.
    """

    pairs: int
    measured: int
    told: int
    error: float | None

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "error": None if self.error is None else round(self.error, 5)}


def pair_forecast(session: Session) -> PairForecast | None:
    """Of a rehearsed run; None if it reveals no tables, or has more pairs than a report shows."""
    tables = [table for _, table in session.record.measured]
    schema = session.schema
    known = [a for a, attribute in enumerate(schema.attributes) if not attribute.discover]
    pairs = [(a, b) for a, b in combinations(known, 2) if schema.domain[a] * schema.domain[b] <= TABLE_CELLS]
    if not tables or not pairs or len(pairs) > MOST_SHOWN:
        return None
    pooled = PooledEstimates(tables, schema.derived, session.noise_variables)
    estimates = [pooled.of(a, b) for a, b in pairs]
    strengths = [strength for strength in measured_strengths(estimates) if strength is not None]
    errors = [min(1.0, estimate.distance) for estimate in estimates if estimate is not None and estimate.whole]
    return PairForecast(
        len(pairs),
        len(strengths),
        sum(strength.noise <= CHANGED for strength in strengths),
        sum(errors) / len(errors) if errors else None,
    )
