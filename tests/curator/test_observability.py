"""Metrics, health, reflection and warnings of production nodes over real TLS."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from privity.common.crypto.certificates import self_signed
from privity.common.errors import PrivityError
from privity.common.wire.v1 import privity_pb2 as pb
from privity.common.wire.v1 import privity_pb2_grpc as rpc
from privity.curator.run_state_machine import COMPLETED, FAILED
from privity.curator.server import CuratorServer
from tests.curator.test_run_driver import consortium_for_runs, end_of, request
from tests.harness.consortium import make_consortium, open_policy
from tests.harness.network import NetworkConsortium, channel
from tests.harness.scrape import free_address, shown
from tests.harness.tls import OPERATOR, Pair

pytestmark = pytest.mark.process

SERVICES = ("", "common.wire.v1.PartyLink", "common.wire.v1.Operator")
SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING


async def health(network: NetworkConsortium, pair: Pair, service: str = "") -> object:
    """What the health service says, or the status of its refusal."""
    async with channel(network, pair) as link:
        try:
            asked = health_pb2.HealthCheckRequest(service=service)
            return (await health_pb2_grpc.HealthStub(link).Check(asked, timeout=5)).status
        except grpc.aio.AioRpcError as error:
            return error.code()


async def listed(network: NetworkConsortium, pair: Pair) -> set[str] | grpc.StatusCode:
    """Services that the reflection service lists, or the status of its refusal."""

    async def ask() -> AsyncIterator[reflection_pb2.ServerReflectionRequest]:
        yield reflection_pb2.ServerReflectionRequest(list_services="")

    async with channel(network, pair) as link:
        try:
            async for said in reflection_pb2_grpc.ServerReflectionStub(link).ServerReflectionInfo(ask(), timeout=5):
                return {service.name for service in said.list_services_response.service}
        except grpc.aio.AioRpcError as error:
            return error.code()
    raise AssertionError("no answer")


def test_health_is_for_members_of_every_role_and_nobody_else(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        pairs = consortium.tls.pairs
        party, operator = pairs["party/party-1"], pairs[f"operator/{OPERATOR}"]
        async with NetworkConsortium(tmp_path, consortium) as network:
            for service in SERVICES:
                assert await health(network, party, service) == SERVING
            assert await health(network, operator) == SERVING
            assert await health(network, party, "common.wire.v1.Nothing") == grpc.StatusCode.NOT_FOUND
            assert await health(network, self_signed("party-9", "party")) == grpc.StatusCode.UNAVAILABLE
            assert await health(network, self_signed("party-1", "party")) == grpc.StatusCode.UNAVAILABLE
            async with channel(network, party) as link:
                stub = health_pb2_grpc.HealthStub(link)
                assert (await stub.Check(health_pb2.HealthCheckRequest())).status == SERVING
                renewed = self_signed("party-1", "party")[0].decode()
                certificates = {**consortium.manifest.certificates, "party/party-1": renewed}
                network.seal(replace(consortium.manifest, serial=2, certificates=certificates))
                # The connection stands; the certificate behind it is none of a member any more.
                for call in (
                    stub.Check(health_pb2.HealthCheckRequest()),
                    first(stub.Watch(health_pb2.HealthCheckRequest())),
                ):
                    with pytest.raises(grpc.aio.AioRpcError) as caught:
                        await call
                    assert caught.value.code() == grpc.StatusCode.PERMISSION_DENIED

    async def first(stream):
        async for said in stream:
            return said.status
        return None

    asyncio.run(scenario())


def test_a_server_that_stops_says_so_first(tmp_path: Path) -> None:
    async def scenario() -> list[int]:
        consortium = make_consortium(2)
        said: list[int] = []
        async with NetworkConsortium(tmp_path, consortium) as network:
            serving = asyncio.Event()

            async def watch() -> None:
                async with channel(network, consortium.tls.pairs[f"operator/{OPERATOR}"]) as link:
                    asked = health_pb2.HealthCheckRequest(service="common.wire.v1.PartyLink")
                    async for answer in health_pb2_grpc.HealthStub(link).Watch(asked):
                        said.append(answer.status)
                        serving.set()

            watching = asyncio.create_task(watch())
            await asyncio.wait_for(serving.wait(), 10)
        await asyncio.gather(watching, return_exceptions=True)
        return said

    assert asyncio.run(scenario()) == [SERVING, NOT_SERVING]


@pytest.mark.parametrize("on", [False, True])
def test_reflection_is_off_unless_it_is_set(tmp_path: Path, on: bool) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        async with NetworkConsortium(tmp_path, consortium, reflection=on) as network:
            for holder in ("party/party-1", f"operator/{OPERATOR}"):
                found = await listed(network, consortium.tls.pairs[holder])
                if on:
                    assert {*SERVICES[1:], "grpc.health.v1.Health"} < set(found)
                else:
                    assert found == grpc.StatusCode.UNIMPLEMENTED
            assert await listed(network, self_signed("party-9", "party")) == grpc.StatusCode.UNAVAILABLE

    asyncio.run(scenario())


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at a page takes its figures anew."""
    monkeypatch.setattr("privity.common.node.metrics_page.LOOK_SECONDS", 0.0)


