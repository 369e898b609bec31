"""LocalSession: the door to data for one owner alone, in its own process.

The same charged releases as over the network, with one party whose share is the whole noise; no
encryption, because nothing leaves the process but the releases.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from fractions import Fraction
from typing import Any, TypeVar, cast

import numpy as np

from privity.common.data.schema import Schema
from privity.common.privacy.ledger import Allowance
from privity.common.privacy.run_record import RunRecord
from privity.common.protocol.public_coin import public_coin
from privity.common.protocol.round import Round
from privity.common.protocol.round_session import RoundSession
from privity.common.protocol.selection_series import SelectionSeries
from privity.common.protocol.steps import SelectionStep
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.models import Model
from privity.party.charged_releases import ChargedReleases

ALONE = 1
Learnt = TypeVar("Learnt")


def complete(coroutine: Coroutine[Any, Any, Learnt]) -> Learnt:
    """The result of an algorithm on a LocalSession, which answers at once: nothing in it ever waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return cast("Learnt", end.value)
    coroutine.close()
    raise RuntimeError("an algorithm on a local session waited for something else")


class LocalSession(RoundSession):
    """One party, in process; a Session of ``privity.common.protocol.session``.

    Args:
        run: name of the run in ledger and journal; a new name is a new release.
        allowance: what the ledger may be charged, and the run's budget in rho, if it has one.
        delta: what the algorithm may spend, for one row.
        prefix: of the names of the steps, when they are part of a larger run.
    """

    noise_variables = Fraction(1)

    def __init__(
        self,
        run: str,
        schema: Schema,
        releases: ChargedReleases,
        allowance: Allowance,
        delta: Fraction = Fraction(0),
        prefix: str = "",
    ) -> None:
        super().__init__(run, prefix, allowance.rho_budget)
        self.schema = schema
        self.delta = delta
        self.rows = releases.rows
        self.party_rows = (releases.rows,)
        self.record = RunRecord(rho_budget=allowance.rho_budget)
        self._releases = releases
        self._allowance = allowance

    def public_coin(self, purpose: str, sides: int) -> int:
        return public_coin(f"{self.run}/{self._releases.party}/{self._prefix}", purpose, sides)

    async def _reveal(self, round_: Round) -> np.ndarray:
        vector = self._releases.noisy_vector(round_, ALONE, self._allowance)
        self.record.add_cost(self._cost(round_, (self._releases.party,), shared=False))
        return vector

    def selection(
        self, phase: str, selections: int, epsilon: Fraction, *, balanced: bool = False, score: str = "R"
    ) -> SelectionSeries:
        series = self._series(phase, selections, epsilon, balanced, score, self._ask)
        for cost in series.costs((self._releases.party,)):
            self.record.add_cost(cost)
        return series

    async def learn_apart(
        self, _phase: str, algorithm: str, settings: Mapping[str, Any], epsilon: Fraction
    ) -> list[Model]:
        # One party alone: its own session is this one.
        return [await ALGORITHMS[algorithm].learn(self, epsilon, settings)]

    async def _ask(self, _party: int, step: SelectionStep) -> int:
        return self._releases.select(step, self._allowance)
