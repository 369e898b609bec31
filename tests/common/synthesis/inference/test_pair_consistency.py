"""Consistency of all pairs at once, held against the general algorithm."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.noisy_tables import NoisyTables
from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.synthesis.inference import pair_consistency
from privity.common.synthesis.inference.estimation import collect
from privity.common.synthesis.inference.pair_consistency import ConsistentPairs
from privity.common.synthesis.inference.table_consistency import make_consistent


def noisy(domain, with_single, weights, seed):
    """Tables of pure noise: whatever they say must be made consistent."""
    generator = np.random.default_rng(seed)
    single = [(a,) for a in range(len(domain)) if with_single[a]]
    marginals = [*single, *combinations(range(len(domain)), 2)]
    cells = sum(int(np.prod([domain[a] for a in marginal])) for marginal in marginals)
    chosen = [weights[0]] * len(single) + [weights[1]] * (len(marginals) - len(single))
    laws = {weight: NoiseLaw(LAPLACE, Fraction(9, weight)) for weight in chosen}
    variances = {weight: 162.0 / weight**2 for weight in chosen}
    return NoisyTables(marginals, generator.integers(-50, 200, cells), domain, chosen, laws, variances, 1000)


@given(st.lists(st.integers(2, 5), min_size=2, max_size=5), st.data())
def test_it_is_what_the_general_algorithm_gives(domain, data):
    with_single = data.draw(st.lists(st.booleans(), min_size=len(domain), max_size=len(domain)))
    weights = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    tables = noisy(domain, with_single, weights, data.draw(st.integers(0, 99)))
    wanted = make_consistent(collect(tables), 1000)
    found = ConsistentPairs(tables, domain, 1000)
    seen = set()
    for stack in found.stacks():
        for a, b, counts, variance in zip(stack.first, stack.second, stack.counts, stack.variances, strict=True):
            pair = (int(a), int(b))
            seen.add(pair)
            assert counts == pytest.approx(wanted[pair].counts, abs=1e-8)
            assert variance == pytest.approx(wanted[pair].variance)
            assert counts.sum(axis=1) == pytest.approx(found.marginals[a], abs=1e-8)
            assert counts.sum(axis=0) == pytest.approx(found.marginals[b], abs=1e-8)
    assert seen == set(combinations(range(len(domain)), 2))


def test_stacks_in_many_blocks_are_the_same(monkeypatch):
    tables = noisy([2, 3, 2, 3, 2], [True] * 5, (2, 1), 5)
    whole = ConsistentPairs(tables, [2, 3, 2, 3, 2], 1000)
    monkeypatch.setattr(pair_consistency, "CELLS_AT_ONCE", 7)
    parts = ConsistentPairs(tables, [2, 3, 2, 3, 2], 1000)
    for one, other in zip(whole.marginals, parts.marginals, strict=True):
        assert one == pytest.approx(other)
    assert sum(len(stack.first) for stack in parts.stacks()) == 10
    assert max(stack.counts.size for stack in parts.stacks()) <= 9


def test_one_attribute_alone_has_its_own_table():
    tables = noisy([4], [True], (1, 1), 1)
    found = ConsistentPairs(tables, [4], 1000)
    assert found.marginals[0].sum() == pytest.approx(1000)
    assert not list(found.stacks())
