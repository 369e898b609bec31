"""What nobody foresaw, in any call to the curator: the caller is told its class, and neither its text nor a path."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from privity.common.errors import Catalogue, PrivityError
from privity.common.node.logs import content_of
from privity.common.protocol.steps import Refusal
from privity.common.runs.signed_request import sign_request
from privity.common.wire.v1 import privity_pb2 as pb
from privity.common.wire.v1 import privity_pb2_grpc as rpc
from privity.curator.grpc_services import OperatorServicer
from privity.curator.pending_steps import Desk, PartyRefusedError
from privity.curator.run_queue import Runs
from privity.curator.run_state_machine import COMPLETED
from tests.curator.test_full_disk import fill, fill_pages
from tests.curator.test_run_driver import consortium_for_runs, end_of, request
from tests.harness.consortium import make_consortium
from tests.harness.network import NetworkConsortium, channel

pytestmark = pytest.mark.process

SECRET = "/srv/curator/state/secret.sqlite"
BREAKS = {
    ("party", "GetManifest"): ("privity.common.consortium.manifest_file.ManifestFile", "document"),
    ("party", "NextStep"): (Desk, "next_step"),
    ("party", "SendReply"): (Desk, "read_and_deliver"),
    ("party", "Alive"): (Desk, "alive"),
    ("operator", "Submit"): (Runs, "read"),
    ("party", "Fetch"): (Runs, "release_files"),
    ("party", "Publish"): ("privity.curator.limits_of_parties.LimitsOfParties", "read"),
    ("party", "Statements"): ("privity.curator.signed_by_parties.SignedByParties", "of"),
    ("operator", "GetLimits"): ("privity.curator.limits_of_parties.LimitsOfParties", "all"),
    ("operator", "GetParties"): (Desk, "links"),
    ("operator", "Watch"): (Runs, "watch"),
    ("operator", "Fetch"): (Runs, "release_files"),
    ("operator", "Stop"): (Runs, "stop"),
    ("operator", "Resume"): (Runs, "resume"),
    ("operator", "List"): (Runs, "all"),
    ("operator", "Why"): (OperatorServicer, "_status"),
    ("operator", "GetManifest"): ("privity.common.consortium.manifest_file.ManifestFile", "document"),
    ("member", "Check"): ("privity.curator.server", "caller"),
}
REQUESTS = {
    "GetManifest": pb.ManifestRequest(),
    "GetLimits": pb.LimitsRequest(),
    "GetParties": pb.PartiesRequest(),
    "Publish": pb.PublishRequest(),
    "Statements": pb.StatementsRequest(),
    "NextStep": pb.NextStepRequest(),
    "Alive": pb.AliveRequest(),
    "Submit": pb.SubmitRequest(token="token"),
    "Stop": pb.StopRequest(run="autumn"),
    "List": pb.ListRequest(),
    "Check": health_pb2.HealthCheckRequest(),
}
STUBS = {"party": rpc.PartyLinkStub, "operator": rpc.OperatorStub, "member": health_pb2_grpc.HealthStub}


async def told(network: NetworkConsortium, role: str, method: str, message: Any = None) -> tuple[grpc.StatusCode, str]:
    """Status and text with which a call ends."""
    pair = network.consortium.tls.pairs["operator/boss" if role == "operator" else "party/party-1"]
    async with channel(network, pair) as link:
        call = getattr(STUBS[role](link), method)
        if method == "Submit":
            manifest, pair = network.server._manifests.current(), network.consortium.operator
            signed = sign_request(json.loads(request()), "winter", manifest, *pair)
            message = pb.SubmitRequest(token="token", request=signed.bytes())
        try:
            if method == "SendReply":
                await call(_chunks(), timeout=9)
            elif method in ("NextStep", "Watch", "Fetch", "Statements"):
                async for _ in call(message or REQUESTS.get(method, pb.RunName(run="autumn")), timeout=9):
                    pass
            else:
                await call(message or REQUESTS.get(method, pb.RunName(run="autumn")), timeout=9)
        except grpc.aio.AioRpcError as error:
            return error.code(), str(error.details())
    return grpc.StatusCode.OK, ""


async def _chunks() -> AsyncIterator[pb.Chunk]:
    yield pb.Chunk(data=b"x")


@pytest.mark.parametrize(("role", "method"), BREAKS)
def test_the_caller_is_told_the_class_of_what_nobody_foresaw(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    role: str,
    method: str,
) -> None:
    def breaking(*_given: object, **_named: object) -> None:
        raise OSError(24, "Too many open files", SECRET)

    async def scenario() -> tuple[grpc.StatusCode, str]:
        async with NetworkConsortium(tmp_path, consortium_for_runs(), dialling=False) as network:
            network.submit("autumn", request(), "autumn")
            owner, name = BREAKS[role, method]
            with monkeypatch.context() as patch:
                if isinstance(owner, str):
                    patch.setattr(f"{owner}.{name}", breaking)
                else:
                    patch.setattr(owner, name, breaking)
                return await told(network, role, method)

    with caplog.at_level(logging.INFO):
        code, text = asyncio.run(scenario())
    assert (code, text) == (grpc.StatusCode.INTERNAL, "internal error: OSError\nSee the curator's log.")
    lines = [content_of(record) for record in caplog.records if record.levelno >= logging.ERROR]
    assert [(line["event"], line["error"]) for line in lines] == [("an internal error", "OSError")]
    assert SECRET not in str(lines)


def test_every_method_of_every_service_is_broken_once() -> None:
    services = {"party": "PartyLink", "operator": "Operator"}
    methods = {(r, m.name) for r, s in services.items() for m in pb.DESCRIPTOR.services_by_name[s].methods}
    assert set(BREAKS) == {*methods, ("member", "Check")}


def test_a_file_of_a_release_that_cannot_be_read_is_told_without_its_path(tmp_path: Path) -> None:
    async def scenario() -> tuple[grpc.StatusCode, str]:
        async with NetworkConsortium(tmp_path, consortium_for_runs()) as network:
            runs = network.server.runs
            assert (await end_of(runs, network.submit("t", request(), "autumn")))[0] == COMPLETED
            (tmp_path / "curator" / "releases" / "autumn" / "another").mkdir()
            return await told(network, "operator", "Fetch")

    code, text = asyncio.run(scenario())
    assert (code, text.partition("\n")[0]) == (grpc.StatusCode.INTERNAL, "internal error: IsADirectoryError")


def test_a_full_disk_is_told_without_its_path(tmp_path: Path) -> None:
    async def scenario() -> tuple[grpc.StatusCode, str]:
        async with NetworkConsortium(tmp_path, consortium_for_runs(), dialling=False) as network:
            make_room = fill(network.server.runs._journal)
            fill_pages(network.server.runs._journal)
            try:
                return await told(network, "operator", "Submit")
            finally:
                make_room()

    code, text = asyncio.run(scenario())
    assert (code, text.partition("\n")[0]) == (
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "no room on the disk of the curator",
    )


def test_a_damaged_release_ends_its_run_without_a_path(tmp_path: Path) -> None:
    consortium = make_consortium(2)
    consortium.drive(tmp_path / "release", algorithm="one-way")
    (tmp_path / "release" / "synthetic.csv").write_text("altered")
    with pytest.raises(PrivityError) as found:
        consortium.drive(tmp_path / "release", algorithm="one-way")
    assert found.value.kind is Catalogue.TAMPERED
    assert str(tmp_path) not in str(found.value)


@pytest.mark.parametrize("sign", ["x", "%", "\n", "\u4e00", "\U0001d400", "é"])
def test_a_text_of_any_length_and_script_comes_with_its_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sign: str
) -> None:
    def refused(*_given: object) -> None:
        raise PartyRefusedError("party-1", Refusal("x", sign * 9_000, sign * 9_000))

    async def scenario() -> tuple[grpc.StatusCode, str]:
        async with NetworkConsortium(tmp_path, consortium_for_runs(), dialling=False) as network:
            monkeypatch.setattr(Runs, "get", refused)
            return await told(network, "operator", "Why")

    code, text = asyncio.run(scenario())
    message, _, remedy = text.partition("...\n")
    assert code is grpc.StatusCode.PERMISSION_DENIED
    assert message.startswith(f"party-1 says: {sign * 50}")
    assert remedy.startswith(f"party-1 says: {sign * 50}")
