"""A real PostgreSQL that asks for a password: where it may be, and that nothing of ours repeats it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import psutil
import pytest

from tests.harness import postgresql
from tests.harness.command import PATIENCE_SECONDS, children, here, privity, start
from tests.harness.stores import put

pytestmark = pytest.mark.external

LIBPQ = ("PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE")


def stored(server: postgresql.Server, place: Path) -> tuple[Path, str]:
    """A schema, and the address of rows that fit it, without a password."""
    schema = place / "visits.schema.json"
    fields = [{"name": name, "type": "string", "categories": ["x", "y"]} for name in ("a", "b")]
    schema.write_text(json.dumps({"fields": fields}))
    put("postgresql", place / "rows", [{"a": "xy"[i % 2], "b": "xy"[i % 3 == 0]} for i in range(60)], server)
    return schema, f"postgresql://{postgresql.OWNER}@127.0.0.1:{server.port}/postgres#visits"


def private(file: Path, text: str) -> str:
    file.touch(mode=0o600)
    file.write_text(text)
    return str(file)


@pytest.fixture(autouse=True)
def _nothing_else_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in LIBPQ:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("way", [*LIBPQ, None])
def test_libpq_finds_a_password_that_is_on_no_command_line(
    server: postgresql.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str | None
) -> None:
    schema, address = stored(server, tmp_path)
    match way:
        case "PGPASSWORD":
            monkeypatch.setenv(way, postgresql.PASSWORD)
        case "PGPASSFILE":
            monkeypatch.setenv(way, private(tmp_path / "passfile", f"*:*:*:*:{postgresql.PASSWORD}\n"))
        case "PGSERVICEFILE":
            service = server.owner.replace("'", "").replace(" port", "\nport").replace(" user", "\nuser")
            service = service.replace(" password", "\npassword").replace(" dbname", "\ndbname")
            monkeypatch.setenv(way, private(tmp_path / "services", f"[clinic]\n{service}\n"))
            address = "postgresql:///?service=clinic#visits"
    done = privity("schema", "check", schema, "--data", address)
    assert (done.returncode == 0) == (way is not None), done.stderr
    assert postgresql.PASSWORD not in done.stdout + done.stderr


@pytest.mark.long
def test_a_simulation_has_the_password_in_no_argument_of_a_process(
    server: postgresql.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema, address = stored(server, tmp_path)
    monkeypatch.setenv("PGPASSWORD", postgresql.PASSWORD)
    process = start(
        "simulate", "--data", address, "--schema", schema, "--epsilon", "1", "--algorithm", "one-way",
        "--parties", "2", "--secure-sum", "masks", "--out", tmp_path / "release",
    )  # fmt: skip
    arguments: dict[int, list[str]] = {}
    while process.poll() is None:
        for child in children(process):
            if child.pid not in arguments:
                try:
                    arguments[child.pid] = child.cmdline()
                except psutil.NoSuchProcess:
                    continue
        time.sleep(0.05)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, err
    assert len(arguments) >= 3, "the curator and two parties"
    assert postgresql.PASSWORD not in f"{arguments} {out} {err}"


def test_a_password_in_the_settings_of_a_node_is_repeated_by_no_command(
    server: postgresql.Server, tmp_path: Path
) -> None:
    schema, address = stored(server, tmp_path)
    organiser, north = tmp_path / "organiser", tmp_path / "north"
    north.mkdir(mode=0o755)
    for command in (
        ["consortium", "init", "--folder", organiser, "--name", "clinics", "--curator", "localhost:1",
         "--schema", schema, "--party", "north", "--party", "south"],
        ["consortium", "invite", "--folder", organiser],
        ["party", "init", "--invite", organiser / "invites" / "north.json", "--folder", north, "--data", address,
         "--population", "people", "--total-epsilon", "1"],
    ):  # fmt: skip
        done = privity(*command)
        assert done.returncode == 0, done.stderr
    settings = north / "party.toml"
    text = settings.read_text()
    whole = server.url("visits")
    settings.write_text(text.replace(address, whole))
    assert whole in settings.read_text()
    assert settings.stat().st_mode & 0o777 == 0o600
    secrets = (postgresql.PASSWORD, postgresql.PASSWORD.replace(" ", "%20"), "swordfish")
    told = here(tmp_path, f"privity doctor --config {settings} --json").stdout
    found = {check["check"]: check for check in map(json.loads, told.splitlines())}
    assert found["data"]["found"] == "60 rows, all within the schema"
    assert found["private files"]["verdict"] == "ok"
    for command in ("doctor", "party check", "party show", "party ledger"):
        done = here(tmp_path, f"privity {command} --config {settings}")
        told += done.stdout + done.stderr
    for broken in (
        f'data = ["{whole}"]',
        f'data = "{whole}" x',
        f'data = "{whole.partition("#")[0]}"',
        f'dat = "{whole}"',
    ):
        settings.write_text(text.replace(f'data = "{address}"', broken))
        for command in ("doctor", "party check"):
            done = here(tmp_path, f"privity {command} --config {settings}")
            assert done.returncode != 0
            told += done.stdout + done.stderr
    assert "party.toml" in told
    assert not [secret for secret in secrets if secret in told]
