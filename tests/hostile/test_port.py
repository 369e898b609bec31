"""Raw bytes at the curator's port, and replies that are too large, too many, or never end: the service goes on."""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from fractions import Fraction
from pathlib import Path

import grpc
import grpc.aio
import pytest

from privity.common.protocol.steps import Done, Enrol, Sum
from privity.common.wire.codec import CHUNK_BYTES, LARGEST_REPLY, encode_reply
from privity.common.wire.v1 import privity_pb2 as pb
from privity.common.wire.v1 import privity_pb2_grpc as rpc
from tests.harness.command import wait_until
from tests.harness.consortium import make_consortium
from tests.harness.ledgers import charged
from tests.harness.network import HOST, NetworkConsortium, channel
from tests.harness.steps import pure
from tests.hostile.tally import memory_mb

pytestmark = pytest.mark.process

NO_NOISE = Fraction(100)
CONNECTIONS = 30


def member_context(network: NetworkConsortium) -> ssl.SSLContext:
    """Mutual TLS as party-1."""
    context = ssl.create_default_context(cadata=network.consortium.tls.authority.cert_pem.decode())
    context.load_cert_chain(network.folder / "party-party-1.pem", network.folder / "party-party-1.key")
    context.set_alpn_protocols(["h2"])
    return context


def anonymous_context(network: NetworkConsortium) -> ssl.SSLContext:
    """TLS without a certificate of one's own."""
    context = ssl.create_default_context(cadata=network.consortium.tls.authority.cert_pem.decode())
    context.set_alpn_protocols(["h2"])
    return context


