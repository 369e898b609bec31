"""Who takes notices: a web server and a mail server on this machine, which do as a test wants."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller

from tests.harness.walkthrough import free_port

HOST = "127.0.0.1"


class Hook:
    """A webhook: what it was posted, and what it answers with."""

    def __init__(self) -> None:
        self.posted: list[dict[str, Any]] = []
        self.answer: Callable[[BaseHTTPRequestHandler], None] = lambda handler: handler.send_response(204)
        self.url = ""

    @property
    def texts(self) -> list[str]:
        return [notice["text"] for document in self.posted for notice in document["notices"]]


@contextmanager
def webhook() -> Iterator[Hook]:
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(length := int(self.headers["Content-Length"]))
            if len(content) < length:
                return  # whoever sent it was killed meanwhile
            hook.answer(self)
            # Before the sender has its answer, so that whoever waits for it finds what was sent.
            hook.posted.append(json.loads(content))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer((HOST, 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    hook.url = f"http://{HOST}:{server.server_port}/hook/secret-key"
    try:
        yield hook
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Mailbox:
    """A mail server's box; it refuses mail for addresses that begin with ``nobody``."""

    def __init__(self) -> None:
        self.messages: list[EmailMessage] = []
        self.port = 0

    async def handle_RCPT(  # noqa: N802 - the library's name
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        if address.startswith("nobody"):
            return "550 no such mailbox here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        self.messages.append(message_from_bytes(envelope.content, policy=policy.default))  # type: ignore[arg-type]
        return "250 OK"


@contextmanager
def mail_server(**options: Any) -> Iterator[Mailbox]:
    """A real SMTP server.

    Args:
        options: of aiosmtpd's controller, such as an authenticator.
    """
    box = Mailbox()
    box.port = free_port()
    controller = Controller(box, hostname=HOST, port=box.port, **options)
    controller.start()
    try:
        yield box
    finally:
        controller.stop()
