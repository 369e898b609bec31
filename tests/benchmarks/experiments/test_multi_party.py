"""Parts of the experiments over several parties: splits, views, bytes, distances, and points as they are measured."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from benchmarks.data import split_table
from benchmarks.experiments import accuracy, multi_party
from benchmarks.experiments.multi_party import in_bits, pair_counts, traffic, views
from benchmarks.methods import table_distances
from benchmarks.methods.learning import learn, party_bytes, synthesize
from benchmarks.methods.table_distances import distances, triples
from benchmarks.methods.wire_bytes import wire_bytes
from privity.assessment.planning.cost_forecast import Arithmetic, Planner
from privity.assessment.planning.in_process_backend import InProcessBackend
from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.schema import load_schema, parse_schema
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.secure_sum_method import PAILLIER
from privity.common.release.evaluation.classifier_utility import (
    Task,
    hold_out,
    labels,
    majority_error,
    misclassification,
)
from privity.common.release.evaluation.marginal_distance import distances_of_sets, marginal_distances
from privity.common.runs.planned_run import planned_session, rehearse

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


@pytest.mark.parametrize(
    ("how", "sizes"), [("random", [20, 20, 20]), ("by:size", [20] * 3), ("sizes:.8,.1,.1", [48, 6, 6])]
)
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


@pytest.mark.parametrize("name", multi_party.TASKS)
def test_tasks_name_what_the_tables_have(shared_data, name):
    schema = load_schema(shared_data / f"{name}.schema.json")
    for task in multi_party.TASKS[name]:
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
    found = views(toy, {"variant": "all pairs", "epsilon": "100"})
    assert found["mean2"] < 0.05
    assert found["tables"] == "3 (pairs)"


def test_a_sample_of_triples_stands_for_all(make_table, monkeypatch):
    real, other = make_table([2, 3, 4, 2, 5, 3, 2], 300, seed=1), make_table([2, 3, 4, 2, 5, 3, 2], 200, seed=2)
    every = distances(real, other)
    assert every["mean3"] == marginal_distances(real, other, ways=(3,))["tvd3"]
    monkeypatch.setattr(table_distances, "MOST_TRIPLES", 10)
    triples.cache_clear()
    chosen = triples(7)
    assert len(set(chosen)) == 10
    assert set(chosen) < set(combinations(range(7), 3))
    one_by_one = distances_of_sets(real, other, ways=(3,))[3]
    sampled = distances(real, other)
    triples.cache_clear()
    assert sampled["mean3"] == pytest.approx(np.mean([one_by_one[triple] for triple in chosen]))
    assert sampled["mean2"] == every["mean2"]


def test_bytes_are_those_of_the_plan(make_table):
    table = make_table([3, 4, 2, 5], 90)
    parts = split_table(table, 3, "random", np.random.default_rng(1))
    budget = PureBudget(Fraction(1))
    session = InProcessBackend(parts, budget).session()
    learn(session, "one-way", {})
    rows = {f"p{k}": part.rows for k, part in enumerate(parts)}
    rehearsed = rehearse(planned_session(table.schema, rows, 1, budget), "one-way", {})
    phases = Planner(rehearsed, 1, PAILLIER, 3072, Arithmetic(0.0, 0.0)).phases()
    found = wire_bytes(session)
    assert found["cells"] == sum(phase.cells for phase in phases) == 14
    assert found["sent_paillier"] == sum(phase.bytes for phase in phases) > 0
    assert found["relayed_paillier"] == sum(phase.relayed for phase in phases)
    assert found["sent_masks"] == 14 * 8


def test_one_party_sends_nothing(make_table):
    session = InProcessBackend([make_table([3, 2], 50)], PureBudget(Fraction(1))).session()
    learn(session, "one-way", {})
    assert {key: value for key, value in wire_bytes(session).items() if "_" in key} == {
        "sent_paillier": 0, "relayed_paillier": 0, "sent_masks": 0, "relayed_masks": 0,
    }  # fmt: skip


def test_bytes_are_compared_with_the_unpacked_protocol():
    moved = {"enrolment": {"party-1": 100, "party-2": 100}, "sums": {"party-1": 900, "party-2": 400}}
    run = {"bytes": moved, "rounds": {"sums": 2}, "unpacked_bytes": {"sums": 40_000}}
    assert party_bytes(run) == {"party-1": 1000, "party-2": 500}
    found = traffic(run)
    assert (found["fewer"], found["all kB"]) == (40, 1.5)
    assert found["fewer in sums"] == pytest.approx(400 / 9)


@pytest.mark.parametrize("split", ["random", "by:size", "dirichlet:size:1"])
def test_a_table_is_learned_over_parties(toy, split):
    point = {"method": "one-way", "epsilon": "1", "delta": "1e-9", "parties": 3, "split": split}
    synthetic, values = accuracy.learned(toy, point, np.random.default_rng(1))
    assert synthetic.rows == 60
    assert values["sent_paillier"] > 0
    synthetic, _ = synthesize(toy, {**point, "delta": 0}, "dp-subn", {}, np.random.default_rng(1))
    assert 0 <= distances(toy, synthetic)["mean2"] <= 1


def test_who_is_ahead_is_told_by_table_and_epsilon():
    def records(method, epsilon, *means, **more):
        point = {"kind": "whole", "data": "adult", "method": method, "epsilon": epsilon, "delta": "1e-9"}
        of = {**point, "parties": 1, "split": "random", "counted": "replaced row", "seconds": 1.0, **more}
        return [{**of, "mean2": mean} for mean in means]

    found = [
        *records("dp-subn", "0.4", 0.05, 0.052), *records("one-way", "0.4", 0.09, 0.09),
        *records("opendp MST", "0.4", 0.06), *records("dp-subn", "1", 0.040, 0.044), *records("dpmm MST", "1", 0.030),
        # At its own count it does not compete.
        *records("opendp MST", "1", 0.01, counted="as its authors count"),
    ]  # fmt: skip
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in accuracy.winners(found)[2:]]
    assert rows[0][3:6] == ["dp-subn, 0.0510 (0.0500-0.0520)", "opendp MST, 0.0600", "ours, by 15 %"]
    assert rows[1][4:6] == ["dpmm MST, 0.0300", "**the peer**, by 29 %"]
    # A peer competes with its model where that is known.
    found += records("opendp MST", "1", 0.05, model2=0.02)
    assert "opendp MST, 0.0200" in accuracy.winners(found)[3]


def test_both_fits_stand_side_by_side():
    point = {"kind": "whole", "data": "adult", "epsilon": "0.4", "delta": "0", "parties": 3, "seconds": 1.0}
    found = [{**point, "method": f"jtree, fit {fit}", "mean2": mean} for fit, mean in (("tables", 0.10), ("pgm", 0.08))]
    (line,) = accuracy.fits(found)[2:]
    assert "| jtree | 3 | - | 0.1000 -> 0.0800 (-20%), 1.0 -> 1.0 s | - | -20% |" in line
