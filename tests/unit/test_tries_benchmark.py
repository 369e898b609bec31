"""Ways tried side by side on public grounds: what many parties ask of MST and AIM, and thresholds of the others."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from benchmarks.budgets.grounds import generated
from benchmarks.budgets.session import Ground
from benchmarks.many_parties import AIM, MST, OVERVIEW, SAME, distance_of_model, foretold, page, ways
from benchmarks.markdown import NONE
from benchmarks.thresholds import SHIPPED, VARIED
from benchmarks.tries import Tried, Try, distance_of_rows, mean, measure, ratios, tries

from benchmarks import many_parties, thresholds
from benchmarks import tries as tries_module
from privity.common.synthesis.algorithms import ALGORITHMS


def make_ground(name: str = "public", seed: int = 1) -> Ground:
    return Ground(name, generated("strong", 3000, (2, 3, 4, 5), seed))


def rows_of(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:2] == "| "]


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


def test_the_first_tries_have_each_table_and_each_number_of_parties_equally_often() -> None:
    made = list(tries(["a", "b", "c"], (AIM, MST), (3, 10, 25)))
    assert len(set(made)) == len(made) == 3 * 18 * 2
    counts = Counter(one.parties for one in made[: 3 * 6])
    assert max(counts.values()) <= 2 * min(counts.values())
    assert Counter(one.ground for one in made[:18]) == {"a": 6, "b": 6, "c": 6}


@pytest.mark.parametrize("algorithm", [AIM, MST])
def test_a_try_measures_every_way_in_the_production_session(algorithm: str) -> None:
    one, ground = Try("public", algorithm, "0.4", "1e-9", 3), make_ground()
    tables, most, noise = foretold(ground, one)
    assert 1 <= tables <= most
    assert noise > 0
    known = ways(algorithm, tables, most)
    values = measure(ground, one, known, distance_of_model)
    assert set(values) == set(known)
    assert all(0 < value < 1 for value in values.values())
    for (way, settings), (other, same) in product(known.items(), repeat=2):
        assert settings != same or values[way] == values[other]
    found = ratios(values, one, known, noise)
    assert {tried.way for tried in found} == {way for way in known if known[way] != known[SAME]}
    assert all(tried.ratio == values[tried.way] / values[SAME] and tried.noted == noise for tried in found)


def test_the_distance_is_that_of_rows_that_are_drawn() -> None:
    ground = make_ground()

    class Same:
        def sample(self, rows: int, generator: np.random.Generator):
            return ground.table.take(np.arange(rows))

    assert distance_of_rows(ground, Same()) == 0


def tried(ground: str, noise: float, ratio: float, way: str = OVERVIEW) -> Tried:
    return Tried(Try(ground, AIM, "1.6", "1e-9", 25), way, ratio, noise)


def test_a_mean_weighs_tables_alike() -> None:
    found = [tried("a", 1, 2.0), tried("a", 1, 8.0), tried("b", 1, 0.25)]
    assert mean(found) == "1.000 +- 1.386 (3)"
    assert mean(found[:1]) == "2.000 (1)"
    assert mean(found, lambda one: one.what.ground == "b") == "0.500 +- 0.347 (3)"
    assert mean([]) == NONE


def test_a_page_tells_where_the_overview_is_better() -> None:
    found = [tried("a", 0.05, 2.0), tried("b", 0.05, 0.5), tried("a", 0.9, 0.5), tried("b", 0.9, 0.5)]
    found += [tried("a", 0.05, 1.1, "1.4 times the tables")]
    text = page(found, ["a", "b"], "run it")
    by_name = {row[0]: row[1:] for row in rows_of(text)}
    assert by_name["0 to 0.1"] == ["1.000 +- 0.693 (2)", "1.000 +- 0.693 (2)", NONE]
    assert by_name["from 0.7"][0] == "0.500 +- 0.000 (2)"
    # Half of the tries, on the scale of logarithms.
    assert by_name["0.4"][0] == f"{math.sqrt(0.5):.3f} +- 0.000 (4)"
    assert by_name["never"][0] == "1.000 +- 0.000 (4)"
    assert ["1.4 times the tables", "25", "1.100 (1)", "1.100 (1)", NONE] in rows_of(text)
    assert "run it" in text


def test_a_page_of_thresholds_has_a_row_for_each() -> None:
    pure = Tried(Try("a", "jtree", "1.6", "0", 3), "theta 4", 0.5)
    found = [pure, Tried(Try("a", "jtree", "1.6", "1e-9", 3), "theta 4", 2.0)]
    text = thresholds.page(found, ["a"], "run it")
    assert ["theta 4", "1.000 (2)", "0.500 (1)", "2.000 (1)"] in rows_of(text)
    assert "## jtree" in text
    assert "## privhd" not in text


@pytest.mark.parametrize("module", [many_parties, thresholds])
def test_the_command_goes_on_where_it_stopped(tmp_path, monkeypatch: pytest.MonkeyPatch, module) -> None:
    monkeypatch.setattr(module, "grounds", lambda _data: [make_ground("one"), make_ground("two", 2)])
    arguments = ["--out", str(tmp_path), "--tries", "3"]
    module.main(arguments)
    kept = tmp_path / module.PACKAGE / "results.jsonl"
    text = (tmp_path / f"{module.PACKAGE}.md").read_text()
    before = kept.read_text()
    assert len(before.splitlines()) == 3
    assert f"python -m benchmarks.{module.PACKAGE}" in text

    def measured_again(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(tries_module, "measure", measured_again)
    module.main([*arguments, "--only-cached"])
    assert kept.read_text() == before
    assert (tmp_path / f"{module.PACKAGE}.md").read_text() == text


def test_settings_that_are_shipped_come_first() -> None:
    assert all(next(iter(thresholds.ways(algorithm))) == SHIPPED for algorithm in VARIED)
