"""Servers that the tests of sources share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness import object_store, postgresql
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


@pytest.fixture(scope="module")
def objects() -> Iterator[object_store.ObjectStore]:
    """A running object store, with the keys for it in the environment."""
    with object_store.object_store() as running:
        yield running


@pytest.fixture(autouse=True)
def _objects_as_they_are(request: pytest.FixtureRequest) -> None:
    """Nothing meddles with an object store's answers but what a test itself says."""
    if "objects" in request.fixturenames:
        request.getfixturevalue("objects").meddle = object_store.nothing
