"""The soak itself: a curator and its parties as processes, and an operator who keeps some runs queued."""

from __future__ import annotations

import json
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.methods.node_samples import Sampler, entries, kept_files
from privity.assessment.simulation.child_processes import ProcessGroup
from privity.common.data.schema import load_schema
from privity.common.protocol.secure_sum_method import Method, sum_kind
from privity.deploy.consortium.provisioning import HOST, Consortium, Limits, point_to, provision
from privity.deploy.operator.operator_client import OperatorClient
from privity.deploy.operator.run_submission import submit_to

ATTRIBUTES = {"colour": ("red", "green", "blue"), "size": ("s", "m", "l", "xl"), "heavy": ("yes", "no")}
ROWS = 30
"""Of each party."""
EPSILON = Fraction(1, 1000)
"""Of each run: a hundred thousand of them are within the largest total that a policy allows."""
TOTAL = Fraction(100)
MASKS = sum_kind(Method.MASKS.value, None)
REQUEST = {
    "format_version": 1,
    "algorithm": "one-way",
    "epsilon": str(EPSILON),
    "tolerate": 1,
    "key_bits": None,
    "secure_sum": Method.MASKS.value,
}
BATCH = 4
"""Parties that start at the same time."""
START_SECONDS = 300.0
PATIENCE = 300.0
POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Soak:
    """What to do.

    Attributes:
        queued: runs that are kept queued.
        minutes: for which another run is submitted whenever one is completed.
        every: seconds between two samples.
    """

    parties: int
    queued: int
    minutes: float
    every: float


def soak(task: Soak) -> dict[str, Any]:
    """Do it; what was measured, as JSON has it.

    Raises:
        PrivityError: a node ended.
        RuntimeError: a run did not complete.
    """
    with tempfile.TemporaryDirectory(prefix="privity-soak-") as scratch:
        consortium = provisioned(Path(scratch), task.parties)
        states = {"curator": consortium.curator / "state"}
        states |= {name: consortium.party(name) / "state" for name in consortium.members}
        began = time.monotonic()
        with ProcessGroup(Path(scratch) / "logs") as group:
            client = started_nodes(group, consortium, Path(scratch) / "logs")
            started = time.monotonic() - began
            with Sampler({name: (pid, states[name]) for name, pid in group.pids.items()}, task.every) as sampler:
                _work(task, group, partial(submit_to, client, consortium.manifest, REQUEST), client, sampler)
            began = time.monotonic()
            found = client.runs()
            known = len(found.runs) + found.left_out
            listed = time.monotonic() - began
        with ProcessGroup(Path(scratch) / "again") as group:
            began = time.monotonic()
            _serve(group, consortium)
            again = time.monotonic() - began
        return {
            **asdict(task),
            "started": started,
            "restarted": again,
            "known": known,
            "listed": listed,
            "completed": sampler.completed,
            "samples": [asdict(sample) for sample in sampler.samples],
            "entries": {name: entries(state) for name, state in states.items()},
            "kept_files": {name: kept_files(state) for name, state in states.items()},
        }


def provisioned(folder: Path, parties: int) -> Consortium:
    """Files of a consortium of so many parties with a few rows each."""
    fields = [{"name": name, "type": "string", "categories": list(texts)} for name, texts in ATTRIBUTES.items()]
    schema_file = folder / "soak.schema.json"
    schema_file.write_text(json.dumps({"name": "soak", "fields": fields}), encoding="utf-8")
    generator = np.random.default_rng(1)

    def rows() -> pd.DataFrame:
        return pd.DataFrame({name: generator.choice(texts, ROWS) for name, texts in ATTRIBUTES.items()})

    frames = {f"party-{number}": rows() for number in range(1, parties + 1)}
    limits = Limits(TOTAL, 1, MASKS, None)
    return provision(folder / "consortium", frames, load_schema(schema_file), limits, patience=PATIENCE)


def _serve(group: ProcessGroup, consortium: Consortium) -> int:
    """Start the curator; its port, once it serves."""
    port_file = consortium.curator / "port"
    port_file.unlink(missing_ok=True)
    config = consortium.curator / "curator.toml"
    group.start("curator", ["curator", "serve", "--config", str(config), "--port-file", str(port_file)])
    _wait(group, port_file.exists)
    return int(port_file.read_text(encoding="ascii"))


def started_nodes(
    group: ProcessGroup, consortium: Consortium, logs: Path, data: Mapping[str, str] | None = None
) -> OperatorClient:
    """Start the curator and every party, with ``data`` as ``point_to`` takes it; the operator's connection to them."""
    port = _serve(group, consortium)
    point_to(consortium, port, data)
    names = consortium.members
    for first in range(0, len(names), BATCH):
        batch = names[first : first + BATCH]
        for name in batch:
            group.start(name, ["party", "serve", "--config", str(consortium.party(name) / "party.toml")])
        for name in batch:
            log = logs / f"{name}.log"
            _wait(group, lambda log=log: b"connected to the curator" in log.read_bytes())
    return OperatorClient(f"{HOST}:{port}", *consortium.operator_files)


def _wait(group: ProcessGroup, holds: Any) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not holds():
        group.check()
        if time.monotonic() > deadline:
            raise RuntimeError(f"a node did not start within {START_SECONDS:g} s")
        time.sleep(POLL_SECONDS)


def _work(task: Soak, group: ProcessGroup, submit: Callable[[], str], client: OperatorClient, sampler: Sampler) -> None:
    queued = deque(submit() for _ in range(task.queued))
    said = 0.0
    while queued:
        _follow(client, queued.popleft())
        sampler.note_completed()
        group.check()
        if sampler.seconds < 60 * task.minutes:
            queued.append(submit())
        if sampler.seconds - said >= 60:
            said = sampler.seconds
            print(f"{said / 60:.0f} minutes, {len(sampler.completed)} runs", flush=True)


def _follow(client: OperatorClient, run: str) -> None:
    state = reason = ""
    for event in client.watch(run):
        state, reason = event.state, event.reason
    if state != "COMPLETED":
        raise RuntimeError(f"{run} ended {state}: {reason}")
