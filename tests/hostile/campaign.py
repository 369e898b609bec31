"""So many hostile messages to parties, to a curator and within runs, from one seed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.hostile.curator_target import CuratorTarget
from tests.hostile.party_target import PartyTarget, endless_refusals
from tests.hostile.run_target import RunTarget
from tests.hostile.tally import Tally

WARM_UP = 300
"""Messages before memory is looked at: libraries load and fill what they keep."""


@contextmanager
def no_log_lines() -> Iterator[None]:
    """Every refusal is a line, and nobody reads a hundred thousand."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def campaign(folder: Path, to_parties: int, to_curator: int, runs: int, seed: int) -> Tally:
    """What so many messages and runs brought about; every service answered honest calls afterwards."""
    tally = Tally()
    with no_log_lines(), endless_refusals():
        for part in ("parties", "curator", "runs"):
            (folder / part).mkdir()
        parties = PartyTarget(folder / "parties", seed)
        _grown(tally, parties, to_parties)
        parties.answer_honest_steps()
        tally.charged += parties.charged()
        replies = [reply for world in parties.worlds for reply in world.replies]
        asyncio.run(_to_curator(tally, CuratorTarget(folder / "curator", seed, replies), to_curator))
        if runs:
            lies = RunTarget(folder / "runs", seed)
            _grown(tally, lies, runs)
            lies.answers_honest_runs()
    return tally


def _grown(tally: Tally, target: PartyTarget | RunTarget, messages: int) -> None:
    first = min(WARM_UP, messages // 10)
    for _ in range(first):
        target.send(tally)
    with tally.growth():
        for _ in range(messages - first):
            target.send(tally)


async def _to_curator(tally: Tally, target: CuratorTarget, messages: int) -> None:
    async with target:
        first = min(WARM_UP, messages // 10)
        for _ in range(first):
            await target.send(tally)
        with tally.growth():
            for _ in range(messages - first):
                await target.send(tally)
        await target.answers_honest_calls()
        tally.charged += target.charged()
