"""What the tests that follow a page share: the one port that all pages name."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.command import listening

PORT = 7443


@pytest.fixture
def port_of_the_pages() -> Iterator[int]:
    """It is one test's at a time: another test's curator there would be taken for its own."""
    with (Path(tempfile.gettempdir()) / f"privity-tests-{PORT}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if listening(PORT):
            pytest.skip(f"port {PORT}, which the pages name, is taken on this machine")
        yield PORT
