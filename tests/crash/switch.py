"""The kill switch of a node under test: SIGKILL of its own process before or after one of its durable writes.

A durable write is every commit of SQLite (a single statement outside a transaction is one), every truncation of a
write-ahead log, every file opened for writing and every rename in the node's folder. Nothing of it is in production
code: the child of a zygote puts it between Python and the operating system before it becomes a node.
"""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crash.recording import Recorder

WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "DROP")


@dataclass(frozen=True)
class Kill:
    """When one life of a process ends.

    Attributes:
        when: ``before`` or ``after`` the write with the number ``at``, from 1; or after the ``at``-th write that
            ``changed`` something, so that a process that is killed again and again gets on.
    """

    when: str
    at: int = 1


class Switch:
    """Counts the durable writes of this process, and ends it at one of them."""

    def __init__(self, kill: Kill | None, recorder: Recorder) -> None:
        self._kill, self._recorder = kill, recorder
        self._lock = threading.Lock()
        self._numbers, self._changes = itertools.count(1), itertools.count(1)

    def write(self, name: str, action: Callable[[], Any], changed: Callable[[], bool] = lambda: True) -> Any:
        """Do what writes, unless this process ends before it."""
        number = self.about_to(name)
        result = action()
        counts = changed()
        self._recorder.add("wrote", number, name, counts)
        with self._lock:
            change = next(self._changes) if counts else 0
        if self._kill in (Kill("after", number), Kill("changed", change)):
            self._end(name)
        return result

    def about_to(self, name: str) -> int:
        """Number of the write that comes now; this process may not live to see it."""
        with self._lock:
            number = next(self._numbers)
        if self._kill == Kill("before", number):
            self._end(name)
        return number

    def _end(self, name: str) -> None:
        self._recorder.add("killed", name)
        os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, folder: Path) -> None:
        """From now on everything that this process writes below the folder counts."""
        inside, switch = f"{folder.resolve()}{os.sep}", self

        class Connection(sqlite3.Connection):
            """Every statement that commits passes the switch."""

            def __init__(self, database: Any, *arguments: Any, **options: Any) -> None:
                super().__init__(database, *arguments, **options)
                self._file, self._begun, self._first = Path(database).name, 0, ""

            def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
                word = sql.split(None, 1)[0].upper()
                if word == "BEGIN":
                    self._begun, self._first = self.total_changes, ""
                key = next((str(p) for p in parameters if isinstance(p, str)), "") if self._file[0] == "j" else ""
                if word == "INSERT":
                    self._first = self._first or key
                commits = word == "COMMIT" or (word in WRITES and not self.in_transaction)
                if not commits and "wal_checkpoint" not in sql:
                    return super().execute(sql, parameters)
                begun = self._begun if word == "COMMIT" else self.total_changes
                before = self._schema()
                run = super().execute
                return switch.write(
                    f"{self._file} {word} {self._first if word == 'COMMIT' else key}".strip(),
                    lambda: run(sql, parameters),
                    lambda: self.total_changes != begun or self._schema() != before,
                )

            def executemany(self, sql: str, rows: Any) -> sqlite3.Cursor:
                # Outside a transaction each row is a commit of its own.
                cursor = self.cursor()
                for row in rows:
                    cursor = self.execute(sql, row)
                return cursor

            def _schema(self) -> int:
                return int(super().execute("PRAGMA schema_version").fetchone()[0])

        connect, rename, replace = sqlite3.connect, os.rename, os.replace

        def connected(database: Any, *arguments: Any, **options: Any) -> sqlite3.Connection:
            return connect(database, *arguments, factory=Connection, **options)

        def moved(move: Callable[..., None]) -> Callable[..., None]:
            def action(source: Any, target: Any) -> None:
                if not os.path.abspath(target).startswith(inside):
                    return move(source, target)
                # Under a scratch name, or within a folder that has one, nothing is gained for the next life.
                lasting = not any(part.startswith(".") for part in Path(target).parts)
                return switch.write(f"rename {Path(target).name}", lambda: move(source, target), lambda: lasting)

            return action

        def opened(event: str, arguments: tuple[Any, ...]) -> None:
            # SQLite opens its own files unseen; the lock holds nothing.
            if event == "open" and isinstance(arguments[0], str) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
                path = os.path.abspath(arguments[0])
                if path.startswith(inside) and not path.endswith((".sqlite", f"{os.sep}lock")):
                    number = switch.about_to(f"open {Path(path).suffix}")
                    self._recorder.add("opens", number, Path(path).name)

        sqlite3.connect = connected
        os.rename, os.replace = moved(rename), moved(replace)
        sys.addaudithook(opened)
