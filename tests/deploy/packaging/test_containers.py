"""containers.py asks for what compose.yaml asks for; with an engine, a consortium of three and a run."""

from __future__ import annotations

import contextlib
import os
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from privity.common.errors import PrivityError, ProblemsFound
from privity.common.privacy.ledger_folder import default_ledger, open_ledger
from privity.common.release.release_folder import verify_release
from privity.deploy.packaging import containers
from tests.deploy.packaging.conftest import STATE
from tests.deploy.packaging.test_compose import services
from tests.deploy.packaging.test_image import state_home
from tests.harness.command import ROOT
from tests.harness.walkthrough import PARTIES

pytestmark = pytest.mark.external

pytest.importorskip("docker", reason="the docker SDK is not installed (extra containers)")

NAME = "privity-test"
BASE = os.environ.get("PRIVITY_TEST_BASE")
"""Image to build on where the one of the Dockerfile cannot be had."""


def owner(folder: Path) -> str:
    found = folder.stat()
    return f"{found.st_uid}:{found.st_gid}"


def asked(options: dict[str, Any]) -> dict[str, Any]:
    """What the engine is asked for, in the words of compose.yaml."""
    mounts = [
        {"type": m["Type"], "source": m["Source"], "target": m["Target"], "read_only": m["ReadOnly"]}
        for m in options["mounts"]
    ]
    shown = {key: options[key] for key in ("entrypoint", "user", "working_dir", "init", "read_only", "cap_drop")}
    shown |= {"security_opt": options["security_opt"], "tmpfs": list(options["tmpfs"]), "volumes": mounts}
    if "restart_policy" in options:
        shown |= {"command": options["command"], "restart": options["restart_policy"]["Name"]}
    if "healthcheck" in options:
        given = options["healthcheck"]
        times = {key: f"{given[key] // containers.SECOND}s" for key in ("interval", "timeout", "start_period")}
        shown["healthcheck"] = {"test": given["test"], "retries": given["retries"], **times}
    return shown


def written(service: dict[str, Any]) -> dict[str, Any]:
    """The same of compose.yaml."""
    keys = ["entrypoint", "user", "working_dir", "init", "read_only", "cap_drop", "security_opt", "tmpfs"]
    if "restart" in service:
        keys += ["command", "restart"]
    keys += ["healthcheck"] if "healthcheck" in service else []
    mounts = [
        {"read_only": False, **{key: value for key, value in mount.items() if key != "bind"}}
        for mount in service["volumes"]
    ]
    return {key: service[key] for key in keys} | {"volumes": mounts}


@pytest.mark.usefixtures("account")
def test_it_asks_for_what_compose_asks_for(founded: Path) -> None:
    members = containers.members_of(founded)
    assert members[0].role == "curator"
    by_compose = {name: written(service) for name, service in services(founded, owner(founded / "north")).items()}
    assert {member.name: asked(member.options()) for member in members} == by_compose


def test_a_party_gets_the_ledgers_of_the_account_and_nobody_else_does(founded: Path, account: Path) -> None:
    assert Path(containers.STATE_HOME) == state_home()
    for member in containers.members_of(founded):
        ledgers = [mount for mount in member.mounts if mount[1].is_relative_to(containers.STATE_HOME)]
        expected = [(account / "privity", containers.STATE_HOME / "privity", False)]
        assert ledgers == (expected if member.role == "party" else []), member.name


@pytest.mark.parametrize(
    ("named", "mounted"),
    [
        ("../ledgers/people.sqlite", ("ledgers", "/ledgers")),
        ("/srv/privity/people.sqlite", ("/srv/privity", "/srv/privity")),
        ("state/people.sqlite", None),
    ],
)
def test_the_folder_of_a_ledger_that_is_named_is_mounted(
    founded: Path, tmp_path: Path, named: str, mounted: tuple[str, str] | None
) -> None:
    folder = with_ledger(founded, tmp_path, named)
    usual = containers.member_of(founded / "north", "party").mounts
    extra = containers.member_of(folder, "party").mounts[len(usual) :]
    assert extra == (() if mounted is None else ((tmp_path / mounted[0], PurePosixPath(mounted[1]), False),))


