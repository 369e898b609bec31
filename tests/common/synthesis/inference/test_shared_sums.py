"""Marginals summed from one another are those that are summed one by one; and so the other way round."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from privity.common.synthesis.inference.shared_sums import SharedSums


@st.composite
def some_marginals(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    attributes = sorted(draw(st.sets(st.integers(0, 40), min_size=len(sizes), max_size=len(sizes))))
    one = st.sets(st.sampled_from(attributes), min_size=1).map(lambda some: tuple(sorted(some)))
    return tuple(attributes), tuple(sizes), draw(st.lists(one, max_size=8))


@given(case=some_marginals(), seed=st.integers(0, 99))
def test_shared_sums_are_those_of_brute_force(case, seed):
    attributes, sizes, marginals = case
    generator = np.random.default_rng(seed)
    table = generator.integers(0, 1000, sizes).astype(float)
    shared = SharedSums(attributes, sizes, marginals)
    places = [tuple(attributes.index(a) for a in marginal) for marginal in marginals]
    for kept, found in zip(places, shared.sums(table), strict=True):
        assert (found == table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in kept))).all()
    parts = [generator.integers(0, 1000, [sizes[place] for place in kept]).astype(float) for kept in places]
    expected = np.zeros(sizes)
    for kept, part in zip(places, parts, strict=True):
        expected += part.reshape([size if place in kept else 1 for place, size in enumerate(sizes)])
    assert (shared.spread(parts) == expected).all()


def test_all_pairs_of_a_large_table_take_few_passes_over_it():
    attributes = tuple(range(12))
    pairs = [(a, b) for a in attributes for b in attributes if a < b]
    shared = SharedSums(attributes, [2] * 12, pairs)
    steps = shared._steps
    added = sum(int(np.prod(steps[step.parent].axes)) for step in steps[1:])
    assert added < 12 * 2**12 < len(pairs) * 2**12
