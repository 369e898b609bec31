"""The operator's commands over connections that are cut or go deaf: they go on, or end with a named error."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from privity.common.consortium.manifest_file import ManifestFile
from privity.common.errors import Catalogue, PrivityError
from privity.common.exit_codes import Exit
from privity.common.release.release_contents import ATTESTATIONS, PRIVACY, RELEASE_FILES
from privity.common.release.release_folder import verify_release
from privity.curator.run_state_machine import COMPLETED
from privity.deploy.operator.curator_link import MOST_CALLS, PartyClient
from privity.deploy.operator.operator_client import OperatorClient
from tests.curator.test_run_driver import consortium_for_runs, end_of
from tests.harness.bad_line import Cut, Deaf, EndError, Line, Relay, Way
from tests.harness.network import NetworkConsortium
from tests.harness.tls import HOST
from tests.interfaces.cli.test_run import operator_of, run_command

pytestmark = pytest.mark.process

RUN = "autumn"
REQUEST = {"format_version": 1, "algorithm": "one-way", "epsilon": "1", "tolerate": 1, "secure_sum": "masks"}
SILENCE_SECONDS = 0.8
CONNECTIONS = 2 * MOST_CALLS - 1
"""Of a call that is given up: each try, and a look between two whether the curator is there."""
STANDING = 6500
"""Bytes of both directions when the curator tells events."""


@asynccontextmanager
async def submitted(folder: Path, line: Callable[[int], Line]) -> AsyncIterator[tuple[NetworkConsortium, Relay]]:
    """A run that waits for its second party, and a relay for the operator."""
    network = NetworkConsortium(folder, consortium_for_runs(), silence=SILENCE_SECONDS, dialling=False)
    async with network, Relay(network.port, line) as relay:
        network.start_agent("party-1")
        network.submit(RUN, json.dumps(REQUEST).encode(), RUN)
        yield network, relay


def client_over(network: NetworkConsortium, relay: Relay) -> OperatorClient:
    folder = operator_of(network, f"127.0.0.1:{relay.port}").parent
    manifests = ManifestFile(network.folder / "manifest.json", folder / "organiser.pub")
    files = (folder / "operator-boss.pem", folder / "operator-boss.key")
    return OperatorClient(f"127.0.0.1:{relay.port}", manifests, *files, silence=SILENCE_SECONDS)


BROKEN: dict[str, Callable[[], Line]] = {
    "refused at once": lambda: Cut(0),
    "reset": lambda: Cut(STANDING),
    "ended": lambda: Cut(STANDING, EndError),
    "accepted and never answered": lambda: Deaf(0),
    "black hole": lambda: Deaf(STANDING),
    "the operator hears nothing": lambda: Deaf(STANDING, Way.DOWN),
}


LONG = {"refused at once", "ended", "the operator hears nothing"}


@pytest.mark.parametrize(
    "make",
    [pytest.param(make, id=name, marks=pytest.mark.long if name in LONG else ()) for name, make in BROKEN.items()],
)
def test_watching_goes_on_over_a_new_connection(tmp_path: Path, make: Callable[[], Line]) -> None:
    async def scenario() -> list[str]:
        async with submitted(tmp_path, lambda number: Line() if number else make()) as (network, relay):
            client = client_over(network, relay)
            watching = asyncio.create_task(asyncio.to_thread(lambda: list(client.watch(RUN))))
            while len(relay.lines) < 2:
                await asyncio.sleep(0.05)
            # The rest of the run is seen over the new connection alone.
            network.start_agent("party-2")
            return [event.state for event in await watching]

    states = asyncio.run(scenario())
    assert states[-1] == COMPLETED
    assert states.count(COMPLETED) == 1


@pytest.mark.parametrize("make", [lambda: Cut(0), lambda: Deaf(0)], ids=["refused", "never answered"])
def test_watching_ends_by_name_when_nothing_comes_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[], Line]
) -> None:
    monkeypatch.setattr("privity.deploy.operator.operator_client.REACH_SECONDS", 2.0)

    async def scenario() -> PrivityError:
        async with submitted(tmp_path, lambda _number: make()) as (network, relay):
            client = client_over(network, relay)
            with pytest.raises(PrivityError) as caught:
                await asyncio.to_thread(lambda: list(client.watch(RUN)))
            return caught.value

    error = asyncio.run(scenario())
    assert error.kind is Catalogue.CONNECTION_FAILED
    assert error.remedy


@asynccontextmanager
async def released(folder: Path, lines: list[Line]) -> AsyncIterator[tuple[NetworkConsortium, Relay]]:
    """A run that has completed; the relay's connections fail by these lines, the later ones are good."""
    async with submitted(folder, lambda _number: lines.pop(0) if lines else Line()) as (network, relay):
        network.start_agent("party-2")
        assert (await end_of(network.server.runs, RUN))[0] == COMPLETED
        yield network, relay


