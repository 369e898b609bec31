"""For nodes: one to a folder; and for processes that another one starts: no orphan outlives its parent."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TextIO

from common.errors import Catalogue, PrivityError


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


def stop_when_stdin_closes() -> None:
    """Send this process SIGTERM when its standard input ends, as it does when the parent dies."""

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()
