"""An append-only log in SQLite that makes a step idempotent: what was once answered stays answered.

One entry a key. The same key with the same digest gives the stored bytes back; the same key with
another digest is refused, because a second answer to one question would be a second release.
Entries are synced to disk before ``record`` returns. docs/data_model.md lists the keys of both sides.
"""

from __future__ import annotations

import io
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from privity.common.errors import Catalogue, PrivityError, ProblemsFound, other_version

MEMORY = ":memory:"
FORMAT_VERSION = 1
"""In the file's header (``PRAGMA user_version``), where 0 is that of a file that nothing was written to."""

_log = logging.getLogger("privity.journal")
BUSY_SECONDS = 10.0  # how long to wait for another process that is writing
WITHOUT_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_WRITE)
"""What SQLite says when it cannot make a file larger."""

PART_BYTES = 1 << 20
"""A larger payload lies in parts, each of which is written and read by itself."""


def connect(path: Path | str, *, write_ahead: bool = True) -> sqlite3.Connection:
    """A synced SQLite connection that several threads may share under a lock of their owner.

    Args:
        write_ahead: whether what was committed may lie in a file beside it for a while.
    """
    if path != MEMORY:
        # Before SQLite makes it with the process's own mask; files beside it take over the file's mode.
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    if path != MEMORY:
        _set_journal(connection, "WAL" if write_ahead else "DELETE")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA secure_delete=ON")
    return connection


