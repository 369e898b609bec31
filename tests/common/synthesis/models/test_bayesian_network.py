"""A Bayesian network: its law, its file, and what is no network."""

import itertools
import json
from decimal import Decimal

import numpy as np
import pytest

from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.data.schema import parse_schema
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.formats import read_json
from privity.common.synthesis.models.bayesian_network import BayesianNetwork, Node

CRITICAL = {5: 20.5, 23: 49.7, 11: 31.3}
"""0.999 quantiles of the chi-square law, by degrees of freedom."""


def schema_of(*domain):
    fields = [{"name": f"x{a}", "type": "integer", "edges": list(range(size + 1))} for a, size in enumerate(domain)]
    return parse_schema({"fields": fields}, "small")


def node(attribute, parents, weights):
    return Node(AttributeParentPair(attribute, tuple(parents)), np.asarray(weights, dtype=float))


SCHEMA = schema_of(2, 3, 4)
# 1 -> 0, and both are parents of 2 in another order than their indices; nodes not in topological order.
GENERATOR = np.random.default_rng(2)
NODES = [
    node(2, (1, 0), GENERATOR.integers(0, 50, (4, 3, 2))),
    node(0, (1,), [[5, 1, 7], [5, 9, 3]]),
    node(1, (), [20, 50, 30]),
]
NETWORK = BayesianNetwork(SCHEMA, NODES)


def exact_joint():
    """Pr[x0, x1, x2] by the chain rule, cell by cell."""
    joint = np.zeros((2, 3, 4))
    given2, given0, first = NODES[0].weights, NODES[1].weights, NODES[2].weights
    for x0, x1, x2 in itertools.product(range(2), range(3), range(4)):
        joint[x0, x1, x2] = (
            (first[x1] / first.sum())
            * (given0[x0, x1] / given0[:, x1].sum())
            * (given2[x2, x1, x0] / given2[:, x1, x0].sum())
        )
    return joint


def counts_of(table, domain):
    cells = np.ravel_multi_index([c.astype(np.int64) for c in table.columns], domain)
    return np.bincount(cells, minlength=int(np.prod(domain))).reshape(domain)


