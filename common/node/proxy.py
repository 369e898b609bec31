"""A proxy that lets a node dial out (HTTP CONNECT), as its settings name it.

Its password is in the settings and on the way to the proxy, and nowhere else: no text form shows it.
"""

from __future__ import annotations

import os
import re
import socket
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from privity.common.errors import Problem
from privity.common.formats.declared_keys import text
from privity.common.text.visible import in_line

_NAME = r"(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})"
_FORM = re.compile(rf"http://(?:({_NAME}+)(?::({_NAME}*))?@)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{{1,5}})/?")
LARGEST_ANSWER = 1 << 16
ENVIRONMENT = ("grpc_proxy", "https_proxy", "http_proxy")
"""Variables in which gRPC looks for a proxy, in this order."""


@dataclass(frozen=True)
class Proxy:
    """``http://[USER[:PASSWORD]@]HOST:PORT``; the text form is without user and password."""

    host: str
    port: int
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    url: str = field(default="", repr=False)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


class ProxyRefusedError(Exception):
    """The proxy answered, but not with a way through; the text is its status line.

    Attributes:
        status: its number; 0 if it does not speak HTTP.
    """

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


def parse_proxy(url: str) -> Proxy:
    """The proxy of an address; ValueError if it is none, without repeating it."""
    found = _FORM.fullmatch(url)
    if found is None or not 0 < int(found[4]) < 1 << 16:
        raise ValueError("it does not have the form http://[USER:PASSWORD@]HOST:PORT")
    user, password = (None if part is None else unquote(part) for part in found.groups()[:2])
    return Proxy(found[3].strip("[]"), int(found[4]), user, password, url.rstrip("/"))


def proxy_problems(document: dict[str, Any], file: str) -> list[Problem]:
    """What is wrong with the key ``proxy`` of a settings file; the value is not repeated."""
    value = document.get("proxy")
    if not isinstance(value, str) or not value:
        return []  # absent, or a fault of the format
    try:
        parse_proxy(value)
    except ValueError as error:
        remedy = "Write for instance http://proxy.example.org:3128; %40 for @ and %3A for : in a password."
        return [Problem(file, "proxy", "proxy", f"{error}.", remedy)]
    return []


def proxy_key() -> Any:
    """The key ``proxy`` of a settings file."""
    return text(
        "proxy to connect through (HTTP CONNECT), `http://HOST:PORT` or `http://USER:PASSWORD@HOST:PORT`, in which"
        " `%40` stands for `@` and `%3A` for `:`. Keep the file to yourself if there is a password in it",
        4096, default=None, read=lambda value, _folder: parse_proxy(value), problems=proxy_problems,
        example='"http://proxy.example.org:3128"',
    )  # fmt: skip


def proxy_of_environment(host: str) -> Proxy | None:
    """The proxy through which gRPC dials this host if no settings name one."""
    found = next((os.environ[name] for name in ENVIRONMENT if os.environ.get(name)), None)
    spared = os.environ.get("no_grpc_proxy", os.environ.get("no_proxy", "")).split(",")  # noqa: SIM112 - their names
    if found is None or any(host.lower().endswith(end.strip().lower()) for end in spared if end.strip()):
        return None
    try:
        return parse_proxy(found)
    except ValueError:
        return None


def channel_options(proxy: Proxy | None) -> list[tuple[str, Any]]:
    """What gRPC needs to go through the proxy; without one the environment's variables count, as gRPC reads them."""
    if proxy is None:
        return []
    # gRPC asks the environment for exceptions even if the channel names its proxy: there are none.
    os.environ["no_grpc_proxy"] = ""  # noqa: SIM112 - its name
    return [("grpc.enable_http_proxy", 1), ("grpc.http_proxy", proxy.url)]


def dial(proxy: Proxy, host: str, port: int, seconds: float) -> socket.socket:
    """A connection to host and port through the proxy, which resolves the name.

    Raises:
        OSError: the proxy cannot be reached, or hangs up.
        ProxyRefusedError: it does not let us through.
    """
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
    if proxy.user is not None:
        pair = b64encode(f"{proxy.user}:{proxy.password or ''}".encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {pair}")
    link = socket.create_connection((proxy.host, proxy.port), seconds)
    try:
        link.sendall("".join(f"{line}\r\n" for line in [*lines, ""]).encode())
        line = _head(link).partition(b"\r\n")[0].decode("ascii", "replace")
        shown = in_line(line[:200])
        answer = re.fullmatch(r"HTTP/1\.[01] ([0-9]{3})(?: .*)?", shown)
        if answer is None:
            raise ProxyRefusedError(0, "it does not speak HTTP")
        if not answer[1].startswith("2"):
            raise ProxyRefusedError(int(answer[1]), shown)
    except BaseException:
        link.close()
        raise
    return link


def _head(link: socket.socket) -> bytes:
    """What comes up to the empty line, and nothing of what follows it."""
    head = bytearray()
    while not head.endswith(b"\r\n\r\n") and len(head) < LARGEST_ANSWER:
        more = link.recv(1)
        if not more:
            if not head:
                raise ConnectionResetError(None, "it hangs up")
            break
        head += more
    return bytes(head)
