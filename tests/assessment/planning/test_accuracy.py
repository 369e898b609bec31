"""Rehearsals on invented tables: parts that add up, noise of the declared K and rows, pages that need no colour."""

from __future__ import annotations

import asyncio
import re
from fractions import Fraction
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest

from privity.assessment.planning import accuracy_page
from privity.assessment.planning.expected_error import Estimate, Grid, Part, estimates
from privity.assessment.planning.in_process_backend import InProcessBackend, Repeated
from privity.assessment.planning.invented_tables import Profile
from privity.assessment.planning.line_chart import MOST_TICKS, STEPS, Chart, Series, one_picture
from privity.assessment.planning.rehearsal import (
    MOST_DIFFERENT_ROWS,
    Rehearsal,
    Shape,
    StandIn,
    _NoiselessTables,
    pair_distances,
    rehearse_on_stand_in,
)
from privity.common.data.coded_table import CodedTable
from privity.common.pages.drawing import tick_step
from privity.common.privacy.run_budget import PureBudget
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.party.sources.rows import InMemory
from tests.harness.consortium import make_schema
from tests.harness.long import thinned
from tests.harness.steps import pure

DOMAIN = (2, 3, 4, 3)
EVEN = (0.4, 0.8, 1.0)
PROFILES = {
    "weak": Profile(EVEN, -4.0, 1.0, 0.1),
    "typical": Profile(EVEN, 0.0, 1.0, 0.1),
    "strong": Profile(EVEN, 4.0, 1.0, 0.1),
}


