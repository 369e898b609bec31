"""Wide tables end to end: what is done, in how many seconds and how much memory, and what is refused, with which words.

Each command is a process that may have so many seconds of a processor. Simulations have three parties, and add up under
masks. Seconds are those of the processor, with those of child processes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.data import Data
from benchmarks.experiment import CODE, NONE, Experiment, Point, Record, Table, Text, Values, chosen, grid
from benchmarks.methods.bounded_commands import DONE, REFUSED, bounded
from benchmarks.methods.wide_tables import write_table

SECONDS = 180
MOST_BYTES = 12 << 30
ROWS = {"wide": 20_000, "codes": 50_000, "both": 20_000, "bins": 20_000}
ALGORITHMS = ("one-way", "mst", "aim", "dp-subn", "privbayes", "independent", "jtree", "privhd", "copula")
PARTIES = 3


def measure(point: Point, _seed: int, _data: Data) -> list[Values]:
    """A stage, or a release with what becomes of it."""
    rows = ROWS[point["table"]]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        data, schema = write_table(point["table"], rows, folder)
        release = folder / "release"
        asked = ("--schema", schema, "--algorithm", point["algorithm"], "--epsilon", point["epsilon"])
        commands: dict[str, Sequence[str | Path]] = {
            "draft": ("schema", "draft", data, "--out", folder / "draft.json"),
            "check": ("schema", "check", schema, "--data", data),
            "plan": ("plan", *asked, "--rows", str(rows), "--parties", str(PARTIES)),
            "synthesize": ("synthesize", "--data", data, *asked, "--population", "people", "--out", release),
            "evaluate": ("evaluate", "--real", data, "--release", release, "--json", folder / "found.json"),
            "simulate": ("simulate", "--data", data, *asked, "--parties", str(PARTIES), "--secure-sum", "masks",
                         "--out", release),
        }  # fmt: skip
        bounded(("population", "declare", "people", "--total-epsilon", "100"), folder, SECONDS, MOST_BYTES)
        found = []
        for stage in point["stages"]:
            found.append({"stage": stage, **bounded(commands[stage], folder, SECONDS, MOST_BYTES)})
            if found[-1]["outcome"] != DONE:
                break
    return found


def points(quick: bool) -> list[Point]:
    if quick:
        return grid(table="codes", algorithm="one-way", epsilon="1", stages=(["plan"],))
    of_tables = grid(table=tuple(ROWS), algorithm=NONE, epsilon="1", stages=(["check"], ["draft"]))
    stages = (["plan"], ["synthesize", "evaluate"], ["simulate"])
    return [*of_tables, *grid(table=tuple(ROWS), algorithm=ALGORITHMS, epsilon="1", stages=stages)]


def _cell(stage: str) -> Callable[[Sequence[Record]], str]:
    def cell(records: Sequence[Record]) -> str:
        for record in chosen(records, {"stage": stage}):
            if record["outcome"] == DONE:
                return f"{record['cpu']:.0f} s, {record['peak']:.1f} GB"
            return str(record["outcome"])
        return NONE

    return cell


def _words(records: Sequence[Record]) -> list[str]:
    found: dict[str, list[str]] = {}
    for record in chosen(records, {"outcome": REFUSED}):
        where = f"{record['table']}, {record['algorithm']}: {record['stage']}"
        found.setdefault(record["words"].partition("error ")[2], []).append(where)
    return [f"- {words} ({'; '.join(where)})" for words, where in found.items()]


EXPERIMENT = Experiment(
    title="Wide tables end to end",
    points=points,
    measure=measure,
    shows=(
        Table("files", ("table",), {"schema check": _cell("check"), "schema draft": _cell("draft")}),
        Table(
            "matrix",
            ("table", "algorithm"),
            {
                "plan": _cell("plan"), "synthesize": _cell("synthesize"), "simulate": _cell("simulate"),
                "evaluate": _cell("evaluate"),
            },
            where={"algorithm": ALGORITHMS},
        ),
        Text("refusals", _words),
    ),
    code=(*CODE, "common/data", "common/release", "assessment/evaluation", "party"),
    alone=lambda _: True,
)  # fmt: skip
