"""Grouped candidates against the pairs one by one: order, text, sizes, checks and scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.contingency_tables import contingency_table
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.errors import PrivityError
from privity.common.privacy.noisy_max import SelectionNoise, noisy_max
from privity.common.privacy.structure_scores import SCORES
from privity.common.protocol import step_limits
from privity.common.protocol.candidate_pairs import CandidateGroup, Candidates, ParentSets
from privity.common.protocol.step_limits import check_candidates, check_tables, count_cells
from privity.party.answers_from_rows import PairScores, selection_sensitivity
from privity.party.sources.rows import InMemory

DOMAIN = [2, 3, 2, 5, 4]
SETS = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple), min_size=1, max_size=4).map(tuple)
PAIRS = st.lists(st.builds(AttributeParentPair, st.integers(0, 4), st.sampled_from([(1,), (0, 3), (2, 4, 1)])))
ODD = st.builds(AttributeParentPair, st.integers(-1, 9), st.lists(st.integers(-1, 9), max_size=3).map(tuple))


@given(PAIRS | st.lists(ODD))
def test_groups_are_the_pairs(pairs):
    grouped = Candidates.of(pairs)
    assert len(grouped) == len(pairs)
    assert list(grouped) == pairs
    assert grouped == pairs
    assert [grouped[place] for place in range(-len(pairs), len(pairs))] == pairs + pairs
    assert grouped.text == ";".join(",".join(map(str, pair.marginal)) for pair in pairs)
    assert Candidates.of(grouped) is grouped
    assert hash(grouped) == hash(Candidates.of(list(grouped)))
    with pytest.raises(IndexError):
        grouped[len(pairs)]


@given(st.lists(st.tuples(st.lists(st.integers(0, 4), max_size=3), SETS), max_size=4))
def test_groups_as_given_are_the_groups_of_their_pairs(groups):
    grouped = Candidates(CandidateGroup(attributes, ParentSets(sets)) for attributes, sets in groups)
    pairs = [AttributeParentPair(x, some) for attributes, sets in groups for x in attributes for some in sets]
    assert list(grouped) == pairs
    assert grouped == Candidates.of(pairs)
    assert grouped.cells(DOMAIN) == count_cells([pair.marginal for pair in pairs], DOMAIN)


def verdict(check, *arguments):
    try:
        check(*arguments)
    except PrivityError as error:
        return str(error)
    return "fine"


@given(PAIRS | st.lists(ODD), st.integers(1, 60), st.integers(1, 300))
def test_the_check_of_candidates_is_that_of_their_tables(make_table, pairs, table_cells, round_cells):
    derived = make_table(DOMAIN, 1).schema.derived
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step_limits, "TABLE_CELLS", table_cells)
        patch.setattr(step_limits, "ROUND_CELLS", round_cells)
        expected = verdict(check_tables, [pair.marginal for pair in pairs], derived)
        assert verdict(check_candidates, pairs, derived) == expected


@given(st.data())
def test_scores_and_sensitivity_are_those_of_each_pair(make_table, data):
    table = make_table(DOMAIN, data.draw(st.integers(1, 60)))
    scores = PairScores(InMemory(table))
    for _ in range(3):
        kind = data.draw(st.sampled_from("IR"))
        some = data.draw(st.permutations(range(5)))
        size = data.draw(st.integers(1, 3))
        sets = ParentSets([tuple(some[:size]), tuple(some[1 : size + 1])][: data.draw(st.integers(1, 2))])
        group = Candidates([CandidateGroup(some[size + 1 :], sets)])
        expected = [
            SCORES[kind].of([contingency_table(table, p.marginal).reshape(DOMAIN[p.attribute], -1)])[0] for p in group
        ]
        assert scores.of(group, kind).tolist() == expected
        if len(group):
            sizes = [(DOMAIN[p.attribute], int(np.prod([DOMAIN[q] for q in p.parents]))) for p in group]
            largest = max(SCORES[kind].sensitivity(table.rows, *both) for both in sizes)
            assert selection_sensitivity(group, DOMAIN, table.rows, kind) == largest


def test_scores_that_may_need_more_than_64_bits_stay_whole_numbers(make_table, monkeypatch):
    monkeypatch.setattr("privity.party.answers_from_rows.VECTOR_ROWS", 1)
    monkeypatch.setattr(
        "privity.party.answers_from_rows.SCORES", {"R": type("Huge", (), {"of": lambda joints: [2**70] * len(joints)})}
    )
    assert PairScores(InMemory(make_table([2, 3], 9))).of([AttributeParentPair(0, (1,))], "R").tolist() == [2**70]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6), st.data())
def test_the_noisy_maximum_of_an_array_is_that_of_a_list(scores, data):
    small = data.draw(st.booleans())
    scores = [score % 5 for score in scores] if small else scores
    added = data.draw(st.lists(st.integers(0, 3), min_size=len(scores), max_size=len(scores)))
    noise = SelectionNoise(np.array(added), np.array(data.draw(st.permutations(range(len(scores))))))
    assert noisy_max(np.array(scores, dtype=np.int64), noise) == noisy_max(scores, noise)


def test_single_parents_are_sets_of_one():
    assert ParentSets.single([3, 1]).sets == ((3,), (1,))
    assert [some.tolist() for some in ParentSets.single([3, 1]).by_length] == [[[3], [1]]]
    assert [some.tolist() for some in ParentSets([(1,), (2, 3), (4,)]).by_length] == [[[1], [4]], [[2, 3]]]
    assert ParentSets([()]).by_length[0].shape == (1, 0)
