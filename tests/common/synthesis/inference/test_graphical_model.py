"""Graphical models against the full joint table: beliefs, partition function, 1-way and 2-way marginals."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from privity.common.synthesis.inference.graphical_model import GraphicalModel, Propagation, cells_of_tree, tree_over


@st.composite
def problems(draw):
    """Domain, tables over it (trees, loops, forests, attributes in none), and a seed of their potentials."""
    domain = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    attributes = range(len(domain))
    tables = st.lists(st.sampled_from(attributes), min_size=1, max_size=3, unique=True).map(lambda t: tuple(sorted(t)))
    return domain, draw(st.lists(tables, max_size=7, unique=True)), draw(st.integers(0, 2**32 - 1))


LOOP = ([2, 3, 4, 2, 3, 2], [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)], 1)
FOREST = ([3, 2, 4, 2, 3], [(0, 3), (1, 4)], 2)
STAR = ([2, 3, 2, 4], [(0, 3), (1, 3), (2, 3)], 3)
WIDE = ([2, 2, 3, 2, 2, 3], [(0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 5)], 4)


def built(domain, tables, seed):
    """The model, log Z as it says, and the joint table with its log Z by adding everything up."""
    propagation = Propagation(tree_over(tables, domain), domain)
    generator = np.random.default_rng(seed)
    potentials = [generator.normal(0, 3, shape) for shape in propagation.shapes]
    joint = np.zeros(domain)
    for clique, potential in zip(propagation.tree.cliques, potentials, strict=True):
        joint += potential.reshape([domain[a] if a in clique else 1 for a in range(len(domain))])
    total = np.exp(joint).sum()
    beliefs, logarithm = propagation.beliefs([potential.copy() for potential in potentials])
    return propagation, beliefs, logarithm, np.exp(joint) / total, math.log(total)


def onto(joint, attributes):
    """The marginal of a joint table, axes in the order given."""
    kept = sorted(attributes)
    table = joint.sum(axis=tuple(a for a in range(joint.ndim) if a not in kept))
    return table.transpose([kept.index(a) for a in attributes])


@given(problems())
@example(LOOP)
@example(FOREST)
@example(STAR)
@example(WIDE)
def test_beliefs_and_partition_function_are_those_of_the_joint_table(problem):
    propagation, beliefs, logarithm, joint, expected = built(*problem)
    assert logarithm == pytest.approx(expected, abs=1e-9)
    for clique, belief in zip(propagation.tree.cliques, beliefs, strict=True):
        np.testing.assert_allclose(belief, onto(joint, clique), rtol=1e-9, atol=1e-12)


@given(problems())
@example(LOOP)
@example(FOREST)
@example(STAR)
@example(WIDE)
def test_every_attribute_and_pair_is_that_of_the_joint_table(problem):
    propagation, beliefs, _, joint, _ = built(*problem)
    model = GraphicalModel(propagation, beliefs)
    attributes = range(len(problem[0]))
    for a in attributes:
        np.testing.assert_allclose(model.single[a], onto(joint, (a,)), rtol=1e-9, atol=1e-12)
    assert set(model.pairs) == set(combinations(attributes, 2))
    for pair, table in model.pairs.items():
        np.testing.assert_allclose(table, onto(joint, pair), rtol=1e-9, atol=1e-12)


@given(problems())
def test_each_table_is_within_a_clique_and_cells_are_those_of_the_cliques(problem):
    domain, tables, _ = problem
    tree = tree_over(tables, domain)
    propagation = Propagation(tree, domain)
    assert {a for clique in tree.cliques for a in clique} == set(range(len(domain)))
    for table in tables:
        home = tree.cliques[propagation.home(table)]
        assert set(table) <= set(home)
        smallest = min(math.prod(domain[a] for a in c) for c in tree.cliques if set(table) <= set(c))
        assert math.prod(domain[a] for a in home) == smallest
    assert cells_of_tree(tree, domain) == sum(math.prod(shape) for shape in propagation.shapes)


@given(st.lists(st.tuples(st.sampled_from([2, 3, 16]), st.integers(-1, 20)), min_size=1, max_size=12))
def test_the_tree_over_a_forest_is_the_forest(drawn):
    """MST measures its edges and nothing wider: a clique of three attributes would have no table."""
    domain = [size for size, _ in drawn]
    edges = [(hangs % place, place) for place, (_, hangs) in enumerate(drawn) if place and hangs >= 0]
    alone = set(range(len(domain))) - {a for edge in edges for a in edge}
    assert sorted(tree_over(edges, domain).cliques) == sorted([*edges, *((a,) for a in alone)])


def test_attributes_of_two_values_in_the_middle_of_a_forest_are_not_joined():
    """Three of them together have as many cells as two pairs."""
    domain = [2, 16, 2, 2, 2, 2, 2, 13, 4, 3, 7]
    edges = [(0, 5), (1, 5), (2, 7), (3, 4), (3, 7), (4, 5), (4, 9), (5, 8), (6, 9), (7, 10)]
    assert sorted(tree_over(edges, domain).cliques) == edges


def test_cells_without_probability_give_no_nonsense():
    """Where a separator's cell has no weight, nothing divides by it."""
    domain = [2, 2, 2]
    propagation = Propagation(tree_over([(0, 1), (1, 2)], domain), domain)
    potentials = [np.zeros(shape) for shape in propagation.shapes]
    for clique, potential in zip(propagation.tree.cliques, potentials, strict=True):
        potential[(slice(None),) * clique.index(1) + (1,)] = -2000.0
    beliefs, _ = propagation.beliefs(potentials)
    model = GraphicalModel(propagation, beliefs)
    assert model.single[1].tolist() == [1.0, 0.0]
    np.testing.assert_allclose(model.pairs[0, 2], np.full((2, 2), 0.25))


def test_a_release_has_weights_in_rows_and_samples_the_same_pairs(make_table):
    schema = make_table([2, 3, 2], 1).schema
    propagation, beliefs, _, joint, _ = built([2, 3, 2], [(0, 1), (1, 2)], 5)
    released = GraphicalModel(propagation, beliefs).release(schema, 1000)
    assert all(clique.weights.sum() == pytest.approx(1000) for clique in released.cliques)
    drawn = released.sample(200_000, np.random.default_rng(0))
    counts = np.zeros((2, 3, 2))
    np.add.at(counts, drawn.columns, 1)
    np.testing.assert_allclose(counts / 200_000, joint, atol=0.005)
