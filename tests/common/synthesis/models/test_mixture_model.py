"""A mixture of models: proportions, its file, and what is none."""

import json

import numpy as np
import pytest

from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.synthesis.models.bayesian_network import BayesianNetwork, Node
from privity.common.synthesis.models.load_model import load_model
from privity.common.synthesis.models.mixture_model import Mixture, Part


def constant(schema, code):
    """A model in which every attribute always has this code."""
    nodes = [Node(AttributeParentPair(a, ()), np.eye(size)[code]) for a, size in enumerate(schema.domain)]
    return BayesianNetwork(schema, nodes)


@pytest.fixture
def mixture(make_table):
    schema = make_table([3, 2], 1).schema
    return Mixture([Part(30, constant(schema, 0)), Part(10, constant(schema, 1))])


def test_rows_come_in_the_parts_proportions_and_shuffled(mixture):
    table = mixture.sample(400, np.random.default_rng(1))
    assert np.bincount(table.columns[0]).tolist() == [300, 100]
    assert (table.columns[0] == table.columns[1]).all()
    assert 25 < table.columns[0][:200].sum() < 75


def test_a_model_of_any_kind_is_read_back(mixture):
    document = json.loads(json.dumps(mixture.to_dict()))
    again = load_model(document, mixture.schema, "model.json")
    assert again.to_dict() == mixture.to_dict()
    single = mixture.parts[0].model
    assert load_model(single.to_dict(), mixture.schema, "m").to_dict() == single.to_dict()


def test_what_is_no_model_is_refused(mixture, make_table):
    document = mixture.to_dict()
    with pytest.raises(ProblemsFound):
        load_model({**document, "nodes": []}, mixture.schema, "m")
    with pytest.raises(ProblemsFound):
        load_model({k: v for k, v in document.items() if k != "parts"}, mixture.schema, "m")
    with pytest.raises(PrivityError, match="another schema"):
        load_model(document, make_table([2, 2], 1).schema, "m")
    other = constant(make_table([2, 2], 1).schema, 0)
    with pytest.raises(ValueError, match="different schemas"):
        Mixture([*mixture.parts, Part(1, other)])
    with pytest.raises(ValueError, match="rows"):
        Mixture([Part(0, other)])
