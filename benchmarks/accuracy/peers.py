"""One run of another program, in an environment of its own, under its own guarantee or at an equal one."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.accuracy.distances import distances
from benchmarks.accuracy.points import PEERS, REPLACED, Peer, Point
from benchmarks.cache import Values
from benchmarks.datasets import Dataset, load
from benchmarks.peers.environments import ENVIRONMENTS, Installed, install, last_line
from benchmarks.utility import TASKS
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema
from privity.common.privacy.zcdp_budget import rho_within
from privity.common.release.evaluation.classifier_utility import hold_out, misclassification

RUNNER = Path(__file__).parents[1] / "peers" / "run.py"
MEASURES = "1"
"""Raised when what is measured of a peer's table means something else: results before that do not count."""


class PeerError(Exception):
    """A run that did not come to an end; with the last line of what it said."""


@dataclass(frozen=True)
class Programs:
    """The environments of the peers, made when they are first needed.

    Attributes:
        folder: where they are kept; None if no peer may be run.
        patience: seconds after which a run is ended.
    """

    folder: Path | None
    patience: float

    @cached_property
    def _installed(self) -> dict[str, Installed]:
        return {}

    def python(self, environment: str) -> Path:
        """The interpreter of an environment. Raises PeerError if there is none."""
        if self.folder is None:
            raise PeerError("not run: no folder for its environment was given (--environments)")
        if environment not in self._installed:
            self._installed[environment] = install(ENVIRONMENTS[environment], self.folder)
        found = self._installed[environment]
        if found.python is None:
            raise PeerError("; ".join(found.errors))
        return found.python


def rho_of(peer: Peer, epsilon: str, counted: str) -> float | None:
    """What a peer that counts rho is given, by the one conversion that our own runs go by; None for the others."""
    if not peer.dearer:
        return None
    whole = float(rho_within(Fraction(epsilon), Fraction(peer.delta)))
    return whole / peer.dearer if counted == REPLACED else whole


def measure_peer(dataset: Dataset, point: Point, seed: int, programs: Programs) -> Values:
    """Distances of its table, or errors of classifiers trained on it; its seconds.

    The seed decides which rows are held out, and nothing else.
    """
    table = load(dataset.data, dataset.schema_file)
    if point.kind == "whole":
        synthetic, seconds = synthesize(table, point, programs)
        return {**seconds, **distances(table, synthetic)}
    train, test = hold_out(table, np.random.default_rng(seed))
    synthetic, seconds = synthesize(train, point, programs)
    return {**seconds, **{task.name: misclassification(synthetic, test, task) for task in TASKS[point.data]}}


def synthesize(table: CodedTable, point: Point, programs: Programs) -> tuple[CodedTable, Values]:
    """As many rows as the table has; seconds of learning and of sampling, and what else the program tells.

    Raises:
        PeerError: it could not be installed, failed, or took too long.
    """
    peer = PEERS[point.method]
    python = programs.python(peer.environment)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        codes, out = scratch / "codes.csv", scratch / "synthetic.csv"
        pd.DataFrame(dict(zip(table.schema.names, table.columns, strict=True))).to_csv(codes, index=False)
        job = {**job_of(peer, point, table.schema), "codes": str(codes), "out": str(out)}
        (scratch / "job.json").write_text(json.dumps(job), encoding="utf-8")
        command = [str(python), str(RUNNER), peer.program, str(scratch / "job.json")]
        said = json.loads(_said(command, scratch, programs.patience))
        synthetic = read_codes(out, table.schema)
    values = {"seconds": round(said.pop("fit"), 2), "sampling": round(said.pop("sample"), 2)}
    return synthetic, {**values, **said}


def job_of(peer: Peer, point: Point, schema: Schema) -> dict[str, Any]:
    """What ``benchmarks/peers/run.py`` is told, files excepted."""
    job: dict[str, Any] = {
        "domain": list(zip(schema.names, map(int, schema.domain), strict=True)),
        "epsilon": point.epsilon,
        "replaced": point.counted == REPLACED,
    }
    rho = rho_of(peer, point.epsilon, point.counted)
    if rho is not None:
        job["rho"] = rho
    if peer.megabytes is not None:
        job["megabytes"] = peer.megabytes
    return job


def _said(command: list[str], folder: Path, patience: float) -> str:
    """The last line of what the program printed."""
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=patience, check=False, cwd=folder, env=variables
        )
    except subprocess.TimeoutExpired as error:
        raise PeerError(f"did not finish within {patience:.0f} s") from error
    if done.returncode:
        raise PeerError(last_line(done.stderr))
    return last_line(done.stdout)


def read_codes(file: Path, schema: Schema) -> CodedTable:
    """Codes as a peer wrote them. Raises PeerError if they are none."""
    frame = pd.read_csv(file)
    try:
        columns = tuple(frame[name].to_numpy().round().astype("int64") for name in schema.names)
        return CodedTable(schema, columns)
    except (KeyError, ValueError, TypeError) as error:
        raise PeerError(f"what it wrote does not fit the domain: {error}") from error


def peer_key(dataset: Dataset, point: Point, seed: int) -> Mapping[str, Any]:
    """Everything that a peer's result depends on: its version and what it is told, not its name here."""
    peer = PEERS[point.method]
    told = {key: value for key, value in job_of(peer, point, dataset.schema).items() if key != "domain"}
    return {
        "kind": point.kind, "data": point.data, "digest": dataset.digest, "program": peer.program,
        "version": peer.version, "delta": peer.delta, **told, "seed": seed,
    }  # fmt: skip
