"""docs/deploy.md: its commands are run where that can be done here, and else checked against what they name."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from privity.common.data.schema import load_schema
from privity.common.privacy.ledger_folder import declared, default_ledger, ledgers_folder
from privity.deploy.packaging import containers
from privity.interfaces.cli import main
from privity.party.config import load_config, read_policy
from tests.deploy.packaging.test_compose import VARIABLE
from tests.deploy.packaging.test_image import ENTRY_POINTS, state_home, texts
from tests.harness.command import ROOT, here
from tests.harness.founding import entry_points, found
from tests.harness.walkthrough import PARTIES

pytestmark = pytest.mark.external

PAGE = ROOT / "docs" / "deploy.md"


def section(heading: str) -> list[str]:
    """The commands below a heading."""
    parts = re.split(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    text = dict(zip(parts[1::2], parts[2::2], strict=True))[heading]
    blocks = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]


def beginning(heading: str, start: str) -> list[str]:
    found = [command for command in section(heading) if command.startswith(start)]
    assert found, f"{heading} has a command {start}"
    return found


def sh(command: str, place: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", command], cwd=place, env={**os.environ, "SOURCES": str(ROOT)}, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"


def population_of(folder: Path) -> str:
    """As a party's policy names it."""
    return tomllib.loads((folder / "policy.toml").read_text(encoding="utf-8"))["population"]


@pytest.mark.usefixtures("account")
def test_the_population_of_the_page_is_declared_and_said_again_as_the_walkthrough_declares_it(
    founded: Path, tmp_path: Path
) -> None:
    declare, show = section("The ledger")
    (name,) = (word for word in shlex.split(declare) if "north" in word)
    assert name == population_of(founded / "north")
    for account in (None, tmp_path / "another"):
        environment = {} if account is None else {"XDG_STATE_HOME": str(account)}
        for command in (declare, show):
            done = here(tmp_path, command, **environment)
            assert done.returncode == 0, done.stderr
        assert name in done.stdout
    assert (tmp_path / "another" / default_ledger(name).relative_to(ledgers_folder().parents[1])).exists()


def test_the_first_command_of_the_compose_section_takes_the_place_of_the_walkthroughs(tmp_path: Path) -> None:
    (init,) = beginning("Three on one machine", "privity consortium init")
    found(tmp_path, "nowhere:1", instead=[init])
    assert load_config(tmp_path / "north" / "party.toml").curator == "curator:7443"
    assert load_schema(tmp_path / "curator" / "schema.json")
    (printf,) = beginning("Three on one machine", "printf")
    sh(printf, tmp_path)
    given = dict(line.split("=") for line in (tmp_path / "consortium.env").read_text().splitlines())
    user = f"{os.getuid()}:{os.getgid()}"
    ledgers = str(ledgers_folder().parent)
    assert given == {"PRIVITY_FOLDERS": str(tmp_path), "PRIVITY_USER": user, "PRIVITY_LEDGERS": ledgers}
    assert {population_of(tmp_path / name) for name in PARTIES} <= set(declared()), "for this account, by the page"
    compose = (ROOT / "deploy" / "packaging" / "compose.yaml").read_text(encoding="utf-8")
    assert {name for name, mark, _ in VARIABLE.findall(compose) if mark == "?"} == set(given)
    for command in beginning("Three on one machine", "docker compose"):
        words = shlex.split(command)
        assert words[words.index("--env-file") + 1] == "consortium.env"
        assert words[words.index("--file") + 1] == "$SOURCES/deploy/packaging/compose.yaml"


def test_every_command_of_the_containers_module_is_one() -> None:
    shown = beginning("Three on one machine", "python -m privity.deploy.packaging.containers")
    for command in shown:
        name, *options = shlex.split(command)[3:]
        result = CliRunner().invoke(containers.app, [name, "--help"])
        assert result.exit_code == 0, command
        of_its_own = options[: options.index("run")] if "run" in options else options
        for option in (word for word in of_its_own if word.startswith("--")):
            assert option in result.output, command
    assert {shlex.split(command)[3] for command in shown} == {"build", "up", "operator", "down"}


