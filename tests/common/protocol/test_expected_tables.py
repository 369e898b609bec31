"""Draws among tables: the score against brute force, its sensitivity on any input, the law of a choice, the limits."""

from __future__ import annotations

import asyncio
import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.data.coded_table import CodedTable
from privity.common.data.contingency_tables import contingency_tables
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.errors import PrivityError
from privity.common.privacy.ledger import Allowance, Ledger
from privity.common.privacy.mechanisms import NoisyMax
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.random_bits import SeededEntropy
from privity.common.privacy.run_budget import PureBudget, RhoBudget, RunBudget
from privity.common.privacy.structure_scores import DISTANCE
from privity.common.protocol.evaluation_scores import LARGEST_SYNTHETIC
from privity.common.protocol.expected_tables import LARGEST_PENALTY, SENSITIVITY, ExpectedTables, check_expected
from privity.common.protocol.run_record import RunRecord
from privity.common.protocol.session import Session
from privity.common.protocol.step_limits import SELECTION_CELLS
from privity.common.protocol.steps import Select, SelectTable, step_digest
from privity.common.runs.planned_run import planned_session
from privity.common.storage.journal import Journal
from privity.party import answers_from_rows
from privity.party.charged_releases import ChargedReleases
from privity.party.local_backend import local_session
from privity.party.sources.rows import InMemory
from tests.harness.consortium import make_schema, make_table
from tests.harness.ledgers import charged, declared
from tests.harness.steps import pure, share_of

DOMAIN = (2, 3, 4)
SCHEMA = make_schema(DOMAIN)
PAIRS = ((0, 1), (0, 2), (1, 2))
CELLS = 6 + 8 + 12
PLENTY = Fraction(10**6)
UNLIMITED = Allowance()


def brute_force(own: list[list[int]], counts: list[list[int]], rows: int, of_model: int, penalty: list[int]) -> list:
    """The definition, in exact fractions."""
    found = []
    for mine, theirs, less in zip(own, counts, penalty, strict=True):
        apart = sum(abs(Fraction(c) * of_model - Fraction(s) * rows) for c, s in zip(mine, theirs, strict=True))
        found.append(math.floor((apart - 2 * less * rows) / (2 * of_model)))
    return found


