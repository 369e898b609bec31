"""The wire: real gRPC over mutual TLS between production server and agents."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path

import grpc
import grpc.aio
import pytest

from privity.common.consortium.manifest import read_manifest
from privity.common.crypto.certificates import Authority, issue, make_authority, self_signed
from privity.common.errors import PrivityError
from privity.common.protocol.secure_sum_method import MASKS, PAILLIER, SumKind
from privity.common.wire.codec import CHUNK_BYTES
from privity.common.wire.v1 import privity_pb2 as pb
from privity.common.wire.v1 import privity_pb2_grpc as rpc
from tests.harness.consortium import make_consortium
from tests.harness.network import HOST, NetworkConsortium, channel
from tests.harness.steps import laplace_round, pure
from tests.harness.tls import Pair

pytestmark = pytest.mark.process

NO_NOISE = Fraction(100)


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
            (table,) = await network.session(plan).measure("test", [(0, 1)], pure(NO_NOISE))
            context = consortium.context(plan, laplace_round("run-1", "test", "1-test", ((0, 1),), NO_NOISE))
        return int(table.counts.sum()), context.sum.blocks

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
            measuring = asyncio.create_task(network.session(plan).measure("test", [(0, 1)], pure(Fraction(1))))
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
                await network.session(plan).measure("test", [(0, 1)], pure(Fraction(1)))

    asyncio.run(scenario())


async def code_of(call) -> grpc.StatusCode:
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


async def alive(network: NetworkConsortium, pair: Pair, authority: bytes | None = None) -> grpc.StatusCode:
    async with channel(network, pair, authority) as link:
        return await code_of(rpc.PartyLinkStub(link).Alive(pb.AliveRequest(), timeout=5))


async def submits(network: NetworkConsortium, pair: Pair) -> grpc.StatusCode:
    async with channel(network, pair) as link:
        return await code_of(rpc.OperatorStub(link).Submit(pb.SubmitRequest(token="t", request=b"{}"), timeout=5))


def signed_by_a_member(network: NetworkConsortium, member: str) -> Pair:
    """A certificate for another name, signed with the key of a member that the manifest lists."""
    certificate, key = network.consortium.tls.pairs["party/party-1"]
    return issue(Authority(certificate, key), member, "party")


def test_identities_come_from_the_manifest(tmp_path: Path) -> None:
    async def scenario() -> dict[str, grpc.StatusCode]:
        consortium = make_consortium(2)
        pairs = consortium.tls.pairs
        async with NetworkConsortium(tmp_path, consortium, dialling=False) as network:
            codes = {
                "member": await alive(network, pairs["party/party-1"]),
                "stranger": await alive(network, self_signed("party-9", "party")),
                "a member's name under another key": await alive(network, self_signed("party-1", "party")),
                "of the curator's authority": await alive(network, issue(consortium.tls.authority, "party-1", "party")),
                "signed by a member": await alive(network, signed_by_a_member(network, "party-2")),
                "operator as party": await alive(network, pairs["operator/boss"]),
                "party as operator": await submits(network, pairs["party/party-1"]),
                "operator with a bad request": await submits(network, pairs["operator/boss"]),
                "another authority": await alive(network, pairs["party/party-1"], make_authority("b").cert_pem),
            }
            async with grpc.aio.insecure_channel(f"{HOST}:{network.port}") as link:
                codes["no TLS"] = await code_of(rpc.PartyLinkStub(link).Alive(pb.AliveRequest(), timeout=5))
        return codes

    codes = asyncio.run(scenario())
    assert codes.pop("member") == grpc.StatusCode.OK
    assert codes.pop("operator with a bad request") == grpc.StatusCode.INVALID_ARGUMENT
    for known in ("operator as party", "party as operator"):
        assert codes.pop(known) == grpc.StatusCode.PERMISSION_DENIED
    assert set(codes.values()) == {grpc.StatusCode.UNAVAILABLE}, codes


def test_an_expired_certificate_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class LongAgo(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) - timedelta(days=400)

    with monkeypatch.context() as patched:
        patched.setattr("privity.common.crypto.certificates.datetime", LongAgo)
        expired = self_signed("party-1", "party")

    async def scenario() -> grpc.StatusCode:
        consortium = make_consortium(2)
        listed = replace(
            consortium.manifest,
            certificates={**consortium.manifest.certificates, "party/party-1": expired[0].decode()},
        )
        async with NetworkConsortium(tmp_path, consortium) as network:
            network.seal(listed)
            return await alive(network, expired)

    assert asyncio.run(scenario()) == grpc.StatusCode.UNAVAILABLE


def test_a_party_that_is_taken_out_is_cut_off_at_once_and_a_new_certificate_serves(tmp_path: Path) -> None:
    """Nobody is restarted: the manifest's file changes, that is all."""

    async def scenario() -> None:
        consortium = make_consortium(3)
        first, other = consortium.manifest, self_signed("party-2", "party")
        async with NetworkConsortium(tmp_path, consortium, dialling=False) as network:
            async with channel(network, consortium.tls.pairs["party/party-2"]) as link:
                stub = rpc.PartyLinkStub(link)
                assert await code_of(stub.Alive(pb.AliveRequest())) == grpc.StatusCode.OK
                certificates = {**first.certificates, "party/party-2": other[0].decode()}
                network.seal(replace(first, serial=2, certificates=certificates))
                # The connection stands; who is behind it may call no more.
                assert await code_of(stub.Alive(pb.AliveRequest())) == grpc.StatusCode.PERMISSION_DENIED
            assert await alive(network, consortium.tls.pairs["party/party-2"]) == grpc.StatusCode.UNAVAILABLE
            assert await alive(network, other) == grpc.StatusCode.OK
            assert await alive(network, consortium.tls.pairs["party/party-1"]) == grpc.StatusCode.OK

    asyncio.run(scenario())


