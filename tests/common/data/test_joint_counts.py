"""Joint counts of requests against tables one by one, and scores in batches against one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.contingency_tables import contingency_table
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.privacy.score_r import r_score, r_scores
from privity.party.answers_from_rows import PairScores
from privity.party.sources import rows as party_rows
from privity.party.sources.rows import InMemory


@given(st.lists(st.integers(2, 9), min_size=2, max_size=7), st.integers(0, 300), st.integers(0, 9), st.data())
def test_joint_counts_are_those_of_the_contingency_table_however_many_passes(make_table, domain, rows, seed, data):
    table = make_table(domain, rows, seed)
    requests = []
    for _ in range(data.draw(st.integers(0, 4))):
        order = data.draw(st.permutations(range(len(domain))))
        size = data.draw(st.integers(1, min(3, len(domain) - 1)))
        requests.append((tuple(order[:size]), order[size:]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(party_rows, "PASS_CELLS", data.draw(st.integers(1, 400)))
        found = list(InMemory(table).joint_counts(requests))
    assert len(found) == len(requests)
    for (parents, attributes), tables in zip(requests, found, strict=True):
        for attribute, counts in zip(attributes, tables, strict=True):
            expected = contingency_table(table, [attribute, *parents]).reshape(domain[attribute], -1)
            assert counts.dtype == np.int64
            assert counts.tolist() == expected.tolist()


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 5)), max_size=8), st.integers(0, 2**20), st.data())
def test_scores_in_batches_are_those_one_by_one(shapes, largest, data):
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    joints = [generator.integers(0, largest + 1, shape) for shape in shapes]
    assert r_scores(joints) == [r_score(joint) for joint in joints]


def test_scores_of_counts_beyond_64_bits_stay_exact():
    joints = [np.array([[2**31, 0], [0, 2**31]]), np.array([[1, 0], [0, 1]])]
    assert r_scores(joints) == [r_score(joint) for joint in joints]


@pytest.mark.parametrize("bad", [np.array([[-1, 2], [1, 1]]), np.ones((2, 2))])
def test_what_is_no_table_of_counts_is_refused(bad):
    with pytest.raises(ValueError, match=r"counts|integers"):
        r_scores([bad])


def test_known_scores_are_not_computed_again_until_they_are_forgotten(make_table, monkeypatch):
    table = make_table([2, 3, 4], 50)
    scores = PairScores(InMemory(table))
    pairs = [AttributeParentPair(0, (1,)), AttributeParentPair(1, (2, 0)), AttributeParentPair(2, (1,))]
    first = scores.of(pairs, "R")
    assert first.tolist() == [
        r_score(contingency_table(table, p.marginal).reshape(table.schema.domain[p.attribute], -1)) for p in pairs
    ]
    monkeypatch.setattr(InMemory, "count", lambda *_: pytest.fail("counted again"))
    assert scores.of(pairs[::-1], "R").tolist() == first[::-1].tolist()
    scores.forget()
    with pytest.raises(pytest.fail.Exception):
        scores.of(pairs, "R")
