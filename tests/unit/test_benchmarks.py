"""The pure parts of the sweep over parties: what is measured, what is kept, and how tables come out of it."""

import dataclasses
import json

import numpy as np
import pytest
from benchmarks.cache import Cache, code_digest
from benchmarks.datasets import LARGE_SHARE, Dataset, split_table
from benchmarks.markdown import spread, standard_errors_apart
from benchmarks.multi_party import tables, wire
from benchmarks.multi_party.__main__ import command_of, parse, plan_of
from benchmarks.multi_party.cache import Results, cache_key, run_all
from benchmarks.multi_party.measure import in_bits, measure, measure_views, pair_counts
from benchmarks.multi_party.points import (
    IN_BITS,
    MAJORITY,
    QUICK,
    REAL_ROWS,
    SUBJECT,
    TASKS,
    Plan,
    Point,
    refusal,
)
from benchmarks.multi_party.text import document

from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.schema import load_schema, parse_schema
from privity.common.release.evaluation.classifier_utility import (
    Task,
    hold_out,
    labels,
    majority_error,
    misclassification,
)

DESCRIPTOR = {
    "name": "toy",
    "fields": [
        {"name": "colour", "type": "string", "categories": ["red", "green", "blue"]},
        {"name": "size", "type": "integer", "categories": [1, 2, 3, 4]},
        {"name": "heavy", "type": "boolean"},
    ],
}
HEAVY = Task("heavy", "heavy", (1,), ("colour",))


@pytest.fixture
def toy():
    """60 rows; what is large is heavy."""
    size = np.tile(np.arange(4), 15)
    return CodedTable(parse_schema(DESCRIPTOR, "toy.json"), (np.repeat(np.arange(3), 20), size, size >= 2))


@pytest.fixture
def dataset(tmp_path):
    """The toy table as files."""
    (tmp_path / "toy.schema.json").write_text(json.dumps(DESCRIPTOR))
    rows = [f"{colour},{size},{str(size > 2).lower()}" for colour in ("red", "green", "blue") for size in (1, 2, 3, 4)]
    (tmp_path / "toy.csv").write_text("\n".join(["colour,size,heavy", *rows * 5]) + "\n")
    return Dataset.read(tmp_path / "toy.csv", tmp_path / "toy.schema.json")


def distance(variant, epsilon, parties, split="random", data="toy"):
    return Point("distance", data, variant, epsilon, parties, split)


def results_of(found):
    """Results from point -> mean 2-way distances, one for each seed."""
    results = Results()
    for point, means in found.items():
        for seed, mean in enumerate(means, start=1):
            results.add(point, seed, {"mean2": mean, "largest2": 2 * mean, "mean3": mean, "seconds": 1.0})
    return results


