"""A relay of TCP connections that fails as networks do: slow, cut, deaf on one side, or changing bytes.

Each connection has a ``Line`` of its own, which decides what becomes of every piece that passes.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
from collections.abc import Callable
from enum import Enum
from typing import Self

BUFFER_BYTES = 1 << 14
"""Of the relay's sockets: what lies in them is out of sight of both ends."""


class Way(Enum):
    """A direction."""

    UP = "to the curator"
    DOWN = "to the party"


class CutError(Exception):
    """The connection is reset."""


class EndError(Exception):
    """The connection is closed in order, though not all was passed on."""


class Line:
    """Passes everything on.

    Attributes:
        passed: bytes by direction.
        hung_up: the direction whose sender closed the connection first.
    """

    piece = 1 << 16

    def __init__(self) -> None:
        self.passed = dict.fromkeys(Way, 0)
        self.hung_up: Way | None = None

    @property
    def total(self) -> int:
        """Bytes of both directions."""
        return sum(self.passed.values())

    async def carry(self, way: Way, data: bytes) -> bytes:
        """What comes out at the other end."""
        return data


class Slow(Line):
    """Each piece takes its time, more or less."""

    def __init__(self, delay: float, jitter: float, seed: int = 0) -> None:
        super().__init__()
        self._delay, self._jitter, self._random = delay, jitter, random.Random(seed)

    async def carry(self, way: Way, data: bytes) -> bytes:
        await asyncio.sleep(self._delay + self._jitter * self._random.random())
        return data


class Narrow(Line):
    """So many bytes a second in each direction."""

    piece = 1 << 12

    def __init__(self, rate: float) -> None:
        super().__init__()
        self._rate = rate
        self._free = dict.fromkeys(Way, 0.0)

    async def carry(self, way: Way, data: bytes) -> bytes:
        now = asyncio.get_running_loop().time()
        # By the clock, or what each sleep takes too long would add up.
        self._free[way] = max(now, self._free[way]) + len(data) / self._rate
        await asyncio.sleep(self._free[way] - now)
        return data


class Cut(Line):
    """Ends once so many bytes have passed: with a reset, or in order as a truncated stream does."""

    def __init__(self, after: int, error: type[CutError] | type[EndError] = CutError) -> None:
        super().__init__()
        self._after, self._error = after, error

    async def carry(self, way: Way, data: bytes) -> bytes:
        if self.total + len(data) > self._after:
            raise self._error
        return data


class Deaf(Line):
    """Swallows what goes these ways once so many bytes have passed; the connection stays open."""

    def __init__(self, after: int, *ways: Way) -> None:
        super().__init__()
        self._after, self._ways = after, ways or tuple(Way)
        self.shut = False

    async def carry(self, way: Way, data: bytes) -> bytes:
        self.shut = self.shut or self.total + len(data) > self._after
        return b"" if self.shut and way in self._ways else data


class Changed(Line):
    """Changes one piece of a direction, the first beyond so many bytes of it."""

    def __init__(self, way: Way, after: int, change: Callable[[bytes], bytes]) -> None:
        super().__init__()
        self._way, self._after, self._change = way, after, change
        self._done = False

    async def carry(self, way: Way, data: bytes) -> bytes:
        if self._done or way is not self._way or self.passed[way] + len(data) <= self._after:
            return data
        self._done = True
        return self._change(data)


def flipped(data: bytes) -> bytes:
    """One bit is another."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def doubled(data: bytes) -> bytes:
    """It comes twice."""
    return data * 2


def swapped(data: bytes) -> bytes:
    """Its halves come in the wrong order."""
    middle = len(data) // 2
    return data[middle:] + data[:middle]


class Relay:
    """Listens on a port of its own and dials the curator.

    Args:
        port: of the curator on this machine.
        line: of the n-th connection, counted from 0.
    """

    def __init__(self, port: int, line: Callable[[int], Line]) -> None:
        self._target, self._line = port, line
        self._server: asyncio.Server | None = None
        self._links: set[asyncio.Task[None]] = set()
        self.lines: list[Line] = []
        self.port = 0

    async def __aenter__(self) -> Self:
        listener = socket.create_server(("127.0.0.1", 0))
        _shrink(listener)
        self._server = await asyncio.start_server(self._welcome, sock=listener)
        self.port = listener.getsockname()[1]
        return self

    async def __aexit__(self, *_error: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._links:
            task.cancel()
        await asyncio.gather(*self._links, return_exceptions=True)

    def _welcome(self, near: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(near, near_out))
        self._links.add(task)
        task.add_done_callback(self._links.discard)

    async def _serve(self, near: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        line = self._line(len(self.lines))
        self.lines.append(line)
        onward = socket.socket()
        _shrink(onward)
        onward.setblocking(False)
        await asyncio.get_running_loop().sock_connect(onward, ("127.0.0.1", self._target))
        far, far_out = await asyncio.open_connection(sock=onward)
        pumps = [
            asyncio.create_task(_pump(line, Way.UP, near, far_out)),
            asyncio.create_task(_pump(line, Way.DOWN, far, near_out)),
        ]
        cut = False
        try:
            ended, _ = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            cut = any(isinstance(pump.exception(), CutError) for pump in ended)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for writer in (near_out, far_out):
                if cut:
                    writer.transport.abort()
                else:
                    writer.close()


def _shrink(link: socket.socket) -> None:
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)


async def _pump(line: Line, way: Way, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    target.transport.set_write_buffer_limits(high=0)
    with contextlib.suppress(OSError, EndError):
        while data := await source.read(line.piece):
            out = await line.carry(way, data)
            line.passed[way] += len(data)
            target.write(out)
            await target.drain()
        line.hung_up = line.hung_up or way
