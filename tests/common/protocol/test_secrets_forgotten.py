"""What a step needed is erased as soon as no step needs it: at the parties when a round is open, at the curator too."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.protocol.round import Round
from privity.common.protocol.steps import Contribute, Done, Refusal, Revealed, SealBlock, Step
from tests.common.protocol.test_secure_sum import KINDS, TABLES, round_of
from tests.harness.consortium import TestConsortium, make_consortium
from tests.harness.steps import pure

PARTY = "party-2"


def on_disk(folder: Path, name: str) -> bytes:
    return b"".join(file.read_bytes() for file in folder.glob(f"{name}-journal.sqlite*"))


def revealed(round_: Round) -> Revealed:
    return Revealed(round_.run, round_.round, round_.digest)


def sealed(consortium: TestConsortium, round_: Round) -> SealBlock:
    """Everybody contributes and seals a block; the step that brings party 2's blob."""
    attempt = consortium.attempt(round_)
    consortium.combine(round_, attempt, consortium.seal(round_, attempt))
    return SealBlock(round_.run, attempt, 0)


@KINDS
def test_of_an_open_round_a_party_keeps_that_it_was(tmp_path: Path, kind) -> None:
    consortium = make_consortium(folder=tmp_path)
    plan = consortium.begin(consortium.spec(secure_sum=kind))
    round_ = round_of(plan)
    seal = sealed(consortium, round_)
    journal = consortium.parties[PARTY].journal
    secrets = [journal.content(key) for key in journal.keys("run-1/vector/") + journal.keys("run-1/reply/seal/")]
    assert len(secrets) == 2
    assert all(secret in on_disk(tmp_path, PARTY) for secret in secrets)
    for _ in range(2):
        assert consortium.tell(PARTY, revealed(round_)) == Done()
        assert not any(secret in on_disk(tmp_path, PARTY) for secret in secrets)
        reply = consortium.tell(PARTY, seal)
        assert isinstance(reply, Refusal)
        assert "the round was revealed" in reply.message
        assert consortium.tell(PARTY, Contribute(round_)) == Done(), "answered before, and so again"
        consortium.restart(PARTY)
    assert consortium.parties[PARTY].ledger.spent() == 1


def test_rounds_whose_names_go_on_alike_are_left_alone() -> None:
    consortium = make_consortium()
    plan = consortium.begin()
    short, long = (round_of(plan, name, Fraction(1, 4)) for name in ("a", "a/1"))
    first, second = sealed(consortium, short), sealed(consortium, long)
    assert consortium.tell(PARTY, revealed(short)) == Done()
    assert isinstance(consortium.tell(PARTY, first), Refusal)
    assert not isinstance(consortium.tell(PARTY, second), Refusal)
    journal = consortium.parties[PARTY].journal
    assert journal.keys("run-1/vector/") == ["run-1/vector/a/1"]


@pytest.mark.parametrize(
    ("change", "said"),
    [({"round": "other"}, "did not contribute"), ({"digest": "0" * 64}, "other content"), ({"run": "x"}, "not begun")],
)
def test_a_round_that_is_none_is_not_forgotten(change: dict, said: str) -> None:
    consortium = make_consortium()
    round_ = round_of(consortium.begin())
    seal = sealed(consortium, round_)
    step = Revealed(**{"run": round_.run, "round": round_.round, "digest": round_.digest, **change})
    reply = consortium.tell(PARTY, step)
    assert isinstance(reply, Refusal)
    assert said in reply.message
    assert not isinstance(consortium.tell(PARTY, seal), Refusal)


def test_a_curator_that_died_before_it_said_so_says_so_when_it_starts_again() -> None:
    """And asks for nothing else again."""
    consortium = make_consortium()
    plan = consortium.begin()

    class DiedError(Exception):
        pass

    def die(_party: str, step: Step) -> Step:
        if isinstance(step, Revealed):
            raise DiedError
        return step

    consortium.tamper = die
    with pytest.raises(DiedError):
        asyncio.run(consortium.session(plan).measure("test", TABLES, pure(Fraction(1))))
    before = len(consortium.told)
    consortium.tamper = lambda _party, step: step
    asyncio.run(consortium.session(plan).measure("test", TABLES, pure(Fraction(1))))
    assert sorted(party for party, _ in consortium.told[before:]) == sorted(consortium.parties)
    assert all(isinstance(step, Revealed) for _, step in consortium.told[before:])
    for party in consortium.parties.values():
        assert party.journal.keys("run-1/vector/") == []
