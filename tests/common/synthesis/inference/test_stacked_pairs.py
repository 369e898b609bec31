"""Tables of many pairs in one vector, against one table at a time."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from privity.common.synthesis.inference import graphical_model
from privity.common.synthesis.inference.graphical_model import (
    GraphicalModel,
    Propagation,
    cells_added_by_pairs,
    tree_over,
)
from privity.common.synthesis.inference.stacked_pairs import StackedPairs

DOMAIN = [2, 3, 2, 4, 3, 2, 2]
TABLES = [(0, 1), (1, 2), (4, 5)]


def model() -> GraphicalModel:
    propagation = Propagation(tree_over(TABLES, DOMAIN), DOMAIN)
    generator = np.random.default_rng(1)
    return GraphicalModel(propagation, propagation.beliefs([generator.normal(0, 1, s) for s in propagation.shapes])[0])


def test_some_pairs_are_those_of_all_and_marked_ones_keep_their_order():
    whole = model().pairs
    some = model().tables_of([(0, 2), (1, 3), (3, 6), (4, 5)])
    assert list(some) == [(0, 2), (1, 3), (3, 6), (4, 5)]
    for pair, table in some.items():
        np.testing.assert_array_equal(table, whole[pair])
    left = some.only(np.array([True, False, True, True]))
    assert list(left) == [(0, 2), (3, 6), (4, 5)]
    for pair, table in left.items():
        np.testing.assert_array_equal(table, whole[pair])
    np.testing.assert_allclose(left.sums(left.vector), 1)
    assert len(some.only(np.zeros(4, dtype=bool)).vector) == 0


def test_tables_of_one_shape_are_found_together():
    stacked = StackedPairs(list(combinations(range(len(DOMAIN)), 2)), DOMAIN)
    stacked.vector[:] = np.arange(stacked.vector.size)
    seen = []
    for places, cells in stacked.by_shape():
        for place, of_table in zip(places.tolist(), cells, strict=True):
            pair = tuple(stacked.pairs[place].tolist())
            np.testing.assert_array_equal(stacked[pair], of_table)
            seen.append(pair)
    assert sorted(seen) == list(combinations(range(len(DOMAIN)), 2))


def test_only_pairs_of_one_component_are_carried_along_the_tree(monkeypatch):
    """Of 500 attributes most are in components of their own: they cost a product, not a walk."""
    walked = []
    carried = graphical_model.GraphicalModel._pairs_of
    monkeypatch.setattr(GraphicalModel, "_pairs_of", lambda self, a: walked.append(a) or carried(self, a))
    found = model().pairs
    assert sorted(walked) == [0, 1, 4]
    np.testing.assert_allclose(found[3, 6], np.outer(model().single[3], model().single[6]))


def test_cells_added_are_none_within_a_clique_and_the_product_of_components():
    added = cells_added_by_pairs(tree_over(TABLES, DOMAIN), DOMAIN)
    assert (added == added.T).all()
    assert [added[pair] for pair in TABLES] == [0, 0, 0]
    assert added[3, 6] == DOMAIN[3] * DOMAIN[6]
    assert added[0, 4] == DOMAIN[0] * DOMAIN[4]
    assert added[0, 2] == DOMAIN[0] * DOMAIN[1] * DOMAIN[2]