def chi_square(counts, law):
    seen = law > 0
    assert counts[~seen].sum() == 0
    expected = law[seen] * counts.sum()
    return float(((counts[seen] - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("rows", [30_000, 140_000])  # within one block, and over several
def test_samples_follow_the_exact_joint(rows):
    law = exact_joint()
    assert law.sum() == pytest.approx(1)
    counts = counts_of(NETWORK.sample(rows, np.random.default_rng(1)), (2, 3, 4))
    assert counts.sum() == rows
    assert chi_square(counts, law) < CRITICAL[23]


def test_another_law_would_be_noticed():
    counts = counts_of(NETWORK.sample(30_000, np.random.default_rng(1)), (2, 3, 4))
    shifted = exact_joint()
    shifted[0, 1, 2] += 0.02
    assert chi_square(counts, shifted / shifted.sum()) > CRITICAL[23]


def test_where_the_parents_were_never_seen_the_attribute_follows_its_own_marginal():
    schema = schema_of(2, 2, 3)
    network = BayesianNetwork(
        schema,
        [
            node(0, (), [1, 1]),
            node(1, (), [1, 1]),
            node(2, (0, 1), [[[2, 0], [0, 1]], [[1, 0], [0, 1]], [[0, 0], [0, 5]]]),
        ],
    )
    counts = counts_of(network.sample(40_000, np.random.default_rng(3)), (2, 2, 3))
    overall = np.array([3, 2, 5]) / 10
    law = np.zeros((2, 2, 3))
    law[0, 0], law[1, 1] = np.array([2, 1, 0]) / 3, np.array([1, 1, 5]) / 7
    law[0, 1] = law[1, 0] = overall
    assert chi_square(counts, law / 4) < CRITICAL[11]


def test_a_table_without_any_weight_is_uniform():
    network = BayesianNetwork(schema_of(6), [node(0, (), np.zeros(6))])
    counts = counts_of(network.sample(12_000, np.random.default_rng(4)), (6,))
    assert chi_square(counts, np.full(6, 1 / 6)) < CRITICAL[5]


def test_a_category_without_weight_is_never_drawn():
    network = BayesianNetwork(schema_of(4), [node(0, (), [0, 1e-9, 1e9, 0])])
    assert set(network.sample(50_000, np.random.default_rng(5)).column(0).tolist()) <= {1, 2}


def test_samples_repeat_with_the_generator_and_have_the_schema_s_types():
    one, two = (NETWORK.sample(1000, np.random.default_rng(9)) for _ in range(2))
    assert all((a == b).all() for a, b in zip(one.columns, two.columns, strict=True))
    assert one.schema is SCHEMA
    assert [c.dtype for c in one.columns] == [np.uint8] * 3
    assert NETWORK.sample(0, np.random.default_rng(9)).rows == 0


def test_nodes_are_in_topological_order_and_parents_are_known():
    assert [n.pair.attribute for n in NETWORK.nodes] == [1, 0, 2]
    assert NETWORK.parents == {0: (1,), 1: (), 2: (1, 0)}


def test_a_network_comes_back_from_its_file(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(NETWORK.to_dict()))
    read = BayesianNetwork.from_dict(read_json(path), SCHEMA, "model.json")
    assert read.parents == NETWORK.parents
    for mine, other in zip(NETWORK.nodes, read.nodes, strict=True):
        assert mine.pair == other.pair
        assert (mine.weights == other.weights).all()
    assert read.to_dict() == NETWORK.to_dict()


def test_exact_decimals_are_read_as_the_nearest_double():
    document = NETWORK.to_dict()
    document["nodes"][0]["weights"] = [Decimal("0.1"), 2, Decimal("3e2")]
    assert BayesianNetwork.from_dict(document, SCHEMA, "m").nodes[0].weights.tolist() == [0.1, 2.0, 300.0]


@pytest.mark.parametrize(
    "nodes",
    [
        NODES[:2],
        [*NODES, NODES[0]],
        [*NODES[:2], node(1, (), [1, 1])],
        [*NODES[:2], node(1, (), [1, -1, 1])],
        [*NODES[:2], node(1, (), [1, np.nan, 1])],
        [*NODES[:2], node(1, (), [1, np.inf, 1])],
        [*NODES[:2], node(1, (0,), np.ones((3, 2)))],  # 1 -> 0 -> 1
        [*NODES[:2], node(1, (1,), np.ones((3, 3)))],
        [*NODES[1:], node(2, (1, 1), np.ones((4, 3, 3)))],
        [],
    ],
)
def test_what_is_no_network_is_refused(nodes):
    with pytest.raises(ValueError):
        BayesianNetwork(SCHEMA, nodes)


def test_a_cycle_is_named():
    with pytest.raises(ValueError, match="cycle"):
        BayesianNetwork(SCHEMA, [*NODES[:2], node(1, (2,), np.ones((3, 4)))])


def changed(**first_node):
    document = json.loads(json.dumps(NETWORK.to_dict()))
    document["nodes"][0].update(first_node)
    return document


@pytest.mark.parametrize(
    "document",
    [
        changed(attribute="height"),
        changed(parents=["height"]),
        changed(parents=["x1"]),
        changed(parents=["x2"]),
        changed(attribute="x0"),
        changed(weights=[1, 2]),
        changed(weights=[[1], [2, 3], 4]),
        changed(weights=[1, -2, 3]),
        changed(weights=[None, 1, 2]),
        changed(weights=["a", "b", "c"]),
        changed(weights=["1", "2", "3"]),
        changed(weights=[{}, {}, {}]),
        changed(weights=[10**400, 1, 1]),
    ],
)
def test_a_document_that_is_no_network_is_refused_as_tampered(document):
    with pytest.raises(PrivityError, match=r"model\.json") as caught:
        BayesianNetwork.from_dict(document, SCHEMA, "model.json")
    assert caught.value.code == "tampered"


def test_a_model_of_another_schema_is_refused():
    with pytest.raises(PrivityError, match="another schema"):
        BayesianNetwork.from_dict(NETWORK.to_dict(), schema_of(2, 3, 5), "model.json")


def test_every_fault_of_the_format_is_named():
    document = changed(weights=3, colour="red")
    with pytest.raises(ProblemsFound) as caught:
        BayesianNetwork.from_dict(document, SCHEMA, "model.json")
    assert {p.field for p in caught.value.problems} == {"nodes[0].colour", "nodes[0].weights"}


def test_another_version_is_refused_by_that_alone():
    document = changed(weights=3, colour="red")
    document["format_version"] = 2
    with pytest.raises(ProblemsFound) as caught:
        BayesianNetwork.from_dict(document, SCHEMA, "model.json")
    assert {p.field for p in caught.value.problems} == {"format_version"}
