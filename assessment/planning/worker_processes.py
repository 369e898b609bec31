"""Processes that share out work."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager


def _leave_interrupts() -> None:
    """A person's Ctrl-C is for the command alone, which says so once and lets go of its helpers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def worker_processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """A pool whose queued work ends with the context, also when that is cut off.

    Not forked: a thread of this process may hold a lock, and a child that inherits it waits for ever.
    """
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=_leave_interrupts)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
