"""Scores of a synthetic table: as by hand, and no more than one apart for a replaced row, whatever is asked."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.data.schema import parse_schema
from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.privacy.noisy_count_intervals import half_width
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.evaluation_scores import (
    DEEPEST_TREE,
    MOST_SHARES,
    Evaluation,
    MarginalScore,
    Score,
    ShareScore,
    Split,
    Tree,
    TreeScore,
    scores_from,
)
from privity.common.protocol.step_limits import TABLE_CELLS
from privity.common.release.evaluation import scores_over_parties
from privity.common.release.evaluation.marginal_distance import marginal_distances
from privity.common.release.evaluation.scores_over_parties import WIDEST, most_shares, scores_of, shares_of
from privity.common.runs.planned_run import planned_session
from privity.common.storage.canonical_json import canonical_bytes, parse
from privity.party.answers_from_rows import noisy_scores
from privity.party.sources.rows import InMemory
from tests.harness.consortium import make_schema

DOMAIN = (2, 3, 4)


@st.composite
def tables(draw, rows=st.integers(1, 25)) -> CodedTable:
    count = draw(rows)
    columns = (draw(st.lists(st.integers(0, size - 1), min_size=count, max_size=count)) for size in DOMAIN)
    return CodedTable(make_schema(DOMAIN), tuple(np.array(column, dtype=np.uint8) for column in columns))


def trees(target: int, depth: int = 3) -> st.SearchStrategy[Tree]:
    leaf = st.integers(0, DOMAIN[target] - 1)
    if not depth:
        return leaf
    others = [a for a in range(len(DOMAIN)) if a != target]
    below = trees(target, depth - 1)
    return leaf | st.builds(Split, st.sampled_from(others), st.integers(0, 5), below, below)


@st.composite
def marginal_scores(draw) -> MarginalScore:
    subsets = [some for way in (1, 2, 3) for some in combinations(range(len(DOMAIN)), way)]
    chosen = tuple(draw(st.lists(st.sampled_from(subsets), min_size=1, max_size=4, unique=True)))
    rows = draw(st.integers(1, 60))
    cells = sum(math.prod(DOMAIN[a] for a in table) for table in chosen)
    # Any numbers that a curator might send, not only those of a table.
    return MarginalScore(chosen, tuple(draw(st.lists(st.integers(0, rows), min_size=cells, max_size=cells))), rows)


@st.composite
def share_scores(draw) -> ShareScore:
    attribute = draw(st.integers(0, 2))
    first = draw(st.integers(0, DOMAIN[attribute] - 1))
    return ShareScore(attribute, first, draw(st.integers(first + 1, DOMAIN[attribute])))


tree_scores = st.integers(0, 2).flatmap(lambda target: trees(target).map(lambda tree: TreeScore(target, tree)))
scores: st.SearchStrategy[Score] = marginal_scores() | tree_scores | share_scores()


def value_of(score: Score, table: CodedTable) -> int:
    return int(noisy_scores([score], InMemory(table), np.zeros(1, dtype=np.int64))[0])


def predicted(tree: Tree, row: tuple[int, ...]) -> int:
    while isinstance(tree, Split):
        tree = tree.low if row[tree.attribute] <= tree.largest else tree.high
    return tree


@given(scores, tables(), st.data())
def test_a_replaced_row_changes_a_score_by_one_at_most(score, table, data):
    place = data.draw(st.integers(0, table.rows - 1))
    columns = [np.array(column) for column in table.columns]
    for column, size in zip(columns, DOMAIN, strict=True):
        column[place] = data.draw(st.integers(0, size - 1))
    assert score.fault(DOMAIN) is None
    before, after = value_of(score, table), value_of(score, CodedTable(table.schema, tuple(columns)))
    assert abs(before - after) <= 1
    assert 0 <= before <= table.rows


@given(marginal_scores(), tables())
def test_a_marginal_score_is_rows_times_the_mean_distance(score, table):
    apart, start = 0.0, 0
    for own in contingency_tables(table, score.tables):
        other = np.array(score.counts[start : start + own.size])
        start += own.size
        apart += np.abs(own.ravel() / table.rows - other / score.rows).sum() / 2
    expected = table.rows * apart / len(score.tables)
    assert value_of(score, table) in {min(table.rows, math.floor(expected + e)) for e in (-1e-9, 1e-9)}


@given(st.integers(0, 2).flatmap(lambda target: st.tuples(st.just(target), trees(target))), tables())
def test_a_tree_score_counts_the_rows_that_it_predicts_row_by_row(asked, table):
    target, tree = asked
    rows = list(zip(*(column.tolist() for column in table.columns), strict=True))
    assert value_of(TreeScore(target, tree), table) == sum(predicted(tree, row) == row[target] for row in rows)


@given(share_scores(), tables())
def test_a_share_counts_the_rows_with_its_codes(score, table):
    codes = table.columns[score.attribute].tolist()
    assert value_of(score, table) == sum(score.first <= code < score.end for code in codes)


@given(st.lists(scores, max_size=3))
def test_scores_travel_as_canonical_documents(asked):
    assert scores_from(parse(canonical_bytes([score.content() for score in asked]))) == tuple(asked)


@pytest.mark.parametrize(
    "content",
    [
        {},
        [{"kind": "tree", "attribute": True, "tree": 0}],
        [{"kind": "tree", "attribute": 0, "tree": [1, 2, 3]}],
        [{"kind": "tree", "attribute": 0, "tree": -1}],
        [{"kind": "share", "attribute": 0, "first": 0}],
        [{"kind": "share", "attribute": 0, "first": -1, "end": 1}],
        [{"kind": "else", "tables": [[0]], "counts": [1], "rows": 1}],
        [{"kind": "marginals", "tables": [[0]], "counts": [1], "rows": 1, "more": 1}],
        [{"kind": "marginals", "tables": [[0]], "counts": [1.0], "rows": 1}],
    ],
)
def test_anything_else_is_no_score(content):
    with pytest.raises((ValueError, KeyError, TypeError)):
        scores_from(content)


def test_a_tree_that_is_too_deep_is_refused():
    tree: Tree = 0
    for _ in range(DEEPEST_TREE):
        tree = Split(1, 0, tree, 0)
    assert TreeScore(0, tree).fault(DOMAIN) is None
    assert "deeper" in TreeScore(0, Split(1, 0, tree, 0)).fault(DOMAIN)
    with pytest.raises(ValueError, match="deep"):
        scores_from([TreeScore(0, Split(1, 0, tree, 0)).content()])


def made(rows: int, domain=DOMAIN, seed: int = 1) -> CodedTable:
    generator = np.random.default_rng(seed)
    first = generator.integers(0, min(domain), rows)
    return CodedTable(make_schema(domain), tuple((first + (generator.random(rows) < 0.1)) % size for size in domain))


def test_the_scores_of_a_table_on_itself_are_none_and_all():
    table = made(500)
    one, two, tree = scores_of(table, [table.schema.names[0]])
    assert (value_of(one, table), value_of(two, table)) == (0, 0)
    assert value_of(tree, table) > 400
    other = made(300, seed=2)
    distances = marginal_distances(other, table, (1, 2))
    assert value_of(one, other) == math.floor(300 * distances["tvd1"] + 1e-9)
    assert value_of(two, other) == math.floor(300 * distances["tvd2"] + 1e-9)


def test_what_is_asked_is_the_same_for_the_same_table_and_within_bounds(monkeypatch):
    table = made(400, (60, 70, 80, 90, 50))
    assert scores_of(table, table.schema.names) == scores_of(table, table.schema.names)
    for score in scores_of(table, table.schema.names):
        assert score.fault(table.schema.domain) is None
        assert all(math.prod(table.schema.domain[a] for a in asked) <= TABLE_CELLS for asked in score.asked())
    monkeypatch.setattr(scores_over_parties, "SCORED_CELLS", 12_000)
    _, two = scores_of(table, ())
    assert 0 < len(two.tables) < 10
    assert len(two.counts) <= 12_000


FIELDS = [
    {"name": "pay", "type": "integer", "edges": [-10, 0, 1, 50, 100], "missingValues": ["NA"]},
    {"name": "rate", "type": "number", "edges": [0, 0.5, 1]},
    {"name": "grade", "type": "integer", "categories": [0, 1, 2]},
    {"name": "ward", "type": "string", "categories": ["north", "south", "west"]},
    {"name": "sick", "type": "boolean"},
]


def test_shares_are_asked_of_zeros_missing_and_frequent_values_and_below_cuts_near_quartiles():
    schema = parse_schema({"fields": FIELDS}, "s")
    pay = np.repeat([0, 1, 2, 3, 4], [5, 60, 5, 20, 10])
    columns = (pay, np.arange(100) % 2, np.repeat([0, 1, 2], [20, 50, 30]), np.repeat([2, 1, 0], [10, 50, 40]), pay % 2)
    table = CodedTable(schema, tuple(column.astype(np.uint8) for column in columns))
    asked = shares_of(table)
    assert asked == [
        ShareScore(0, 1, 2), ShareScore(2, 0, 1),
        ShareScore(0, 4, 5),
        ShareScore(2, 1, 2), ShareScore(3, 1, 2),
        # Nine tenths have a number: 65, 70 and 5 of them are nearest to 45, 67.5 and 22.5.
        ShareScore(0, 0, 2), ShareScore(0, 0, 1),
    ]  # fmt: skip
    words = [scores_over_parties._named(score, table) for score in asked]
    assert [(one["attribute"], one["of"], one["synthetic"]) for one in words] == [
        ("pay", "0", 0.6), ("grade", "0", 0.2), ("pay", "(missing)", 0.1), ("grade", "1", 0.5), ("ward", "south", 0.5),
        ("pay", "below 1", 0.65), ("pay", "below 0", 0.05),
    ]  # fmt: skip
    assert scores_of(table, (), 3)[2:] == asked[:3]


def test_there_are_as_many_shares_as_leave_error_bars_within_a_hundredth():
    schema = parse_schema({"fields": FIELDS}, "s")
    for rows, epsilon, targets in ((40_000, "1/10", ()), (40_000, "1/10", ("sick",)), (200_000, "1/20", ("ward",))):
        budget, evaluation = PureBudget(Fraction(1)), Evaluation(Fraction(epsilon), targets)
        session = planned_session(schema, {"a": rows // 2, "b": rows // 2}, 1, budget)
        shares, others = most_shares(session, evaluation), 2 + len(targets)
        assert 0 < shares < MOST_SHARES
        for more, fits in ((0, True), (2, False)):
            law = NoiseLaw(LAPLACE, (others + shares + more) / evaluation.epsilon)
            assert (half_width(law, session.noise_variables) <= WIDEST * rows) == fits
    few = planned_session(schema, {"a": 100, "b": 100}, 1, PureBudget(Fraction(1)))
    assert most_shares(few, Evaluation(Fraction(1, 10))) == 0
