"""Fit and sample of other programs beside PrivBayes of this one, on the same coded table.

Each repetition runs this project's PrivBayes right before the peer, so that a ratio compares neighbours in time. A peer
that cannot be installed or run is told with the last line of its error. They are installed into the folder of the
results.
"""

from __future__ import annotations

import numpy as np

from benchmarks.data import Data
from benchmarks.experiment import Experiment, Point, Table, Values, grid, middle_of
from benchmarks.methods.own_process import fit_and_sample, in_own_process
from benchmarks.methods.peer_programs import python_of, synthesize
from privity.common.release.evaluation.marginal_distance import marginal_distances

PATIENCE = 1800.0
OURS = "privity, PrivBayes"
PEERS = {
    "dpart 0.1.2, PrivBayes, 1 parent": ("dpart", "dpart", "pure; sensitivity in nats for scores in bits"),
    "DataSynthesizer 0.1.13, correlated mode, k = 2": (
        "data-synthesizer", "data-synthesizer", "pure, but spends 2 epsilon",
    ),
    "dpmm 0.1.9, PrivBayes": ("dpmm-privbayes", "dpmm", "(epsilon, 1e-9); sensitivity of I for a normalised I"),
    "dpmm 0.1.9, MST": ("dpmm-mst", "dpmm", "(epsilon, 1e-9)"),
}  # fmt: skip
"""Title -> program in ``peer_run.PROGRAMS``, environment, and what its runs promise, in its own words and ours."""


def ours(data: Data, epsilon: str) -> Values:
    table = data.table("adult")
    model, found = fit_and_sample(table, "privbayes", epsilon, {})
    distances = marginal_distances(table, model.sample(table.rows, np.random.default_rng()), ways=(2,))
    return {"fit": found["fit"], "sample": found["sample"], "both": found["both"], **distances}


def measure(point: Point, _seed: int, data: Data) -> Values:
    mine = in_own_process(ours, data, point["epsilon"])
    if point["program"] == OURS:
        return {**mine, "guarantee": "pure"}
    program, environment, guarantee = PEERS[point["program"]]
    table = data.table("adult")
    python = python_of(environment, data.scratch / "environments")
    synthetic, said = synthesize(program, python, table, {"epsilon": point["epsilon"]}, PATIENCE)
    beside = {"ours": mine["both"], "ours2": mine["tvd2"], "ours largest": mine["tvd2_max"]}
    slower = (said["fit"] + said["sample"]) / mine["both"]
    return {
        **said,
        **marginal_distances(table, synthetic, ways=(2,)),
        **beside,
        "slower": slower,
        "guarantee": guarantee,
    }


def points(quick: bool) -> list[Point]:
    if quick:
        return grid(program=OURS, epsilon="1")
    dpart, synthesizer, privbayes, mst = PEERS
    found = grid(program=dpart, epsilon=("0.4", "1", "1.6"), seeds=3)
    found += grid(program=privbayes, epsilon=("0.4", "1", "1.6"))
    return found + grid(program=(synthesizer, mst), epsilon="1")


EXPERIMENT = Experiment(
    title="Other programs beside PrivBayes on adult: seconds and distances",
    points=points,
    measure=measure,
    shows=(
        Table(
            "programs", ("program", "epsilon"),
            {"guarantee": "guarantee", "fit, s": middle_of("fit", 2), "sample, s": middle_of("sample", 2),
             "whole process, s": middle_of("process"), "PrivBayes here, fit and sample, s": middle_of("ours", 2),
             "times slower": middle_of("slower"), "mean 2-way distance": middle_of("tvd2", 3),
             "here": middle_of("ours2", 3), "largest": middle_of("tvd2_max", 2),
             "largest, here": middle_of("ours largest", 2)},
        ),
    ),
    tables=("adult",),
    code=("common/synthesis", "benchmarks/methods/peer_run.py"),
    alone=lambda _: True,
)  # fmt: skip
