"""For nodes: one to a folder; and for processes that another one starts: no orphan outlives its parent."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import logging
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TextIO

from privity.common.errors import Catalogue, PrivityError
from privity.common.exit_codes import Exit

OPEN_FILES = 1 << 16
"""Most files and connections that a node asks the operating system for: half of them connections."""

TRIES_SECONDS = (0.05, 0.1, 0.2)
"""Between tries to claim a state: who looks whether it is claimed holds it for a moment."""

PR_SET_DUMPABLE = 4

_log = logging.getLogger("privity.node")


def stay_alone(folder: Path) -> TextIO:
    """Claim a node's state for this process, until the file that is given back is closed.

    Raises:
        PrivityError: bad-option: another process has it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Whoever may open it may hold it.
    lock = os.fdopen(os.open(folder / "lock", os.O_WRONLY | os.O_CREAT, 0o600), "w")
    for wait in (*TRIES_SECONDS, None):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError:
            if wait is None:
                lock.close()
                raise PrivityError(
                    Catalogue.BAD_OPTION, option="state", reason=f"another node is at work on {folder}",
                    hint="End it first: one folder is for one process.",
                ) from None  # fmt: skip
            time.sleep(wait)
    return lock


def is_at_work(folder: Path) -> bool:
    """Whether a process has claimed a node's state, by ``stay_alone``; it is not kept from doing so."""
    try:
        lock = (folder / "lock").open("rb")
    except FileNotFoundError:
        return False
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def dump_no_core() -> None:
    """Have the operating system write no image of this process when it crashes: keys and rows would be in it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        # The limit does not hold for a program that core_pattern pipes images to.
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0)


def open_files() -> int:
    """Raise the soft limit of open files to the hard one, to ``OPEN_FILES`` at most.

    Returns:
        How many files and connections this process may have open, ``OPEN_FILES`` at most.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        # Some systems allow less than the hard limit that they state.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return wanted if soft == resource.RLIM_INFINITY else min(soft, wanted)


def at_interrupt(stop: Callable[[], object]) -> None:
    """Have the first SIGINT or SIGTERM call ``stop`` in the running event loop, and the second end the process at once.

    Nothing is lost by the second: what counts is on disk before it is used, and is taken up at the next start.
    """
    loop, asked = asyncio.get_running_loop(), False

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            os._exit(Exit.INTERRUPTED)
        asked = True
        _log.warning("stopping in order and at once on a second signal")
        loop.call_soon_threadsafe(stop)

    # Not of the event loop: its handlers wait while it computes.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupted)


def stop_when_stdin_closes() -> None:
    """Send this process SIGTERM when its standard input ends, as it does when the parent dies."""

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()
