"""What a party does while it waits for its next step: make randomness ahead, below the priority of everything else."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator
from typing import Self

LOWEST_PRIORITY = 19

_log = logging.getLogger("privity.party")


class IdleTime:
    """A thread that calls ``prepare`` again and again while the party waits, until there is nothing to prepare."""

    def __init__(self, prepare: Callable[[], bool]) -> None:
        self._prepare = prepare
        self._wake = threading.Event()
        self._waits = False
        self._ended = False
        self._thread = threading.Thread(target=self._work, name="idle time", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended = True
        self._waits = False
        self._wake.set()

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """The party waits within."""
        self._waits = True
        self._wake.set()
        try:
            yield
        finally:
            self._waits = False

    def _work(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            # Priorities are of threads on Linux; elsewhere this thread is like any other.
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)
        while not self._ended:
            self._wake.wait()
            self._wake.clear()
            while self._waits and self._more():
                pass

    def _more(self) -> bool:
        try:
            return self._prepare()
        except Exception as error:
            # Nothing depends on what is made ahead.
            _log.error("randomness cannot be made ahead", extra={"error": type(error).__name__})
            return False
