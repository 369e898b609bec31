"""An append-only log in SQLite that makes a step idempotent: what was once answered stays answered.

One entry a key. The same key with the same digest gives the stored bytes back; the same key with
another digest is refused, because a second answer to one question would be a second release.
Entries are synced to disk before ``record`` returns.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from pathlib import Path

from common.errors import Catalogue, PrivityError

MEMORY = ":memory:"

_log = logging.getLogger("privity.journal")
BUSY_SECONDS = 10.0  # how long to wait for another process that is writing


def connect(path: Path | str) -> sqlite3.Connection:
    """A synced SQLite connection that several threads may share under a lock of their owner."""
    if path != MEMORY:
        # Before SQLite makes it with the process's own mask; -wal and -shm take over the file's mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        Path(path).chmod(0o600)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    _write_ahead(connection)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA secure_delete=ON")
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Turn to WAL. SQLite itself does not wait when several processes do so to a new file at once."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(0.005)


class Journal:
    """Entries ``key -> (digest, payload)``; written once, read for ever, or erased as a whole run."""

    def __init__(self, path: Path | str = MEMORY) -> None:
        self._lock = threading.Lock()
        self._db = connect(path)
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS entries ("
            " position INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL,"
            " digest TEXT NOT NULL, payload BLOB NOT NULL)"
        )

    def recall(self, key: str, digest: str) -> bytes | None:
        """The stored payload, None if there is none; another digest under this key is refused."""
        with self._lock:
            row = self._db.execute("SELECT digest, payload FROM entries WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        if row[0] != digest:
            raise PrivityError(Catalogue.STEP_CHANGED, step=key)
        return bytes(row[1])

    def content(self, key: str) -> bytes | None:
        """The stored payload under whatever digest, None if there is none."""
        with self._lock:
            row = self._db.execute("SELECT payload FROM entries WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def recall_part(self, key: str, digest: str, part: slice) -> bytes | None:
        """These bytes of the stored payload, without reading all of it; None and refusal as in ``recall``."""
        with self._lock:
            row = self._db.execute("SELECT digest, position FROM entries WHERE key = ?", (key,)).fetchone()
            if row is not None and row[0] == digest:
                with self._db.blobopen("entries", "payload", row[1], readonly=True) as payload:
                    return bytes(payload[part])
        if row is not None:
            raise PrivityError(Catalogue.STEP_CHANGED, step=key)
        return None

    def record(self, key: str, digest: str, payload: bytes) -> bytes:
        """Store the payload and return what is stored: the first one written under this key wins."""
        with self._lock:
            self._db.execute(
                "INSERT OR IGNORE INTO entries (key, digest, payload) VALUES (?, ?, ?)", (key, digest, payload)
            )
        stored = self.recall(key, digest)
        assert stored is not None
        return stored

    def keys(self, prefix: str) -> list[str]:
        """Keys that begin with ``prefix``, in the order in which they were written."""
        with self._lock:
            rows = self._db.execute("SELECT key FROM entries ORDER BY position").fetchall()
        return [key for (key,) in rows if key.startswith(prefix)]

    def erase(self, prefix: str) -> None:
        """Forget the entries below ``prefix``; their pages are overwritten (``secure_delete``).

        While another process reads the file, its write-ahead log keeps old pages: that is logged, and the
        next erasure or the last closing of the file mends it.
        """
        keys = [(key,) for key in self.keys(prefix)]
        with self._lock:
            self._db.executemany("DELETE FROM entries WHERE key = ?", keys)
            (busy, _, _) = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            _log.warning("another process reads the journal: erased entries stay in its write-ahead log for now")

    def drop(self, key: str) -> None:
        """Forget one entry, as ``erase`` does."""
        with self._lock:
            self._db.execute("DELETE FROM entries WHERE key = ?", (key,))

    def close(self) -> None:
        with self._lock:
            self._db.close()
