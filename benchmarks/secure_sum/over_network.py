"""One round of the secure sum through production's own processes: a curator and K parties over gRPC and TLS.

Ledgers, journals and the counting of rows are those of every run. The round is the first of ``dp-ccbn``: the tables of
all pairs of attributes, of which no structure decides; the run is ended when its sum is revealed.
"""

from __future__ import annotations

import json
import math
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

from benchmarks.secure_sum.consortium import ATTRIBUTES, EPSILON, Task
from privity.assessment.simulation.simulated_run import Simulation, simulate
from privity.common.runs.run_request import request_document
from privity.common.wire.v1.privity_pb2 import RunEvent

ROWS = 300_000
"""Of all parties together; made up."""

PHASE = "structure learning"
SAMPLE_SECONDS = 0.1
PATIENCE = 600.0


class _SumIsThereError(Exception):
    """The round is revealed: the rest of the run is not measured."""


@dataclass
class _Node:
    """What one process has taken: core-seconds before the round and so far, largest resident memory in MB."""

    process: psutil.Process
    before: float = 0.0
    seconds: float = 0.0
    peak: float = 0.0

    def look(self) -> None:
        with self.process.oneshot():
            times = self.process.cpu_times()
            self.seconds = times.user + times.system
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        self.peak = int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


@dataclass
class _Watch:
    """Looks at the nodes' processes now and then, and at the run's events."""

    cells: int
    nodes: dict[str, _Node] = field(default_factory=dict)
    began: float | None = None
    took: float = 0.0
    bytes: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        while not self.ended.wait(SAMPLE_SECONDS):
            self.look_once()

    def look_once(self) -> None:
        for child in psutil.Process().children():
            try:
                words = child.cmdline()
                if "--config" in words:
                    config = Path(words[words.index("--config") + 1])
                    name = "curator" if config.name == "curator.toml" else config.parent.name
                    self.nodes.setdefault(name, _Node(child)).look()
            except (psutil.Error, OSError, IndexError):
                continue

    def see(self, event: RunEvent) -> None:
        if event.phase == PHASE and self.began is None:
            self.look_once()
            self.began = time.perf_counter()
            for node in self.nodes.values():
                node.before = node.seconds
        if event.cells >= self.cells:
            assert self.began is not None
            self.took, self.bytes = time.perf_counter() - self.began, event.bytes
            self.ended.set()
            self.look_once()
            raise _SumIsThereError


def measure_over_network(task: Task) -> dict[str, Any]:
    """Seconds of the round from its first step to the revealed sum; core-seconds and peak memory of each process.

    The peak is of the process's whole life: a party's has its rows read from a file, too.
    """
    size = max(2, math.ceil(math.sqrt(task.cells / math.comb(ATTRIBUTES, 2))))
    sums = {"secure_sum": task.kind.method.value, "exponents": task.kind.content()["exponents"]}
    watch = _Watch(size * size * math.comb(ATTRIBUTES, 2))
    generator = np.random.default_rng(1)
    names = [f"a{a}" for a in range(ATTRIBUTES)]
    fields = [{"name": name, "type": "integer", "categories": list(range(size))} for name in names]
    with tempfile.TemporaryDirectory() as folder:
        data, schema = Path(folder) / "data.csv", Path(folder) / "schema.json"
        schema.write_text(json.dumps({"fields": fields}))
        pd.DataFrame({name: generator.integers(0, size, ROWS) for name in names}).to_csv(data, index=False)
        simulation = Simulation(
            request=request_document({"algorithm": "dp-ccbn", "epsilon": EPSILON, "key_bits": task.key_bits, **sums}),
            data=str(data), schema=schema, parties=task.parties, out=Path(folder) / "out", split="random", rows=None,
            patience=PATIENCE, seed=1,
        )  # fmt: skip
        looking = threading.Thread(target=watch.look, daemon=True)
        looking.start()
        try:
            simulate(simulation, watch.see)
        except _SumIsThereError:
            pass
        finally:
            watch.ended.set()
            looking.join()
    return {
        "cells": watch.cells,
        "parties": task.parties,
        "secure_sum": task.kind.method.value,
        "exponents": task.kind.content()["exponents"],
        "key_bits": task.key_bits,
        "seconds": watch.took,
        "relayed": watch.bytes,
        "core_seconds": {name: node.seconds - node.before for name, node in sorted(watch.nodes.items())},
        "peak_mb": {name: node.peak for name, node in sorted(watch.nodes.items())},
    }
