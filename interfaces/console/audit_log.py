"""Who changed what through a console, and when: a line of JSON each, in a file that is only ever added to."""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from privity.common.errors import PrivityError
from privity.common.text.utc_times import utc_now

FILE = "console.jsonl"
"""In the folder of a node's state, or the operator's."""


class AuditLog:
    """The lines of one node's consoles.

    Args:
        folder: is made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = folder / FILE
        self._who = getpass.getuser()

    def add(self, what: str, **fields: Any) -> None:
        """Add a line; it is on disk when this returns."""
        line = json.dumps({"at": utc_now(), "who": self._who, "what": what, **fields})
        with open(os.open(self._file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            end = file.seek(0, os.SEEK_END)
            # What a crash cut off stays a line of its own.
            whole = not end or (file.seek(end - 1), file.read(1))[1] == b"\n"
            file.write(f"{'' if whole else chr(10)}{line}\n".encode())
            file.flush()
            os.fsync(file.fileno())

    @contextlib.contextmanager
    def change(self, what: str, **fields: Any) -> Iterator[None]:
        """Tell of a change before it is made, and of why it was not, if it was not.

        Raises:
            PrivityError: as the change raised it.
        """
        self.add(what, **fields)
        try:
            yield
        except PrivityError as error:
            self.add(f"not done: {what}", **fields, why=error.message)
            raise

    def lines(self) -> list[dict[str, Any]]:
        """All lines, the oldest first; one that was cut off by a crash is left out."""
        found = []
        for line in self._file.read_text(encoding="utf-8").splitlines() if self._file.exists() else ():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return found
