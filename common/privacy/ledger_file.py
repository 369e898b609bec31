"""The file of a ledger: one SQLite database of chained lines, shared by threads, processes and nodes.

There is no write-ahead log: a file that is moved, or copied after a crash, has all of its lines. A line that was
changed or taken out is found at the next opening, a file that another one has replaced at the next use. A forked
process opens the file anew.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.accountant import ZERO
from privity.common.privacy.ledger_lines import (
    COLUMNS,
    NOTHING,
    OWN_BOOK,
    Book,
    Charge,
    Entry,
    Kind,
    Line,
    check_chains,
    merges,
)
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PureDP
from privity.common.privacy.run_budget import RhoBudget
from privity.common.storage.journal import MEMORY, connect, room_wanted

FORMAT_VERSION = "1"
MERGED = "merged"

BATCH = 4096
"""Lines that are in memory at once where all are gone through, and for which the file is locked at once."""

_OPEN: weakref.WeakSet[LedgerFile] = weakref.WeakSet()
_LEFT_TO_PARENTS: list[sqlite3.Connection] = []
"""Connections that a forked process must not use, nor close."""


class LedgerFile:
    """Opens, checks and writes the lines of one population's ledger; ``Ledger`` says what they come to."""

    def _start(self, path: Path | str, name: str, node: str) -> None:
        self.node = node
        self._path, self._name = path, name
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._closed = False
        self._file = (0, 0)
        self._state: tuple[int, ...] | None = None
        self.reading = 0
        self._forget()
        _OPEN.add(self)

    def _open(self) -> None:
        if self._path == MEMORY or not Path(self._path).exists():
            raise self._unusable("there is no such ledger")
        self._connect()

    def _connect(self) -> None:
        # No write-ahead log: a ledger that is moved, or copied after a crash, has all of its lines.
        self._connection = connect(self._path, write_ahead=False)
        self._file = self._found()
        self._state = self._now_in_state()

    def _found(self) -> tuple[int, int]:
        """Which file is there now."""
        if self._path == MEMORY:
            return 0, 0
        about = os.stat(self._path)
        return about.st_dev, about.st_ino

    @property
    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            raise self._unusable("it was closed")
        return self._connection

    def _now_in_state(self) -> tuple[int, ...]:
        """Something else after every write by another program, whatever it writes with, and after those of this one."""
        if self._path == MEMORY:
            return ()
        about = os.stat(self._path)
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        return version, about.st_size, about.st_mtime_ns, about.st_ctime_ns

    def _forget(self) -> None:
        """Drop what was made of lines that were read; ``reading`` counts how often that was."""
        self.reading += 1
        self._ends: dict[int, tuple[int, str]] = {}

    def _make_tables(self, population: str) -> None:
        self._db.execute("CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        self._db.execute(
            "CREATE TABLE lines (id INTEGER PRIMARY KEY, book INTEGER NOT NULL, position INTEGER NOT NULL,"
            " kind TEXT NOT NULL, node TEXT NOT NULL, run TEXT NOT NULL, step TEXT NOT NULL, epsilon TEXT NOT NULL,"
            " delta TEXT NOT NULL, rho TEXT, terms TEXT NOT NULL, at TEXT NOT NULL, chain TEXT NOT NULL, answer TEXT,"
            " UNIQUE (book, position))"
        )
        self._db.execute("CREATE UNIQUE INDEX charged ON lines (node, run, step) WHERE kind = 'charge'")
        self._db.execute("CREATE INDEX positions ON lines (position)")
        about = [("format_version", FORMAT_VERSION), ("population", population)]
        self._db.executemany("INSERT INTO about VALUES (?, ?)", about)

    def _tables(self) -> set[str]:
        return {name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def _about(self) -> dict[str, str]:
        return dict(self._db.execute("SELECT key, value FROM about"))

    def _check_not_merged(self, about: dict[str, str]) -> None:
        if MERGED in about:
            raise self._unusable("it was merged into another ledger of these people, which goes on in its place")

    def _check(self) -> None:
        if self._db.execute("PRAGMA quick_check").fetchone() != ("ok",):
            raise self._unusable("it is damaged")
        tables = self._tables()
        about = self._about() if "about" in tables else {}
        if "population" not in about:
            raise self._unusable("it is no ledger")
        if (found := about.get("format_version")) != FORMAT_VERSION:
            raise self._unusable(f"its format_version {found} is not {FORMAT_VERSION}")
        if about["population"] != self._name:
            raise self._unusable(f"it belongs to population {about['population']!r}, not {self._name!r}")
        self._check_not_merged(about)
        if "lines" not in tables:
            raise self._unusable("it is no ledger")
        self._check_lines(self._last_id())

    def _check_lines(self, upto: int) -> None:
        try:
            check_chains(self._every(upto), merges(self._own_lines(Kind.MERGE, 0, upto)))
        except ValueError as error:
            raise self._unusable(str(error)) from error

    def _every(self, upto: int) -> Iterator[Line]:
        for numbers, lines in self._batches(0, upto):
            yield from lines
            self._take(numbers, lines)

    def _take(self, numbers: Sequence[int], lines: Sequence[Line]) -> None:
        """Make something of lines; those that are known already may be among them."""

    def is_as_read(self) -> bool:
        """Whether every line that was read still stands in this file as it was; others may have been added.

        Raises:
            PrivityError: ledger-unusable: as at its opening, which is gone through again if the file was written to.
        """
        with self._lock, self._told():
            if self._closed or self._found() != self._file:
                return False
            with self._held():
                if self._now_in_state() == self._state:
                    return True
                read = dict(self._ends)
                # Of a file that was written to by other means SQLite may hold pages that are not there any more.
                self._db.close()
                self._connect()
                state, self._state = self._state, None
                try:
                    self._check()
                except BaseException:
                    self._forget()
                    raise
                # With a chain that is whole, the link of a line says what all before it are.
                where = "WHERE book = ? AND position = ? AND chain = ?"
                if not all(self._lines(where, book, *end) for book, end in read.items()):
                    return False
                self._state = state
                return True

    def _last_id(self) -> int:
        found: int = self._db.execute("SELECT coalesce(max(id), 0) FROM lines").fetchone()[0]
        return found

    def _own_lines(self, kind: Kind, after: int, upto: int) -> list[Line]:
        # A + keeps SQLite from another index than that of the lines' numbers.
        where = "WHERE id > ? AND id <= ? AND +kind = ? AND +book = ? ORDER BY id"
        found = self._lines(where, after, upto, kind.value, OWN_BOOK)
        try:
            for line in found:
                line.check()
        except ValueError as error:
            raise self._unusable(str(error)) from error
        return found

    def _batches(self, after: int, upto: int) -> Iterator[tuple[list[int], list[Line]]]:
        """Lines after this one up to that one, some at a time, with their numbers."""
        query = f"SELECT {COLUMNS}, id FROM lines WHERE id > ? AND id <= ? ORDER BY id LIMIT {BATCH}"
        while rows := self._db.execute(query, (after, upto)).fetchall():
            after = rows[-1][-1]
            yield [row[-1] for row in rows], [Line._make(row[:-1]) for row in rows]

    def _lines(self, rest: str, *values: object) -> list[Line]:
        return [Line._make(fields) for fields in self._db.execute(f"SELECT {COLUMNS} FROM lines {rest}", values)]

    def some_lines(self, after: int, upto: int) -> tuple[list[int], list[Line]]:
        """The next lines after this one up to that one, with their numbers: ``BATCH`` at most."""
        with self._held():
            return next(self._batches(after, upto), ([], []))

    def lines_at(self, numbers: Sequence[int]) -> dict[int, Line]:
        """These lines."""
        with self._held():
            query = f"SELECT {COLUMNS}, id FROM lines WHERE id IN ({', '.join('?' * len(numbers))})"
            return {row[-1]: Line._make(row[:-1]) for row in self._db.execute(query, numbers)}

    def numbers_of(self, words: str, since: str, until: str, upto: int) -> list[int]:
        """Of the lines up to this one, which were written in these days and hold words.

        Args:
            words: anywhere in the run's name and what the line is about, small letters or capitals; since, until: days
                as 2026-01-31, both included, or "".
        """
        where = "id <= ? AND substr(at, 1, 10) >= ? AND (? = '' OR substr(at, 1, 10) <= ?)"
        charges = f"{where} AND kind = 'charge' AND instr(small(run || ' ' || step), ?) > 0"
        values, words = (upto, since, until, until), words.lower()
        with self._held():
            self._db.create_function("small", 1, str.lower, deterministic=True)
            found = [
                number for (number,) in self._db.execute(f"SELECT id FROM lines WHERE {charges}", (*values, words))
            ]
            others = self._db.execute(f"SELECT {COLUMNS}, id FROM lines WHERE {where} AND kind != 'charge'", values)
            for *fields, number in others:
                entry = Entry.of(Line._make(fields), NOTHING)
                if words in f"{entry.charge.run} {entry.in_words}".lower():
                    found.append(number)
        return sorted(found)

    def unanswered(self) -> dict[tuple[str, str], int]:
        """How many charges no answer has followed, by node and run."""
        with self._held():
            query = "SELECT node, run, count(*) FROM lines WHERE kind = 'charge' AND answer IS NULL GROUP BY node, run"
            return {(node, run): count for node, run, count in self._db.execute(query)}

    def _unusable(self, reason: str) -> PrivityError:
        return PrivityError(Catalogue.LEDGER_UNUSABLE, file=self._path, reason=reason)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what SQLite meets (a full disk, a damaged page, a lock) into a refusal that says so."""
        try:
            with room_wanted(self._path):
                yield
        except sqlite3.Error as error:
            raise self._unusable(f"SQLite says: {error}") from error
        except OSError as error:
            raise self._unusable(error.strerror or type(error).__name__) from error

    @contextmanager
    def _held(self) -> Iterator[None]:
        """One thread at a time, in the process that opened the file or in one forked from it."""
        with self._lock, self._told():
            if self._connection is None and not self._closed:
                self._open()
                self._check()
            if self._found() != self._file:
                raise self._unusable("another file has taken its place since it was opened")
            yield

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        # An immediate transaction locks the file, so concurrent runs cannot both pass the check.
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            # What was read of lines that are not there after all.
            self._forget()
            raise

    def _written(
        self, kind: Kind, node: str, charge: Charge, terms: dict[str, Any], budget: RhoBudget | None = None
    ) -> Line:
        """The next line of the first book; of a step in rho with the delta of the run's budget."""
        position, before = self._end(OWN_BOOK)
        rho, epsilon, delta = None, ZERO, ZERO
        match charge.loss:
            case PureDP():
                epsilon = charge.loss.epsilon
            case ApproxDP():
                epsilon, delta = charge.loss.epsilon, charge.loss.delta
            case ZCDP():
                assert budget is not None
                rho, delta = str(charge.loss.rho), budget.delta
        at = datetime.now(UTC).isoformat(timespec="seconds")
        line = Line(
            OWN_BOOK, position + 1, kind.value, node, charge.run, charge.step, str(epsilon), str(delta),
            rho, json.dumps(terms, sort_keys=True), at,
        )  # fmt: skip
        return line._replace(chain=line.link(before))

    def _append(self, kind: Kind, *, terms: dict[str, Any], run: str = "", node: str = "") -> None:
        self._insert(self._written(kind, node, Charge(run, "", PureDP(ZERO, RELATION)), terms))

    def _insert(self, line: Line) -> None:
        values = [getattr(line, name) for name in COLUMNS.split(", ")]
        places = ", ".join("?" * len(values))
        self._db.execute(f"INSERT INTO lines ({COLUMNS}) VALUES ({places})", values)

    def _end(self, book: int) -> tuple[int, str]:
        last = self._db.execute(
            "SELECT position, chain FROM lines WHERE book = ? ORDER BY position DESC LIMIT 1", (book,)
        ).fetchone()
        return (0, "") if last is None else (last[0], last[1])

    def end(self) -> tuple[int, str]:
        """How many lines the first book has, and the link of its last one."""
        with self._held():
            return self._end(OWN_BOOK)

    def check_extends(self, lines: int, link: str) -> None:
        """Demand a ledger one of whose books once ended with this line: all before it are as they were.

        Raises:
            PrivityError: ledger-unusable.
        """
        with self._held():
            row = self._db.execute("SELECT 1 FROM lines WHERE position = ? AND chain = ?", (lines, link)).fetchone()
        if row is None:
            raise self._unusable(f"it was set back, or is another one: the journal knows {lines} lines of it")

    def _take_in(self, found: Sequence[Book]) -> int:
        """Copy the lines of books that are not here yet, and note where each begins and ends. How many they are.

        Of a book that goes on where one of ours once was, as a copy of this ledger does, only the lines since.
        """
        taken = 0
        for book in found:
            here, known = self._known(book.lines)
            new = book.lines[known:]
            for line in book.lines[:known]:
                # An answer may have come since it was taken over before.
                where = "WHERE position = ? AND chain = ? AND answer IS NULL"
                self._db.execute(f"UPDATE lines SET answer = ? {where}", (line.answer, line.position, line.chain))
            if not new:
                continue
            last = book.lines[known - 1] if known else None
            before = (book.after, book.start) if last is None else (last.position, last.chain)
            merged = merges(self._own_lines(Kind.MERGE, 0, self._last_id()))
            noted = [terms for terms in merged if terms["book"] == here]
            if noted and self._end(here)[0] == before[0]:
                # It was taken over before, and got these lines since.
                before = noted[0]["after"], noted[0]["start"]
            else:
                (here,) = self._db.execute("SELECT max(book) + 1 FROM lines").fetchone()
            for line in new:
                self._insert(line._replace(book=here))
            end = {"lines": new[-1].position, "link": new[-1].chain}
            self._append(Kind.MERGE, terms={"book": here, "after": before[0], "start": before[1], **end})
            taken += len(new)
        return taken

    def _known(self, lines: Sequence[Line]) -> tuple[int, int]:
        """In which book the last of these lines is that is here already, and how many there are up to it."""
        for known in range(len(lines), 0, -1):
            last = lines[known - 1]
            where = "SELECT book FROM lines WHERE position = ? AND chain = ?"
            found = self._db.execute(where, (last.position, last.chain)).fetchone()
            if found is not None:
                return found[0], known
        return OWN_BOOK, 0

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def _forked() -> None:
    """A connection and a lock of the parent are of no use to its child, which opens the file anew when it is used."""
    for ledger in list(_OPEN):
        if ledger._connection is not None:
            _LEFT_TO_PARENTS.append(ledger._connection)
        ledger._connection = None
        ledger._lock = threading.RLock()
        ledger._forget()


os.register_at_fork(after_in_child=_forked)
