"""What several tests of deployment share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.founding import found


@pytest.fixture(scope="session")
def founded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Members' folders whose parties dial curator:7443, as containers do. To be read; nobody serves."""
    place = tmp_path_factory.mktemp("founded")
    found(place, "curator:7443")
    return place
