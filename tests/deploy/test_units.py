"""The systemd units: accepted by systemd itself, and hardened by its own measure."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.harness.command import ROOT
from tests.harness.founding import entry_points

UNITS = ROOT / "deploy" / "systemd"
INSTALLED = "/opt/privity/bin"
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


def test_both_units_are_alike_but_for_their_role() -> None:
    def rest(role: str) -> list[str]:
        lines = re.sub(role, "ROLE", text(role)).splitlines()
        return [line for line in lines if not line.startswith(("#", "Description"))]

    assert rest("party") == rest("curator")


@pytest.mark.parametrize("role", ["party", "curator"])
def test_the_node_may_write_where_its_settings_are_and_nowhere_else(role: str) -> None:
    unit = configparser.RawConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[method-assign, assignment]
    unit.read_string(text(role))
    service = unit["Service"]
    assert service["ExecStart"].startswith(f"{INSTALLED}/privity-{role} serve --config ")
    settings = Path(service["ExecStart"].split()[-1])
    assert settings.parent == Path("/var/lib", service["StateDirectory"]) == Path(service["WorkingDirectory"])
    assert settings.name == f"{role}.toml"
    assert service["ProtectSystem"] == "strict"
    assert "ReadWritePaths" not in service
