"""The runner of the benchmarks: declarations, points, results that are kept, tables, pages, and a whole small run."""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import runner
from benchmarks.data import Data
from benchmarks.experiment import (
    Experiment,
    Picture,
    Point,
    Record,
    Table,
    Text,
    Values,
    bounds,
    duels,
    grid,
    over_one_party,
    spread,
    standard_errors_apart,
)
from benchmarks.plots import Panel, draw
from benchmarks.runner import NAMES, PAGES, known_blocks, load, unique, with_blocks
from benchmarks.store import Store, code_digest
from tests.harness.places import ROOT

BY_EPSILON = Table("by epsilon", ("method",), "error", columns="epsilon")


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_has_points_tables_and_a_page_with_its_command(name: str) -> None:
    experiment = load(name)
    for quick in (True, False):
        works = list(unique(experiment.points(quick)))
        assert works
        assert len({json.dumps(work, sort_keys=True) for work in works}) == len(works)
    assert len(experiment.points(True)) < 12
    names = [block.name for block in experiment.shows]
    assert len(set(names)) == len(names)
    assert [block.lines([]) for block in experiment.shows if block.name != "clusters: known graphs"]
    assert not any(panel.lines for picture in experiment.pictures for panel in picture.drawn([]))
    assert all((ROOT / place).exists() for place in experiment.code)
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert f"\npython -m benchmarks {name}" in page
    assert set(known_blocks(page)) <= set(names)
    assert page.count("<!-- begin ") == len(known_blocks(page)) > 0


def test_every_page_has_its_experiment_and_at_most_one_small_picture() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == {*NAMES, "README"}
    assert all(f"({name}.md)" in (PAGES / "README.md").read_text(encoding="utf-8") for name in NAMES)
    for picture in PAGES.glob("*.svg"):
        assert f"({picture.name})" in picture.with_suffix(".md").read_text(encoding="utf-8")
        assert picture.stat().st_size < 60_000
    assert {file.suffix for file in PAGES.rglob("*")} == {".md", ".svg"}


def measure(point: Point, seed: int, data: Data) -> Values | list[Values]:
    if point["method"] == "refused":
        raise ValueError("it broke")
    rows = data.table(point["data"]).rows
    return [{"task": task, "error": seed / float(point["epsilon"]) / rows} for task in ("one", "two")]


def points(quick: bool) -> list[Point]:
    return grid(data="toy", method=("good", "refused"), epsilon=("1",) if quick else ("1", "2"), seeds=2)


TOY = Experiment(
    title="A toy",
    points=points,
    measure=measure,
    shows=(BY_EPSILON, Text("count", lambda records: [f"{len(records)} records"])),
    tables=("toy",),
    pictures=(Picture("errors", [BY_EPSILON]),),
    code=("benchmarks/store.py",),
)


@pytest.fixture
def options(tmp_path: Path) -> argparse.Namespace:
    """Of a run over a folder with one table of 3,000 rows."""
    fields = [{"name": "colour", "type": "string", "categories": ["red", "green"]}]
    (tmp_path / "toy.schema.json").write_text(json.dumps({"name": "toy", "fields": fields}))
    with gzip.open(tmp_path / "toy.csv.gz", "wt") as file:
        file.write("colour\n" + "red\ngreen\n" * 1500)
    return runner.parse(["noise", "--data", str(tmp_path), "--out", str(tmp_path / "out")])


