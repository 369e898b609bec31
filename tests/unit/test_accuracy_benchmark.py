"""The comparison at equal guarantee: what is measured, what a peer is given, and how the page comes out of it."""

import asyncio
import dataclasses
import gzip
import json
import sys
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from benchmarks.accuracy import distances as distances_module
from benchmarks.accuracy import verdict
from benchmarks.accuracy.__main__ import command_of, main, make_parser, plan_of, whole
from benchmarks.accuracy.distances import distances, triples
from benchmarks.accuracy.fits import fits_table
from benchmarks.accuracy.measure import cache_key, run_all
from benchmarks.accuracy.methods import COMPARED, FITS, METHODS, SELECTIONS, SLOW, refusal
from benchmarks.accuracy.peers import PeerError, Programs, _said, job_of, read_codes, rho_of
from benchmarks.accuracy.points import (
    AUTHORS,
    DELTA,
    PARTS,
    PEERS,
    PURE,
    REAL_ROWS,
    REPLACED,
    SKEWED,
    SLOW_PEERS,
    Plan,
    Point,
    as_their_count,
)
from benchmarks.accuracy.text import document
from benchmarks.accuracy.wire import MeteredSession, wire_bytes
from benchmarks.cache import Cache, Results
from benchmarks.datasets import Dataset, split_table
from benchmarks.peers import run
from benchmarks.peers.environments import ENVIRONMENTS
from benchmarks.utility import TASKS
from privity.common.data.schema import load_schema
from privity.common.privacy.zcdp_budget import converted, rho_within
from privity.common.protocol.dry_session import PlannedSession, rehearse
from privity.common.protocol.secure_sum_method import PAILLIER
from privity.common.release.evaluation.classifier_utility import Task
from privity.common.release.evaluation.marginal_distance import distances_of_sets, marginal_distances
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.deploy.planning.cost_forecast import Arithmetic, Planner

DESCRIPTOR = {
    "name": "toy",
    "fields": [
        {"name": "colour", "type": "string", "categories": ["red", "green", "blue"]},
        {"name": "size", "type": "integer", "categories": [1, 2, 3, 4]},
        {"name": "heavy", "type": "boolean"},
    ],
}
NO_PEERS = Programs(None, 1.0)


@pytest.fixture
def folder(tmp_path):
    """A folder with one table of 120 rows, as --data takes it."""
    (tmp_path / "toy.schema.json").write_text(json.dumps(DESCRIPTOR))
    rows = [f"{colour},{size},{str(size > 2).lower()}" for colour in ("red", "green", "blue") for size in (1, 2, 3, 4)]
    with gzip.open(tmp_path / "toy.csv.gz", "wt") as file:
        file.write("\n".join(["colour,size,heavy", *rows * 10]) + "\n")
    return tmp_path


@pytest.fixture
def dataset(folder):
    return Dataset.read(folder / "toy.csv.gz", folder / "toy.schema.json")


def point(method, epsilon="1", parties=1, **more):
    more = {"delta": DELTA, **more}
    return Point("whole", "toy", method, epsilon, parties=parties, **more)


def results_of(found):
    """Results from point -> mean 2-way distances, one for each seed."""
    results = Results()
    for one, means in found.items():
        for seed, mean in enumerate(means, start=1):
            results.add(one, seed, {"mean2": mean, "largest2": 2 * mean, "mean3": mean, "seconds": 1.0})
    return results


def rows_of(lines):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]


def test_a_plan_has_the_grid_the_splits_the_tasks_and_the_peers():
    points = Plan().points("adult")
    for method in COMPARED:
        for delta in (DELTA, PURE):
            assert points[Point("whole", "adult", method, "0.2", delta, 25)] == 5
    assert points[Point("whole", "adult", "opendp MST", "0.4", DELTA)] == 1
    assert Point("whole", "adult", "opendp MST", "1", DELTA, counted=AUTHORS) in points
    assert Point("held out", "adult", "opendp MST", "1", DELTA) in points
    assert Point("held out", "adult", REAL_ROWS, "-") in points
    for method in SELECTIONS:
        assert Point("whole", "adult", method, "1", DELTA, 10, "dirichlet:income:0.1") in points
    assert not any(p.method in SLOW_PEERS for p in points)
    assert any(p.method in SLOW_PEERS for p in Plan(methods=SLOW_PEERS).points("adult"))


