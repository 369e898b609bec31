"""Session: the only door through which an algorithm touches data, over one party or many.

An algorithm is an async function of a session, a share of the budget and its settings, and deterministic given what it
awaits. It sees statistics; it never sees rows, parties' vectors, sockets or keys. It pays with shares: each becomes a
mechanism here, is put on the run's record, and goes to the backend as a step.

Where the rows are is the backend's: one owner's own (``privity.party.local_backend``), those of parties over a network
(``privity.curator.network_backend``), of tables in this process
(``privity.assessment.planning.in_process_backend``), or nowhere (``privity.common.runs.planned_run``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import groupby
from typing import Any, TypeVar, cast

import numpy as np

from privity.common.data.apportionment import quotas
from privity.common.data.noisy_tables import Marginal, NoisyScores, NoisyTables
from privity.common.data.schema import Attribute, Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.discovery import Discovery
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ApproxDP, PureDP
from privity.common.privacy.run_budget import RunBudget, Share
from privity.common.privacy.thresholded_counts import ThresholdedCounts
from privity.common.protocol.evaluation_scores import Score
from privity.common.protocol.plausible_sums import PlausibleSums
from privity.common.protocol.public_coin import public_coin
from privity.common.protocol.round import Round, Scores, Tables
from privity.common.protocol.run_record import OWN_MODEL, Cost, RunRecord
from privity.common.protocol.running_sums import RunningSums
from privity.common.protocol.secure_sum import noisy_tables
from privity.common.protocol.selection_series import SelectionSeries
from privity.common.protocol.stated_charges import CATEGORIES, categories_cost, noise_charge, own_model
from privity.common.protocol.steps import Learn, SelectionStep
from privity.common.synthesis.models import Model

Result = TypeVar("Result")


class AllAsked(Exception):  # noqa: N818 - it is not an error
    """An algorithm has asked for everything, and whoever runs it needs no model."""


class Backend(ABC):
    """Where the rows of a run are: it answers the steps of a session.

    Attributes:
        members: names of the parties in their order.
        party_rows: public row counts n_k, in the same order.
        quota: q = K - t, how many shares make one whole noise; 1 for one party alone.
        coin: what the run's public coins follow from.
        population: whose rows they are, in the words of the owner or the name of the consortium.
        rows_per_person: most rows of one person at each party, in the same order as the members.
        parties_per_person: most parties at which one person has rows.
        plausible: compares what is revealed with public numbers, where several parties send it.
        recode: what gives the same rows by another schema, for steps under names with a prefix of their own (it ends in
            a slash); None where rows are coded once and for all.
        categories: reveals which texts of open attributes many rows have, where one owner's rows tell that.
        only_tells: whether nobody needs the answers, but only what is asked for at what price: of rounds that are alike
            there is one then, and no model (``Session.alike``, ``Session.all_asked``).
    """

    members: tuple[str, ...]
    party_rows: tuple[int, ...]
    quota: int
    coin: str
    population: str
    rows_per_person: tuple[int, ...]
    parties_per_person: int = 1
    plausible: PlausibleSums | None = None
    recode: Callable[[Schema, str], Backend] | None = None
    categories: Callable[[Sequence[str], ThresholdedCounts], Mapping[str, Sequence[str]]] | None = None
    only_tells: bool = False

    @abstractmethod
    async def reveal(self, round_: Round) -> np.ndarray:
        """The revealed vector of the round, charged to everybody whose rows are in it: int64 of shape (cells,)."""

    @abstractmethod
    async def select(self, party: int, step: SelectionStep) -> int:
        """The index of what the party of this index selects, charged to it."""

    @abstractmethod
    async def learn(self, step: Learn) -> list[Model]:
        """A model of each party's own rows, learnt and charged there."""

    async def compute(self, work: Callable[[], Result]) -> Result:
        """As ``Session.compute``."""
        return work()

    def recorded(self, phase: str, record: RunRecord, answers: int) -> None:  # noqa: B027
        """Costs were put on the record, and nothing was asked yet; so many answers are expected, if it is known."""


