"""What both nodes have in common in their figures for Prometheus: the page, and how long certificates last.

Each node's figures are in a registry of its own, without those that the library adds of a process: processor time
would tell how long a party works on its rows.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from cryptography import x509
from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from privity.common.crypto.certificates import days_left
from privity.common.errors import Catalogue, PrivityError
from privity.common.node.certificate_expiry import Certificates, warn_of_expiry
from privity.common.notices.outbox import Outbox

LOOK_SECONDS = 10.0
"""Who asks sooner is shown the same figures: no step of a party can be timed by asking often."""

ASK_SECONDS = 10.0
"""A connection that is still open after so long is hung up on, whatever came: it holds a thread and a file."""

CONNECTIONS = 16
"""Connections at a time. One more ends another: of the address that has most, a silent one first, then the oldest."""

OTHER = "other"
_KNOWN = {kind.value.code for kind in Catalogue}


def known_code(code: str) -> str:
    """The code of an error as a label or in a log line; what came over the wire and is in no catalogue is ``other``."""
    return code if code in _KNOWN else OTHER


class CoarsePage(Collector):
    """The figures of a registry, taken anew every ``LOOK_SECONDS`` at most."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._lock = threading.Lock()
        self._taken = -LOOK_SECONDS
        self._kept: list[Metric] = []

    def collect(self) -> Iterable[Metric]:
        with self._lock:
            if time.monotonic() - self._taken >= LOOK_SECONDS:
                self._taken = time.monotonic()
                self._kept = list(self._registry.collect())
                for metric in self._kept:
                    # The library adds to every counter the moment at which it came about.
                    metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            return self._kept


class CertificateDays(Collector):
    """How long the certificates last that a node looks after."""

    def __init__(self, certificates: Certificates) -> None:
        self._certificates = certificates

    def collect(self) -> Iterable[Metric]:
        days = GaugeMetricFamily(
            "privity_certificate_days_left", "Whole days until a certificate expires.", labels=["holder"]
        )
        with contextlib.suppress(PrivityError, OSError, ValueError):
            for holder, pem in self._certificates().items():
                days.add_metric([holder], days_left(x509.load_pem_x509_certificate(pem.encode())))
        yield days


@dataclass
class _Held:
    """A connection.

    Attributes:
        address: of the other end; since: seconds of the monotonic clock; asked: whether its request has come.
    """

    address: str
    since: float
    asked: bool = False


class _Handler(WSGIRequestHandler):
    server: _Server

    def parse_request(self) -> bool:
        good = super().parse_request()
        self.server.has_asked(self.request)
        return good

    def log_message(self, *_: object) -> None:
        """Whoever asks is not told of."""


class _Server(ThreadingMixIn, WSGIServer):
    """Some connections at a time, each for some seconds."""

    daemon_threads = True
    request_queue_size = 8 * CONNECTIONS

    def __init__(self, *arguments: Any) -> None:
        self._held: dict[Any, _Held] = {}
        super().__init__(*arguments)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        self._held[request] = _Held(client_address[0], time.monotonic())
        while len(self._held) > CONNECTIONS:
            held = self._held.copy()
            of = Counter(one.address for one in held.values())
            self._hang_up(min(held, key=lambda one: (-of[held[one].address], held[one].asked, held[one].since)))
        return True

    def has_asked(self, request: Any) -> None:
        """A request is answered next, and its connection is not silent."""
        if held := self._held.get(request):
            held.asked = True

    def shutdown_request(self, request: Any) -> None:
        self._held.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        # Called every half second.
        for request, held in self._held.copy().items():
            if time.monotonic() - held.since > ASK_SECONDS:
                self._hang_up(request)

    def _hang_up(self, request: Any) -> None:
        """The thread of the connection reads its end then, and closes it."""
        self._held.pop(request, None)
        with contextlib.suppress(OSError):
            request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, *_: object) -> None:
        """No traceback of whoever hangs up, or is hung up on, to standard error."""


def _of_hosts(app: Any, own: str) -> Any:
    """The page for those who ask for an address, ``localhost``, a name without a dot or the name of the setting.

    A page on the web can have a name of its own point here (DNS rebinding); it has a dot.
    """

    def answer(environ: dict[str, Any], start: Any) -> Any:
        host = re.sub(r":[0-9]+$", "", environ.get("HTTP_HOST", "")).strip("[]")
        if "." in host and host != own and not _is_address(host):
            start("421 Misdirected Request", [("Content-Type", "text/plain")])
            return [b"Ask by the address, or by the name in the setting metrics.\n"]
        return app(environ, start)

    return answer


def _is_address(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(host))
    return False


@contextlib.contextmanager
def exported(address: str, registry: CollectorRegistry) -> Iterator[None]:
    """The registry's figures over HTTP at ``host:port``, for as long as the context lasts.

    Raises:
        PrivityError: connection-failed: nothing can listen there.
    """
    host, _, port = address.rpartition(":")
    page = CollectorRegistry()
    page.register(CoarsePage(registry))
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        of_family = type("_Server", (_Server,), {"address_family": found[0][0]})
        server: WSGIServer = make_server(
            str(found[0][4][0]), int(port), _of_hosts(make_wsgi_app(page), host), of_family, _Handler
        )
    except (OSError, OverflowError):
        raise PrivityError(
            Catalogue.CONNECTION_FAILED, address=address, reason="cannot show metrics there",
            hint="Choose a free port of this machine, or leave the setting out.",
        ) from None  # fmt: skip
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.asynccontextmanager
async def observed(
    address: str | None, registry: CollectorRegistry, certificates: Certificates, outbox: Outbox
) -> AsyncIterator[None]:
    """While a node serves: its figures at ``address``, if it has one, and notices, also before certificates expire."""
    registry.register(CertificateDays(certificates))
    with exported(address, registry) if address else contextlib.nullcontext(), outbox.sending():
        warning = asyncio.create_task(warn_of_expiry(certificates, outbox))
        try:
            yield
        finally:
            warning.cancel()
            await asyncio.gather(warning, return_exceptions=True)
