"""Mutated messages, the quick part: `python -m benchmarks.hostile` sends a hundred thousand."""

from __future__ import annotations

from pathlib import Path

import pytest

from privity.common.protocol.steps import Close, Refusal
from privity.common.wire.codec import MalformedMessageError, decode_reply, decode_step
from privity.common.wire.v1 import privity_pb2 as pb
from tests.harness.consortium import TestConsortium, make_consortium
from tests.hostile.campaign import campaign, no_log_lines
from tests.hostile.mutations import Mutator
from tests.hostile.party_target import DOMAIN, endless_refusals

pytestmark = pytest.mark.process


def test_nothing_crashes_hangs_grows_or_is_charged(tmp_path: Path) -> None:
    tally = campaign(tmp_path, to_parties=600, to_curator=350, runs=3, seed=7)
    assert tally.broken() == []
    answered = {target for target, _, _ in tally.answers}
    draws = ("Select", "SelectTable")
    steps = (
        "Enrol",
        "Begin",
        "Contribute",
        "SealBlock",
        "CombineBlock",
        "Revealed",
        *draws,
        "Learn",
        "Attest",
        "Close",
        "Stopped",
    )
    assert answered >= {f"party {step}" for step in steps}
    methods = ("Submit", "Watch", "Fetch", "Stop", "Resume", "List", "Why", "GetManifest", "GetLimits", "GetParties")
    assert answered >= {
        "NextStep",
        "SendReply",
        "Alive",
        "GetManifest",
        "Publish",
        "Statements",
        *(f"Operator {method}" for method in methods),
    }


def state_of(consortium: TestConsortium) -> list[tuple[object, ...]]:
    """Everything that the parties keep, but what they were asked for and refused: their transcripts and history."""
    return [
        (
            party.ledger.entries(),
            party.journal._db.execute(
                "SELECT * FROM entries WHERE key NOT LIKE '%/transcript/refusal/%' AND key NOT LIKE '#denied/%'"
                " AND key NOT LIKE '#asked/%' AND key NOT LIKE '#unattested/%' ORDER BY key"
            ).fetchall(),
        )
        for party in consortium.parties.values()
    ]


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_what_is_refused_leaves_ledger_and_journal_as_they_were(tmp_path: Path, seed: int) -> None:
    """In runs that have not spent anything: a refusal comes before the charge."""
    donor = make_consortium(3, domain=DOMAIN, rows=40)
    donor.drive(tmp_path / "release", settings={"frontier": "always"})
    steps = [message for _, message in donor.recorder.sent if pb.Step.FromString(message).WhichOneof("body") != "close"]
    mutator = Mutator(seed, steps, pb.Step)
    consortium = make_consortium(3, domain=DOMAIN, rows=40)
    consortium.begin(consortium.spec(settings={"frontier": "always"}))
    refused, before = 0, state_of(consortium)
    with no_log_lines(), endless_refusals():
        for _ in range(1_500):
            _, message = mutator.mutate(mutator.random.choice(steps))
            try:
                step = decode_step(message)
            except MalformedMessageError:
                continue
            if isinstance(step, Close):
                continue
            party = mutator.random.choice(list(consortium.parties))
            reply = decode_reply(consortium.parties[party].engine.handle(step))[2]
            after = state_of(consortium)
            if isinstance(reply, Refusal):
                refused += 1
                assert after == before, (step, reply)
            before = after
    assert refused > 100