def test_both_fits_of_every_algorithm_that_has_them_and_a_larger_model_are_points():
    points = Plan().points("adult")
    assert len(FITS) == 2 * sum(algorithm.infers for algorithm in ALGORITHMS.values())
    for method in FITS:
        assert points[Point("whole", "adult", method, "1.6", PURE, 3)] == 5
    for method in SLOW:
        assert Point("whole", "adult", method, "1.6", DELTA) in points
        assert Point("whole", "nltcs", method, "1.6", DELTA) not in Plan().points("nltcs")
    assert not any(p.method in (*FITS, *SLOW) for p in Plan(parts=("single", "parties")).points("adult"))


@pytest.mark.parametrize("epsilon", ["0.1", "0.4", "1.6"])
def test_a_run_at_the_others_count_has_twice_the_rho(epsilon):
    found = as_their_count(epsilon)
    theirs, ours = (rho_within(Fraction(e), Fraction(DELTA)) for e in (epsilon, found))
    assert 2 * theirs * Fraction("0.998") < ours <= 2 * theirs * Fraction("1.000001")


def test_a_plan_is_restricted_to_parts_methods_and_what_can_run():
    plan = Plan(parts=("single",), methods=("one-way", "privbayes"))
    assert {p.method for p in plan.points("adult", ["privbayes"])} == {"one-way"}
    assert {p.parties for p in plan.points("adult")} == {1}
    assert set(Plan().by_part("adult")) == set(PARTS)
    assert not Plan().by_part("unknown table")["skew"]


def test_no_peer_of_another_guarantee_stands_beside_a_pure_run():
    points = Plan(guarantees=(PURE,)).points("adult")
    assert {p.method for p in points if p.of_peer} == {name for name, peer in PEERS.items() if peer.delta == PURE}


def test_skewed_splits_and_tasks_name_what_the_tables_have(shared_data):
    for name, attributes in SKEWED.items():
        assert set(attributes) <= set(load_schema(shared_data / f"{name}.schema.json").names)


@pytest.mark.parametrize("name", PEERS)
def test_every_peer_has_a_program_and_an_environment(name):
    assert PEERS[name].program in run.PROGRAMS
    assert PEERS[name].environment in ENVIRONMENTS


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_that_counts_rho_gets_less_of_it_for_a_replaced_row(name):
    peer = PEERS[name]
    replaced, own = rho_of(peer, "0.4", REPLACED), rho_of(peer, "0.4", AUTHORS)
    if not peer.dearer:
        assert replaced is own is None
        return
    assert own == float(rho_within(Fraction("0.4"), Fraction("1e-9")))
    # What the whole run costs for a replaced row, by the same conversion: the epsilon that was asked for.
    spent = Fraction(replaced) * Fraction(peer.dearer)
    assert float(converted(spent, Fraction("1e-9"))) == pytest.approx(0.4, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "tables", "draws"),
    [("opendp MST", "19/20", "1/20"), ("dpmm AIM, 1 MB", "9/10", "1/10"), ("dpmm MST", "2/3", "1/3")],
)
def test_a_replaced_row_is_twice_as_dear_for_tables_and_four_times_for_selections(name, tables, draws):
    assert Fraction(tables) + Fraction(draws) == 1
    assert PEERS[name].dearer == pytest.approx(float(2 * Fraction(tables) + 4 * Fraction(draws)))


def test_a_job_says_the_domain_and_the_memory(dataset):
    job = job_of(PEERS["opendp AIM, 1 MB"], point("opendp AIM, 1 MB"), dataset.schema)
    assert job["domain"] == [("colour", 3), ("size", 4), ("heavy", 2)]
    assert job["megabytes"] == 1.0
    assert "rho" not in job_of(PEERS["dpart PrivBayes"], point("dpart PrivBayes", delta=PURE), dataset.schema)


def spent_upwards(rho, parts):
    """What opendp's MST adds up for its selections, and what it has for them."""
    tables = run.below(run.below(rho - rho * 0.5))
    draws = run.below(run.below(tables - tables * 0.9))
    one, spent = run.below(draws / parts), 0.0
    for _ in range(parts):
        exact = Fraction(spent) + Fraction(one)
        spent = float(exact)
        if Fraction(spent) < exact:
            spent = float(np.nextafter(spent, np.inf))
    return spent, draws


def test_a_rho_is_made_divisible_at_next_to_no_loss():
    for rho in np.random.default_rng(1).uniform(1e-5, 0.1, 200).tolist():
        found = run.divisible(rho, 14)
        spent, had = spent_upwards(found, 14)
        assert spent <= had
        assert rho * (1 - 1e-6) < found <= rho
    spent, had = spent_upwards(0.00713, 14)
    assert spent > had, "or it would not have to be made so"


