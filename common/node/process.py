"""For nodes: one to a folder; and for processes that another one starts: no orphan outlives its parent."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TextIO

from common.errors import Catalogue, PrivityError
from common.exit_codes import Exit

_log = logging.getLogger("privity.node")


def stay_alone(folder: Path) -> TextIO:
    """Claim a node's state for this process, until the file that is given back is closed.

    Raises:
        PrivityError: bad-option: another process has it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = (folder / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise PrivityError(
            Catalogue.BAD_OPTION, option="state", reason=f"another node is at work on {folder}",
            hint="End it first: one folder is for one process.",
        ) from None  # fmt: skip
    return lock


def dump_no_core() -> None:
    """Have the operating system write no image of this process when it crashes: keys and rows would be in it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


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
        _log.warning("stopping in order and at once if asked again")
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
