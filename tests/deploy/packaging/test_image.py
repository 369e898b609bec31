"""The Dockerfile without an engine: what goes into the image, and its steps in an environment of their own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest

from privity.common.exit_codes import Exit
from tests.harness.command import ROOT
from tests.harness.tables import write_people

pytestmark = pytest.mark.process

FILE = ROOT / "deploy" / "packaging" / "Dockerfile"
ENTRY_POINTS = ("privity-party", "privity-curator")
SECRETS = (
    "north/tls.key", "north/keys/signing.pem", "north/party.toml", "north.csv", "consortium.env", "tests/conftest.py",
    "deploy/north/tls.key", "deploy/north/keys/signing.pem", "deploy/north/policy.toml", "deploy/north.csv",
    "deploy/north/state/ledger.sqlite", "common/north.csv.gz", ".git/config",
)  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One instruction of the Dockerfile, and the stage that it is in."""

    stage: int
    name: str
    text: str


def steps() -> list[Step]:
    lines = [line for line in FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    found, stage = [], -1
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, text = line.strip().partition(" ")
            stage += name == "FROM"
            found.append(Step(stage, name, text.strip()))
    return found


def texts(name: str, stage: int | None = None) -> list[str]:
    return [step.text for step in steps() if step.name == name and stage in (None, step.stage)]


def copied() -> list[tuple[list[str], str]]:
    """(sources in the project, target) of the stage that builds."""
    return [(words[:-1], words[-1]) for words in map(str.split, texts("COPY", 0))]


def context(folder: Path) -> set[str]:
    """The files that an engine is sent."""
    build = pytest.importorskip("docker.utils.build", reason="the docker SDK is not installed (extra containers)")
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    sent = build.exclude_paths(str(folder), patterns, dockerfile="deploy/packaging/Dockerfile")
    return {name for name in sent if (folder / name).is_file()}


def test_what_is_copied_is_there_and_is_sent() -> None:
    sent = context(ROOT)
    for sources, _ in copied():
        for source in sources:
            path = ROOT / source
            files = [path] if path.is_file() else [*path.rglob("*.py"), *path.rglob("*.json")]
            assert files, source
            assert {file.relative_to(ROOT).as_posix() for file in files} <= sent
    places = tuple(source for sources, _ in copied() for source in sources)
    assert {name for name in sent if not name.startswith(places)} == {".dockerignore"}


def test_keys_rows_and_settings_are_not_sent(tmp_path: Path) -> None:
    for name in (*SECRETS, "interfaces/cli/main.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x", encoding="ascii")
    (tmp_path / "deploy" / "packaging").mkdir(parents=True)
    shutil.copy(FILE, tmp_path / "deploy" / "packaging")
    assert context(tmp_path) == {"interfaces/cli/main.py", "deploy/packaging/Dockerfile"}


def environment() -> dict[str, str]:
    """What the image sets."""
    last = max(step.stage for step in steps())
    return dict(word.split("=", 1) for text in texts("ENV", last) for word in text.split())


def state_home() -> Path:
    """In a container: ledgers are looked for below it."""
    return Path(environment()["XDG_STATE_HOME"])


def test_a_container_without_the_ledgers_of_its_account_has_none() -> None:
    """What is no volume and not the user's own cannot be written: no ledger is begun that goes with the container."""
    assert state_home() == Path("/state")
    last = max(step.stage for step in steps())
    places = [Path(text) for name in ("VOLUME", "WORKDIR") for text in texts(name, last)]
    assert not [place for place in places if place.is_relative_to(state_home()) or state_home().is_relative_to(place)]
    assert not texts("RUN", last), "no folder is made there"


def test_it_runs_as_nobody_in_particular() -> None:
    last = max(step.stage for step in steps())
    (user,) = texts("USER", last)
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user), "a number: an orchestrator that forbids root can check it"
    assert texts("VOLUME", last) == texts("WORKDIR", last) == ["/node"]
    assert texts("COPY", last) == ["--from=build /opt/privity /opt/privity"], "no sources, no tools"


def test_its_entry_points_are_the_projects_commands() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert set(ENTRY_POINTS) <= set(scripts)
    (entry,), (arguments,) = texts("ENTRYPOINT"), texts("CMD")
    assert json.loads(entry) + json.loads(arguments) == ["privity-party", "serve"]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_its_steps_make_both_entry_points_from_what_is_copied_alone(tmp_path: Path) -> None:
    root = tmp_path / "root"

    def there(path: str) -> Path:
        return root / PurePosixPath(path).relative_to("/")

    place = there("/")
    for step in (step for step in steps() if step.stage == 0):
        if step.name == "WORKDIR":
            place = there(step.text)
            place.mkdir(parents=True)
        elif step.name == "COPY":
            *sources, target = step.text.split()
            for source in sources:
                into = place / target / Path(source).name if target.endswith("/") else place / target
                if (ROOT / source).is_dir():
                    shutil.copytree(ROOT / source, into, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / source, into)
        elif step.name == "RUN":
            (root / "opt").mkdir(exist_ok=True)
            command = step.text.replace("/opt/privity", str(there("/opt/privity")))
            clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
            done = subprocess.run(["sh", "-c", command], cwd=place, env=clean, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(there("/src"))
    empty = tmp_path / "node"
    empty.mkdir()
    bare = {**environment(), "PATH": str(there("/opt/privity/bin")), "XDG_STATE_HOME": str(there(str(state_home())))}

    def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(there(f"/opt/privity/bin/{name}")), *arguments]
        return subprocess.run(command, cwd=empty, env=bare, capture_output=True, text=True, timeout=120)

    for name in ENTRY_POINTS:
        shown = run(name, "--help")
        assert shown.returncode == 0, shown.stderr
        assert {"init", "serve"} <= set(shown.stdout.split())
        alone = run(name, "serve")
        assert (alone.returncode, "is missing" in alone.stderr) == (Exit.ORDER, True), alone.stderr
    declared = run("privity", "population", "declare", "people", "--total-epsilon", "1")
    assert declared.returncode == 0, declared.stderr
    assert (there(str(state_home())) / "privity" / "ledgers" / "people.sqlite").exists()
    table, schema = write_people(tmp_path, 30)
    checked = run("privity", "schema", "check", str(schema), "--data", str(table))
    assert checked.returncode == 0, checked.stderr
