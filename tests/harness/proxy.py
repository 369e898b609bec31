"""A small real proxy (HTTP CONNECT), in a test's own loop or as a process that prints its port:
``python -m tests.harness.proxy PORT [USER:PASSWORD]``.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import sys
from typing import Self


class ConnectProxy:
    """Lets callers through to anywhere, unless told otherwise, and notes where they went.

    Args:
        credentials: ``user:password`` that callers must show.
        refusal: status line with which every caller is refused.
        names: addresses of host names that only this proxy knows.
    """

    def __init__(
        self, credentials: str | None = None, refusal: str | None = None, names: dict[str, str] | None = None
    ) -> None:
        self._expected = credentials and f"Basic {base64.b64encode(credentials.encode()).decode()}"
        self._refusal = refusal
        self._names = names or {}
        self._server: asyncio.Server | None = None
        self.asked: list[str] = []
        self.port = 0

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self._server = await asyncio.start_server(self._serve, host, port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_error: object) -> None:
        if self._server:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await self._let_through(reader, writer)
        writer.close()

    async def _let_through(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
        method, place, _ = request.split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        self.asked.append(place)
        if self._expected and headers.get("proxy-authorization") != self._expected:
            await self._answer(writer, "407 Proxy Authentication Required")
        elif self._refusal or method != "CONNECT":
            await self._answer(writer, self._refusal or "405 Method Not Allowed")
        else:
            await self._join(place, reader, writer)

    async def _join(self, place: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = place.rpartition(":")
        try:
            there, onward = await asyncio.open_connection(self._names.get(host, host), int(port))
        except OSError:
            await self._answer(writer, "503 Service Unavailable")
            return
        await self._answer(writer, "200 Connection established")
        await asyncio.gather(_pass_on(reader, onward), _pass_on(there, writer))

    async def _answer(self, writer: asyncio.StreamWriter, status: str) -> None:
        writer.write(f"HTTP/1.1 {status}\r\n\r\n".encode())
        await writer.drain()


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
    except OSError:
        pass  # either end may hang up
    finally:
        target.close()


async def _main(port: int, credentials: str | None = None) -> None:
    proxy = ConnectProxy(credentials)
    await proxy.start("0.0.0.0", port)
    print(proxy.port, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), *sys.argv[2:]))
