"""A run that fails after it has learnt: it has a release, which is unfinished, signed and fetched."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from privity.common.formats import read_json
from privity.common.privacy.budget import parse_epsilon
from privity.common.protocol.round import Round, Scores
from privity.common.release import statement
from privity.common.release.attestations import read_attestations
from privity.common.release.open_model import open_model
from privity.common.release.release_contents import LEARNT_FILES, PRIVACY, RUN, is_unfinished
from privity.common.release.release_folder import verify_release
from privity.common.release.report.report_page import report_of
from privity.common.release.statement import largest
from privity.common.release.synthetic_rows import synthesise
from privity.common.release.verification.release_verification import check_release, check_signed_release
from privity.common.runs import rehearsed_release
from privity.curator import run_driver
from privity.curator.network_backend import NetworkBackend
from privity.curator.run_state_machine import COMPLETED, DISCARDED, FAILED
from tests.curator.test_run_driver import end_of, request
from tests.curator.test_signed_releases import a_real_consortium, release, signers, until
from tests.harness.long import thinned
from tests.harness.network import NetworkConsortium

pytestmark = pytest.mark.process

EVALUATION = {"epsilon": "1/4", "targets": []}


def broken(*_arguments: object, **_more: object) -> None:
    """In the place of a step that nobody expects to fail."""
    raise ZeroDivisionError("as a fault in a step")


def ended(folder: Path, **changes: object) -> tuple[str, str]:
    """How a run ends, and what its operator is told to do; every party has signed its release by then."""

    async def scenario() -> tuple[str, str]:
        async with NetworkConsortium(folder, a_real_consortium()) as network:
            runs = network.server.runs
            state, _ = await end_of(runs, network.submit("t", request(**changes), "autumn"))
            await until(lambda: len(signers(folder)) == 3)
            return state, runs.get("autumn").remedy

    return asyncio.run(scenario())


STEPS = ["synthesised", "to_score", "scores_of", "score_over_parties", "write_with_report"]


@pytest.mark.parametrize("step", thinned(STEPS, 2))
def test_a_run_that_fails_after_it_has_learnt_has_a_release_that_all_sign(tmp_path, monkeypatch, step):
    monkeypatch.setattr(run_driver, step, broken)
    state, remedy = ended(tmp_path, evaluation=EVALUATION)
    assert state == FAILED
    assert "What was learnt is a release without rows: privity run fetch autumn" in remedy
    folder = release(tmp_path)
    assert {*LEARNT_FILES} <= {file.name for file in folder.iterdir()}
    assert is_unfinished(read_json(folder / RUN))
    lines = list(check_signed_release(folder, tmp_path / "organiser.pub"))
    assert "All 3 parties and the curator agree." in lines
    # Of the scores only what was charged is stated.
    asked = parse_epsilon("1") - (0 if step == "write_with_report" else parse_epsilon("1/4"))
    assert largest(read_json(folder / PRIVACY), "row")[0] == asked
    assert len(synthesise(open_model(folder), 5, 1)) == 5
    assert "The release has no synthetic rows" in report_of(folder)


def test_a_curator_that_dies_after_it_has_learnt_goes_on_to_a_whole_release(tmp_path, monkeypatch):
    async def first() -> None:
        async with NetworkConsortium(tmp_path, consortium) as network:
            drawing, loop, ended = asyncio.Event(), asyncio.get_running_loop(), threading.Event()

            def dying(*_arguments: object) -> None:
                loop.call_soon_threadsafe(drawing.set)
                ended.wait()

            monkeypatch.setattr(run_driver, "synthesised", dying)
            network.submit("t", request(), "autumn")
            await drawing.wait()
            # In the middle of a file.
            (release(tmp_path) / "synthetic.csv").write_text("a,b")
            assert is_unfinished(read_json(release(tmp_path) / RUN))
        ended.set()
        verify_release(release(tmp_path))

    async def second() -> None:
        async with NetworkConsortium(tmp_path, consortium) as network:
            assert await end_of(network.server.runs, "autumn") == (COMPLETED, "")
            await until(lambda: len(signers(tmp_path)) == 3)

    consortium = a_real_consortium()
    asyncio.run(first())
    monkeypatch.undo()
    asyncio.run(second())
    lines = list(check_signed_release(release(tmp_path), tmp_path / "organiser.pub"))
    assert "All 3 parties and the curator agree." in lines
    assert not is_unfinished(read_json(release(tmp_path) / RUN))


def test_what_parties_were_asked_to_score_is_stated_of_a_run_that_is_discarded_then(tmp_path, monkeypatch):
    async def scenario() -> None:
        async with NetworkConsortium(tmp_path, a_real_consortium()) as network:
            asked, reveal = asyncio.Event(), NetworkBackend.reveal

            async def silent(backend: NetworkBackend, round_: Round) -> object:
                if not isinstance(round_.query, Scores):
                    return await reveal(backend, round_)
                asked.set()
                return await asyncio.Event().wait()

            monkeypatch.setattr(NetworkBackend, "reveal", silent)
            runs = network.server.runs
            name = network.submit("t", request(evaluation=EVALUATION), "autumn")
            await asked.wait()
            runs.stop(name, discard=True)
            assert (await end_of(runs, name))[0] == DISCARDED
            assert RUN in {file.name for file in runs.release_files(name)}
            await until(lambda: read_attestations(release(tmp_path)) is not None)

    asyncio.run(scenario())
    check_release(release(tmp_path))
    assert largest(read_json(release(tmp_path) / PRIVACY), "row")[0] == 1


def broken_of_three(parties: list[str], *_arguments: object) -> None:
    """A fault in the statement that a single data owner never meets."""
    if len(parties) == 3:
        broken()


@pytest.mark.parametrize(
    ("module", "name", "fault"),
    [(rehearsed_release, "report_page", broken), (statement, "_observers", broken_of_three)],
)
def test_a_release_that_cannot_be_made_is_told_before_anybody_is_charged(tmp_path, monkeypatch, module, name, fault):
    monkeypatch.setattr(module, name, fault)

    async def scenario() -> None:
        consortium = a_real_consortium()
        async with NetworkConsortium(tmp_path, consortium) as network:
            runs = network.server.runs
            state, reason = await end_of(runs, network.submit("t", request(), "autumn"))
            assert (state, "ZeroDivisionError" in reason) == (FAILED, True)
            assert "Nothing was charged" in runs.get("autumn").remedy
        assert [party.ledger.spent() for party in consortium.parties.values()] == [0, 0, 0]

    asyncio.run(scenario())
    assert not release(tmp_path).exists()
