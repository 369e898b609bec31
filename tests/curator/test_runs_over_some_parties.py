"""Runs over some of the manifest's parties, over real gRPC and TLS: a plan of their own, and nothing at the others."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from privity.common.errors import PrivityError
from privity.common.formats import require
from privity.common.privacy.ledger import Kind
from privity.common.release.verification.release_verification import check_release
from privity.curator.run_driver import RunDriver
from privity.curator.run_state_machine import COMPLETED, FAILED
from tests.curator.test_run_driver import end_of, request
from tests.harness.consortium import TestConsortium, make_consortium, open_policy
from tests.harness.network import NetworkConsortium

THREE = ["party-1", "party-2", "party-4"]
FOUR = ["party-1", "party-2", "party-3", "party-4"]
RELEASED = ("synthetic.csv", "model.json", "marginals.json")


def four(**options: object) -> TestConsortium:
    return make_consortium(4, domain=(2, 3, 2), rows=20, seed=7, **options)


def only_these(consortium: TestConsortium, names: list[str]) -> TestConsortium:
    """A consortium of these parties alone, with the same rows, keys and seeds of noise."""
    tables = {name: consortium.parties[name].table for name in names}
    return TestConsortium(tables, seed=7)


async def released(folder: Path, consortium: TestConsortium, asked: bytes) -> list[Path]:
    async with NetworkConsortium(folder, consortium) as network:
        runs = network.server.runs
        assert await end_of(runs, network.submit("token", asked, "run-1")) == (COMPLETED, "")
        return runs.release_files("run-1")


@pytest.mark.process
@pytest.mark.parametrize("algorithm", ["dp-subn", "one-way"])
def test_a_run_over_three_of_four_is_that_of_the_three_and_the_fourth_is_never_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    monkeypatch.setattr(RunDriver, "_seed", lambda _self: 3)
    consortium = four()
    for name in ("four", "three"):
        (tmp_path / name).mkdir()
    asked = {"algorithm": algorithm, "tolerate": 1, "rows": 30, "attributes": None}

    async def scenario() -> None:
        files = await released(tmp_path / "four", consortium, request(**asked, parties=[*reversed(THREE)]))
        others = await released(tmp_path / "three", only_these(consortium, THREE), request(**asked))
        for mine, theirs in zip(files, others, strict=True):
            if mine.name in RELEASED:
                assert mine.read_bytes() == theirs.read_bytes(), mine.name
        assert check_release(files[0].parent)
        statement = json.loads((files[0].parent / "privacy.json").read_text())
        require(statement, "privacy", "privacy")
        assert [party["name"] for party in statement["parties"]] == THREE
        assert statement["left_out"] == ["party-3"]
        assert any("party-3 took no part" in line for line in statement["in_words"])
        assert "left_out" not in json.loads((others[0].parent / "privacy.json").read_text())

    asyncio.run(scenario())
    fourth = consortium.parties["party-3"]
    assert fourth.journal.keys("") == ["#policy"], "what it obeys is its own"
    assert [entry.kind for entry in fourth.ledger.entries()] == [Kind.POPULATION]
    assert all(consortium.parties[name].ledger.spent() for name in THREE)


@pytest.mark.process
def test_a_policy_that_demands_more_parties_refuses_and_nothing_is_charged(tmp_path: Path) -> None:
    consortium = four(policies={"party-2": open_policy(minimum_parties=4)})

    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            state, reason = await end_of(runs, network.submit("token", request(parties=THREE)))
            assert state == FAILED
            assert "fewer than 4 parties" in reason
            assert await end_of(runs, network.submit("another", request(parties=FOUR))) == (COMPLETED, "")

    asyncio.run(scenario())
    for party in consortium.parties.values():
        assert len({entry.charge.run for entry in party.ledger.entries() if entry.charge.run}) == 1
        assert party.ledger.spent() == 1
        assert party.ledger.reserved() == []


@pytest.mark.parametrize(
    ("changes", "asked", "told"),
    [
        ({}, {"parties": ["party-1", "party-9", "party-1"]},
         ["the manifest lists no 'party-9'", "party-1 is named twice", "needs two parties or more"]),
        ({"minimum_parties": 4, "minimum_tolerate": 2}, {"parties": THREE},
         ["3 parties", "4 or more", "1 colluding parties", "2 or more"]),
        ({"parties_per_person": 2}, {"parties": THREE}, ["every run is over all of them"]),
        ({"paused": ("party-3",)}, {"parties": FOUR}, ["party-3 is paused"]),
        ({"paused": ("party-3",), "minimum_parties": 4}, {}, ["3 parties", "4 or more"]),
        ({}, {"parties": THREE[:2], "tolerate": 2}, ["2 colluding parties of 2", "1 to 1"]),
        ({}, {"parties": []}, ["parties"]),
    ],
)  # fmt: skip
def test_every_fault_of_a_choice_of_parties_is_named_before_anybody_is_asked(
    tmp_path: Path, changes: dict[str, object], asked: dict[str, object], told: list[str]
) -> None:
    consortium = four()
    network = NetworkConsortium(tmp_path, consortium, dialling=False)
    network.seal(replace(consortium.manifest, **changes))
    with pytest.raises(PrivityError) as caught:
        network.submit("token", request(**asked))
    for words in told:
        assert words in str(caught.value) + str(caught.value.remedy)
    assert network.server.runs.all() == []


def test_the_parties_of_a_choice_have_their_public_order() -> None:
    manifest = replace(four().manifest, paused=("party-2",))
    assert manifest.members_of_run(None) == ("party-1", "party-3", "party-4")
    assert manifest.members_of_run(["party-4", "party-1"]) == ("party-1", "party-4")
    assert manifest.faults_of_run(None, 1) == []
