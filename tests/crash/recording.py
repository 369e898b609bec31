"""What the processes of a run under test did, in one file that outlives each of them: one JSON line a record."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class Recorder:
    """Adds records of one life of one process; they are whole and in order, whoever else writes."""

    def __init__(self, file: Path, who: str, life: int) -> None:
        self._descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._who, self._life = who, life

    def add(self, kind: str, *content: Any) -> None:
        os.write(self._descriptor, (json.dumps([kind, self._who, self._life, *content]) + "\n").encode())


@dataclass(frozen=True)
class Record:
    """One line: what happened in which life of whom."""

    kind: str
    who: str
    life: int
    content: tuple[Any, ...]

    @property
    def key(self) -> str:
        """Which entry of the journal was written; empty of what is no single entry's."""
        if self.kind == "journaled":
            return str(self.content[0])
        return str(self.content[1]).split(" ", 2)[-1] if self.kind == "wrote" else ""


class Records:
    """Reads a recording while it grows."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._place = 0
        self.all: list[Record] = []

    def news(self) -> list[Record]:
        """Records since the last call."""
        if not self._file.exists():
            return []
        with self._file.open("rb") as lines:
            lines.seek(self._place)
            data = lines.read()
        data = data[: data.rfind(b"\n") + 1]
        self._place += len(data)
        fresh = [Record(kind, who, life, tuple(rest)) for kind, who, life, *rest in map(json.loads, data.splitlines())]
        self.all += fresh
        return fresh

    def of(self, *kinds: str, who: str | None = None) -> Iterator[Record]:
        """Records of these kinds, the oldest first."""
        return (r for r in self.all if r.kind in kinds and who in (None, r.who))
