"""Who is taken for the curator: the holder of the certificate that the newest manifest lists, not of a former one."""

from __future__ import annotations

import asyncio
import json
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from privity.common.consortium.manifest import CURATOR, Manifest, sign_manifest
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.crypto.certificates import issue
from privity.common.crypto.identity import Identity
from privity.common.errors import PrivityError
from privity.common.node.tls_check import Stage
from privity.common.protocol.steps import Close
from privity.common.runs.signed_request import SignedRequest
from privity.curator import server
from privity.deploy.operator.curator_link import PartyClient
from privity.deploy.operator.operator_client import OperatorClient
from privity.party import agent
from tests.harness.consortium import TestConsortium, make_consortium
from tests.harness.network import NetworkConsortium
from tests.harness.tls import HOST, OPERATOR, Pair

pytestmark = pytest.mark.process

PARTIES = ("party-1", "party-2")


def renewal(consortium: TestConsortium) -> tuple[Manifest, Pair]:
    """The next manifest, with another certificate of the same authority for the curator, and the pair itself."""
    pair = issue(consortium.tls.authority, CURATOR, "curator", (HOST, "127.0.0.1"))
    certificates = {**consortium.manifest.certificates, f"curator/{CURATOR}": pair[0].decode()}
    return replace(consortium.manifest, serial=2, certificates=certificates), pair


def hold(network: NetworkConsortium, manifest: Manifest, organiser: Identity | None = None) -> None:
    """Put this manifest into the folder of each party and of the operator."""
    document = json.dumps(sign_manifest(manifest, organiser or network.consortium.tls.organiser))
    for name in (*PARTIES, OPERATOR):
        (network.folder / f"{name}-manifest.json").write_text(document)


def held(network: NetworkConsortium) -> list[int]:
    """Serials of the manifests that the members hold."""
    files = [network.folder / f"{name}-manifest.json" for name in (*PARTIES, OPERATOR)]
    return [json.loads(file.read_text())["manifest"]["serial"] for file in files]


def operator(network: NetworkConsortium) -> OperatorClient:
    files = network.consortium.tls.files(network.folder, "operator", OPERATOR)
    manifests = ManifestFile(network.folder / f"{OPERATOR}-manifest.json", network.folder / "organiser.pub")
    return OperatorClient(f"{HOST}:{network.port}", manifests, *files)


def lines(consortium: TestConsortium) -> list[int]:
    """How many lines the ledger of each party has: reservations are lines, too."""
    return [len(list(party.engine._releases.ledger.entries())) for party in consortium.parties.values()]


def curator_has(network: NetworkConsortium, manifest: Manifest, pair: Pair) -> None:
    """What the organiser and the curator do for a renewal."""
    (network.folder / "curator-curator.key").write_bytes(pair[1])
    network.seal(manifest)


@pytest.fixture
def thief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever serves holds the curator's first key only, whatever manifest it has."""
    now = server.Certificates.now
    shown: list = []

    def former(self: server.Certificates) -> object:
        if not shown:
            shown.append(now(self))
        return shown[0]

    monkeypatch.setattr(server.Certificates, "now", former)
    monkeypatch.setattr(agent, "SECOND_LOOK_SECONDS", 0.1)


@pytest.mark.usefixtures("thief")
@pytest.mark.parametrize("thief_has_the_newest", [False, True])
def test_nobody_enrols_with_the_holder_of_a_former_key_and_no_ledger_is_charged(
    tmp_path: Path, thief_has_the_newest: bool
) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        before = lines(consortium)
        network = NetworkConsortium(tmp_path, consortium, dialling=False)
        newest, _ = renewal(consortium)
        async with network:
            if thief_has_the_newest:
                network.seal(newest)
            hold(network, newest)
            nodes = [network.start_agent(name) for name in PARTIES]
            run = asyncio.create_task(network.begin(replace(consortium.spec(), manifest_digest=newest.digest)))
            ends = await asyncio.wait_for(asyncio.gather(*nodes, return_exceptions=True), 20)
            assert not run.done()
            run.cancel()
            for end in ends:
                assert isinstance(end, PrivityError)
                assert "not the one that the manifest here lists" in end.message
            with pytest.raises(PrivityError, match="not the one that the manifest here lists"):
                await asyncio.to_thread(operator(network).runs)
            assert lines(consortium) == before
            assert held(network) == [2, 2, 2]

    asyncio.run(scenario())


@pytest.mark.usefixtures("thief")
def test_a_party_that_learns_of_the_renewal_from_the_thief_itself_answers_it_no_more(tmp_path: Path) -> None:
    """It holds the former manifest, and connects; the newest one comes when a run names it."""

    async def scenario() -> None:
        consortium = make_consortium(2)
        before = lines(consortium)
        async with NetworkConsortium(tmp_path, consortium) as network:
            nodes = [network._agents[name] for name in PARTIES]
            await asyncio.gather(*(network.server.desk.tell(name, Close("no-run", "FAILED")) for name in PARTIES))
            newest, _ = renewal(consortium)
            network.seal(newest)
            run = asyncio.create_task(network.begin(replace(consortium.spec(), manifest_digest=newest.digest)))
            ends = await asyncio.wait_for(asyncio.gather(*nodes, return_exceptions=True), 20)
            assert not run.done()
            run.cancel()
            assert all(isinstance(end, PrivityError) for end in ends)
            assert held_by_parties(network) == [2, 2]
            assert lines(consortium) == before

    asyncio.run(scenario())


