"""Seconds and memory of a fit and a sample of as many rows, each measurement in a process of its own."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

from privity.common.data.coded_table import CodedTable
from privity.common.synthesis.models import Model
from privity.party.synthesizer import SYNTHESIZERS, declare_population


def fit_and_sample(
    table: CodedTable, algorithm: str, epsilon: str, settings: dict[str, Any]
) -> tuple[Model, dict[str, Any]]:
    """In this process: the model, and seconds of both, the processor's seconds and the peak in GB so far."""
    # A ledger that nobody else counts with: not that of the account.
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, XDG_STATE_HOME=folder):
        declare_population("benchmark", total_epsilon="100")
        chosen = SYNTHESIZERS[algorithm](epsilon, population="benchmark", settings=settings)
        started = time.perf_counter()
        chosen.fit(table, table.schema)
        fitted = time.perf_counter()
        chosen.sample(table.rows)
        sampled = time.perf_counter()
    return chosen.model, {
        "rows": table.rows,
        "attributes": len(table.columns),
        "fit": fitted - started,
        "sample": sampled - fitted,
        "cpu": sum(resource.getrusage(resource.RUSAGE_SELF)[:2]),
        # Kilobytes on Linux.
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6 * 1.024,
    }


def in_own_process(module: str, arguments: Sequence[str]) -> dict[str, Any]:
    """What ``python -m module`` with these arguments prints in its last line, as JSON."""
    done = subprocess.run([sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))