def test_the_containers_of_the_page_get_what_compose_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build, compare, run, logs, doctor = section("The image")
    assert (ROOT / shlex.split(build)[3]).exists()
    (base,) = (text for text in texts("ARG") if text.startswith("BASE="))
    assert shlex.split(compare)[:4] == ["docker", "buildx", "imagetools", "inspect"]
    assert f"BASE={shlex.split(compare)[4]}" == base
    reader = argparse.ArgumentParser()
    for option in (
        "--restart",
        "--cap-drop",
        "--security-opt",
        "--user",
        "--tmpfs",
        "--name",
        "--entrypoint",
        "--pull",
    ):
        reader.add_argument(option)
    reader.add_argument("--volume", action="append")
    for flag in ("--read-only", "--init", "--detach", "--rm"):
        reader.add_argument(flag, action="store_true")
    reader.add_argument("rest", nargs="*")
    given = reader.parse_args(shlex.split(run)[2:])
    folder, rows, ledgers = given.volume
    assert (folder, rows) == ("$PWD/north:/node", "$PWD/north.csv:/north.csv:ro")
    monkeypatch.setenv("HOME", str(tmp_path))
    for state in (None, str(tmp_path / "elsewhere")):
        if state is None:
            monkeypatch.delenv("XDG_STATE_HOME")
        else:
            monkeypatch.setenv("XDG_STATE_HOME", state)
        expanded = subprocess.run(["sh", "-c", f'printf %s "{ledgers}"'], capture_output=True, text=True).stdout
        assert expanded == f"{ledgers_folder().parent}:{state_home() / ledgers_folder().parent.name}"
    assert (given.cap_drop, given.security_opt, given.read_only, given.init) == ("ALL", "no-new-privileges", True, True)
    assert given.rest == ["privity"]
    asked = reader.parse_args(shlex.split(doctor)[2:])
    assert (asked.entrypoint, asked.rest) == ("privity", ["privity", "doctor"])
    assert asked.volume == given.volume
    assert given.pull == asked.pull == "never", "the image that was built here, and none of its name from elsewhere"
    assert shlex.split(logs)[-1] == given.name
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in ENTRY_POINTS)


def test_the_chart_takes_the_values_of_the_page_and_the_party_finds_its_rows(founded: Path, tmp_path: Path) -> None:
    helm = pytest.importorskip("helm_python", reason="Helm's library is not installed (helm-python-sdk)")
    shutil.copytree(founded / "north", tmp_path / "north")
    (sed,) = beginning("Kubernetes", "sed")
    sh(sed, tmp_path)
    rows = tomllib.loads((tmp_path / "north" / "party.toml").read_text(encoding="utf-8"))["data"]
    assert rows == "/rows/north.csv"
    for command in beginning("Kubernetes", "helm install"):
        _, _, name, place, _, values = shlex.split(command.replace("$DIGEST", f"sha256:{'0' * 64}"))
        with helm.Chart.load(place.replace("$SOURCES", str(ROOT))) as chart:
            given = helm.parse_set_string(values)
            chart.validate_schema(chart.merge_values(given))
            manifests = chart.render(given, name=name)
        text = "".join(manifests.values())
        assert f"secretName: {name}" in text
        assert f"image: {given['image']['repository']}@sha256:" in text
        if given["role"] == "party":
            assert f"mountPath: {Path(rows).parent}" in text
            assert given["population"]["name"] == population_of(tmp_path / "north")
            change_in_the_pod(name, given["population"], tmp_path)
    for command in beginning("Kubernetes", "kubectl create secret"):
        *_, name = (word for word in shlex.split(command) if not word.startswith("--"))
        for source in re.findall(r"--from-file=(\S+)", command):
            assert (founded / source).is_dir(), "the folder that init made"
        assert name in ("north", "curator")


