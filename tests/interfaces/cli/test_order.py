"""Every command of docs/walkthrough.md run too early says which one comes first."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from privity.common.exit_codes import Exit
from privity.deploy.operator import operator_client
from tests.harness.command import here, listening, serves, wait_until
from tests.harness.walkthrough import CURATOR, PARTIES, Background, commands, free_port, write_rows

pytestmark = pytest.mark.process

INIT, INVITE, ALL_JOINED, SEALED, ACCEPTED, SERVED = 1, 2, 7, 8, 9, 10
"""How many commands of the page were run before."""

TOO_EARLY = [
    (0, "consortium invite", "privity consortium init"),
    (0, "consortium seal", "privity consortium init"),
    (0, "curator init", "privity consortium invite"),
    (0, "party init", "privity consortium invite"),
    (0, "operator init", "privity consortium invite"),
    (0, "curator accept", "privity curator init"),
    (0, "curator serve", "privity curator init"),
    (0, "party serve", "privity party init"),
    (0, "run submit", "privity operator init"),
    (INIT, "curator init", "privity consortium invite"),
    (INIT, "party init", "privity consortium invite"),
    (INIT, "operator init", "privity consortium invite"),
    (INIT, "consortium seal", "privity consortium invite curator north south east operator here"),
    (INVITE, "consortium seal", "This comes first: privity curator init or privity party init"),
    (ALL_JOINED, "curator accept", "privity consortium seal"),
    (ALL_JOINED, "curator serve", "privity consortium seal"),
    (SEALED, "curator serve", "privity curator accept"),
    (ACCEPTED, "run submit", "privity curator serve"),
    (SERVED, "run submit", "privity party serve"),
]

OTHERS = [
    (0, "privity party renew --config north/party.toml", "privity party init"),
    (0, "privity curator renew --config curator/curator.toml", "privity curator init"),
    (0, "privity operator renew --config operator/operator.toml", "privity operator init"),
    (0, "privity party ledger --config north/party.toml", "privity party init"),
    (0, "privity doctor --config north/party.toml", "privity party init"),
]
"""Commands that the page mentions in its text."""


class Founding:
    """The page's commands up to some place."""

    def __init__(self, place: Path, nodes: Background) -> None:
        self.place = place
        self.port = free_port()
        self.page = [command.replace(CURATOR, f"localhost:{self.port}") for command in commands()]
        self._nodes = nodes
        self._done = 0

    def reach(self, number: int) -> None:
        for command in self.page[self._done : number]:
            if serves(command):
                self._nodes.start(command)
                wait_until(lambda: listening(self.port), "the curator")
            else:
                done = self.run(command)
                assert done.returncode == 0, done.stderr
            if command.startswith("privity curator init"):
                settings = self.place / "curator" / "curator.toml"
                settings.write_text(re.sub("patience = .*", "patience = 2", settings.read_text()))
        self._done = max(self._done, number)

    def first_of(self, start: str) -> str:
        return next(command for command in self.page if command.startswith(f"privity {start}"))

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        return here(self.place, command)


@pytest.fixture(scope="module")
def founding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Founding]:
    place = tmp_path_factory.mktemp("order")
    write_rows(place)
    with Background(place) as nodes:
        yield Founding(place, nodes)


def test_every_command_but_the_first_is_tried() -> None:
    _, *later = (" ".join(command.split()[1:3]) for command in commands())
    assert set(later) == {command for _, command, _ in TOO_EARLY}
    assert len(commands()) == SERVED + len(PARTIES) + 1


def test_each_says_what_comes_first(founding: Founding, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_client, "REACH_SECONDS", 1)
    early = [(number, founding.first_of(start), first) for number, start, first in TOO_EARLY]
    for number, command, first in sorted([*early, *OTHERS], key=lambda one: one[0]):
        founding.reach(number)
        before = sorted(founding.place.rglob("*"))
        done = founding.run(command)
        assert done.returncode not in (Exit.DONE, Exit.OTHER, Exit.USAGE), f"{command}\n{done.stdout}{done.stderr}"
        assert first in done.stderr, f"after {number}: {command}\n{done.stderr}"
        if number < SERVED:
            assert sorted(founding.place.rglob("*")) == before, f"{command} left something behind"