@pytest.mark.usefixtures("fresh")
def test_the_curators_figures_over_two_runs(tmp_path: Path) -> None:
    async def scenario() -> None:
        address = free_address()
        consortium = consortium_for_runs(policies={"party-2": open_policy(algorithms=("dp-subn",))})
        pairs = consortium.tls.pairs
        async with NetworkConsortium(tmp_path, consortium, metrics=address) as network:
            runs = network.server.runs
            assert (await end_of(runs, network.submit("one", request())))[0] == FAILED
            assert (await end_of(runs, network.submit("two", request(algorithm="dp-subn"))))[0] == COMPLETED
            async with channel(network, pairs[f"operator/{OPERATOR}"]) as link:
                with pytest.raises(grpc.aio.AioRpcError):
                    await rpc.PartyLinkStub(link).Alive(pb.AliveRequest())
            await network.stop_agent("party-1")
            found = await asyncio.to_thread(shown, address)
        assert found["privity_curator_runs_ended_total"] == [
            ({"state": "FAILED", "reason": "refused-by-policy"}, 1.0),
            ({"state": "COMPLETED", "reason": "none"}, 1.0),
        ]
        assert found["privity_curator_runs"] == [({"state": s}, 0.0) for s in ("QUEUED", "RUNNING", "WAITING")]
        assert found["privity_curator_steps_refused_total"] == [({"reason": "refused-by-policy"}, 1.0)]
        refused = {labels["reason"]: value for labels, value in found["privity_curator_calls_refused_total"]}
        assert refused.pop("other-role") == 1
        assert not any(refused.values())
        assert found["privity_curator_party_connected"] == [({"party": "party-1"}, 1.0), ({"party": "party-2"}, 1.0)]
        moved = {labels["direction"]: value for labels, value in found["privity_curator_bytes_total"]}
        assert moved["to-parties"] > 0
        assert moved["from-parties"] > 0
        days = {labels["holder"]: value for labels, value in found["privity_certificate_days_left"]}
        assert days == dict.fromkeys(consortium.manifest.certificates, 364)
        with pytest.raises(OSError):
            await asyncio.to_thread(shown, address)

    asyncio.run(scenario())


@pytest.mark.usefixtures("fresh")
def test_a_partys_figures_over_a_run_and_a_lost_curator(tmp_path: Path) -> None:
    async def scenario() -> None:
        address = free_address()
        consortium = consortium_for_runs(policies={"party-1": open_policy(total_epsilon=3)})
        async with NetworkConsortium(tmp_path, consortium, party_metrics={"party-1": address}) as network:
            runs = network.server.runs
            assert (await end_of(runs, network.submit("one", request())))[0] == COMPLETED
            assert (await end_of(runs, network.submit("two", request(epsilon="50"))))[0] == FAILED
            found = await asyncio.to_thread(shown, address)
            assert found["privity_party_connected"] == [({}, 1.0)]
            assert not any(value for _, value in found["privity_party_disconnections_total"])
            answered = {labels["kind"]: value for labels, value in found["privity_party_steps_answered_total"]}
            assert set(answered) >= {"enrol", "begin", "contribute", "seal", "close"}
            assert found["privity_party_steps_refused_total"] == [
                ({"kind": "enrol", "reason": "budget-exhausted"}, 1.0)
            ]
            assert found["privity_party_epsilon_spent"] == [({}, 1.0)]
            assert found["privity_party_epsilon_allowed"] == [({}, 3.0)]
            days = {labels["holder"] for labels, _ in found["privity_certificate_days_left"]}
            assert days == {"party/party-1", "curator/curator"}
            await network.server.stop()
            while (found := await asyncio.to_thread(shown, address))["privity_party_connected"] != [({}, 0.0)]:
                await asyncio.sleep(0.05)
            while not any(value for _, value in found["privity_party_disconnections_total"]):
                await asyncio.sleep(0.05)
                found = await asyncio.to_thread(shown, address)
            (lost,) = (labels for labels, value in found["privity_party_disconnections_total"] if value)
            assert lost["reason"] == "network"

    asyncio.run(scenario())


def test_certificates_about_to_expire_are_in_the_logs_of_both_nodes(tmp_path: Path, caplog) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        consortium.tls.pairs["party/party-2"] = self_signed("party-2", "party", 5)
        consortium.manifest = replace(consortium.manifest, certificates=consortium.tls.certificates)
        async with NetworkConsortium(tmp_path, consortium):
            while len(warned()) < 2:
                await asyncio.sleep(0.05)

    def warned() -> list[tuple[str, int]]:
        return [(r.holder, r.days) for r in caplog.records if r.name == "privity.certificates"]

    caplog.set_level(logging.INFO, "privity")
    asyncio.run(asyncio.wait_for(scenario(), 30))
    assert warned() == [("party/party-2", 4)] * 2, "by the curator and by the party itself"


def test_a_curator_whose_metrics_address_is_taken_does_not_start(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        address = free_address()
        (tmp_path / "other").mkdir()
        async with NetworkConsortium(tmp_path, consortium, metrics=address):
            network = NetworkConsortium(tmp_path / "other", consortium, metrics=address)
            server: CuratorServer = network.server
            with pytest.raises(PrivityError, match="cannot show metrics there"):
                await server.start()

    asyncio.run(scenario())
