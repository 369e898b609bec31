"""The curator's desk: steps that wait for a party, and replies that come back.

A party asks for its next step until it gets one; a step lies here until its reply is in, so a party
that lost its connection or was restarted is simply given it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry

from privity.common.errors import Catalogue, PrivityError
from privity.common.node.metrics_page import known_code
from privity.common.protocol.steps import Pending, Refusal, Reply, Step
from privity.common.wire.codec import MalformedMessageError, decode_reply, encode_step, largest_reply
from privity.curator.metrics import CuratorMetrics, Direction

CHECK_EVERY_SECONDS = 1.0
TOLD_EVERY_SECONDS = 10
PENDING_SECONDS = 1.0
"""How long a step lies that waits for a person at the party, before it is given to the party again."""
CONNECTED_SECONDS = 60.0
"""A party that gave a sign of life within so long counts as connected; one that waits gives one every 20 s."""

_log = logging.getLogger("privity.curator")


def _coarse(seconds: float) -> int:
    return int(seconds) // TOLD_EVERY_SECONDS * TOLD_EVERY_SECONDS


@dataclass
class _Waiting:
    message: bytes
    largest_reply: int
    phase: str
    reply: asyncio.Future[Reply]
    since: float = field(default_factory=time.monotonic)
    not_before: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class Awaited:
    """A step that lies at the curator until its reply is in.

    Attributes:
        seconds: since it was laid down; silent_seconds: since the party was last heard of, or since the curator
            started if it never was. Both in whole tens: how long counting takes may depend on rows.
        note: what the party said that it waits for itself.
    """

    party: str
    step: str
    phase: str
    seconds: int
    silent_seconds: int
    note: str


@dataclass
class _Party:
    waiting: dict[tuple[str, str], _Waiting] = field(default_factory=dict)
    last_seen: float = field(default_factory=time.monotonic)
    heard: float | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)


class PartyRefusedError(PrivityError):
    """A party answered a step with a refusal; message and remedy are the party's own, and say so."""

    def __init__(self, party: str, refusal: Refusal) -> None:
        super().__init__(Catalogue.STEP_REFUSED, step="", reason="")
        self.party = party
        self.code = refusal.code
        # Whatever it says, and whomever it names in it, it is this party that says it.
        self.message, self.remedy = (text and f"{party} says: {text}" for text in (refusal.message, refusal.remedy))
        self.args = (f"{self.message}\n{self.remedy}",)


class Desk:
    """Steps by party. All methods run in one event loop.

    Args:
        patience: seconds without any sign of life from a party before its step is given up.
        traffic: told (party, bytes) for every message that passes.
        noted: told when a party says what a step waits for there.
        metrics: counts refusals and bytes.
    """

    def __init__(
        self,
        patience: float,
        traffic: Callable[[str, int], None] = lambda _party, _bytes: None,
        noted: Callable[[], None] = lambda: None,
        metrics: CuratorMetrics | None = None,
    ) -> None:
        self._patience = patience
        self._started = time.monotonic()
        self._parties: dict[str, _Party] = {}
        self.traffic = traffic
        self.noted = noted
        self._metrics = metrics or CuratorMetrics(CollectorRegistry())

    def _party(self, name: str) -> _Party:
        return self._parties.setdefault(name, _Party())

    async def ask(self, party: str, step: Step, phase: str) -> Reply:
        """Lay the step down for the party and wait for its reply, as long as the party shows life.

        Raises:
            PrivityError: what the party refused with, or no-progress.
        """
        desk = self._party(party)
        waiting = _Waiting(encode_step(step), largest_reply(step), phase, asyncio.get_running_loop().create_future())
        desk.waiting[step.run, step.key] = waiting
        desk.last_seen = time.monotonic()
        desk.news.set()
        try:
            while True:
                done, _ = await asyncio.wait([waiting.reply], timeout=CHECK_EVERY_SECONDS)
                if done:
                    break
                if time.monotonic() - desk.last_seen > self._patience:
                    raise PrivityError(Catalogue.NO_PROGRESS, party=party, seconds=round(self._patience), phase=phase)
        finally:
            desk.waiting.pop((step.run, step.key), None)
        reply = waiting.reply.result()
        if isinstance(reply, Refusal):
            code = known_code(reply.code)
            self._metrics.step_refused(code)
            _log.warning(
                "a party refuses a step",
                extra={"run": step.run, "step": step.key, "phase": phase, "party": party, "reason": code},
            )
            raise PartyRefusedError(party, reply)
        return reply

    async def next_step(self, party: str, wait_seconds: float) -> bytes | None:
        """The party's oldest open step; None if none comes within ``wait_seconds``."""
        desk = self.alive(party)
        deadline = time.monotonic() + wait_seconds
        while True:
            now = time.monotonic()
            for waiting in desk.waiting.values():
                if waiting.not_before <= now:
                    if not waiting.note:  # a step that waits for a person is given again and again
                        self.traffic(party, len(waiting.message))
                    self._metrics.moved(Direction.TO_PARTIES, len(waiting.message))
                    return waiting.message
            if now >= deadline:
                return None
            until = min([deadline, *(waiting.not_before for waiting in desk.waiting.values())])
            desk.news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(desk.news.wait(), until - now)
            self.alive(party)

    def awaited(self, run: str) -> list[Awaited]:
        """Every step of the run that lies here."""
        now = time.monotonic()
        return [
            Awaited(name, key, w.phase, _coarse(now - w.since), _coarse(now - (party.heard or self._started)), w.note)
            for name, party in self._parties.items()
            for (of_run, key), w in party.waiting.items()
            if of_run == run
        ]

    def waiting(self, run: str) -> set[str]:
        """Names of the parties at which the run waits for a person, or for something else there."""
        return {awaited.party for awaited in self.awaited(run) if awaited.note}

    def alive(self, party: str) -> _Party:
        """Note a sign of life."""
        desk = self._party(party)
        desk.last_seen = desk.heard = time.monotonic()
        return desk

    def connected(self, party: str) -> bool:
        """Whether the party gave a sign of life lately; may be asked from any thread."""
        desk = self._parties.get(party)
        return desk is not None and desk.heard is not None and time.monotonic() - desk.heard < CONNECTED_SECONDS

    def largest_reply(self, party: str) -> int:
        """Most bytes of a reply that anybody waits for; 0 if nobody does."""
        waiting = self._party(party).waiting.values()
        return max((w.largest_reply for w in waiting if not w.reply.done()), default=0)

    def deliver(self, party: str, message: bytes) -> None:
        """Take a party's reply; one that nobody waits for (a repetition) is dropped.

        Raises MalformedMessageError for bytes that are no reply; the step that they claim to answer fails.
        """
        desk = self.alive(party)
        try:
            run, key, reply = decode_reply(message)
        except MalformedMessageError as error:
            waiting = desk.waiting.get((error.run, error.key))
            if waiting is not None and not waiting.reply.done():
                waiting.reply.set_exception(PrivityError(Catalogue.MALFORMED, sender=party))
            raise
        waiting = desk.waiting.get((run, key))
        if not isinstance(reply, Pending) or waiting is None or not waiting.note:
            self.traffic(party, len(message))
        self._metrics.moved(Direction.FROM_PARTIES, len(message))
        if waiting is None or waiting.reply.done():
            return
        if isinstance(reply, Pending):
            waiting.not_before = time.monotonic() + PENDING_SECONDS
            new, waiting.note = waiting.note != reply.reason, reply.reason
            if new:
                self.noted()
        else:
            waiting.reply.set_result(reply)


__all__ = ["Awaited", "Desk", "MalformedMessageError", "PartyRefusedError"]
