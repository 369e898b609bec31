"""Whole runs in which one party's reply is not what it should be: production driver, session, rounds and codec."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

from privity.common.errors import Catalogue, PrivityError
from privity.common.node.metrics_page import known_code
from privity.common.protocol.secure_sum_method import MASKS
from privity.common.protocol.steps import Close, Reply, Step
from privity.common.wire.codec import MalformedMessageError, decode_reply, encode_step
from privity.common.wire.v1 import privity_pb2 as pb
from tests.harness.consortium import TestConsortium, make_schema, make_table, open_policy
from tests.hostile.mutations import Mutator
from tests.hostile.party_target import DELTA, DOMAIN
from tests.hostile.tally import Tally

KINDS: tuple[dict[str, Any], ...] = (
    {"algorithm": "dp-subn", "settings": {"frontier": "always"}},
    {"algorithm": "one-way"},
    {"algorithm": "independent"},
    {"algorithm": "copula", "delta": DELTA},
)


class LyingConsortium(TestConsortium):
    """The answer to one step of a run is changed on its way; whoever asks hears of it what the desk would tell."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.lie_at = -1
        self.mutator: Mutator | None = None
        self.lied = ("", b"")
        self.honest: list[bytes] = []

    def tell(self, party: str, step: Step) -> Reply:
        honest = self.deliver(party, encode_step(self.signed(step)))
        self.lie_at -= 1
        if self.mutator is None:
            self.honest.append(honest)
        elif self.lie_at == 0:
            self.lied = self.mutator.mutate(honest)
            _, changed = self.lied
            try:
                run, key, reply = decode_reply(changed)
            except MalformedMessageError as error:
                if (error.run, error.key) == (step.run, step.key):
                    raise PrivityError(Catalogue.MALFORMED, sender=party) from None
            else:
                if (run, key) == (step.run, step.key):
                    return reply
        return self.receive(step, honest)


class RunTarget:
    """One run after the other, with one lie each."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder, self._random, self._run = folder, random.Random(seed), 0
        schema = make_schema(DOMAIN)
        tables = {f"party-{k}": make_table(schema, 30, seed=k) for k in (1, 2, 3)}
        policy = open_policy(total_epsilon=10**6, total_delta=1)
        self.consortium = LyingConsortium(tables, policies=dict.fromkeys(tables, policy))
        self._lengths = [self._honest(kind) for kind in KINDS]
        self.consortium.mutator = Mutator(seed, self.consortium.honest, pb.Reply)

    def _honest(self, kind: dict[str, Any]) -> int:
        """Steps of a run without a lie."""
        before = len(self.consortium.honest)
        self._drive(kind)
        return len(self.consortium.honest) - before - len(self.consortium.parties)

    def _drive(self, kind: dict[str, Any]) -> None:
        self._run += 1
        release, run = self._folder / f"release-{self._run}", f"run-{self._run}"
        try:
            self.consortium.drive(release, run, close=False, key_bits=None, secure_sum=MASKS, **kind)
        finally:
            self.consortium.lie_at = 0
            for party in self.consortium.parties:
                self.consortium.tell(party, Close(run, "FAILED"))
            self.consortium.journal.erase(f"{run}/")
            shutil.rmtree(release, ignore_errors=True)

    def send(self, tally: Tally) -> None:
        """One run with a lie; what it ends with is the answer."""
        place = self._random.randrange(len(KINDS))
        c = self.consortium
        c.lie_at, c.lied = self._random.randrange(1, self._lengths[place] + 1), ("", b"")
        try:
            self._drive(KINDS[place])
            answer = "the run completes"
        except PrivityError as error:
            answer = f"the run fails: {known_code(error.code)}"
        except BaseException:
            tally.crash("reply within a run", c.lied[0], c.lied[1])
            return
        # How long a run takes is no answer's time.
        tally.note("reply within a run", c.lied[0], answer, 0.0, c.lied[1])

    def answers_honest_runs(self) -> None:
        """The service goes on."""
        for kind in KINDS:
            self._drive(kind)
