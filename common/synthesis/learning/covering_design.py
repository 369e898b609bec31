"""Covering designs: few small tables that hold every pair of attributes (non-overlapping covering design, NOCD).

Source: "Differentially private data publishing for multi-party sequential update" (DP-SUBN), sections VI-C and
VI-D, with the finite geometry written out. A design of d attributes puts them into l rows of q columns, q a
prime power, (l-1)q < d <= lq and l <= q. For every slope m and intercept b in GF(q) the *transversal view*
takes from row a the attribute in column b + ma: two attributes of different rows lie on exactly one such line.
The attributes of one row are one view, or a design of their own: so a design is a *parameter tree*.

**The error.** With V tables for epsilon every cell gets Laplace noise of scale 2V/epsilon (a replaced row moves
two cells of every table), whose variance is 8V^2/epsilon^2 (discrete noise has a little less). A pair table read
from a view v of N cells has |A||B| entries, each the sum of N/(|A||B|) noisy cells: over all entries the expected
squared errors add up to N times that variance, whichever pair it is. The view serves C(|v|,2) pairs, so

    ESE = 8/epsilon^2 * cost,    cost = V^2 * sum over views of C(|v|,2) * cells(v).

**What is optimal.** V and the sum both add up over a tree. The cost V^2 * sum is quasi-concave, so over all trees
it is least at a corner of the convex hull of the pairs (V, sum). Corners of a sum of sets are sums of corners in
the same direction: the dynamic programme carries for each size only the corners of its Pareto set, all full rows
of a tree share one subtree, and nothing is lost by either. Where all domains are equal the result is the best of
all parameter trees. Elsewhere the corners are those for the smallest domain: they range from one view to all
pairs (corners for other sizes led to the same designs in trials). Each is built, attributes change places while
that makes the sum smaller, views are split while that lowers the cost, and the list is priced exactly: the
heuristic is in the places and the splits, not in the price. One view of everything and all C(d,2) pairs are priced
beside them, and the cheapest list is returned.

**Deviations from the paper.** It adds up the errors of the views' own cells; here it is those of the pair tables.
Its equation 6 and Algorithm 2 have n*l for n^2*l, |V| for |V|^2 and no V in the programme, and miss a factor 2; they
allow l > q, where pairs are missed, and know primes only. A transversal view of one attribute (l = 2) is left out.
``infinity_row`` allows l = q + 1: one further row from which a line takes the column of its slope.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

from privity.common.data.noisy_tables import Marginal
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.step_limits import TABLE_CELLS
from privity.common.synthesis.learning.finite_field import finite_field, prime_power

ROUNDS = 4
"""Most passes over all pairs of attributes in which two of them may change places."""


@dataclass(frozen=True)
class CoveringDesign:
    """Tables that hold every pair of attributes, each pair once.

    Attributes:
        views: attribute indices of each table, ascending; the list is sorted.
        cost: V^2 * sum of C(|v|,2) * cells over the views: the module's docstring says what it measures.
        kind: "design", "pairs" or "one view".
    """

    views: tuple[Marginal, ...]
    cost: int
    kind: str

    @property
    def tables(self) -> int:
        """V, the number of tables that are released together."""
        return len(self.views)

    def expected_squared_error(self, epsilon: Fraction) -> Fraction:
        """Expected squared errors of all pair tables' entries, added up, when the views share ``epsilon``."""
        return 8 * self.cost / Fraction(epsilon) ** 2

    def view_of(self, first: int, second: int) -> Marginal:
        """The view that holds both attributes. KeyError if they are the same or not in the design."""
        return self._view_of[min(first, second), max(first, second)]

    @cached_property
    def _view_of(self) -> dict[tuple[int, int], Marginal]:
        return {(i, j): view for view in self.views for i, j in combinations(view, 2)}


@dataclass(frozen=True)
class ParameterTree:
    """One view of ``size`` attributes if there are no rows (none at all for one attribute), else a design."""

    size: int
    columns: int = 0
    rows: tuple[ParameterTree, ...] = ()


@dataclass(frozen=True)
class Corner:
    """A parameter tree with its number of tables and its sum of C(|v|,2) * cells."""

    tables: int
    cells: int
    tree: ParameterTree


