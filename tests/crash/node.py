"""Becoming a node under test: a production node of a folder, with its randomness, its end and its records in hand.

Only what a test must hold is put in the place of production parts: where noise and the run's own randomness come
from, how quickly a lost connection is tried again, what is written down besides. The node is then served by the very
functions that ``privity party serve`` and ``privity curator serve`` call.
"""

from __future__ import annotations

import functools
import hashlib
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import privity.common.node.curator_trust
import privity.common.notices.outbox
import privity.curator.pending_steps
import privity.curator.run_driver
import privity.interfaces.cli.curator
import privity.interfaces.cli.party
import privity.party.agent
import privity.party.config
from privity.common.crypto import paillier
from privity.common.node import logs
from privity.common.privacy.random_bits import SeededEntropy
from privity.common.protocol.steps import Pending, Refusal
from privity.common.storage.journal import Journal
from privity.common.wire.codec import decode_reply, decode_step
from privity.curator.pending_steps import Desk
from privity.curator.run_driver import RunDriver
from privity.curator.server import CuratorServer
from privity.party.charged_releases import ChargedReleases
from privity.party.config import Node
from tests.crash.recording import Recorder
from tests.crash.switch import Kill, Switch
from tests.crash.variants import VARIANTS

CURATOR = "curator"
KEPT = ("/revealed/",)
"""Entries of a curator's journal that hold what a run opened."""


@dataclass(frozen=True)
class Life:
    """One life of one node.

    Attributes:
        who: ``curator`` or a party's name; number: from 0.
        folder: of the node; record: outside of it.
        seed: of all randomness that shows in a release; None takes the operating system's.
        key: file of the Paillier key that the run takes, for runs with a seed.
        variant: a deliberate fault, by its name in ``tests.crash.variants``.
    """

    who: str
    number: int
    folder: str
    record: str
    seed: int | None
    key: str | None
    variant: str
    kill: Kill | None

    @classmethod
    def read(cls, document: dict[str, Any]) -> Life:
        kill = document.pop("kill")
        return cls(**document, kill=None if kill is None else Kill(**kill))


def live(document: dict[str, Any]) -> None:
    """Be this node until killed."""
    life = Life.read(document)
    folder, recorder = Path(life.folder), Recorder(Path(life.record), life.who, life.number)
    Switch(life.kill, recorder).watch(folder)
    privity.curator.pending_steps.PENDING_SECONDS = 0.05
    privity.common.notices.outbox.PAUSE_SECONDS = 0.02
    privity.common.notices.outbox.WAIT_SECONDS = (0.02,)
    privity.party.agent.RETRY_SECONDS = (0.02, 0.05, 0.1)
    trust = privity.common.node.curator_trust
    trust.dialling_options = functools.partial(_impatient, trust.dialling_options)
    if life.who == CURATOR:
        _record_curator(recorder)
        if life.seed is not None:
            _fix_curator(life)
    else:
        _record_party(recorder)
        if life.seed is not None:
            source = functools.partial(_seeded, life.seed, life.who)
            privity.party.config.ChargedReleases = functools.partial(ChargedReleases, entropy=source)
            _fix_process(life)
    VARIANTS[life.variant](life.who, life.number)
    if life.who == CURATOR:
        privity.interfaces.cli.curator.serve(folder / "curator.toml", None, logs.LogFormat.TEXT, False)
    else:
        privity.interfaces.cli.party.serve(folder / "party.toml", logs.LogFormat.TEXT, False)


def _impatient(options: Any, *arguments: Any) -> list[tuple[str, Any]]:
    backoff = {f"grpc.{name}_reconnect_backoff_ms": 50 for name in ("initial", "min", "max")}
    return list({**dict(options(*arguments)), **backoff}.items())


def _seeded(seed: int, who: str, label: str) -> SeededEntropy:
    return SeededEntropy(str(seed).encode(), f"{who}/{label}")


def _fix_process(life: Life) -> None:
    """The number of its process, which is signed with an enrolment and so is in the digest of the plan."""
    made = Node.__init__

    def fixed(self: Node, *arguments: Any) -> None:
        made(self, *arguments)
        self.process = _digest(life.who.encode())[:32]

    Node.__init__ = fixed


def _fix_curator(life: Life) -> None:
    """The key and the seed of the sampling, which a curator draws once a run and keeps in its journal.

    The seed is a function of the run's name: of runs side by side, any may draw first.
    """
    remember = RunDriver._remember

    def fixed(self: RunDriver, name: str, fresh: bytes) -> bytes:
        if name == "seed":
            fresh = str(random.Random(f"{life.seed}/{self.run}").getrandbits(64)).encode()
        return remember(self, name, fresh)

    RunDriver._remember = fixed
    if life.key is not None:
        document = json.loads(Path(life.key).read_text(encoding="ascii"))
        pair = paillier.secret_from_dict(document)
        privity.curator.run_driver.paillier.generate_keypair = lambda *_bits, **_options: (pair.public, pair)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _record_curator(recorder: Recorder) -> None:
    """What is opened, what is sent to whom, what comes back, and when the curator serves."""
    record, recall = Journal.record, Journal.recall
    next_step, deliver, start = Desk.next_step, Desk.deliver, CuratorServer.start

    def keep(key: str, stored: bytes | None) -> bytes | None:
        if stored is not None and any(word in key for word in KEPT):
            recorder.add("opened", key, _digest(stored))
        return stored

    def recorded(self: Journal, key: str, digest: str, payload: bytes) -> Any:
        stored = keep(key, record(self, key, digest, payload))
        recorder.add("journaled", key)
        return stored

    async def given(self: Desk, name: str, wait_seconds: float) -> bytes | None:
        message = await next_step(self, name, wait_seconds)
        if message is not None:
            step = decode_step(message)
            recorder.add("sent", name, step.run, step.key)
        return message

    def delivered(self: Desk, name: str, message: bytes) -> None:
        run, key, reply = decode_reply(message)
        if not isinstance(reply, Pending) and (run, key) in self._party(name).waiting:
            recorder.add("delivered", name, run, key)
        deliver(self, name, message)

    async def started(self: CuratorServer, *interceptors: Any) -> int:
        port = await start(self, *interceptors)
        recorder.add("serves")
        return port

    Journal.record = recorded
    Journal.recall = lambda self, key, digest: keep(key, recall(self, key, digest))
    Desk.next_step, Desk.deliver, CuratorServer.start = given, delivered, started


def _record_party(recorder: Recorder) -> None:
    """Every answer made of the rows, and every reply that leaves."""
    answer_once, stream = ChargedReleases._answer_once, privity.party.agent._stream

    def answered(self: ChargedReleases, label: str, *rest: Any) -> bytes:
        answer = answer_once(self, label, *rest)
        recorder.add("answered", label, _digest(answer))
        return answer

    def leaving(message: bytes, *rest: Any) -> Any:
        run, key, reply = decode_reply(message)
        if isinstance(reply, Refusal):
            recorder.add("refused", run, key, reply.code, reply.message)
        elif not isinstance(reply, Pending):
            recorder.add("replied", run, key, _digest(message))
        return stream(message, *rest)

    ChargedReleases._answer_once = answered
    privity.party.agent._stream = leaving
