"""Two nodes under one certificate, over gRPC and mutual TLS: the older one stops, and both are told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from fractions import Fraction
from pathlib import Path

import grpc
import grpc.aio
import pytest

from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.steps import Contribute, Done, Enrol, Step
from privity.common.wire.codec import encode_reply
from privity.common.wire.v1 import privity_pb2 as pb
from privity.common.wire.v1 import privity_pb2_grpc as rpc
from privity.party.other_nodes import OtherNodes
from tests.curator.test_network_backend import code_of
from tests.harness.consortium import make_consortium
from tests.harness.network import NetworkConsortium, channel
from tests.harness.steps import laplace_round

pytestmark = pytest.mark.process

NAME = "party-1"
OLDER = grpc.StatusCode.ALREADY_EXISTS


def reply(process: str, data: bytes = b"") -> AsyncIterator[pb.Chunk]:
    async def chunks() -> AsyncIterator[pb.Chunk]:
        yield pb.Chunk(data=data, process=process)

    return chunks()


def test_the_older_of_two_nodes_is_refused_and_both_are_told(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        async with (
            NetworkConsortium(tmp_path, consortium, dialling=False) as network,
            channel(network, consortium.tls.pairs[f"party/{NAME}"]) as link,
        ):
            stub = rpc.PartyLinkStub(link)

            async def next_step(process: str, seconds: int) -> None:
                async for _ in stub.NextStep(pb.NextStepRequest(wait_seconds=seconds, process=process)):
                    raise AssertionError("there is no step")

            await stub.Alive(pb.AliveRequest(process="older"))
            waits = asyncio.create_task(code_of(next_step("older", 1)))
            await asyncio.sleep(0.2)
            first = await stub.Alive(pb.AliveRequest(process="newer"))
            assert not first.other, "a node that was started again is no second one"
            asking = asyncio.create_task(network.server.desk.ask(NAME, Enrol(consortium.spec()), "enrolment"))
            assert await waits is grpc.StatusCode.OK, "one that ended while it waited is no second one: it gets nothing"
            assert not (await stub.Alive(pb.AliveRequest(process="newer"))).other
            for call in (
                stub.Alive(pb.AliveRequest(process="older")),
                stub.SendReply(reply("older", encode_reply("run-1", "enrol", Done()))),
                stub.SendReply(reply("", encode_reply("run-1", "enrol", Done()))),
                next_step("older", 0),
                next_step("", 0),
            ):
                assert await code_of(call) is OLDER
            assert not asking.done(), "the older one's reply was taken"
            asking.cancel()
            assert (await stub.Alive(pb.AliveRequest(process="newer"))).other
            (shown,) = network.server.desk.links([NAME])
            assert shown.other

    asyncio.run(scenario())


def test_an_older_node_stops_at_the_reply_that_it_has_in_hand_and_is_charged_nothing_more(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2, folder=tmp_path)
        party = consortium.parties[NAME]

        def contribution(number: str) -> Contribute:
            return Contribute(laplace_round("run-1", "test", number, ((0, 1),), Fraction(1, 4)))

        async with NetworkConsortium(tmp_path, consortium, dialling=False) as network:
            older, _ = network.start_agent(NAME), network.start_agent("party-2")
            await network.begin(consortium.spec(algorithm="one-way"))
            handle, counts, goes_on = party.engine.handle, threading.Event(), threading.Event()

            def slowly(step: Step) -> bytes:
                counts.set()
                assert goes_on.wait(20)
                return handle(step)

            party.engine.handle = slowly  # type: ignore[method-assign]
            asked = [asyncio.create_task(network.server.desk.ask(NAME, contribution(n), "test")) for n in "12"]
            await asyncio.to_thread(counts.wait, 20)
            async with channel(network, consortium.tls.pairs[f"party/{NAME}"]) as link:
                stub = rpc.PartyLinkStub(link)
                await stub.Alive(pb.AliveRequest(process="newer"))
                goes_on.set()
                with pytest.raises(PrivityError) as caught:
                    await asyncio.wait_for(older, 20)
                assert caught.value.kind is Catalogue.TWO_NODES
                assert (await stub.Alive(pb.AliveRequest(process="newer"))).other
            assert not any(task.done() for task in asked), "the reply of the older one was taken"
            for task in asked:
                task.cancel()
            assert party.ledger.spent() == Fraction(1, 4), "charged for the step that it had in hand, and no more"
            nodes = OtherNodes(NAME, party.journal)
            other = nodes.seen()
            assert other is not None
            assert other.is_newer
            with pytest.raises(PrivityError, match="a newer node serves"):
                nodes.check()

    asyncio.run(scenario())
