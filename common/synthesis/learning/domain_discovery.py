"""Domains of numbers from noisy marginals on a public grid: bins that follow the mass, and how values lie within them.

Each number is counted at several resolutions of its grid (``privity.common.data.derived_attributes.grid_depths``), by
1-way tables that cost what any tables cost. Where the rows can be coded again, cells that hold much are then counted
point by point. What follows is post-processing: a histogram (``privity.common.synthesis.learning.grid_histogram``),
and bins. Points that hold much have bins of their own; the others hold about as much each, with further cuts in the
tails.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from privity.common.data.attribute import Attribute, Histogram
from privity.common.data.measured_range import DIGITS, MeasuredRange, PartOfRows
from privity.common.data.noisy_tables import Marginal, NoisyTable
from privity.common.data.public_grid import declared_ends
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.category_budget import MOST_CATEGORIES
from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session
from privity.common.synthesis.learning.closer_look import closer_edges, looked_closer
from privity.common.synthesis.learning.grid_histogram import (
    STANDS_OUT,
    Grid,
    Numbers,
    grid_of,
)
from privity.common.synthesis.learning.range_tails import Cell
from privity.common.text.first_few import first_few

SHARE = Fraction(1, 4)
"""Of the budget, at the most, for domains, where one owner's run discovers them and goes on."""

GRIDS = Fraction(4, 5)
"""Of the share for domains, for the first tables."""

LOOKS = 2
"""Closer looks, at the most. A table of one has as much of the budget as each of the first tables, if there is so much.
"""

BINS = 10
"""That hold about as much each, besides points and tails."""

TAILS = (0.005, 0.02, 0.05, 0.95, 0.98, 0.995)
"""Further cuts, as parts of what is in no point: what lies far out decides means and predictions."""

POINT = 0.03
"""Part of the rows from which a point has a bin of its own."""

GAP = 0.01
"""Part of the rows from which there is a bin between two points."""

SUMS = 40
"""Of a number's coarsest groups: what noise alone makes of the largest of so many must not hide its domain."""

MOST_ADVISED, SPARE = 1000, 1.01
"""The largest epsilon that is advised, and how much less noise it must give than is needed: digits are rounded."""

LEAST_GROUPS = 6
"""Groups of which each must stand out of the noise if it holds as much as the others, for a domain to be discovered."""

MOST_BINS = 2 * int(1 / POINT) + BINS + len(TAILS)
"""A discovered attribute has no more: each point cuts twice."""

LIKELY_BINS = BINS + len(TAILS)
"""Of a discovered attribute of few points."""

BARS = 1.96
"""Standard deviations that an estimate is said to be off by, 19 times out of 20."""

WEIGHTS = 1 << 20
"""Of the cells of a histogram together, about."""


def undiscovered(schema: Schema) -> list[int]:
    """The numbers whose domain is yet to be discovered."""
    return [place for place, attribute in enumerate(schema.attributes) if attribute.discover and attribute.edges]


@dataclass(frozen=True)
class Discovered:
    """What was discovered.

    Attributes:
        schema: with the domains.
        marginals: of each attribute that was open, by its bins: shape (codes,), the rows of the table together.
        tables: others that were measured with them.
        left: of the share.
    """

    schema: Schema
    marginals: Mapping[int, Numbers]
    tables: Sequence[NoisyTable]
    left: Share


async def discover(session: Session, phase: str, share: Share, others: Sequence[Marginal] = ()) -> Discovered:
    """Measure the open numbers of the session's schema on their grids.

    Args:
        share: what it may cost.
        others: tables to measure in the same round.

    Raises:
        PrivityError: as ``check_noise``.
    """
    schema, on_grids = session.schema, grid_tables(session.schema)
    first = share * (GRIDS if session.recodes and on_grids else Fraction(1))
    check_noise(session, first, len(others))
    tables = await session.measure(phase, [*on_grids, *others], first)
    # What grids tell stands in the domains: a release is by the schema that has them.
    session.record.publish_last(len(others))
    grids = grids_of(schema, tables)
    closer, left = dict(grids), share - first
    for look in range(1, 1 + LOOKS * session.recodes):
        edges = {place: closer_edges(grid) for place, grid in closer.items()}
        if not (places := [place for place in edges if edges[place]]):
            break
        again = session.recoded(with_edges(schema, edges), f"{phase}/look {look}/")
        cost = min(left / (LOOKS + 1 - look), first * Fraction(len(places), len(tables)), key=lambda each: each.epsilon)
        for place, table in zip(places, await again.measure(phase, [(p,) for p in places], cost), strict=True):
            closer[place] = looked_closer(closer[place], table)
        left = left - cost
    found = session.discovered(with_domains(schema, closer)) if closer else schema
    marginals = {place: _marginal(found.attributes[place], grid) for place, grid in grids.items()}
    return Discovered(found, marginals, tables[len(on_grids) :], left)


