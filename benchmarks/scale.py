"""Speed and memory of PrivBayes: the usual table, its bits with three parents each, and five million rows.

    python -m benchmarks.scale --data adult.csv.gz --schema adult.schema.json --out docs/benchmarks

Each measurement has a process of its own, so that its peak memory is its own. The large table is made anew from a
seed, with dependent columns of 2 to 16 values, and is never stored.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cost import fit_and_sample, in_own_process
from privity.common.data.coded_table import CodedTable, code_type
from privity.common.data.schema import load_schema, parse_schema
from privity.common.data.table_reading import read_table

ROWS = 5_000_000
SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 2, 3, 4, 16, 8, 7, 2, 16, 5, 9, 2, 3, 14, 16, 4, 6, 2, 11, 8, 2, 13)
FOLLOWING = 0.5
"""Part of the rows in which a column follows from two earlier ones."""


@dataclass(frozen=True)
class Task:
    """One measurement.

    Attributes:
        settings: of PrivBayes.
        goal: what the project asks for, in seconds and GB.
    """

    title: str
    table: Callable[[argparse.Namespace], CodedTable]
    epsilon: str
    settings: dict[str, Any]
    goal: str


def given_table(options: argparse.Namespace) -> CodedTable:
    return read_table(options.data, load_schema(options.schema))


def large_table(options: argparse.Namespace) -> CodedTable:
    return made_table(options.rows, SIZES, 1)


def made_table(rows: int, sizes: tuple[int, ...], seed: int) -> CodedTable:
    """Columns of these sizes, each in half of the rows a sum of one or two earlier ones; 16 values are bins."""
    generator = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    for place, size in enumerate(sizes):
        column = generator.integers(0, size, rows, dtype=np.uint8)
        if place:
            sources = generator.choice(place, size=min(place, 2), replace=False)
            follows = generator.random(rows, dtype=np.float32) < FOLLOWING
            total = sum(columns[source].astype(np.uint16) for source in sources)
            column = np.where(follows, total % size, column)
        columns.append(column.astype(code_type(size)))
    fields = [
        {"name": f"a{place}", "type": "number", "bins": size, "constraints": {"minimum": 0, "maximum": size}}
        if size == max(sizes)
        else {"name": f"a{place}", "type": "string", "categories": [f"v{code}" for code in range(size)]}
        for place, size in enumerate(sizes)
    ]
    return CodedTable(parse_schema({"format_version": 1, "name": "made", "fields": fields}, "schema"), tuple(columns))


LIGHT = {"inference": "tables"}
"""The network itself is the model, and what takes time is counting, drawing and sampling."""

TASKS = {
    "table": Task("the table as it is", given_table, "1", LIGHT, "2 s"),
    "bits": Task(
        "all its bits, score F, up to 3 parents",
        given_table,
        "8",
        {"encoding": "binary", "theta": "1", **LIGHT},
        "20 s",
    ),
    "large": Task("a made table", large_table, "1", LIGHT, "120 s, 6 GB"),
}


def measure(task: Task, options: argparse.Namespace) -> dict[str, Any]:
    """Fit, and sample as many rows, in this process."""
    model, found = fit_and_sample(task.table(options), "privbayes", task.epsilon, task.settings)
    network = model.to_dict()["nodes"]
    return {"nodes": len(network), "parents": max(len(node["parents"]) for node in network), **found}


def report(results: dict[str, dict[str, Any]], command: str) -> str:
    lines = [
        "# Speed and memory of PrivBayes",
        "",
        "Fit plus as many sampled rows as the table has, decoded to a data frame, on two cores. Each line is one",
        "process; the processor's seconds and the peak are those of all of it, with reading or making the table.",
        "Wall seconds grow with other work on the machine, the processor's hardly. The tables are fitted lightly",
        "(`--inference tables`).",
        "",
        "```",
        command,
        "```",
        "",
        "| what | rows | attributes | in the network | most parents | epsilon | fit, s | sample, s | both, s "
        "| processor, s | peak, GB | goal |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, r in results.items():
        task = TASKS[name]
        lines.append(
            f"| {task.title} | {r['rows']:,} | {r['attributes']} | {r['nodes']} | {r['parents']} | {task.epsilon} "
            f"| {r['fit']:.2f} | {r['sample']:.2f} | {r['fit'] + r['sample']:.2f} | {r['cpu']:.1f} "
            f"| {r['peak']:.2f} | {task.goal} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--schema", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder of scale.md")
    parser.add_argument("--rows", type=int, default=ROWS, help="of the large table")
    parser.add_argument("--only", choices=TASKS, help="one measurement in this process; prints it and writes nothing")
    options = parser.parse_args()
    if options.only:
        print(json.dumps(measure(TASKS[options.only], options)))
        return
    results = {}
    for name in TASKS:
        results[name] = in_own_process("benchmarks.scale", [*sys.argv[1:], "--only", name])
        print(name, results[name], flush=True)
    named = f"--data {options.data.name} --schema {options.schema.name} --out docs/benchmarks"
    text = report(results, f"python -m benchmarks.scale {named}")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "scale.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
