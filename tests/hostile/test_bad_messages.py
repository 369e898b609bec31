"""Every message of a run is cut, lost, doubled, late, out of order or in part: the same release, each charge once."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from privity.curator.run_queue import Runs
from tests.harness.long import long_but, thinned
from tests.harness.message_faults import HUNG, ONCE, Away, CutAfter, Dropped, Duplicated, Once, Reordered, Replayed
from tests.harness.middleman import Fault, Kind, Message, Middleman
from tests.harness.network import NetworkConsortium
from tests.harness.repeated_run import DRAWS, MASKS, PAILLIER, RUN, Outcome, RepeatedRun

pytestmark = pytest.mark.process

OTHER = "run-2"
RUNS = {
    "one-way": RepeatedRun(MASKS, parties=2),
    "draws": RepeatedRun(DRAWS),
    "paillier": RepeatedRun(PAILLIER),
    "pair": RepeatedRun(MASKS, parties=2, side_by_side=(RUN, OTHER)),
}
SHORT_WAIT_SECONDS = 1


def passed(name: str, folder: Path, fault: Fault, **options: Any) -> tuple[Outcome, Middleman]:
    """What comes of the run with this fault in the middle."""
    middlemen: list[Middleman] = []

    @asynccontextmanager
    async def between(network: NetworkConsortium):
        async with Middleman(network, fault) as middleman:
            middlemen.append(middleman)
            yield middleman

    outcome = asyncio.run(RUNS[name].outcome(folder, between, **options))
    (middleman,) = middlemen
    assert middleman.answers
    for message, answers in middleman.answers.items():
        assert len(answers) == 1, f"{message} was answered in {len(answers)} ways"
    return outcome, middleman


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Outcome, list[Message]]]:
    """By name of the run, without a fault: its outcome, and its messages."""
    folder = tmp_path_factory.mktemp("undisturbed")
    found = {}
    for name in RUNS:
        outcome, middleman = passed(name, folder / name, Fault())
        assert outcome == asyncio.run(RUNS[name].outcome(folder / f"{name}-without"))
        found[name] = (outcome, middleman.seen)
    return found


SHORT = [("draws", Dropped), ("draws", Duplicated), ("draws", Reordered), ("paillier", CutAfter)]
OTHERS = [
    *(("draws", fault) for fault in ONCE if ("draws", fault) not in SHORT),
    ("pair", CutAfter),
    ("pair", Reordered),
    ("paillier", Reordered),
]


@pytest.mark.parametrize(
    ("name", "fault"),
    long_but(SHORT, [*SHORT, *OTHERS]),
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_every_message_of_a_run_meets_the_fault(tmp_path: Path, undisturbed, name: str, fault: type[Once]) -> None:
    """All in one run, each when it first comes."""
    expected, messages = undisturbed[name]
    at_work = fault()
    outcome, _ = passed(name, tmp_path / "run", at_work)
    assert outcome == expected
    assert at_work.met >= set(messages)


def each_alone(name: str, folder: Path, undisturbed, fault: type[Once]) -> None:
    """As many runs as there are messages: in each of them one message meets the fault."""
    expected, messages = undisturbed[name]
    for number, message in enumerate(messages):
        at_work = fault(lambda other, message=message: other == message)
        outcome, _ = passed(name, folder / str(number), at_work)
        assert outcome == expected, message
        assert at_work.met == {message}


@pytest.mark.long
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("fault", [*ONCE, *HUNG], ids=lambda fault: fault.name)
def test_every_fault_at_every_message(
    tmp_path: Path, undisturbed, monkeypatch: pytest.MonkeyPatch, name: str, fault: type[Once]
) -> None:
    monkeypatch.setattr("privity.party.agent.WAIT_SECONDS", SHORT_WAIT_SECONDS)
    each_alone(name, tmp_path, undisturbed, fault)


@pytest.mark.parametrize("fault", thinned(HUNG, 2), ids=lambda fault: fault.name)
def test_a_call_that_never_ends_is_given_up(
    tmp_path: Path, undisturbed, monkeypatch: pytest.MonkeyPatch, fault: type[Once]
) -> None:
    """Pings are of no use here: the one in the middle answers them."""
    monkeypatch.setattr("privity.party.agent.WAIT_SECONDS", SHORT_WAIT_SECONDS)
    expected, messages = undisturbed["one-way"]
    chosen = {message for message in messages if "combine" in message.step}
    assert {message.kind for message in chosen} == set(Kind)
    at_work = fault(lambda message: message in chosen)
    outcome, _ = passed("one-way", tmp_path / "run", at_work)
    assert outcome == expected
    assert at_work.met == chosen


@pytest.mark.parametrize("name", ["one-way", pytest.param("draws", marks=pytest.mark.long)])
def test_messages_of_before_and_of_another_run_change_nothing(tmp_path: Path, name: str) -> None:
    """All earlier steps and replies come again after each message, through two runs."""
    runs = ("run-0", RUN)
    expected = asyncio.run(RUNS[name].outcome(tmp_path / "expected", runs=runs))
    outcome, middleman = passed(name, tmp_path / "replayed", Replayed(), runs=runs)
    assert outcome == expected
    assert {message.run for message in middleman.seen} == set(runs)


@pytest.mark.parametrize(
    "step",
    ["begin", "seal/", *(pytest.param(step, marks=pytest.mark.long) for step in ("enrol", "contribute/", "combine/"))],
)
@pytest.mark.parametrize("resumed", ["while it is away", "when it is back", "never"])
def test_a_run_is_stopped_or_discarded_while_a_party_is_cut_off(
    tmp_path: Path, undisturbed, monkeypatch: pytest.MonkeyPatch, step: str, resumed: str
) -> None:
    """Another run goes on beside it. Both end as if nothing had been, or what was discarded leaves nothing."""
    monkeypatch.setattr("privity.party.agent.RETRY_SECONDS", (0.02, 0.1))
    expected, messages = undisturbed["pair"]
    party = next(message.party for message in messages if message.step.startswith(step))
    away = Away(party, step)

    async def meanwhile(runs: Runs) -> None:
        async with asyncio.timeout(20):
            await away.gone.wait()
        runs.stop(RUN, discard=resumed == "never")
        if resumed == "while it is away":
            runs.resume(RUN)
        away.back.set()
        if resumed == "when it is back":
            runs.resume(RUN)

    outcome, _ = passed("pair", tmp_path / "run", away, meanwhile=meanwhile)
    if resumed != "never":
        assert outcome == expected
        return
    assert outcome.files == {name: content for name, content in expected.files.items() if not name.startswith(RUN)}
    for name, lines in expected.charges.items():
        assert [line for line in outcome.charges[name] if line[0] != RUN] == [line for line in lines if line[0] != RUN]
        assert set(outcome.charges[name]) <= set(lines)