def in_pieces(line: Line) -> Line:
    """This line, which fails in the midst of what is written at once."""
    line.piece = 1 << 10
    return line


async def bytes_of_a_fetch(client: OperatorClient, relay: Relay, folder: Path) -> int:
    await asyncio.to_thread(client.fetch, RUN, folder)
    return relay.lines[-1].total


@pytest.mark.parametrize("make", [Cut, lambda after: Cut(after, EndError), Deaf], ids=["reset", "ended", "black hole"])
def test_fetching_ends_by_name(tmp_path: Path, make: Callable[[int], Line]) -> None:
    async def scenario() -> PrivityError:
        lines: list[Line] = []
        async with released(tmp_path, lines) as (network, relay):
            client = client_over(network, relay)
            whole = await bytes_of_a_fetch(client, relay, tmp_path / "whole")
            verify_release(tmp_path / "whole")
            lines.extend(in_pieces(make(whole - 2000)) for _ in range(CONNECTIONS))
            with pytest.raises(PrivityError) as caught:
                await asyncio.to_thread(client.fetch, RUN, tmp_path / "part")
            assert relay.lines[1].passed[Way.DOWN] > whole / 2, "it broke in the midst of the release"
            return caught.value

    error = asyncio.run(scenario())
    assert error.kind is Catalogue.CONNECTION_FAILED
    assert "ask again" in error.remedy


def test_a_fetch_that_is_cut_again_and_again_leaves_nothing_and_one_cut_does_not_matter(tmp_path: Path) -> None:
    async def scenario() -> None:
        lines: list[Line] = []
        async with released(tmp_path, lines) as (network, relay):
            whole = await bytes_of_a_fetch(client_over(network, relay), relay, tmp_path / "whole")
            out = tmp_path / "taken" / "release"
            command = run_command(tmp_path / "operator" / "operator.toml")
            lines.extend(in_pieces(Cut(whole - 2000)) for _ in range(CONNECTIONS))
            code, _, said = await command("fetch", RUN, "--out", out)
            assert code == Exit.CONNECTION
            assert json.loads(said)["error"] == "connection-failed"
            assert (list(out.parent.iterdir()), lines) == ([], [])
            lines.append(in_pieces(Cut(whole - 2000)))
            code, fetched, _ = await command("fetch", RUN, "--out", out)
            assert (code, fetched["files"]) == (Exit.DONE, sorted([*RELEASE_FILES, ATTESTATIONS]))
            for file in RELEASE_FILES:
                assert (out / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()

    asyncio.run(scenario())


def party_client(network: NetworkConsortium, name: str) -> PartyClient:
    files = network.consortium.tls.files(network.folder, "party", name)
    manifests = ManifestFile(network.folder / "manifest.json", network.folder / "organiser.pub")
    return PartyClient(f"{HOST}:{network.port}", manifests, *files)


def test_a_party_fetches_the_release_of_a_run_that_it_took_part_in_and_no_other(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with released(tmp_path, []) as (network, _):
            client = party_client(network, "party-1")
            await asyncio.to_thread(client.fetch, RUN, tmp_path / "release")
            verify_release(tmp_path / "release")
            with pytest.raises(PrivityError, match="no run winter"):
                await asyncio.to_thread(client.fetch, "winter", tmp_path / "other")
            statement = network.folder / "curator" / "releases" / RUN / PRIVACY
            document = json.loads(statement.read_text())
            document["parties"] = [party for party in document["parties"] if party["name"] != "party-1"]
            statement.write_text(json.dumps(document))
            with pytest.raises(PrivityError, match="the parties that took part in it"):
                await asyncio.to_thread(client.fetch, RUN, tmp_path / "other")
            assert not (tmp_path / "other").exists()

    asyncio.run(scenario())