def in_clear(_network: NetworkConsortium) -> None:
    return None


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
RAW = {
    "no TLS": (in_clear, b"\x00" * 5_000),
    "HTTP/1": (in_clear, b"GET / HTTP/1.1\r\nHost: curator\r\n\r\n"),
    "a hello of TLS that breaks off": (in_clear, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    "HTTP/2 in clear": (in_clear, PREFACE + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
    "nothing at all": (in_clear, b""),
    "no certificate": (anonymous_context, PREFACE),
    "HTTP/1 from a member": (member_context, b"POST /common.wire.v1.PartyLink/Alive HTTP/1.1\r\n\r\n"),
    "garbage from a member": (member_context, b"\xff" * 100_000),
    "frames that are none": (member_context, PREFACE + b"\xff\xff\xff\x09\xff\xff\xff\xff\xff" * 500),
    "a frame without end": (
        member_context,
        PREFACE + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00" + b"\x00\x40\x00\x01\x05",
    ),
}


@pytest.mark.parametrize("what", RAW)
def test_the_service_goes_on_after_raw_bytes(tmp_path: Path, what: str) -> None:
    context, data = RAW[what]

    async def send(network: NetworkConsortium) -> asyncio.StreamWriter | None:
        try:
            _, writer = await asyncio.open_connection(
                HOST, network.port, ssl=context(network), server_hostname=HOST if context(network) else None
            )
            writer.write(data)
            await asyncio.wait_for(writer.drain(), 10)
        except (OSError, ssl.SSLError):
            return None  # hung up already
        return writer

    async def scenario() -> None:
        consortium = make_consortium(2)
        async with NetworkConsortium(tmp_path, consortium) as network:
            # They stay open while a round is taken.
            held = [await send(network) for _ in range(CONNECTIONS)]
            plan = await network.begin(consortium.spec(epsilon=NO_NOISE))
            (table,) = await network.session(plan).measure("test", [(0, 1)], pure(NO_NOISE))
            assert table.counts.sum() == 120
            for writer in held:
                if writer is not None:
                    writer.transport.abort()

    asyncio.run(scenario())


def alive_by_hand() -> bytes:
    """The call ``Alive`` in plain HTTP/2: gRPC's own client would not speak TLS 1.2."""

    def frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
        return struct.pack(">I", len(body))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + body

    def field(name: bytes, value: bytes) -> bytes:
        return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value

    fields = {
        b":method": b"POST",
        b":scheme": b"https",
        b":path": b"/common.wire.v1.PartyLink/Alive",
        b":authority": b"localhost",
        b"te": b"trailers",
        b"content-type": b"application/grpc",
    }
    headers = b"".join(field(*each) for each in fields.items())
    return PREFACE + frame(4, 0, 0, b"") + frame(1, 4, 1, headers) + frame(0, 1, 1, bytes(5))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_call_counts_over_tls_1_3_alone(tmp_path: Path, version: ssl.TLSVersion) -> None:
    async def scenario() -> tuple[bool, float | None]:
        async with NetworkConsortium(tmp_path, make_consortium(2), dialling=False) as network:
            network.consortium.tls.files(tmp_path, "party", "party-1")
            context = member_context(network)
            context.maximum_version = version
            _, writer = await asyncio.open_connection(HOST, network.port, ssl=context)
            writer.write(alive_by_hand())
            figures = network.server.metrics.registry.get_sample_value
            name = ("privity_curator_calls_refused_total", {"reason": "old-tls"})
            await asyncio.to_thread(
                wait_until, lambda: figures(*name) or network.server.desk.connected("party-1"), "an answer"
            )
            writer.transport.abort()
            return network.server.desk.connected("party-1"), figures(*name)

    assert asyncio.run(scenario()) == ((True, 0.0) if version is ssl.TLSVersion.TLSv1_3 else (False, 1.0))


class AsParty2:
    """The party's certificate in other hands; its own node is away."""

    def __init__(self, network: NetworkConsortium) -> None:
        self.channel = channel(network, network.consortium.tls.pairs["party/party-2"])
        self.link = rpc.PartyLinkStub(self.channel)

    async def code_of(self, chunks: AsyncIterator[pb.Chunk]) -> str:
        try:
            await asyncio.wait_for(self.link.SendReply(chunks), 60)
        except grpc.aio.AioRpcError as error:
            return error.code().name
        return "OK"


def with_party_2(tmp_path: Path, attack: Callable[[NetworkConsortium, AsParty2], Awaitable[None]]) -> None:
    """The attack, and then a run in which the real party takes part."""

    async def scenario() -> None:
        consortium = make_consortium(2)
        async with NetworkConsortium(tmp_path, consortium) as network:
            await network.stop_agent("party-2")
            attacker = AsParty2(network)
            await attack(network, attacker)
            await attacker.channel.close()
            network.start_agent("party-2")
            await network.begin(consortium.spec(run="run-2"))
        assert all(charged(party.ledger) == [] for party in consortium.parties.values())

    asyncio.run(scenario())


async def megabytes(number: int) -> AsyncIterator[pb.Chunk]:
    for _ in range(number):
        yield pb.Chunk(data=b"\x00" * CHUNK_BYTES)


def test_a_large_reply_that_nobody_waits_for_is_not_collected(tmp_path: Path) -> None:
    async def attack(_network: NetworkConsortium, party: AsParty2) -> None:
        before = memory_mb()
        assert {await party.code_of(megabytes(200)) for _ in range(5)} == {"OK"}
        assert memory_mb() - before < 50

    with_party_2(tmp_path, attack)


def test_a_reply_larger_than_the_step_can_have_is_refused(tmp_path: Path) -> None:
    async def attack(network: NetworkConsortium, party: AsParty2) -> None:
        asking = asyncio.create_task(
            network.server.desk.ask("party-2", network.consortium.signed(Enrol(network.consortium.spec())), "enrolment")
        )
        await asyncio.sleep(0.1)
        assert network.server.desk.largest_reply("party-2") == LARGEST_REPLY
        before = memory_mb()
        # The call may end before the client has read why.
        assert await party.code_of(megabytes(200)) in {"RESOURCE_EXHAUSTED", "INTERNAL"}
        assert memory_mb() - before < 50
        assert not asking.done()
        asking.cancel()

    with_party_2(tmp_path, attack)


def test_a_party_has_one_reply_on_its_way_however_many_it_begins(tmp_path: Path) -> None:
    async def attack(network: NetworkConsortium, party: AsParty2) -> None:
        asking = asyncio.create_task(
            network.server.desk.ask("party-2", network.consortium.signed(Enrol(network.consortium.spec())), "enrolment")
        )
        await asyncio.sleep(0.1)
        go_on = asyncio.Event()

        async def stalled() -> AsyncIterator[pb.Chunk]:
            yield pb.Chunk(data=b"\x00" * 1_000)
            await go_on.wait()
            yield pb.Chunk(data=b"\x00")

        calls = [asyncio.create_task(party.code_of(stalled())) for _ in range(20)]
        await asyncio.sleep(1.0)
        go_on.set()
        codes = await asyncio.gather(*calls)
        assert sorted(codes) == ["ABORTED"] * 19 + ["INVALID_ARGUMENT"]
        asking.cancel()

    with_party_2(tmp_path, attack)


def test_a_spoilt_reply_fails_the_step_that_it_answers_by_name(tmp_path: Path) -> None:
    async def attack(network: NetworkConsortium, party: AsParty2) -> None:
        desk = network.server.desk
        asking = asyncio.create_task(
            desk.ask("party-2", network.consortium.signed(Enrol(network.consortium.spec())), "enrolment")
        )
        await asyncio.sleep(0.1)
        spoilt = pb.Reply(run="run-1", key="enrol", enrolled=pb.Enrolled(enrolment=b"[" * 5_000))

        async def one() -> AsyncIterator[pb.Chunk]:
            yield pb.Chunk(data=spoilt.SerializeToString())

        assert await party.code_of(one()) == "INVALID_ARGUMENT"
        with pytest.raises(Exception, match="party-2 sent something that is not a message of this protocol"):
            await asyncio.wait_for(asking, 10)

    with_party_2(tmp_path, attack)


def test_replies_replayed_or_for_another_run_or_round_are_dropped(tmp_path: Path) -> None:
    async def attack(network: NetworkConsortium, party: AsParty2) -> None:
        spec = network.consortium.spec()
        asking = asyncio.create_task(network.server.desk.ask("party-2", Enrol(spec), "enrolment"))
        await asyncio.sleep(0.1)
        others = [("run-9", "enrol", Done()), ("run-1", "begin", Done()), ("run-1", "combine/1/1/0/0", Sum(b"x"))]
        for run, key, reply in [*others, others[0]]:

            async def one(message: bytes = encode_reply(run, key, reply)) -> AsyncIterator[pb.Chunk]:
                yield pb.Chunk(data=message)

            assert await party.code_of(one()) == "OK"
        assert not asking.done()
        asking.cancel()

    with_party_2(tmp_path, attack)
