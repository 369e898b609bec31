"""The secure sums: speed by kind, cost by number of parties, whole rounds over the network, and the main job by phase.

Every figure is of one process started for it; ratios to plain Paillier (phe, one number at a time, all cores) are of
the same run. ``python -m benchmarks.secure_sum`` measures one sum.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.data import Data
from benchmarks.experiment import Experiment, Point, Record, Table, Text, Values, chosen, grid, markdown
from benchmarks.methods.learning import party_bytes
from privity.deploy.operator.phase_times import TIMES

STAGES = ("noise", "pack", "mask", "encrypt", "seal", "combine", "open")
OPTIONS: dict[str, tuple[str, ...]] = {
    "`paillier`, `half`": (),
    "`paillier`, `short`": ("--exponents", "short"),
    "`paillier`, `full`": ("--exponents", "full"),
    "`paillier`, `half`, 2048 bits": ("--key-bits", "2048"),
    "`masks`": ("--secure-sum", "masks"),
}

MILLION = 1_000_000


def run(module: str, *arguments: object) -> tuple[float, str]:
    """Run a module; the seconds that it took, and what it printed."""
    started = time.perf_counter()
    command = [sys.executable, "-m", module, *(str(a) for a in arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return time.perf_counter() - started, done.stdout


def one_sum(point: Point, out: Path) -> Values:
    options = ("--cells", point["cells"], "--parties", point["parties"], *OPTIONS[point["sum"]])
    run("benchmarks.secure_sum", *options, "--json", out)
    found: dict[str, Any] = json.loads(out.read_text())
    return {
        "summed": found["cells"], "s": found["seconds"],
        "party": found["cells"] / found["cells_per_second_per_party"], "rate": found["cells_per_second"],
        "speedup": found["speedup_over_phe"], "sent": found["bytes_per_cell"],
        "worst": found["bytes_per_cell_of_worst_party"], "peak": found["peak_mb"], **found["stages"],
    }  # fmt: skip


def over_network(point: Point, out: Path) -> Values:
    """A round of production's processes."""
    options = ("--cells", point["cells"], "--parties", point["parties"], *OPTIONS[point["sum"]])
    run("benchmarks.secure_sum", "--network", *options, "--json", out)
    found: dict[str, Any] = json.loads(out.read_text())
    core, peak = found["core_seconds"], found["peak_mb"]
    curator = core.pop("curator"), peak.pop("curator")
    return {
        "summed": found["cells"], "s": found["seconds"], "all": curator[0] + sum(core.values()),
        "curator": curator[0], "combiner": max(core.values()), "party": min(core.values()),
        "relayed": found["relayed"] / 1e6, "curator's peak": curator[1], "peak": max(peak.values()),
    }  # fmt: skip


def job(point: Point, out: Path, data: Data) -> Values:
    """A simulation from command to release."""
    table, schema = data.files("adult")
    kind = ("--secure-sum", "masks") if point["sum"] == "`masks`" else ()
    seconds, said = run(
        "privity.interfaces.cli.main", "simulate", "--data", table, "--schema", schema, "--epsilon", "1", "--seed", "1",
        "--patience", "300", "--out", out, "--parties", point["parties"], *kind,
    )  # fmt: skip
    kilobytes = max(party_bytes(json.loads((out / "run.json").read_text())).values()) / 1000
    return {"s": seconds, "phases": seconds_by_phase(said), "kB": kilobytes}


def seconds_by_phase(said: str) -> dict[str, float]:
    """What ``privity simulate`` printed of the time of each phase."""
    line = next(line for line in said.splitlines() if line.startswith(TIMES))
    return {name: float(value) for name, value in re.findall(r" ([^,]+) ([0-9.]+[0-9])", line.removeprefix(TIMES))}


def measure(point: Point, _seed: int, data: Data) -> Values:
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out"
        if point["kind"] == "main job":
            return job(point, out, data)
        return over_network(point, out) if point["kind"] == "network" else one_sum(point, out)


def by_phase(records: Sequence[Record]) -> list[str]:
    jobs = chosen(records, {"kind": "main job"})
    phases = list(dict.fromkeys(phase for record in jobs for phase in record["phases"]))
    rows = [
        [f"K = {r['parties']}, {r['sum']}", f"{r['s']:.1f}", *(f"{r['phases'].get(p, 0):.2f}" for p in phases),
         f"{r['kB']:,.0f}"]
        for r in jobs
    ]  # fmt: skip
    return markdown(["run", "command to release, s", *phases, "worst party, kB"], rows) if rows else []


def points(quick: bool) -> list[Point]:
    if quick:
        return grid(kind="kind", sum=("`paillier`, `short`", "`masks`"), cells=1000, parties=2) + grid(
            kind=("network", "main job"), sum="`masks`", cells=1000, parties=2
        )
    found = grid(kind="kind", sum=("`paillier`, `half`", "`paillier`, `short`"), cells=MILLION, parties=3)
    found += grid(kind="kind", sum="`paillier`, `full`", cells=20_000, parties=3)
    found += grid(kind="kind", sum="`masks`", cells=MILLION, parties=16)
    numbers = (2, 5, 10, 25, 50)
    found += grid(kind="number", sum="`paillier`, `half`", cells=100_000, parties=numbers)
    found += grid(kind="number", sum="`masks`", cells=MILLION, parties=numbers)
    sums = ("`masks`", "`paillier`, `half`, 2048 bits", "`paillier`, `half`")
    found += grid(kind="network", sum=sums, cells=(MILLION, 3 * MILLION, 10 * MILLION), parties=3)
    return found + grid(kind="main job", parties=(3, 50), sum=("`paillier`, `half`", "`masks`"))


EXPERIMENT = Experiment(
    title="The secure sums: speed by kind, cost by number of parties, and the main job by phase",
    points=points,
    measure=measure,
    shows=(
        Table(
            "by kind",
            ("sum", "parties"),
            {
                "cells": "summed:0", "s": "s:1", "s a party": "party:2", "cells/s": "rate:0",
                "against phe": "speedup:0", "bytes a cell": "sent:2", "peak of a party, MB": "peak:0",
            },
            where={"kind": "kind"},
        ),
        Table("core-seconds by stage", ("sum",), {stage: stage for stage in STAGES}, where={"kind": "kind"}, digits=2),
        Table(
            "by number of parties",
            ("sum", "parties"),
            {
                "s": "s:1", "cells/s": "rate:0", "core-s a party": "party:2", "core-s of all combiners": "combine:2",
                "sent, bytes a cell": "sent:2", "worst party: sent and received": "worst:2",
                "peak of a party, MB": "peak:0",
            },
            where={"kind": "number"},
        ),
        Table(
            "whole rounds over the network",
            ("sum", "cells"),
            {
                "in whole tables": "summed:0", "s": "s:0", "core-s of all": "all:0", "of the curator": "curator:0",
                "of the combiner": "combiner:0", "of another party": "party:0", "relayed, MB": "relayed:0",
                "peak of the curator, MB": "curator's peak:0", "peak of a party, MB": "peak:0",
            },
            where={"kind": "network"},
        ),
        Text("main job by phase", by_phase),
    ),
    tables=("adult",),
    code=(
        "common/crypto", "common/privacy", "common/protocol", "common/storage", "common/wire", "curator", "party",
        "benchmarks/secure_sum",
    ),
    alone=lambda _: True,
)  # fmt: skip
