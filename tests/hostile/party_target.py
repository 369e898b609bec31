"""Parties that a hostile curator sends steps to: production codec and engine, in runs at different points."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from privity.common.privacy.mechanisms import NoisyMax
from privity.common.protocol.expected_tables import ExpectedTables
from privity.common.protocol.secure_sum_method import MASKS, PAILLIER
from privity.common.protocol.steps import (
    Close,
    Contribute,
    Done,
    Enrol,
    Refusal,
    Reply,
    Revealed,
    SelectTable,
    Step,
    Stopped,
)
from privity.common.wire.codec import MalformedMessageError, decode_reply, decode_step, encode_step
from privity.common.wire.v1 import privity_pb2 as pb
from privity.party import transcript
from tests.harness.consortium import TestConsortium, make_consortium, open_policy
from tests.harness.signed_releases import attest
from tests.harness.steps import laplace_round
from tests.hostile.mutations import Mutator
from tests.hostile.tally import Tally, Timer

DOMAIN = (2, 3, 4, 2)
EXPECTED = ExpectedTables(((0, 1), (2,)), np.array([9, 3, 3, 0, 0, 1, 4, 4, 4, 4]), 16, (0, 2))
DELTA = Fraction(1, 10**9)
WORLDS: dict[str, dict[str, Any]] = {
    "dp-subn": {"settings": {"frontier": "always"}},
    "schedule": {"settings": {"schedule": "uniform"}, "secure_sum": MASKS, "key_bits": None},
    "copula": {"algorithm": "copula", "settings": {}, "delta": DELTA, "secure_sum": MASKS, "key_bits": None},
    "independent": {"algorithm": "independent", "settings": {}, "secure_sum": PAILLIER},
}
"""Together they ask for every kind of step."""

ATTESTED = "run-5"
"""A run that has ended, and of whose end nobody was told."""

Answered = tuple[tuple[str, Step], tuple[str, bytes]]
"""A step with its party, and that party's answer."""


@contextmanager
def endless_refusals() -> Iterator[None]:
    """A run does not end by its refusals, or all that comes after a thousand of them would only be told so."""
    usual = transcript.MOST_REFUSALS
    transcript.MOST_REFUSALS = 1 << 40
    try:
        yield
    finally:
        transcript.MOST_REFUSALS = usual


class World:
    """A consortium whose first run has spent everything that it may, so that any charge is one too much.

    None of its parties was told that a round is open: they keep what they could answer from. A second run is enrolled
    in and not begun, a third one is closed. A fourth one has ended, and the first party has attested its release.
    """

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir()
        policy = open_policy(total_delta=Fraction(1, 1000))
        self.consortium = make_consortium(
            3, domain=DOMAIN, rows=40, folder=folder, policies={f"party-{k}": policy for k in (1, 2, 3)}
        )
        self._opened: list[tuple[str, bytes]] = []
        tell = self.consortium.tell

        def keeping_quiet(party: str, step: Step) -> Reply:
            if not isinstance(step, Revealed):
                return tell(party, step)
            self._opened.append((party, encode_step(step)))
            return Done()

        self.consortium.tell = keeping_quiet
        self.consortium.drive(folder / "release", close=False, **WORLDS[name])
        self._spend_the_rest()
        for run in ("run-2", "run-3"):
            for party in self.consortium.parties:
                self.consortium.tell(party, Enrol(self.consortium.spec(run=run)))
        for party in self.consortium.parties:
            assert self.consortium.tell(party, Close("run-3", "COMPLETED")) == Done()
        self.steps = self.consortium.recorder.sent + self._opened
        # No algorithm of these worlds asks for the first, and no run was stopped.
        draw = encode_step(SelectTable("run-1", "test", "d", EXPECTED, NoisyMax(Fraction(1, 100))))
        stopped = encode_step(Stopped("run-2", "2026-01-02T03:04:05+00:00"))
        self.steps += [(party, step) for party in self.consortium.parties for step in (draw, stopped)]
        self.replies: list[Answered] = list(zip(self.consortium.told, self.consortium.recorder.received, strict=True))
        self.consortium.tell = tell
        self._attest(folder / "attested")

    def _attest(self, release: Path) -> None:
        """One party's statement is an honest answer; that of the others is still to be had."""
        self.consortium.drive(release, ATTESTED, algorithm="one-way", secure_sum=MASKS, key_bits=None, close=False)
        step = attest(release, ATTESTED)
        self.steps += [(party, encode_step(step)) for party in self.consortium.parties]
        self.replies.append((("party-1", step), ("party-1", self.consortium.deliver("party-1", encode_step(step)))))

    def _spend_the_rest(self) -> None:
        for name, party in self.consortium.parties.items():
            left = 1 - party.ledger.spent()
            if left:
                rest = Contribute(laplace_round("run-1", "test", f"rest/{name}", ((0,),), left))
                reply = self.consortium.tell(name, rest)
                assert isinstance(reply, (Done, Refusal))

    @property
    def spent(self) -> Fraction:
        return sum((party.ledger.spent() for party in self.consortium.parties.values()), Fraction(0))


