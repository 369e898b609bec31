"""One run of another program, in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.experiment import Values
from benchmarks.methods.peer_environments import ENVIRONMENTS, install, last_line
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema

RUNNER = Path(__file__).with_name("peer_run.py")
PATIENCE = 3600.0
"""Seconds after which a run is ended."""


class PeerError(Exception):
    """A run that did not come to an end; with the last line of what it said."""


@cache
def python_of(environment: str, folder: Path) -> Path:
    """The interpreter of an environment, which is made in the folder if it is not there yet."""
    found = install(ENVIRONMENTS[environment], folder)
    if found.python is None:
        raise PeerError("; ".join(found.errors))
    return found.python


def synthesize(
    program: str, python: Path, table: CodedTable, job: dict[str, Any], patience: float = PATIENCE
) -> tuple[CodedTable, Values]:
    """As many rows as the table has; seconds of learning and of sampling, and what else the program tells.

    Args:
        job: what ``peer_run.py`` is told, files and domain excepted.

    Raises:
        PeerError: it failed, took too long, or wrote what is no table.
    """
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        codes, out = scratch / "codes.csv", scratch / "synthetic.csv"
        pd.DataFrame(dict(zip(table.schema.names, table.columns, strict=True))).to_csv(codes, index=False)
        domain = list(zip(table.schema.names, map(int, table.schema.domain), strict=True))
        told = {**job, "domain": domain, "codes": str(codes), "out": str(out)}
        (scratch / "job.json").write_text(json.dumps(told), encoding="utf-8")
        started = time.perf_counter()
        said = json.loads(last_said([str(python), str(RUNNER), program, str(scratch / "job.json")], scratch, patience))
        return read_codes(out, table.schema), {**said, "process": time.perf_counter() - started}


def last_said(command: list[str], folder: Path, patience: float) -> str:
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
