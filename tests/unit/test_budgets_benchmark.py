"""The fit of constants on public grounds: noise of a seed, constants in place, choices, a fit that goes on."""

from __future__ import annotations

import argparse
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from benchmarks.budgets.choice import Constant, Mean, chosen
from benchmarks.budgets.constants import (
    AIM,
    MST,
    REFERENCE,
    SHIPPED,
    TOGETHER,
    TURNED_AT,
    Change,
    changes,
    in_place,
    shipped,
)
from benchmarks.budgets.grounds import generated, some_attributes
from benchmarks.budgets.measure import Block, Tried, blocks, key_of, together, too_long, tried_on, try_all
from benchmarks.budgets.session import Ground, mean_distance, model_pairs, session_over
from benchmarks.budgets.text import write_page
from benchmarks.cache import Cache
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.inference import maximum_likelihood
from privity.common.synthesis.learning import budget_split, worst_explained
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel
from privity.party.local_session import complete


def make_ground(name: str = "public", *, reported: bool = False, seed: int = 1) -> Ground:
    return Ground(name, generated("strong", 3000, (2, 3, 4, 5), seed), reported)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
def test_the_noise_is_as_wide_as_the_session_predicts(delta: Fraction) -> None:
    ground = Ground("wide", generated("typical", 500, (40, 50), 1))
    session = session_over(ground, Fraction(1), delta, 3)
    (table,) = complete(session.measure("tables", [(0, 1)], Fraction(1, 2)))
    noise = table.counts.ravel() - ground.counts((0, 1))
    assert noise.var() == pytest.approx(session.noise_variance(1, Fraction(1, 2)), rel=0.15)


def test_a_table_has_the_same_standard_noise_whatever_was_asked_before() -> None:
    ground = make_ground()
    alone, after = (session_over(ground, Fraction(1), Fraction(0), 3) for _ in range(2))
    complete(after.measure("other", [(0, 1), (2, 3)], Fraction(1, 2)))
    ((one,), (other,)) = (complete(s.measure("tables", [(1, 2)], Fraction(1, 4))) for s in (alone, after))
    (again,) = complete(after.measure("again", [(1, 2)], Fraction(1, 4)))
    assert (one.counts == other.counts).all()
    assert (one.counts != again.counts).any()


def test_the_distance_is_that_of_the_models_pairs() -> None:
    ground = make_ground()
    session = session_over(ground, Fraction(1), Fraction(0), 3)
    model = complete(ALGORITHMS[AIM].learn(session, Fraction(1), {"rounds": 3}))
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
        assert settings == {"draws": "1/10"}

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


def test_changes_that_come_to_the_same_run_have_one_key() -> None:
    ground, block = make_ground(), Block("public", MST, "1.6", "1e-9", 1)
    keys = [key_of(block, ground, change.of(REFERENCE[False])) for change in changes(MST, pure=False)]
    assert key_of(block, ground, REFERENCE[False]) in keys  # a tree of four attributes has three edges at most
    assert len({str(key) for key in keys}) > 3


def test_the_first_blocks_have_each_budget_equally_often() -> None:
    names = [str(number) for number in range(6)]
    first = list(blocks(names, [AIM]))[:6]
    assert {block.ground for block in first} == set(names)
    assert len({(block.epsilon, block.delta) for block in first}) == 6
    assert len(set(blocks(names, [AIM, MST]))) == 6 * 6 * 2


def test_changes_together_are_made_one_after_another() -> None:
    both = next(change for change in TOGETHER if change.name == "one_way, handicap").of(REFERENCE[True])
    assert both == Change("one_way", 0.71).of(Change("handicap", 0.5).of(REFERENCE[True]))
    assert set(TOGETHER) <= set(changes(AIM, pure=True))
    assert not set(TOGETHER) & set(changes(AIM, pure=False))


def test_all_that_is_shipped_is_tried_on_seeds_of_its_own() -> None:
    alone = list(together(["known"], [AIM, MST], 2))
    assert len(set(alone)) == 6 * 2 * 2
    assert {change for block in alone for change in tried_on(block)} == {SHIPPED}
    assert SHIPPED.of(REFERENCE[False]) == shipped(pure=False)
    assert SHIPPED.of(REFERENCE[True]).tables == budget_split.PURE.tables


def test_a_wide_table_keeps_some_attributes() -> None:
    wide = generated("typical", 50, (2,) * 25, 1)
    assert len(some_attributes(wide).columns) == 12
    assert too_long(Block("wide", AIM, "1.6", "1e-9", 1), Ground("wide", generated("typical", 9000, (2,) * 18, 1)))


def tries(by: float, ratios: list[float]) -> list[Tried]:
    blocks_ = [Block(f"table {place}", AIM, "0.4", "0", 1) for place in range(len(ratios))]
    return [Tried(block, Change("prior", by), ratio) for block, ratio in zip(blocks_, ratios, strict=True)]


def test_a_value_is_chosen_only_if_it_is_better_by_more_than_a_standard_error() -> None:
    prior = Constant("prior", None)
    better, worse = tries(2.0, [0.95, 0.96, 0.97]), tries(0.5, [1.05, 1.01, 1.02])
    assert chosen(prior, better + worse) == Change("prior", 2.0)
    assert prior.value(Change("prior", 2.0)) == 1.0
    assert chosen(prior, tries(2.0, [0.9, 0.99, 1.09]) + worse) is None
    far = tries(4.0, [0.94, 0.95, 0.99])
    assert chosen(prior, better + far) == Change("prior", 2.0)  # hardly worse, and nearer
    mean = Mean.of([*better, Tried(Block("table 0", AIM, "1.6", "0", 1), Change("prior", 2.0), 0.85)])
    assert mean is not None
    assert mean.tables == 3
    assert mean.log == pytest.approx(np.log([0.96, 0.97, (0.95 * 0.85) ** 0.5]).mean())


def test_the_fit_goes_on_where_it_stopped_and_writes_its_page(tmp_path: Path) -> None:
    grounds = {g.name: g for g in (make_ground(), make_ground("known", reported=True, seed=2))}
    wanted = [b for b in blocks(list(grounds), (AIM, MST)) if b.epsilon == "0.1"]
    said: list[str] = []
    cache = tmp_path / "cache.jsonl"
    assert try_all(grounds, wanted, Cache(cache, "code"), -1, said.append) == []
    first = try_all(grounds, wanted, Cache(cache, "code"), 10, said.append)
    lines = cache.read_text().count("\n")
    assert len(said) == len(wanted) == 8
    assert try_all(grounds, wanted, Cache(cache, "code"), 10, said.append) == first
    assert cache.read_text().count("\n") == lines
    options = argparse.Namespace(out=tmp_path / "out", data=Path("/somewhere/data"), seeds=1, minutes=10.0)
    write_page(first, list(grounds.values()), options)
    page = (tmp_path / "out" / "budgets.md").read_text()
    assert "| tables, pure | **0.85** | 1 | 1 | 1 |" in page
    assert "| constant | known |" in page
    assert "somewhere" not in page
    assert (tmp_path / "out" / "budgets" / "ratios.svg").exists()
