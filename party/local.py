"""LocalSession: the door to data for one owner alone, in its own process.

The same charged releases as over the network, with one party whose share is the whole noise; no
encryption, because nothing leaves the process but the releases.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from common.privacy.ledger import Allowance
from common.privacy.noise import share_variance
from common.privacy.record import LAPLACE, NOISY_MAX, Cost, RunRecord
from common.protocol.draws import DrawSeries
from common.protocol.openings import OpeningSeries
from common.protocol.secure_sum import noisy_tables
from common.protocol.steps import Round, Select
from common.schema import Schema
from common.statistics import Marginal, NoisyTable
from party.releases import ChargedReleases

ALONE = 1


class LocalSession:
    """One party, in process; a Session of ``common.protocol.session``.

    Args:
        run: name of the run in ledger and journal; a new name is a new release.
        allowance: what the ledger may be charged.
    """

    noise_variables = Fraction(1)

    def __init__(self, run: str, schema: Schema, releases: ChargedReleases, allowance: Allowance) -> None:
        self.run = run
        self.schema = schema
        self.rows = releases.rows
        self.party_rows = (releases.rows,)
        self.record = RunRecord()
        self._releases = releases
        self._allowance = allowance
        self._steps = 0

    def _next_name(self, phase: str) -> str:
        self._steps += 1
        return f"{self._steps}-{phase}"

    async def measure(self, phase: str, tables: Sequence[Marginal], epsilon: Fraction) -> list[NoisyTable]:
        return await self._open_round(Round(self.run, phase, self._next_name(phase), tuple(tables), epsilon))

    def openings(
        self, phase: str, tables: Sequence[Marginal], epsilon: Fraction, weights: Sequence[Fraction]
    ) -> OpeningSeries:
        return OpeningSeries(self.run, phase, self._next_name(phase), tables, epsilon, weights, self._open_round)

    async def _open_round(self, round_: Round) -> list[NoisyTable]:
        vector = self._releases.noisy_vector(round_, ALONE, self._allowance)
        variance = share_variance(round_.scale, ALONE)
        opened = noisy_tables(vector, round_, self.schema, variance, self.rows)
        self.record.add_cost(Cost(round_.phase, LAPLACE, round_.cost, (self._releases.party,)))
        self.record.add_tables(round_.phase, opened)
        return opened

    def selection(self, phase: str, draws: int, epsilon: Fraction, *, balanced: bool = False) -> DrawSeries:
        self.record.add_cost(Cost(phase, NOISY_MAX, epsilon, (self._releases.party,)))
        return DrawSeries(self.run, phase, self._next_name(phase), draws, epsilon, self.party_rows, balanced, self._ask)

    async def _ask(self, _party: int, step: Select) -> int:
        return self._releases.select(step, self._allowance)