def of_model(seed: int, rows: int = 1 << 20, tables=PAIRS, penalties: tuple[int, ...] | None = None) -> ExpectedTables:
    """What a table of random rows would make one expect."""
    model = make_table(SCHEMA, 500, seed)
    counts = np.concatenate([c.ravel() for c in contingency_tables(model, tables)])
    return ExpectedTables(tables, counts * rows // 500, rows, penalties or (0,) * len(tables))


def rows_of(codes: list[tuple[int, ...]]) -> CodedTable:
    columns = np.array(codes, dtype=np.uint8).reshape(-1, len(DOMAIN)).T
    return CodedTable(SCHEMA, tuple(np.ascontiguousarray(column) for column in columns))


ROW = st.tuples(*(st.integers(0, size - 1) for size in DOMAIN))
ABSURD = st.integers(1, LARGEST_SYNTHETIC - 1).flatmap(
    lambda rows: st.builds(
        lambda counts, less: ExpectedTables(PAIRS, np.array(counts, dtype=np.int64), rows, tuple(less)),
        st.lists(st.integers(0, rows) | st.sampled_from([0, rows]), min_size=CELLS, max_size=CELLS),
        st.lists(st.integers(0, LARGEST_PENALTY) | st.just(0), min_size=3, max_size=3),
    )
)


def scores_of(table: CodedTable, expected: ExpectedTables) -> list[int]:
    check_expected(expected, SCHEMA.derived, table.rows)
    return answers_from_rows.distances(expected, answers_from_rows.TableCounts(InMemory(table))).tolist()


@given(st.lists(ROW, min_size=1, max_size=20), ABSURD)
def test_the_score_is_the_definition_in_exact_numbers(codes, expected: ExpectedTables) -> None:
    table = rows_of(codes)
    own = [counts.ravel().tolist() for counts in contingency_tables(table, PAIRS)]
    theirs = [part.tolist() for part in np.split(expected.counts, [6, 14])]
    assert scores_of(table, expected) == brute_force(own, theirs, len(codes), expected.rows, list(expected.penalties))


@given(st.lists(ROW, min_size=1, max_size=20), ROW, st.data(), ABSURD)
def test_a_replaced_row_moves_no_score_by_more_than_one_whatever_was_asked(codes, other, data, expected) -> None:
    place = data.draw(st.integers(0, len(codes) - 1))
    neighbour = [*codes[:place], other, *codes[place + 1 :]]
    moved = np.array(scores_of(rows_of(codes), expected)) - np.array(scores_of(rows_of(neighbour), expected))
    assert np.abs(moved).max() <= SENSITIVITY


def test_the_sensitivity_is_attained_in_both_directions_at_once() -> None:
    expected = ExpectedTables(((0,), (1,)), np.array([5, 0, 0, 5, 0]), 5, (0, 0))
    assert scores_of(rows_of([(0, 0, 0)] * 5), expected) == [0, 5]
    assert scores_of(rows_of([(0, 0, 0)] * 4 + [(1, 1, 0)]), expected) == [1, 4]


def test_the_score_is_n_times_the_total_variation_distance_less_the_penalty() -> None:
    table = make_table(SCHEMA, 300, seed=3)
    expected = of_model(4)
    for less in (0, 1 << 16):
        scores = scores_of(table, ExpectedTables(PAIRS, expected.counts, 1 << 20, (less,) * 3))
        for score, own, theirs in zip(
            scores, contingency_tables(table, PAIRS), np.split(expected.counts, [6, 14]), strict=True
        ):
            distance = np.abs(own.ravel() / 300 - theirs / 2**20).sum() / 2
            assert score == pytest.approx(300 * (distance - less / 2**20), abs=1.001)
            assert score <= 300 * (distance - less / 2**20) + 1e-6


def test_the_largest_numbers_fit() -> None:
    """All rows of the largest party in one cell, where the model has none but in all others."""
    rows, cells = LARGEST_SYNTHETIC - 1, 1 << 20
    counts = np.full(cells, rows)
    counts[0] = 0
    own = np.zeros(cells, dtype=np.int64)
    own[0] = rows
    expected = ExpectedTables(((0,),), counts, rows, (LARGEST_PENALTY,))
    assert expected.scores([own], rows).tolist() == [cells * rows // 2 - LARGEST_PENALTY]
    one = ExpectedTables(((0,),), np.array([1, 0]), 1, (LARGEST_PENALTY,))
    assert one.scores([np.array([rows, 0])], rows).tolist() == [-LARGEST_PENALTY * rows]


def test_derived_attributes_are_compared_like_any_other() -> None:
    bits = SCHEMA.derived.bits(2)
    table = make_table(SCHEMA, 40, seed=1)
    expected = ExpectedTables(((0, bits[0]), bits), np.array([8, 0, 0, 8, 4, 4, 4, 4]), 16, (0, 0))
    own = [counts.ravel().tolist() for counts in contingency_tables(table, expected.tables)]
    assert scores_of(table, expected) == brute_force(own, [[8, 0, 0, 8], [4, 4, 4, 4]], 40, 16, [0, 0])


def test_counts_are_a_copy_of_whole_numbers_that_nobody_changes() -> None:
    counts = np.array([1, 1])
    expected = ExpectedTables(((0,),), counts, 2, (0,))
    counts[0] = 2
    assert expected.counts.tolist() == [1, 1]
    assert not expected.counts.flags.writeable
    with pytest.raises(TypeError):
        ExpectedTables(((0,),), np.array([0.5, 1.5]), 2, (0,))


def test_every_part_of_what_is_expected_is_in_the_digest() -> None:
    one = of_model(1)
    others = [
        of_model(2),
        ExpectedTables(one.tables, one.counts, one.rows + 1, one.penalties),
        ExpectedTables(one.tables, one.counts, one.rows, (0, 1, 0)),
        ExpectedTables(((1, 0), *PAIRS[1:]), one.counts, one.rows, one.penalties),
    ]
    digests = {step_digest(SelectTable("run-1", "p", "d", e, NoisyMax(Fraction(1)))) for e in (one, *others)}
    assert len(digests) == 5
    assert one == of_model(1)
    assert hash(one) == hash(of_model(1))
    assert all(one != other for other in others)


def refusal(expected: ExpectedTables, rows: int = 10, schema=SCHEMA) -> str:
    with pytest.raises(PrivityError) as caught:
        check_expected(expected, schema.derived, rows)
    return caught.value.message


def test_what_cannot_be_compared_is_refused_by_name() -> None:
    counts = np.array([1, 1])
    assert "no table" in refusal(ExpectedTables((), np.zeros(0, dtype=np.int64), 2, ()))
    assert "does not have, or one twice" in refusal(ExpectedTables(((99,),), counts, 2, (0,)))
    assert "does not have, or one twice" in refusal(ExpectedTables(((0, 0),), counts, 2, (0,)))
    assert "not have one count for each cell" in refusal(ExpectedTables(((1,),), counts, 2, (0,)))
    for penalties in ((), (0, 0)):
        assert "not have one score penalty" in refusal(ExpectedTables(((0,),), counts, 2, penalties))
    for penalty in (-1, LARGEST_PENALTY + 1):
        assert "a score penalty lies outside" in refusal(ExpectedTables(((0,),), counts, 2, (penalty,)))
    for rows in (0, -1, LARGEST_SYNTHETIC):
        assert "more rows than there are" in refusal(ExpectedTables(((0,),), counts, rows, (0,)))
    for wrong in ([3, 0], [-1, 1]):
        assert "more rows than there are" in refusal(ExpectedTables(((0,),), np.array(wrong), 2, (0,)))
    assert "fewer than" in refusal(ExpectedTables(((0,),), counts, 2, (0,)), rows=LARGEST_SYNTHETIC)


def test_a_selection_has_no_more_cells_than_one_may() -> None:
    schema = make_schema((1024, 1024, 2))
    most = ExpectedTables(((0, 1),), np.zeros(SELECTION_CELLS, dtype=np.int64), 1, (0,))
    check_expected(most, schema.derived, 10)
    more = ExpectedTables(((0, 1), (2,)), np.zeros(SELECTION_CELLS + 2, dtype=np.int64), 1, (0, 0))
    assert f"{SELECTION_CELLS + 2}" in refusal(more, schema=schema)


class Counted(InMemory):
    """Rows that know for how many tables they were asked."""

    asked = 0

    def count(self, marginals):
        self.asked += len(marginals)
        return super().count(marginals)


def test_tables_are_counted_once_for_all_selections_and_never_more_kept_than_there_is_room(monkeypatch) -> None:
    rows = Counted(make_table(SCHEMA, 50, seed=1))
    counts = answers_from_rows.TableCounts(rows)
    first = [part.tolist() for part in counts.of(PAIRS)]
    assert [part.tolist() for part in counts.of((PAIRS[2], PAIRS[0], PAIRS[2]))] == [first[2], first[0], first[2]]
    assert rows.asked == 3
    counts.forget()
    counts.of(PAIRS[:1])
    assert rows.asked == 4
    monkeypatch.setattr(answers_from_rows, "KEPT_CELLS", 14)
    assert [part.tolist() for part in counts.of(PAIRS[1:])] == first[1:]
    assert sum(part.size for part in counts._kept.values()) == 20, "those of one draw are kept however many they are"
    assert [part.tolist() for part in counts.of(PAIRS[:2])] == first[:2]
    assert set(counts._kept) == set(PAIRS[:2])


def owner(
    table: CodedTable, label: str = "", budget: RunBudget = PureBudget(Fraction(10**6))
) -> tuple[Session, Ledger]:
    ledger = declared(total=10**6)
    entropy = lambda of: SeededEntropy(b"expected", f"{label}/{of}")  # noqa: E731
    releases = ChargedReleases("owner", InMemory(table), Journal(), ledger, entropy)
    return local_session("run-1", releases, replace(UNLIMITED, budget=budget)), ledger


def drawn(session: Session, expected: ExpectedTables, draws: int, epsilon: Fraction) -> list[int]:
    async def all_draws() -> list[int]:
        series = session.selection("audit", draws, share_of(session, epsilon), score=DISTANCE)
        return [await series.select_farthest(expected) for _ in range(draws)]

    return asyncio.run(all_draws())


SMALL = ExpectedTables(((0,), (1,), (2,)), np.array([10, 0, 10, 0, 0, 10, 0, 0, 0]), 10, (0, 0, 2))
FEW = rows_of([(0, 0, 0)] * 6 + [(1, 0, 1), (0, 1, 2), (0, 1, 3), (0, 0, 3)])


def noisy_max_law(scores: list[int], epsilon: float) -> np.ndarray:
    """Of report noisy max with geometric noise of scale 2/epsilon, by enumeration of the noise and the orders."""
    a, reach = math.exp(-epsilon / 2), 30
    chances = np.array([(1 - a) * a**g for g in range(reach)])
    law, orders = np.zeros(len(scores)), list(itertools.permutations(range(len(scores))))
    for added in itertools.product(range(reach), repeat=len(scores)):
        noisy = [score + g for score, g in zip(scores, added, strict=True)]
        best = [i for i, value in enumerate(noisy) if value == max(noisy)]
        chance = math.prod(chances[g] for g in added)
        for i in best:
            first = sum(1 for order in orders if min(best, key=order.__getitem__) == i)
            law[i] += chance * first / len(orders)
    return law


def check_law(budget: RunBudget, price: Fraction, law: np.ndarray) -> RunRecord:
    """Of series of 50 draws that cost so much each; gives the record of the last one."""
    found: list[int] = []
    for batch in range(30):
        session, ledger = owner(FEW, f"{price}/{batch}", budget)
        found += drawn(session, SMALL, 50, price)
        assert ledger.spent() == session.record.epsilon("owner")
        assert len(charged(ledger)) == 50
    shares = np.bincount(found, minlength=3) / len(found)
    assert law.sum() == pytest.approx(1, abs=1e-9)
    assert np.all(np.abs(shares - law) < 4.5 * np.sqrt(law * (1 - law) / len(found)))
    return session.record


@pytest.mark.process
def test_a_selection_of_a_pure_run_has_the_law_of_report_noisy_max() -> None:
    assert scores_of(FEW, SMALL) == [1, 2, 2]
    record = check_law(PureBudget(Fraction(10**6)), Fraction(100), noisy_max_law([1, 2, 2], 2.0))
    (cost,) = record.costs
    assert cost.loss.epsilon == record.epsilon("owner") == 100
    assert "report noisy max" in cost.mechanism
    assert cost.mechanism.endswith("on the distance of tables from a model")


@pytest.mark.long
@pytest.mark.process
def test_a_selection_of_a_run_in_rho_has_the_law_of_the_exponential_mechanism() -> None:
    rho_budget = RhoBudget(Fraction(30), Fraction(1, 2**30))
    mechanism = rho_budget.selecting(Fraction(30), 50)
    weights = np.exp(np.array([1, 2, 2]) * float(mechanism.epsilon) / 2)
    record = check_law(rho_budget, Fraction(30), weights / weights.sum())
    (cost,) = record.costs
    assert cost.loss.rho == 50 * mechanism.loss(RELATION).rho <= rho_budget.rho
    assert "exponential mechanism (bounded range) on the distance of tables from a model" in cost.mechanism


def test_with_much_epsilon_the_table_that_is_farthest_is_drawn() -> None:
    table, expected = make_table(SCHEMA, 300, seed=7), of_model(8)
    scores = scores_of(table, expected)
    session, _ = owner(table)
    assert drawn(session, expected, 3, Fraction(10_000)) == [int(np.argmax(scores))] * 3


def test_a_series_is_for_pairs_or_for_tables() -> None:
    session, ledger = owner(FEW)
    pairs = [AttributeParentPair(0, (1,))]
    with pytest.raises(RuntimeError, match="selections among tables"):
        asyncio.run(session.selection("p", 1, pure(Fraction(1)), score=DISTANCE).select(pairs))
    with pytest.raises(RuntimeError, match="on the score R"):
        asyncio.run(session.selection("p", 1, pure(Fraction(1))).select_farthest(SMALL))
    assert ledger.spent() == 0
    with pytest.raises(PrivityError, match="no score 'distance'"):
        session.backend._releases.select(Select("run-1", "p", "d", pairs, NoisyMax(Fraction(1)), DISTANCE), UNLIMITED)


def test_a_refused_draw_costs_nothing_and_an_answered_one_is_charged_once() -> None:
    session, ledger = owner(FEW)
    releases = session.backend._releases
    wrong = ExpectedTables(((0,),), np.array([3, 0]), 2, (0,))
    with pytest.raises(PrivityError, match="more rows than there are"):
        releases.select(SelectTable("run-1", "p", "d", wrong, NoisyMax(Fraction(1))), UNLIMITED)
    assert charged(ledger) == []
    step = SelectTable("run-1", "p", "d", SMALL, NoisyMax(Fraction(1, 100)))
    assert len({releases.select(step, UNLIMITED) for _ in range(5)}) == 1
    assert ledger.spent() == Fraction(1, 100)
    for other in (
        SelectTable("run-1", "p", "d", of_model(1), NoisyMax(Fraction(1, 100))),
        Select("run-1", "p", "d", [AttributeParentPair(0, (1,))], NoisyMax(Fraction(1, 100))),
    ):
        with pytest.raises(PrivityError) as caught:
            releases.select(other, UNLIMITED)
        assert caught.value.code == "step-changed"


def test_whose_rows_are_next_is_known_before_every_selection() -> None:
    session = planned_session(SCHEMA, {"a": 100, "b": 300}, 1, PureBudget(Fraction(1)))
    seen = []

    async def draws() -> None:
        series = session.selection("p", 4, pure(Fraction(1)), score=DISTANCE)
        for _ in range(4):
            seen.append(series.rows_next)
            assert 0 <= await series.select_farthest(of_model(1)) < 3
        with pytest.raises(RuntimeError, match="only 4 selections"):
            _ = series.rows_next
        with pytest.raises(RuntimeError, match="only 4 selections"):
            await series.select_farthest(of_model(1))

    asyncio.run(draws())
    assert seen == [100, 300, 300, 300]
    assert session.selections == {"p": 4}
    assert session.record.epsilon("a") == session.record.epsilon("b") == 1


def test_a_rehearsal_refuses_what_every_party_would() -> None:
    session = planned_session(SCHEMA, {"a": 100}, 0, PureBudget(Fraction(1)))
    series = session.selection("p", 1, pure(Fraction(1)), score=DISTANCE)
    with pytest.raises(PrivityError, match="not have one count"):
        asyncio.run(series.select_farthest(ExpectedTables(((1,),), np.array([1, 1]), 2, (0,))))
