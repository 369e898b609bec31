"""Ways and constants compared on public tables: noise of a seed, constants in place, choices, ratios."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from benchmarks.data import Data
from benchmarks.experiment import Record, mean_ratio
from benchmarks.experiments import budgets, many_parties, thresholds
from benchmarks.experiments.budgets import Constant, supported
from benchmarks.experiments.many_parties import AIM, MST, OVERVIEW, SAME, ways
from benchmarks.experiments.thresholds import SHIPPED, VARIED, distance_of_rows
from benchmarks.methods.public_tables import generated, grounds, some_attributes, tries
from benchmarks.methods.seeded_session import Ground, mean_distance, model_pairs, session_over
from benchmarks.methods.varied_constants import REFERENCE, TOGETHER, TURNED_AT, Change, changes, in_place, shipped
from benchmarks.methods.varied_constants import SHIPPED as SHIPPED_NOW
from privity.common.protocol.session import complete
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.inference import maximum_likelihood
from privity.common.synthesis.learning import budget_split, worst_explained
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel
from tests.harness.steps import pure, share_of

NOWHERE = Data(Path("nowhere"), Path("nowhere"))


def make_ground(name: str = "public", seed: int = 1) -> Ground:
    return Ground(name, generated("strong", 3000, (2, 3, 4, 5), seed))


@pytest.mark.parametrize("algorithm", [AIM, MST])
def test_every_way_is_one_that_the_algorithm_knows(algorithm: str) -> None:
    found = ways(algorithm, 3, 3)
    for settings in found.values():
        ALGORITHMS[algorithm].check(settings, make_ground().table.schema)
    assert found["2 times the tables"] == found[SAME]
    assert found["0.7 times the tables"] != found[SAME]


@pytest.mark.parametrize("algorithm", VARIED)
def test_thresholds_that_are_tried_are_not_those_shipped(algorithm: str) -> None:
    read = ALGORITHMS[algorithm].check
    schema = make_ground().table.schema
    found = [read(settings, schema) for settings in thresholds.ways(algorithm).values()]
    assert len({repr(settings) for settings in found}) == len(VARIED[algorithm]) + 1


def test_the_distance_is_that_of_rows_that_are_drawn() -> None:
    ground = make_ground()

    class Same:
        def sample(self, rows: int, generator: np.random.Generator):
            return ground.table.take(np.arange(rows))

    assert distance_of_rows(ground.table, Same()) == 0


def test_settings_that_are_shipped_come_first() -> None:
    assert all(next(iter(thresholds.ways(algorithm))) == SHIPPED for algorithm in VARIED)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
def test_the_noise_is_as_wide_as_the_session_forecasts(delta: Fraction) -> None:
    ground = Ground("wide", generated("typical", 500, (40, 50), 1))
    session = session_over(ground, Fraction(1), delta, 3)
    (table,) = complete(session.measure("tables", [(0, 1)], share_of(session, Fraction(1, 2))))
    noise = table.counts.ravel() - ground.counts((0, 1))
    assert noise.var() == pytest.approx(session.noise_variance(1, share_of(session, Fraction(1, 2))), rel=0.15)


def test_a_table_has_the_same_standard_noise_whatever_was_asked_before() -> None:
    ground = make_ground()
    alone, after = (session_over(ground, Fraction(1), Fraction(0), 3) for _ in range(2))
    complete(after.measure("other", [(0, 1), (2, 3)], pure(Fraction(1, 2))))
    ((one,), (other,)) = (complete(s.measure("tables", [(1, 2)], pure(Fraction(1, 4)))) for s in (alone, after))
    (again,) = complete(after.measure("again", [(1, 2)], pure(Fraction(1, 4))))
    assert (one.counts == other.counts).all()
    assert (one.counts != again.counts).any()


def test_the_distance_is_that_of_the_models_pairs() -> None:
    ground = make_ground()
    session = session_over(ground, Fraction(1), Fraction(0), 3)
    model = complete(ALGORITHMS[AIM].learn(session, session.budget.whole, {"tables": 3}))
    assert isinstance(model, JunctionTreeModel)
    drawn = Ground("drawn", model.sample(400_000, np.random.default_rng(1)))
    pairs = model_pairs(model, ground.table)
    assert set(pairs) == set(combinations(range(4), 2))
    for pair, expected in pairs.items():
        assert drawn.counts(pair) / 400_000 == pytest.approx(expected.ravel(), abs=0.005)
    assert mean_distance(drawn, model) < 0.01 < mean_distance(ground, model) + 0.01


def test_constants_are_in_place_within_and_back_after_a_fault() -> None:
    before = (budget_split.PURE, budget_split.CONCENTRATED, worst_explained.PENALTY, maximum_likelihood.PRIOR)
    changed = Change("handicap", 2.0).of(Change("tables", 0.5).of(REFERENCE[True]))
    with in_place(changed) as settings:
        assert budget_split.PURE.tables.at_one == 0.5 * REFERENCE[True].tables.at_one
        assert worst_explained.PENALTY == 1.2
        assert settings == {"selecting": "1/10"}

    def fail() -> None:
        with in_place(changed):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    after = (budget_split.PURE, budget_split.CONCENTRATED, worst_explained.PENALTY, maximum_likelihood.PRIOR)
    assert after == before


def test_a_power_turns_about_one_noise() -> None:
    reference = REFERENCE[False]
    turned = Change("one_way power", 0.2).of(reference)
    assert turned.one_way.power == pytest.approx(0.47)
    assert turned.one_way.of(TURNED_AT) == pytest.approx(reference.one_way.of(TURNED_AT))
    assert turned.one_way.of(1.2 * TURNED_AT) > reference.one_way.of(1.2 * TURNED_AT)


def test_changes_together_are_made_one_after_another() -> None:
    both = next(change for change in TOGETHER if change.name == "one_way, handicap").of(REFERENCE[True])
    assert both == Change("one_way", 0.71).of(Change("handicap", 0.5).of(REFERENCE[True]))
    assert set(TOGETHER) <= set(changes(AIM, pure=True))
    assert not set(TOGETHER) & set(changes(AIM, pure=False))


def test_all_that_is_shipped_is_one_change() -> None:
    assert SHIPPED_NOW.of(REFERENCE[False]) == shipped(pure=False)
    assert SHIPPED_NOW.of(REFERENCE[True]).tables == budget_split.PURE.tables


def test_a_wide_table_keeps_some_attributes() -> None:
    assert len(some_attributes(generated("typical", 50, (2,) * 25, 1)).columns) == 12


def test_the_first_tries_have_each_table_and_each_number_of_parties_equally_often() -> None:
    made = list(tries(["a", "b", "c"], (AIM, MST), (3, 10, 25)))
    assert len({str(one) for one in made}) == len(made) == 3 * 18 * 2
    counts = Counter(one["parties"] for one in made[: 3 * 6])
    assert max(counts.values()) <= 2 * min(counts.values())
    assert Counter(one["table"] for one in made[:18]) == {"a": 6, "b": 6, "c": 6}


@pytest.mark.statistical
@pytest.mark.parametrize("algorithm", [pytest.param(AIM, marks=pytest.mark.long), MST])
def test_a_try_measures_every_way_that_has_settings_of_its_own(algorithm: str) -> None:
    name = next(iter(grounds(quick=True)))
    point = {"table": name, "algorithm": algorithm, "epsilon": "0.4", "delta": "1e-9", "parties": 3, "quick": True}
    count, most, noise = many_parties.forecast(grounds(quick=True)[name], point)
    known = ways(algorithm, count, most)
    found = many_parties.measure(point, 1, NOWHERE)
    assert {one["way"] for one in found} == {way for way in known if known[way] != known[SAME]}
    assert OVERVIEW in {one["way"] for one in found}
    assert all(one["ratio"] > 0 and one["noise"] == noise > 0 for one in found)


@pytest.mark.statistical
@pytest.mark.parametrize("algorithm", [pytest.param(AIM, marks=pytest.mark.long), MST])
def test_changes_that_come_to_the_same_run_have_one_ratio(algorithm: str) -> None:
    name = next(iter(grounds(quick=True)))
    point = {"table": name, "algorithm": algorithm, "epsilon": "1.6", "delta": "1e-9", "all_together": False}
    found = budgets.measure({**point, "quick": True}, 1, NOWHERE)
    assert {(one["change"], one["by"]) for one in found} == {(c.name, c.by) for c in changes(algorithm, pure=False)}
    assert 1.0 in {one["ratio"] for one in found}  # a tree of four attributes has three edges at most
    assert len({one["ratio"] for one in found}) > 1


def runs(by: float, ratios: list[float]) -> list[Record]:
    of = {"algorithm": AIM, "epsilon": "0.4", "delta": "0", "all_together": False, "change": "prior", "by": by}
    return [{**of, "table": f"table {place}", "ratio": ratio} for place, ratio in enumerate(ratios)]


def test_a_value_is_supported_only_if_it_is_better_by_more_than_a_standard_error() -> None:
    prior = Constant("prior", None)
    better, worse = runs(2.0, [0.95, 0.96, 0.97]), runs(0.5, [1.05, 1.01, 1.02])
    assert supported(prior, better + worse) == 2.0
    assert prior.value(2.0) == 1.0
    assert supported(prior, runs(2.0, [0.9, 0.99, 1.09]) + worse) is None
    far = runs(4.0, [0.94, 0.95, 0.99])
    assert supported(prior, better + far) == 2.0  # hardly worse, and nearer
    assert "| prior | 0.5 | 1 | 0.960 +- 0.006 (3) |" in "\n".join(budgets.choices(better))
    assert "| prior | **0.5** | 1 | 1 | 1 |" in budgets.tried(better)


def test_a_mean_weighs_tables_alike() -> None:
    found = [{"table": "a", "ratio": 2.0}, {"table": "a", "ratio": 8.0}, {"table": "b", "ratio": 0.25}]
    assert mean_ratio(found) == "1.000 +- 1.386 (3)"
    assert mean_ratio(found[:1]) == "2.000 (1)"
    assert mean_ratio([]) == "-"


def test_draws_count_as_they_are_where_there_is_less_noise() -> None:
    found = [
        {"table": name, "noise": noise, "ratio": ratio} for name in "ab" for noise, ratio in ((0.05, 2), (0.9, 0.5))
    ]
    # Half of the tries, on the scale of logarithms.
    assert many_parties.overview_from(0.4, found) == f"{0.5**0.5:.3f} +- 0.000 (4)"
    assert many_parties.overview_from(float("inf"), found) == "1.000 +- 0.000 (4)"