def optimal_design(domains: Sequence[int], *, infinity_row: bool = False, limit: int = TABLE_CELLS) -> CoveringDesign:
    """The cheapest covering design that we know for these domain sizes; a single attribute gets a table of its own.

    Args:
        domains: number of values of each attribute.
        infinity_row: also allow designs with q + 1 rows.
        limit: most cells of a view.

    Raises:
        ValueError: no attributes, or a domain without values.
        PrivityError: domain-too-large, if a pair alone is over the limit.
    """
    if not domains or min(domains) < 1:
        raise ValueError("a covering design needs attributes with at least one value each")
    count = len(domains)
    best: CoveringDesign | None = None
    for views in _candidates(tuple(domains), infinity_row, limit):
        if max(math.prod(domains[a] for a in view) for view in views) > limit:
            continue
        cost = design_cost(views, domains)
        if best is None or (cost, len(views)) < (best.cost, best.tables):
            kind = "one view" if len(views) == 1 else "pairs" if len(views) == math.comb(count, 2) else "design"
            best = CoveringDesign(tuple(sorted(tuple(sorted(view)) for view in views)), cost, kind)
    if best is None:
        widest = sorted(sorted(range(count), key=lambda a: (-domains[a], a))[:2])
        names, cells = ", ".join(f"number {a + 1}" for a in widest), math.prod(domains[a] for a in widest)
        raise PrivityError(Catalogue.DOMAIN_TOO_LARGE, attributes=names, cells=cells, limit=limit)
    return best


def design_cost(views: Sequence[Sequence[int]], domains: Sequence[int]) -> int:
    """V^2 * sum of C(|v|,2) * cells over a list of views."""
    return len(views) ** 2 * sum(_cells(view, domains) for view in views)


def _cells(view: Sequence[int], domains: Sequence[int]) -> int:
    return math.comb(len(view), 2) * math.prod(domains[a] for a in view)


def _candidates(domains: tuple[int, ...], infinity_row: bool, limit: int) -> Iterator[Sequence[Sequence[int]]]:
    """Lists of views to be priced: everything, the pairs, and one design for each promising parameter tree."""
    attributes = range(len(domains))
    yield [list(attributes)]
    if len(domains) <= 2:
        return
    yield list(combinations(attributes, 2))
    widest_first = sorted(attributes, key=lambda a: (-domains[a], a))
    rules = (False, True) if infinity_row else (False,)
    for corner in (c for rule in rules for c in corners(len(domains), max(2, min(domains)), rule, limit)):
        views = list(tree_views(corner.tree))
        order = _settle(views, widest_first, domains)
        views = [[order[position] for position in view] for view in views]
        yield views
        if len(set(domains)) > 1:
            yield _split(views, domains)


# The dynamic programme over parameter trees.


