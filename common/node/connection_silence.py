"""When a connection counts as dead: nothing has moved on it for ``SILENCE_SECONDS``. There is no other timeout.

What is watched is what should come: an answer to a long poll, a chunk, a receipt. HTTP/2 pings keep connections open
and find out at last about those that nobody watches. A slow transfer that moves goes on as long as it takes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

SILENCE_SECONDS = 30.0
"""The time without progress after which a node hangs up and dials again. A chunk (``privity.common.wire.codec``) that
is under way counts when it has arrived: a link that brings less than one in this time is too slow."""

PING_SILENCES = 10
"""How many times as long a ping may take: its answer is queued behind whatever is under way, which may move slowly."""

UNSEEN_SILENCES = 4
"""How many times as long may pass where progress does not show: for who sends a chunk or waits for its receipt, while
others are in buffers on their way, and for who waits for a manifest, one message."""

UNDER_WAY_BYTES = 1 << 17
"""Most bytes of a call that were sent and have not arrived: two chunks, which the silences above allow for. gRPC by
itself would let this grow to megabytes, and no ping comes past them."""

HANDSHAKE_SECONDS = 10.0
"""The time in which who connects must have shown a certificate. Nobody who has none keeps a connection for longer."""

RETRY_MS = (100, 5000)


class StalledError(Exception):
    """Nothing has moved for too long: the connection is of no use, although nobody has closed it."""


def _moving(silence: float) -> list[tuple[str, int]]:
    third = max(1, round(silence * 1000 / 3))
    return [
        ("grpc.keepalive_time_ms", third),
        ("grpc.keepalive_timeout_ms", PING_SILENCES * 3 * third),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        # The one that gRPC goes by if it is not larger than the keepalive's own.
        ("grpc.http2.ping_timeout_ms", PING_SILENCES * 3 * third),
        ("grpc.http2.bdp_probe", 0),
        ("grpc.http2.lookahead_bytes", UNDER_WAY_BYTES),
    ]


def dialling_options(silence: float) -> list[tuple[str, int]]:
    """Options of a channel: pings, and how often gRPC tries again to connect."""
    first, most = RETRY_MS
    return [
        *_moving(silence),
        ("grpc.initial_reconnect_backoff_ms", first),
        ("grpc.max_reconnect_backoff_ms", most),
        ("grpc.min_reconnect_backoff_ms", round(silence * 1000)),
        # A new channel is a new connection, even while gRPC still knows the one before.
        ("grpc.use_local_subchannel_pool", 1),
    ]


def serving_options(silence: float) -> list[tuple[str, int]]:
    """Options of a server: pings, and no punishment for pings that a slow link brings all at once."""
    return [
        *_moving(silence),
        ("grpc.http2.min_ping_interval_without_data_ms", 1),
        ("grpc.http2.max_ping_strikes", 0),
        ("grpc.server_handshake_timeout_ms", round(min(silence, HANDSHAKE_SECONDS) * 1000)),
    ]


@contextlib.asynccontextmanager
async def moving(silence: float, first: float | None = None) -> AsyncIterator[Callable[[], None]]:
    """Let what is inside go on while it moves; it tells so by calling what it is given.

    Args:
        first: how long the first move may take, if not ``silence`` seconds.

    Raises:
        StalledError: nothing has moved for ``silence`` seconds.
    """
    loop, over = asyncio.get_running_loop(), False
    try:
        async with asyncio.timeout(silence if first is None else first) as limit:

            def moved() -> None:
                if not over and not limit.expired():
                    limit.reschedule(loop.time() + silence)

            yield moved
    except TimeoutError:
        raise StalledError from None
    finally:
        over = True