def with_edges(schema: Schema, edges: Mapping[int, tuple[Fraction, ...]]) -> Schema:
    """The schema with these edges for some attributes, by their place, if they are not empty."""
    attributes = [
        # What lies beyond a narrower range is no fault of a row.
        replace(attribute, edges=found, out_of_domain="edge") if (found := edges.get(place)) else attribute
        for place, attribute in enumerate(schema.attributes)
    ]
    return replace(schema, attributes=tuple(attributes))


def check_edges(schema: Schema, edges: Mapping[int, tuple[Fraction, ...]]) -> None:
    """Refuse edges that are no closer look at open numbers of this schema.

    Raises:
        ValueError: the attribute is not open, or its edges do not rise within those of its grid.
    """
    for place, found in edges.items():
        attribute = schema.attributes[place] if place < len(schema.attributes) else None
        if attribute is None or not attribute.discover or not attribute.edges:
            raise ValueError("it names an attribute whose domain is not open")
        rising = len(found) > 1 and all(low < high for low, high in pairwise(found))
        if not rising or found[0] < attribute.edges[0] or found[-1] > attribute.edges[-1]:
            raise ValueError(f"the edges of {attribute.name} do not rise within its grid")


def grid_tables(schema: Schema) -> list[Marginal]:
    """The tables that tell domains: of each undiscovered attribute its grid and the generalisations of that."""
    return [(level,) for place in undiscovered(schema) for level in schema.derived.levels(place)]


def below_noise(session: Session, share: Share, others: int = 0) -> dict[int, float]:
    """The open numbers whose domain would be below the noise, by place: rows of a group that is not told from it.

    Each number is judged by itself: by its own groups, under the noise of all tables together. One of which both ends
    are declared is not lost, whatever the noise.

    Args:
        others: tables that are measured with those of the domains.
    """
    sums = _groups(session.schema)
    if not sums:
        return {}
    tables, least = others + len(grid_tables(session.schema)), session.rows / LEAST_GROUPS
    return {
        place: seen
        for place, of in sums.items()
        if (seen := math.sqrt(2 * math.log(of) * session.noise_variance(tables, share))) > least
    }


def _groups(schema: Schema) -> dict[int, int]:
    """Of each open number without both ends declared: its coarsest groups."""
    return {
        place: min(SUMS, schema.derived.domain[schema.derived.levels(place)[-1]])
        for place in undiscovered(schema)
        if not all(_declared(schema.attributes[place]))
    }


def check_noise(session: Session, share: Share, others: int = 0, asked: Fraction | None = None) -> None:
    """Refuse to discover domains that would be below the noise, before anything is spent.

    Args:
        share, others: as of ``below_noise``, which judges.
        asked: the epsilon that was asked for, if the budget is a part of it.

    Raises:
        PrivityError: bad-option; its remedy is enough.
    """
    lost = below_noise(session, share, others)
    if not lost:
        return
    schema, sums, least = session.schema, _groups(session.schema), session.rows / LEAST_GROUPS
    tables = others + len(grid_tables(schema))
    whole = asked or share.budget.epsilon
    worst = max(sums[place] for place in lost)
    enough = _enough(session, share, tables, worst, whole, least)
    names = first_few([schema.names[place] for place in lost])
    count = f"groups of up to {round(max(lost.values()))} of {session.rows} rows are not told from it"
    reason = f"the domain of {names} would be below the noise: {count}"
    by_epsilon = f"Use an epsilon of {enough}, or declare" if enough else "Declare"
    hint = f"{by_epsilon} minimum and maximum (constraints), bins or edges of {'it' if len(lost) == 1 else 'these'}."
    raise PrivityError(Catalogue.BAD_OPTION, option="epsilon", reason=reason, hint=hint)