def rows_of(lines):
    """The rows of a markdown table as lists of cells, its head first."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]


@pytest.mark.parametrize(("how", "sizes"), [("random", [20, 20, 20]), ("by:size", [20] * 3), (LARGE_SHARE, [48, 6, 6])])
def test_parties_get_every_row_once(toy, how, sizes):
    parts = split_table(toy, 3, how, np.random.default_rng(1))
    assert [part.rows for part in parts] == sizes
    together = np.concatenate([np.column_stack(part.columns) for part in parts])
    assert sorted(map(tuple, together)) == sorted(map(tuple, np.column_stack(toy.columns)))


def test_the_sorted_split_goes_by_codes(toy):
    parts = split_table(toy, 2, "by:size", np.random.default_rng(1))
    assert parts[0].columns[1].max() <= parts[1].columns[1].min()


def test_labels_and_the_majority(toy):
    assert labels(toy, HEAVY).sum() == 30
    assert majority_error(toy.take(np.arange(3)), HEAVY) == pytest.approx(1 / 3)


def test_the_held_out_part_is_a_fifth(toy):
    train, test = hold_out(toy, np.random.default_rng(1))
    assert (train.rows, test.rows) == (48, 12)


def test_a_classifier_learns_what_the_table_says(toy):
    pytest.importorskip("sklearn")
    train, test = hold_out(toy, np.random.default_rng(1))
    assert misclassification(train, test, HEAVY) == 0


def test_one_answer_alone_is_the_prediction(toy):
    pytest.importorskip("sklearn")
    light = toy.take(np.flatnonzero(toy.columns[2] == 0))
    assert misclassification(light, toy, HEAVY) == 0.5


@pytest.mark.parametrize("name", TASKS)
def test_tasks_name_what_the_tables_have(shared_data, name):
    schema = load_schema(shared_data / f"{name}.schema.json")
    for task in TASKS[name]:
        assert set(task.positive) <= set(schema.attributes[schema.index(task.attribute)].categories)
        assert set(task.dropped) < set(schema.names)


def test_bits_are_those_of_the_codes(toy):
    bits = in_bits(toy)
    assert bits.schema.names == ("colour bit 1", "colour bit 0", "size bit 1", "size bit 0", "heavy bit 0")
    assert (2 * bits.columns[2] + bits.columns[3] == toy.columns[1]).all()


def test_pairs_are_read_from_a_view():
    counts = np.arange(24).reshape(2, 3, 4)
    found = dict(pair_counts(NoisyTable((0, 2, 5), counts, 1, 2.0, 24)))
    assert set(found) == {(0, 2), (0, 5), (2, 5)}
    assert (found[0, 5] == counts.sum(axis=1)).all()


def test_views_come_close_with_much_epsilon(toy):
    found = measure_views(toy, Point("views", "toy", "all pairs", "100", 1))
    assert found["mean2"] < 0.05
    assert found["tables"] == 3


def test_a_cache_gives_back_what_was_put(tmp_path, dataset):
    point = distance(SUBJECT, "0.8", 3)
    key = cache_key(dataset, point, 1, 3072)
    file = tmp_path / "cache" / "found.jsonl"
    Cache(file, "one").put(key, {"mean2": 0.1})
    with file.open("a") as stream:
        stream.write('{"key": {"kind": "dist')  # cut off here
    again = Cache(file, "one")
    assert again.get(key) == {"mean2": 0.1}
    assert again.get(cache_key(dataset, point, 2, 3072)) is None
    again.put(key, {"mean2": 0.2})
    assert Cache(file, "one").get(key) == {"mean2": 0.2}


def test_results_of_other_code_do_not_count(tmp_path, dataset):
    key = cache_key(dataset, distance(SUBJECT, "0.8", 3), 1, 3072)
    Cache(tmp_path / "c", "one").put(key, {"mean2": 0.1})
    other = Cache(tmp_path / "c", "two")
    assert other.get(key) is None
    assert other.old == 1
    assert Cache(tmp_path / "c", "two", any_code=True).get(key) == {"mean2": 0.1}


def test_a_key_has_all_that_a_result_depends_on(dataset):
    point = distance(SUBJECT, "0.8", 3)
    changed = [
        dataclasses.replace(point, epsilon="1.6"),
        dataclasses.replace(point, parties=5),
        dataclasses.replace(point, split="by:size"),
        dataclasses.replace(point, variant="quotas balanced"),
        dataclasses.replace(point, kind="svm"),
    ]
    keys = [json.dumps(cache_key(dataset, p, 1, 3072)) for p in (point, *changed)]
    assert len(set(keys)) == len(keys)
    real = dataclasses.replace(point, kind="real")
    assert cache_key(dataset, real, 1, 2048) != cache_key(dataset, real, 1, 3072)
    assert str(dataset.data.parent) not in keys[0]


def test_the_code_digest_reads_statements_only(tmp_path):
    file = tmp_path / "one.py"
    file.write_text('"""Text."""\n\ndef f():\n    """More."""\n    return 1\n')
    first = code_digest(tmp_path, ["one.py"])
    file.write_text("# Comment.\ndef f():\n    return 1\n")
    assert code_digest(tmp_path, ["one.py"]) == first
    file.write_text("def f():\n    return 2\n")
    assert code_digest(tmp_path, ["one.py"]) != first


def test_a_plan_has_every_point_once_and_the_real_ones_last(dataset):
    points = dataclasses.replace(Plan(), real=True).points(dataset, ["independent"])
    assert distance(SUBJECT, "0.05", 25) in points
    assert points[distance(SUBJECT, "1", 10)] == 5
    assert points[distance(SUBJECT, "0.8", 3, "by:heavy")] == 3
    assert {points[p] for p in points if p.variant in IN_BITS} == {1}
    assert not any(point.variant == "independent" for point in points)
    kinds = [point.kind == "real" for point in points]
    assert kinds == sorted(kinds)
    assert any(kinds)


def test_what_the_registry_refuses_is_said(toy, monkeypatch):
    variants = {"fine": ("one-way", {}), "unknown": ("nothing", {}), "wrong": ("one-way", {"depth": 1})}
    monkeypatch.setattr("benchmarks.multi_party.points.VARIANTS", variants)
    assert refusal("fine", toy.schema) is None
    assert "nothing" in refusal("unknown", toy.schema)
    assert "depth" in refusal("wrong", toy.schema)


def test_a_sweep_goes_on_where_it_stopped(tmp_path, dataset):
    point = distance("one-way", "1", 2)
    datasets, said = {"toy": dataset}, []
    cache = Cache(tmp_path / "c", "one")
    first = run_all(datasets, {point: 1}, cache, 3072, 1, said.append)
    again = run_all(datasets, {point: 2}, Cache(tmp_path / "c", "one"), 3072, 1, said.append)
    assert first.seeds(point) == again.seeds(point)[:1]
    assert len(again.seeds(point)) == 2
    assert "1 / 2 in the cache" in said


def test_a_refused_point_is_told_and_not_kept(tmp_path, dataset):
    point = distance("one-way", "1", 61)  # more parties than rows
    results = run_all({"toy": dataset}, {point: 1}, Cache(tmp_path / "c", "one"), 3072, 1, lambda _text: None)
    assert "61 parties" in results.failed[point, 1]
    assert not (tmp_path / "c").exists()


def test_exceptions_list_every_loss_and_nothing_else():
    results = results_of(
        {
            distance(SUBJECT, "0.2", 3): [0.10, 0.12],
            distance("one-way", "0.2", 3): [0.08, 0.09],
            distance("dp-ccbn", "0.2", 3): [0.11, 0.105],
            distance("plain tree", "0.2", 3): [0.2, 0.3],
            distance("one-way", "0.2", 1): [0.01],
            distance(SUBJECT, "0.2", 1): [0.02],
        }
    )
    found = tables.comparisons(results, "toy", Plan(epsilons=("0.2",)))
    rows = rows_of(tables.exceptions(found))[1:]
    assert [(row[1], row[6]) for row in rows] == [("dp-ccbn", "overlap"), ("one-way", "**apart**")]
    assert [row[2:] for row in rows_of(tables.beaten(found))[1:]] == [
        ["0 of 1", "0", "0"],
        ["1 of 1", "1", "0"],
        ["0 of 1", "0", "1"],
    ]
    assert tables.exceptions([item for item in found if item.beaten]) == ["", "There is no exception."]


def test_the_curve_says_what_is_within_its_bound():
    results = results_of(
        {distance(SUBJECT, "1", k): [m - 0.001, m + 0.001] for k, m in ((1, 0.1), (2, 0.13), (3, 0.125), (5, 0.105))}
    )
    rows = rows_of(tables.curve(results, "toy", Plan(parties=(1, 2, 3, 5))))
    assert [row[-1] for row in rows[1:]] == ["-", "yes", "**no**", "yes"]
    assert rows[2][3].startswith("+30.0 ±")


def test_spread_and_excess():
    assert spread([]) == "-"
    assert spread([0.5]) == "0.500"
    assert spread([0.1, 0.3]) == "0.200 (0.100-0.300)"
    assert tables.relative_excess([1.2], [1.0]) == (pytest.approx(0.2), 0)


def test_a_difference_of_samples_in_standard_errors():
    assert standard_errors_apart([1.0], [1.0]) is None
    # Pooled variance 1 over two and two: the standard error is 1.
    assert standard_errors_apart([3.0, 3 + 2**0.5], [1.0, 1 + 2**0.5]) == pytest.approx(2)


def run_document():
    moved = {"enrolment": {"party-1": 100, "party-2": 100}, "sums": {"party-1": 900, "party-2": 400}}
    return {
        "bytes": moved, "rounds": {"sums": 2}, "cells": {"sums": 26}, "unpacked_bytes": {"sums": 40_000},
        "seconds": {"sums": 1.5}, "key_bits": 3072,
    }  # fmt: skip


def test_bytes_are_compared_with_the_unpacked_protocol():
    run = run_document()
    assert wire.party_bytes(run) == {"party-1": 1000, "party-2": 500}
    assert wire.ratio(run) == 40
    assert wire.sums_ratio(run) == pytest.approx(400 / 9)


def test_a_document_shows_every_section(dataset, toy, monkeypatch):
    monkeypatch.setitem(TASKS, "toy", (HEAVY,))
    plan = dataclasses.replace(QUICK, real=True)
    results = Results()
    values = {"mean2": 0.1, "largest2": 0.2, "mean3": 0.15, "seconds": 1.0, "tables": 3, "shape": "pairs", "heavy": 0.3}
    for point, seeds in plan.points(dataset).items():
        for seed in range(1, seeds + 1):
            more = {f"heavy, {MAJORITY}": 0.4} if point.variant == REAL_ROWS else {}
            results.add(point, seed, {**values, **more, **({"run": run_document()} if point.kind == "real" else {})})
    text = document(
        results, {"toy": (dataset, toy)}, plan, {"independent": "no"}, {"views": "views.svg"}, "run it", 3072
    )
    for part in (
        "**not run**: no",
        "![views](multi_party/views.svg)",
        "Misclassification, heavy",
        "| sums | 900 | 400 |",
    ):
        assert part in text
    tables_ = [block for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables_) > 20
    for block in tables_:
        assert len({line.count("|") for line in block.splitlines()}) == 1
    assert "`--real` makes them" in document(results, {"toy": (dataset, toy)}, QUICK, {}, {}, "run it", 3072)


def test_the_command_names_no_folder(tmp_path):
    options = parse(
        ["--data", str(tmp_path / "a.csv"), "--schema", "s.json", "--out", "docs", "--real", "--seeds", "4"]
    )
    assert str(tmp_path) not in command_of(options)
    assert (plan_of(options).seeds, plan_of(options).real) == (4, True)


def test_pictures_come_out_the_same_twice(tmp_path):
    pytest.importorskip("matplotlib")
    from benchmarks.plots import Line, Panel, draw

    panel = Panel("title", "x", "y", {"a": Line([1, 2], [[0.1, 0.2], [0.3]])}, {"level": 0.2})
    assert draw([panel, Panel("none", "x", "y", {})], tmp_path / "one.svg")
    assert draw([panel], tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert b"<text" in (tmp_path / "one.svg").read_bytes()
    assert not draw([Panel("none", "x", "y", {})], tmp_path / "three.svg")


@pytest.mark.parametrize("variant", [SUBJECT, "one-way"])
def test_a_point_is_measured(dataset, variant):
    found = measure(dataset, distance(variant, "1", 2), 1, 3072)
    assert set(found) == {"mean2", "largest2", "mean3", "seconds"}
    assert 0 <= found["mean2"] <= found["largest2"] <= 1
