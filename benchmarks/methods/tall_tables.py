"""Runs of three nodes, each with rows in Parquet files, and what they take of the machine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import psutil

from benchmarks.experiment import Values
from benchmarks.methods.made_rows import made_schema
from benchmarks.methods.soak_work import MASKS, PATIENCE, REQUEST, started_nodes
from privity.assessment.simulation.child_processes import ProcessGroup
from privity.deploy.consortium.provisioning import Limits, provision
from privity.deploy.operator.run_submission import submit_to

SYNTHETIC_ROWS = 1_000_000
DELTA = Fraction(1, 10**9)


def release(files: Mapping[str, Path], algorithm: str) -> Values:
    """A run over parties that hold these files, from submission until the release is on the operator's disk."""
    with tempfile.TemporaryDirectory(prefix="privity-tall-") as scratch:
        folder = Path(scratch)
        schema = made_schema()
        # The rows themselves stay where they are; no data.csv is read.
        nothing = {name: pd.DataFrame({field: [] for field in schema.names}) for name in files}
        consortium = provision(
            folder / "consortium", nothing, schema, Limits(Fraction(1), 1, MASKS, None, DELTA), patience=PATIENCE
        )
        with ProcessGroup(folder / "logs") as group:
            where = {name: str(file.absolute()) for name, file in files.items()}
            client = started_nodes(group, consortium, folder / "logs", where)
            began = time.monotonic()
            run = submit_to(client, consortium.manifest, _request(algorithm), "tall")
            *_, last = client.watch(run)
            if last.state != "COMPLETED":
                raise RuntimeError(f"{run} ended {last.state}: {last.reason}")
            learned = time.monotonic() - began
            client.fetch(run, folder / "release", signatures=False)
            used = {name: _used(pid) for name, pid in group.pids.items()}
        parties = [used[name] for name in files]
        return {
            "seconds": learned,
            "synthetic": (folder / "release" / "synthetic.csv").stat().st_size / 1e6,
            "cpu of parties": sum(cpu for cpu, _ in parties),
            "peak of a party": max(peak for _, peak in parties),
            "cpu of curator": used["curator"][0],
            "peak of curator": used["curator"][1],
        }


def _request(algorithm: str) -> dict[str, Any]:
    delta = str(DELTA) if algorithm == "aim" else "0"
    return {**REQUEST, "algorithm": algorithm, "epsilon": "1", "delta": delta, "rows": SYNTHETIC_ROWS}


def _used(pid: int) -> tuple[float, float]:
    """Processor seconds of a process so far, and the peak of its resident memory in GB."""
    times = psutil.Process(pid).cpu_times()
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    kilobytes = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
    return times.user + times.system, kilobytes * 1024 / 1e9
