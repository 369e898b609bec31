"""compose.yaml: read strictly, and compared with the folders of a consortium and the ledgers of the account."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from privity.common.privacy.ledger_folder import default_ledger, ledgers_folder, open_ledger
from tests.deploy.packaging.test_image import state_home
from tests.harness.command import ROOT
from tests.harness.walkthrough import PARTIES

pytestmark = pytest.mark.external

FILE = ROOT / "deploy" / "packaging" / "compose.yaml"
VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")


def rendered(text: str, variables: dict[str, str]) -> str:
    """The text with its variables filled in as compose does; one that is required and missing is an error."""

    def value(found: re.Match[str]) -> str:
        name, mark, rest = found.groups()
        if variables.get(name):
            return variables[name]
        if mark == "-":
            return rest
        raise KeyError(name)

    return VARIABLE.sub(value, text)


def settings(folder: Path, user: str = "1000:1000") -> dict[str, str]:
    """What consortium.env says: the ledgers are those of the account that this process runs for."""
    return {"PRIVITY_FOLDERS": str(folder), "PRIVITY_USER": user, "PRIVITY_LEDGERS": str(ledgers_folder().parent)}


def services(folder: Path, user: str = "1000:1000") -> dict[str, Any]:
    """Every service, anchors and variables resolved."""
    return yaml.safe_load(rendered(FILE.read_text(encoding="utf-8"), settings(folder, user)))["services"]


def test_it_is_a_compose_file(tmp_path: Path) -> None:
    reader = pytest.importorskip("compose_spec", reason="compose-spec, which reads compose files, is not installed")
    document = yaml.safe_load(rendered(FILE.read_text(encoding="utf-8"), settings(tmp_path)))
    reader.PyCompose.from_yaml(yaml.safe_dump(document)).validate()
    document["services"]["north"]["read_onyl"] = True
    with pytest.raises(ValueError, match="read_onyl"):
        reader.PyCompose.from_yaml(yaml.safe_dump(document))


def test_it_builds_from_the_whole_repository() -> None:
    """A context of a folder below would leave out what the image needs."""
    build = services(Path("/folders"))["north"]["build"]
    assert (FILE.parent / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).is_file()


def test_docker_compose_renders_it(tmp_path: Path) -> None:
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "compose", "version"], capture_output=True).returncode:
        pytest.skip("docker compose is not on this machine")
    environment = {**os.environ, **settings(tmp_path)}
    done = subprocess.run([docker, "compose", "--file", str(FILE), "config"], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_nothing_has_a_usual_place_or_a_usual_user() -> None:
    text = FILE.read_text(encoding="utf-8")
    for name in settings(Path("/folders")):
        rest = {key: value for key, value in settings(Path("/folders")).items() if key != name}
        with pytest.raises(KeyError, match=name):
            rendered(text, rest)


def test_every_node_is_hardened_and_none_is_reached_from_outside(tmp_path: Path) -> None:
    document = yaml.safe_load(rendered(FILE.read_text(encoding="utf-8"), settings(tmp_path)))
    assert document["networks"] == {"consortium": {"internal": True}}
    assert set(document["services"]) == {"curator", *PARTIES, "operator"}
    for name, service in document["services"].items():
        assert "ports" not in service, name
        assert "network_mode" not in service
        assert "privileged" not in service
        assert service["networks"] == ["consortium"]
        assert service["user"] == "1000:1000"
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "environment" not in service, "settings are in the member's folder, and XDG_STATE_HOME in the image"
        assert service.get("restart") == (None if name == "operator" else "unless-stopped")


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("name", PARTIES)
def test_a_party_charges_the_ledger_that_was_declared_on_the_host(
    founded: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    population = tomllib.loads((founded / name / "policy.toml").read_text(encoding="utf-8"))["population"]
    (mount,) = (m for m in services(founded)[name]["volumes"] if Path(m["target"]).is_relative_to(state_home()))
    with closing(open_ledger(population)) as declared:
        assert declared.population.name == population
    on_the_host = default_ledger(population)
    monkeypatch.setenv("XDG_STATE_HOME", str(state_home()))
    in_the_container = default_ledger(population)
    assert Path(mount["source"], in_the_container.relative_to(mount["target"])) == on_the_host
    assert on_the_host.exists()
    assert not mount.get("read_only"), "it is charged"
    assert Path(mount["target"]) not in (in_the_container, state_home()), "a folder: SQLite keeps files beside a ledger"


def test_only_parties_see_ledgers(tmp_path: Path) -> None:
    for name, service in services(tmp_path).items():
        targets = [Path(mount["target"]) for mount in service["volumes"]]
        assert any(target.is_relative_to(state_home()) for target in targets) == (name in PARTIES)


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("name", PARTIES)
def test_a_party_finds_all_that_its_settings_name(founded: Path, name: str) -> None:
    service = services(founded)[name]
    mounts = {mount["target"]: mount for mount in service["volumes"]}
    for mount in mounts.values():
        assert Path(mount["source"]).exists()
        assert mount["bind"] == {"create_host_path": False}
    assert service["entrypoint"] == ["privity-party"]
    assert Path(mounts["/node"]["source"], "party.toml").exists()
    party = tomllib.loads((founded / name / "party.toml").read_text(encoding="utf-8"))
    rows = mounts[os.path.normpath(f"/node/{party['data']}")]
    assert rows["read_only"] is True
    assert Path(rows["source"]).name == f"{name}.csv"
    host, _, _ = party["curator"].rpartition(":")
    assert host in services(founded), "the curator goes by its service's name"
    assert not [key for key in ("state", "manifest", "keys") if os.path.normpath(party[key]).startswith(("/", ".."))]


def test_the_curator_is_asked_on_the_port_that_it_listens_on(founded: Path) -> None:
    service = services(founded)["curator"]
    curator = tomllib.loads((founded / "curator" / "curator.toml").read_text(encoding="utf-8"))
    assert service["entrypoint"] == ["privity-curator"]
    assert f"'127.0.0.1', {curator['listen'].rpartition(':')[2]}" in service["healthcheck"]["test"][-1]
    assert Path(service["volumes"][0]["source"], "curator.toml").exists()
