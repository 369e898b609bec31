"""The curator's desk: steps that wait for a party, and replies that come back.

A party asks for its next step until it gets one; a step lies here until its reply is in, so a party
that lost its connection or was restarted is simply given it again. Runs take turns at each party.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry

from privity.common.errors import Catalogue, PrivityError
from privity.common.node.metrics_page import known_code
from privity.common.protocol.steps import Pending, Refusal, Reply, Step
from privity.common.text.awaited_words import answer_to, awaits
from privity.common.text.utc_times import utc, utc_now
from privity.common.text.visible import cut
from privity.common.wire.codec import MalformedMessageError, decode_reply, encode_step, largest_reply
from privity.curator.metrics import CuratorMetrics, Direction, Unwelcome

CHECK_EVERY_SECONDS = 1.0
TOLD_EVERY_SECONDS = 10
PENDING_SECONDS = 1.0
"""How long a step lies that waits for a person at the party, before it is given to the party again."""
PENDING_AT_ONCE = 5
"""Steps of that kind which a party is given within that time: with more of them each lies longer."""
LONGEST_PROCESS = 32
"""Signs of the number of a process."""
MOST_FORMER = 64
"""Earlier processes of a party that are known again, should one still be at work."""
CONNECTED_SECONDS = 60.0
"""A party that gave a sign of life within so long counts as connected; one that waits gives one every 20 s."""
SMALL = 1 << 14
"""Bytes of a reply that is read in less time than it takes to hand it to a thread and back, or little more."""
SILENT_SECONDS = 10.0
"""A party that has a step to answer, or waits for its owner, is heard of more often than this."""

_log = logging.getLogger("privity.curator")


def _coarse(seconds: float) -> int:
    return int(seconds) // TOLD_EVERY_SECONDS * TOLD_EVERY_SECONDS


@dataclass(frozen=True)
class Note:
    """What a party said that it waits for itself, and since when, in UTC."""

    text: str = ""
    since: str = ""


@dataclass(frozen=True)
class LastReply:
    """The reply that was taken from a party last; of none, all is empty.

    Attributes:
        digest: SHA-256 of its bytes.
    """

    run: str = ""
    key: str = ""
    digest: bytes = b""


@dataclass
class _Waiting:
    message: bytes
    largest_reply: int
    phase: str
    reply: asyncio.Future[Reply]
    since: float = field(default_factory=time.monotonic)
    not_before: float = 0.0
    said: Note = Note()
    is_news: bool = False


@dataclass(frozen=True)
class Listener:
    """Whom to tell of a run's messages.

    Attributes:
        traffic: told (party, bytes) for every message that passes.
        noted: told (party, step) when a party says anew what a step waits for there.
        known: what parties said before the curator started, by (party, step).
    """

    traffic: Callable[[str, int], None] = lambda _party, _bytes: None
    noted: Callable[[str, str, Note], None] = lambda _party, _step, _note: None
    known: Mapping[tuple[str, str], Note] = field(default_factory=dict)


NOBODY = Listener()


@dataclass(frozen=True)
class Awaited:
    """A step that lies at the curator until its reply is in.

    Attributes:
        seconds: since it was laid down; silent_seconds: since the party was last heard of, or since the curator
            started if it never was. Both in whole tens: how long counting takes may depend on rows.
        note: what the party said that it waits for itself.
        since: when it was laid down, in UTC, to within ten seconds; with a note, since when the party waits.
        silent_since: when the party was last heard of, if that is not just now.
    """

    party: str
    step: str
    phase: str
    seconds: int
    silent_seconds: int
    note: str
    since: str
    silent_since: str

    @property
    def of_person(self) -> bool:
        """Whether a person has to do something, at the party or about its connection: no count of rows decides when."""
        return bool(self.note or self.silent_since)

    @property
    def words(self) -> str:
        """As the operator and the owner read it."""
        return awaits(self.party, self.note or answer_to(self.step), self.since, self.silent_since)


@dataclass(frozen=True)
class Link:
    """How a party is connected.

    Attributes:
        since: in UTC, to within ten seconds: since when it is connected, or when it was last heard of; empty if it
            never was.
        version: of its node, by its own word.
        other: in UTC, when an older node under the same certificate was last refused; empty if none was.
    """

    party: str
    connected: bool
    since: str
    version: str
    other: str = ""


@dataclass
class _Party:
    waiting: dict[tuple[str, str], _Waiting] = field(default_factory=dict)
    turns: dict[str, int] = field(default_factory=dict)
    last_seen: float = field(default_factory=time.monotonic)
    heard: float | None = None
    heard_at: float | None = None
    connected_at: float = 0.0
    version: str = ""
    process: str = ""
    former: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_FORMER))
    other: str = ""
    last: LastReply | None = None
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
        metrics: counts refusals and bytes.

    Attributes:
        heard_before: when parties were heard of by an earlier process, in seconds since 1970.
        last_before: what an earlier process took from parties last.
    """

    def __init__(self, patience: float, metrics: CuratorMetrics | None = None) -> None:
        self._patience = patience
        self._started, self._started_at = time.monotonic(), time.time()
        self._parties: dict[str, _Party] = {}
        self._listeners: dict[str, Listener] = {}
        self._turn = itertools.count(1)
        self.heard_before: Mapping[str, float] = {}
        self.last_before: Mapping[str, LastReply] = {}
        self._metrics = metrics or CuratorMetrics(CollectorRegistry())

    def listen(self, run: str, listener: Listener | None) -> None:
        """Have somebody told of the messages of a run from now on; nobody if it is None."""
        if listener is None:
            self._listeners.pop(run, None)
        else:
            self._listeners[run] = listener

    def _of(self, run: str) -> Listener:
        return self._listeners.get(run, NOBODY)

    def _party(self, name: str) -> _Party:
        return self._parties.setdefault(name, _Party())

    async def ask(self, party: str, step: Step, phase: str) -> Reply:
        """Lay the step down for the party and wait for its reply, as long as the party shows life.

        Raises:
            PrivityError: what the party refused with, or no-progress.
        """
        desk, waiting = self._party(party), self._lay(party, step, phase)
        waiting.said = self._of(step.run).known.get((party, step.key), waiting.said)
        desk.last_seen = time.monotonic()
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

    def _lay(self, party: str, step: Step, phase: str) -> _Waiting:
        desk = self._party(party)
        waiting = _Waiting(encode_step(step), largest_reply(step), phase, asyncio.get_running_loop().create_future())
        desk.waiting[step.run, step.key] = waiting
        desk.news.set()
        return waiting

    def tell(self, party: str, step: Step) -> asyncio.Future[Reply]:
        """Lay down a step that tells of something, until the party has taken it, however long that takes."""
        waiting = self._lay(party, step, "")
        waiting.is_news = True
        place, desk = (step.run, step.key), self._party(party)

        def taken(reply: asyncio.Future[Reply]) -> None:
            if desk.waiting.get(place) is waiting:
                del desk.waiting[place]
            if not reply.cancelled():
                # A party that does not understand it is not told again.
                reply.exception()

        waiting.reply.add_done_callback(taken)
        return waiting.reply

    def withdraw(self, run: str) -> None:
        """What a run's parties were to be told and did not take yet is so no more."""
        for party in self._parties.values():
            for (of_run, _), waiting in list(party.waiting.items()):
                if of_run == run and waiting.is_news:
                    waiting.reply.cancel()

    async def next_step(self, party: str, wait_seconds: float) -> bytes | None:
        """An open step of the party; None if none comes within ``wait_seconds``.

        Of the run that was given one the longest ago, the oldest: many steps of one run hold no other up.
        """
        desk = self.alive(party)
        deadline = time.monotonic() + wait_seconds
        while True:
            now = time.monotonic()
            ready = [(run, key) for (run, key), waiting in desk.waiting.items() if waiting.not_before <= now]
            if ready:
                run, key = min(ready, key=lambda place: desk.turns.get(place[0], 0))
                waiting, at_desk = desk.waiting[run, key], {run for run, _ in desk.waiting}
                desk.turns = {r: turn for r, turn in desk.turns.items() if r in at_desk} | {run: next(self._turn)}
                if not waiting.said.text:  # a step that waits for a person is given again and again
                    self._of(run).traffic(party, len(waiting.message))
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
        """Every step of the run that lies here, but for what its parties are only told."""
        return [
            self._awaited(name, party, key, waiting)
            for name, party in self._parties.items()
            for (of_run, key), waiting in party.waiting.items()
            if of_run == run and not waiting.is_news
        ]

    def waiting(self, run: str) -> set[str]:
        """Names of the parties at which the run waits for a person, or for something else there."""
        return {awaited.party for awaited in self.awaited(run) if awaited.note}

    def _awaited(self, name: str, party: _Party, key: str, waiting: _Waiting) -> Awaited:
        now = time.monotonic()
        lying, silent = now - waiting.since, now - (party.heard or self._started)
        since = waiting.said.since or utc((time.time() - lying) // TOLD_EVERY_SECONDS * TOLD_EVERY_SECONDS)
        heard_at = self.heard_at().get(name, self._started_at)
        silent_since = utc(heard_at) if silent >= SILENT_SECONDS else ""
        note = waiting.said.text
        return Awaited(name, key, waiting.phase, _coarse(lying), _coarse(silent), note, since, silent_since)

    def waits_for_person(self, run: str) -> bool:
        """Whether a party said that a step of the run waits for a person there."""
        return any(
            waiting.said.text and of_run == run and not waiting.is_news and not waiting.reply.done()
            for party in self._parties.values()
            for (of_run, _), waiting in party.waiting.items()
        )

    def alive(self, party: str) -> _Party:
        """Note a sign of life."""
        desk = self._party(party)
        if not self.connected(party):
            desk.connected_at = time.time()
        desk.last_seen = desk.heard = time.monotonic()
        desk.heard_at = time.time()
        return desk

    def of_process(self, party: str, process: str) -> None:
        """Give the newest process of a party what is here, and no other: whoever was there before a newer one came.

        Raises:
            PrivityError: two-nodes: this is an older one.
        """
        desk, process = self._party(party), cut(process, LONGEST_PROCESS)
        if process in desk.former or (desk.process and not process):
            desk.other = utc(time.time())
            self._metrics.call_refused(Unwelcome.OLDER_NODE)
            _log.error("two nodes serve under one certificate; the older one is refused", extra={"party": party})
            raise PrivityError(Catalogue.TWO_NODES, party=party)
        if process != desk.process:
            if desk.process:
                desk.former.append(desk.process)
            desk.process = process

    def is_newest(self, party: str, process: str) -> bool:
        """Whether no newer process of the party has come since."""
        return self._party(party).process == cut(process, LONGEST_PROCESS)

    def links(self, parties: Iterable[str]) -> list[Link]:
        """How each of these parties is connected."""
        heard, found = self.heard_at(), []
        for name in parties:
            desk, connected = self._parties.get(name, _Party()), self.connected(name)
            at = desk.connected_at if connected else heard.get(name)
            found.append(Link(name, connected, "" if at is None else utc(_coarse(at)), desk.version, desk.other))
        return found

    def heard_at(self) -> dict[str, float]:
        """When parties were last heard of, in seconds since 1970."""
        now = {name: desk.heard_at for name, desk in self._parties.items() if desk.heard_at is not None}
        return {**self.heard_before, **now}

    def last_reply(self, party: str) -> LastReply:
        """What was taken from the party last, by this process or an earlier one."""
        return self._party(party).last or self.last_before.get(party, LastReply())

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
        with self._failing(party):
            found = decode_reply(message)
        self._take(party, message, *found)

    async def read_and_deliver(self, party: str, message: bytes) -> None:
        """The same. A large reply is read beside the event loop."""
        with self._failing(party):
            found = await asyncio.to_thread(decode_reply, message) if len(message) > SMALL else decode_reply(message)
        self._take(party, message, *found)

    @contextlib.contextmanager
    def _failing(self, party: str) -> Iterator[None]:
        """Fail the step that a malformed reply claims to answer."""
        try:
            yield
        except MalformedMessageError as error:
            waiting = self.alive(party).waiting.get((error.run, error.key))
            if waiting is not None and not waiting.reply.done():
                waiting.reply.set_exception(PrivityError(Catalogue.MALFORMED, sender=party))
            raise

    def _take(self, party: str, message: bytes, run: str, key: str, reply: Reply) -> None:
        desk = self.alive(party)
        waiting = desk.waiting.get((run, key))
        if not isinstance(reply, Pending) or waiting is None or not waiting.said.text:
            self._of(run).traffic(party, len(message))
        self._metrics.moved(Direction.FROM_PARTIES, len(message))
        if waiting is None or waiting.reply.done():
            return
        if isinstance(reply, Pending):
            if reply.reason != waiting.said.text:
                waiting.said = Note(reply.reason, reply.since or utc_now())
                self._of(run).noted(party, key, waiting.said)
            pending = sum(bool(other.said.text) for other in desk.waiting.values())
            waiting.not_before = time.monotonic() + PENDING_SECONDS * max(1, pending / PENDING_AT_ONCE)
        else:
            if not waiting.is_news and not isinstance(reply, Refusal):
                desk.last = LastReply(run, key, hashlib.sha256(message).digest())
            waiting.reply.set_result(reply)


__all__ = ["Awaited", "Desk", "LastReply", "Listener", "MalformedMessageError", "Note", "PartyRefusedError"]
