"""The curator's desk: steps that wait for a party, and replies that come back.

A party asks for its next step until it gets one; a step lies here until its reply is in, so a party
that lost its connection or was restarted is simply given it again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from common.errors import Catalogue, PrivityError
from common.protocol.steps import Refusal, Reply, Step
from common.wire.codec import MalformedMessageError, decode_reply, encode_step

CHECK_EVERY_SECONDS = 1.0


@dataclass
class _Waiting:
    message: bytes
    reply: asyncio.Future[Reply]


@dataclass
class _Party:
    waiting: dict[tuple[str, str], _Waiting] = field(default_factory=dict)
    last_seen: float = field(default_factory=time.monotonic)
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
    """

    def __init__(self, patience: float, traffic: Callable[[str, int], None] = lambda _party, _bytes: None) -> None:
        self._patience = patience
        self._parties: dict[str, _Party] = {}
        self.traffic = traffic

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
            raise PartyRefusedError(party, reply)
        return reply

    async def next_step(self, party: str, wait_seconds: float) -> bytes | None:
        """The party's oldest open step; None if none comes within ``wait_seconds``."""
        desk = self._party(party)
        desk.last_seen = time.monotonic()
        if not desk.waiting:
            desk.news.clear()
            try:
                await asyncio.wait_for(desk.news.wait(), wait_seconds)
            except TimeoutError:
                desk.last_seen = time.monotonic()
                return None
        for waiting in desk.waiting.values():
            self.traffic(party, len(waiting.message))
            return waiting.message
        return None

    def alive(self, party: str) -> None:
        """Note a sign of life."""
        self._party(party).last_seen = time.monotonic()

    def deliver(self, party: str, message: bytes) -> None:
        """Take a party's reply; one that nobody waits for (a repetition) is dropped.

        Raises MalformedMessageError for bytes that are no reply.
        """
        desk = self._party(party)
        desk.last_seen = time.monotonic()
        run, key, reply = decode_reply(message)
        self.traffic(party, len(message))
        waiting = desk.waiting.get((run, key))
        if waiting is not None and not waiting.reply.done():
            waiting.reply.set_result(reply)


__all__ = ["Desk", "MalformedMessageError", "PartyRefusedError"]
