"""Two nodes under one certificate, over gRPC and mutual TLS: the older one gets no step more, and both are told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import grpc
import grpc.aio
import pytest

from privity.common.wire.v1 import privity_pb2 as pb
from privity.common.wire.v1 import privity_pb2_grpc as rpc
from tests.curator.test_network_backend import channel, code_of
from tests.harness.consortium import make_consortium
from tests.harness.network import NetworkConsortium

pytestmark = pytest.mark.process


def test_the_older_of_two_nodes_is_refused_even_while_it_waits_and_the_newer_is_told(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        async with NetworkConsortium(tmp_path, consortium, dialling=False) as network:
            async with channel(network, consortium.tls.pairs["party/party-1"]) as link:
                stub = rpc.PartyLinkStub(link)

                async def next_step(process: str, seconds: int) -> None:
                    async for _ in stub.NextStep(pb.NextStepRequest(wait_seconds=seconds, process=process)):
                        raise AssertionError("there is no step")

                await stub.Alive(pb.AliveRequest(process="older"))
                waits = asyncio.create_task(code_of(next_step("older", 1)))
                await asyncio.sleep(0.2)
                first = await stub.Alive(pb.AliveRequest(process="newer"))
                assert not first.other, "a node that was started again is no second one"
                assert await waits is grpc.StatusCode.PERMISSION_DENIED
                assert await code_of(stub.Alive(pb.AliveRequest(process="older"))) is grpc.StatusCode.PERMISSION_DENIED
                assert (await stub.Alive(pb.AliveRequest(process="newer"))).other
                assert await code_of(next_step("newer", 0)) is grpc.StatusCode.OK
            (shown,) = network.server.desk.links(["party-1"])
            assert shown.other

    asyncio.run(scenario())
