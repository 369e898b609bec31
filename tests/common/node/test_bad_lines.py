"""Connections that are slow, cut, deaf or garbled below TLS: the same release, each charge once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.protocol.secure_sum_method import MASKS as BY_MASKS
from tests.harness.bad_line import (
    Changed,
    Cut,
    CutError,
    Deaf,
    EndError,
    Line,
    Narrow,
    Relay,
    Slow,
    Way,
    doubled,
    flipped,
    swapped,
)  # fmt: skip
from tests.harness.consortium import make_consortium
from tests.harness.network import NetworkConsortium
from tests.harness.repeated_run import DRAWS, PAILLIER, SILENCE_SECONDS, Outcome, RepeatedRun
from tests.harness.steps import pure

pytestmark = pytest.mark.process

PARTIES = 3
NO_NOISE = Fraction(100)
HANDSHAKE, EARLY, LATE = 2000, 9000, 13000
"""Bytes of both directions: in the midst of TLS, when a party is connected, in the midst of the run."""
END, STRIDE = 18_000, 300

RUN = RepeatedRun(DRAWS, parties=PARTIES)


@pytest.fixture(autouse=True)
def _short_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privity.party.agent.WAIT_SECONDS", 1)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return asyncio.run(RUN.outcome(tmp_path_factory.mktemp("undisturbed") / "run"))


def outcome_over(folder: Path, line: Callable[[int], Line], run: RepeatedRun = RUN) -> tuple[Outcome, list[Line]]:
    """What comes of the run over these lines, and the lines."""
    relays: list[Relay] = []

    def between(network: NetworkConsortium) -> Relay:
        relays.append(Relay(network.port, line))
        return relays[0]

    outcome = asyncio.run(run.outcome(folder, between))
    return outcome, relays[0].lines


def first(make: Callable[[], Line]) -> Callable[[int], Line]:
    """Each party's first connection is bad, the others are good."""
    return lambda number: make() if number < PARTIES else Line()


@pytest.mark.parametrize(
    "make",
    [lambda: Slow(0.002, 0.03), pytest.param(lambda: Narrow(20_000), marks=pytest.mark.long)],
    ids=["delay and jitter", "bandwidth"],
)
def test_a_bad_line_that_holds(tmp_path: Path, undisturbed: Outcome, make: Callable[[], Line]) -> None:
    outcome, lines = outcome_over(tmp_path / "run", lambda _number: make())
    assert outcome == undisturbed
    assert len(lines) == PARTIES, "nobody hung up"


BROKEN: dict[str, Callable[[], Line]] = {
    "refused at once": lambda: Cut(0),
    "reset in TLS": lambda: Cut(HANDSHAKE),
    "reset early": lambda: Cut(EARLY),
    "reset late": lambda: Cut(LATE),
    "ended early": lambda: Cut(EARLY, EndError),
    "ended late": lambda: Cut(LATE, EndError),
    "accepted and never answered": lambda: Deaf(0),
    "deaf in TLS": lambda: Deaf(HANDSHAKE),
    "black hole": lambda: Deaf(LATE),
    "the curator hears nothing": lambda: Deaf(EARLY, Way.UP),
    "the party hears nothing": lambda: Deaf(EARLY, Way.DOWN),
    "a bit flipped on the way up": lambda: Changed(Way.UP, 3500, flipped),
    "a bit flipped on the way down": lambda: Changed(Way.DOWN, 6500, flipped),
    "doubled on the way up": lambda: Changed(Way.UP, 3500, doubled),
    "doubled on the way down": lambda: Changed(Way.DOWN, 6500, doubled),
    "swapped on the way up": lambda: Changed(Way.UP, 3500, swapped),
    "swapped on the way down": lambda: Changed(Way.DOWN, 6500, swapped),
}


LONG = {
    "reset early", "ended early", "deaf in TLS", "black hole", "the party hears nothing", "doubled on the way up",
    "swapped on the way up", "reset in TLS", "ended late", "accepted and never answered", "a bit flipped on the way up",
    "doubled on the way down",
}  # fmt: skip


