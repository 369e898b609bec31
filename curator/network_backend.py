"""The parties of a run over the network: sealed secure sums, and selections at one party at a time.

Durable by replay: every revealed sum and every answer is in the journal before the algorithm sees it.
After a crash the algorithm runs again from the top, and what was awaited before answers from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from privity.common.consortium.manifest import Manifest
from privity.common.crypto.paillier import SecretKey
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.plausible_sums import PlausibleSums
from privity.common.protocol.round import Round
from privity.common.protocol.round_context import RoundContext
from privity.common.protocol.run_record import RunRecord
from privity.common.protocol.run_spec import RunPlan
from privity.common.protocol.session import Backend, Result, Session
from privity.common.protocol.steps import Done, Learn, Learned, Recode, Revealed, Selected, SelectionStep
from privity.common.synthesis.algorithms import budget_of
from privity.common.synthesis.models import Model
from privity.common.synthesis.models.load_model import load_model
from privity.curator.answer_store import Answers
from privity.curator.sum_rounds import RoundAtWork, together
from privity.curator.traffic_meter import Meter


class NetworkBackend(Backend):
    """K parties over the network.

    Args:
        secret: the run's Paillier secret key, which decrypts sums over all members only; None if nobody holds a key.
        recoded: what the parties are asked before the first round: to code their rows by this schema.
    """

    def __init__(
        self,
        plan: RunPlan,
        manifest: Manifest,
        schema: Schema,
        secret: SecretKey | None,
        answers: Answers,
        meter: Meter,
        recoded: Recode | None = None,
    ) -> None:
        self.plan = plan
        self.members = plan.spec.members
        self.party_rows = tuple(enrolment.rows for enrolment in plan.enrolments)
        self.quota = plan.noise_quota
        self.coin = plan.digest
        self.population, self.parties_per_person = manifest.consortium, manifest.parties_per_person
        self.rows_per_person = tuple(enrolment.rows_per_person for enrolment in plan.enrolments)
        self.plausible: PlausibleSums = PlausibleSums(schema.derived, Fraction(plan.parties, self.quota))
        self._schema = schema
        self._manifest = manifest
        self._secret = secret
        self._answers = answers
        self._journal = answers.journal
        self._meter = meter
        self._recoded = recoded
        self._revealed: dict[str, Round] = {}

    def recode(self, schema: Schema, prefix: str) -> NetworkBackend:
        """The same parties, over rows that they code anew: open numbers by the edges that this schema has."""
        pairs = enumerate(zip(self._schema.attributes, schema.attributes, strict=True))
        edges = tuple((place, after.edges) for place, (before, after) in pairs if before.edges != after.edges)
        step = Recode(self.plan.spec.run, prefix.rstrip("/"), edges)
        found = NetworkBackend(self.plan, self._manifest, schema, self._secret, self._answers, self._meter, step)
        found._revealed, found.plausible = self._revealed, self.plausible.of_other_codes(schema.derived)
        return found

    def session(self) -> Session:
        """A session of the run over these parties."""
        return Session(self, self._schema, budget_of(self.plan.spec), self.plan.spec.run)

    def recorded(self, phase: str, record: RunRecord, answers: int) -> None:
        """Refuse more than the run's; each party sums its own charges again."""
        spec = self.plan.spec
        for member in self.members:
            if record.epsilon(member) > spec.epsilon or record.delta(member) > spec.delta:
                reason = "the algorithm asks for more than the run's epsilon or delta"
                raise PrivityError(Catalogue.STEP_REFUSED, step=phase, reason=reason)
        self._meter.enter(phase)
        if answers:
            self._meter.expect(answers)
        self._meter.charged(record)

    async def compute(self, work: Callable[[], Result]) -> Result:
        # The loop goes on meanwhile: it is the parties' line to the curator.
        return await asyncio.to_thread(work)

    async def reveal(self, round_: Round) -> np.ndarray:
        if (step := self._recoded) is not None:
            self._meter.expect(len(self.members))
            await together(self._answers.ask(member, step, round_.phase, Done) for member in self.members)
        key = f"{self.plan.spec.run}/revealed/{round_.round}"
        stored = self._journal.recall(key, round_.digest)
        number = len(self._revealed) + 1
        if stored is not None:
            vector = np.frombuffer(stored, dtype="<i8").astype(np.int64)
        else:
            context = RoundContext(self.plan, self._manifest, round_, self._schema)
            replaced = None if round_.replacement is None else round_.replacement.previous
            previous = None if replaced is None else self._revealed[replaced]
            work = RoundAtWork(context, number, previous, self._answers, self._secret, self._meter)
            vector = await work.reveal()
            self._journal.record(key, round_.digest, vector.astype("<i8", copy=False).tobytes())
            work.forget()
        revealed = Revealed(round_.run, round_.round, round_.digest)
        await together(self._answers.ask(member, revealed, round_.phase, Done) for member in self.members)
        self._revealed[round_.round] = round_
        self._meter.exchanged(vector.size)
        return vector

    async def learn(self, step: Learn) -> list[Model]:
        return await together(self._learned(member, step) for member in self.members)

    async def _learned(self, party: str, step: Learn) -> Model:
        reply = await self._answers.ask(party, step, step.phase, Learned)
        return load_model(reply.model, self._schema, f"the model of {party}")

    async def select(self, party: int, step: SelectionStep) -> int:
        reply = await self._answers.ask(self.members[party], step, step.phase, Selected)
        if not 0 <= reply.index < step.choices:
            raise PrivityError(Catalogue.STEP_REFUSED, step=step.key, reason="the selection is none of the candidates")
        self._meter.exchanged()
        return reply.index
