"""The same runs again and again: the same consortium, rows and noise, so that only the network differs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from privity.common.crypto import paillier
from privity.common.crypto.identity import Identity
from privity.common.errors import PrivityError
from privity.curator.run_queue import Runs
from privity.curator.run_state_machine import COMPLETED, DISCARDED
from tests.harness.consortium import TestConsortium, make_schema, make_table
from tests.harness.ledgers import charged
from tests.harness.network import NetworkConsortium
from tests.harness.tls import TestTls

RELEASED = ("synthetic.csv", "model.json", "marginals.json", "privacy.json")
RUN = "run-1"
NOISE_SEED, SAMPLING_SEED = 11, b"7"
PAILLIER_BITS = 2048
SILENCE_SECONDS = 1.0

MASKS: dict[str, Any] = {"algorithm": "one-way", "secure_sum": "masks"}
PAILLIER: dict[str, Any] = {"algorithm": "one-way", "secure_sum": "paillier", "key_bits": PAILLIER_BITS}
DRAWS: dict[str, Any] = {"algorithm": "dp-subn", "secure_sum": "masks"}

Between = Callable[[NetworkConsortium], AbstractAsyncContextManager[Any]]
"""What stands between the parties and the curator: a relay with a ``port``; made once the curator serves."""


@dataclass(frozen=True)
class Outcome:
    """What must not depend on the network.

    Attributes:
        files: what each run that completed released, below its name.
        charges: by party, in no order: two steps may be given either way round.
    """

    files: Mapping[str, bytes]
    charges: Mapping[str, list[tuple[str, ...]]]


@lru_cache(maxsize=1)
def _secret() -> bytes:
    """A Paillier key as the curator's journal holds it."""
    return json.dumps(paillier.secret_to_dict(paillier.generate_keypair(PAILLIER_BITS)[1])).encode()


class RepeatedRun:
    """One consortium, met again by each call as if nothing had happened yet.

    Args:
        request: of the operator, but for what all have in common.
        side_by_side: names of runs that are all submitted at once; none if they go one after another.
    """

    def __init__(
        self,
        request: Mapping[str, Any],
        *,
        parties: int = 3,
        domain: tuple[int, ...] = (2, 3, 2),
        rows: int = 30,
        side_by_side: tuple[str, ...] = (),
    ) -> None:
        self._side_by_side = side_by_side
        schema = make_schema(domain)
        self._tables = {f"party-{k}": make_table(schema, rows, seed=k) for k in range(1, parties + 1)}
        self._identities = {name: Identity.generate() for name in self._tables}
        self._tls = TestTls.of(self._tables)
        self._request = {"format_version": 1, "epsilon": "1", "tolerate": 1, **request}

    async def outcome(
        self,
        folder: Path,
        between: Between | None = None,
        *,
        runs: tuple[str, ...] = (RUN,),
        patience: float = 20.0,
        silence: float = SILENCE_SECONDS,
        meanwhile: Callable[[Runs], Awaitable[None]] | None = None,
    ) -> Outcome:
        """Run it, with this between the parties and the curator, until every party knows of the end.

        Args:
            runs: names of runs that go one after another.
            meanwhile: what the operator does once runs side by side are submitted; runs that are discarded end well.
        """
        folder.mkdir()  # noqa: ASYNC240 - tests wait for nobody
        consortium = TestConsortium(self._tables, seed=NOISE_SEED, identities=self._identities, tls=self._tls)
        network = NetworkConsortium(folder, consortium, patience=patience, silence=silence, dialling=False)
        async with network, between(network) if between else nullcontext() as middle:
            dialled = {"curator": f"127.0.0.1:{middle.port}"} if middle else {}
            keepers = [asyncio.create_task(_keep_serving(network, name, dialled)) for name in self._tables]
            try:
                for run in self._side_by_side:
                    self._submit(network, run)
                if meanwhile is not None:
                    await meanwhile(network.server.runs)
                for run in () if self._side_by_side else runs:
                    self._submit(network, run)
                    await _ended(network.server.runs, run)
                states = {run: await _ended(network.server.runs, run) for run in self._side_by_side or runs}
                async with asyncio.timeout(patience):
                    while network.server.runs._marks.untold():
                        await asyncio.sleep(0.02)
            finally:
                for keeper in keepers:
                    keeper.cancel()
                await asyncio.gather(*keepers, return_exceptions=True)
        releases = folder / "curator" / "releases"
        kept = [Path(run, file) for run, state in states.items() if state == COMPLETED for file in RELEASED]
        for party in consortium.parties.values():
            assert party.ledger.reserved() == []
        charges = {
            name: sorted(
                (
                    e.charge.run,
                    e.charge.step,
                    str(e.charge.loss),
                    str(e.added),
                    str(e.answered),
                )
                for e in charged(party.ledger)
            )
            for name, party in consortium.parties.items()
        }
        return Outcome({str(file): (releases / file).read_bytes() for file in kept}, charges)

    def _submit(self, network: NetworkConsortium, name: str) -> None:
        runs = network.server.runs
        runs._journal.record(f"{name}/seed", "seed", SAMPLING_SEED)
        if "key_bits" in self._request:
            runs._journal.record(f"{name}/secret", "secret", _secret())
        network.submit(name, json.dumps(self._request).encode(), name)


async def _ended(runs: Runs, name: str) -> str:
    async for run in runs.watch(name):
        last = run
    assert last.state in (COMPLETED, DISCARDED), f"{last.state}: {last.reason}"
    return str(last.state)


async def _keep_serving(network: NetworkConsortium, name: str, dialled: Mapping[str, str]) -> None:
    """Start the party, and start it again if it ends, as whatever keeps services running does."""
    while True:
        try:
            await network.start_agent(name, **dialled)
        except PrivityError:
            await asyncio.sleep(0.2)