def corners(count: int, size: int, infinity_row: bool, limit: int) -> list[Corner]:
    """Corners of the Pareto set of (tables, cells) over all parameter trees of ``count`` domains of one size."""
    if size**2 > limit:
        return []
    known = [[], [Corner(0, 0, ParameterTree(1))]]
    for number in range(2, count + 1):
        found = []
        if size**number <= limit:
            found.append(Corner(1, math.comb(number, 2) * size**number, ParameterTree(number)))
        for columns in filter(prime_power, range(2, number)):
            rows = -(-number // columns)
            if rows > columns + infinity_row or size**rows > limit:
                continue
            last = number - (rows - 1) * columns
            lines, cells = _transversal(columns, rows, last, size)
            for full, short in _sums(known[columns], known[last], rows - 1):
                tables = lines + (rows - 1) * full.tables + short.tables
                total = cells + (rows - 1) * full.cells + short.cells
                tree = ParameterTree(number, columns, (full.tree,) * (rows - 1) + (short.tree,))
                found.append(Corner(tables, total, tree))
        known.append(_hull(found))
    return known[count]


def _transversal(columns: int, rows: int, last: int, size: int) -> tuple[int, int]:
    """Number and cells of the transversal views when the last row has ``last`` attributes."""
    full, short = last * columns, (columns - last) * columns if rows > 2 else 0
    cells = full * math.comb(rows, 2) * size**rows + short * math.comb(rows - 1, 2) * size ** (rows - 1)
    return full + short, cells


def _hull(found: list[Corner]) -> list[Corner]:
    """Lower left corners of the convex hull, tables ascending and cells descending."""
    hull: list[Corner] = []
    for corner in sorted(found, key=lambda c: (c.tables, c.cells)):
        if hull and corner.cells >= hull[-1].cells:
            continue
        while len(hull) > 1 and _slope_order(hull[-2], hull[-1], hull[-1], corner) >= 0:
            hull.pop()
        hull.append(corner)
    return hull


def _slope_order(a: Corner, b: Corner, c: Corner, d: Corner) -> int:
    """Sign of (slope of a to b) - (slope of c to d)."""
    left, right = (b.cells - a.cells) * (d.tables - c.tables), (d.cells - c.cells) * (b.tables - a.tables)
    return (left > right) - (left < right)


def _sums(full: list[Corner], short: list[Corner], times: int) -> Iterator[tuple[Corner, Corner]]:
    """Corners of ``times`` full rows plus a short one: edges of both hulls merged by slope (Minkowski)."""
    i = j = 0
    while True:
        yield full[i], short[j]
        ends = i + 1 == len(full), j + 1 == len(short)
        if all(ends):
            return
        order = 0 if any(ends) else _slope_order(full[i], full[i + 1], short[j], short[j + 1])
        i, j = i + (not ends[0] and order <= 0), j + (not ends[1] and order >= 0)


# From a tree to views, and attributes to their places.


def tree_views(tree: ParameterTree, start: int = 0) -> Iterator[list[int]]:
    """Views of a tree whose attributes are numbered from ``start`` on, row after row."""
    if not tree.rows:
        if tree.size > 1:
            yield list(range(start, start + tree.size))
        return
    field, elements = finite_field(tree.columns), range(tree.columns)
    for a, row in enumerate(tree.rows):
        yield from tree_views(row, start + a * tree.columns)
    for slope in elements:
        for intercept in elements:
            view = []
            for a, row in enumerate(tree.rows):
                column = field.sums[intercept][field.products[slope][a]] if a < tree.columns else slope
                if column < row.size:
                    view.append(start + a * tree.columns + column)
            if len(view) > 1:
                yield view


def _settle(views: Sequence[Sequence[int]], order: Sequence[int], domains: Sequence[int]) -> list[int]:
    """Let pairs of attributes change places while that makes the views smaller; ``order[position]`` is an attribute.

    Exactly one view holds two positions, and it does not change when they do; so the gain of a change
    follows from the cells of all views at either position, which are kept up to date.
    """
    order, cells, shared = list(order), [_cells(view, [domains[a] for a in order]) for view in views], {}
    at: list[list[int]] = [[] for _ in order]
    for number, view in enumerate(views):
        for position in view:
            at[position].append(number)
        shared.update(dict.fromkeys(combinations(sorted(view), 2), number))
    load = [sum(cells[number] for number in numbers) for numbers in at]
    for _ in range(ROUNDS):
        settled = True
        for (i, j), both in shared.items():
            one, other = domains[order[i]], domains[order[j]]
            left, right = load[i] - cells[both], load[j] - cells[both]
            if left * other**2 + right * one**2 >= (left + right) * one * other:
                continue
            settled = False
            order[i], order[j] = order[j], order[i]
            for numbers, old, new in ((at[i], one, other), (at[j], other, one)):
                for number in numbers:
                    if number != both:
                        change = cells[number] // old * new - cells[number]
                        cells[number] += change
                        for position in views[number]:
                            load[position] += change
        if settled:
            break
    return order


def _split(views: Sequence[Sequence[int]], domains: Sequence[int]) -> list[Sequence[int]]:
    """Split views, the largest first, where the cost falls: into pairs, or one attribute from the others."""
    tables, cells = len(views), sum(_cells(view, domains) for view in views)
    waiting, done = sorted(views, key=lambda view: _cells(view, domains)), []
    while waiting:
        view = waiting.pop()
        chosen, least = None, tables**2 * cells
        ways: list[list[Sequence[int]]] = [list(combinations(view, 2))] if len(view) > 2 else []
        for a in view if len(view) > 3 else []:
            rest = [b for b in view if b != a]
            ways.append([*((a, b) for b in rest), rest])
        for way in ways:
            more = tables + len(way) - 1
            fewer = cells - _cells(view, domains) + sum(_cells(part, domains) for part in way)
            if more**2 * fewer < least:
                chosen, least, after = way, more**2 * fewer, (more, fewer)
        if chosen is None:
            done.append(view)
        else:
            waiting += chosen
            tables, cells = after
    return done