@pytest.mark.parametrize("dense", [0, 1 << 18])
def test_a_sample_of_triples_stands_for_all(make_table, monkeypatch, dense):
    monkeypatch.setattr(distances_module, "DENSE_CELLS", dense)
    real, other = make_table([2, 3, 4, 2, 5, 3, 2], 300, seed=1), make_table([2, 3, 4, 2, 5, 3, 2], 200, seed=2)
    every = distances(real, other)
    assert every["mean3"] == marginal_distances(real, other, ways=(3,))["tvd3"]
    monkeypatch.setattr(distances_module, "MOST_TRIPLES", 10)
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
    session = MeteredSession(parts, Fraction(1))
    rehearsed = PlannedSession(table.schema, {f"p{k}": part.rows for k, part in enumerate(parts)}, 1, Fraction(0))
    asyncio.run(ALGORITHMS["one-way"].learn(session, Fraction(1), {}))
    rehearse(rehearsed, "one-way", Fraction(1), {})
    phases = Planner(rehearsed, 1, PAILLIER, 3072, Arithmetic(0.0, 0.0)).phases()
    found = wire_bytes(session)
    assert found["cells"] == sum(phase.cells for phase in phases) == 14
    assert found["sent_paillier"] == sum(phase.bytes for phase in phases) > 0
    assert found["relayed_paillier"] == sum(phase.relayed for phase in phases)
    assert found["sent_masks"] == 14 * 8


def test_one_party_sends_nothing(make_table):
    session = MeteredSession([make_table([3, 2], 50)], Fraction(1))
    asyncio.run(ALGORITHMS["one-way"].learn(session, Fraction(1), {}))
    assert {key: value for key, value in wire_bytes(session).items() if "_" in key} == {
        "sent_paillier": 0, "relayed_paillier": 0, "sent_masks": 0, "relayed_masks": 0,
    }  # fmt: skip


def test_a_key_has_all_that_a_result_depends_on(dataset):
    mine, theirs = point("dp-subn"), point("opendp MST")
    changed = [
        dataclasses.replace(mine, epsilon="1.6"),
        dataclasses.replace(mine, delta=PURE),
        dataclasses.replace(mine, parties=5),
        dataclasses.replace(mine, split="by:size"),
        dataclasses.replace(mine, method="privbayes"),
        dataclasses.replace(mine, kind="held out"),
        theirs,
        dataclasses.replace(theirs, counted=AUTHORS),
        dataclasses.replace(theirs, method="dpmm MST"),
    ]
    keys = [json.dumps(cache_key(dataset, p, 1)) for p in (mine, *changed)]
    assert len(set(keys)) == len(keys)
    assert cache_key(dataset, mine, 1) != cache_key(dataset, mine, 2)
    assert str(dataset.data.parent) not in "".join(keys)


@pytest.mark.parametrize("delta", [DELTA, PURE])
def test_a_sweep_measures_ours_goes_on_and_tells_why_a_peer_was_not_run(tmp_path, dataset, delta, monkeypatch):
    monkeypatch.setitem(TASKS, "toy", (Task("heavy", "heavy", (1,), ("colour",)),))
    wanted = {
        point("one-way", parties=3, delta=delta, split="dirichlet:size:1"): 1,
        point("privbayes", "100", delta=delta): 1,
        Point("held out", "toy", "one-way", "1", delta): 1,
        Point("held out", "toy", REAL_ROWS, "-"): 1,
        point("dpart PrivBayes", delta=PURE): 1,
    }

    def sweep():
        said = []
        ours, peers = Cache(tmp_path / "ours.jsonl", "one"), Cache(tmp_path / "peers.jsonl", "one")
        return run_all({"toy": dataset}, wanted, ours, peers, NO_PEERS, said.append), said

    results, said = sweep()
    again, said_again = sweep()
    mine = [p for p in wanted if not p.of_peer]
    assert "0 / 5 in the cache" in said
    assert "4 / 5 in the cache" in said_again
    assert [results.seeds(p) for p in mine] == [again.seeds(p) for p in mine]
    found = results.seeds(mine[1])[0]
    assert 0 <= found["mean2"] < 0.2
    assert found["largest2"] >= found["mean2"]
    assert results.seeds(mine[0])[0]["sent_paillier"] > 0
    assert results.seeds(mine[3])[0] == {"heavy, majority": pytest.approx(0.5, abs=0.2), "heavy": 0.0}
    assert "no folder for its environment" in results.failed[point("dpart PrivBayes", delta=PURE), 1]