def _set_journal(connection: sqlite3.Connection, mode: str) -> None:
    """Turn to a journal mode. SQLite itself does not wait when several processes do so to a new file at once."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute(f"PRAGMA journal_mode={mode}")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(0.005)


@contextmanager
def room_wanted(file: Path | str) -> Iterator[None]:
    """Say of a full disk that it is full: the one failure of a store that passes when somebody makes room.

    Raises:
        PrivityError: no-room.
    """
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode not in WITHOUT_ROOM:
            raise
        raise PrivityError(Catalogue.NO_ROOM, file=file) from error


def _bounds(prefix: str) -> tuple[str, str]:
    """The first text that begins with ``prefix``, and the first beyond: SQLite orders texts by code points."""
    return prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1) if prefix else chr(0x10FFFF)


class Journal:
    """Entries ``key -> (digest, payload)``; written once, read until they are erased, one by one or as a whole run.

    Args:
        called: in errors, in the place of the path; for those whose readers are elsewhere.

    Raises:
        ProblemsFound: format-version: another version of Privity wrote it; nothing of it was changed.
    """

    def __init__(self, path: Path | str = MEMORY, called: str = "") -> None:
        self._called = called or path
        self._lock = threading.Lock()
        with room_wanted(self._called):
            self._db = connect(path)
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version not in (0, FORMAT_VERSION):
                self._db.close()
                raise ProblemsFound([other_version(str(self._called), version, FORMAT_VERSION)])
            self._db.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS entries ("
                " position INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL,"
                " digest TEXT NOT NULL, payload BLOB NOT NULL, at REAL NOT NULL)"
            )
            # What of a payload is beyond its first part.
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS parts ("
                " entry INTEGER NOT NULL, part INTEGER NOT NULL, payload BLOB NOT NULL, PRIMARY KEY (entry, part))"
            )
            self._db.execute(
                "CREATE TRIGGER IF NOT EXISTS parts_go_with_their_entry AFTER DELETE ON entries"
                " BEGIN DELETE FROM parts WHERE entry = OLD.position; END"
            )

    def recall(self, key: str, digest: str) -> bytes | None:
        """The stored payload, None if there is none; another digest under this key is refused."""
        with self._lock:
            row = self._db.execute("SELECT digest, position, payload FROM entries WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            if row[0] != digest:
                raise PrivityError(Catalogue.STEP_CHANGED, step=key)
            return self._whole(row[1], row[2])

    def _whole(self, position: int, first: bytes) -> bytes:
        """The payload of which this is the first part."""
        if len(first) != PART_BYTES:
            return bytes(first)
        joined = io.BytesIO()
        joined.write(first)
        for (part,) in self._db.execute("SELECT payload FROM parts WHERE entry = ? ORDER BY part", (position,)):
            joined.write(part)
        return joined.getvalue()

    def content(self, key: str) -> bytes | None:
        """The stored payload under whatever digest, None if there is none."""
        with self._lock:
            row = self._db.execute("SELECT position, payload FROM entries WHERE key = ?", (key,)).fetchone()
            return None if row is None else self._whole(*row)

    def digest(self, key: str) -> str | None:
        """The digest of what is stored, None if there is none."""
        with self._lock:
            return self._digest(key)

    def _digest(self, key: str) -> str | None:
        row = self._db.execute("SELECT digest FROM entries WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def recall_part(self, key: str, digest: str, part: slice) -> bytes | None:
        """These bytes of the stored payload, without reading all of a large one; None and refusal as in ``recall``."""
        with self._lock:
            row = self._db.execute("SELECT digest, position FROM entries WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            if row[0] != digest:
                raise PrivityError(Catalogue.STEP_CHANGED, step=key)
            start, stop = part.start, max(part.start, part.stop)
            place, last = start // PART_BYTES, (stop - 1) // PART_BYTES
            pieces = self._db.execute(
                "SELECT 0 AS part, payload FROM entries WHERE position = :entry AND :first = 0 UNION ALL"
                " SELECT part, payload FROM parts WHERE entry = :entry AND part BETWEEN :first AND :last ORDER BY 1",
                {"entry": row[1], "first": place, "last": last},
            ).fetchall()
        before = place * PART_BYTES
        return b"".join(piece for _, piece in pieces)[start - before : stop - before]

    def record(self, key: str, digest: str, payload: bytes) -> bytes:
        """Store the payload and return what is stored: the first one written under this key wins."""
        with self._lock, room_wanted(self._called), self._transaction():
            is_new = self._store(key, digest, payload, time.time())
        if is_new:
            return payload
        stored = self.recall(key, digest)
        assert stored is not None
        return stored

    def _store(self, key: str, digest: str, payload: bytes, at: float) -> bool:
        """Within a transaction: whether there was nothing under the key."""
        cursor = self._db.execute(
            "INSERT OR IGNORE INTO entries (key, digest, payload, at) VALUES (?, ?, ?, ?)",
            (key, digest, payload if len(payload) <= PART_BYTES else payload[:PART_BYTES], at),
        )
        is_new, position = cursor.rowcount == 1, cursor.lastrowid
        if is_new and len(payload) > PART_BYTES:
            rest = enumerate(range(PART_BYTES, len(payload), PART_BYTES), start=1)
            self._db.executemany(
                "INSERT INTO parts (entry, part, payload) VALUES (?, ?, ?)",
                ((position, place, payload[start : start + PART_BYTES]) for place, start in rest),
            )
        return is_new

    def record_together(self, entries: Sequence[tuple[str, str, bytes]], instead_of: Iterable[str] = ()) -> None:
        """Store entries (key, digest, payload) in one transaction, each as ``record`` does: all of them or none.

        Args:
            instead_of: keys of entries that are forgotten first.
        """
        at = time.time()
        with self._lock, room_wanted(self._called), self._transaction():
            self._db.executemany("DELETE FROM entries WHERE key = ?", [(key,) for key in instead_of])
            for entry in entries:
                self._store(*entry, at)

    def record_while(self, found: Mapping[str, str | None], key: str, digest: str, payload: bytes) -> bool:
        """``record`` as long as other entries have these digests (None: are not there), in one transaction.

        Returns:
            whether they had, and nothing else was stored under the key.
        """
        with self._lock, room_wanted(self._called), self._transaction():
            if any(self._digest(other) != wanted for other, wanted in found.items()):
                return False
            if self._digest(key) not in (None, digest):
                return False
            self._store(key, digest, payload, time.time())
            return True

    def count(self, prefix: str) -> int:
        """How many keys begin with ``prefix``."""
        with self._lock:
            (found,) = self._db.execute(
                "SELECT count(*) FROM entries WHERE key >= ? AND key < ?", _bounds(prefix)
            ).fetchone()
        return int(found)

    def keys(self, prefix: str) -> list[str]:
        """Keys that begin with ``prefix``, in the order in which they were written."""
        with self._lock:
            rows = self._db.execute(
                "SELECT key FROM entries WHERE key >= ? AND key < ? ORDER BY position", _bounds(prefix)
            ).fetchall()
        return [key for (key,) in rows]

    def last(self, prefix: str) -> tuple[str, float] | None:
        """The key that begins with ``prefix`` and was written last, and when; None if there is none."""
        with self._lock:
            row = self._db.execute(
                "SELECT key, at FROM entries WHERE key >= ? AND key < ? ORDER BY position DESC LIMIT 1", _bounds(prefix)
            ).fetchone()
        return None if row is None else (str(row[0]), float(row[1]))

    def heads_besides(self, prefix: str) -> set[str]:
        """First parts, up to a ``/``, of the keys that do not begin with ``prefix``; those that do are not read."""
        head = "SELECT substr(key, 1, instr(key || '/', '/') - 1) FROM entries WHERE key"
        with self._lock:
            rows = self._db.execute(f"{head} < ? UNION {head} >= ?", _bounds(prefix)).fetchall()
        return {found for (found,) in rows}

    def last_write(self, prefix: str) -> float | None:
        """When the newest entry below ``prefix`` was written, in seconds since 1970; None if there is none."""
        with self._lock:
            (at,) = self._db.execute(
                "SELECT max(at) FROM entries WHERE key >= ? AND key < ?", _bounds(prefix)
            ).fetchone()
        return None if at is None else float(at)

    def written(self, key: str) -> float | None:
        """When this entry was written; None if there is none."""
        with self._lock:
            row = self._db.execute("SELECT at FROM entries WHERE key = ?", (key,)).fetchone()
        return None if row is None else float(row[0])

    def drop(self, keys: Iterable[str]) -> None:
        """Forget these entries, all or none. Traces stay in the write-ahead log until it is cut off: see ``wipe``."""
        named = [(key,) for key in keys]
        with self._lock, room_wanted(self._called), self._transaction():
            self._db.executemany("DELETE FROM entries WHERE key = ?", named)

    def wipe(self, keys: Iterable[str]) -> None:
        """Forget these entries, and overwrite the pages that they were on (``secure_delete``).

        While another process reads the file, or its disk is full, its write-ahead log keeps old pages: that is
        logged, and the next erasure or the last closing of the file mends it.
        """
        self.drop(keys)
        try:
            with self._lock, room_wanted(self._called):
                (busy, _, _) = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except PrivityError:
            _log.warning("the disk of the journal is full: erased entries stay in its write-ahead log for now")
            return
        if busy:
            _log.warning("another process reads the journal: erased entries stay in its write-ahead log for now")

    def erase(self, prefix: str) -> None:
        """Wipe every entry below ``prefix``."""
        self.wipe(self.keys(prefix))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def close(self) -> None:
        with self._lock:
            self._db.close()
