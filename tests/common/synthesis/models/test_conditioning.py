"""Models given some codes: the conditional distribution, by enumeration of all rows, without a row drawn in vain."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.data.schema import parse_schema
from privity.common.release.sampling_conditions import conditions_of
from privity.common.release.synthetic_rows import Patience, synthesise
from privity.common.synthesis.models.bayesian_network import BayesianNetwork, Node
from privity.common.synthesis.models.conditionals import conditional
from privity.common.synthesis.models.conditioning import conditioned
from privity.common.synthesis.models.junction_tree_model import Clique, JunctionTreeModel
from privity.common.synthesis.models.mixture_model import Mixture, Part

DOMAIN = (3, 2, 3, 2, 2)
SCHEMA = parse_schema(
    {"fields": [{"name": f"x{i}", "type": "integer", "categories": list(range(s))} for i, s in enumerate(DOMAIN)]}, "s"
)


def weights(shape, seed):
    generator = np.random.default_rng(seed)
    # Zeros too: cells of the given that were never seen.
    return generator.integers(0, 4, shape) * generator.random(shape)


def network(parents, seed):
    pairs = [AttributeParentPair(a, tuple(of)) for a, of in parents.items()]
    nodes = [Node(pair, weights([DOMAIN[a] for a in pair.marginal], [seed, pair.attribute])) for pair in pairs]
    return BayesianNetwork(SCHEMA, nodes)


def tree(cliques, seed):
    made = [Clique(tuple(a), tuple(s), weights([DOMAIN[x] for x in a], [seed, *a])) for a, s in cliques]
    return JunctionTreeModel(SCHEMA, made)


TREE = [((1, 0), ()), ((2, 1), (1,)), ((3, 0, 1), (1, 0)), ((4, 2), (2,))]
NETWORKS = {
    "chain": {0: (), 1: (0,), 2: (1,), 3: (2,), 4: (3,)},
    "star": {2: (), 0: (2,), 1: (2,), 3: (2,), 4: (2,)},
    "clique": {0: (), 1: (0,), 2: (0, 1), 3: (1, 0), 4: ()},
    "collider": {0: (), 1: (), 2: (0, 1), 3: (2,), 4: (3,)},
}


def joint(model):
    """Of every row its probability: the product of what the model draws from."""
    drawn = (
        [(c.new, c.separator, c.weights.transpose([c.attributes.index(a) for a in (*c.new, *c.separator)]))
         for c in model.cliques]
        if isinstance(model, JunctionTreeModel)
        else [((n.pair.attribute,), n.pair.parents, n.weights) for n in model.nodes]
    )  # fmt: skip
    found = np.ones(DOMAIN)
    for new, of, table in drawn:
        rows = math.prod(DOMAIN[a] for a in new)
        cells = conditional(table.reshape(rows, -1)).reshape(table.shape)
        for row in product(*map(range, DOMAIN)):
            found[row] *= cells[tuple(row[a] for a in (*new, *of))]
    return found


def given_codes(probabilities, codes):
    kept = np.zeros_like(probabilities)
    at = tuple(codes.get(a, slice(None)) for a in range(len(DOMAIN)))
    kept[at] = probabilities[at]
    return kept / kept.sum() if kept.sum() else None


def weights_of(codes):
    return {a: np.eye(DOMAIN[a])[code] for a, code in codes.items()}


WEIGHTS = st.dictionaries(st.sampled_from([1, 3, 4]), st.tuples(*[st.floats(0.01, 1)] * 2), min_size=1, max_size=3)
CODES = st.dictionaries(st.integers(0, 4), st.integers(0, 1), min_size=1, max_size=3)


@given(codes=CODES, seed=st.integers(0, 500), kind=st.sampled_from(["tree", "chain", "star", "clique"]))
def test_a_model_given_codes_is_the_conditional_distribution(codes, seed, kind):
    model = tree(TREE, seed) if kind == "tree" else network(NETWORKS[kind], seed)
    expected = given_codes(joint(model), codes)
    found, entered = conditioned(model, weights_of(codes))
    if expected is None:
        assert found is model or given_codes(joint(found), codes) is None
        return
    np.testing.assert_allclose(joint(found), expected, atol=1e-12)
    assert entered == codes.keys() or found is model


@given(weights=WEIGHTS, seed=st.integers(0, 500), kind=st.sampled_from(["tree", "chain", "clique"]))
def test_codes_that_are_wanted_in_part_count_by_their_weight(weights, seed, kind):
    model = tree(TREE, seed) if kind == "tree" else network(NETWORKS[kind], seed)
    expected = joint(model)
    for a, weight in weights.items():
        expected = expected * np.array(weight).reshape([-1 if a == b else 1 for b in range(len(DOMAIN))])
    found, _ = conditioned(model, {a: np.array(weight) for a, weight in weights.items()})
    np.testing.assert_allclose(joint(found), expected / expected.sum(), atol=1e-12)


@given(codes=CODES, seed=st.integers(0, 500))
def test_what_cannot_be_entered_is_left_and_the_rest_is_exact(codes, seed):
    """Two parents that are in no conditional together: what is below them is left to rejection."""
    model = network(NETWORKS["collider"], seed)
    expected = given_codes(joint(model), codes)
    if expected is None:
        return
    found = joint(conditioned(model, weights_of(codes))[0])
    entered = {a: code for a, code in codes.items() if a in (0, 1)}
    np.testing.assert_allclose(found, given_codes(joint(model), entered) if entered else joint(model), atol=1e-12)
    np.testing.assert_allclose(given_codes(found, codes), expected, atol=1e-12)


def test_rare_rows_are_found_without_drawing_others():
    table = np.array([[1 - 1e-9], [1e-9]]).reshape(2)
    model = BayesianNetwork(
        SCHEMA,
        [
            Node(AttributeParentPair(1, ()), table),
            *(Node(AttributeParentPair(a, (1,)), np.ones((DOMAIN[a], 2))) for a in (0, 2, 3, 4)),
        ],
    )
    frame = synthesise(model, 100, 1, conditions_of(SCHEMA, [("x1", "==", [1])]), Patience(1 << 10, 1))
    assert set(frame["x1"]) == {1}
    assert len(frame) == 100


@pytest.mark.parametrize("codes", [{}, {2: 1}])
def test_a_mixture_and_no_codes_leave_the_model_as_it_is(codes):
    model = network(NETWORKS["chain"], 1)
    mixture = Mixture([Part(1, model)])
    assert conditioned(mixture, weights_of(codes)) == (mixture, frozenset())
    assert conditioned(model, {})[0] is model