@pytest.mark.parametrize(
    "make",
    [pytest.param(make, id=name, marks=pytest.mark.long if name in LONG else ()) for name, make in BROKEN.items()],
)
def test_a_line_that_breaks(tmp_path: Path, undisturbed: Outcome, make: Callable[[], Line]) -> None:
    outcome, lines = outcome_over(tmp_path / "run", first(make))
    assert outcome == undisturbed
    assert len(lines) > PARTIES, "there were new connections"


@pytest.mark.long
def test_cuts_at_random_moments_under_paillier(tmp_path: Path) -> None:
    run, chance = RepeatedRun(PAILLIER, parties=PARTIES), random.Random(10)
    expected = asyncio.run(run.outcome(tmp_path / "undisturbed"))
    bad = [Cut(chance.randrange(EARLY, 2 * EARLY), chance.choice([CutError, EndError])) for _ in range(3 * PARTIES)]
    outcome, _ = outcome_over(tmp_path / "run", lambda number: bad[number] if number < len(bad) else Line(), run)
    assert outcome == expected


@pytest.mark.long
@pytest.mark.timeout(3000)
@pytest.mark.parametrize(
    "make",
    [
        Cut, lambda after: Cut(after, EndError), Deaf, lambda after: Deaf(after, Way.UP),
        lambda after: Deaf(after, Way.DOWN), lambda after: Changed(Way.UP, after // 3, flipped),
        lambda after: Changed(Way.DOWN, after * 2 // 3, flipped),
    ],
    ids=["reset", "ended", "black hole", "deaf up", "deaf down", "flipped up", "flipped down"],
)  # fmt: skip
def test_a_line_that_breaks_anywhere(tmp_path: Path, undisturbed: Outcome, make: Callable[[int], Line]) -> None:
    """Once every few hundred bytes, from the first to the end of the run."""
    broken = 0
    for after in range(0, END, STRIDE):
        outcome, lines = outcome_over(tmp_path / str(after), first(lambda after=after: make(after)))
        assert outcome == undisturbed, after
        broken += len(lines) > PARTIES
    assert broken > 0.8 * END / STRIDE, "most of them made the parties dial again"


@pytest.mark.long
def test_a_slow_transfer_takes_far_longer_than_the_silence_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither side gives up while bytes come: not the party, nor the curator's patience, nor gRPC's pings."""
    monkeypatch.setattr("privity.party.agent.ALIVE_SECONDS", 0.3)
    rate, silence, patience = 150_000, 0.9, 1.8

    async def scenario() -> list[Line]:
        consortium = make_consortium(2, domain=(200, 200), rows=50)
        network = NetworkConsortium(tmp_path, consortium, patience=patience, silence=silence, dialling=False)
        async with network, Relay(network.port, lambda _number: Narrow(rate)) as relay:
            for name in consortium.parties:
                network.start_agent(name, curator=f"127.0.0.1:{relay.port}")
            plan = await network.begin(consortium.spec(epsilon=NO_NOISE, secure_sum=BY_MASKS))
            (table,) = await network.session(plan).measure("test", [(0, 1)], pure(NO_NOISE))
            assert table.counts.sum() == 100
            return relay.lines

    lines = asyncio.run(scenario())
    # Signs of life have connections of their own, of a handshake and little more.
    carriers = [line for line in lines if line.total > 100_000]
    assert carriers == lines[:2], "nobody hung up"
    # The blob of a block on its way up, and the blobs of a block on their way down to the combiner.
    assert all(line.passed[Way.UP] / rate > 2 * silence for line in carriers)
    assert max(line.passed[Way.DOWN] for line in carriers) / rate > 4 * silence > patience + silence


def test_the_curator_hangs_up_on_a_party_that_went_away_unseen(tmp_path: Path) -> None:
    async def scenario() -> Line:
        consortium = make_consortium(2)
        network = NetworkConsortium(tmp_path, consortium, silence=SILENCE_SECONDS / 4, dialling=False)
        line = Deaf(1 << 30)
        async with network, Relay(network.port, lambda _number: line) as relay:
            network._silence = 1000.0  # the party would wait
            network.start_agent("party-1", curator=f"127.0.0.1:{relay.port}")
            while not network.server.desk.connected("party-1"):
                await asyncio.sleep(0.05)
            line.shut = True
            while line.hung_up is None:
                await asyncio.sleep(0.05)
            return line

    assert asyncio.run(scenario()).hung_up is Way.DOWN
