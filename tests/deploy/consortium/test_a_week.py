"""A week in fast motion: an operator and three owners, ten runs, and everybody can tell from commands what happened.

Two runs are refused, one is approved late, one is stopped and discarded, a policy is tightened in the middle of the
week, and a party is away for a day. Real processes over TLS, and notices to a webhook.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from privity.common.exit_codes import Exit
from privity.common.release.release_folder import verify_release
from privity.common.runs.automatic_choice import ALLOWED_AT_FIRST
from tests.harness.command import here, wait_until
from tests.harness.founding import found
from tests.harness.receivers import Hook, webhook
from tests.harness.walkthrough import PARTIES, Background, free_port

pytestmark = [pytest.mark.process, pytest.mark.long]

OPERATOR = "--config operator/operator.toml"
MASKS = "--algorithm one-way --secure-sum masks --tolerate 1"


def edit(file: Path, *changes: tuple[str, str]) -> None:
    text = file.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    file.write_text(text)


class Week:
    """The members' folders, their nodes, and what they say."""

    def __init__(self, place: Path, nodes: Background, hook: Hook) -> None:
        self.place, self.nodes, self.hook = place, nodes, hook

    def tries(self, command: str) -> tuple[int, str]:
        done = here(self.place, command, COLUMNS="300")
        return done.returncode, done.stdout + done.stderr

    def does(self, command: str) -> str:
        code, said = self.tries(command)
        assert code == Exit.DONE, f"{command}\n{said}{self.nodes.logs()}"
        return said

    def until(self, condition: Any, what: str) -> None:
        try:
            wait_until(condition, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.nodes.logs()}") from None

    def submits(self, run: str, more: str = "") -> str:
        epsilon = "" if "--epsilon" in more else "--epsilon 0.1"
        return self.does(f"privity run submit {OPERATOR} {MASKS} --name {run} {epsilon} {more}")

    def stands(self, run: str) -> dict[str, Any]:
        return dict(json.loads(self.does(f"privity run why {run} {OPERATOR} --json")))

    def ends(self, run: str, state: str = "COMPLETED") -> dict[str, Any]:
        self.until(lambda: self.stands(run)["state"] == state, f"{run} to be {state}")
        return self.stands(run)

    def owner_sees(self, party: str, run: str) -> str:
        """The line of the run in the list of an owner; nothing of one that is not known there."""
        listed = self.does(f"privity party show --config {party}/party.toml")
        return next((line for line in listed.splitlines() if re.search(rf"\b{run}\b", line)), "")

    def told(self) -> str:
        return "\n".join(self.hook.texts)


@pytest.fixture
def week(tmp_path: Path) -> Iterator[Week]:
    port = free_port()
    found(tmp_path, f"localhost:{port}")
    with webhook() as hook, Background(tmp_path) as nodes:
        week = Week(tmp_path, nodes, hook)
        edit(tmp_path / "curator" / "curator.toml", ("patience = 60", "patience = 6"))
        edit(tmp_path / "organiser" / "consortium.toml", ("minimum_parties = 3", "minimum_parties = 2"))
        week.does("privity consortium seal --folder organiser")
        week.does("privity curator accept organiser/manifest.json --config curator/curator.toml")
        allowed = (json.dumps(ALLOWED_AT_FIRST), '["one-way"]')
        for party in PARTIES:
            sums = ("minimum_parties = 3", 'minimum_parties = 2\nsecure_sums = ["paillier", "masks"]')
            edit(tmp_path / party / "policy.toml", allowed, sums)
        edit(tmp_path / "north" / "policy.toml", ('approval = "by-policy"', 'approval = "manual"'))
        for name in ("north/party.toml", "curator/curator.toml"):
            with (tmp_path / name).open("a") as settings:
                settings.write(f'\n[notices]\nwebhook = "{hook.url}"\n')
        nodes.start("privity curator serve --config curator/curator.toml")
        week.until(lambda: "the curator serves" in nodes.logs(), "the curator")
        for party in PARTIES:
            nodes.start(f"privity party serve --config {party}/party.toml")
        week.until(lambda: nodes.logs().count("connected to the curator") == len(PARTIES), "the parties")
        yield week