def shape(rows: int = 2000, parties: int = 1) -> Shape:
    return Shape(make_schema(DOMAIN), (rows // parties,) * parties, min(1, parties - 1))


def task(algorithm: str = "one-way", epsilon: str = "1", parties: int = 1, **more) -> Rehearsal:
    settled = {"delta": Fraction(0), "dependence": "typical", "seed": 1, **more}
    return Rehearsal(algorithm, {}, Fraction(epsilon), parties=parties, **settled)


def grid(*algorithms: str, epsilons: tuple[str, ...] = ("1/10", "2"), parties: tuple[int, ...] = (1,)) -> Grid:
    return Grid(tuple(map(Fraction, epsilons)), {name: {} for name in algorithms}, Fraction(0), parties)


@pytest.mark.process
@pytest.mark.parametrize(("parties", "algorithm"), thinned(product([1, 3], sorted(ALGORITHMS)), 2))
def test_every_algorithm_can_be_rehearsed_and_its_parts_add_up(algorithm: str, parties: int) -> None:
    delta = Fraction(1, 2**20) if algorithm == "copula" else Fraction(0)
    outcome = rehearse_on_stand_in(shape(), PROFILES, task(algorithm, parties=parties, delta=delta))
    assert outcome.noise + outcome.model == pytest.approx(outcome.error)
    assert outcome.noise >= 0
    assert 0 < outcome.error <= outcome.largest <= 1


@pytest.mark.parametrize(("parties", "tolerate"), [(1, 0), (2, 1), (4, 2), (10, 1)])
def test_opened_noise_has_the_variance_of_k_over_k_less_t(parties: int, tolerate: int) -> None:
    spread = Shape(make_schema((50, 40)), (1000 // parties,) * parties, tolerate)
    stand_in = StandIn.of(spread, PROFILES["typical"], 3)
    session = InProcessBackend(stand_in.among(spread.party_rows), PureBudget(Fraction(1)), tolerate).session()
    (opened,) = asyncio.run(session.measure("p", [(0, 1)], pure(Fraction(1))))
    true = sum(rows.count([(0, 1)]) for rows in session.backend.rows).reshape(50, 40)
    # One table at epsilon 1: discrete Laplace of scale 2, the variance of which is about 2 * 2^2.
    alone = 2 * np.exp(-0.5) / (1 - np.exp(-0.5)) ** 2
    assert (opened.counts - true).var() == pytest.approx(alone * parties / (parties - tolerate), rel=0.25)


def test_without_noise_in_the_tables_the_declared_noise_is_as_ever() -> None:
    stand_in = StandIn.of(shape(), PROFILES["typical"], 3)
    opened = []
    for kind in (InProcessBackend, _NoiselessTables):
        session = kind(stand_in.among([2000]), PureBudget(Fraction(1, 10)), 0).session()
        (table,) = asyncio.run(session.measure("p", [(0, 1)], pure(Fraction(1, 10))))
        opened.append(table)
    noisy, exact = opened
    assert noisy.variance == exact.variance
    assert exact.counts.sum() == 2000
    assert (noisy.counts != exact.counts).any()


def test_a_long_stand_in_counts_each_row_several_times_and_has_the_declared_rows() -> None:
    long = shape(rows=3 * MOST_DIFFERENT_ROWS)
    stand_in = StandIn.of(long, PROFILES["typical"], 1)
    assert (stand_in.times, stand_in.table.rows) == (3, MOST_DIFFERENT_ROWS)
    session = InProcessBackend(
        stand_in.among([long.rows]), PureBudget(Fraction(100)), 0, times=stand_in.times
    ).session()
    assert session.rows == long.rows
    (opened,) = asyncio.run(session.measure("p", [(0,)], pure(Fraction(100))))
    true = 3 * np.bincount(stand_in.table.columns[0], minlength=2)
    assert np.abs(opened.counts - true).max() < 5


def test_rows_that_stand_there_several_times_are_counted_as_if_they_did() -> None:
    table = StandIn.of(shape(200), PROFILES["strong"], 1).table
    few, many = Repeated(table, 3), InMemory(table.take(np.repeat(np.arange(200), 3)))
    marginals = [(0,), (1, 2), (0, 2, 3)]
    assert (few.count(marginals) == many.count(marginals)).all()
    assert few.rows == many.rows
    requests = [((0,), (1, 2)), ((1, 3), (0, 2))]
    for mine, theirs in zip(few.joint_counts(requests), many.joint_counts(requests), strict=True):
        assert all((a == b).all() for a, b in zip(mine, theirs, strict=True))


def test_the_first_rehearsals_are_one_of_each() -> None:
    wide = grid("one-way", "jtree", epsilons=("1", "2", "3"), parties=(1, 3))
    tasks = wide.tasks(PROFILES, "typical")
    assert len({(t.algorithm, t.parties) for t in tasks[: wide.once]}) == wide.once == 4
    assert {(t.epsilon, t.dependence) for t in tasks[: wide.once]} == {(Fraction(2), "typical")}
    assert len(tasks) == len(set(map(str, tasks))) == 4 * 3 * 5


def test_noise_shrinks_with_rows_and_with_epsilon() -> None:
    """The error that noise makes is a function of rows times epsilon, but for what one row does."""
    few = rehearse_on_stand_in(shape(300), PROFILES, task(epsilon="1/10"))
    many = rehearse_on_stand_in(shape(30_000), PROFILES, task(epsilon="1/10"))
    spent = rehearse_on_stand_in(shape(300), PROFILES, task(epsilon="10"))
    assert few.noise > 5 * many.noise
    assert few.noise > 5 * spent.noise


def test_other_numbers_of_parties_hold_the_same_rows() -> None:
    here = Shape(make_schema(DOMAIN), (700, 200, 101), 2)
    assert here.among(3) is here
    assert here.among(4).party_rows == (251, 250, 250, 250)
    assert (here.among(4).tolerate, here.among(2).tolerate, here.among(1).tolerate) == (2, 1, 0)


def test_parties_of_a_stand_in_hold_what_is_declared() -> None:
    stand_in = StandIn.of(Shape(make_schema(DOMAIN), (700, 200, 101), 1), PROFILES["weak"], 1)
    assert [table.rows for table in stand_in.among((700, 200, 101))] == [700, 200, 101]
    assert all(table.rows for table in stand_in.among((1_000_000, 1)))


def test_distance_is_half_the_difference_of_shares() -> None:
    schema = make_schema((2, 2))
    first = CodedTable(schema, (np.array([0, 0, 1, 1], np.uint8), np.array([0, 1, 0, 1], np.uint8)))
    second = CodedTable(schema, (np.array([0, 0], np.uint8), np.array([0, 0], np.uint8)))
    assert pair_distances(first, second, [(0, 1)]) == pytest.approx([0.75])
    assert pair_distances(first, first, [(0, 1)]) == pytest.approx([0])


@pytest.mark.process
def test_estimates_cover_the_grid_and_their_parts_add_up() -> None:
    told: list[tuple[int, int]] = []
    found = estimates(
        shape(), grid("one-way", "jtree", parties=(1, 3)), profiles=PROFILES, processes=1,
        told=lambda done, total, _left: told.append((done, total)),
    )  # fmt: skip
    keys = [(e.parties, e.algorithm, str(e.epsilon)) for e in found]
    assert keys == [(k, a, e) for k in (1, 3) for a in ("one-way", "jtree") for e in ("1/10", "2")]
    assert told == [(done, 40) for done in range(1, 41)]
    for e in found:
        assert e.noise.expected + e.model.expected == pytest.approx(e.error.expected)
        for part in (e.error, e.noise, e.model, e.largest):
            assert part.least <= part.expected <= part.greatest
    low, high = (e for e in found if (e.parties, e.algorithm) == (1, "one-way"))
    assert low.error.expected > high.error.expected
    # Attributes alone leave out all dependence: the range is that of the profiles.
    assert high.model.least < high.model.expected / 2 < high.model.greatest / 3


def test_what_is_expected_is_the_profile_that_was_named() -> None:
    strong = estimates(shape(), grid("one-way", epsilons=("2",)), "strong", PROFILES, processes=1)[0]
    typical = estimates(shape(), grid("one-way", epsilons=("2",)), "typical", PROFILES, processes=1)[0]
    assert strong.error.expected == strong.error.greatest > typical.error.expected


@pytest.mark.process
def test_other_processes_find_the_same_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privity.assessment.planning.expected_error.WORTH_PROCESSES", 0.0)
    found = estimates(shape(), grid("one-way"), profiles=PROFILES, processes=2)
    assert [e.epsilon for e in found] == [Fraction(1, 10), Fraction(2)]


def some_estimates() -> list[Estimate]:
    part = Part(0.1, 0.05, 0.3)
    names = ("dp-subn", "a<b")
    return [
        Estimate(name, Fraction(epsilon), k, part, part, part, part)
        for k in (1, 3)
        for name in names
        for epsilon in ("0.1", "1")
    ]


def test_the_page_holds_every_number_in_a_table_and_needs_nothing_else() -> None:
    page = accuracy_page.page(shape(), some_estimates())
    assert page.count("<tr>") == 1 + len(some_estimates())
    assert "invented tables" in page
    assert "nothing real was read" in page
    assert "a&lt;b" in page
    assert "a<b" not in page
    assert not re.search(r"<script|https?://(?!www\.w3\.org/2000/svg)|<link|@import", page)


def test_lines_are_told_apart_without_colour() -> None:
    series = tuple(Series(f"s{n}", (0.1, 0.2), ((0.05, 0.3),) * 2) for n in range(8))
    drawn = ElementTree.fromstring(Chart("t", "x", "y", (0.1, 1.0), ("0.1", "1"), series).svg(0))
    lines = [e for e in drawn.iter() if e.tag.endswith("polyline")]
    assert len({line.get("stroke-dasharray") for line in lines}) == 8
    for value in (1.0, 0.37, 0.0123):
        assert 2 <= value / tick_step(value, MOST_TICKS, STEPS) <= 7


def test_several_charts_make_one_well_formed_picture() -> None:
    picture = ElementTree.fromstring(one_picture(accuracy_page.charts(some_estimates())))
    titles = [e.text for e in picture.iter() if e.tag.endswith("title")]
    assert titles[0] == "Expected error, one owner"
    assert len(titles) == len({e.get("id") for e in picture.iter() if e.tag.endswith("title")}) == 6
