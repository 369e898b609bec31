"""Rules entered into a model, held against the whole joint distribution of small domains."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privity.common.data.coded_table import CodedTable, decode
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.data.row_constraints import decoded
from privity.common.data.schema import parse_schema
from privity.common.release import rules_in_model
from privity.common.release.rule_projection import LARGEST_WEIGHT, project
from privity.common.release.rules_in_model import with_rules
from privity.common.synthesis.models.bayesian_network import BayesianNetwork, Node
from privity.common.synthesis.models.junction_tree_model import Clique, JunctionTreeModel

FIELDS = [
    {"name": "start", "type": "integer", "edges": [0, 3, 5, 9], "missingValues": [""]},
    {"name": "end", "type": "integer", "edges": [0, 2, 6, 9], "missingValues": [""]},
    {"name": "state", "type": "string", "categories": ["never", "once", "often"]},
    {"name": "member", "type": "boolean"},
]
DOMAIN = (4, 4, 3, 2)
RULES = (
    "start <= end",
    "start == end or member",
    "start >= 4 or state == 'never'",
    "not missing(start) or missing(end)",
    "state != 'often' or member",
    "start < end or state == 'once' or member",
    "missing(end) or end > 1",
)


def schema_of(*rules):
    return parse_schema({"fields": FIELDS, **({"rowConstraints": list(rules)} if rules else {})}, "s")


def tree(schema, seed):
    """Cliques (start, state), (state, end), (end, member): no rule about two of the others lies in one."""
    generator = np.random.default_rng(seed)
    a, b, c = (
        generator.dirichlet(np.full(size, 0.7)).reshape(shape)
        for size, shape in ((12, (4, 3)), (12, (3, 4)), (8, (4, 2)))
    )
    return JunctionTreeModel(schema, [Clique((0, 2), (), a), Clique((2, 1), (2,), b), Clique((1, 3), (1,), c)])


def network(schema, seed):
    """The state has a generalised parent as well."""
    generator = np.random.default_rng(seed)
    level = schema.derived.levels(1)[1]
    shapes = {1: (), 0: (1,), 2: (level, 0), 3: (2,)}
    nodes = []
    for attribute, parents in shapes.items():
        shape = tuple(schema.derived.domain[a] for a in (attribute, *parents))
        nodes.append(
            Node(
                AttributeParentPair(attribute, parents),
                generator.dirichlet(np.ones(int(np.prod(shape)))).reshape(shape),
            )
        )
    return BayesianNetwork(schema, nodes)


def joint(model):
    """Of every combination of codes: the product of what is drawn given what was drawn before."""
    found = np.ones(DOMAIN)
    axes = "abcd"
    if isinstance(model, JunctionTreeModel):
        parts = [(c.attributes, c.separator, c.weights) for c in model.cliques]
        for attributes, separator, weights in parts:
            summed = tuple(axis for axis, a in enumerate(attributes) if a not in separator)
            below = weights.sum(axis=summed, keepdims=True)
            part = np.divide(weights, below, out=np.zeros_like(weights), where=below > 0)
            found = np.einsum(f"abcd,{''.join(axes[a] for a in attributes)}->abcd", found, part)
        return found
    derived = model.schema.derived
    for node in model.nodes:
        part = node.weights / node.weights.sum(axis=0)
        bases = [derived.base[a] for a in node.pair.marginal]
        for axis, (a, base) in enumerate(zip(node.pair.marginal, bases, strict=True)):
            part = np.take(part, derived.derive(a, np.arange(DOMAIN[base])), axis=axis)
        found = np.einsum(f"abcd,{''.join(axes[a] for a in bases)}->abcd", found, part)
    return found


def possible_by_values(schema):
    """Which combinations of codes some values meet all rules with, by trying every value."""
    numbers = [*map(str, range(10)), ""]
    every = [list(values) for values in zip(*product(numbers, numbers, range(3), range(2)), strict=True)]
    attributes = dict(zip(schema.names, schema.attributes, strict=True))
    codes = [[attributes[name].code_of(text) for text in every[place]] for place, name in enumerate(("start", "end"))]
    table = CodedTable(schema, tuple(np.array(column) for column in (*codes, *every[2:])))
    frame = decode(table, np.random.default_rng(0))
    for place, name in enumerate(("start", "end")):
        frame[name] = np.array([int(text) if text else "" for text in every[place]], dtype=object)
    rows = decoded(schema.row_constraints, attributes, dict(zip(schema.names, table.columns, strict=True)), frame)
    met = ~np.logical_or.reduce([rule.refused(rows) for rule in schema.row_constraints])
    found = np.zeros(DOMAIN, dtype=bool)
    found[tuple(column[met] for column in table.columns)] = True
    return found


def nearest(cells, allowed, touched):
    """Iterative proportional fitting of the whole joint distribution."""
    found = np.where(allowed, cells, 0.0)
    for _ in range(5000):
        before = found
        for a in touched:
            others = tuple(b for b in range(4) if b != a)
            now = found.sum(axis=others, keepdims=True)
            found = found * np.divide(cells.sum(axis=others, keepdims=True), now, out=np.zeros_like(now), where=now > 0)
        if np.abs(found - before).sum() < 1e-12:
            break
    return found


@pytest.mark.parametrize("made", [tree, network])
@pytest.mark.parametrize("rules", [*[(rule,) for rule in RULES], RULES[:1] + RULES[3:5], RULES[2:4]])
def test_the_model_with_rules_is_the_nearest_distribution_that_keeps_the_marginals(made, rules):
    schema = schema_of(*rules)
    model = made(schema, 3)
    cells, allowed = joint(model), possible_by_values(schema)
    touched = sorted({schema.index(name) for rule in schema.row_constraints for name in rule.attributes})
    expected = nearest(cells, allowed, touched)
    # Where no distribution has all marginals, what is left still has no row that breaks a rule.
    kept = all(
        np.allclose(
            expected.sum(axis=tuple(b for b in range(4) if b != a)),
            cells.sum(axis=tuple(b for b in range(4) if b != a)),
            atol=1e-6,
        )
        for a in touched
    )
    ruled, entered = with_rules(model, schema.row_constraints)
    assert entered == schema.row_constraints
    found = joint(ruled)
    assert found.sum() == pytest.approx(1)
    assert not found[~allowed].any()
    assert kept or len(rules) > 1 or rules[0] in RULES[1:]
    if kept:
        assert 0.5 * np.abs(found - expected).sum() < 1e-4


@pytest.mark.parametrize("rule", RULES)
def test_possible_codes_are_those_of_some_values(rule):
    schema = schema_of(rule)
    (constraint,) = schema.row_constraints
    found = constraint.possible(dict(zip(schema.names, schema.attributes, strict=True)))
    expected = possible_by_values(schema)
    indices = [schema.index(name) for name in constraint.attributes]
    expected = expected.any(axis=tuple(a for a in range(4) if a not in indices))
    assert np.array_equal(found, expected.transpose([sorted(indices).index(a) for a in indices]))


def test_rules_over_too_many_cells_are_not_entered_and_others_are(monkeypatch):
    schema = schema_of(*RULES[:1], RULES[4])
    model = tree(schema, 3)
    monkeypatch.setattr(rules_in_model, "MOST_CELLS", 40)
    assert with_rules(model, schema.row_constraints)[1] == schema.row_constraints[1:]
    monkeypatch.setattr(rules_in_model, "MOST_CELLS", 4)
    assert with_rules(model, schema.row_constraints) == (model, ())


def test_a_rule_that_the_model_takes_to_be_impossible_is_not_entered():
    schema = schema_of("start >= 5")
    weights = np.zeros((4, 3))
    weights[0] = 1.0
    model = JunctionTreeModel(
        schema, [Clique((0, 2), (), weights), Clique((1,), (), np.ones(4)), Clique((3,), (), np.ones(2))]
    )
    assert with_rules(model, schema.row_constraints) == (model, ())


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), share=st.floats(0.05, 0.95))
def test_weights_keep_marginals_where_they_can_and_never_run_away(seed, share):
    generator = np.random.default_rng(seed)
    schema = schema_of()
    columns = tuple(generator.integers(0, size, 4000) for size in DOMAIN)
    met = (columns[0] + columns[1] < 5) | (generator.random(4000) < share)
    found = project(CodedTable(schema, columns), met, [0, 1])
    weights = found.weights(CodedTable(schema, tuple(column[met] for column in columns)))
    assert (weights > 0).all()
    assert weights.max() <= LARGEST_WEIGHT
    assert weights.mean() == pytest.approx(1, abs=0.05)
    for a in (0, 1):
        wanted = np.bincount(columns[a], minlength=DOMAIN[a]) / 4000
        kept = np.bincount(columns[a][met], weights=weights, minlength=DOMAIN[a]) / weights.sum()
        assert 0.5 * np.abs(wanted - kept).sum() < 0.01