def test_a_week_of_ten_runs(week: Week) -> None:
    place, north = week.place, "--config north/party.toml"

    def approves(run: str) -> None:
        week.until(lambda: "awaits north" in week.owner_sees("north", run), f"{run} at the north")
        shown = json.loads(week.does(f"privity party show {run} {north} --json"))
        week.does(f"privity party approve {run} {north} --digest {shown['digest']}")

    # Monday: one run, approved at once.
    week.submits("monday")
    approves("monday")
    week.ends("monday")
    week.does(f"privity run fetch monday {OPERATOR} --out monday")
    week.does(f"privity party fetch monday {north} --out north/monday")
    for folder in (place / "monday", place / "north" / "monday"):
        verify_release(folder)

    # Tuesday: two that cannot be are foreseen, submitted all the same, and refused by name.
    foreseen = week.does(
        f"privity plan {OPERATOR} --algorithm aim --secure-sum masks --tolerate 1 --epsilon 0.1 --delta 0.000000001"
    )
    assert all(f"{party} would refuse the run" in foreseen for party in PARTIES)
    assert "algorithm 'aim' is not among those allowed" in foreseen
    week.does(
        f"privity run submit {OPERATOR} --algorithm aim --secure-sum masks --tolerate 1 --epsilon 0.1 --name tuesday-1"
    )
    why = week.ends("tuesday-1", "FAILED")
    assert {refusal["party"] for refusal in why["refusals"]} == set(PARTIES)
    assert "refused by policy" in week.owner_sees("south", "tuesday-1")
    warned = week.submits("tuesday-2", "--epsilon 2")
    assert "would refuse the run" in warned
    assert {refusal["party"] for refusal in week.ends("tuesday-2", "FAILED")["refusals"]} == set(PARTIES)

    # Wednesday: one waits for its owner, and two go by.
    week.submits("wednesday-late")
    week.until(lambda: [one["party"] for one in week.stands("wednesday-late")["awaited"]] == ["north"], "one to wait")
    late = week.stands("wednesday-late")
    assert late["state"] == "WAITING"
    (awaited,) = late["awaited"]
    assert awaited["words"] in week.owner_sees("north", "wednesday-late"), "the owner reads what the operator reads"
    for run in ("wednesday-1", "wednesday-2"):
        week.submits(run, "--parties south,east")
    for run in ("wednesday-1", "wednesday-2"):
        week.ends(run)
    assert week.stands("wednesday-late")["state"] == "WAITING"

    # Thursday: one is stopped while it waits, and is no more awaited anywhere; then it is discarded.
    week.submits("thursday")
    week.until(lambda: "awaits north" in week.owner_sees("north", "thursday"), "thursday at the north")
    week.does(f"privity run stop thursday {OPERATOR}")
    assert "stopped by the operator" in week.stands("thursday")["reason"]
    week.until(lambda: "STOPPED" in week.owner_sees("north", "thursday"), "the north to know of the stop")
    week.does(f"privity run stop thursday --discard {OPERATOR}")
    week.until(lambda: "discarded" in week.stands("thursday")["reason"], "the run to be discarded")

    # Friday: the south tightens its policy, without a restart; the late run of Wednesday is approved now, and refused.
    edit(place / "south" / "policy.toml", ('epsilon_per_run = "1"', 'epsilon_per_run = "0.05"'))
    week.until(lambda: "has obeyed" in week.tries("privity doctor --config south/party.toml")[1], "the south to obey")
    approves("wednesday-late")
    why = week.ends("wednesday-late", "FAILED")
    assert "south" in why["reason"]
    assert "epsilon 0.1 is above 0.05 a run" in why["reason"]
    week.until(lambda: "refused by south" in week.owner_sees("north", "wednesday-late"), "the north to know why")
    week.submits("friday", "--epsilon 0.05")
    approves("friday")
    week.ends("friday")

    # Saturday: the east is away. Who is awaited is said, the run is stopped by name, and goes on when the east is back.
    away = week.nodes.processes.pop()
    away.terminate()
    away.wait(20)
    week.submits("saturday", "--epsilon 0.05")
    approves("saturday")
    why = week.ends("saturday", "STOPPED")
    assert "east" in why["reason"]
    week.nodes.start("privity party serve --config east/party.toml")
    week.does(f"privity run resume saturday {OPERATOR}")
    week.ends("saturday")

    # Sunday: what everybody can tell.
    week.submits("sunday", "--epsilon 0.05 --parties south,east")
    week.ends("sunday")
    listed = {run["run"]: run["state"] for run in json.loads(week.does(f"privity run list {OPERATOR} --json"))}
    assert list(listed.values()).count("COMPLETED") == 6
    assert list(listed.values()).count("FAILED") == 3
    assert len(listed) == 10
    ledger = week.does(f"privity party ledger {north}")
    assert "Left: 0.8 of 1" in ledger, ledger
    assert "reserved" not in ledger, "nothing is held back for what has ended"
    week.until(lambda: "sunday is COMPLETED" in week.told(), "the last notice")
    for text in (
        "monday waits here for the approval of its owner",
        "monday has ended: COMPLETED",
        "tuesday-1 is FAILED",
        "wednesday-late waits for north",
        "thursday is STOPPED",
        "saturday is STOPPED",
    ):
        assert text in week.told(), f"{text}\n{week.told()}"
