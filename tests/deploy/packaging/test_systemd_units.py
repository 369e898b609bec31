"""The systemd units: accepted by systemd itself, and hardened by its own measure."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from privity.common.privacy.ledger_folder import ledgers_folder
from tests.harness.command import ROOT
from tests.harness.founding import entry_points

pytestmark = pytest.mark.external

UNITS = ROOT / "deploy" / "packaging" / "systemd"
INSTALLED = "/opt/privity/bin"
STATE = "/var/lib"
"""Where systemd makes what StateDirectory names."""

LEDGERS = "privity/ledgers"
MOST_EXPOSED = "15"
"""Tenths, of 100. What is left is the network, and the machine's files to be read."""

analyze = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not on this machine")


def text(role: str) -> str:
    return (UNITS / f"privity-{role}.service").read_text(encoding="utf-8")


@analyze
@pytest.mark.parametrize("role", ["party", "curator"])
def test_systemd_accepts_the_unit_and_finds_it_hardened(role: str, tmp_path: Path) -> None:
    entry_points(tmp_path / "bin")
    unit = tmp_path / f"privity-{role}.service"
    unit.write_text(text(role).replace(INSTALLED, str(tmp_path / "bin")), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert unit.name not in done.stderr, "no remark on it"
    command = ["systemd-analyze", "security", "--offline=yes", f"--threshold={MOST_EXPOSED}", "--no-pager", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True)
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd cannot rate a unit that is not installed")
    assert done.returncode == 0, done.stdout


def test_both_units_are_alike_but_for_their_role_and_the_ledgers() -> None:
    def rest(role: str) -> list[str]:
        lines = re.sub(role, "ROLE", text(role)).splitlines()
        return [line for line in lines if not line.startswith(("#", "Description"))]

    of_party = rest("party")
    of_party.remove(f"Environment=XDG_STATE_HOME={STATE}")
    of_party[of_party.index(f"StateDirectory=privity-ROLE {LEDGERS}")] = "StateDirectory=privity-ROLE"
    assert of_party == rest("curator")


def service(role: str) -> configparser.SectionProxy:
    unit = configparser.RawConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[method-assign, assignment]
    unit.read_string(text(role))
    return unit["Service"]


def test_units_of_one_user_share_its_ledgers(monkeypatch: pytest.MonkeyPatch) -> None:
    party = service("party")
    name, _, value = party["Environment"].partition("=")
    assert name == "XDG_STATE_HOME"
    monkeypatch.setenv(name, value)
    own, ledgers = party["StateDirectory"].split()
    assert Path(STATE, ledgers) == ledgers_folder(), "systemd makes it, and lets the unit write there"
    assert not ledgers_folder().is_relative_to(Path(STATE, own)), "a second unit has another folder of its own"
    assert party["StateDirectoryMode"] == "0700"


@pytest.mark.parametrize("role", ["party", "curator"])
def test_the_node_may_write_where_its_settings_and_its_ledgers_are_and_nowhere_else(role: str) -> None:
    found = service(role)
    assert found["ExecStart"].startswith(f"{INSTALLED}/privity-{role} serve --config ")
    settings = Path(found["ExecStart"].split()[-1])
    own, *others = found["StateDirectory"].split()
    assert settings.parent == Path(STATE, own) == Path(found["WorkingDirectory"])
    assert others == ([LEDGERS] if role == "party" else [])
    assert settings.name == f"{role}.toml"
    assert found["ProtectSystem"] == "strict"
    assert "ReadWritePaths" not in found
