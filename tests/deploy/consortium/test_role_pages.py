"""The pages of docs/roles, command by command as they stand, each role in a folder of its own.

The test is the messenger: it carries what the pages say is sent, and waits where a person would.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pandas as pd
import pytest

from privity.common.release.release_folder import verify_release
from tests.harness.command import ROOT, here, listening, serves, shown_commands, start, wait_until
from tests.harness.tables import write_people
from tests.harness.zygote import Forked

pytestmark = pytest.mark.process

PAGES = ROOT / "docs" / "roles"
PARTIES = ("north", "south", "east")
RUN = "autumn"
PATIENCE_SECONDS = 120


def stages(page: str) -> dict[int, list[str]]:
    """Commands by number of the stage."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (\d+) .+$", text, flags=re.MULTILINE)
    return {int(number): shown_commands(body) for number, body in zip(parts[1::2], parts[2::2], strict=True)}


class Person:
    """Somebody at one place who does what a page says."""

    def __init__(self, place: Path, page: str, name: str = "north") -> None:
        self.place, self.name = place, name
        self._stages = stages(page)
        self.nodes: list[Forked] = []
        self.said: list[str] = []
        place.mkdir()

    @property
    def log(self) -> Path:
        return self.place / "node.log"

    def does(self, stage: int) -> str:
        """The commands of a stage; what they print."""
        printed = ""
        for command in self._stages[stage]:
            mine = re.sub(r"\bnorth\b", self.name, command) if self.name in PARTIES else command
            self.said.append(mine)
            if serves(mine):
                with self.log.open("wb") as log:
                    self.nodes.append(start(*shlex.split(mine)[1:], cwd=self.place, output=log))
                continue
            with mock.patch("sys.stdin", io.StringIO("y\n")):  # what a person answers who is asked
                done = here(self.place, mine, COLUMNS="200")
            assert done.returncode == 0, f"{self.name}: {mine}\n{done.stdout}{done.stderr}"
            printed += done.stdout
        return printed

    def waits_for(self, line: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while line not in self.log.read_text():
            assert time.monotonic() < deadline, f"{line!r} is not in\n{self.log.read_text()}"
            time.sleep(0.1)


@pytest.fixture
def people(tmp_path: Path, port_of_the_pages: int) -> Iterator[dict[str, Person]]:
    everybody = {
        "organiser": Person(tmp_path / "o", "organiser", "organiser"),
        "curator": Person(tmp_path / "c", "curator", "curator"),
        "operator": Person(tmp_path / "p", "operator", "operator"),
        **{party: Person(tmp_path / party[0], "data-owner", party) for party in PARTIES if party != "north"},
        "north": Person(tmp_path / "house of the north", "data-owner"),
    }
    table, schema = write_people(tmp_path, 900)
    schema.rename(everybody["organiser"].place / "people.schema.json")
    rows = pd.read_csv(table, dtype=str, keep_default_na=False)
    for number, party in enumerate(PARTIES):
        rows.iloc[number::3].to_csv(everybody[party].place / f"{party}.csv", index=False)
    yield everybody
    nodes = [node for person in everybody.values() for node in person.nodes]
    for node in nodes:
        node.terminate()
    for node in nodes:
        node.wait(20)


@pytest.mark.long
def test_everybody_does_their_part(people: dict[str, Person], port_of_the_pages: int) -> None:
    organiser, curator, operator = (people[name] for name in ("organiser", "curator", "operator"))
    owners = [people[party] for party in PARTIES]
    members = [curator, operator, *owners]

    organiser.does(1)
    for member in members:
        shutil.copy(organiser.place / "organiser" / "invites" / f"{member.name}.json", member.place)
        member.does(2)
        (answer,) = member.place.glob(f"*/join-{member.name}.json")
        shutil.copy(answer, organiser.place / "organiser" / "joins")
    organiser.does(3)
    shutil.copy(organiser.place / "organiser" / "manifest.json", curator.place)
    curator.does(4)
    wait_until(lambda: listening(port_of_the_pages), "a curator that listens")
    for owner in owners:
        owner.does(4)

    printed = operator.does(5)
    assert "parameter learning" in printed, "the plan"
    assert re.search(f"{RUN} is (RUNNING|WAITING) in ", printed)
    for owner in owners:
        owner.waits_for("waits for approval")
        printed = owner.does(6)
        assert "the approval of its owner" in printed
        assert "What leaves this party:" in printed
        assert "epsilon 1 left of 1, 0 after this run" in printed
    operator.does(7)
    verify_release(operator.place / "release")
    statement = json.loads((operator.place / "release" / "privacy.json").read_text())
    assert [party["rows"] for party in statement["parties"]] == [300, 300, 300]
    for owner in owners:
        transcript = owner.place / owner.name / "state" / "transcripts" / f"{RUN}.json"
        wait_until(transcript.exists, "a run that is closed")
        assert "epsilon 1 spent. Left: 0 of 1." in owner.does(7)
        shutil.copy(owner.place / f"{RUN}-{owner.name}.json", organiser.place)
    assert "They agree: east, north, south were told the same in autumn." in organiser.does(8)

    assert organiser.does(9) == ""
    count = sum(len(person.said) for person in people.values())
    assert count > 30, "every page was followed"


def test_no_private_file_was_carried() -> None:
    """What the pages say is sent are files that `init`, `invite` and `seal` write for others."""
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES.glob("*.md"))
    sent = re.findall(r"[Ss]end[^.]*?`([^`]+)`", text) + re.findall(r"sent you `([^`]+)`", text)
    assert set(sent) <= {
        "organiser/invites/", "organiser/joins/", "organiser/manifest.json", "join-NAME.json", "manifest.json",
        "curator/join-curator.json", "north/join-north.json", "operator/join-operator.json", "consortium.toml",
        "autumn-north.json", "curator.json", "north.json", "operator.json",
    }  # fmt: skip