def test_a_ledger_without_a_folder_of_its_own_is_refused(founded: Path, tmp_path: Path) -> None:
    folder = with_ledger(founded, tmp_path, "../people.sqlite")
    with pytest.raises(ProblemsFound, match=r"\.\./people\.sqlite would lie in the root folder"):
        containers.member_of(folder, "party")


def with_ledger(founded: Path, place: Path, named: str) -> Path:
    """A copy of north's folder whose settings name a ledger."""
    folder = place / "north"
    shutil.copytree(founded / "north", folder)
    with (folder / "party.toml").open("a", encoding="utf-8") as file:
        file.write(f'ledger = "{named}"\n')
    return folder


def test_parties_whose_populations_are_not_declared_are_not_started(
    founded: Path, account: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = containers.members_of(founded)
    containers.check_declared(founded, members)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(PrivityError) as error:
        containers.up_command(founded)
    assert error.value.code == "population-undeclared"
    assert not list(tmp_path.iterdir()), "no ledger is begun"
    assert list(account.iterdir())


def test_parties_that_dial_this_machine_are_told_so(founded: Path, tmp_path: Path) -> None:
    place = tmp_path / "copy"
    shutil.copytree(founded, place)
    for name, curator in (("north", "localhost:7443"), ("east", "elsewhere:7443")):
        file = place / name / "party.toml"
        file.write_text(file.read_text().replace("curator:7443", curator))
    with pytest.raises(ProblemsFound) as error:
        containers.members_of(place)
    assert "north/party.toml" in error.value.message
    assert "localhost:7443 leads nowhere in a container" in error.value.message
    assert "--curator curator:7443" in error.value.message


def test_a_folder_without_a_consortium(tmp_path: Path) -> None:
    with pytest.raises(PrivityError) as error:
        containers.members_of(tmp_path)
    assert error.value.code == "file-missing"


def test_without_an_engine_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    with pytest.raises(PrivityError) as error, containers.engine():
        pass
    assert error.value.code == "connection-failed"
    assert "DOCKER_HOST" in error.value.remedy


@pytest.fixture
def client() -> Iterator[Any]:
    with contextlib.ExitStack() as stack:
        try:
            client = stack.enter_context(containers.engine())
        except PrivityError as error:
            pytest.skip(f"no container engine answers here: {error.message}")
        yield client


@pytest.mark.timeout(1500)
def test_a_consortium_of_three_in_containers(
    client: Any, founded: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "copy"
    shutil.copytree(founded, place)
    monkeypatch.setenv("XDG_STATE_HOME", str(place / STATE))
    if os.getuid() == 0:  # nodes run as who owns the folders: not as root
        for path in (place, *place.rglob("*")):
            os.chown(path, 10001, 10001)
    containers.build(client, NAME, BASE)
    members = containers.members_of(place)
    containers.start(client, members, NAME, NAME)
    try:
        arguments = ["run", "submit", "--epsilon", "1", "--out", "release"]
        assert containers.operate(client, members, NAME, NAME, arguments) == 0, capfd.readouterr()
        verify_release(place / "operator" / "release")
        for name in ("curator", *PARTIES):
            container = client.containers.get(f"{NAME}-{name}")
            assert container.status == "running"
            assert not container.attrs["HostConfig"]["PortBindings"]
        for name in PARTIES:
            population = tomllib.loads((place / name / "policy.toml").read_text(encoding="utf-8"))["population"]
            with closing(open_ledger(population, default_ledger(population))) as ledger:
                assert ledger.spent() == 1, "charged on the host, while the node is at work"
    finally:
        containers.stop(client, NAME)
    assert not client.containers.list(all=True, filters={"label": f"{containers.LABEL}={NAME}"})


def test_the_project_is_where_the_image_is_built_from() -> None:
    assert (containers.ROOT, (ROOT / containers.DOCKERFILE).exists()) == (ROOT, True)
