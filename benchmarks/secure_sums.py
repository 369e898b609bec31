"""The secure sums: speed by kind, cost by number of parties, and the main job by stage.

    python -m benchmarks.secure_sums --data adult.csv.gz --schema adult.schema.json --out docs/benchmarks

Takes about a quarter of an hour on two cores. Every figure is of one process started for it; ratios to plain Paillier
(phe, one number at a time, all cores) are of the same run.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.markdown import table
from privity.deploy.simulation.phase_times import TIMES

MILLION = 1_000_000
HUNDRED_THOUSAND = 100_000
BY_PARTIES = (2, 5, 10, 25, 50)
STAGES = ("noise", "pack", "mask", "encrypt", "seal", "combine", "open")


@dataclass(frozen=True)
class Sum:
    """One call of ``python -m benchmarks.secure_sum``."""

    cells: int
    parties: int
    options: tuple[str, ...] = ()


KINDS = {
    "`paillier`, `half`": Sum(MILLION, 3),
    "`paillier`, `short`": Sum(MILLION, 3, ("--exponents", "short")),
    "`paillier`, `full`": Sum(20_000, 3, ("--exponents", "full")),
    "`masks`": Sum(MILLION, 16, ("--secure-sum", "masks")),
}


def run(module: str, *arguments: object) -> tuple[float, str]:
    """Run a module; the seconds that it took, and what it printed."""
    started = time.perf_counter()
    command = [sys.executable, "-m", module, *(str(a) for a in arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return time.perf_counter() - started, done.stdout


def figures(task: Sum) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "figures.json"
        options = ("--cells", task.cells, "--parties", task.parties, *task.options, "--json", out)
        run("benchmarks.secure_sum", *options)
        found: dict[str, Any] = json.loads(out.read_text())
    print(task, found, flush=True)
    return found


def simulated(options: argparse.Namespace, *more: object) -> dict[str, Any]:
    """run.json of a simulation, with its seconds by phase, and those from command to release."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "release"
        seconds, said = run(
            "privity.deploy.cli.main", "simulate", "--data", options.data, "--schema", options.schema,
            "--epsilon", "1", "--seed", "1", "--patience", "300", "--out", out, *more,
        )  # fmt: skip
        told: dict[str, Any] = json.loads((out / "run.json").read_text())
    by_phase = seconds_by_phase(said)
    print(more, seconds, by_phase, flush=True)
    return told | {"wall": seconds, "seconds": by_phase}


def seconds_by_phase(said: str) -> dict[str, float]:
    """What ``privity simulate`` printed of the time of each phase."""
    line = next(line for line in said.splitlines() if line.startswith(TIMES))
    return {name: float(value) for name, value in re.findall(r" ([^,]+) ([0-9.]+[0-9])", line.removeprefix(TIMES))}


def kinds(found: dict[str, dict[str, Any]]) -> list[str]:
    head = [
        "secure sum",
        "cells",
        "K",
        "s",
        "s a party",
        "cells/s",
        "against phe",
        "bytes a cell",
        "peak of a party, MB",
    ]
    rows = [
        [
            name,
            f"{f['cells']:,}",
            str(f["parties"]),
            f"{f['seconds']:.1f}",
            f"{f['cells'] / f['cells_per_second_per_party']:.2f}",
            f"{f['cells_per_second']:,.0f}",
            f"{f['speedup_over_phe']:,.0f}",
            f"{f['bytes_per_cell']:.2f}",
            f"{f['peak_mb']:.0f}",
        ]
        for name, f in found.items()
    ]
    return table(head, rows)


def stages(found: dict[str, dict[str, Any]]) -> list[str]:
    rows = [[name, *(f"{f['stages'][stage]:.2f}" for stage in STAGES)] for name, f in found.items()]
    return table(["core-seconds", *STAGES], rows)


