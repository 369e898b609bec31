"""A junction tree as a model: its law against the product of cliques over separators, its file, and what is none."""

import json

import numpy as np
import pytest

from privity.common.errors import PrivityError, ProblemsFound
from privity.common.formats import read_json
from privity.common.synthesis.models.conditionals import sample_codes
from privity.common.synthesis.models.junction_tree_model import Clique, JunctionTreeModel
from privity.common.synthesis.models.load_model import load_model
from tests.common.synthesis.models.test_bayesian_network import chi_square, counts_of, schema_of

DOMAIN = (2, 3, 2, 3, 2)
SCHEMA = schema_of(*DOMAIN)
CRITICAL_71 = 114.0
"""About the 0.999 quantile of the chi-square law with 71 degrees of freedom."""


def joint_of(seed):
    """A distribution over 0 to 4 in which 3 depends on the rest through 1 and 2 alone, and 4 on nothing."""
    generator = np.random.default_rng(seed)
    head = generator.integers(1, 30, DOMAIN[:3]).astype(float)
    following = generator.integers(1, 30, (3, 2, 3)).astype(float)
    joint = head[..., None] / head.sum() * (following / following.sum(axis=2, keepdims=True))[None]
    return joint[..., None] * np.array([0.2, 0.8])


JOINT = joint_of(3)
CLIQUES = [
    Clique((0, 1, 2), (), 900 * JOINT.sum(axis=(3, 4))),
    Clique((1, 2, 3), (1, 2), 70 * JOINT.sum(axis=(0, 4))),
    Clique((4,), (), JOINT.sum(axis=(0, 1, 2, 3))),
]
TREE = JunctionTreeModel(SCHEMA, CLIQUES)


@pytest.mark.parametrize("rows", [30_000, 140_000])
def test_samples_follow_the_product_of_cliques_over_separators(rows):
    counts = counts_of(TREE.sample(rows, np.random.default_rng(1)), DOMAIN)
    assert counts.sum() == rows
    assert chi_square(counts, JOINT) < CRITICAL_71
    assert chi_square(counts, joint_of(4)) > CRITICAL_71


def test_attributes_that_stand_in_no_clique_with_others_are_alone():
    assert TREE.alone == {4}


def test_each_row_is_drawn_from_its_own_column_of_weights():
    """Against one draw a row by numpy, in law: every cell of Pi apart, one of them never seen."""
    weights = np.array([[3.0, 0, 5, 0], [1, 4, 0, 0], [6, 4, 5, 0]])
    given = np.repeat(np.arange(4), 20_000)
    drawn = sample_codes(weights, given, np.random.default_rng(6))
    overall = weights.sum(axis=1)
    for cell in range(4):
        law = weights[:, cell] if cell < 3 else overall
        counts = np.bincount(drawn[given == cell], minlength=3)
        assert chi_square(counts, law / law.sum()) < 13.9  # 2 degrees of freedom, 0.999


def test_a_tree_comes_back_from_its_file(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(TREE.to_dict()))
    read = load_model(read_json(path), SCHEMA, "model.json")
    assert isinstance(read, JunctionTreeModel)
    assert read.to_dict() == TREE.to_dict()
    one, two = (some.sample(1000, np.random.default_rng(9)) for some in (TREE, read))
    assert all((a == b).all() for a, b in zip(one.columns, two.columns, strict=True))


def with_cliques(*cliques):
    return [*CLIQUES[:2], *cliques]


@pytest.mark.parametrize(
    "cliques",
    [
        [],
        CLIQUES[:2],
        [*CLIQUES, CLIQUES[2]],
        with_cliques(Clique((4, 4), (), np.ones((2, 2)))),
        with_cliques(Clique((9,), (), np.ones(2))),
        with_cliques(Clique((4,), (), np.ones(3))),
        with_cliques(Clique((4,), (), np.array([1, -1.0]))),
        with_cliques(Clique((4,), (), np.array([1, np.nan]))),
        with_cliques(Clique((4,), (), np.array([1e308, 1e308]))),
        [*CLIQUES, Clique((1, 2), (1, 2), np.ones((3, 2)))],  # draws nothing
        [CLIQUES[0], Clique((1, 2, 3), (1, 2, 2), np.ones((3, 2, 3))), CLIQUES[2]],
        with_cliques(Clique((4,), (1,), np.ones(2))),  # the separator is not in the clique
        with_cliques(Clique((0, 3, 4), (0, 3), np.ones((2, 3, 2)))),  # not within one earlier clique
        CLIQUES[::-1],  # the separator is not drawn yet
    ],
)
def test_what_is_no_tree_is_refused(cliques):
    with pytest.raises(ValueError):
        JunctionTreeModel(SCHEMA, cliques)


def changed(**last_clique):
    document = json.loads(json.dumps(TREE.to_dict()))
    document["cliques"][2].update(last_clique)
    return document


@pytest.mark.parametrize(
    "document",
    [
        changed(attributes=["height"]),
        changed(separator=["x4"]),
        changed(separator=["x0"]),
        changed(attributes=["x0"]),
        changed(weights=[1, 2, 3]),
        changed(weights=[[1], [2, 3]]),
        changed(weights=[1, -2]),
        changed(weights=[None, 1]),
        changed(weights=["a", "b"]),
        changed(weights=["1", "2"]),
        changed(weights=[True, False]),
        changed(weights=[{}, {}]),
        changed(weights=[10**400, 1]),
    ],
)
def test_a_document_that_is_no_tree_is_refused_as_tampered(document):
    with pytest.raises(PrivityError, match=r"model\.json") as caught:
        load_model(document, SCHEMA, "model.json")
    assert caught.value.code == "tampered"


def test_a_tree_of_another_schema_is_refused():
    with pytest.raises(PrivityError, match="another schema"):
        load_model(TREE.to_dict(), schema_of(2, 3, 2, 3, 3), "model.json")


def test_a_file_without_a_kind_lacks_the_kind_only():
    document = TREE.to_dict()
    del document["kind"]
    with pytest.raises(ProblemsFound) as caught:
        load_model(document, SCHEMA, "model.json")
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("cliques", [[], None, [3], [{"attributes": []}], {"x0": [1, 2]}])
def test_every_fault_of_the_format_is_named(cliques):
    document = {**TREE.to_dict(), "cliques": cliques, "colour": "red"}
    with pytest.raises(ProblemsFound, match="colour"):
        load_model(document, SCHEMA, "model.json")
