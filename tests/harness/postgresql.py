"""A real PostgreSQL for tests: Debian's package, a cluster of its own in a scratch folder, passwords asked."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

OWNER, PASSWORD = "warehouse", "swordfish of the tests"


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        port: on 127.0.0.1.
        owner: connection string of the account that may write.
    """

    port: int
    folder: Path
    programs: Path

    @property
    def owner(self) -> str:
        return f"host=127.0.0.1 port={self.port} user={OWNER} password='{PASSWORD}' dbname=postgres"

    def url(self, table: str, user: str = OWNER, password: str = PASSWORD, database: str = "postgres") -> str:
        """The address of a table, as an owner would write it."""
        return f"postgresql://{user}:{password.replace(' ', '%20')}@127.0.0.1:{self.port}/{database}#{table}"

    def execute(self, *statements: str) -> None:
        """Run statements as the owner."""
        with psycopg.connect(self.owner) as connection:
            for statement in statements:
                connection.execute(statement)

    def stop(self) -> None:
        self._control("stop", "-m", "immediate")

    def start(self) -> None:
        options = f"-p {self.port} -k {self.folder} -c fsync=off -c shared_buffers=256MB -c logging_collector=off"
        self._control("start", "-o", options, "-l", str(self.folder / "log"))

    def _control(self, *arguments: str) -> None:
        run([str(self.programs / "pg_ctl"), "-D", str(self.folder / "data"), "-w", *arguments])


@contextlib.contextmanager
def server() -> Iterator[Server]:
    """Start a server, and remove it; the test is skipped where none is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("PostgreSQL is not installed: see tests/debian-packages.txt")
    folder = Path(tempfile.mkdtemp(prefix="privity-postgresql-"))
    try:
        if os.getuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        (folder / "password").write_text(PASSWORD)
        (folder / "password").chmod(0o644)
        made = Server(free_port(), folder, found[-1].parent)
        arguments = ["-D", str(folder / "data"), "-U", OWNER, "--auth=scram-sha-256", "--encoding=UTF8"]
        run([str(found[-1]), *arguments, "--locale=C.UTF-8", f"--pwfile={folder / 'password'}", "--no-sync"])
        made.start()
        try:
            yield made
        finally:
            with contextlib.suppress(subprocess.CalledProcessError):
                made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(command: list[str]) -> None:
    """As the account that Debian made for it: PostgreSQL refuses to be run by root."""
    # By a program, as `user=` would make subprocess fork: gRPC's handlers of a fork can end the child of a process that
    # has served, before it runs anything.
    account = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"] if os.getuid() == 0 else []
    # Its server inherits what it is given: a pipe would be read until the server ends.
    subprocess.run([*account, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