def held_by_parties(network: NetworkConsortium) -> list[int]:
    files = [network.folder / f"{name}-manifest.json" for name in PARTIES]
    return [json.loads(file.read_text())["manifest"]["serial"] for file in files]


def test_a_renewal_reaches_members_that_hold_the_manifest_before_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        before = lines(consortium)
        network = NetworkConsortium(tmp_path, consortium, dialling=False)
        async with network:
            hold(network, consortium.manifest)
            newest, pair = renewal(consortium)
            curator_has(network, newest, pair)
            for name in PARTIES:
                network.start_agent(name)
            plan = await asyncio.wait_for(network.begin(replace(consortium.spec(), manifest_digest=newest.digest)), 20)
            assert plan.spec.manifest_digest == newest.digest
            assert lines(consortium) > before, "what a thief would have charged"
            assert (await asyncio.to_thread(operator(network).runs)).runs == []
            assert held(network) == [2, 2, 2]

    asyncio.run(scenario())


def test_a_renewal_reaches_parties_that_are_connected(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        async with NetworkConsortium(tmp_path, consortium) as network:
            await asyncio.gather(*(network.server.desk.tell(name, Close("no-run", "FAILED")) for name in PARTIES))
            newest, pair = renewal(consortium)
            curator_has(network, newest, pair)
            plan = await asyncio.wait_for(network.begin(replace(consortium.spec(), manifest_digest=newest.digest)), 20)
            assert plan.spec.manifest_digest == newest.digest
            assert held_by_parties(network) == [2, 2]

    asyncio.run(scenario())


def test_a_manifest_of_whoever_answers_counts_by_the_organisers_signature_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever holds the address can neither have a manifest of its own taken, nor an older one."""

    async def scenario() -> None:
        consortium = make_consortium(2)
        network = NetworkConsortium(tmp_path, consortium, dialling=False)
        async with network:
            newest, _ = renewal(consortium)
            client = operator(network)
            assert await asyncio.to_thread(client._take_manifest), "the first one"
            forged = json.dumps(sign_manifest(newest, Identity.generate())).encode()
            with monkeypatch.context() as patched:
                patched.setattr(network.server._manifests, "document", lambda: forged)
                with pytest.raises(PrivityError, match="organiser's signature does not fit"):
                    await asyncio.to_thread(client._take_manifest)
            assert client.manifests.current() == consortium.manifest
            hold(network, newest)
            assert not await asyncio.to_thread(client._take_manifest), "an older one"
            assert client.manifests.current() == newest

    asyncio.run(scenario())


def party(network: NetworkConsortium, name: str) -> PartyClient:
    files = network.consortium.tls.files(network.folder, "party", name)
    manifests = ManifestFile(network.folder / f"{name}-manifest.json", network.folder / "organiser.pub")
    return PartyClient(f"{HOST}:{network.port}", manifests, *files)


@pytest.mark.parametrize("of", ["party", "operator"])
def test_a_member_looks_at_the_newest_manifest_and_keeps_the_one_that_it_has(tmp_path: Path, of: str) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        network = NetworkConsortium(tmp_path, consortium, dialling=False)
        async with network:
            hold(network, consortium.manifest)
            client = party(network, PARTIES[0]) if of == "party" else operator(network)
            newest, pair = renewal(consortium)
            curator_has(network, newest, pair)
            assert await asyncio.to_thread(client.newest_manifest) == newest
            assert (await asyncio.to_thread(client.check)).stage is Stage.CURATOR
            assert (await asyncio.to_thread(client.check, newest)).stage is Stage.THROUGH
            forged = json.dumps(sign_manifest(replace(newest, serial=3), Identity.generate())).encode()
            network.server._manifests.document = lambda: forged
            with pytest.raises(PrivityError, match="organiser's signature does not fit"):
                await asyncio.to_thread(client.newest_manifest)
            assert held(network) == [1, 1, 1]
            hold(network, replace(newest, serial=4))
            older = json.dumps(sign_manifest(newest, consortium.tls.organiser)).encode()
            network.server._manifests.document = lambda: older
            assert (await asyncio.to_thread(client.newest_manifest)).serial == 4

    asyncio.run(scenario())


@pytest.mark.usefixtures("thief")
def test_the_holder_of_a_former_key_is_no_curator_by_the_newest_manifest_that_it_hands_out(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2)
        network = NetworkConsortium(tmp_path, consortium, dialling=False)
        async with network:
            hold(network, consortium.manifest)
            newest, _ = renewal(consortium)
            network.seal(newest)
            client = party(network, PARTIES[0])
            assert await asyncio.to_thread(client.newest_manifest) == newest
            assert (await asyncio.to_thread(client.check)).stage is Stage.THROUGH
            assert (await asyncio.to_thread(client.check, newest)).stage is Stage.CURATOR

    asyncio.run(scenario())


def test_a_first_manifest_is_waited_for_while_the_curator_starts(tmp_path: Path) -> None:
    async def scenario() -> None:
        network = NetworkConsortium(tmp_path, make_consortium(2), dialling=False)
        with socket.create_server(("127.0.0.1", 0)) as free:
            network.port = free.getsockname()[1]
        network.server._config = replace(network.server._config, listen=f"127.0.0.1:{network.port}")
        submitted = asyncio.create_task(asyncio.to_thread(operator(network).submit, SignedRequest({}, b""), "token"))
        await asyncio.sleep(0.3)
        assert not submitted.done()
        async with network:
            with pytest.raises(PrivityError) as refused:
                await asyncio.wait_for(submitted, 20)
        assert refused.value.code == "curator-refused"

    asyncio.run(scenario())