class PartyTarget:
    """Mutated steps for the parties of all worlds."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.worlds = [World(folder / name, name) for name in WORLDS]
        corpus = [message for world in self.worlds for _, message in world.steps]
        self._mutator = Mutator(seed, corpus, pb.Step)
        self._random = random.Random(seed + 1)
        self._spent = [world.spent for world in self.worlds]

    def send(self, tally: Tally) -> None:
        """One mutated step to one party."""
        r = self._random
        world = r.choice(self.worlds)
        party, message = r.choice(world.steps)
        if r.random() < 0.1:
            party = r.choice(list(world.consortium.parties))
        if r.random() < 0.2:
            message = self._in_another_run(message)
        elif r.random() < 0.4:
            message = self._under_another_name(message)
        kind, changed = self._mutator.mutate(message)
        self.deliver(tally, world.consortium, party, kind, changed)

    def _in_another_run(self, message: bytes) -> bytes:
        step = pb.Step.FromString(message)
        step.run = self._random.choice(("run-2", "run-3", "run-4"))
        return step.SerializeToString()

    def _under_another_name(self, message: bytes) -> bytes:
        """A question that was not asked before: only then is all of it looked at."""
        step = pb.Step.FromString(message)
        name = f"other/{self._random.randrange(1 << 40)}"
        match step.WhichOneof("body"):
            case "contribute":
                step.contribute.round.round = name
            case "select":
                step.select.selection = name
            case "select_table":
                step.select_table.selection = name
            case "learn":
                step.learn.name = name
            case "seal_block":
                step.seal_block.attempt.number += self._random.randrange(1, 1 << 20)
            case "combine_block":
                step.combine_block.attempt.number += self._random.randrange(1, 1 << 20)
        return step.SerializeToString()

    def deliver(self, tally: Tally, consortium: TestConsortium, party: str, kind: str, message: bytes) -> None:
        target, timer = "party", Timer()
        try:
            step = decode_step(message)
        except MalformedMessageError:
            tally.note("party", kind, "malformed-message", timer.seconds, message)
            return
        except BaseException:
            tally.crash("party", kind, message)
            return
        if isinstance(step, Close) and step.run == "run-1":
            # It would be believed, and all that came after it refused.
            step = Close("run-3", step.state)
        if isinstance(step, Revealed) and step.run == "run-1":
            step = replace(step, run="run-3")
        try:
            target = f"party {type(step).__name__}"
            reply = decode_reply(consortium.parties[party].engine.handle(step))[2]
        except BaseException:
            tally.crash(target, kind, message)
            return
        answer = reply.code if isinstance(reply, Refusal) else f"answered with {type(reply).__name__}"
        tally.note(target, kind, answer, timer.seconds, message)
        if answer == "internal":
            tally.crashes.append(f"{target}, {kind}, {message[:300]!r}: {reply}")

    def answer_honest_steps(self) -> None:
        """The service goes on: what was asked before is answered as it was."""
        for world in self.worlds:
            for (party, step), (_, answer) in world.replies:
                if step.run in ("run-1", ATTESTED):
                    assert world.consortium.deliver(party, encode_step(step)) == answer, step.key

    def charged(self) -> Fraction:
        """Since the start."""
        return sum((w.spent - before for w, before in zip(self.worlds, self._spent, strict=True)), Fraction(0))
