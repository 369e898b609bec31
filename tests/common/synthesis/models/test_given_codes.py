"""Codes given all others: the law of the draws is that of enumeration, for trees and for networks of bits."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.data.schema import parse_schema
from privity.common.synthesis.models.bayesian_network import BayesianNetwork, Node
from privity.common.synthesis.models.conditionals import conditional
from privity.common.synthesis.models.given_codes import GivenCodes
from privity.common.synthesis.models.junction_tree_model import Clique, JunctionTreeModel

SIZES = (3, 2, 4, 3, 2)
ROWS = 20_000


def schema_of(sizes):
    fields = [{"name": f"a{place}", "type": "integer", "categories": list(range(s))} for place, s in enumerate(sizes)]
    return parse_schema({"fields": fields}, "x")


def tree(generator):
    cliques = [((0, 1, 2), ()), ((3, 1, 2), (1, 2)), ((2, 4), (2,))]
    return JunctionTreeModel(
        schema_of(SIZES), [Clique(at, sep, generator.random([SIZES[a] for a in at])) for at, sep in cliques]
    )


def network(generator):
    """One attribute of four codes is drawn bit by bit, and another one depends on its bits."""
    schema = schema_of(SIZES)
    derived = schema.derived
    high, low = derived.bits(2)
    pairs = [(0, ()), (1, (0,)), (high, (1,)), (low, (high, 0)), (3, (2,)), (4, (low, 3))]
    nodes = [
        Node(AttributeParentPair(a, parents), generator.random([derived.domain[i] for i in (a, *parents)]) + 0.05)
        for a, parents in pairs
    ]
    return BayesianNetwork(schema, nodes)


def joint(model):
    """The distribution, cell by cell."""
    derived = model.schema.derived
    law = np.ones(SIZES)
    parts = (
        [(node.pair.marginal, 1, node.weights) for node in model.nodes]
        if isinstance(model, BayesianNetwork)
        else [
            (
                (*clique.new, *clique.separator),
                len(clique.new),
                clique.weights.transpose([clique.attributes.index(a) for a in (*clique.new, *clique.separator)]),
            )
            for clique in model.cliques
        ]
    )
    for cell in itertools.product(*map(range, SIZES)):
        for attributes, new, weights in parts:
            shape = weights.shape
            table = conditional(weights.reshape(math.prod(shape[:new]), -1)).reshape(shape)
            codes = tuple(int(derived.derive(a, np.array(cell[derived.base[a]]))) for a in attributes)
            law[cell] *= table[codes]
    return law / law.sum()


@pytest.mark.parametrize("made", [tree, network])
@settings(max_examples=8)
@given(seed=st.integers(0, 1000), unknown=st.sets(st.integers(0, 4), min_size=1, max_size=4))
def test_draws_have_the_law_of_enumeration(made, seed, unknown):
    generator = np.random.default_rng(seed)
    model = made(generator)
    left = sorted(set(range(5)) - unknown)
    codes = {a: int(generator.integers(SIZES[a])) for a in left}
    weights = {a: generator.random(SIZES[a]) + 0.1 for a in unknown}
    law = joint(model)[tuple(codes.get(a, slice(None)) for a in range(5))]
    for axis, a in enumerate(sorted(unknown)):
        law = law * weights[a].reshape([-1 if place == axis else 1 for place in range(law.ndim)])
    law = law / law.sum()
    asked = GivenCodes(model, sorted(unknown))
    known = {a: np.full(ROWS, code) for a, code in codes.items()}
    drawn = asked.draw(known or {0: np.zeros(ROWS, dtype=np.int64)}, generator, weights)
    cells = np.ravel_multi_index([drawn[a] for a in sorted(unknown)], law.shape)
    found = np.bincount(cells, minlength=law.size) / ROWS
    assert np.abs(found - law.ravel()).max() < 5 * 0.5 / math.sqrt(ROWS)
    for axis, a in enumerate(sorted(unknown)):
        others = tuple(place for place in range(law.ndim) if place != axis)
        few = {b: of[:3] for b, of in known.items()} or {0: np.zeros(3, dtype=np.int64)}
        np.testing.assert_allclose(asked.law(a, few, weights, np.ones(3)), law.sum(axis=others), atol=1e-6)


def test_each_row_has_its_own_law(monkeypatch):
    """Rows that are drawn some at a time are drawn by their own codes and weights."""
    generator = np.random.default_rng(3)
    model = tree(generator)
    monkeypatch.setattr("privity.common.synthesis.models.given_codes.CELLS_AT_ONCE", 100)
    asked = GivenCodes(model, [2])
    known = {a: generator.integers(0, SIZES[a], 3 * ROWS) for a in (0, 1, 3, 4)}
    only = np.zeros((3 * ROWS, 4))
    only[np.arange(3 * ROWS), generator.integers(0, 4, 3 * ROWS)] = 1
    assert (asked.draw(known, generator, {2: only})[2] == only.argmax(axis=1)).all()
    law = joint(model)
    drawn = asked.draw(known, generator, {})[2]
    for cell in itertools.product(*(range(SIZES[a]) for a in (0, 1, 3, 4))):
        some = np.logical_and.reduce([known[a] == code for a, code in zip((0, 1, 3, 4), cell, strict=True)])
        wanted = law[cell[0], cell[1], :, cell[2], cell[3]]
        found = np.bincount(drawn[some], minlength=4) / some.sum()
        assert np.abs(found - wanted / wanted.sum()).max() < 5 * 0.5 / math.sqrt(some.sum())


class Other:
    """A model that is no product of conditionals."""

    schema = schema_of(SIZES)


def test_what_has_no_conditionals_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="no conditionals"):
        GivenCodes(Other(), [0])
    monkeypatch.setattr("privity.common.synthesis.models.given_codes.CELLS_AT_ONCE", 10)
    with pytest.raises(ValueError, match="depend on each other in 24 cells"):
        GivenCodes(tree(np.random.default_rng(1)), [0, 1, 2])
