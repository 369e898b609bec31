"""How far a pass over the rows has come: for the screen of their owner, and for nobody else.

How long a pass takes depends on the rows. So nothing of it is logged or sent, and no number of rows is in it.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import Protocol

from privity.common.text.utc_times import utc_now

Share = float | None
"""Of a pass, from 0 to 1; None when it has ended."""
Watcher = Callable[[Share], None]
Told = Callable[[float], None]

SECONDS = 1.0
"""Between two looks at a pass, at least."""

STATE_FILE = "pass.json"
"""Of a node, in the folder of its state."""

STALE_SECONDS = 600.0
"""After which it is taken for that of a node that was killed."""

_watchers: list[Watcher] = []
_here = threading.local()


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Tell somebody of all passes of this process, in whatever thread, for the time of the block."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


@contextmanager
def a_pass() -> Iterator[Told]:
    """A pass over the rows; what it gives takes how far the pass is, from 0 to 1.

    A pass inside another tells nothing, nor does one that is soon over.
    """
    if getattr(_here, "inside", False):
        yield lambda share: None
        return
    watchers, last, lock = list(_watchers), time.monotonic(), threading.Lock()

    def told(share: float) -> None:
        nonlocal last
        with lock:
            if watchers and (now := time.monotonic()) - last >= SECONDS:
                last = now
                for watcher in watchers:
                    watcher(min(max(share, 0.0), 1.0))

    _here.inside = True
    try:
        yield told
    finally:
        _here.inside = False
        with lock:
            for watcher in watchers:
                watcher(None)
            watchers.clear()


@contextmanager
def polled(share: Callable[[], float]) -> Iterator[None]:
    """A pass that is asked now and then how far it is, from another thread."""
    with a_pass() as told:
        if not _watchers:
            yield
            return
        ended, lock = threading.Event(), threading.Lock()

        def look() -> None:
            while not ended.wait(SECONDS):
                with lock, suppress(Exception):  # it is for display alone
                    if not ended.is_set():
                        told(share())

        threading.Thread(target=look, daemon=True).start()
        try:
            yield
        finally:
            with lock:  # what is asked may be gone after this
                ended.set()


@contextmanager
def a_pass_over(files: Sequence[Path]) -> Iterator[Callable[[Path], Callable[[int], None]]]:
    """A pass over files, one after another; gives for each of them what takes how many of its bytes were read."""
    sizes = [file.stat().st_size if file.is_file() else 0 for file in files]
    before = dict(zip(files, accumulate(sizes, initial=0), strict=False))
    with a_pass() as told:
        yield lambda file: lambda read: told((before[file] + read) / max(1, sum(sizes)))


class Status(Protocol):
    """What shows a line that changes, such as that of ``rich``."""

    def update(self, status: str) -> None:
        """Show another line."""
        ...


@contextmanager
def shown_on(status: Status, title: str) -> Iterator[None]:
    """Show passes on a terminal, behind a title."""
    with watched(lambda share: status.update(title if share is None else f"{title} {percent(share)}")):
        yield


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Keep what is known of the pass at work in a file that the owner's commands and console read."""
    file = folder / STATE_FILE

    def keep(share: Share) -> None:
        # It is for display: a full disk must not end the pass.
        with suppress(OSError):
            if share is None:
                file.unlink(missing_ok=True)
                return
            scratch = file.with_suffix(".new")
            scratch.touch(mode=0o600)
            scratch.write_text(json.dumps({"share": round(share, 4), "at": utc_now()}), encoding="ascii")
            os.replace(scratch, file)

    keep(None)
    try:
        with watched(keep):
            yield
    finally:
        keep(None)


def pass_in_words(folder: Path) -> str:
    """How far a node's pass over the rows is; empty if none is at work."""
    try:
        file = folder / STATE_FILE
        kept = json.loads(file.read_text(encoding="ascii"))
        if time.time() - file.stat().st_mtime > STALE_SECONDS:
            return ""
        return f"A pass over the rows is at {percent(kept['share'])} (seen at {kept['at']})."
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def percent(share: float) -> str:
    """As it is shown."""
    return f"{int(share * 100)} %"