def _enough(session: Session, share: Share, tables: int, sums: int, asked: Fraction, least: float) -> str:
    """The least epsilon of two digits, from the one that was asked for on, by which nothing is lost; empty if none."""
    found = float(asked)
    while found < MOST_ADVISED:
        found *= 1.04
        text = f"{found:.2g}"
        times = Fraction(text) / asked
        larger = Share(replace(share.budget, epsilon=share.budget.epsilon * times), share.epsilon * times)
        seen = math.sqrt(2 * math.log(sums) * session.noise_variance(tables, larger))
        if times > 1 and seen * SPARE <= least:
            return text
    return ""


def _declared(attribute: Attribute) -> tuple[bool, bool]:
    """Whether a person declared the minimum of an open number, and its maximum."""
    return declared_ends(attribute.places, attribute.temporal, attribute.edges)


def with_domains(schema: Schema, grids: Mapping[int, Grid]) -> list[Attribute]:
    """The open numbers with the domains that the grids tell."""
    return [_binned(schema.attributes[place], grid) for place, grid in grids.items()]


def stand_in(
    schema: Schema, bins: int = MOST_BINS, *, numbers: bool = True, categories: int = MOST_CATEGORIES
) -> Schema:
    """The schema with the largest domains that may be discovered: for checks and forecasts before a run.

    Args:
        bins: of each open number; ``LIKELY_BINS`` where the largest are not meant.
        numbers: whether numbers have a domain, too.
        categories: of each open text, besides the one for all others.
    """
    edges = tuple(Fraction(place) for place in range(bins + 1))
    texts = tuple(map(str, range(categories)))

    def closed(attribute: Attribute) -> Attribute:
        if not attribute.discover or (attribute.edges and not numbers):
            return attribute
        domain = {"edges": edges} if attribute.edges else {"categories": (*texts, *attribute.categories)}
        return replace(attribute, discover=False, **domain)

    return replace(schema, attributes=tuple(map(closed, schema.attributes)))


def grids_of(schema: Schema, measured: Sequence[NoisyTable]) -> dict[int, Grid]:
    """What the tables tell of each undiscovered attribute."""
    of_level, places = {table.attributes: table for table in measured}, undiscovered(schema)
    found = {}
    for place in places:
        tables = [of_level[level,] for level in reversed(schema.derived.levels(place))]
        found[place] = grid_of(schema.attributes[place], tables, len(places))
    return found


def _binned(attribute: Attribute, grid: Grid) -> Attribute:
    """The attribute with bins that follow the cells, and the cells as its histogram."""
    cells = [part for cell in grid.cells for part in _parts(cell, grid.edges)]
    masses = np.array([cell.mass for cell in cells])
    cuts = _cuts(cells, masses, grid)
    if len(cuts) == 2:
        # One bin is no domain: there is a second one, of what hardly anybody has.
        first, end = cells[0].first, cells[-1].end
        cuts.add(end - 1 if end - first > 1 else end + 1 if end + 1 < len(grid.edges) else first - 1)
    # What a person declared to be the least and the largest value are the outer edges.
    strict = attribute.out_of_domain == "refuse"
    outer = (0, len(grid.edges) - 1)
    for edge, inner, known in zip(outer, (min(cuts), max(cuts)), _declared(attribute), strict=True):
        if (known or strict) and edge != inner:
            cuts = (cuts - {inner} if len(cuts) > 2 else cuts) | {edge}
    ends = sorted({*(cell.first for cell in cells), cells[-1].end, *cuts})
    shares = dict(zip((cell.first for cell in cells), masses / max(1.0, masses.sum()) * WEIGHTS, strict=True))
    weights = {first: round(shares.get(first, 0.0)) for first in ends[:-1]}
    for low, high in pairwise(sorted(cuts)):
        of_bin = [first for first in ends if low <= first < high]
        found = [first for first in of_bin if first in shares]
        if found and not any(weights[first] for first in of_bin):
            # Its values are not spread to where the bin ends.
            weights[found[0]] = 1
    bins = _edges(grid, sorted(cuts))
    histogram = Histogram(_edges(grid, ends), tuple(weights[first] for first in ends[:-1]))
    return replace(
        attribute,
        discover=False,
        edges=bins,
        histogram=histogram,
        measured=_measured(attribute, grid, bins),
        out_of_domain="refuse" if strict else "edge",
    )


