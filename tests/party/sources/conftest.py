"""Servers that the tests of sources share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness import postgresql
from tests.harness.spark import local_spark


@pytest.fixture(scope="module")
def server() -> Iterator[postgresql.Server]:
    """A running PostgreSQL; tests that stop it start it again."""
    with postgresql.server() as running:
        yield running


@pytest.fixture(scope="module")
def spark() -> Iterator[None]:
    with local_spark():
        yield
