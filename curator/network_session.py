"""NetworkSession: the door to the data of K parties, through sealed secure sums and party-side selections.

Durable by replay: every revealed sum and every answer is in the journal before the algorithm sees it.
After a crash the algorithm runs again from the top, and what was awaited before answers from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from privity.common.consortium.manifest import Manifest
from privity.common.crypto.paillier import SecretKey
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.run_record import OWN_MODEL, Cost, RunRecord
from privity.common.protocol.public_coin import public_coin
from privity.common.protocol.round import Round
from privity.common.protocol.round_context import RoundContext
from privity.common.protocol.round_session import RoundSession
from privity.common.protocol.run_spec import RunPlan
from privity.common.protocol.selection_series import SelectionSeries
from privity.common.protocol.session import Result
from privity.common.protocol.steps import Choice, Done, Learn, Learned, Revealed, SelectionStep
from privity.common.synthesis.algorithms import rho_budget_of
from privity.common.synthesis.models import Model
from privity.common.synthesis.models.load_model import load_model
from privity.curator.answer_store import Answers
from privity.curator.sum_rounds import RoundAtWork, together
from privity.curator.traffic_meter import Meter


class NetworkSession(RoundSession):
    """K parties over the network; a Session of ``privity.common.protocol.session``.

    Args:
        secret: the run's Paillier secret key, which decrypts sums over all members only; None if nobody holds a key.
    """

    def __init__(
        self,
        plan: RunPlan,
        manifest: Manifest,
        schema: Schema,
        secret: SecretKey | None,
        answers: Answers,
        meter: Meter,
    ) -> None:
        super().__init__(plan.spec.run, rho_budget=rho_budget_of(plan.spec))
        self.plan = plan
        self.schema = schema
        self.rows = plan.rows
        self.party_rows = tuple(e.rows for e in plan.enrolments)
        self.delta = plan.spec.delta
        self.noise_variables = Fraction(plan.parties, plan.noise_quota)
        self.record = RunRecord(rho_budget=rho_budget_of(plan.spec))
        self._manifest = manifest
        self._secret = secret
        self._answers = answers
        self._journal = answers.journal
        self._meter = meter
        self._rounds = 0
        self._revealed_rounds: dict[str, Round] = {}

    @property
    def _members(self) -> tuple[str, ...]:
        return self.plan.spec.members

    def _reserve(self, *costs: Cost) -> None:
        """Put costs on the record before any party is asked; each party sums its own charges again."""
        for cost in costs:
            self.record.add_cost(cost)
        spec = self.plan.spec
        for member in self._members:
            if self.record.epsilon(member) > spec.epsilon or self.record.delta(member) > spec.delta:
                reason = "the algorithm asks for more than the run's epsilon or delta"
                raise PrivityError(Catalogue.STEP_REFUSED, step=costs[0].phase, reason=reason)

    def public_coin(self, purpose: str, sides: int) -> int:
        return public_coin(self.plan.digest, purpose, sides)

    async def compute(self, work: Callable[[], Result]) -> Result:
        # The loop goes on meanwhile: it is the parties' line to the curator.
        return await asyncio.to_thread(work)

    async def _reveal(self, round_: Round) -> np.ndarray:
        round_.check_asked(self.schema.derived, max(self.party_rows))
        round_.check_noise(self.plan.noise_quota)
        self._reserve(self._cost(round_, self._members))
        self._rounds += 1
        self._meter.enter(round_.phase)
        vector = await self._revealed(round_)
        self._meter.charged(self.record, vector.size)
        self._revealed_rounds[round_.round] = round_
        return vector

    async def _revealed(self, round_: Round) -> np.ndarray:
        """The round's revealed vector, int64 of shape (cells,): from the journal, or from the parties."""
        key = f"{self.plan.spec.run}/opened/{round_.round}"
        stored = self._journal.recall(key, round_.digest)
        if stored is None:
            context = RoundContext(self.plan, self._manifest, round_, self.schema)
            replaced = None if round_.replacement is None else round_.replacement.previous
            previous = None if replaced is None else self._revealed_rounds[replaced]
            work = RoundAtWork(context, self._rounds, previous, self._answers, self._secret, self._meter)
            vector = await work.reveal()
            stored = self._journal.record(key, round_.digest, vector.astype("<i8").tobytes())
            work.forget()
        revealed = Revealed(round_.run, round_.round, round_.digest)
        await together(self._answers.ask(member, revealed, round_.phase, Done) for member in self._members)
        return np.frombuffer(stored, dtype="<i8").astype(np.int64)

    def selection(
        self, phase: str, selections: int, epsilon: Fraction, *, balanced: bool = False, score: str = "R"
    ) -> SelectionSeries:
        series = self._series(phase, selections, epsilon, balanced, score, self._choose)
        self._meter.enter(phase)
        self._meter.expect(selections)
        self._reserve(*series.costs(self._members))
        self._meter.charged(self.record)
        return series

    async def learn_apart(
        self, phase: str, algorithm: str, settings: Mapping[str, Any], epsilon: Fraction
    ) -> list[Model]:
        name = self._next_name(phase)
        step = Learn(self.plan.spec.run, phase, name, algorithm, dict(settings), epsilon)
        self._meter.enter(phase)
        self._meter.expect(len(self._members))
        self._reserve(Cost(phase, OWN_MODEL, epsilon, self._members))
        self._meter.charged(self.record)
        return await together(self._learned(member, step) for member in self._members)

    async def _learned(self, party: str, step: Learn) -> Model:
        reply = await self._answers.ask(party, step, step.phase, Learned)
        return load_model(reply.model, self.schema, f"the model of {party}")

    async def _choose(self, party: int, step: SelectionStep) -> int:
        reply = await self._answers.ask(self._members[party], step, step.phase, Choice)
        if not 0 <= reply.index < step.choices:
            raise PrivityError(Catalogue.STEP_REFUSED, step=step.key, reason="the choice is none of the candidates")
        self._meter.exchanged()
        return reply.index
