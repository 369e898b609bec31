"""Maximal parent sets: what an attribute's parents may be while its table stays above the noise floor.

Source: PrivBayes (Zhang et al., TODS 2017), section 5.2, algorithms 5 and 6. Deviations: a set has at most
``degree`` parents, and is maximal among those; the sets are listed in a fixed order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations, product
from math import prod

from privity.common.data.noisy_tables import Marginal


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
    ordered = sorted(placed)
    ladders = [tuple(domain[level] for level in levels[a]) for a in ordered]
    coarsest = sorted((ladder[-1], a) for ladder, a in zip(ladders, ordered, strict=True))

    @cache
    def choices(sizes: tuple[tuple[int, ...], ...]) -> list[tuple[tuple[int, ...], int]]:
        """For attributes with levels of these sizes: the levels that fit, none of which may be finer; and their cells.

        Most attributes have the sizes of others: it is far from one call for each subset.
        """
        found = []
        for places in product(*map(range, map(len, sizes))):
            total = prod(ladder[place] for ladder, place in zip(sizes, places, strict=True))
            finer = [total // s[p] * s[p - 1] for s, p in zip(sizes, places, strict=True) if p]
            if total <= cells < min(finer, default=cells + 1):
                found.append((places, total))
        return found

    maximal: list[Marginal] = []
    for size in range(min(degree, len(ordered)) + 1):
        for some, sizes in zip(combinations(ordered, size), combinations(ladders, size), strict=True):
            for places, total in choices(sizes):
                if size < degree and any(total * least <= cells for least, a in coarsest if a not in some):
                    continue
                maximal.append(tuple(levels[a][p] for a, p in zip(some, places, strict=True)) if any(places) else some)
    return sorted(maximal)
