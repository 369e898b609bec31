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
WAIT = 20.0
"""Times as many seconds of wall clock as a process may have of a processor: others may be at work."""

GRACE = 5.0
LAST_WORDS = 600


def bounded(arguments: Sequence[str | Path], folder: Path, seconds: float, most_bytes: int) -> dict[str, Any]:
    """Run ``privity`` with these arguments, with its ledgers and its state in the folder.

    Args:
        seconds: of a processor that each of its processes may have.
        most_bytes: of address space of each process.

    Returns:
        ``outcome``, ``seconds`` of wall clock, ``cpu`` with that of its children, ``peak`` in GB of its largest
        process, and ``words``, what it said last on standard error, unless it is done.
    """
    command = [sys.executable, "-m", "privity.interfaces.cli.main", *map(str, arguments)]
    variables = {**os.environ, "XDG_STATE_HOME": str(folder), "HOME": str(folder), "COLUMNS": "2000"}

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
        resource.setrlimit(resource.RLIMIT_CPU, (round(seconds), round(seconds + GRACE)))

    late = threading.Event()
    with tempfile.TemporaryFile() as said:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, env=variables, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True, preexec_fn=limit
        )

        def end() -> None:
            late.set()
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(WAIT * seconds, end)
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        timer.cancel()
        spent = time.perf_counter() - started
        said.seek(0)
        words = " ".join(said.read().decode(errors="replace").split())
    outcome = _outcome(os.waitstatus_to_exitcode(status), words, late.is_set())
    found = {"outcome": outcome, "seconds": spent, "cpu": used.ru_utime + used.ru_stime}
    return {**found, "peak": used.ru_maxrss * 1024 / 1e9, **({} if outcome == DONE else {"words": words[-LAST_WORDS:]})}


def _outcome(code: int, words: str, late: bool) -> str:
    if late or code == -signal.SIGXCPU:
        return LATE
    if code == 0:
        return DONE
    return REFUSED if code > 0 and "error [" in words and "Traceback" not in words else FAILED
