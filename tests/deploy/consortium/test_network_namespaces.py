"""docs/walkthrough.md again, every member on a host of its own whose firewall lets nobody in."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.command import ROOT, here, program, serves, wait_until
from tests.harness.namespaces import Hosts, require_namespaces
from tests.harness.walkthrough import CURATOR, PARTIES, check_release, commands, make_files

pytestmark = pytest.mark.external

HUB, PROXY = "curator", "proxy"
PORT, PROXY_PORT = 7443, 3128
OVER_THE_NETWORK = re.compile("privity run ")


@pytest.fixture
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    require_namespaces()
    with Hosts((HUB, PROXY, *PARTIES), tmp_path_factory.mktemp("hosts")) as made:
        for party in PARTIES:
            port = made.listen(party)
            assert made.reaches(HUB, made.name(party), port), "without a firewall the hosts reach each other"
            made.refuse_inbound(party)
            assert not made.reaches(HUB, made.name(party), port)
            assert made.reaches(party, "127.0.0.1", port), "it still listens, but nobody comes in"
        yield made


def host_of(command: str) -> str:
    """A party's commands name its folder or its invite; organiser, curator and operator share a host."""
    found = re.search(rf"(?:--config |invites/)({'|'.join(PARTIES)})\b", command)
    return found[1] if found else HUB


def follow(hosts: Hosts, place: Path, all_commands: list[str], proxy: str = "") -> None:
    """Run them, each on its host; those in the background go on until the hosts end.

    Args:
        proxy: goes into the settings of every party.
    """
    make_files(place)
    logs = []
    for command in all_commands:
        command = command.replace(CURATOR, f"{hosts.name(HUB)}:{PORT}")
        host = host_of(command)
        if serves(command):
            logs.append(place / f"{len(logs)}.log")
            hosts.start(host, program(command), place, logs[-1])
            continue
        if OVER_THE_NETWORK.match(command):
            inside = hosts.inside(host, program(command))
            done = subprocess.run(inside, cwd=place, capture_output=True, text=True, timeout=280)
        else:
            done = here(place, command, **hosts.environment(host))
        said = "".join(log.read_text() for log in logs)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}{said}"
        if proxy and command.startswith("privity party init"):
            settings = place / host / "party.toml"
            settings.write_text(settings.read_text() + f'\nproxy = "{proxy}"\n')


@pytest.mark.long
def test_three_hosts_that_let_nobody_in_release_a_table(hosts: Hosts, tmp_path: Path) -> None:
    assert {host_of(command) for command in commands()} == {HUB, *PARTIES}
    follow(hosts, tmp_path, commands())
    check_release(tmp_path)
    for party in PARTIES:
        listening = hosts.run(party, "ss", "--listening", "--tcp", "--numeric", "--no-header", "--processes")
        assert len(listening.splitlines()) == 1, f"only the test's own listener is there: {listening}"


@pytest.mark.long
def test_hosts_that_reach_a_proxy_and_nothing_else_release_a_table(hosts: Hosts, tmp_path: Path) -> None:
    credentials = "clinics:secret"
    hosts.start(
        PROXY, [sys.executable, "-m", "tests.harness.proxy", str(PROXY_PORT), credentials], ROOT, tmp_path / "p"
    )
    hub = hosts.listen(HUB)
    for party in PARTIES:
        assert hosts.reaches(party, hosts.name(HUB), hub)
        hosts.allow_outbound(party, PROXY, PROXY_PORT)
        assert not hosts.reaches(party, hosts.name(HUB), hub)
        wait_until(lambda party=party: hosts.reaches(party, hosts.name(PROXY), PROXY_PORT), "the proxy")  # type: ignore[misc]
    follow(hosts, tmp_path, commands(), f"http://{credentials}@{hosts.name(PROXY)}:{PROXY_PORT}")
    check_release(tmp_path)
    for log in tmp_path.glob("*.log"):
        assert "secret" not in log.read_text()