def complete(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """The result of an algorithm on a session whose backend answers at once, whether or not an event loop is running.

    Raises:
        RuntimeError: it waited for something.
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        return cast("Result", end.value)
    coroutine.close()
    raise RuntimeError("an algorithm waited, on a session that answers at once")


class Session:
    """What an algorithm may ask of the data.

    Args:
        run: name of the run.
        budget: of the run's algorithm.
        prefix: of the names of the steps, when they are part of a larger run.

    Attributes:
        record: what the run has revealed and charged, and how its tables were fitted.
        rounds: those that were asked for, in their order; selections: how many, by phase.
    """

    def __init__(self, backend: Backend, schema: Schema, budget: RunBudget, run: str, prefix: str = "") -> None:
        self.run = run
        self.schema = schema
        self.budget = budget
        self.record = RunRecord(budget=budget)
        self.backend = backend
        self.rounds: list[Round] = []
        self.selections: dict[str, int] = {}
        self._prefix = prefix
        self._steps = 0

    @property
    def party_rows(self) -> tuple[int, ...]:
        """Public row counts n_k, in the order of the parties."""
        return self.backend.party_rows

    @property
    def rows(self) -> int:
        """Public number of rows of all parties together."""
        return sum(self.party_rows)

    @property
    def noise_variables(self) -> Fraction:
        """K/(K-t): how many whole variables the noise of a revealed cell amounts to."""
        return Fraction(len(self.party_rows), self.backend.quota)

    def noise_variance(self, tables: int, share: Share) -> float:
        """Variance of the noise on a revealed cell if so many tables of weight 1 were measured for this share."""
        law = share.noise(Tables(((),) * tables), self.backend.quota).law(1)
        return len(self.party_rows) * law.share_variance(self.backend.quota)

    def selection_epsilon(self, selections: int, share: Share, *, balanced: bool = False) -> float:
        """Epsilon of a selection if a series of so many cost this share, at the party that makes most of them.

        In a run with a budget in rho that is the range of a selection's privacy loss. Either way, candidates differ in
        probability by exp(epsilon s/(2D)) where their scores differ by s, or by somewhat more.
        """
        return float(share.selecting(max(quotas(selections, self.party_rows, balanced=balanced))).epsilon)

    async def compute(self, work: Callable[[], Result]) -> Result:
        """What this gives, done where it holds nobody up: for work that takes more than a moment.

        It sees statistics only, and must give the same at every replay.
        """
        return await self.backend.compute(work)

    def alike(self, sizes: Sequence[int]) -> Iterator[int]:
        """The sizes of rounds, of which those of one size ask for the same at the same price whatever was answered.

        A session that only tells what is asked for goes through the first of those that follow each other with one
        size, and notes its costs for all.
        """
        if not self.backend.only_tells:
            yield from sizes
            return
        for size, same in groupby(sizes):
            before = len(self.record.costs)
            yield size
            self.record.costs += self.record.costs[before:] * (len(list(same)) - 1)

    def all_asked(self) -> None:
        """Say that nothing more will be asked for: what follows is made of what was revealed.

        Raises:
            AllAsked: this session only tells what is asked for.
        """
        if self.backend.only_tells:
            raise AllAsked

    def public_coin(self, purpose: str, sides: int) -> int:
        """A public number from 0 to ``sides - 1`` that nobody chose and that is the same at every replay."""
        return public_coin(self.backend.coin, purpose, sides)

    async def measure(
        self, phase: str, tables: Sequence[Marginal], share: Share, weights: Sequence[int] = ()
    ) -> NoisyTables:
        """Noisy contingency tables of the joint rows; they cost every party the share.

        Args:
            weights: one a table, or none for all alike: the noise of a table of weight w is 1/w times as wide.
        """
        noise = share.noise(Tables(tuple(tables), tuple(weights)), self.backend.quota)
        return await self._tables(Round(self.run, phase, self._next_name(phase), noise), share)

    async def score(
        self,
        phase: str,
        scores: Sequence[Score],
        share: Share,
        charged: Callable[[], Awaitable[None]] | None = None,
    ) -> NoisyScores:
        """Noisy sums over the parties of scores on their rows; they cost every party the share.

        Args:
            charged: awaited when the cost is on the record, before any party is asked.
        """
        noise = share.noise(Scores(tuple(scores)), self.backend.quota)
        round_ = Round(self.run, phase, self._next_name(phase), noise)
        values, _ = await self._reveal(round_, share, charged)
        found = NoisyScores(values, round_.noise.law(1))
        if (sums := self.backend.plausible) is not None:
            self._judge(phase, sums.fault_of_scores(values.tolist(), found.law, self.rows))
        return found

    def _judge(self, phase: str, fault: str | None) -> None:
        if fault is not None:
            raise PrivityError(Catalogue.IMPLAUSIBLE_SUM, phase=phase, reason=fault)

    @property
    def recodes(self) -> bool:
        """Whether the rows can be coded by another schema."""
        return self.backend.recode is not None

    def recoded(self, schema: Schema, prefix: str) -> Session:
        """A session of the same run over the same rows coded by another schema: its costs are on this one's record.

        Args:
            prefix: of the names of its steps.
        """
        if self.backend.recode is None:
            raise ValueError("these rows are coded once and for all")
        again = Session(self.backend.recode(schema, prefix), schema, self.budget, self.run, prefix)
        again.record.costs, again.record.discovery = self.record.costs, self.record.discovery
        return again

    def categories(self, names: Sequence[str], mechanism: ThresholdedCounts) -> Mapping[str, Sequence[str]]:
        """The texts of these open attributes that many rows have; a charge of its own, beside the run's budget."""
        if self.backend.categories is None:
            raise ValueError("these rows tell no texts")
        self._record(CATEGORIES, categories_cost(CATEGORIES, self.backend.members, mechanism), answers=1)
        return self.backend.categories(names, mechanism)

    def discovered(self, attributes: Iterable[Attribute]) -> Schema:
        """The schema with these attributes, whose domains follow from what was revealed so far, at what that cost.

        What the run discovered before is part of that: it is one discovery.
        """
        found, backend, before = tuple(attributes), self.backend, self.record.discovery
        rows = dict(zip(backend.members, backend.rows_per_person, strict=True))
        losses = self.record.of_people(rows, backend.parties_per_person).values()
        loss = ApproxDP(max(one.epsilon for one in losses), max(one.delta for one in losses), RELATION)
        names = {*(attribute.name for attribute in found), *(before.attributes if before else ())}
        in_order = tuple(name for name in self.schema.names if name in names)
        self.record.discovery = by = Discovery(in_order, self.run, backend.population, loss)
        return self.schema.discovered(found, by, before)

    def running_sums(
        self, phase: str, tables: Sequence[Marginal], share: Share, weights: Sequence[Fraction]
    ) -> RunningSums:
        """Reveal a running sum over more and more parties; the first party pays the share.

        Args:
            weights: one for each party, exact, together 1: a weight above 0 reveals the sum after that party with so
                much of the share. Each revealed sum carries one noise of its own scale.
        """
        name, query = self._next_name(phase), Tables(tuple(tables))
        return RunningSums(self.run, phase, name, query, share, weights, self._tables, self.backend.quota)

    def selection(
        self, phase: str, selections: int, share: Share, *, balanced: bool = False, score: str = "R"
    ) -> SelectionSeries:
        """Declare so many selections once; they cost every party that makes some the share.

        Each selection happens at one party: quotas in proportion to the public row counts, or balanced.

        Args:
            score: a name in ``privity.common.privacy.structure_scores``: of attribute-parent pairs, or ``DISTANCE``, of
                tables.
        """
        counts = quotas(selections, self.party_rows, balanced=balanced)
        name, rows = self._next_name(phase), self.party_rows
        series = SelectionSeries(self.run, phase, name, counts, share, rows, self.backend.select, score)
        self.selections[phase] = self.selections.get(phase, 0) + selections
        self._record(phase, *series.costs(self.backend.members), answers=selections)
        return series

    async def learn_apart(self, phase: str, algorithm: str, settings: Mapping[str, Any], share: Share) -> list[Model]:
        """A model of each party's own rows, learnt there; costs every party the share, which is pure.

        A session either learns apart or reveals sums: models and sums would be two views of the same rows.
        """
        loss = PureDP(share.epsilon, RELATION)
        step = Learn(self.run, phase, self._next_name(phase), algorithm, dict(settings), loss)
        members = self.backend.members
        self._record(phase, Cost(phase, OWN_MODEL, loss, members, own_model(algorithm, loss)), answers=len(members))
        return await self.backend.learn(step)

    def _next_name(self, phase: str) -> str:
        self._steps += 1
        return f"{self._prefix}{self._steps}-{phase}"

    def _record(self, phase: str, *costs: Cost, answers: int = 0) -> int:
        """Put costs on the record; the place of the last."""
        place = max(map(self.record.add_cost, costs), default=0)
        self.backend.recorded(phase, self.record, answers)
        return place

    async def _reveal(
        self, round_: Round, share: Share, charged: Callable[[], Awaitable[None]] | None = None
    ) -> tuple[np.ndarray, int]:
        """What is revealed, and the place of its cost.

        Where only that is told what is asked for, it is the most that the share allows: how many tables it is of may
        follow from outcomes.
        """
        round_.check(self.schema.derived, max(self.party_rows), self.backend.quota)
        members = self.backend.members
        payers = tuple(member for place, member in enumerate(members) if round_.covers(place))
        loss = share.loss if self.backend.only_tells else round_.noise.loss(RELATION)
        words = round_.noise.in_words(shared=len(members) > 1)
        cost = Cost(round_.phase, words, loss, payers, noise_charge(round_.noise))
        place = self._record(round_.phase, cost)
        self.rounds.append(round_)
        if charged is not None:
            await charged()
        return await self.backend.reveal(round_), place

    async def _tables(self, round_: Round, share: Share) -> NoisyTables:
        vector, place = await self._reveal(round_, share)
        covered = sum(rows for place, rows in enumerate(self.party_rows) if round_.covers(place))
        revealed = noisy_tables(vector, round_, self.schema, len(self.party_rows), self.backend.quota, covered)
        self.record.tables[place] = revealed
        if (sums := self.backend.plausible) is not None:
            self._judge(round_.phase, await self.compute(partial(sums.fault, revealed)))
        return revealed


@dataclass(frozen=True)
class Progress:
    """What a run is doing, in public quantities only.

    Attributes:
        phase: name of the phase.
        done, parties: parties that have answered the current step, of how many.
        cells: cells revealed so far; ciphertexts: ciphertexts sent so far by all parties.
        bytes: bytes exchanged with parties so far.
        epsilon: charged so far to the party that paid most.
    """

    phase: str
    done: int
    parties: int
    cells: int
    ciphertexts: int
    bytes: int
    epsilon: Fraction
