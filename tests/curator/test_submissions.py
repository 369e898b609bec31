"""Whose run it is: nobody but its submitter stops, discards, resumes or fetches it; how much an operator may submit."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.consortium.manifest_file import ManifestFile
from privity.common.crypto.certificates import self_signed
from privity.common.errors import Catalogue, PrivityError
from privity.common.runs.signed_request import SignedRequest, sign_request
from privity.common.wire.v1 import privity_pb2 as pb
from privity.common.wire.v1 import privity_pb2_grpc as rpc
from privity.curator.run_state_machine import COMPLETED, DISCARDED, FAILED, QUEUED, RUNNING, STOPPED
from privity.curator.submissions import check_word
from privity.deploy.operator.operator_client import OperatorClient
from privity.deploy.operator.run_status import explained
from privity.deploy.operator.run_submission import submit_to
from tests.curator.test_run_driver import consortium_for_runs, end_of, request
from tests.harness.command import privity
from tests.harness.consortium import TestConsortium, make_consortium
from tests.harness.network import NetworkConsortium, channel
from tests.harness.tls import HOST, OPERATOR, TestTls
from tests.interfaces.cli.test_run import operator_of

pytestmark = pytest.mark.process

OTHER = "other"
REQUEST = json.loads(request(secure_sum="masks", key_bits=None))

CALLS: dict[str, Callable[[OperatorClient, Path], Any]] = {
    "stop": lambda client, _: client.stop("autumn"),
    "discard": lambda client, _: client.stop("autumn", discard=True),
    "resume": lambda client, _: client.resume("autumn"),
    "fetch": lambda client, folder: client.fetch("autumn", folder / "release"),
}


def two_operators(folder: Path | None = None) -> TestConsortium:
    tls = TestTls.of(["party-1", "party-2"])
    tls.pairs[f"operator/{OTHER}"] = self_signed(OTHER, "operator")
    return consortium_for_runs(tls=tls, folder=folder)


class SigningClient(OperatorClient):
    """Submits what it is given as `privity run submit` does."""

    def submit(self, request: Any, token: str, name: str = "") -> str:
        if isinstance(request, SignedRequest):
            return super().submit(request, token, name)
        return submit_to(self, self.manifests.current(), request, token, name)


def client_of(network: NetworkConsortium, operator: str) -> OperatorClient:
    files = network.consortium.tls.files(network.folder, "operator", operator)
    manifests = ManifestFile(network.folder / "manifest.json", network.folder / "organiser.pub")
    return SigningClient(f"{HOST}:{network.port}", manifests, *files)


def without_the_submitter(network: NetworkConsortium) -> None:
    """The organiser seals a manifest that lists the first operator no more."""
    manifest = network.consortium.manifest
    left = {holder: pem for holder, pem in manifest.certificates.items() if holder != f"operator/{OPERATOR}"}
    network.seal(replace(manifest, serial=2, certificates=left))


async def said(call: Callable[..., Any], *given: Any, **named: Any) -> PrivityError:
    """What a call by an operator is refused with."""
    with pytest.raises(PrivityError) as found:
        await asyncio.to_thread(call, *given, **named)
    assert found.value.kind in (Catalogue.CURATOR_REFUSED, Catalogue.BAD_OPTION)
    return found.value


@pytest.mark.parametrize("what", CALLS)
def test_nobody_but_its_submitter_acts_on_a_run(tmp_path: Path, what: str) -> None:
    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, two_operators(), dialling=False) as network:
            own, other, runs = client_of(network, OPERATOR), client_of(network, OTHER), network.server.runs
            await asyncio.to_thread(own.submit, REQUEST, "autumn", "autumn")
            if what == "resume":
                await asyncio.to_thread(own.stop, "autumn")
                await end_of(runs, "autumn")
            if what == "fetch":
                for party in network.consortium.parties:
                    network.start_agent(party)
                await end_of(runs, "autumn")
            while (before := runs.get("autumn").state) == QUEUED:
                await asyncio.sleep(0.02)
            assert before == {"resume": STOPPED, "fetch": COMPLETED}.get(what, RUNNING)
            refused = await said(CALLS[what], other, tmp_path)
            assert "the operator boss submitted the run autumn" in refused.message
            assert refused.remedy.strip() == "Ask boss: nobody else may stop, discard, resume or fetch it."
            assert runs.get("autumn").state == before
            assert not (tmp_path / "release").exists()
            # Every operator sees it, and whose it is.
            assert [run.submitter for run in (await asyncio.to_thread(other.runs)).runs] == [OPERATOR]
            status = await asyncio.to_thread(other.why, "autumn")
            assert "The operator boss submitted it." in explained(status)
            assert (await asyncio.to_thread(lambda: next(other.watch("autumn")))).state == before
            await asyncio.to_thread(CALLS[what], own, tmp_path)
            if what == "fetch":
                assert (tmp_path / "release" / "synthetic.csv").exists()
            else:
                while runs.get("autumn").state == before:
                    await asyncio.sleep(0.02)

    asyncio.run(scenario())


def test_a_run_stays_its_submitters_over_a_restart_until_the_manifest_lists_that_operator_no_more(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        consortium = two_operators(tmp_path)
        async with NetworkConsortium(tmp_path, consortium, dialling=False) as network:
            await asyncio.to_thread(client_of(network, OPERATOR).submit, REQUEST, "autumn", "autumn")
        async with NetworkConsortium(tmp_path, consortium, dialling=False) as network:
            other = client_of(network, OTHER)
            assert "the operator boss" in (await said(other.stop, "autumn")).message
            without_the_submitter(network)
            await asyncio.to_thread(other.stop, "autumn")
            assert await end_of(network.server.runs, "autumn") == (STOPPED, "stopped by the operator")

    asyncio.run(scenario())


def test_a_token_gives_nobody_else_the_run_that_it_stands_for(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, two_operators(), dialling=False) as network:
            own, other = client_of(network, OPERATOR), client_of(network, OTHER)
            first = await asyncio.to_thread(own.submit, REQUEST, "token")
            assert await asyncio.to_thread(own.submit, REQUEST, "token") == first
            assert (await said(other.submit, REQUEST, "token")).message.endswith(
                "token: it stands for a run of the operator boss"
            )
            await asyncio.to_thread(own.submit, REQUEST, "autumn", "autumn")
            assert "another run is called so" in (await said(other.submit, REQUEST, "autumn", "autumn")).message
            assert len(network.server.runs.all()) == 2
            without_the_submitter(network)
            assert await asyncio.to_thread(other.submit, REQUEST, "token") == first

    asyncio.run(scenario())


@pytest.mark.parametrize("token", ["", "a" * 64, "a" * (1 << 20), "a/b", "..", "a b", "a\n", "\x1b[2J", "#a", "é"])
@pytest.mark.parametrize("option", ["token", "name"])
def test_tokens_and_names_are_short_and_plain(tmp_path: Path, option: str, token: str) -> None:
    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, two_operators(), dialling=False) as network:
            given = {"token": token} if option == "token" else {"token": "token", "name": token or "."}
            refused = await said(client_of(network, OPERATOR).submit, REQUEST, **given)
            assert f"{option}: " in refused.message
            assert "is not of 1 to 63 letters" in refused.message
            assert len(refused.message) < 300
            assert network.server.runs.all() == []
            assert network.server.runs._journal.keys("") == []

    asyncio.run(scenario())


@given(st.text(max_size=80) | st.from_regex(r"[A-Za-z0-9._-]{1,70}"))
def test_what_is_taken_for_a_token_is_a_plain_word(word: str) -> None:
    plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", word) is not None and len(word) <= 63
    try:
        check_word("token", word)
    except PrivityError:
        assert not plain
    else:
        assert plain


def test_an_operator_has_so_many_runs_that_have_not_ended_and_takes_no_room_from_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privity.curator.submissions.MOST_OPEN", 3)

    async def scenario() -> None:
        consortium = two_operators(tmp_path)
        async with NetworkConsortium(tmp_path, consortium, dialling=False) as network:
            own, other, runs = client_of(network, OPERATOR), client_of(network, OTHER), network.server.runs
            for token in ("run-0", "run-1", "run-2"):
                await asyncio.to_thread(own.submit, REQUEST, token, token)
            full = await said(own.submit, REQUEST, "run-3", "run-3")
            assert "3 runs of the operator boss are unfinished, which is the most allowed" in full.message
            assert "privity run stop RUN --discard" in full.remedy
            assert len(runs._journal.keys("#token/")) == 3
            assert await asyncio.to_thread(own.submit, REQUEST, "run-2", "run-2") == "run-2", "it was there"
            await asyncio.to_thread(other.submit, REQUEST, "run-4", "run-4")
            await asyncio.to_thread(own.stop, "run-1")
            await said(own.submit, REQUEST, "run-3", "run-3")
            await asyncio.to_thread(own.resume, "run-1")
            assert runs.get("run-1").state == QUEUED
            for token in ("run-1", "run-0"):
                await asyncio.to_thread(own.stop, token, discard=True)
            assert (await end_of(runs, "run-0"))[0] == DISCARDED
        async with NetworkConsortium(tmp_path, consortium, dialling=False) as network:
            own = client_of(network, OPERATOR)
            await asyncio.to_thread(own.submit, REQUEST, "run-3", "run-3")

    asyncio.run(scenario())


def test_an_operator_submits_so_many_runs_a_day_whatever_becomes_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privity.curator.submissions.MOST_A_DAY", 2)

    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, two_operators(), dialling=False) as network:
            own, other, runs = client_of(network, OPERATOR), client_of(network, OTHER), network.server.runs
            for token in ("run-0", "run-1"):
                await asyncio.to_thread(own.submit, REQUEST, token, token)
                await asyncio.to_thread(own.stop, token, discard=True)
            many = await said(own.submit, REQUEST, "run-2", "run-2")
            assert "the operator boss submitted 2 runs within a day, which is the most allowed" in many.message
            assert "Submit it tomorrow" in many.remedy
            await asyncio.to_thread(other.submit, REQUEST, "run-2", "run-2")
            runs.get("run-0").submitted = (datetime.now(UTC) - timedelta(days=1)).isoformat(timespec="seconds")
            await asyncio.to_thread(own.submit, REQUEST, "run-3", "run-3")

    asyncio.run(scenario())


@pytest.mark.long
def test_a_run_that_is_stopped_and_resumed_is_in_the_queue_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, two_operators(), dialling=False, runs_at_once=1) as network:
            own, runs = client_of(network, OPERATOR), network.server.runs
            await asyncio.to_thread(own.submit, REQUEST, "first", "first")
            while runs.get("first").state == QUEUED:
                await asyncio.sleep(0.02)
            await asyncio.to_thread(own.submit, REQUEST, "second", "second")
            for _ in range(5):
                await asyncio.to_thread(own.stop, "second")
                await asyncio.to_thread(own.resume, "second")
            await asyncio.to_thread(own.stop, "second", discard=True)
            assert len(runs._queue) == 0
            await asyncio.to_thread(own.stop, "first")
            assert (runs.get("second").reason, len(runs._queue)) == ("discarded by the operator", 0)

    asyncio.run(scenario())


def test_a_request_is_kept_as_short_as_it_can_be_written(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, two_operators(), dialling=False) as network:
            runs = network.server.runs
            signed = sign_request(REQUEST, "autumn", runs._manifests.current(), *network.consortium.operator)
            wide = json.dumps(json.loads(signed.bytes()), indent=4000).encode()
            assert runs.take("token", runs.read(wide, OPERATOR)) == runs.take("token", signed) == "autumn"
            kept = runs._journal.content("#token/token")
            assert kept is not None
            assert len(wide) > 20_000 > 2_000 > len(kept)
            assert json.loads(kept)["signed"].encode() == signed.bytes()

    asyncio.run(scenario())


def test_a_name_in_other_letters_is_taken(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, two_operators(), dialling=False) as network:
            own, other = client_of(network, OPERATOR), client_of(network, OTHER)
            await asyncio.to_thread(own.submit, REQUEST, "autumn", "autumn")
            refused = await said(other.submit, REQUEST, "Autumn", "Autumn")
            assert "name: Autumn: another run is called so, autumn" in refused.message

    asyncio.run(scenario())


async def without_its_journal(folder: Path) -> TestConsortium:
    """A consortium whose curator has released autumn, and has lost its journal since."""
    consortium = two_operators(folder)
    async with NetworkConsortium(folder, consortium) as network:
        await asyncio.to_thread(client_of(network, OPERATOR).submit, REQUEST, "autumn", "autumn")
        assert (await end_of(network.server.runs, "autumn"))[0] == COMPLETED
    for file in (folder / "curator").glob("journal*"):
        file.unlink()
    return consortium


@pytest.mark.parametrize("name", ["autumn", "AUTUMN"])
def test_a_release_whose_run_is_forgotten_keeps_its_name(tmp_path: Path, name: str) -> None:
    async def scenario() -> None:
        consortium = await without_its_journal(tmp_path)
        async with NetworkConsortium(tmp_path, consortium, dialling=False) as network:
            refused = await said(client_of(network, OTHER).submit, REQUEST, name, name)
            assert f"name: {name}: a release of that name is there already" in refused.message
            assert network.server.runs.all() == []

    asyncio.run(scenario())


def test_a_release_that_a_run_did_not_write_is_not_its_own_and_nothing_is_charged(tmp_path: Path) -> None:
    """It comes back from a copy, say, while the run is queued."""

    async def scenario() -> None:
        consortium = await without_its_journal(tmp_path)
        releases = tmp_path / "curator" / "releases"
        releases.rename(tmp_path / "copy")
        spent = {name: party.ledger.spent() for name, party in consortium.parties.items()}
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            for name in ("autumn", "winter"):
                network.submit(name, json.dumps(REQUEST).encode(), name)
            releases.mkdir()
            for name in ("autumn", "winter"):
                shutil.copytree(tmp_path / "copy" / "autumn", releases / name)
            for name in ("autumn", "winter"):
                state, reason = await end_of(runs, name)
                assert (state, reason.endswith("a release is there already that this run did not write")) == (
                    FAILED,
                    True,
                )
        assert spent == {name: party.ledger.spent() for name, party in consortium.parties.items()}

    asyncio.run(scenario())


def test_a_request_for_more_rows_than_a_release_can_have_is_refused_when_it_is_submitted(tmp_path: Path) -> None:
    async def scenario() -> None:
        consortium = make_consortium(2, domain=(2, 3, 2))
        async with NetworkConsortium(tmp_path, consortium) as network:
            client = client_of(network, OPERATOR)
            refused = await said(client.submit, {**REQUEST, "rows": 100_000_000}, "token")
            assert "a release of 3 attributes has 89478485 at most" in refused.message
            assert network.server.runs.all() == []

    asyncio.run(scenario())


def test_a_list_of_runs_holds_the_newest_and_says_how_many_it_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privity.curator.grpc_services.LARGEST_LIST", 200)

    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, two_operators(), dialling=False) as network:
            own = client_of(network, OPERATOR)
            for token in ("run-0", "run-1", "run-2", "run-3"):
                await asyncio.to_thread(own.submit, REQUEST, token, token)
            found = await asyncio.to_thread(own.runs)
            names = [status.run for status in found.runs]
            assert found.left_out > 0
            assert [f"run-{place}" for place in range(found.left_out, 4)] == names
            said = await asyncio.to_thread(privity, "run", "list", "--config", operator_of(network), "--json")
            assert len(json.loads(said.stdout)) == len(names)
            assert f"{found.left_out} older runs are not listed" in said.stderr

    asyncio.run(scenario())


def test_an_operator_whom_the_manifest_lists_no_more_watches_no_longer(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, two_operators(), dialling=False, silence=2.0) as network:
            own, other = client_of(network, OPERATOR), client_of(network, OTHER)
            await asyncio.to_thread(own.submit, REQUEST, "autumn", "autumn")
            watching = own.watch("autumn")
            assert (await asyncio.to_thread(next, watching)).state in (QUEUED, RUNNING)
            without_the_submitter(network)
            await asyncio.to_thread(other.stop, "autumn")
            assert "the consortium's manifest does not list it" in (await said(list, watching)).message

    asyncio.run(scenario())


def open_files_of(folder: Path) -> int:
    """How many files below a folder this process, which is the curator, has open."""
    links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return sum(str(link.readlink()).startswith(str(folder)) for link in links)


def test_a_release_is_fetched_without_a_file_that_is_kept_open(tmp_path: Path) -> None:
    """A reader that does not read its streams, with files larger than a connection takes in ahead."""

    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, two_operators()) as network:
            await asyncio.to_thread(client_of(network, OPERATOR).submit, REQUEST, "autumn", "autumn")
            assert (await end_of(network.server.runs, "autumn"))[0] == COMPLETED
            releases = tmp_path / "curator" / "releases"
            (releases / "autumn" / "model.json").write_bytes(bytes(1 << 23))
            async with channel(network, network.consortium.tls.pairs[f"operator/{OPERATOR}"]) as link:
                streams = [rpc.OperatorStub(link).Fetch(pb.RunName(run="autumn")) for _ in range(20)]
                firsts = [(await stream.read()).name for stream in streams]
                assert firsts == ["attestations.json"] * 20
                await asyncio.sleep(0.5)
                assert [stream.done() for stream in streams] == [False] * 20
                assert open_files_of(releases) == 0
                for stream in streams:
                    stream.cancel()

    asyncio.run(scenario())
