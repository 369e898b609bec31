"""Commands that have so many seconds and so much memory, and what became of them."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DONE, REFUSED, LATE, FAILED = "done", "refused", "not done in time", "failed"
REFUSALS = (1, 2, 3, 4)
"""Exit codes of errors that are told in words (docs/commands.md)."""


def bounded(
    arguments: Sequence[str | Path], folder: Path, seconds: float, most_bytes: int, cpu: float = 0
) -> dict[str, Any]:
    """Run ``privity`` with these arguments, with its ledgers and its state in the folder.

    Args:
        seconds: of wall clock, after which it and its children are ended.
        most_bytes: of address space of each process.

    Returns:
        ``outcome``, ``seconds``, ``cpu`` with that of its children, ``peak`` in GB of its largest process, and
        ``words``: what it said last on standard error, unless it is done.
    """
    command = [sys.executable, "-m", "privity.deploy.cli.main", *map(str, arguments)]
    variables = {**os.environ, "XDG_STATE_HOME": str(folder), "HOME": str(folder), "COLUMNS": "2000"}

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
        if cpu:
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu), int(cpu) + 5))

    with tempfile.TemporaryFile() as said:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, env=variables, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True, preexec_fn=limit
        )
        late = threading.Event()

        def end() -> None:
            late.set()
            os.killpg(process.pid, signal.SIGTERM)
            time.sleep(5)
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        timer.cancel()
        spent = time.perf_counter() - started
        code = os.waitstatus_to_exitcode(status)
        said.seek(0)
        words = " ".join(said.read().decode(errors="replace").split())
    outcome = (
        LATE
        if late.is_set() or code == -24
        else DONE
        if code == 0
        else FAILED
        if "Traceback" in words or code not in REFUSALS
        else REFUSED
    )
    return {
        "outcome": outcome,
        "seconds": spent,
        "cpu": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss * 1024 / 1e9,
        **({} if outcome == DONE else {"words": words[-600:]}),
    }
