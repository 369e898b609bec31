"""Rounds of two runs whose steps come by turns at every party: each run's sums are those of that run alone."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.protocol.run_spec import RunPlan
from privity.common.protocol.secure_sum_method import MASKS, PAILLIER, SumKind
from privity.common.protocol.session import Session
from privity.common.protocol.steps import Close, Done, Reply, Step
from privity.curator.answer_store import Answers
from privity.curator.network_backend import NetworkBackend
from privity.curator.traffic_meter import Meter
from tests.common.protocol.test_secure_sum import NO_NOISE
from tests.harness.consortium import TestConsortium, make_consortium, open_policy
from tests.harness.steps import pure

NAMES = itertools.count()
TABLES = (((0, 1),), ((2,), (0, 2)))


class Turns:
    """Answers the steps that lie ready one by one, in an order that is drawn."""

    def __init__(self, consortium: TestConsortium, order: Sequence[int]) -> None:
        self._consortium = consortium
        self._order = itertools.cycle(order or [0])
        self._ready: list[asyncio.Future[None]] = []

    async def ask(self, party: str, step: Step, phase: str) -> Reply:
        turn = asyncio.get_running_loop().create_future()
        self._ready.append(turn)
        await turn
        return await self._consortium.ask(party, step, phase)

    async def answer(self, tasks: list[asyncio.Task[Any]]) -> list[Any]:
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0.0005)  # sums are revealed in threads
            if self._ready:
                self._ready.pop(next(self._order) % len(self._ready)).set_result(None)
        return [task.result() for task in tasks]

    def session(self, plan: RunPlan) -> Session:
        c = self._consortium
        meter = Meter()
        answers = Answers(c.journal, self.ask, meter)
        return NetworkBackend(plan, c.manifest, c.schema, c.secret, answers, meter).session()


@cache
def parties() -> TestConsortium:
    """As nodes that make randomness ahead, which simulated ones do not; for all examples."""
    plenty = open_policy(total_epsilon=NO_NOISE * 10**6)
    return make_consortium(3, policies={f"party-{k}": plenty for k in (1, 2, 3)}, simulation=False)


@pytest.mark.parametrize("kinds", [(MASKS, MASKS), (MASKS, PAILLIER), (PAILLIER, PAILLIER)])
@given(order=st.lists(st.integers(0, 20), max_size=40), ahead=st.booleans())
def test_two_runs_by_turns(kinds: tuple[SumKind, SumKind], order: list[int], ahead: bool) -> None:
    consortium = parties()
    exact = {tables: [] for tables in TABLES}
    for tables in TABLES:
        for table in tables:
            shape = tuple(consortium.schema.domain[a] for a in table)
            counts = np.zeros(shape, dtype=np.int64)
            for party in consortium.parties.values():
                np.add.at(counts, tuple(party.table.columns[a] for a in table), 1)
            exact[tables].append(counts)
    specs = [
        consortium.spec(run=f"run-{next(NAMES)}", epsilon=NO_NOISE, secure_sum=kind, algorithm="one-way")
        for kind in kinds
    ]
    plans = [consortium.begin(spec) for spec in specs]
    turns = Turns(consortium, order)

    async def both() -> list[Any]:
        if ahead:
            for party in consortium.parties.values():
                party.engine.prepare()
        tasks = [
            asyncio.create_task(turns.session(plan).measure("p", tables, pure(NO_NOISE)))
            for plan, tables in zip(plans, TABLES, strict=True)
        ]
        return await turns.answer(tasks)

    for tables, found in zip(TABLES, asyncio.run(both()), strict=True):
        for counts, table in zip(exact[tables], found, strict=True):
            np.testing.assert_array_equal(table.counts, counts)
    for name in consortium.parties:
        for plan in plans:
            assert consortium.tell(name, Close(plan.spec.run, "COMPLETED")) == Done()
