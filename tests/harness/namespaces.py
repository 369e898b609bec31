"""Several hosts on one machine: network namespaces joined by a bridge, each behind a firewall of its own.

A host has a name that every other one resolves, an address of a range that exists only in here, and ledgers of its own.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import pytest

DOMAIN = "privity.test"
BRIDGE = "bridge"
RANGE = "10.213.77"

NOTHING_COMES_IN = """
table inet firewall {
    chain input {
        type filter hook input priority filter; policy drop;
        iif "lo" accept
        ct state established,related accept
        reject with icmpx type admin-prohibited
    }
}
"""
ONLY_THERE_GOES_OUT = """
table inet way_out {
    chain output {
        type filter hook output priority filter; policy drop;
        oif "lo" accept
        ct state established,related accept
        ip daddr %s tcp dport %d accept
        reject with icmpx type admin-prohibited
    }
}
"""

_DIAL = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).close()"
_LISTEN = """
import socket
server = socket.create_server(("0.0.0.0", 0))
print(server.getsockname()[1], flush=True)
while True:
    server.accept()[0].close()
"""


def require_namespaces() -> None:
    """Skip where this machine cannot have them."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    for tool, package in (("ip", "iproute2"), ("nft", "nftables")):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on this machine (package {package})")
    probe = f"privity-{secrets.token_hex(3)}"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"this machine makes no network namespace: {made.stderr.strip()}")
    try:
        ruled = subprocess.run(
            ["ip", "netns", "exec", probe, "nft", "-f", "-"], input=NOTHING_COMES_IN, capture_output=True, text=True
        )
    finally:
        subprocess.run(["ip", "netns", "del", probe], check=True)
    if ruled.returncode:
        pytest.skip(f"this machine's kernel takes no firewall rules: {ruled.stderr.strip()}")


class Hosts:
    """Namespaces by host, on one bridge; a context that leaves nothing behind."""

    def __init__(self, names: Iterable[str], place: Path) -> None:
        """
        Args:
            place: an empty folder, for what each host keeps between commands.
        """
        # Several test runs may share a machine: namespaces are the machine's, host names are ours alone.
        mark = secrets.token_hex(3)
        self._space = {name: f"privity-{mark}-{name}" for name in (BRIDGE, *names)}
        self.address = {name: f"{RANGE}.{number}" for number, name in enumerate(self._space) if name != BRIDGE}
        self._place = place
        self._started: list[subprocess.Popen[str]] = []

    @staticmethod
    def name(host: str) -> str:
        """Under which the others find it."""
        return f"{host}.{DOMAIN}"

    def __enter__(self) -> Self:
        try:
            for space in self._space.values():
                _run("ip", "netns", "add", space)
            self.run(BRIDGE, "ip", "link", "add", "joint", "type", "bridge")
            self.run(BRIDGE, "ip", "link", "set", "joint", "up")
            for host, address in self.address.items():
                self._join(host, address)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _join(self, host: str, address: str) -> None:
        port = f"to-{host}"[:15]
        peer = ("peer", "name", "eth0", "netns", self._space[host])
        self.run(BRIDGE, "ip", "link", "add", port, "type", "veth", *peer)
        self.run(BRIDGE, "ip", "link", "set", port, "master", "joint", "up")
        self.run(host, "ip", "address", "add", f"{address}/24", "dev", "eth0")
        self.run(host, "ip", "link", "set", "eth0", "up")
        self.run(host, "ip", "link", "set", "lo", "up")
        # `ip netns exec` shows the files of this folder in the place of those in /etc.
        files = self._files(host)
        files.mkdir(parents=True)
        lines = ["127.0.0.1 localhost", *(f"{other} {self.name(name)}" for name, other in self.address.items())]
        (files / "hosts").write_text("\n".join(lines) + "\n", encoding="ascii")
        (files / "resolv.conf").write_text("", encoding="ascii")

    def _files(self, host: str) -> Path:
        return Path("/etc/netns") / self._space[host]

    def __exit__(self, *_error: object) -> None:
        for process in self._started:
            process.terminate()
        for process in self._started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for host, space in self._space.items():
            subprocess.run(["ip", "netns", "del", space], capture_output=True)
            shutil.rmtree(self._files(host), ignore_errors=True)

    def inside(self, host: str, command: Sequence[str]) -> list[str]:
        """The command that runs a command on this host."""
        state = [f"{name}={value}" for name, value in self.environment(host).items()]
        return ["ip", "netns", "exec", self._space[host], "env", *state, *command]

    def environment(self, host: str) -> dict[str, str]:
        """What its processes have in their environment besides."""
        return {"XDG_STATE_HOME": str(self._place / host)}

    def run(self, host: str, *command: str, given: str | None = None) -> str:
        """Run a command that must succeed; its output."""
        return _run(*self.inside(host, command), given=given)

    def start(self, host: str, command: Sequence[str], cwd: Path, log: Path) -> subprocess.Popen[str]:
        """Start a process that is stopped with the hosts."""
        with log.open("w") as out:
            process = subprocess.Popen(self.inside(host, command), cwd=cwd, stdout=out, stderr=out, text=True)
        self._started.append(process)
        return process

    def listen(self, host: str) -> int:
        """Start something that takes every connection; its port."""
        command = self.inside(host, [sys.executable, "-c", _LISTEN])
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._started.append(process)
        assert process.stdout
        return int(process.stdout.readline())

    def reaches(self, host: str, address: str, port: int) -> bool:
        """Whether a connection from this host comes about."""
        command = self.inside(host, [sys.executable, "-c", _DIAL, address, str(port)])
        return subprocess.run(command, capture_output=True).returncode == 0

    def refuse_inbound(self, host: str) -> None:
        """From now on nobody else opens a connection to this host."""
        self.run(host, "nft", "-f", "-", given=NOTHING_COMES_IN)

    def allow_outbound(self, host: str, to: str, port: int) -> None:
        """From now on this host opens connections to this one place only."""
        self.run(host, "nft", "-f", "-", given=ONLY_THERE_GOES_OUT % (self.address[to], port))


def _run(*command: str, given: str | None = None) -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout
