"""Why a connection does not come about, in plain words: against a real curator, and against what is none."""

from __future__ import annotations

import asyncio
import socket
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from privity.common.consortium.manifest import CURATOR, Manifest
from privity.common.crypto.certificates import issue, self_signed
from privity.common.node.tls_check import Finding, Stage, check_connection
from tests.harness.consortium import TestConsortium, make_consortium
from tests.harness.network import NetworkConsortium
from tests.harness.tls import HOST, Pair

pytestmark = pytest.mark.process


def found(folder: Path, pair: Pair | None = None, **changes) -> Finding:
    """What a party finds that dials a curator of its own; ``changes`` of the address, the name or the manifest."""

    async def scenario() -> Finding:
        consortium = make_consortium(2)
        async with NetworkConsortium(folder, consortium) as network:
            certificate, key = consortium.tls.files(folder, "party", "party-1", pair)
            manifest = changes.get("manifest", lambda _consortium: consortium.manifest)(consortium)
            address = changes.get("address", f"{HOST}:{{port}}").format(port=network.port)
            return await asyncio.to_thread(check_connection, address, changes.get("name"), manifest, certificate, key)

    return asyncio.run(scenario())


def renewed(consortium: TestConsortium) -> Manifest:
    """A manifest that lists another certificate of the same authority for the curator."""
    another, _ = issue(consortium.tls.authority, CURATOR, "curator", (HOST, "127.0.0.1"))
    certificates = {**consortium.manifest.certificates, f"curator/{CURATOR}": another.decode()}
    return replace(consortium.manifest, serial=consortium.manifest.serial + 1, certificates=certificates)


def test_a_member_without_a_manifest_comes_through_to_whoever_answers(tmp_path: Path) -> None:
    assert found(tmp_path, manifest=lambda _consortium: None).stage is Stage.THROUGH


def test_a_member_comes_through(tmp_path: Path) -> None:
    finding = found(tmp_path)
    assert finding.stage is Stage.THROUGH
    assert not finding.of_identity


def test_a_certificate_that_is_not_listed_is_named_with_whom_to_ask(tmp_path: Path) -> None:
    finding = found(tmp_path, self_signed("party-1", "party"))
    assert finding.stage is Stage.OWN
    assert "is for party-1, valid until" in finding.reason
    assert "organiser" in finding.remedy
    assert finding.of_identity


def test_a_curator_that_the_manifest_does_not_list_is_described_whoever_issued_its_certificate(tmp_path: Path) -> None:
    finding = found(tmp_path, manifest=renewed)
    assert finding.stage is Stage.CURATOR
    assert "the certificate is for localhost, 127.0.0.1, you dialled localhost" in finding.reason
    assert "not the one that the manifest here lists" in finding.reason
    assert finding.of_identity


def test_another_name_than_the_one_dialled_is_described(tmp_path: Path) -> None:
    finding = found(tmp_path, name="curator.example.org")
    assert finding.stage is Stage.CURATOR
    assert "is for localhost, 127.0.0.1, you dialled curator.example.org" in finding.reason


@pytest.mark.parametrize(
    ("address", "stage"),
    [("nowhere.invalid:7443", Stage.NAME), ("localhost:1", Stage.NETWORK), ("localhost:no", Stage.NAME)],
)
def test_what_waiting_may_mend_is_no_fault_of_identity(tmp_path: Path, address: str, stage: Stage) -> None:
    finding = found(tmp_path, address=address)
    assert finding.stage is stage
    assert not finding.of_identity


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b""], ids=["no TLS", "hangs up"])
def test_a_server_that_is_no_curator_is_no_fault_of_identity(tmp_path: Path, answer: bytes) -> None:
    """Such as a proxy that has nobody behind it: trying again may help."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)

        def serve() -> None:
            with server.accept()[0] as link:
                link.recv(100)
                link.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        finding = found(tmp_path, address=f"127.0.0.1:{server.getsockname()[1]}")
        thread.join()
    assert finding.stage is Stage.NETWORK
    assert "does not speak TLS" in finding.reason
    assert not finding.of_identity