@pytest.mark.statistical
def test_a_run_measures_tells_keeps_and_goes_on(
    options: argparse.Namespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert runner.run("toy", TOY, options) == 1
    kept = (options.out / "results.jsonl").read_text()
    assert len(kept.splitlines()) == 4
    text = (options.out / "tables.md").read_text()
    assert "| good | 0.001 (0.000-0.001) | 0.000 (0.000-0.000) |" in text
    assert "8 records" in text
    assert "- ValueError: it broke (4, first: data toy, method refused, epsilon 1, seed 1)" in text
    assert (options.out / "toy.svg").exists()
    assert "no result: ValueError: it broke" in capsys.readouterr().err
    options.seeds, options.only = 3, ["method=good", "epsilon=2"]
    assert runner.run("toy", TOY, options) == 0
    assert len((options.out / "results.jsonl").read_text().splitlines()) == 5
    monkeypatch.setattr(runner, "attempt", lambda *_: pytest.fail("it was measured before"))
    assert runner.run("toy", TOY, options) == 0


def test_a_quick_run_looks_at_the_first_rows_only(options: argparse.Namespace) -> None:
    options.quick, options.only = True, ["method=good"]
    assert runner.run("toy", TOY, options) == 0
    first = json.loads((options.out / "results.jsonl").read_text().splitlines()[0])
    assert first["values"][0]["error"] == 1 / runner.QUICK_ROWS
    before = (options.out / "results.jsonl").read_text()
    assert runner.run("toy", TOY, options) == 0
    assert (options.out / "results.jsonl").read_text() == before


@pytest.mark.long
@pytest.mark.process
@pytest.mark.usefixtures("importable_by_children")
def test_points_are_measured_in_several_processes(tmp_path: Path) -> None:
    experiment = load("thresholds")
    left = [(point, 1) for point in experiment.points(True)[:2]]
    found = list(runner.measured("thresholds", experiment, left, Data(tmp_path, tmp_path), 2))
    assert len(found) == 2
    assert all(one["ratio"] > 0 for _, values in found for one in values)


def test_bounds_that_are_broken_end_a_run_with_one(options: argparse.Namespace) -> None:
    options.only = ["method=good"]
    strict = Experiment(
        "A toy", points, measure, (), ("toy",), code=(), broken=lambda records: [f"{len(records)} rows"]
    )
    assert runner.run("toy", strict, options) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "which experiment"),
        (["accuracy"], "--data DIR must hold adult, nltcs, diabetes130, cps_taxunits"),
        (["begin", "--quick", "--page"], "no result for a page"),
        (["nothing"], "invalid choice"),
    ],
)
def test_what_cannot_be_run_is_told(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        runner.main(arguments)
    assert said in capsys.readouterr().err


def test_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == NAMES


def test_a_page_keeps_its_text_and_blocks_without_results() -> None:
    block = "<!-- begin {0} -->\n\nold {0}\n\n<!-- end {0} -->"
    page = f"# Title\n\nWhat it says.\n\n{block.format('by epsilon')}\n\nMore.\n\n{block.format('count')}\n"
    records = [{"method": "good", "epsilon": "1", "error": 0.5}]
    empty = Experiment("A toy", points, measure, (BY_EPSILON, Text("count", lambda _: [])))
    found = with_blocks(page, empty, records)
    assert "old by epsilon" not in found
    assert "| method | epsilon 1 |\n|---|---|\n| good | 0.500 |\n\n<!-- end by epsilon -->\n\nMore." in found
    assert found.startswith("# Title\n\nWhat it says.")
    assert "old count" in found
    assert with_blocks(found, empty, records) == found


def test_of_a_point_that_is_there_twice_the_larger_number_of_seeds_counts() -> None:
    found = list(unique([{"a": 1, "seeds": 2}, {"a": 2}, {"a": 1, "seeds": 3}]))
    assert found == [({"a": 1}, 1), ({"a": 2}, 1), ({"a": 1}, 2), ({"a": 1}, 3)]


def test_a_table_has_columns_by_number_and_levels_in_its_panel() -> None:
    records: list[Record] = [
        {"method": method, "epsilon": epsilon, "error": error}
        for method, epsilon, error in (("b", "10", 0.3), ("b", "2", 0.1), ("b", "2", 0.2), ("real rows", "-", 0.05))
    ]
    assert BY_EPSILON.lines(records) == [
        "| method | epsilon 2 | 10 | - |",
        "|---|---|---|---|",
        "| b | 0.150 (0.100-0.200) | 0.300 | - |",
        "| real rows | - | - | 0.050 |",
    ]
    panel = BY_EPSILON.panel(records, "epsilon", "error")
    assert panel.lines == {"b": {2.0: [0.1, 0.2], 10.0: [0.3]}}
    assert panel.levels == {"real rows": 0.05}
    listed = Table("t", ("method",), {"runs": lambda some: str(len(some)), "mean": "error:1"})
    assert listed.lines(records)[2] == "| b | 3 | 0.2 (0.1-0.3) |"
    above = Table("t", ("method",), "error", columns={"large": {"error": lambda error: error > 0.15}})
    assert above.lines(records)[2:] == ["| b | 0.250 (0.200-0.300) |"]


def parties(variant: str, k: int, *means: float, **more: Any) -> list[Record]:
    return [{"variant": variant, "parties": k, "mean2": mean, **more} for mean in means]


def test_means_are_compared_with_bounds_with_one_party_and_with_rivals() -> None:
    found = [*parties("ours", 1, 0.1, 0.1), *parties("ours", 2, 0.13, 0.13), *parties("ours", 3, 0.125, 0.125)]
    (ours, _) = over_one_party("name", {}, "variant", {2: 0.4, 3: 0.2, 5: 0.1}).lines(found)[2:]
    assert ours == "| ours | +30% | +25% **above** | - |"
    (met, missed) = bounds("name", [({"parties": k}, "mean2", 0.12) for k in (1, 2)]).lines(found)[2:]
    assert met.endswith("| 0.12 | yes |")
    assert missed.endswith("| 0.12 | **no** |")
    rivals = [*found, *parties("theirs", 2, 0.2, 0.21), *parties("theirs", 3, 0.1, 0.11), *parties("theirs", 7, 0.1)]
    table = Table("grid", ("variant",), "mean2", columns="parties")
    (row,) = duels("name", table, "variant", "ours").lines(rivals)[2:]
    assert row == "| theirs | 2 | 1 | 1 | 1 |"


def test_spread() -> None:
    assert spread([]) == "-"
    assert spread([0.5]) == "0.500"
    assert spread([0.1, 0.3]) == "0.200 (0.100-0.300)"
    assert spread([45222, 45222], 0) == "45,222"
    assert spread(["pure", "pure"]) == "pure"


def test_a_difference_of_samples_in_standard_errors() -> None:
    assert standard_errors_apart([1.0], [1.0]) is None
    # Pooled variance 1 over two and two: the standard error is 1.
    assert standard_errors_apart([3.0, 3 + 2**0.5], [1.0, 1 + 2**0.5]) == pytest.approx(2)


def test_a_store_gives_back_what_was_put(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "found.jsonl"
    Store(file, "one").put({"seed": 1}, {"mean2": 0.1})
    with file.open("a") as stream:
        stream.write('{"key": {"kind": "dist')  # cut off here
    again = Store(file, "one")
    assert again.get({"seed": 1}) == {"mean2": 0.1}
    assert again.get({"seed": 2}) is None
    again.put({"seed": 1}, {"mean2": 0.2})
    assert Store(file, "one").get({"seed": 1}) == {"mean2": 0.2}
    other = Store(file, "two")
    assert other.get({"seed": 1}) is None
    assert other.old == 2
    assert Store(file, "two", any_code=True).get({"seed": 1}) == {"mean2": 0.2}


def test_the_code_digest_reads_statements_only(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text('"""Text."""\n\ndef f():\n    """More."""\n    return 1\n')
    first = code_digest(["one.py"], tmp_path)
    file.write_text("# Comment.\ndef f():\n    return 1\n")
    assert code_digest(["one.py"], tmp_path) == first
    file.write_text("def f():\n    return 2\n")
    assert code_digest(["one.py"], tmp_path) != first


def test_pictures_come_out_the_same_twice(tmp_path: Path) -> None:
    panel = Panel("title", "x", "y", {"a": {1.0: [0.1, 0.2], 2.0: [0.3]}}, {"level": 0.2})
    assert draw([panel, Panel("none", "x", "y", {})], tmp_path / "one.svg")
    assert draw([panel], tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert b"<text" in (tmp_path / "one.svg").read_bytes()
    assert not draw([Panel("none", "x", "y", {})], tmp_path / "three.svg")


QUICK = [name for name in NAMES if name not in ("main_job", "secure_sums")]
"""Those take half a minute, and start the processes that other tests start."""


@pytest.mark.long
@pytest.mark.usefixtures("importable_by_children")
@pytest.mark.parametrize("name", QUICK)
def test_a_quick_run_of_every_experiment_gives_tables(name: str, shared_data: Path, tmp_path: Path) -> None:
    assert runner.main([name, "--quick", "--data", str(shared_data), "--out", str(tmp_path)]) == 0
    assert "|---|" in (tmp_path / "tables.md").read_text()
