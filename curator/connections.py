"""Who holds the curator's connections, and an end to those that are more than somebody's share.

gRPC accepts connections and tells nobody. Here its sockets are looked at beside it: which of them are connections, from
where, and, once a call came over one, whose. Members of one role share a pool, so that no operator keeps out parties.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import stat
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.parse import unquote

import grpc
import grpc.aio

from privity.common.consortium.manifest import Manifest
from privity.common.crypto.certificates import identity_from_san
from privity.common.errors import Catalogue, PrivityError
from privity.curator.metrics import CuratorMetrics, Pool, Unwelcome

FILES = "/dev/fd"
LOOK_SECONDS, WORK_SHARE = 0.25, 10
"""How often connections are looked at; never more than one part of so many of the time is spent on it."""
SILENT_SECONDS = 20.0
"""For how long a connection may bring no call: a handshake may take ten seconds, and the call is sent after it."""
MOST_OF_ONE = 64
"""Connections of one certificate: a node keeps two or three, and a lost one lingers."""
TLS = b"TLSv1.3"

Place = tuple[str, int]
"""Address and port of the other end."""

_log = logging.getLogger("privity.curator")


class Connections(grpc.aio.ServerInterceptor):
    """Of one server; as its interceptor it learns whose call came over which connection.

    Args:
        most: how many may be open in all.
        manifest: gives the newest one: who shares a pool.
    """

    def __init__(self, most: int, manifest: Callable[[], Manifest], metrics: CuratorMetrics) -> None:
        self._most, self._manifest, self._metrics = most, manifest, metrics
        self._calls: dict[Place, tuple[str, float]] = {}
        """Whose the newest call was, and when, by where it came from."""
        self._since: dict[Place, float] = {}
        self._held = dict.fromkeys(Pool, 0)
        self._told: set[str] = set()

    def held(self) -> Mapping[str, int]:
        """Connections of each pool, as they were looked at last."""
        return {pool.value: count for pool, count in self._held.items()}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        kinds = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")
        return handler._replace(**{kind: self._noted(method) for kind in kinds if (method := getattr(handler, kind))})

    def _noted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(request: Any, context: grpc.aio.ServicerContext) -> Any:
            self._note(context)
            return method(request, context)

        return call

    def _note(self, context: grpc.aio.ServicerContext) -> None:
        """Keep whose connection it is.

        Raises:
            PrivityError: identity-unknown: it is not TLS 1.3.
        """
        shown = context.auth_context()
        if shown.get("ssl_tls_version") != [TLS]:
            self._metrics.call_refused(Unwelcome.OLD_TLS)
            reason = "its connection is not TLS 1.3"
            raise PrivityError(Catalogue.IDENTITY_UNKNOWN, identity="the caller", reason=reason)
        # A certificate that names nobody is refused by each service.
        with contextlib.suppress(ValueError):
            role, name = identity_from_san(shown.get("x509_subject_alternative_name", []))
            place = _place_of_peer(context.peer())
            if place is not None and role in (Pool.PARTY, Pool.OPERATOR):
                self._calls[place] = (f"{role}/{name}", time.monotonic())

    async def watch(self, port: int) -> None:
        """For ever: end what is too much of the connections to this port."""
        while True:
            began = time.monotonic()
            await asyncio.to_thread(self.look, port)
            await asyncio.sleep(max(LOOK_SECONDS, WORK_SHARE * (time.monotonic() - began)))

    def look(self, port: int) -> None:
        """Once."""
        now = time.monotonic()
        links = _links(port)
        try:
            self._since = {place: self._since.get(place, now) for place in links}
            calls = dict(self._calls)
            for place, (_, at) in calls.items():
                if place not in links and at < now:
                    self._calls.pop(place, None)
            of: dict[str, list[Place]] = defaultdict(list)
            for place in sorted(links, key=lambda place: self._since[place]):
                of[calls[place][0] if place in calls else Pool.SILENT].append(place)
            for place in self._surplus(of, now):
                # gRPC finds the end of it here, and the caller there.
                with contextlib.suppress(OSError):
                    links[place].shutdown(socket.SHUT_RDWR)
        finally:
            for link in links.values():
                link.close()

    def _surplus(self, of: Mapping[str, list[Place]], now: float) -> list[Place]:
        """Those to be ended: of each certificate the newest beyond its share, and too many silent ones."""
        found, held = list[Place](), dict.fromkeys(Pool, 0)
        for holder, places in of.items():
            pool = Pool(holder.partition("/")[0])
            held[pool] += len(places)
            share = self._share(pool)
            self._tell(holder, len(places), share)
            surplus = self._silent_surplus(places, share, now) if pool is Pool.SILENT else places[share:]
            self._metrics.connections_ended(pool.value, len(surplus))
            found += surplus
        self._held = held
        return found

    def _silent_surplus(self, places: list[Place], share: int, now: float) -> list[Place]:
        """Those from which too long no call came, and the oldest of the addresses that have most.

        A member's own call comes at once: nobody keeps it out by being silent, from the same address either.
        """
        found = [place for place in places if now - self._since[place] > SILENT_SECONDS]
        left: dict[str, list[Place]] = defaultdict(list)
        for place in places[len(found) :]:
            left[place[0]].append(place)
        for _ in range(len(places) - len(found) - share):
            found.append(max(left.values(), key=len).pop(0))
        return found

    def _share(self, pool: Pool) -> int:
        """Connections of one certificate: an equal share of its role's pool, and ``MOST_OF_ONE`` at most."""
        size = self._most // (2 if pool is Pool.PARTY else 4)
        if pool is Pool.SILENT:
            return size
        sharing = sum(holder.startswith(f"{pool}/") for holder in self._manifest().certificates)
        return max(1, min(MOST_OF_ONE, size // max(1, sharing)))

    def _tell(self, holder: str, count: int, share: int) -> None:
        """One line when half of a share is in use, and another one only after it was a quarter."""
        if 2 * count >= share and holder not in self._told:
            self._told.add(holder)
            _log.warning("half of the connections that it may have are in use", extra={"holder": holder})
        elif 4 * count < share:
            self._told.discard(holder)


def _place(host: str, port: int) -> Place:
    address = ip_address(host.partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return str(address), port


def _place_of_peer(peer: str) -> Place | None:
    """The other end as gRPC names it: ``ipv4:HOST:PORT`` or ``ipv6:[HOST]:PORT``; None if it is no such."""
    kind, _, rest = unquote(peer).partition(":")
    host, _, port = rest.rpartition(":")
    return _place(host.strip("[]"), int(port)) if kind in ("ipv4", "ipv6") else None


def _links(port: int) -> dict[Place, socket.socket]:
    """The connections to this port that this process holds, each as a second handle: one cannot become another's."""
    found: dict[Place, socket.socket] = {}
    for name in os.listdir(FILES):
        with contextlib.suppress(OSError):
            if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                continue
            handle = os.dup(int(name))
            try:
                link = socket.socket(fileno=handle)
            except OSError:
                os.close(handle)  # a file has taken its number
                continue
            with contextlib.suppress(OSError):  # it listens, or has ended
                if link.family in (socket.AF_INET, socket.AF_INET6) and link.getsockname()[1] == port:
                    found[_place(*link.getpeername()[:2])] = link
                    continue
            link.close()
    return found
