"""The wire: real gRPC over mutual TLS between production server and agents."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from pathlib import Path

import grpc
import grpc.aio
import pytest

from common.errors import PrivityError
from common.protocol.sum_kind import MASKS, PAILLIER, SumKind
from common.wire.codec import CHUNK_BYTES
from common.wire.v1 import privity_pb2 as pb
from common.wire.v1 import privity_pb2_grpc as rpc
from tests.harness.consortium import make_consortium
from tests.harness.network import HOST, NetworkConsortium

NO_NOISE = Fraction(600)


@pytest.mark.parametrize("kind", [PAILLIER, MASKS], ids=lambda kind: kind.method.value)
def test_a_round_of_several_blocks_and_chunks(tmp_path: Path, kind: SumKind) -> None:
    sizes: list[int] = []

    class Sizes(grpc.aio.ServerInterceptor):
        async def intercept_service(self, continuation, details):
            handler = await continuation(details)
            inner = handler.request_deserializer

            def measure(data: bytes):
                sizes.append(len(data))
                return inner(data)

            return handler._replace(request_deserializer=measure)

    async def scenario() -> tuple[int, int]:
        consortium = make_consortium(3, domain=(300, 300), rows=50)
        async with NetworkConsortium(tmp_path, consortium, interceptors=(Sizes(),)) as network:
            plan = await network.begin(consortium.spec(epsilon=NO_NOISE, secure_sum=kind))
            (table,) = await network.session(plan).measure("test", [(0, 1)], NO_NOISE)
        return int(table.counts.sum()), len(consortium.journal.keys("run-1/sum/"))

    total, blocks = asyncio.run(scenario())
    assert total == 150
    assert blocks > 1
    assert max(sizes) <= CHUNK_BYTES + 64


def test_a_party_that_comes_back_is_given_its_step_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(3)
        async with NetworkConsortium(tmp_path, consortium) as network:
            plan = await network.begin()
            await network.stop_agent("party-2")
            measuring = asyncio.create_task(network.session(plan).measure("test", [(0, 1)], Fraction(1)))
            await asyncio.sleep(0.5)
            assert not measuring.done()
            network.start_agent("party-2")
            await measuring

    asyncio.run(scenario())


def test_a_silent_party_is_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(3)
        async with NetworkConsortium(tmp_path, consortium, patience=1.0) as network:
            plan = await network.begin()
            await network.stop_agent("party-2")
            with pytest.raises(PrivityError, match=r"no answer from party-2 .* in test"):
                await network.session(plan).measure("test", [(0, 1)], Fraction(1))

    asyncio.run(scenario())


def channel(network: NetworkConsortium, member: str, role: str, *, authority=None) -> grpc.aio.Channel:
    own = network.authority
    if authority:
        network.authority = authority
    certificate, key = network.certificate(member, role)
    network.authority = own
    credentials = grpc.ssl_channel_credentials(
        (network.folder / "authority.pem").read_bytes(), key.read_bytes(), certificate.read_bytes()
    )
    return grpc.aio.secure_channel(f"{HOST}:{network.port}", credentials)


async def code_of(call) -> grpc.StatusCode:
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def test_identities_come_from_certificates(tmp_path: Path) -> None:
    from common.crypto.certificates import make_authority

    async def scenario() -> dict[str, grpc.StatusCode]:
        consortium = make_consortium(2)
        codes = {}
        async with NetworkConsortium(tmp_path, consortium) as network:
            for name, member, role in (
                ("member", "party-1", "party"),
                ("stranger", "party-9", "party"),
                ("operator as party", "party-1", "operator"),
            ):
                async with channel(network, member, role) as link:
                    codes[name] = await code_of(rpc.PartyLinkStub(link).Alive(pb.AliveRequest()))
            async with channel(network, "party-1", "party") as link:
                call = rpc.OperatorStub(link).Submit(pb.SubmitRequest(token="t", request=b"{}"))
                codes["party as operator"] = await code_of(call)
            async with channel(network, "boss", "operator") as link:
                call = rpc.OperatorStub(link).Submit(pb.SubmitRequest(token="t", request=b"{}"))
                codes["operator with a bad request"] = await code_of(call)
            async with channel(network, "party-1", "party", authority=make_authority("another")) as link:
                codes["another authority"] = await code_of(rpc.PartyLinkStub(link).Alive(pb.AliveRequest()))
            async with grpc.aio.insecure_channel(f"{HOST}:{network.port}") as link:
                codes["no TLS"] = await code_of(rpc.PartyLinkStub(link).Alive(pb.AliveRequest(), timeout=5))
        return codes

    codes = asyncio.run(scenario())
    denied = grpc.StatusCode.PERMISSION_DENIED
    assert codes["member"] == grpc.StatusCode.OK
    assert codes["stranger"] == codes["operator as party"] == codes["party as operator"] == denied
    assert codes["operator with a bad request"] == grpc.StatusCode.INVALID_ARGUMENT
    assert codes["another authority"] == codes["no TLS"] == grpc.StatusCode.UNAVAILABLE


def test_a_party_cannot_answer_for_another(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        async with NetworkConsortium(tmp_path, consortium) as network:
            await network.stop_agent("party-2")
            asking = asyncio.create_task(network.begin())
            await asyncio.sleep(0.3)
            from common.protocol.steps import Done
            from common.wire.codec import encode_reply

            async with channel(network, "party-1", "party") as link:

                async def forged():
                    yield pb.Chunk(data=encode_reply("run-1", "enrol", Done()))

                await rpc.PartyLinkStub(link).SendReply(forged())
            await asyncio.sleep(0.3)
            assert not asking.done(), "party-1's reply was taken for party-2's"
            network.start_agent("party-2")
            await asking

    asyncio.run(scenario())


def test_bytes_that_are_no_reply_are_refused_and_the_service_goes_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        async with NetworkConsortium(tmp_path, consortium) as network:
            async with channel(network, "party-1", "party") as link:

                async def junk():
                    yield pb.Chunk(data=b"\xff" * 1000)

                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await rpc.PartyLinkStub(link).SendReply(junk())
                assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
            await network.begin()

    asyncio.run(scenario())


def test_an_agent_whose_identity_is_refused_stops_with_the_reason(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        async with NetworkConsortium(tmp_path, consortium) as network:
            consortium.parties["party-9"] = consortium.parties["party-1"]
            task = network.start_agent("party-9")
            with pytest.raises(PrivityError, match="may not call this"):
                await asyncio.wait_for(asyncio.shield(task), 20)

    asyncio.run(scenario())