def by_parties(found: list[dict[str, Any]]) -> list[str]:
    head = ["K", "s", "cells/s", "core-s a party", "core-s of all combiners", "sent, bytes a cell",
            "worst party: sent and received", "peak of a party, MB"]  # fmt: skip
    rows = [
        [
            str(f["parties"]),
            f"{f['seconds']:.1f}",
            f"{f['cells_per_second']:,.0f}",
            f"{f['cells'] / f['cells_per_second_per_party']:.2f}",
            f"{f['stages']['combine']:.2f}",
            f"{f['bytes_per_cell']:.2f}",
            f"{f['bytes_per_cell_of_worst_party']:.2f}",
            f"{f['peak_mb']:.0f}",
        ]
        for f in found
    ]
    return table(head, rows)


def main_job(found: dict[str, dict[str, Any]]) -> list[str]:
    phases = list(dict.fromkeys(phase for run in found.values() for phase in run["seconds"]))
    rows = []
    for name, run in found.items():
        by_party: dict[str, int] = {}
        for parties in run["bytes"].values():
            for party, count in parties.items():
                by_party[party] = by_party.get(party, 0) + count
        times = [f"{run['seconds'].get(phase, 0):.2f}" for phase in phases]
        rows.append([name, f"{run['wall']:.1f}", *times, f"{max(by_party.values()) / 1000:,.0f}"])
    return table(["run", "command to release, s", *phases, "worst party, kB"], rows)


def report(
    by_kind: dict[str, dict[str, Any]],
    paillier: list[dict[str, Any]],
    masks: list[dict[str, Any]],
    jobs: dict[str, dict[str, Any]],
    command: str,
) -> str:
    lines = [
        "# The secure sums",
        "",
        "Two cores of a shared machine play all parties, the combiners and the curator; 3072-bit modulus, 105 tables",
        "of counts of a million rows, epsilon 1. Parties are processes; ledgers, journals of parties and the wire are",
        "left out. **s** is from counts to the opened sum, **s a party** core-seconds of the busiest party without",
        "combining, **against phe** the ratio of cells a second to plain Paillier in the same run.",
        "",
        "```",
        command,
        "```",
        "",
        "## By kind",
        *kinds(by_kind),
        "",
        "By stage: core-seconds, of a party on average up to `seal`, then of all combiners and of the curator.",
        *stages(by_kind),
        "",
        "## By number of parties",
        "",
        "A combiner opens eight blobs at most, so the worst party's traffic stops growing.",
        "",
        f"Paillier, {paillier[0]['cells']:,} cells:",
        *by_parties(paillier),
        "",
        f"Masks, {masks[0]['cells']:,} cells:",
        *by_parties(masks),
        "",
        "## The main job",
        "",
        "`privity simulate`, DP-SUBN at epsilon 1: a curator and K parties as processes over TLS, from the command to",
        "the release. Seconds of a phase are of all parties together; the rest is starting processes, splitting and",
        "writing files.",
        *main_job(jobs),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--schema", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder of secure_sums.md")
    options = parser.parse_args()
    by_kind = {name: figures(task) for name, task in KINDS.items()}
    paillier = [figures(Sum(HUNDRED_THOUSAND, k)) for k in BY_PARTIES]
    masks = [figures(Sum(MILLION, k, ("--secure-sum", "masks"))) for k in BY_PARTIES]
    jobs = {
        "K = 3, `paillier`": simulated(options, "--parties", 3),
        "K = 3, `masks`": simulated(options, "--parties", 3, "--secure-sum", "masks"),
        "K = 50, `paillier`": simulated(options, "--parties", 50),
        "K = 50, `masks`": simulated(options, "--parties", 50, "--secure-sum", "masks"),
    }
    named = f"--data {options.data.name} --schema {options.schema.name} --out docs/benchmarks"
    text = report(by_kind, paillier, masks, jobs, f"python -m benchmarks.secure_sums {named}")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "secure_sums.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
