"""Fewer, wider tables from which many marginals follow: each table is counted once, and summed for each of them.

All pairs of attributes are best counted by groups: attributes are put together in groups of few cells, and the table of
two groups gives every pair of an attribute of one with an attribute of the other. What is left, or is wider than a
pair, is joined one by one to the table that grows least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isqrt, prod

from privity.common.data.marginal_counter import Reading
from privity.common.data.noisy_tables import Marginal

LOOKED_AT = 64
"""Tables that a marginal may still be joined to: the last ones, so that the work grows with the marginals."""

WORTH_A_TABLE = 3
"""Marginals from which on the table of two groups is counted for them."""


@dataclass
class Superset:
    """A table that is counted, and which of the marginals follow from it.

    Attributes:
        parts: of its attributes, one after another: two groups, or all of them.
        members: places of the marginals.
    """

    parts: tuple[Marginal, ...]
    members: list[int] = field(default_factory=list)

    @property
    def attributes(self) -> Marginal:
        """In the order in which they are the table's axes."""
        return tuple(a for part in self.parts for a in part)

    def readings(self, marginals: Sequence[Marginal], starts: Sequence[int]) -> tuple[Reading, ...]:
        """How its members are read from it, each into the cells from its start on."""
        axes = self.attributes
        return tuple(Reading(starts[i], tuple(axes.index(a) for a in marginals[i])) for i in self.members)


def supersets(marginals: Sequence[Marginal], domain: Sequence[int], widest: int) -> list[Superset]:
    """Tables from which all the marginals follow, each of at most ``widest`` cells or that of a marginal alone.

    Raises:
        ValueError: a marginal names an attribute twice.
    """
    for marginal in marginals:
        if len(set(marginal)) < len(marginal):
            raise ValueError("a marginal names each attribute once")
    found, rest = _of_groups(marginals, domain, widest)
    return [*found, *_joined(rest, marginals, domain, widest)]


def _of_groups(
    marginals: Sequence[Marginal], domain: Sequence[int], widest: int
) -> tuple[list[Superset], Sequence[int]]:
    """The tables of two groups that are worth it, and the places of the marginals that do not follow from them."""
    group_of = {a: group for group in _groups({a for m in marginals for a in m}, domain, isqrt(widest)) for a in group}
    met = [frozenset(group_of[a] for a in marginal) for marginal in marginals]
    worth = Counter(groups for groups in met if len(groups) == 2)
    tables = {
        groups: Superset(tuple(sorted(groups)))
        for groups, times in worth.items()
        if times >= WORTH_A_TABLE and prod(domain[a] for group in groups for a in group) <= widest
    }
    # A marginal within one group follows from any table of it.
    within = {frozenset([group]): table for groups, table in tables.items() for group in groups}
    rest = []
    for place, groups in enumerate(met):
        table = tables.get(groups) or within.get(groups)
        if table is None:
            rest.append(place)
        else:
            table.members.append(place)
    return list(tables.values()), rest


def _groups(attributes: set[int], domain: Sequence[int], most: int) -> list[Marginal]:
    """Best fit, the largest first: groups of at most so many cells; an attribute that is larger is none's."""
    groups: list[list[int]] = []
    cells: list[int] = []
    for a in sorted(attributes, key=lambda a: (-domain[a], a)):
        fits = [place for place, size in enumerate(cells) if size * domain[a] <= most]
        if fits:
            place = max(fits, key=cells.__getitem__)
            groups[place].append(a)
            cells[place] *= domain[a]
        else:
            groups.append([a])
            cells.append(domain[a])
    return [tuple(sorted(group)) for group in groups]


def _joined(places: Sequence[int], marginals: Sequence[Marginal], domain: Sequence[int], widest: int) -> list[Superset]:
    """Marginals one by one, each joined to the table that stays smallest."""
    found: list[tuple[set[int], Superset]] = []
    sizes: list[int] = []
    for place in sorted(places, key=lambda i: tuple(sorted(marginals[i]))):
        wanted = marginals[place]
        best, best_cells = None, widest + 1
        for at in range(max(0, len(found) - LOOKED_AT), len(found)):
            cells = sizes[at]
            for a in wanted:
                if a not in found[at][0]:
                    cells *= domain[a]
            if cells == sizes[at]:
                best, best_cells = at, cells
                break
            if cells < best_cells:
                best, best_cells = at, cells
        if best is None:
            best, best_cells = len(found), prod(domain[a] for a in wanted)
            found.append((set(), Superset(())))
            sizes.append(best_cells)
        attributes, superset = found[best]
        attributes.update(wanted)
        sizes[best] = best_cells
        superset.members.append(place)
    for attributes, superset in found:
        superset.parts = (tuple(sorted(attributes)),)
    return [superset for _, superset in found]