def test_a_peer_that_takes_too_long_or_fails_says_so(tmp_path):
    with pytest.raises(PeerError, match="did not finish within 0 s"):
        _said([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, 0.2)
    with pytest.raises(PeerError, match="ValueError: it broke"):
        _said([sys.executable, "-c", "raise ValueError('it broke')"], tmp_path, 60.0)
    assert _said([sys.executable, "-c", "print('log'); print(7)"], tmp_path, 60.0) == "7"


@pytest.mark.parametrize("content", ["colour,size\n0,1\n", "colour,size,heavy\n0,4,1\n", "colour,size,heavy\n0,x,1\n"])
def test_what_a_peer_wrote_must_fit_the_domain(tmp_path, dataset, content):
    (tmp_path / "out.csv").write_text(content)
    with pytest.raises(PeerError, match="does not fit the domain"):
        read_codes(tmp_path / "out.csv", dataset.schema)


def test_who_is_ahead_is_told_by_table_and_epsilon():
    found = {
        point("dp-subn", "0.4"): [0.05, 0.052],
        point("one-way", "0.4"): [0.09, 0.09],
        point("opendp MST", "0.4"): [0.06],
        point("dp-subn", "1"): [0.040, 0.044],
        point("dpmm MST", "1"): [0.030],
        # At its own count it does not compete.
        point("opendp MST", "1", counted=AUTHORS): [0.01],
    }
    plan = Plan(epsilons=("0.1", "0.4", "1"), guarantees=(DELTA,))
    rows = rows_of(verdict.winners(results_of(found), ["toy"], plan))[1:]
    assert [row[2] for row in rows] == ["0.4", "1"]
    assert rows[0][3].startswith("dp-subn, 0.0510")
    assert rows[0][5] == "ours, by 15 %"
    assert rows[1][4] == "dpmm MST, 0.0300"
    assert rows[1][5] == "**the peer**, by 29 %"
    sentence = "- toy, (eps, 1e-9): ours is ahead of every measured peer at eps 0.4; a peer is ahead at eps 1."
    assert sentence in verdict.in_words(results_of(found), ["toy"], plan)
    assert "- toy, (eps, 1e-9): not measured." in verdict.in_words(results_of({}), ["toy"], plan)


def test_a_peer_competes_with_its_model_where_that_is_known():
    mine, theirs = point("dp-subn"), point("opendp MST")
    results = results_of({mine: [0.05], theirs: [0.06]})
    plan = Plan(epsilons=("1",), guarantees=(DELTA,))
    assert rows_of(verdict.winners(results, ["toy"], plan))[1][5] == "ours, by 17 %"
    results.seeds(theirs)[0]["model2"] = 0.04
    assert rows_of(verdict.winners(results, ["toy"], plan))[1][4:6] == ["opendp MST, 0.0400", "**the peer**, by 20 %"]


def test_targets_stand_beside_what_was_measured():
    fast, slow = (Point("whole", "adult", m, "1", DELTA) for m in ("privbayes", "aim"))
    results = results_of({fast: [0.033, 0.034], slow: [0.025]})
    results.seeds(slow)[0]["seconds"] = 400.0
    rows = {(row[1], row[2]): row for row in rows_of(verdict.targets(results))}
    assert rows["by default, within 60 s", "1"][4:] == ["privbayes, 0.0335 (0.0330-0.0340)", "1", "yes"]
    assert rows["with more time", "1"][4:] == ["aim, 0.0250", "400", "yes"]
    assert rows["with more time", "0.1"][4:] == ["not measured", "-", "-"]


def test_a_larger_model_counts_where_there_is_more_time():
    found = {Point("whole", "adult", m, "1.6", DELTA): [mean] for m, mean in (("aim", 0.02), (*SLOW, 0.018))}
    rows = {(row[1], row[2]): row for row in rows_of(verdict.targets(results_of(found)))}
    assert rows["by default, within 60 s", "1.6"][4] == "aim, 0.0200"
    assert rows["with more time", "1.6"][4:] == [f"{next(iter(SLOW))}, 0.0180", "1", "yes"]


def test_both_fits_stand_side_by_side():
    found = {point(f"jtree, fit {fit}", "0.4", 3): [mean] for fit, mean in (("tables", 0.10), ("pgm", 0.08))}
    results = results_of(found | {point("mst, fit pgm", "0.4"): [0.1]})
    rows = rows_of(fits_table(results, "toy", Plan(), DELTA))
    assert rows[1:] == [["jtree", "3", "-", "0.1000 -> 0.0800 (-20 %), 1.0 -> 1.0 s", "-", "-20 %"]]
    assert fits_table(results, "toy", Plan(), PURE) == []


def test_what_the_lighter_count_buys_stands_beside_the_targets():
    ours = Point("whole", "adult", "aim", as_their_count("0.1"), DELTA)
    rows = rows_of(verdict.at_their_count(results_of({ours: [0.06, 0.07]})))
    assert rows[1:] == [["0.1", ours.epsilon, "0.0650 (0.0600-0.0700)", "0.07", "0.066"]]
    assert verdict.at_their_count(results_of({})) == []


def test_the_price_of_parties_is_compared_with_its_bound():
    found = {Point("whole", "adult", "mst", "1", DELTA, k): [m] for k, m in ((1, 0.10), (2, 0.13), (3, 0.13))}
    rows = rows_of(verdict.party_targets(results_of(found), "adult", Plan(parties=(1, 2, 3, 5))))
    assert rows[1] == ["mst", "+30 %", "+30 % **above**", "-"]
    assert verdict.party_targets(results_of({}), "adult", Plan()) == ["", "Not measured."]


def test_what_the_registry_refuses_is_said(dataset, monkeypatch):
    monkeypatch.setitem(METHODS, "wrong", dataclasses.replace(METHODS["one-way"], settings={"depth": 1}))
    monkeypatch.setitem(METHODS, "unknown", dataclasses.replace(METHODS["one-way"], algorithm="nothing"))
    assert refusal("one-way", dataset.schema) is None
    assert "depth" in refusal("wrong", dataset.schema)
    assert "nothing" in refusal("unknown", dataset.schema)


def test_a_page_shows_every_section(dataset, make_table, monkeypatch):
    monkeypatch.setitem(TASKS, "toy", (Task("heavy", "heavy", (1,)),))
    monkeypatch.setitem(SKEWED, "toy", ("size", "heavy"))
    plan = whole(Plan(seeds=1))
    results = Results()
    values = {
        "mean2": 0.1,
        "largest2": 0.2,
        "mean3": 0.15,
        "seconds": 1.0,
        "model2": 0.09,
        "heavy": 0.3,
        "heavy, majority": 0.4,
    }
    wire = {"sent_paillier": 10**6, "relayed_paillier": 10**7, "sent_masks": 10**5}
    for one, seeds in plan.points("toy").items():
        for seed in range(1, seeds + 1):
            results.add(one, seed, values | wire)
    results.failed[point("opendp MST", "7"), 1] = "it broke"
    text = document(
        results,
        {"toy": make_table([2, 3], 10)},
        plan,
        {"aim": "no such thing"},
        {"epsilons_toy": "e.svg"},
        "run it",
        "the code",
    )
    for part in (
        "**not run**: no such thing",
        "ours is ahead of every measured peer",
        "*opendp AIM, 1 MB*",
        "sorted by size",
        "heavy by Dirichlet, alpha 0.1",
        "Not to be compared with the tables above.",
        "| *opendp AIM, 1 MB*, its model | 0.090 |",
        "Ours are of the code.",
        "Megabytes that a party sends:",
        "| majority | 0.400 |",
        "(accuracy/e.svg)",
        "it broke (1, first:",
        "```\nrun it\n```",
    ):
        assert part in text, part


def test_the_command_measures_a_small_table_and_writes_page_picture_and_results(folder, tmp_path):
    arguments = [
        "--data", str(folder), "--out", str(tmp_path / "out"), "--datasets", "toy", "--quick", "--seeds", "1",
        "--methods", "one-way", "privbayes", "--only", "single", "parties", "--deltas", "0", "1e-9",
    ]  # fmt: skip
    main([*arguments, "--count"])
    assert not (tmp_path / "out").exists()
    main(arguments)
    page = (tmp_path / "out" / "accuracy.md").read_text()
    assert "120 rows, 3 attributes" in page
    assert str(tmp_path) not in page
    assert (tmp_path / "out" / "accuracy" / "epsilons_toy.svg").exists()
    lines = (tmp_path / "out" / "accuracy" / "results.jsonl").read_text().splitlines()
    assert len(lines) == 2 * 2 * 2 * 2
    main([*arguments, "--only-cached"])
    assert (tmp_path / "out" / "accuracy.md").read_text() == page


def test_the_command_as_the_page_shows_it_has_no_folders():
    options = make_parser().parse_args(
        ["--data", "/secret/place", "--out", "/other", "--datasets", "adult", "--seeds", "2", "--only", "peers"]
    )
    shown = "--data DATA --out docs/benchmarks --datasets adult --seeds 2 --environments PEERS"
    assert command_of(options) == f"python -m benchmarks.accuracy {shown}"
    assert plan_of(options).parts == ("peers",)
    assert whole(plan_of(options)).parts == PARTS