def test_a_newer_manifest_reaches_the_parties_and_a_begun_run_goes_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        async with NetworkConsortium(tmp_path, consortium) as network:
            plan = await network.begin(consortium.spec(epsilon=NO_NOISE))
            newer = replace(consortium.manifest, serial=2, minimum_parties=2)
            network.seal(newer)
            spec = consortium.spec(run="run-2", epsilon=Fraction(1), manifest_digest=newer.digest)
            await network.begin(spec)
            (table,) = await network.session(plan).measure("test", [(0, 1)], pure(NO_NOISE))
            assert table.counts.sum() == 120
            for name in consortium.parties:
                kept = read_manifest(tmp_path / f"{name}-manifest.json", tmp_path / "organiser.pub")
                assert kept == newer
            with pytest.raises(PrivityError, match="belongs to another manifest"):
                await network.begin(consortium.spec(run="run-3"))

    asyncio.run(scenario())


def test_a_party_cannot_answer_for_another(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        async with NetworkConsortium(tmp_path, consortium) as network:
            await network.stop_agent("party-2")
            asking = asyncio.create_task(network.begin())
            await asyncio.sleep(0.3)
            from privity.common.protocol.steps import Done
            from privity.common.wire.codec import encode_reply

            async with channel(network, consortium.tls.pairs["party/party-1"]) as link:

                async def forged():
                    yield pb.Chunk(data=encode_reply("run-1", "enrol", Done()), process=network.processes["party-1"])

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
            async with channel(network, consortium.tls.pairs["party/party-1"]) as link:

                async def junk():
                    yield pb.Chunk(data=b"\xff" * 1000, process=network.processes["party-1"])

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
            for pair, why in (
                (self_signed("party-9", "party"), "is for party-9, .* manifest does not list it"),
                (consortium.tls.pairs["operator/boss"], "only a member in the role party may call this"),
            ):
                task = network.start_agent("party-9", pair)
                with pytest.raises(PrivityError, match=why):
                    await asyncio.wait_for(asyncio.shield(task), 20)

    asyncio.run(scenario())
