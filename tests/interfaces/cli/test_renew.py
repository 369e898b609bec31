"""Renewal by commands, of everybody at once, while the real processes of the walk-through serve and nobody restarts."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from privity.common.consortium.manifest import read_manifest
from privity.common.crypto.identity import Identity
from privity.common.release.release_folder import verify_release
from tests.harness.command import here, serves, wait_until
from tests.harness.walkthrough import CURATOR, PARTIES, Background, commands, free_port, write_rows

pytestmark = pytest.mark.process

RENEW = [
    "privity party renew --config north/party.toml --keys --answer organiser/joins/north.json",
    "privity party renew --config south/party.toml --answer organiser/joins/south.json",
    "privity operator renew --config operator/operator.toml --answer organiser/joins/operator.json",
    "privity curator renew --config curator/curator.toml --answer organiser/joins/curator.json",
]
SEAL = [
    "privity consortium seal --folder organiser",
    "privity curator accept organiser/manifest.json --config curator/curator.toml",
]
CONFIGS = ("north/party.toml", "east/party.toml", "operator/operator.toml", "curator/curator.toml")
SECRETS = ("north/tls.key", "south/tls.key", "operator/tls.key", "curator/tls.key", "north/keys/sealing.pem")


@pytest.mark.long
def test_everybody_renews_and_nobody_restarts(tmp_path: Path) -> None:
    write_rows(tmp_path)
    address = f"localhost:{free_port()}"
    *founding, submit = [command.replace(CURATOR, address) for command in commands()]

    def run(command: str) -> str:
        done = here(tmp_path, command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}{nodes.logs()}"
        return done.stdout

    def content(names: tuple[str, ...]) -> dict[str, bytes]:
        return {name: (tmp_path / name).read_bytes() for name in names}

    with Background(tmp_path) as nodes:
        for command in founding:
            if serves(command):
                nodes.start(command)
            else:
                run(command)
            if command.startswith("privity party init"):
                half_for_each_run(tmp_path)
        run(submit.replace("--epsilon 1", "--epsilon 1/2"))
        before, untouched = content(SECRETS), content(("east/tls.key", "east/party.toml", "north/party.toml"))
        for command in RENEW:
            run(command)
        assert content(SECRETS) == before, "nothing in use changes"
        assert "is in no manifest" in doctor(tmp_path, "north/party.toml")
        for command in SEAL:
            run(command)
        for config in CONFIGS:
            # Whether the newest manifest was taken already or not.
            checks = {check["check"]: check for check in map(json.loads, doctor(tmp_path, config).splitlines())}
            assert "amiss" not in {check["verdict"] for check in checks.values()}, checks
            assert "serial 2, 3 parties" in checks["manifest"]["found"]
            if config.startswith("operator"):
                assert checks["manifest"]["found"].endswith("serial 1 is here still"), "the doctor takes none"
        run(submit.replace("--epsilon 1", "--epsilon 1/2").replace("--out release", "--out again"))
        for config in CONFIGS:
            # Nodes take the newest manifest with a run, or within a minute; an operator with any command.
            checks = {check["check"]: check for check in map(json.loads, doctor(tmp_path, config).splitlines())}
            amiss = {check["found"] for check in checks.values() if check["verdict"] == "amiss"}
            assert amiss <= {"nothing is left"}
            assert checks["manifest"]["verdict"] == "ok"
        after = content(SECRETS)
        assert not {name for name in SECRETS if after[name] == before[name]}
        assert content(tuple(untouched)) == untouched
        assert all(node.poll() is None for node in nodes.processes)
        for name in ("north", "south", "operator", "curator"):
            assert not (tmp_path / name / "next").exists()
        wait_until(lambda: not list((tmp_path / "north" / "former").iterdir()), "former keys erased after the run")
        assert "serial=2" in nodes.logs()
        assert "other-certificate" not in nodes.logs(), "a renewal is nothing to warn of"
    verify_release(tmp_path / "again")
    assert len(pd.read_csv(tmp_path / "again" / "synthetic.csv")) == 900
    newest = read_manifest(tmp_path / "east" / "manifest.json", tmp_path / "east" / "organiser.pub")
    assert newest.serial == 2
    assert newest.keys_of("north") == Identity.load(tmp_path / "north" / "keys").public()


def half_for_each_run(place: Path) -> None:
    for party in PARTIES:
        policy = place / party / "policy.toml"
        if policy.exists():
            policy.write_text(policy.read_text().replace('epsilon_per_run = "1"', 'epsilon_per_run = "1/2"'))


def doctor(place: Path, config: str) -> str:
    return here(place, f"privity doctor --config {config} --json").stdout
