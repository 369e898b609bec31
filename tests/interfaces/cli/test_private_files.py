"""Files of owners and of evaluations are for their owner only, whatever the umask; ``doctor`` finds others."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from privity.common.privacy.ledger_folder import ledgers_folder
from tests.harness.command import privity
from tests.harness.tables import write_people

pytestmark = pytest.mark.process

PUBLIC = {"schema.json", "organiser.pub", "tls.pem", "tls.request.pem", "manifest.json"}
"""What everybody in a consortium has; nobody but the owner may write it."""


@contextmanager
def masked(umask: int) -> Iterator[None]:
    before = os.umask(umask)
    try:
        yield
    finally:
        os.umask(before)


def readable(place: Path) -> set[Path]:
    """Files that others may read or write."""
    return {file for file in place.rglob("*") if file.is_file() and stat.S_IMODE(file.stat().st_mode) & 0o077}


def done(*arguments: str | Path) -> str:
    found = privity(*arguments)
    assert found.returncode == 0, found.stderr
    return found.stdout


def joined(place: Path) -> None:
    """A consortium whose members join in folders that everybody may look into."""
    table, schema = write_people(place, 60)
    organiser = place / "organiser"
    done("consortium", "init", "--folder", organiser, "--name", "clinics", "--curator", "localhost:1",
         "--schema", schema, "--party", "north", "--party", "south")  # fmt: skip
    done("consortium", "invite", "--folder", organiser)
    for name in ("curator", "north", "operator"):
        (place / name).mkdir()
        (place / name).chmod(0o755)
        invite = ["--invite", organiser / "invites" / f"{name}.json", "--folder", place / name]
        owner = ["--data", table, "--population", "people", "--total-epsilon", "1"] if name == "north" else []
        done("party" if owner else name, "init", *invite, *owner)


@pytest.mark.parametrize("umask", [0o000, pytest.param(0o022, marks=pytest.mark.long)])
def test_members_files_are_for_their_owner_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home" / "state"))
    with masked(umask):
        joined(tmp_path)
    for name in ("curator", "north", "operator"):
        others = {file.name for file in readable(tmp_path / name)}
        assert others <= {*PUBLIC, f"join-{name}.json"}, name
        assert not [file for file in readable(tmp_path / name) if stat.S_IMODE(file.stat().st_mode) & 0o022]
        assert (tmp_path / name / ("party.toml" if name == "north" else f"{name}.toml")).exists()
    assert list(ledgers_folder().rglob("*.sqlite"))
    assert list(ledgers_folder().rglob("*.json"))
    assert not readable(tmp_path / "home")
    folders = [folder for folder in (tmp_path / "home").rglob("*") if folder.is_dir()]
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


def checked(file: Path, check: str = "private files") -> dict[str, str]:
    lines = [json.loads(line) for line in privity("doctor", "--config", file, "--json").stdout.splitlines()]
    (found,) = [line for line in lines if line["check"] == check]
    return found


@pytest.mark.long
def test_doctor_names_each_file_that_others_may_read_and_its_command_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    place = tmp_path / "a place"
    place.mkdir()
    joined(place)
    done("party", "renew", "--keys", "--config", place / "north" / "party.toml")
    for name in ("curator", "operator"):
        done(name, "renew", "--config", place / name / f"{name}.toml")
    state = place / "north" / "state"
    former = [state / "transcripts" / "run-1.json", state / "coded" / "rows", state / "journal.sqlite", state / "lock"]
    for file in former:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    (place / "curator" / "state").mkdir()
    (place / "curator" / "state" / "journal.sqlite").write_text("")
    of_party = {place / "north" / name for name in ("party.toml", "policy.toml", "tls.key", "next/tls.key")}
    of_party |= {*former, *(place / "north").rglob("keys/*.pem"), *ledgers_folder().rglob("*.*")}
    expected = {
        "north/party.toml": {file for file in of_party if file.is_file()},
        "curator/curator.toml": {
            place / "curator" / n for n in ("curator.toml", "tls.key", "next/tls.key", "state/journal.sqlite")
        },
        "operator/operator.toml": {place / "operator" / name for name in ("operator.toml", "tls.key", "next/tls.key")},
    }
    assert len(expected["north/party.toml"]) >= 4 + len(former) + 6 + 2
    for settings, files in expected.items():
        for file in files:
            file.chmod(0o644)
        found = checked(place / settings)
        assert found["verdict"] == "amiss"
        command = shlex.split(found["remedy"])
        assert command[:2] == ["chmod", "600"]
        assert set(map(Path, command[2:])) == files
        assert all(str(file) in found["found"] for file in files)
        subprocess.run(command, check=True)
        assert checked(place / settings)["verdict"] == "ok"
        for file in files:
            assert stat.S_IMODE(file.stat().st_mode) == 0o600


FOLDERS = {
    "north": ["", "state", "state/former", "keys", "next", "next/keys"],
    "curator": ["", "state", "next"],
    "operator": ["", "next"],
}
FILES = {
    "north": ["party.toml", "policy.toml", "organiser.pub", "manifest.json", "schema.json", "tls.pem"],
    "curator": ["curator.toml", "organiser.pub", "manifest.json", "schema.json"],
    "operator": ["operator.toml", "organiser.pub", "tls.pem"],
}


@pytest.mark.long
def test_doctor_names_what_others_may_write_or_own_and_its_commands_mend_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    joined(tmp_path)
    for name in FOLDERS:
        member = tmp_path / name
        role = "party" if name == "north" else name
        settings = member / f"{role}.toml"
        done(role, "renew", *(["--keys"] if role == "party" else []), "--config", settings)
        for file in ("state/journal.sqlite", *(["state/former/run.json"] if role == "party" else [])):
            if role != "operator":
                (member / file).parent.mkdir(mode=0o700, exist_ok=True)
                (member / file).touch(mode=0o600)
        if role != "operator":
            (member / "manifest.json").touch(mode=0o644)
        assert checked(settings, "write access")["verdict"] == "ok"
        for mode, placed in ((0o777, FOLDERS[name]), (0o666, FILES[name])):
            places = {member / place for place in placed}
            for place in places:
                place.chmod(mode)
            found = checked(settings, "write access")
            assert found["verdict"] == "amiss"
            command = shlex.split(found["remedy"])
            assert set(map(Path, command[2:])) == places
            subprocess.run(command, check=True)
            assert checked(settings, "write access")["verdict"] == "ok"
        if os.geteuid() == 0:
            assert checked(settings, "owners")["verdict"] == "ok"
            owned = {settings, member / "organiser.pub", member}
            for place in owned:
                os.chown(place, 12345, -1)
            found = checked(settings, "owners")
            assert found["verdict"] == "amiss"
            command = shlex.split(found["remedy"])
            assert set(map(Path, command[2:])) == owned
            subprocess.run(command, check=True)
            assert checked(settings, "owners")["verdict"] == "ok"


def test_doctor_warns_of_rows_that_everybody_may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    joined(tmp_path)
    settings = tmp_path / "north" / "party.toml"
    found = checked(settings, "rows")
    assert found["verdict"] == "warning"
    command = shlex.split(found["remedy"])
    (rows,) = map(Path, command[2:])
    assert str(rows) in found["found"]
    subprocess.run(command, check=True)
    assert stat.S_IMODE(rows.stat().st_mode) & 0o007 == 0
    assert checked(settings, "rows")["verdict"] == "ok"


@pytest.mark.long
@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_evaluations_and_drafts_are_for_their_owner_only(tmp_path: Path, umask: int) -> None:
    table, schema = write_people(tmp_path, 200)
    (tmp_path / "judged").mkdir()
    with masked(umask):
        done(
            "simulate", "--data", table, "--schema", schema, "--epsilon", "1", "--algorithm", "one-way",
            "--secure-sum", "masks", "--out", tmp_path / "release", "--evaluate", tmp_path / "judged" / "simulated",
        )  # fmt: skip
        done(
            "evaluate", "--real", table, "--release", tmp_path / "release", "--quick",
            "--json", tmp_path / "judged" / "one.json", "--html", tmp_path / "judged" / "one.html",
        )  # fmt: skip
        done("schema", "draft", table, "--out", tmp_path / "judged" / "drafted.json")
    assert len([file for file in (tmp_path / "judged").rglob("*") if file.is_file()]) == 5
    assert not readable(tmp_path / "judged")
    assert stat.S_IMODE((tmp_path / "judged" / "simulated").stat().st_mode) == 0o700
