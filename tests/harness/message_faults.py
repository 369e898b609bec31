"""What can become of a message, for ``tests.harness.middleman``; each fault meets a message when it first comes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import ClassVar

from tests.harness.middleman import Abort, Deliver, Fault, Kind, Message

LATE_SECONDS = 0.1


class Once(Fault):
    """Meets the chosen messages when they first come.

    Args:
        chosen: which messages; None is all.
    """

    name: ClassVar[str]

    def __init__(self, chosen: Callable[[Message], bool] | None = None) -> None:
        self._chosen = chosen or (lambda _message: True)
        self.met: set[Message] = set()

    async def passes(self, message: Message, data: bytes, deliver: Deliver, abort: Abort) -> None:
        if message in self.met or not self._chosen(message):
            await deliver(data)
            return
        self.met.add(message)
        await self.meets(message, data, deliver, abort)

    async def meets(self, message: Message, data: bytes, deliver: Deliver, abort: Abort) -> None:
        """What happens to it instead."""
        raise NotImplementedError


class CutBefore(Once):
    """The call ends, and nothing was passed on."""

    name = "cut before"

    async def meets(self, message: Message, data: bytes, deliver: Deliver, abort: Abort) -> None:
        await abort()


class CutAfter(Once):
    """All was passed on, and the call ends as if it had not been."""

    name = "cut after"

    async def meets(self, message: Message, data: bytes, deliver: Deliver, abort: Abort) -> None:
        await deliver(data)
        await abort()


class Dropped(Once):
    """The call ends well, and nothing was passed on."""

    name = "dropped"

    async def meets(self, message: Message, data: bytes, deliver: Deliver, abort: Abort) -> None:
        return


class Truncated(Once):
    """Two thirds are passed on as if that were all."""

    name = "truncated"

    async def meets(self, message: Message, data: bytes, deliver: Deliver, abort: Abort) -> None:
        await deliver(data[: len(data) * 2 // 3])


class CutInside(Once):
    """Two thirds of a step are passed on, and the call ends."""

    name = "cut inside"

    async def meets(self, message: Message, data: bytes, deliver: Deliver, abort: Abort) -> None:
        if message.kind is Kind.STEP:
            await deliver(data[: len(data) * 2 // 3])
        await abort()


class Delayed(Once):
    """It comes late."""

    name = "delayed"

    async def meets(self, message: Message, data: bytes, deliver: Deliver, abort: Abort) -> None:
        await asyncio.sleep(LATE_SECONDS)
        await deliver(data)


class HungBefore(Once):
    """Nothing is passed on, and the call does not end; pings are answered all the while."""

    name = "hung before"

    async def meets(self, message: Message, data: bytes, deliver: Deliver, abort: Abort) -> None:
        await asyncio.Event().wait()


class HungAfter(Once):
    """All is passed on, and the call does not end; pings are answered all the while."""

    name = "hung after"

    async def meets(self, message: Message, data: bytes, deliver: Deliver, abort: Abort) -> None:
        await deliver(data)
        await asyncio.Event().wait()


class Duplicated(Once):
    """It comes twice, one right after the other."""

    name = "duplicated"

    def __init__(self, chosen: Callable[[Message], bool] | None = None) -> None:
        super().__init__(chosen)
        self._steps: dict[str, list[bytes]] = defaultdict(list)

    async def meets(self, message: Message, data: bytes, deliver: Deliver, abort: Abort) -> None:
        await deliver(data)
        if message.kind is Kind.STEP:
            self._steps[message.party].append(data)
        else:
            await deliver(data)

    def again(self, party: str) -> bytes | None:
        return self._steps[party].pop(0) if self._steps[party] else None


class Reordered(Once):
    """It is held back, and delivered after the party's next message of its kind, or the one after that."""

    name = "reordered"

    def __init__(self, chosen: Callable[[Message], bool] | None = None) -> None:
        super().__init__(chosen)
        self._held: dict[tuple[str, Kind], list[bytes]] = defaultdict(list)
        self._ripe: dict[str, list[bytes]] = defaultdict(list)

    async def passes(self, message: Message, data: bytes, deliver: Deliver, abort: Abort) -> None:
        await super().passes(message, data, deliver, abort)
        held = self._held[message.party, message.kind]
        late = [other for other in held if other != data]
        if message in self.met and late:
            self._held[message.party, message.kind] = [data] if data in held else []
            if message.kind is Kind.STEP:
                self._ripe[message.party] += late
            else:
                for other in late:
                    await deliver(other)

    async def meets(self, message: Message, data: bytes, deliver: Deliver, abort: Abort) -> None:
        self._held[message.party, message.kind].append(data)

    def again(self, party: str) -> bytes | None:
        return self._ripe[party].pop(0) if self._ripe[party] else None


class Replayed(Fault):
    """Every message is followed by all earlier ones of its party and kind, of earlier runs, too."""

    name = "replayed"

    def __init__(self) -> None:
        self._replies: dict[str, list[bytes]] = defaultdict(list)
        self._steps: dict[str, list[bytes]] = defaultdict(list)
        self._given: dict[str, list[bytes]] = defaultdict(list)

    async def passes(self, message: Message, data: bytes, deliver: Deliver, abort: Abort) -> None:
        await deliver(data)
        if message.kind is Kind.STEP:
            if data not in self._steps[message.party]:
                self._given[message.party] += self._steps[message.party]
                self._steps[message.party].append(data)
        elif data not in self._replies[message.party]:
            self._replies[message.party].append(data)
            for earlier in self._replies[message.party]:
                await deliver(earlier)

    def again(self, party: str) -> bytes | None:
        return self._given[party].pop(0) if self._given[party] else None


class Away(Fault):
    """A party is cut off from its first step of a kind on, until it is let back.

    Args:
        step: how the step's key begins.

    Attributes:
        gone: set when it is cut off; back: to be set.
    """

    def __init__(self, party: str, step: str) -> None:
        self._party, self._step = party, step
        self.gone, self.back = asyncio.Event(), asyncio.Event()

    async def passes(self, message: Message, data: bytes, deliver: Deliver, abort: Abort) -> None:
        if message.party == self._party and not self.back.is_set():
            if message.step.startswith(self._step):
                self.gone.set()
            if self.gone.is_set():
                await abort()
        await deliver(data)


ONCE: tuple[type[Once], ...] = (
    CutBefore, CutAfter, CutInside, Dropped, Truncated, Delayed, Duplicated, Reordered,
)  # fmt: skip
HUNG: tuple[type[Once], ...] = (HungBefore, HungAfter)
