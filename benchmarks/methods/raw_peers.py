"""Other programs on raw tables: they too find the domains of numbers privately, within the same budget."""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.experiment import Values
from benchmarks.methods.peer_programs import last_said

RUNNER = Path(__file__).with_name("raw_peer_run.py")
PATIENCE = 1200.0
"""Seconds after which a run is ended."""

EPSILON, DELTA = 1.0, 1e-9


@dataclass(frozen=True)
class Rival:
    """A program, and for how many changes of one row its budget holds.

    Attributes:
        program: in ``raw_peer_run.PROGRAMS``.
        changes: 1 as it counts itself, a row more or less; 2 for a replaced row, as this project counts.
    """

    program: str
    environment: str
    changes: int

    @property
    def budget(self) -> tuple[float, float]:
        """The epsilon and delta with which all changes together are at the whole budget: group privacy."""
        epsilon = EPSILON / self.changes
        return epsilon, DELTA / sum(math.exp(step * epsilon) for step in range(self.changes))


RIVALS = {
    f"{title}{suffix}": Rival(program, environment, changes)
    for title, program, environment in (
        ("dpmm MST", "dpmm-mst", "dpmm"),
        ("smartnoise MST", "smartnoise-mst", "smartnoise"),
        ("smartnoise AIM", "smartnoise-aim", "smartnoise"),
    )
    for suffix, changes in (("", 1), (", same guarantee", 2))
}


def synthesize_raw(
    rival: Rival, python: Path, table: Path, fields: list[dict[str, Any]], out: Path, patience: float = PATIENCE
) -> Values:
    """Write as many rows as the table has; the seconds of learning and of sampling.

    Args:
        python: of the rival's environment.
        fields: of a drafted schema. Those whose domain is open are numbers, the others categories.

    Raises:
        PeerError: it failed or took too long.
    """
    epsilon, delta = rival.budget
    decimals = {field["name"]: 0 if field["type"] == "integer" else field.get("decimals") for field in fields}
    job = {
        "table": str(table),
        "out": str(out),
        "epsilon": epsilon,
        "delta": delta,
        "numbers": {field["name"]: decimals[field["name"]] for field in fields if "domain" in field},
        "missing": [field["name"] for field in fields if "missingValues" in field],
    }
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "job.json"
        told.write_text(json.dumps(job), encoding="utf-8")
        command = [str(python), str(RUNNER), rival.program, str(told)]
        found: Values = json.loads(last_said(command, Path(folder), patience))
        return found
