"""Maximal parent sets against brute force over all generalised subsets."""

from itertools import combinations, product
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from privity.common.synthesis.learning.maximal_parents import maximal_parent_sets

LEVELS = st.lists(st.lists(st.integers(2, 9), min_size=1, max_size=3), min_size=0, max_size=4)


def brute_force(levels, domain, cells, degree):
    """Every generalised subset that fits and that no other fitting one refines or extends."""
    fitting = []
    for size in range(min(degree, len(levels)) + 1):
        for some in combinations(sorted(levels), size):
            for chosen in product(*(range(len(levels[a])) for a in some)):
                picked = tuple(levels[a][depth] for a, depth in zip(some, chosen, strict=True))
                if prod(domain[i] for i in picked) <= cells:
                    fitting.append(dict(zip(some, chosen, strict=True)))
    maximal = [
        mine
        for mine in fitting
        if not any(other != mine and all(a in other and other[a] <= mine[a] for a in mine) for other in fitting)
    ]
    return sorted(tuple(levels[a][depth] for a, depth in mine.items()) for mine in maximal)


@given(LEVELS, st.integers(0, 200), st.integers(1, 4))
def test_the_sets_are_those_of_brute_force(sizes, cells, degree):
    # Coarser levels are smaller; indices of generalisations follow those of the attributes.
    domain, levels = [max(own) for own in sizes], {}
    for attribute, own in enumerate(sizes):
        coarser = sorted({size for size in own if size < max(own)}, reverse=True)
        levels[attribute] = (attribute, *range(len(domain), len(domain) + len(coarser)))
        domain += coarser
    found = maximal_parent_sets(list(levels), levels, domain, cells, degree)
    assert found == brute_force(levels, domain, cells, degree)


def test_binary_attributes_give_all_subsets_of_the_degree():
    levels = {a: (a,) for a in range(5)}
    assert maximal_parent_sets(range(5), levels, [2] * 5, 4, 3) == list(combinations(range(5), 2))
    assert maximal_parent_sets(range(5), levels, [2] * 5, 10**6, 3) == list(combinations(range(5), 3))
    assert maximal_parent_sets(range(5), levels, [2] * 5, 1, 3) == [()]
    assert maximal_parent_sets(range(5), levels, [2] * 5, 0, 3) == []