def change_in_the_pod(release: str, people: dict[str, object], tmp_path: Path) -> None:
    """Run what the page has done in the pod, on a ledger that was declared with the page's values."""
    (command,) = beginning("Kubernetes", "kubectl exec")
    options, _, inside = command.partition(" -- ")
    assert shlex.split(options)[-1] == f"statefulset/{release}"
    declare = ["privity", "population", "declare", people["name"], "--total-epsilon", people["totalEpsilon"]]
    for line in (shlex.join(map(str, declare)), inside):
        done = here(tmp_path, line, XDG_STATE_HOME=str(tmp_path / "state-of-the-pod"))
        assert done.returncode == 0, done.stderr


def test_the_commands_for_systemd_make_a_folder_that_the_unit_finds(
    founded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run with the system's folders replaced by one of the test; users and systemctl are left out."""
    place, root = tmp_path / "here", tmp_path / "root"
    shutil.copytree(founded, place)
    for folder in ("var/lib", "etc/systemd/system", "opt/privity"):
        (root / folder).mkdir(parents=True)
    entry_points(root / "opt" / "privity" / "bin")
    of_user = r" --owner privity --group privity| ?runuser --user privity --(?= )"
    for command in section("systemd"):
        if command.split()[0] in ("cp", "sed", "install", "runuser"):
            sh(re.sub(r"([ =])(/var|/etc|/opt)/", rf"\1{root}\2/", re.sub(of_user, "", command)), place)
    unit = root / "etc/systemd/system/privity-party.service"
    (settings,) = re.findall(r"--config (\S+)$", unit.read_text(encoding="utf-8"), re.MULTILINE)
    config = load_config(root / settings.lstrip("/"))
    (data,) = config.rows.address().files
    assert data.parent == config.key.parent
    (venv,) = beginning("systemd", "python3 -m venv")
    assert f"ExecStart={shlex.split(venv)[-1]}/bin/privity-party " in unit.read_text(encoding="utf-8")
    user = beginning("systemd", "useradd")[0].split()[-1]
    assert f"User={user}\n" in unit.read_text(encoding="utf-8")
    assert user == "privity", "who declares, and who owns the ledgers"
    (state,) = re.findall(r"^Environment=XDG_STATE_HOME=(\S+)$", unit.read_text(encoding="utf-8"), re.MULTILINE)
    monkeypatch.setenv("XDG_STATE_HOME", f"{root}{state}")
    assert read_policy(config).population.name == population_of(founded / "north")
    assert default_ledger(population_of(founded / "north")).is_relative_to(root)
    assert stat.S_IMODE(ledgers_folder().stat().st_mode) == 0o700
    assert unit.stem in beginning("systemd", "systemctl")[0]


def test_the_proxies_take_the_samples_as_they_are() -> None:
    (init,) = beginning("Behind nginx or envoy", "privity curator init")
    assert "--listen" in CliRunner().invoke(main.app, ["curator", "init", "--help"]).output
    listen = shlex.split(init)[shlex.split(init).index("--listen") + 1]
    assert listen in (ROOT / "deploy" / "packaging" / "proxies" / "nginx.conf").read_text(encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in section("Behind nginx or envoy"):
        program, *arguments = shlex.split(command.replace("$SOURCES", str(ROOT)))
        if program in ("nginx", "envoy") and (found := shutil.which(program, path=path)):
            done = subprocess.run([found, *arguments], capture_output=True, text=True)
            if 'unknown directive "stream"' not in done.stderr:
                assert done.returncode == 0, done.stderr


def test_every_command_is_of_a_kind_that_is_checked() -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert all(line.startswith("$ ") for line in lines), json.dumps(lines)
    checked = {"cp", "docker", "envoy", "helm", "kubectl", "nginx", "printf", "privity", "python", "python3", "sed"}
    checked |= {"install", "runuser"}
    named = {"/opt/privity/bin/pip", "chown", "journalctl", "systemctl", "useradd"}
    assert {line.split()[1] for line in lines} == checked | named
