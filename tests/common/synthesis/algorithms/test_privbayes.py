"""PrivBayes: what it asks for, what it costs, and what its networks are."""

import asyncio
from fractions import Fraction

import numpy as np
import pytest

from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import parse_schema
from privity.common.errors import ProblemsFound
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.public_coin import public_coin
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.learning.encoding import levels_of
from privity.common.synthesis.learning.network_structure import Limits, useful_candidates


def run(tables, epsilon, settings=None):
    session = InProcessBackend(tables, PureBudget(epsilon)).session()
    # The light fit's model is the network itself.
    return session, asyncio.run(
        ALGORITHMS["privbayes"].learn(session, session.budget.whole, {"inference": "tables", **(settings or {})})
    )


@pytest.mark.parametrize("domain", [[3], [2, 2], [2, 5, 16, 3], [2] * 6])
@pytest.mark.parametrize("encoding", ["hierarchical", "vanilla", "binary", "gray"])
@pytest.mark.parametrize("parties", [1, 3])
def test_a_run_costs_epsilon_and_every_attribute_is_drawn(make_table, domain, encoding, parties):
    tables = [make_table(domain, 3000, seed) for seed in range(parties)]
    session, model = run(tables, Fraction(3, 2), {"encoding": encoding})
    assert max(release.ledger.spent() for release in session.backend.releases) == Fraction(3, 2)
    sample = model.sample(50, np.random.default_rng(1))
    assert sample.rows == 50
    bases = {model.schema.derived.base[node] for node in model.parents}
    assert bases == set(range(len(domain)))


def test_an_epsilon_too_small_for_any_table_models_every_attribute_alone_for_all_of_it(make_table):
    session, model = run([make_table([9, 9, 9], 20)], Fraction(1, 100))
    assert not any(model.parents.values())
    assert session.backend.releases[0].ledger.spent() == Fraction(1, 100)
    assert {cost.phase for cost in session.record.costs} == {"parameter learning"}


def test_wide_parents_are_generalised_so_that_two_of_them_fit():
    wide = {"type": "integer", "edges": list(range(17))}
    fields = [{"name": "x", "type": "boolean"}, {"name": "a", **wide}, {"name": "b", **wide}]
    schema = parse_schema({"fields": fields}, "small")
    levels = levels_of(schema, "hierarchical")
    domain = schema.derived.domain
    pairs = useful_candidates([0], [1, 2], Limits(levels, 32, 3), domain)
    sizes = {tuple(domain[p] for p in pair.parents) for pair in pairs}
    assert sizes == {(2, 8), (4, 4), (8, 2), (16,)}
    assert {schema.derived.base[p] for pair in pairs for p in pair.parents} == {1, 2}
    # A single parent is a candidate even if its table is not useful.
    narrow = useful_candidates([0], [1, 2], Limits(levels, 8, 3), domain)
    assert {pair.parents for pair in narrow} >= {(1,), (2,)}


def test_a_network_with_generalised_parents_keeps_what_they_tell():
    """The attribute is the exclusive or of two halves: only both parents together tell it."""
    generator = np.random.default_rng(4)
    first, second = (generator.integers(0, 64, 40_000) for _ in range(2))
    odd = (first >= 32) != (second >= 32)
    wide = {"type": "integer", "edges": list(range(65))}
    fields = [{"name": "a", **wide}, {"name": "b", **wide}, {"name": "odd", "type": "boolean"}]
    schema = parse_schema({"fields": fields}, "small")
    table = CodedTable(schema, (first.astype(np.uint8), second.astype(np.uint8), odd.astype(np.uint8)))
    _, model = run([table], Fraction(8), {"first_attribute": "a", "theta": "20"})
    sample = model.sample(5000, np.random.default_rng(1))
    a, b, drawn = sample.columns
    assert (((a >= 32) != (b >= 32)) == drawn).mean() > 0.9
    assert any(parent >= 3 for parents in model.parents.values() for parent in parents)


def test_a_table_inside_another_is_not_measured(make_table):
    """Binary attributes of degree 2: the first three stand in one table."""
    session, model = run([make_table([2] * 4, 50_000)], Fraction(4), {"largest_degree": 2})
    measured = [set(t.attributes) for phase, t in session.record.measured if len(t.attributes) > 1]
    assert len(measured) == 2
    assert not any(mine < other for mine in measured for other in measured)
    assert sorted(len(p) for p in model.parents.values()) == [0, 1, 2, 2]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"score": "F"}, "F is for binary"),
        ({"score": "X"}, "unknown"),
        ({"beta": "1"}, "at most 0.9"),
        ({"encoding": "odd", "theta": -3, "depth": 1}, "3 problems"),
    ],
)
def test_settings_that_cannot_be_are_named_together(people, settings, said):
    with pytest.raises(ProblemsFound) as caught:
        ALGORITHMS["privbayes"].read(settings, people)
    assert said in str(caught.value) or len(caught.value.problems) == int(said[0])


def test_f_is_allowed_where_all_bits_are_binary(people):
    assert ALGORITHMS["privbayes"].read({"score": "F", "encoding": "gray"}, people).score == "F"


def test_a_public_coin_is_uniform_and_repeatable():
    lots = [public_coin(f"run-{number}", "first", 5) for number in range(5000)]
    assert lots == [public_coin(f"run-{number}", "first", 5) for number in range(5000)]
    assert all(abs(lots.count(side) - 1000) < 150 for side in range(5))
    with pytest.raises(ValueError, match="side"):
        public_coin("run", "first", 0)
