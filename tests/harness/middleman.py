"""A relay of messages between parties and curator, which holds certificates of both and so ends TLS on either side.

It can do to each message what no network can do inside TLS, and what a proxy that opens TLS, or a curator that is
started again at that moment, does: a call ends before or after its message is passed on, comes twice, late, or in part.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import NoReturn, Self

import grpc
import grpc.aio

from privity.common.consortium.manifest import CURATOR
from privity.common.crypto.certificates import identity_from_san
from privity.common.node.connection_silence import SILENCE_SECONDS, serving_options
from privity.common.protocol.steps import Pending, Refusal
from privity.common.wire.codec import CHUNK_BYTES, decode_reply, decode_step
from privity.common.wire.v1 import privity_pb2 as pb
from tests.harness.network import NetworkConsortium, channel

SERVICE = "common.wire.v1.PartyLink"
PIECES = 3
"""Chunks that each message is passed on in: a message in part is one that ends before its last chunk."""


class Kind(Enum):
    """What a message is."""

    STEP = "a step to a party"
    REPLY = "a reply to the curator"


@dataclass(frozen=True)
class Message:
    """One message of a run, wherever in the run's course it comes."""

    party: str
    kind: Kind
    run: str
    step: str


Deliver = Callable[[bytes], Awaitable[None]]
Abort = Callable[[], Awaitable[NoReturn]]


class Fault:
    """What becomes of a message; passes all on."""

    async def passes(self, message: Message, data: bytes, deliver: Deliver, abort: Abort) -> None:
        """Deliver the data to the one it is for, once, more often, later or not at all, or end the call."""
        await deliver(data)

    def again(self, party: str) -> bytes | None:
        """A step that the party is given although the curator was not asked for one."""
        return None


class Middleman:
    """Between the parties and the curator of a network.

    Attributes:
        seen: every message in the order in which it came first.
        answers: the replies to each step that is no refusal and no request to wait.
    """

    def __init__(self, network: NetworkConsortium, fault: Fault) -> None:
        self._network, self._fault = network, fault
        self._channels: dict[str, grpc.aio.Channel] = {}
        self.seen: list[Message] = []
        self.answers: dict[Message, set[bytes]] = defaultdict(set)
        self.port = 0

    async def __aenter__(self) -> Self:
        pairs = self._network.consortium.tls.pairs
        parties = b"".join(pair[0] for holder, pair in pairs.items() if holder.startswith("party/"))
        certificate, key = pairs[f"curator/{CURATOR}"]
        credentials = grpc.ssl_server_credentials([(key, certificate)], parties, require_client_auth=True)
        methods = {
            "NextStep": grpc.unary_stream_rpc_method_handler(self._next_step),
            "SendReply": grpc.stream_unary_rpc_method_handler(self._send_reply),
            "Alive": grpc.unary_unary_rpc_method_handler(self._passing("Alive")),
            "GetManifest": grpc.unary_unary_rpc_method_handler(self._passing("GetManifest")),
            "Publish": grpc.unary_unary_rpc_method_handler(self._passing("Publish")),
            "Fetch": grpc.unary_stream_rpc_method_handler(self._streaming("Fetch")),
            "Statements": grpc.unary_stream_rpc_method_handler(self._streaming("Statements")),
        }
        self._server = grpc.aio.server(options=serving_options(SILENCE_SECONDS))
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
        self.port = self._server.add_secure_port("127.0.0.1:0", credentials)
        await self._server.start()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._server.stop(grace=None)
        for opened in self._channels.values():
            await opened.close()

    def _party(self, context: grpc.aio.ServicerContext) -> str:
        return identity_from_san(context.auth_context()["x509_subject_alternative_name"])[1]

    def _channel(self, party: str) -> grpc.aio.Channel:
        if party not in self._channels:
            self._channels[party] = channel(self._network, self._network.consortium.tls.pairs[f"party/{party}"])
        return self._channels[party]

    def _passing(self, method: str) -> Callable[[bytes, grpc.aio.ServicerContext], Awaitable[bytes]]:
        async def call(request: bytes, context: grpc.aio.ServicerContext) -> bytes:
            async with _as_it_ended(context):
                return await self._channel(self._party(context)).unary_unary(f"/{SERVICE}/{method}")(request)

        return call

    def _streaming(self, method: str) -> Callable[[bytes, grpc.aio.ServicerContext], Awaitable[None]]:
        async def call(request: bytes, context: grpc.aio.ServicerContext) -> None:
            async with _as_it_ended(context):
                async for chunk in self._channel(self._party(context)).unary_stream(f"/{SERVICE}/{method}")(request):
                    await context.write(chunk)

        return call

    async def _next_step(self, request: bytes, context: grpc.aio.ServicerContext) -> None:
        party = self._party(context)
        data = self._fault.again(party)
        if data is None:
            async with _as_it_ended(context):
                call = self._channel(party).unary_stream(f"/{SERVICE}/NextStep")(request)
                data = b"".join([pb.Chunk.FromString(chunk).data async for chunk in call])
        if not data:
            return
        step = decode_step(data)
        message = self._note(Message(party, Kind.STEP, step.run, step.key))

        async def deliver(part: bytes) -> None:
            for chunk in _chunks(part):
                await context.write(chunk)

        await self._fault.passes(message, data, deliver, _abort(context))

    async def _send_reply(self, chunks: AsyncIterator[bytes], context: grpc.aio.ServicerContext) -> bytes:
        party = self._party(context)
        sent = [pb.Chunk.FromString(chunk) async for chunk in chunks]
        data = b"".join(chunk.data for chunk in sent)
        run, key, reply = decode_reply(data)
        message = self._note(Message(party, Kind.REPLY, run, key))
        if not isinstance(reply, Refusal | Pending):
            self.answers[message].add(data)

        async def deliver(part: bytes) -> None:
            call = self._channel(party).stream_unary(f"/{SERVICE}/SendReply")
            await call(_chunks(part, sent[0].process))

        async with _as_it_ended(context):
            await self._fault.passes(message, data, deliver, _abort(context))
        return pb.Receipt().SerializeToString()

    def _note(self, message: Message) -> Message:
        if message not in self.seen:
            self.seen.append(message)
        return message


def _chunks(data: bytes, process: str = "") -> list[bytes]:
    size = min(CHUNK_BYTES, max(1, -(-len(data) // PIECES)))
    parts = (data[start : start + size] for start in range(0, len(data), size))
    return [pb.Chunk(data=part, process=process).SerializeToString() for part in parts]


def _abort(context: grpc.aio.ServicerContext) -> Abort:
    async def abort() -> NoReturn:
        await context.abort(grpc.StatusCode.UNAVAILABLE, "cut")
        raise AssertionError

    return abort


@contextlib.asynccontextmanager
async def _as_it_ended(context: grpc.aio.ServicerContext) -> AsyncIterator[None]:
    """A call that the curator ends is ended here in the same way."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        await context.abort(error.code(), error.details() or "")
