"""What many parties ask of MST and AIM, measured on public grounds: ways, tries, a page from results."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from benchmarks import many_parties
from benchmarks.budgets.grounds import generated
from benchmarks.budgets.session import Ground
from benchmarks.many_parties import AIM, MST, OVERVIEW, SAME, Tried, Try, foretold, main, measure, page, tries, ways
from benchmarks.markdown import NONE
from common.algorithms import ALGORITHMS


def make_ground(name: str = "public", seed: int = 1) -> Ground:
    return Ground(name, generated("strong", 3000, (2, 3, 4, 5), seed))


@pytest.mark.parametrize("algorithm", [AIM, MST])
def test_every_way_is_one_that_the_algorithm_knows(algorithm: str) -> None:
    found = ways(algorithm, 3, 3)
    for settings in found.values():
        ALGORITHMS[algorithm].check(settings, make_ground().table.schema)
    assert found["2 times the tables"] == found[SAME]
    assert found["0.7 times the tables"] != found[SAME]


def test_the_first_tries_have_each_table_and_each_number_of_parties_equally_often() -> None:
    made = list(tries(["a", "b", "c"]))
    assert len(set(made)) == len(made) == 3 * 18 * 2
    counts = Counter(one.parties for one in made[: 3 * 6])
    assert max(counts.values()) <= 2 * min(counts.values())
    assert Counter(one.ground for one in made[:18]) == {"a": 6, "b": 6, "c": 6}


@pytest.mark.parametrize("algorithm", [AIM, MST])
def test_a_try_measures_every_way_in_the_production_session(algorithm: str) -> None:
    one = Try("public", algorithm, "0.4", "1e-9", 3)
    values = measure(make_ground(), one)
    assert set(values) == {"noise", *ways(algorithm, 2, 3)}
    assert values["noise"] == foretold(make_ground(), one)[2] > 0
    assert all(0 < values[way] < 1 for way in ways(algorithm, 2, 3))


def test_a_page_tells_where_the_overview_is_better() -> None:
    def tried(ground: str, noise: float, ratio: float, way: str = OVERVIEW) -> Tried:
        return Tried(Try(ground, AIM, "1.6", "1e-9", 25), way, noise, ratio)

    found = [tried("a", 0.05, 2.0), tried("b", 0.05, 0.5), tried("a", 0.9, 0.5), tried("b", 0.9, 0.5)]
    found += [tried("a", 0.05, 1.1, "1.4 times the tables")]
    lines = page(found, ["a", "b"], "run it").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    by_name = {row[0]: row[1:] for row in rows}
    assert by_name["0 to 0.1"] == ["1.000 +- 0.693 (2)", "1.000 +- 0.693 (2)", NONE]
    assert by_name["from 0.7"][0] == "0.500 +- 0.000 (2)"
    # Half of the tries, on the scale of logarithms.
    assert by_name["0.4"][0] == f"{math.sqrt(0.5):.3f} +- 0.000 (4)"
    assert by_name["never"][0] == "1.000 +- 0.000 (4)"
    assert ["1.4 times the tables", "25", "1.100 (1)", "1.100 (1)", NONE] in rows
    assert "run it" in lines


def test_the_command_goes_on_where_it_stopped(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_parties, "grounds", lambda _data: [make_ground("one"), make_ground("two", 2)])
    arguments = ["--out", str(tmp_path), "--tries", "3"]
    main(arguments)
    kept = tmp_path / "many_parties" / "results.jsonl"
    text = (tmp_path / "many_parties.md").read_text()
    before = kept.read_text()
    assert len(before.splitlines()) == 3
    assert "3 tries (AIM 1, MST 2) on 2 tables" in text
    assert (tmp_path / "many_parties" / "ratios.svg").exists()

    def measured_again(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(many_parties, "measure", measured_again)
    main([*arguments, "--only-cached"])
    assert kept.read_text() == before
    assert (tmp_path / "many_parties.md").read_text() == text
