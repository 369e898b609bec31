"""Session: the only door through which an algorithm touches data.

An algorithm is an async function of a session and its settings, and deterministic given what it
awaits. It sees statistics; it never sees rows, parties' vectors, sockets or keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeVar

from privity.common.data.noisy_tables import AttributeParentPair, Marginal, NoisyScores, NoisyTables
from privity.common.data.schema import Schema
from privity.common.privacy.advanced_composition import Accounting
from privity.common.privacy.run_record import RunRecord
from privity.common.protocol.evaluation_scores import Score
from privity.common.protocol.expected_tables import ExpectedTables
from privity.common.protocol.running_sums import RunningSums
from privity.common.synthesis.models import Model

Result = TypeVar("Result")


class Selection(Protocol):
    """A series of selections by the exponential mechanism, paid for as a whole."""

    async def select(self, candidates: Sequence[AttributeParentPair]) -> AttributeParentPair:
        """One selection among the candidates by their score, on the rows of the party whose turn it is.

        The candidates may depend on earlier outputs only. Selecting more often than declared is an error.
        """
        ...

    async def select_farthest(self, expected: ExpectedTables) -> int:
        """The same among tables, by their distance from what a model expects: the index of the one that is selected.

        In a series that was declared with the score ``DISTANCE``. What is expected may depend on earlier outputs only.
        """
        ...

    @property
    def rows_next(self) -> int:
        """Public row count of the party whose turn is next: of so many rows the next selection's scores are made."""
        ...


class Session(Protocol):
    """What an algorithm may ask of the data, over one party or many."""

    @property
    def schema(self) -> Schema: ...

    @property
    def rows(self) -> int:
        """Public number of rows of all parties together."""
        ...

    @property
    def party_rows(self) -> tuple[int, ...]:
        """Public row counts n_k, in the order of the parties."""
        ...

    @property
    def noise_variables(self) -> Fraction:
        """K/(K-t): how many discrete Laplace variables the noise of a revealed cell amounts to."""
        ...

    def noise_variance(self, tables: int, epsilon: Fraction) -> float:
        """Variance of the noise on a revealed cell if so many tables of weight 1 were measured for this share."""
        ...

    def selection_epsilon(self, selections: int, epsilon: Fraction, *, balanced: bool = False) -> float:
        """Epsilon of a selection if a series of so many cost this share, at the party that makes most of them.

        In a run with a budget in rho that is the range of a selection's privacy loss. Either way, candidates differ in
        probability by exp(epsilon s/(2D)) where their scores differ by s, or by somewhat more.
        """
        ...

    @property
    def record(self) -> RunRecord:
        """What the run has revealed and charged, and how its tables were fitted."""
        ...

    async def compute(self, work: Callable[[], Result]) -> Result:
        """What this gives, done where it holds nobody up: for work that takes more than a moment.

        It sees statistics only, and must give the same at every replay.
        """
        ...

    def public_coin(self, purpose: str, sides: int) -> int:
        """A public number from 0 to ``sides - 1`` that nobody chose and that is the same at every replay."""
        ...

    @property
    def delta(self) -> Fraction:
        """What the run may cost besides epsilon; 0 is pure differential privacy.

        A run with a delta has a budget in rho (``privity.common.privacy.zcdp_budget``), unless its algorithm names a
        composition of a round of its own. An ``epsilon`` that is asked for below then stands for the same share
        of the run's rho as of its epsilon.
        """
        ...

    async def measure(
        self,
        phase: str,
        tables: Sequence[Marginal],
        epsilon: Fraction,
        weights: Sequence[int] = (),
        accounting: Accounting | None = None,
    ) -> NoisyTables:
        """Noisy contingency tables of the joint rows; costs every party ``epsilon`` in all.

        ``weights`` are one a table, or none for all alike: the noise of a table of weight w is 1/w times as wide.
        With ``accounting`` (advanced composition) it costs its delta too; there is no budget in rho then.
        """
        ...

    async def score(self, phase: str, scores: Sequence[Score], epsilon: Fraction) -> NoisyScores:
        """Noisy sums over the parties of scores on their rows; costs every party ``epsilon`` in all."""
        ...

    def running_sums(
        self, phase: str, tables: Sequence[Marginal], epsilon: Fraction, weights: Sequence[Fraction]
    ) -> RunningSums:
        """Reveal a running sum over more and more parties; the first party pays ``epsilon`` in all.

        ``weights`` are one for each party, exact, together 1: a weight above 0 reveals the sum after that
        party with this share of ``epsilon``. Each revealed sum carries one noise of its own scale.
        """
        ...

    def selection(
        self, phase: str, selections: int, epsilon: Fraction, *, balanced: bool = False, score: str = "R"
    ) -> Selection:
        """Declare ``selections`` once; they cost every party that makes some ``epsilon`` in all.

        Each selection happens at one party: quotas in proportion to the public row counts, or balanced.
        ``score`` is a name in ``privity.common.privacy.structure_scores``: of attribute-parent pairs, or ``DISTANCE``,
        of tables.
        """
        ...

    async def learn_apart(
        self, phase: str, algorithm: str, settings: Mapping[str, Any], epsilon: Fraction
    ) -> list[Model]:
        """A model of each party's own rows, learnt there; costs every party ``epsilon``.

        A session either learns apart or reveals sums: models and sums would be two views of the same rows.
        """
        ...


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
