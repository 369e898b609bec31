"""The folder of a data owner's node, as its commands leave it, and runs that it was asked for."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.consortium.manifest_file import ManifestFile
from privity.common.privacy.ledger_folder import declare
from privity.common.privacy.population import parse_population
from privity.common.protocol.run_spec import RunSpec
from privity.common.storage.journal import Journal
from privity.party.approvals import Approvals
from privity.party.config import JOURNAL_FILE, load_config
from tests.harness.founding import found
from tests.harness.signed_requests import signed_for

NORTH = "north"


@pytest.fixture(scope="session")
def founded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three owners' folders; nothing runs."""
    place = tmp_path_factory.mktemp("founded")
    found(place, "localhost:9")
    return place


@pytest.fixture
def north(founded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """party.toml of an owner, a copy that a test may change."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state-home"))
    folder = tmp_path / NORTH
    shutil.copytree(founded / NORTH, folder)
    shutil.copy(founded / "organiser" / "manifest.json", folder / "manifest.json")
    shutil.copy(founded / f"{NORTH}.csv", tmp_path / f"{NORTH}.csv")
    (folder / "state").mkdir(exist_ok=True)
    Journal(folder / "state" / JOURNAL_FILE).close()
    declare(parse_population("patients of the north", "1")).close()
    return folder / "party.toml"


@pytest.fixture
def asked(north: Path) -> Callable[..., RunSpec]:
    """Asks this owner for a run."""
    config = load_config(north)
    manifest = ManifestFile(config.manifest, config.organiser_key).current()

    def ask(run: str, epsilon: str = "1/5", algorithm: str = "dp-subn", **more: object) -> RunSpec:
        spec = RunSpec(
            run=run,
            algorithm=algorithm,
            settings={},
            epsilon=Fraction(epsilon),
            tolerate=1,
            members=tuple(manifest.members),
            manifest_digest=manifest.digest,
            **more,
        )
        Approvals(Journal(config.state / JOURNAL_FILE)).file(spec, signed_for(spec))
        return spec

    return ask
