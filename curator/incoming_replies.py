"""Replies on their way in: one of each party at a time, and none larger than what is awaited from it.

So a party makes the curator hold one reply at most, whatever it sends, how slowly, and over how many connections.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from privity.common.errors import Catalogue, PrivityError
from privity.common.node.connection_silence import moving
from privity.common.wire.codec import LARGEST_REPLY
from privity.curator.metrics import CuratorMetrics, Unwelcome
from privity.curator.pending_steps import Desk


class Arrivals:
    """Joins the chunks of replies."""

    def __init__(self, desk: Desk, metrics: CuratorMetrics, silence: float) -> None:
        self._desk = desk
        self._silence = silence
        self._metrics = metrics
        self._newest: dict[str, bytearray] = {}

    async def collect(self, party: str, chunks: AsyncIterator[tuple[str, bytes]]) -> bytes | None:
        """The whole reply; None for a large one while nobody waits for any, which is dropped as it comes.

        Args:
            chunks: the number of the process that sends, and some bytes.

        Raises:
            PrivityError: message-too-large; reply-overtaken: the party has begun another one meanwhile; two-nodes: it
                is of an older node, or a newer one has come meanwhile.
            StalledError: nothing came for too long.
        """
        awaited = self._desk.largest_reply(party)
        limit = max(awaited, LARGEST_REPLY)
        # A party that lost its connection sends again; what the old one brought so far is let go.
        self._newest.pop(party, bytearray()).clear()
        message = self._newest[party] = bytearray()
        try:
            async with moving(self._silence) as moved:
                async for process, chunk in chunks:
                    moved()
                    self._desk.of_process(party, process)
                    self._desk.alive(party)
                    self._check_newest(party, message)
                    if len(message) + len(chunk) > limit:
                        if not awaited:
                            return None
                        self._metrics.call_refused(Unwelcome.TOO_LARGE)
                        raise PrivityError(Catalogue.TOO_LARGE, sender=party, limit=limit)
                    message += chunk
            self._check_newest(party, message)
            return bytes(message)
        finally:
            if self._newest.get(party) is message:
                del self._newest[party]

    def _check_newest(self, party: str, message: bytearray) -> None:
        if self._newest.get(party) is not message:
            self._metrics.call_refused(Unwelcome.OVERTAKEN)
            raise PrivityError(Catalogue.OVERTAKEN, sender=party)
