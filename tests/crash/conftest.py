"""Consortia that all crash tests share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.crash.matrix import Worlds
from tests.crash.world import Outcome, Run, Template

Undisturbed = Callable[[Run], tuple[Template, Outcome]]


@pytest.fixture(scope="session")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Worlds:
    return Worlds(tmp_path_factory.mktemp("crash"))


@pytest.fixture(scope="session")
def undisturbed(worlds: Worlds) -> Undisturbed:
    """A provisioned consortium of this kind and a run of it that nobody disturbs; made once."""
    made: dict[str, tuple[Template, Outcome]] = {}

    def of(run: Run) -> tuple[Template, Outcome]:
        if str(run) not in made:
            template = worlds.provide(run)
            made[str(run)] = (template, worlds.reference(template))
        return made[str(run)]

    return of
