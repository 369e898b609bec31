"""Connections without a certificate, more than the curator may have files: members' calls succeed all the same."""

from __future__ import annotations

import contextlib
import resource
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import psutil
import pytest

from privity.common.data.schema import load_schema
from privity.common.node.connection_silence import SILENCE_SECONDS, serving_options
from privity.common.node.process import OPEN_FILES
from privity.common.protocol.secure_sum_method import MASKS
from privity.deploy.consortium.provisioning import Consortium, Limits, point_to, provision
from tests.harness.command import PATIENCE_SECONDS, ROOT, privity, start, wait_until
from tests.harness.tables import people, write_people

pytestmark = pytest.mark.process

MEMBERS = ("north", "south")
LIMITED = (
    "import os, resource, sys; soft, hard = map(int, sys.argv[1:3]); "
    "resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)); "
    "os.execv(sys.executable, [sys.executable, '-m', 'privity.interfaces.cli.main', *sys.argv[3:]])"
)


def with_files(soft: int, hard: int, *arguments: str | Path) -> subprocess.Popen[str]:
    """Start ``privity`` with limits of open files of its own."""
    command = [sys.executable, "-c", LIMITED, str(soft), str(hard), *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


class Serving:
    """A curator whose files are limited, and two parties that dial it, as processes."""

    def __init__(self, folder: Path, soft: int, hard: int) -> None:
        _, schema_file = write_people(folder, 10)
        frames = {name: people(80, seed).astype(str) for seed, name in enumerate(MEMBERS)}
        limits = Limits(Fraction(2), 1, MASKS, None)
        schema = load_schema(schema_file)
        self.consortium: Consortium = provision(folder / "all", frames, schema, limits, patience=20)
        port_file, config = folder / "port", self.consortium.curator / "curator.toml"
        self.curator = with_files(soft, hard, "curator", "serve", "--config", config, "--port-file", port_file)
        wait_until(lambda: port_file.exists() or self.curator.poll() is not None, "the curator's port")
        self.port = int(port_file.read_text())
        point_to(self.consortium, self.port)
        settings = [self.consortium.party(name) / "party.toml" for name in MEMBERS]
        self.parties = [start("party", "serve", "--config", file) for file in settings]
        self.operator = self.consortium.operator / "operator.toml"
        self.operator.write_text(
            f'format_version = 1\ncurator = "localhost:{self.port}"\ncertificate = "tls.pem"\nkey = "tls.key"\n'
            'manifest = "manifest.json"\norganiser_key = "organiser.pub"\n'
        )

    def run(self, out: Path) -> subprocess.CompletedProcess[str]:
        """A run of all parties, from its submission to its release."""
        return privity(
            "run", "submit", "--config", self.operator, "--algorithm", "one-way", "--epsilon", "1",
            "--secure-sum", "masks", "--out", out,
        )  # fmt: skip

    def files(self) -> int:
        return psutil.Process(self.curator.pid).num_fds()

    def stop(self) -> str:
        """End all processes; what the curator wrote."""
        for process in (*self.parties, self.curator):
            process.terminate()
        for process in self.parties:
            process.communicate(timeout=PATIENCE_SECONDS)
        return self.curator.communicate(timeout=PATIENCE_SECONDS)[1]


@contextlib.contextmanager
def serving(folder: Path, soft: int, hard: int) -> Iterator[Serving]:
    nodes = Serving(folder, soft, hard)
    try:
        yield nodes
    finally:
        for process in (nodes.curator, *nodes.parties):
            process.kill()
            process.wait()


def client_hello() -> bytes:
    """The first message of a TLS handshake."""
    context = ssl.create_default_context()
    arriving, leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(arriving, leaving, server_hostname="localhost").do_handshake()
    return leaving.read()


class Strangers:
    """So many connections at a time that show no certificate; one that is closed is made anew if ``again``."""

    def __init__(self, port: int, number: int, said: bytes, *, again: bool) -> None:
        self._port, self._said, self._over = port, said, threading.Event()
        self.held = [self._connected() for _ in range(number)]
        self._thread = threading.Thread(target=self._renew)
        if again:
            self._thread.start()

    def _connected(self) -> socket.socket:
        one = socket.create_connection(("localhost", self._port), timeout=PATIENCE_SECONDS)
        with contextlib.suppress(OSError):
            one.sendall(self._said)
        return one

    @staticmethod
    def closed(one: socket.socket) -> bool:
        """Whether the other side has hung up."""
        one.setblocking(False)
        try:
            while one.recv(1 << 16):
                pass
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True

    def _renew(self) -> None:
        while not self._over.wait(0.1):
            for place, one in enumerate(self.held):
                if self.closed(one):
                    one.close()
                    with contextlib.suppress(OSError):
                        self.held[place] = self._connected()

    def __enter__(self) -> Strangers:
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        if self._thread.ident:
            self._thread.join()
        for one in self.held:
            one.close()


@pytest.fixture(autouse=True)
def _room_for_strangers() -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.long
@pytest.mark.parametrize("said", [b"", client_hello()], ids=["silence", "a hello, then silence"])
def test_a_run_completes_while_strangers_hold_more_connections_than_the_soft_limit(tmp_path: Path, said: bytes) -> None:
    with serving(tmp_path, 256, 8192) as nodes, Strangers(nodes.port, 2000, said, again=True):
        wait_until(lambda: nodes.files() > 2000, "the strangers' connections")
        done = nodes.run(tmp_path / "release")
        assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_who_shows_no_certificate_is_hung_up_on(tmp_path: Path) -> None:
    with serving(tmp_path, 256, 8192) as nodes, Strangers(nodes.port, 500, b"", again=False) as strangers:
        wait_until(lambda: nodes.files() > 500, "the strangers' connections")
        wait_until(lambda: all(map(strangers.closed, strangers.held)), "the end of the strangers' connections")
        assert nodes.files() < 200


def test_a_certificate_is_awaited_for_less_time_than_a_sign_of_life() -> None:
    assert dict(serving_options(SILENCE_SECONDS))["grpc.server_handshake_timeout_ms"] < SILENCE_SECONDS * 1000
    assert dict(serving_options(2.0))["grpc.server_handshake_timeout_ms"] == 2000


@pytest.mark.long
def test_where_the_hard_limit_is_low_the_curator_keeps_files_for_itself_and_recovers(tmp_path: Path) -> None:
    with serving(tmp_path, 256, 256) as nodes:
        assert nodes.run(tmp_path / "before").returncode == 0
        with Strangers(nodes.port, 1000, b"", again=True) as strangers:
            wait_until(lambda: any(map(strangers.closed, strangers.held)), "a connection beyond the bound")
            assert nodes.files() < 200, "half of the files are no strangers'"
        done = nodes.run(tmp_path / "after")
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in nodes.stop()


@pytest.mark.parametrize(("soft", "hard"), [(64, 300), (300, 300), (64, OPEN_FILES * 2)])
def test_a_node_may_open_as_many_files_as_the_hard_limit_allows(tmp_path: Path, soft: int, hard: int) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard > most != resource.RLIM_INFINITY:
        hard = most
    text = "from privity.common.node.process import open_files; import resource as r; "
    text += f"r.setrlimit(r.RLIMIT_NOFILE, ({soft}, {hard})); "
    text += "print(open_files(), open_files(), *r.getrlimit(r.RLIMIT_NOFILE))"
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=True)
    wanted = min(hard, OPEN_FILES)
    assert done.stdout.split() == [str(wanted), str(wanted), str(wanted), str(hard)]
