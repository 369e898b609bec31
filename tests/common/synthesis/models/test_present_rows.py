"""Synthetic tables of models that know absent rows: none of them is absent, and the others are as they were."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.data.schema import parse_schema
from privity.common.data.table_reading import encode
from privity.common.privacy.ledger import Allowance
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.session import complete
from privity.common.release.evaluation.marginal_distance import marginal_distances
from privity.common.release.synthetic_rows import rows_to_publish, synthesise
from privity.common.storage.journal import MEMORY, Journal
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.models.bayesian_network import BayesianNetwork, Node
from privity.common.synthesis.models.copula_model import CopulaModel
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel
from privity.common.synthesis.models.mixture_model import Mixture, Part
from privity.common.synthesis.models.present_rows import present_count, sample_present
from privity.party.charged_releases import ChargedReleases
from privity.party.local_backend import local_session
from privity.party.sources.rows import InMemory
from tests.harness.ledgers import declared
from tests.harness.long import long_but

FIELDS = [
    {"name": "age", "type": "integer", "edges": [0, 1, 2, 3, 4, 5, 6]},
    {
        "name": "work",
        "type": "string",
        "categories": list("abcd"),
        "taxonomy": {"x": ["a", "b"], "y": ["c", "d"]},
    },
    {"name": "member", "type": "boolean"},
    {"name": "grade", "type": "integer", "categories": [1, 2, 3], "missingValues": [""]},
    {"name": "ward", "type": "string", "categories": ["n", "s"]},
]
SCHEMA = parse_schema({"absentRows": True, "fields": FIELDS}, "s")
ROWS = 10_000
EPSILON = Fraction(200)


def visits(rows, seed=0):
    """Rows whose attributes hang together, none absent."""
    generator = np.random.default_rng(seed)
    age = generator.choice(6, rows, p=[0.3, 0.25, 0.2, 0.15, 0.07, 0.03])
    work = (age // 2 + generator.choice(3, rows, p=[0.7, 0.2, 0.1])) % 4
    member = (generator.random(rows) < 0.15 + 0.7 * (work < 2)).astype(int)
    grade = np.where(generator.random(rows) < 0.8, work % 3, 3)
    ward = (generator.random(rows) < 0.3).astype(int)
    return CodedTable(SCHEMA, (age, work, member, grade, ward))


def learn(algorithm, table, options):
    allowance = Allowance(budget=PureBudget(EPSILON))
    releases = ChargedReleases("owner", InMemory(table), Journal(MEMORY), declared())
    session = local_session("run", releases, allowance)
    return complete(ALGORITHMS[algorithm].learn(session, session.budget.whole, options))


# Algorithm, settings, kind of model, attributes, and what its 2-way marginals may err by; None where it knows none.
EVERY, FEW = [field["name"] for field in FIELDS], ["work", "member", "ward"]
LIGHT = {"inference": "tables"}
WIDE = {"score": "R", "largest_degree": 5}
MODELS = {
    "one-way": ("one-way", {}, BayesianNetwork, EVERY, None),
    "tree": ("dp-subn", LIGHT, BayesianNetwork, EVERY, 0.03),
    "graphical": ("dp-subn", {}, JunctionTreeModel, EVERY, 0.03),
    "vanilla": ("privbayes", {"encoding": "vanilla", **LIGHT}, BayesianNetwork, EVERY, 0.03),
    "hierarchical": ("privbayes", {"encoding": "hierarchical", **LIGHT}, BayesianNetwork, EVERY, 0.03),
    # Bits tell that a row is absent only together: few attributes and many parents, or the model is too coarse.
    "binary": ("privbayes", {"encoding": "binary", **WIDE}, BayesianNetwork, FEW, 0.03),
    "gray": ("privbayes", {"encoding": "gray", **WIDE}, BayesianNetwork, FEW, 0.03),
    "jtree": ("jtree", {}, JunctionTreeModel, EVERY, 0.03),
    "privhd": ("privhd", {}, JunctionTreeModel, EVERY, 0.03),
    "mst": ("mst", {}, JunctionTreeModel, EVERY, 0.03),
    "aim": ("aim", {}, JunctionTreeModel, EVERY, 0.03),
    "copula": ("copula", {}, CopulaModel, EVERY, 0.08),
    "mixture": ("independent", {}, Mixture, EVERY, 0.03),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", long_but(["one-way", "tree", "binary", "privhd", "mst", "copula", "mixture"], MODELS))
def test_synthetic_rows_are_like_those_of_the_table_that_are_there(name):
    """Half of the rows are absent. Drawing so few rows alone errs by about .007."""
    algorithm, options, kind, attributes, tolerance = MODELS[name]
    present = visits(ROWS // 2).over(attributes)
    model = learn(algorithm, present.with_absent(ROWS // 2), options)
    assert isinstance(model, kind)
    sampled = sample_present(model, ROWS // 2, np.random.default_rng(1))
    assert sampled.rows == ROWS // 2
    assert not sampled.absent().any()
    distances = marginal_distances(present, sampled, ways=(1, 2))
    assert distances["tvd1_max"] < 0.04
    assert tolerance is None or distances["tvd2"] < tolerance
    assert abs(present_count(model, ROWS, np.random.default_rng(2)) - ROWS // 2) < 300


def tables(draw, shape):
    return np.array(draw(st.lists(st.integers(0, 9), min_size=int(np.prod(shape)), max_size=int(np.prod(shape)))))


@st.composite
def networks(draw):
    """Any chain over three attributes, absent cells wherever its weights put them."""
    schema = SCHEMA.over(FEW)
    nodes = []
    for a, size in enumerate(schema.domain):
        parents = (a - 1,) if a and draw(st.booleans()) else ()
        shape = (size, *(schema.domain[p] for p in parents))
        weights = tables(draw, shape).reshape(shape).astype(float)
        nodes.append(Node(AttributeParentPair(a, parents), weights + 0.01))
    return BayesianNetwork(schema, nodes)


def joint(network):
    """The distribution of a chain, by multiplication."""
    product = np.ones(network.schema.domain)
    for node in network.nodes:
        a, parents = node.pair.attribute, node.pair.parents
        shares = node.weights / node.weights.sum(axis=0)
        order = [a, *parents]
        axes = [order.index(i) for i in sorted(order)]
        shape = [size if i in order else 1 for i, size in enumerate(network.schema.domain)]
        product = product * shares.transpose(axes).reshape(shape)
    return product


@given(networks(), st.integers(0, 2**32))
def test_rejection_samples_the_distribution_given_that_nothing_is_absent(network, seed):
    whole = joint(network)
    expected = whole[:-1, :-1, :-1]
    best = min(1 - whole.sum(axis=tuple({0, 1, 2} - {a})).take(-1) for a in range(3))
    if expected.sum() < max(best / 8, 0.02):
        return  # filled up: see below
    sampled = sample_present(network, 20_000, np.random.default_rng(seed))
    assert not sampled.absent().any()
    found = np.zeros(expected.shape)
    np.add.at(found, tuple(c.astype(int) for c in sampled.columns), 1 / 20_000)
    assert np.abs(found - expected / expected.sum()).sum() / 2 < 0.03


def alone(schema, present):
    """Independent attributes, each absent in all but so much of the rows."""
    nodes = []
    for a, attribute in enumerate(schema.attributes):
        codes = np.arange(1.0, attribute.present + 1)
        weights = np.append(codes / codes.sum() * present, 1 - present)
        nodes.append(Node(AttributeParentPair(a, ()), weights))
    return BayesianNetwork(schema, nodes)


def wide(attributes):
    fields = [{"name": f"x{a}", "type": "string", "categories": list("abc")} for a in range(attributes)]
    return parse_schema({"absentRows": True, "fields": fields}, "wide")


@pytest.mark.parametrize("present", [0.5, 0.05])
def test_independent_attributes_keep_their_distributions_where_hardly_any_row_is_whole(present):
    schema = wide(12)
    sampled = sample_present(alone(schema, present), 20_000, np.random.default_rng(3))
    assert sampled.rows == 20_000
    assert not sampled.absent().any()
    for column in sampled.columns:
        assert np.bincount(column, minlength=4) / 20_000 == pytest.approx([1 / 6, 2 / 6, 3 / 6, 0], abs=0.02)
    table = np.zeros((3, 3))
    np.add.at(table, (sampled.columns[0], sampled.columns[7]), 1 / 20_000)
    assert table == pytest.approx(np.outer([1 / 6, 2 / 6, 3 / 6], [1 / 6, 2 / 6, 3 / 6]), abs=0.02)


@pytest.mark.parametrize("present", [0.5, 0.1])
def test_attributes_that_stand_alone_leave_the_tree_beside_them_as_it_was(present):
    """Two attributes that are equal and absent together, ten that the model joins to nothing."""
    schema = wide(12)
    nodes = list(alone(schema, present).nodes)
    nodes[1] = Node(AttributeParentPair(1, (0,)), np.eye(4))
    sampled = sample_present(BayesianNetwork(schema, nodes), 5_000, np.random.default_rng(4))
    assert not sampled.absent().any()
    assert (sampled.columns[0] == sampled.columns[1]).mean() > 0.98


def test_an_attribute_that_is_always_absent_gets_any_of_its_codes():
    schema = wide(2)
    nodes = [
        Node(AttributeParentPair(0, ()), np.array([0, 0, 0, 1.0])),
        Node(AttributeParentPair(1, ()), np.array([0, 1, 0, 1.0])),
    ]
    model = BayesianNetwork(schema, nodes)
    sampled = sample_present(model, 3_000, np.random.default_rng(5))
    assert np.bincount(sampled.columns[0]) / 3_000 == pytest.approx([1 / 3] * 3, abs=0.05)
    assert set(sampled.columns[1].tolist()) == {1}
    assert present_count(model, 1_000, np.random.default_rng(6)) in range(240, 260)
    nothing = BayesianNetwork(schema, [nodes[0], Node(AttributeParentPair(1, ()), np.array([0, 0, 0, 1.0]))])
    assert present_count(nothing, 1_000, np.random.default_rng(6)) == 1


@pytest.mark.parametrize("rows", [1, 7, 1_500])
@pytest.mark.parametrize("attributes", [1, 12])
def test_as_many_rows_as_asked_for_the_same_for_the_same_seed(rows, attributes):
    model = alone(wide(attributes), 0.5)
    frame = synthesise(model, rows, 8)
    assert len(frame) == rows
    assert frame.equals(synthesise(model, rows, 8))
    again = encode(frame.astype(str), model.schema, "synthetic")
    assert not again.absent().any()
    assert rows_to_publish(model, 4_000, 8) == rows_to_publish(model, 4_000, 8)
    assert abs(rows_to_publish(model, 4_000, 8) - 2_000) < 50


def test_how_many_are_there_is_told_of_a_sample_however_many_rows_are_stated():
    assert rows_to_publish(alone(wide(2), 0.5), 10**12, 8) == pytest.approx(10**12 / 2, rel=0.01)


def test_parts_of_a_mixture_enter_by_their_rows_that_are_there():
    """Of 300 rows 30 are there in one part, of 100 all in the other: three rows in thirteen are of the first one."""
    schema = wide(1)
    first = BayesianNetwork(schema, [Node(AttributeParentPair(0, ()), np.array([1.0, 0, 0, 9]))])
    second = BayesianNetwork(schema, [Node(AttributeParentPair(0, ()), np.array([0, 1.0, 0, 0]))])
    mixture = Mixture([Part(300, first), Part(100, second)])
    sampled = sample_present(mixture, 13_000, np.random.default_rng(9))
    assert np.bincount(sampled.columns[0])[0] == pytest.approx(3_000, abs=200)
    assert present_count(mixture, 4_000, np.random.default_rng(9)) == pytest.approx(1_300, abs=25)


def test_without_absent_rows_sampling_is_as_it_was(make_table):
    schema = make_table([3, 2], 1).schema
    model = BayesianNetwork(schema, [Node(AttributeParentPair(a, ()), np.ones(s)) for a, s in enumerate(schema.domain)])
    for rows in (1, 50):
        drawn = sample_present(model, rows, np.random.default_rng(2))
        assert [c.tolist() for c in drawn.columns] == [
            c.tolist() for c in model.sample(rows, np.random.default_rng(2)).columns
        ]
    assert rows_to_publish(model, 77, 1) == 77
