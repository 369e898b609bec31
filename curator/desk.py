"""The curator's desk: steps that wait for a party, and replies that come back.

A party asks for its next step until it gets one; a step lies here until its reply is in, so a party
that lost its connection or was restarted is simply given it again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry

from common.errors import Catalogue, PrivityError
from common.metrics import known_code
from common.protocol.steps import Refusal, Reply, Step
from common.wire.codec import MalformedMessageError, decode_reply, encode_step
from curator.metrics import CuratorMetrics, Direction

CHECK_EVERY_SECONDS = 1.0
CONNECTED_SECONDS = 60.0
"""A party that gave a sign of life within so long counts as connected; one that waits gives one every 20 s."""

_log = logging.getLogger("privity.curator")


@dataclass
class _Waiting:
    message: bytes
    reply: asyncio.Future[Reply]


@dataclass
class _Party:
    waiting: dict[tuple[str, str], _Waiting] = field(default_factory=dict)
    last_seen: float = field(default_factory=time.monotonic)
    heard: float | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)


class PartyRefusedError(PrivityError):
    """A party answered a step with a refusal; the message is the party's own."""

    def __init__(self, party: str, refusal: Refusal) -> None:
        super().__init__(Catalogue.STEP_REFUSED, step="", reason="")
        self.party = party
        self.code, self.message, self.remedy = refusal.code, refusal.message, refusal.remedy
        self.args = (f"{self.message}\n{self.remedy}",)


class Desk:
    """Steps by party. All methods run in one event loop.

    Args:
        patience: seconds without any sign of life from a party before its step is given up.
        traffic: told (party, bytes) for every message that passes.
        metrics: counts refusals and bytes.
    """

    def __init__(
        self,
        patience: float,
        traffic: Callable[[str, int], None] = lambda _party, _bytes: None,
        metrics: CuratorMetrics | None = None,
    ) -> None:
        self._patience = patience
        self._parties: dict[str, _Party] = {}
        self.traffic = traffic
        self._metrics = metrics or CuratorMetrics(CollectorRegistry())

    def _party(self, name: str) -> _Party:
        return self._parties.setdefault(name, _Party())

    async def ask(self, party: str, step: Step, phase: str) -> Reply:
        """Lay the step down for the party and wait for its reply, as long as the party shows life.

        Raises:
            PrivityError: what the party refused with, or no-progress.
        """
        desk = self._party(party)
        waiting = _Waiting(encode_step(step), asyncio.get_running_loop().create_future())
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
        if not desk.waiting:
            desk.news.clear()
            try:
                await asyncio.wait_for(desk.news.wait(), wait_seconds)
            except TimeoutError:
                self.alive(party)
                return None
        for waiting in desk.waiting.values():
            self.traffic(party, len(waiting.message))
            self._metrics.moved(Direction.TO_PARTIES, len(waiting.message))
            return waiting.message
        return None

    def alive(self, party: str) -> _Party:
        """Note a sign of life."""
        desk = self._party(party)
        desk.last_seen = desk.heard = time.monotonic()
        return desk

    def connected(self, party: str) -> bool:
        """Whether the party gave a sign of life lately; may be asked from any thread."""
        desk = self._parties.get(party)
        return desk is not None and desk.heard is not None and time.monotonic() - desk.heard < CONNECTED_SECONDS

    def deliver(self, party: str, message: bytes) -> None:
        """Take a party's reply; one that nobody waits for (a repetition) is dropped.

        Raises MalformedMessageError for bytes that are no reply.
        """
        desk = self.alive(party)
        run, key, reply = decode_reply(message)
        self.traffic(party, len(message))
        self._metrics.moved(Direction.FROM_PARTIES, len(message))
        waiting = desk.waiting.get((run, key))
        if waiting is not None and not waiting.reply.done():
            waiting.reply.set_result(reply)


__all__ = ["Desk", "MalformedMessageError", "PartyRefusedError"]
