"""What several tests of deployment share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.founding import found

STATE = "state"


@pytest.fixture(scope="session")
def founded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Members' folders whose parties dial curator:7443, as containers do. To be read; nobody serves.

    Beside them lies ``state``, the state home of the account that founded them: populations are declared there.
    """
    place = tmp_path_factory.mktemp("founded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(place / STATE))
        found(place, "curator:7443")
    return place


@pytest.fixture
def account(founded: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state home of the account that founded the consortium, as this process and those that it starts see it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(founded / STATE))
    return founded / STATE
