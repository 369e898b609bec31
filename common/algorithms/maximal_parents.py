"""Maximal parent sets: what an attribute's parents may be without drowning its table.

Source: PrivBayes (Zhang et al., TODS 2017), section 5.2, algorithms 5 and 6. Deviations: a set has at most
``degree`` parents, and is maximal among those; the sets are listed in a fixed order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from common.statistics import Marginal


def maximal_parent_sets(
    placed: Sequence[int], levels: Mapping[int, Sequence[int]], domain: Sequence[int], cells: int, degree: int
) -> list[Marginal]:
    """Every generalised subset of ``placed`` of at most ``cells`` cells and ``degree`` attributes that is maximal.

    A subset is maximal if no other one that fits has an attribute more, or one less generalised, and all of it.

    Args:
        placed: attributes to choose from.
        levels: for each of them its own index and those of its generalisations, from the finest on.
        domain: number of values of each attribute, derived ones included.

    Returns:
        Sets in lexicographic order, each ascending by attribute; the empty set alone if no other one fits, and
        nothing if ``cells`` is 0.
    """
    ordered = tuple(sorted(placed))

    @cache
    def sets(place: int, room: int, left: int) -> tuple[Marginal, ...]:
        """Maximal sets of the attributes from ``place`` on, of at most ``room`` cells and ``left`` attributes."""
        if room < 1:
            return ()
        if place == len(ordered) or not left:
            return ((),)
        found: list[Marginal] = []
        used: set[Marginal] = set()
        for level in levels[ordered[place]]:
            for rest in sets(place + 1, room // domain[level], left - 1):
                if rest not in used:
                    used.add(rest)
                    found.append((level, *rest))
        # Without the attribute only what has no room for it, not even at its coarsest.
        return (*found, *(rest for rest in sets(place + 1, room, left) if rest not in used))

    return sorted(sets(0, cells, degree))
