"""What the processes of a soak hold, sampled while they work: memory, handles, threads, and files on disk."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from privity.common.storage.journal import connect

JOURNAL, LEDGER = "journal.sqlite", "ledger.sqlite"


@dataclass(frozen=True)
class Sample:
    """Of one node at one moment; sizes in bytes.

    Attributes:
        seconds, runs: since the beginning; runs that were completed by then.
        cpu: the processor's seconds, of all of the process's life.
        logs: the write-ahead logs of journal and ledger.
    """

    node: str
    seconds: float
    runs: int
    rss: int
    handles: int
    threads: int
    cpu: float
    journal: int
    logs: int
    ledger: int


class Sampler:
    """Samples every node now and then, in a thread of its own, until it is left.

    Args:
        nodes: name -> process and folder of its state.
    """

    def __init__(self, nodes: Mapping[str, tuple[int, Path]], every: float) -> None:
        self._nodes = {name: (psutil.Process(pid), state) for name, (pid, state) in nodes.items()}
        self._every = every
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="samples", daemon=True)
        self._began = time.monotonic()
        self.samples: list[Sample] = []
        self.completed: list[float] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def note_completed(self) -> None:
        self.completed.append(self.seconds)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def _work(self) -> None:
        while True:
            last = self._ended.is_set()
            for name, (process, state) in self._nodes.items():
                self.samples.append(self._sample(name, process, state))
            if last:
                return
            self._ended.wait(self._every)

    def _sample(self, name: str, process: psutil.Process, state: Path) -> Sample:
        with process.oneshot():
            cpu = process.cpu_times()
            return Sample(
                node=name,
                seconds=self.seconds,
                runs=len(self.completed),
                rss=process.memory_info().rss,
                handles=process.num_fds(),
                threads=process.num_threads(),
                cpu=cpu.user + cpu.system,
                journal=_size(state / JOURNAL),
                logs=_size(state / f"{JOURNAL}-wal") + _size(state / f"{LEDGER}-wal"),
                ledger=_size(state / LEDGER),
            )


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def entries(state: Path) -> dict[str, int]:
    """How many entries of each kind a journal holds that no process has open: of marks their name, else "run"."""
    with closing(connect(state / JOURNAL)) as journal:
        keys = [key for (key,) in journal.execute("SELECT key FROM entries")]
    return dict(Counter(key.partition("/")[0] if key.startswith("#") else "run" for key in keys))


def kept_files(state: Path) -> dict[str, tuple[int, int]]:
    """Folders of files that a node keeps for ever -> their number and their bytes: releases, transcripts."""
    found = {}
    for folder in (place for place in state.iterdir() if place.is_dir()):
        sizes = [file.stat().st_size for file in folder.rglob("*") if file.is_file()]
        found[folder.name] = (len(sizes), sum(sizes))
    return found