def _measured(attribute: Attribute, grid: Grid, edges: Sequence[Fraction]) -> MeasuredRange:
    """Where the values were measured that have these bins, and how many rows have others."""
    low, high = max(grid.measured[0], edges[0]), min(grid.measured[1], edges[-1])
    # Values are points.
    first, last = math.ceil(low / grid.point) * grid.point, (math.ceil(high / grid.point) - 1) * grid.point
    if attribute.absent:
        return MeasuredRange(first, max(first, last), None)
    shares = grid.beyond.rows / grid.rows, BARS * grid.beyond.deviation / grid.rows
    share, error = (round(min(max(0.0, found), 1.0), DIGITS) for found in shares)
    return MeasuredRange(first, max(first, last), PartOfRows(share, error))


def _marginal(attribute: Attribute, grid: Grid) -> Numbers:
    """Rows by the bins of an attribute, as its histogram has them, and by its codes that are no value."""
    assert attribute.histogram is not None
    places = {edge: place for place, edge in enumerate(attribute.histogram.edges)}
    weights = np.array(attribute.histogram.weights, dtype=np.float64)
    bins = np.add.reduceat(weights, [places[edge] for edge in attribute.edges[:-1]])
    values = grid.rows - float(grid.apart.sum())
    return np.concatenate([bins * (values / max(1.0, float(bins.sum()))), grid.apart])


def _cuts(cells: Sequence[Cell], masses: Numbers, grid: Grid) -> set[int]:
    """Where bins begin, and the last one ends."""
    least = max(POINT * grid.rows, STANDS_OUT * grid.deviation)
    points = np.array([cell.single and cell.mass >= least for cell in cells])
    rest = np.where(points, 0.0, masses)
    below, whole = np.cumsum(rest), float(rest.sum())
    cuts = {cells[0].first, cells[-1].end}
    for cell, point in zip(cells, points, strict=True):
        cuts |= {cell.first, cell.end} if point else set()
    if whole >= least:
        for level in sorted({*(place / BINS for place in range(1, BINS)), *TAILS}):
            place = int(np.searchsorted(below, level * whole))
            after = below[place] - level * whole <= rest[place] / 2
            cuts.add(cells[place].end if after else cells[place].first)
    # What hardly anybody has between two points goes with the lower one.
    starts = {cell.first: place for place, cell in enumerate(cells) if points[place]}
    ends = {cell.end: place for place, cell in enumerate(cells) if points[place]}
    for low, high in pairwise(sorted(cuts)):
        between = low in ends and high in starts and low not in starts
        if between and rest[ends[low] : starts[high]].sum() < GAP * grid.rows:
            cuts.remove(low)
    return cuts


def _parts(cell: Cell, grid: Sequence[Fraction]) -> list[Cell]:
    """A cell of many codes in parts of the same width each: farther from zero its codes are wider."""
    if not cell.mass:
        return [cell]
    widths = [grid[code + 1] - grid[code] for code in range(cell.first, cell.end)]
    starts = [
        cell.first,
        *(cell.first + place for place in range(1, len(widths)) if widths[place] != widths[place - 1]),
    ]
    mass = cell.mass / (cell.end - cell.first)
    return [Cell(first, end, mass * (end - first)) for first, end in zip(starts, [*starts[1:], cell.end], strict=True)]


def _edges(grid: Grid, codes: Sequence[int]) -> tuple[Fraction, ...]:
    """Edges at the start of these codes. The last bin is closed: if it ends by a point, then before the next one."""
    found = [grid.edges[code] for code in codes]
    if codes[-1] + 1 < len(grid.edges) and found[-1] - grid.edges[codes[-1] - 1] <= grid.point:
        found[-1] -= grid.point / 2
    return tuple(found)
