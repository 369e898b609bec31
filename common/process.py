"""For processes that another one starts: no orphan outlives its parent."""

from __future__ import annotations

import os
import signal
import sys
import threading


def stop_when_stdin_closes() -> None:
    """Send this process SIGTERM when its standard input ends, as it does when the parent dies."""

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()
