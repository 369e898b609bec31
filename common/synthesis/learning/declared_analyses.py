"""Tables that span analyses which a run declares: measured whatever else it measures, if its budget carries them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

from privity.common.data.noisy_tables import Marginal
from privity.common.data.regression_formula import Formula
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.budget import LARGEST_EPSILON, readable
from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.protocol.step_limits import check_tables
from privity.common.synthesis.inference.graphical_model import cells_of_tree, tree_over
from privity.common.synthesis.inference.stacked_pairs import Pair
from privity.common.synthesis.learning.budget_split import deviation_of_one
from privity.common.synthesis.learning.pair_tables import pair_tables

ANALYSES = "regressions that will be made: the tables that span them are measured, whatever else"
"""The setting of algorithms that measure them."""

CLEAR = 0.1
"""Standard deviation by which the noise of a table may move a correlation within it."""

GROWTH = Fraction(11, 10)
"""Steps in which an epsilon is sought that carries what is declared."""

Widths = Callable[[Session, Share], Sequence[float]]
"""By how much the noise moves a sum of rows with values of variance 1 within each table, in deviations of a cell of one
table that gets all of the share: ``width`` of each."""


def tables_of(analyses: Sequence[Formula] | None, domain: Sequence[int], *, pure: bool) -> list[Marginal]:
    """Tables that span the sums which the regressions are made of; none is within another one.

    Pairs are made wider where that tells more of them for the same price.
    """
    found: set[Marginal] = set()
    for analysis in analyses or ():
        places = analysis.attributes
        together = pair_tables(tuple(domain[a] for a in places), pure=pure).tables
        found |= {tuple(places[a] for a in table) for table in together}
        found |= {*analysis.moments}
    return sorted(one for one in found if not any(set(one) < set(other) for other in found))


def pairs_within(tables: Sequence[Marginal]) -> list[Pair]:
    """Every pair that one of the tables holds."""
    return sorted({pair for table in tables for pair in combinations(table, 2)})


def pairs_of(table: Marginal) -> int:
    """How many pairs a table holds: so many shares it gets."""
    return math.comb(len(table), 2)


def weights_of(tables: Sequence[Marginal], *, pure: bool) -> list[float]:
    """Of tables in one round, but for a factor: by the pairs that they hold."""
    return [pairs_of(table) if pure else math.sqrt(pairs_of(table)) for table in tables]


def check_size(analyses: Sequence[Formula] | None, schema: Schema, cells: int) -> None:
    """Refuse what is declared if it is too large, before any party is asked.

    Args:
        cells: most cells of all cliques of the model. All attributes of a formula are in one.

    Raises:
        PrivityError: domain-too-large: of a table; bad-option: of the model.
    """
    if not analyses:
        return
    for analysis in analyses:
        _check_cells(math.prod(schema.domain[a] for a in analysis.attributes), cells, analysis.text)
    for pure in (False, True):
        tables = tables_of(analyses, schema.domain, pure=pure)
        check_tables(tables, schema.derived)
        _check_cells(cells_of_tree(tree_over(tables, schema.domain), schema.domain), cells, "all together")


def _check_cells(found: int, cells: int, what: str) -> None:
    if found > cells:
        reason = f"{what}: it takes a model of {found:,} cells, at most {cells:,}"
        hint = "Leave out terms, declare fewer bins or categories, or name the analyses in several runs."
        raise PrivityError(Catalogue.BAD_OPTION, option="analyses", reason=reason, hint=hint)


def check_noise(
    session: Session, share: Share, tables: Sequence[Marginal], widths: Widths, asked: Callable[[Fraction], Fraction]
) -> None:
    """Refuse analyses that the noise would hide, by public numbers, before anything is spent.

    Args:
        asked: the epsilon to ask for, in all, that the session's budget may have this epsilon.

    Raises:
        PrivityError: bad-option, with the epsilon from which on they are carried.
    """
    if not tables:
        return
    moved = _moved(session, share, widths)
    worst = max(range(len(tables)), key=moved.__getitem__)
    if moved[worst] <= CLEAR:
        return
    names = " x ".join(session.schema.names[a] for a in tables[worst])
    told = float(_two_digits(Fraction(moved[worst])))
    reason = f"noise alone would move a correlation within {names} by {told:g}, and {CLEAR} is the most"
    wanted = _epsilon_for(session, share, widths, asked)
    others = "name fewer analyses, with fewer bins or categories"
    hint = f"Give epsilon {readable(wanted)} or more, or {others}." if wanted else f"{others.capitalize()}."
    raise PrivityError(Catalogue.BAD_OPTION, option="analyses", reason=reason, hint=hint)


def width(cells: int, part: float, *, pure: bool) -> float:
    """Of a table with so many cells that gets this part of the share: as of ``Widths``.

    Codes are taken to be equally frequent, so that the squares of the values add up to the number of cells.
    """
    return math.sqrt(cells) / (part if pure else math.sqrt(part))


def _moved(session: Session, share: Share, widths: Widths) -> list[float]:
    alone = deviation_of_one(session, share) / session.rows
    return [alone * one for one in widths(session, share)]


def _epsilon_for(
    session: Session, share: Share, widths: Widths, asked: Callable[[Fraction], Fraction]
) -> Fraction | None:
    """In all, rounded up to two digits; None if none that can be asked for is enough."""
    own = wanted = session.budget.epsilon
    while asked(wanted := wanted * GROWTH) <= LARGEST_EPSILON:
        wanted = wanted.limit_denominator(10**6)
        budget = replace(session.budget, epsilon=wanted)
        granted = Share(budget, wanted * share.epsilon / own)
        planned = Session(session.backend, session.schema, budget, session.run)
        if max(_moved(planned, granted, widths)) <= CLEAR:
            return _two_digits(asked(wanted))
    return None


def _two_digits(number: Fraction) -> Fraction:
    unit = Fraction(10) ** (math.floor(math.log10(number)) - 1)
    return math.ceil(number / unit) * unit
