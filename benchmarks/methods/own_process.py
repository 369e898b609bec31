"""Measurements in a process of their own, whose memory and processor's time are theirs alone."""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar
from unittest.mock import patch

import psutil

from privity.assessment.planning.worker_processes import worker_processes
from privity.common.data.coded_table import CodedTable
from privity.common.synthesis.models import Model
from privity.ledgers import declare_population
from privity.synthesizers import SYNTHESIZERS

Given = ParamSpec("Given")
Found = TypeVar("Found")


def in_own_process(function: Callable[Given, Found], *args: Given.args, **kwargs: Given.kwargs) -> Found:
    """What the function returns in a new process; function and arguments can be pickled."""
    with worker_processes(1) as pool:
        return pool.submit(function, *args, **kwargs).result()


def peak() -> float:
    """GB, of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9  # kilobytes on Linux


def used() -> dict[str, float]:
    """The processor's seconds of this process and of those that it has started, and its own peak in GB, so far."""
    own = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    others = (child.cpu_times() for child in psutil.Process().children(recursive=True))
    started = sum(t.user + t.system + t.children_user + t.children_system for t in others)
    return {"cpu": own + started, "peak": peak()}


def fit_and_sample(
    table: CodedTable, algorithm: str, epsilon: str, settings: dict[str, Any]
) -> tuple[Model, dict[str, Any]]:
    """The model, and seconds of the fit and of a sample of as many rows."""
    # A ledger that nobody else counts with: not that of the account.
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, XDG_STATE_HOME=folder):
        declare_population("benchmark", total_epsilon="100")
        chosen = SYNTHESIZERS[algorithm](epsilon, population="benchmark", **settings)
        started = time.perf_counter()
        chosen.fit(table, table.schema)
        fitted = time.perf_counter()
        chosen.sample(table.rows)
        sampled = time.perf_counter()
    seconds = {"fit": fitted - started, "sample": sampled - fitted, "both": sampled - started}
    return chosen.model_, {"rows": table.rows, "attributes": len(table.columns), **seconds, **used()}
