"""An append-only log in SQLite that makes a step idempotent: what was once answered stays answered.

One entry a key. The same key with the same digest gives the stored bytes back; the same key with
another digest is refused, because a second answer to one question would be a second release.
Entries are synced to disk before ``record`` returns.
"""

from __future__ import annotations

import secrets
import sqlite3
import threading
from pathlib import Path

from common.errors import Catalogue, PrivityError

MEMORY = ":memory:"


def connect(path: Path | str) -> sqlite3.Connection:
    """A synced SQLite connection that several threads may share under a lock of their owner."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA secure_delete=ON")
    return connection


class Journal:
    """Entries ``key -> (digest, payload)``; written once, read for ever, or erased as a whole run.

    ``identity`` is random, made with the file: a new file never passes for the lost one.
    """

    def __init__(self, path: Path | str = MEMORY) -> None:
        self._lock = threading.Lock()
        self._db = connect(path)
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS entries ("
            " position INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL,"
            " digest TEXT NOT NULL, payload BLOB NOT NULL)"
        )
        self.identity = self.record("journal", "identity", secrets.token_hex(16).encode()).decode()

    def recall(self, key: str, digest: str) -> bytes | None:
        """The stored payload, None if there is none; another digest under this key is refused."""
        with self._lock:
            row = self._db.execute("SELECT digest, payload FROM entries WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        if row[0] != digest:
            raise PrivityError(Catalogue.STEP_CHANGED, step=key)
        return bytes(row[1])

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
        """Forget the entries below ``prefix``; their pages are overwritten (``secure_delete``)."""
        keys = [(key,) for key in self.keys(prefix)]
        with self._lock:
            self._db.executemany("DELETE FROM entries WHERE key = ?", keys)
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        with self._lock:
            self._db.close()
