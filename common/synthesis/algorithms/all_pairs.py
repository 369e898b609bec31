"""All pairs: every pair of attributes from few tables, measured together; one graphical model of them all.

Where a model of all attributes together is small, nothing need be selected: every pair is measured, in one round, by
tables that are wider than pairs where that tells more of them (``privity.common.synthesis.learning.pair_tables``). No
paper has it as it stands here; its tables are those of the covering designs of DP-SUBN, or less error than these by the
forecast, and its fit is that of AIM. Parties that differ from each other lose nothing: all that is asked is summed.

Privacy: the tables compose; epsilon in all, or the run's rho. The model is made of what was revealed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from statistics import fmean

from privity.common.data.noisy_tables import Marginal
from privity.common.data.regression_formula import Formula
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.synthesis.algorithm_settings import formulas
from privity.common.synthesis.algorithms.algorithm import Algorithm
from privity.common.synthesis.inference.fit_choice import PGM
from privity.common.synthesis.inference.graphical_model import tree_over
from privity.common.synthesis.inference.pooled_estimates import noise_distance
from privity.common.synthesis.learning.budget_split import deviation_of_one
from privity.common.synthesis.learning.countable_pairs import check_all_pairs
from privity.common.synthesis.learning.declared_analyses import ANALYSES, check_noise, tables_of, width
from privity.common.synthesis.learning.one_way_tables import near_weights, single_weights
from privity.common.synthesis.learning.pair_tables import pair_tables
from privity.common.synthesis.learning.parameter_learning import fit_cliques
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel

TABLES = "tables of all pairs"

LARGEST_MODEL = 1 << 17
"""Cells of the one clique of a model: 1 MiB."""

ONE_WAY = Fraction(1, 10)
"""Share of the budget for the 1-way tables, if there is more than one other table."""


@dataclass(frozen=True)
class Settings:
    """Settings of all pairs, all public."""

    analyses: tuple[Formula, ...] | None = formulas(ANALYSES)


class AllPairs(Algorithm[Settings]):
    """All pairs: measures every pair of attributes at once, in few tables, and fits one graphical model."""

    name = "all-pairs"
    continues = True
    settings = Settings
    all_pairs = True

    def check_domain(self, schema: Schema, chosen: Settings) -> None:
        """All attributes are one clique of the model."""
        check_all_pairs(schema)
        cells = math.prod(schema.domain)
        if cells > LARGEST_MODEL:
            named = f"all {len(schema.attributes)} attributes together"
            raise PrivityError(Catalogue.DOMAIN_TOO_LARGE, attributes=named, cells=cells, limit=LARGEST_MODEL)

    def check_noise(
        self, session: Session, share: Share, chosen: Settings, asked: Callable[[Fraction], Fraction]
    ) -> None:
        """Analyses that are declared."""
        domain, pure = session.schema.domain, not share.budget.delta
        declared = tables_of(chosen.analyses, domain, pure=pure)
        widths = partial(_widths, declared, *_tables(tuple(domain), declared, pure=pure))
        check_noise(session, share, declared, widths, asked)

    async def run(self, session: Session, share: Share, chosen: Settings) -> JunctionTreeModel:
        """Measure all tables in one round; then estimate and generate."""
        domain, pure = session.schema.domain, not share.budget.delta
        declared = tables_of(chosen.analyses, domain, pure=pure)
        tables, weights = _tables(tuple(domain), declared, pure=pure)
        measured = await session.measure(TABLES, tables, share, near_weights(weights))
        return await fit_cliques(session, tree_over(tables, domain), measured, PGM)


def _tables(
    domain: tuple[int, ...], declared: Sequence[Marginal], *, pure: bool
) -> tuple[Sequence[Marginal], Sequence[float]]:
    """What is measured, with the weights; each declared table is one of them, or within another."""
    single, of_single = [(a,) for a in range(len(domain))], single_weights(domain, pure=pure)
    if len(domain) == 1:
        return single, of_single
    pairs = pair_tables(domain, pure=pure)
    more = [table for table in declared if not any({*table} <= {*wide} for wide in pairs.tables)]
    tables, weights = [*pairs.tables, *more], [*pairs.weights, *[fmean(pairs.weights)] * len(more)]
    if len(tables) == 1:
        return tables, weights
    # What adds up to the budget: weights, or their squares.
    power = 1 if pure else 2
    of_pairs, of_singles = (sum(weight**power for weight in some) for some in (weights, of_single))
    scale = (float(ONE_WAY / (1 - ONE_WAY)) * of_pairs / of_singles) ** (1 / power)
    return [*single, *tables], [*(weight * scale for weight in of_single), *weights]


def _widths(
    declared: Sequence[Marginal], tables: Sequence[Marginal], weights: Sequence[float], session: Session, share: Share
) -> list[float]:
    """Of each declared table, as ``Widths``: as wide as the first that holds it."""
    domain, pure = session.schema.domain, not share.budget.delta
    power = 1 if pure else 2
    whole = sum(weight**power for weight in weights)
    holding = [next(place for place, table in enumerate(tables) if {*one} <= {*table}) for one in declared]
    return [
        width(math.prod(domain[a] for a in tables[place]), weights[place] ** power / whole, pure=pure)
        for place in holding
    ]


def forecast(session: Session, share: Share) -> float:
    """Total variation distance by which noise would move a pair of attributes, the mean over all; by public numbers."""
    domain = session.schema.domain
    pairs = pair_tables(tuple(domain), pure=not share.budget.delta)
    deviation = deviation_of_one(session, share * (1 - ONE_WAY))
    return noise_distance(deviation * pairs.error, session.rows) / math.comb(len(domain), 2)
