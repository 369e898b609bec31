"""The server below a console: who may connect, and what of a request is taken before anything of it is kept.

- A connection of another account of this machine is closed at once (on Linux, by the kernel's table of connections).
- At ``MOST_CONNECTIONS`` the one that was silent longest makes room: whoever holds connections locks nobody out.
- Before a body is taken, its request must name this machine and the console's path, carry the session's cookie, and say
  that it is small.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import TcpWSGIServer

MOST_CONNECTIONS = 50
SILENT_SECONDS = 30
"""A connection on which nothing came for so long is closed."""
LARGEST_HEADER = 1 << 14
TABLE = Path("/proc/net/tcp")
"""Linux's list of the connections over IPv4 on this machine, with the account of each end."""
ROOT = 0


def account_of(client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """The account that holds the client's end of a connection on this machine; None if the table does not tell.

    Raises:
        OSError: this system has no such table.
    """
    ends = [_in_hexadecimal(client), _in_hexadecimal(server)]
    for line in TABLE.read_text(encoding="ascii").splitlines()[1:]:
        fields = line.split()
        if fields[1:3] == ends:
            return int(fields[7])
    return None


def _in_hexadecimal(end: tuple[str, int]) -> str:
    address = int.from_bytes(socket.inet_aton(end[0]), "little")
    return f"{address:08X}:{end[1]:04X}"


def is_of_this_user(client: tuple[str, int], server: tuple[str, int]) -> bool:
    """Whether this account, or root, holds the other end; on a system that does not tell, everybody counts."""
    try:
        return account_of(client, server) in (os.getuid(), ROOT)
    except OSError:
        return True


class _Channel(HTTPChannel):
    """A connection whose requests are checked before their bodies are taken."""

    def __init__(self, server: LocalServer, *arguments: Any, **named: Any) -> None:
        self.parser_class = server.parser
        super().__init__(server, *arguments, **named)


class LocalServer(TcpWSGIServer):
    """Serves the accounts that may connect.

    Args:
        listening: a socket that listens on the loopback address.
        refuses: says why the body of a request is not taken, by its host, path and cookies, or nothing.
        largest: bytes of a body.
    """

    channel_class = _Channel

    def __init__(
        self, app: Any, listening: socket.socket, threads: int, largest: int, refuses: Callable[[str, str, str], str]
    ) -> None:
        class Parser(HTTPRequestParser):
            def parse_header(self, header_plus: bytes) -> None:
                try:
                    super().parse_header(header_plus)
                finally:
                    self.expect_continue = False  # a refused request would be told to go on with its body
                if self.content_length > 0 or self.chunked:
                    if self.chunked:
                        raise ParsingError("Say how long the body is.")
                    told = self.headers
                    if why := refuses(told.get("HOST", ""), self.path, told.get("COOKIE", "")):  # type: ignore[attr-defined]
                        raise ParsingError(why)

        self.parser = Parser
        address = listening.getsockname()
        super().__init__(
            app, _sock=listening, bind_socket=False, sockinfo=(listening.family, listening.type, 0, address),
            threads=threads, ident=None, max_request_body_size=largest + 1, inbuf_overflow=2 * largest,
            max_request_header_size=LARGEST_HEADER, channel_timeout=SILENT_SECONDS, cleanup_interval=1,
            connection_limit=4 * MOST_CONNECTIONS,
        )  # fmt: skip

    def accept(self) -> Any:
        """The next connection that may stay; None if it may not."""
        accepted = super().accept()
        if accepted is None:
            return None
        connection, client = accepted
        if not is_of_this_user(client, connection.getsockname()):
            connection.close()
            return None
        held: dict[int, HTTPChannel] = self.active_channels  # type: ignore[assignment]
        while len(held) >= MOST_CONNECTIONS:
            # One whose request is at work comes last.
            channels = held.values()
            min(channels, key=lambda one: (bool(one.requests), one.last_activity)).handle_close()
        return accepted
