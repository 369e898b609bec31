"""A round: one secure sum of tables, or of scores, over all members of a run, and what it costs.

The cost is a pure function of the round and of the public plan: the curator computes it, and each party again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from privity.common.data.derived_attributes import DerivedAttributes
from privity.common.data.noisy_tables import Marginal
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.advanced_composition import LARGEST_WEIGHT, MOST_WEIGHTS, Accounting
from privity.common.privacy.noise_distribution import GAUSSIAN, LAPLACE, NoiseLaw
from privity.common.privacy.step_cost import noise_scale, score_scale
from privity.common.privacy.zcdp_budget import GaussianTerms
from privity.common.protocol.evaluation_scores import Score, check_scores
from privity.common.protocol.step_limits import check_tables, count_cells
from privity.common.storage.canonical_json import digest


@dataclass(frozen=True)
class Replacement:
    """That a round reveals a running sum once, in which new noise takes the place of the old.

    All rounds of a series are of the same tables.

    Attributes:
        coverage: the rows of the first ``coverage`` members of the plan are in the revealed sum.
        previous: the round before it, None for the first one; every member takes its old share out.
        previous_coverage: whose rows were in that one, 0 for the first.
        widest: the smallest epsilon of any round of the series; with Gaussian noise the largest sigma squared. The
            layout is made for that noise and stays, because slots of different layouts cannot be added to each other.
        last: no round follows: old shares are erased.
    """

    coverage: int
    previous: str | None
    previous_coverage: int
    widest: Fraction
    last: bool

    def content(self) -> dict[str, Any]:
        return {
            "coverage": self.coverage,
            "previous": self.previous,
            "previous_coverage": self.previous_coverage,
            "widest": str(self.widest),
            "last": self.last,
        }


@dataclass(frozen=True)
class Round:
    """One secure sum over all members of the plan: which tables, at which price.

    The digest leaves the attempt out: attempts are re-encryptions of the same stored vectors.

    Attributes:
        epsilon: what the revealed sum costs every party whose rows are in it; 0 if it costs rho.
        weights: one a table, or none for all alike; the noise of a table of weight w is 1/w times as wide.
        accounting: what makes it cost some delta too, on its own; without it the price is pure.
        scores: what is asked for in the place of tables.
        terms: what it costs of the run's budget in rho, and its noise; None in a run without one.
    """

    run: str
    phase: str
    round: str
    tables: tuple[Marginal, ...]
    epsilon: Fraction
    replacement: Replacement | None = None
    weights: tuple[int, ...] = ()
    accounting: Accounting | None = None
    scores: tuple[Score, ...] = ()
    terms: GaussianTerms | None = None

    def check_asked(self, attributes: DerivedAttributes, rows: int) -> None:
        """Refuse what cannot be counted of ``rows`` rows, before anything is charged.

        Raises:
            PrivityError: step-refused or domain-too-large.
        """
        if self.scores and self.tables:
            reason = "it asks for tables and scores at once"
            raise PrivityError(Catalogue.ROUND_REFUSED, round=self.round, reason=reason)
        if self.scores:
            check_scores(self.scores, attributes, rows)
        else:
            check_tables(self.tables, attributes)

    def cells(self, domain: Sequence[int]) -> int:
        """Of the revealed vector: those of its tables, in their order, C order within each; or one a score."""
        return len(self.scores) or count_cells(self.tables, domain)

    @property
    def cost(self) -> Fraction:
        """Epsilon that the revealed sum costs every party whose rows are in it."""
        return self.epsilon

    @property
    def delta(self) -> Fraction:
        """The same for delta, or the delta at which its rho is converted."""
        spent = self.terms or self.accounting
        return Fraction(0) if spent is None else spent.delta

    @property
    def rho(self) -> Fraction | None:
        """What it costs of the run's budget in rho; None if it costs an epsilon."""
        return None if self.terms is None else self.terms.rho

    @property
    def all_weights(self) -> tuple[int, ...]:
        """One a table, or one a score."""
        return self.weights or (1,) * len(self.scores or self.tables)

    def law(self, weight: int) -> NoiseLaw:
        """The noise on every cell of a table of this weight in the revealed sum, or on a score."""
        if self.scores:
            return NoiseLaw(LAPLACE, score_scale(len(self.scores), self.epsilon))
        spent = self.terms or self.accounting
        if spent is not None:
            return spent.law(weight)
        # Shares of epsilon go with the weights: 2w/b of table by table, epsilon in all.
        return NoiseLaw(LAPLACE, noise_scale(self._weight, self.epsilon) / weight)

    @cached_property
    def _weight(self) -> int:
        return sum(self.weights) or len(self.tables)

    def check_noise(self, quota: int) -> None:
        """Refuse noise that cannot be drawn, or does not give what the round claims, before anything is charged.

        Raises:
            PrivityError: step-refused.
        """
        reason = None
        different, asked = set(self.all_weights), len(self.scores or self.tables)
        spent = self.terms or self.accounting
        if self.scores and (self.weights or spent is not None or self.replacement is not None):
            reason = "scores are revealed once, all alike, under pure differential privacy"
        elif (self.terms is None) != (self.epsilon > 0) or (self.terms is not None and self.accounting is not None):
            reason = "its price is not one of epsilon or rho"
        elif len(self.all_weights) != asked or min(different) < 1 or max(different) > LARGEST_WEIGHT:
            reason = f"its weights are not one of 1 to {LARGEST_WEIGHT} for each table"
        elif len(different) > MOST_WEIGHTS:
            reason = f"it has more than {MOST_WEIGHTS} different weights"
        elif self.replacement is not None and (self.weights or self.accounting is not None):
            reason = "a running sum has noise of one width, and no composition of its own"
        if reason is not None:
            raise PrivityError(Catalogue.ROUND_REFUSED, round=self.round, reason=reason)
        if self.accounting is not None:
            self.accounting.check(self.all_weights, self.epsilon)
        if self.terms is not None:
            self.terms.check(self.all_weights)
        for weight in different:
            self.law(weight).check(quota)
        NoiseLaw(LAPLACE, self.widest_scale).check(quota)

    def content(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "phase": self.phase,
            "round": self.round,
            "tables": [list(t) for t in self.tables],
            "epsilon": str(self.epsilon),
            "replacement": None if self.replacement is None else self.replacement.content(),
            "weights": list(self.weights),
            "accounting": None if self.accounting is None else self.accounting.content(),
            # Named only where there are some: a round of tables keeps its digest.
            **({"scores": [score.content() for score in self.scores]} if self.scores else {}),
            **({"terms": self.terms.content()} if self.terms is not None else {}),
        }

    @cached_property
    def digest(self) -> str:
        return digest(self.content())

    @property
    def widest_scale(self) -> Fraction:
        """b of the farthest reaching noise that shares this round's layout."""
        if self.replacement is not None and self.terms is not None:
            return NoiseLaw(GAUSSIAN, self.replacement.widest).reach
        if self.replacement is not None:
            return noise_scale(len(self.tables), self.replacement.widest)
        return self.law(min(self.all_weights)).reach

    @property
    def fits_widest(self) -> bool:
        """Whether its noise is no wider than that for which the layout of its series is made."""
        if self.replacement is None:
            return True
        widest = self.replacement.widest
        return widest <= self.epsilon if self.terms is None else self.terms.unit <= widest

    def series(self, coverage: int) -> str:
        """What a kept share must belong to, so that the right one is taken out.

        The tables belong to it: noise that is wide enough for one table would else take the place of what hides many.
        """
        assert self.replacement is not None
        tables = [list(table) for table in self.tables]
        return digest({"coverage": coverage, "widest": str(self.replacement.widest), "tables": tables})

    def covers(self, position: int) -> bool:
        """Whether the rows of the member at this position (from 0) are in the revealed sum."""
        return self.replacement is None or position < self.replacement.coverage

    def adds_rows(self, position: int) -> bool:
        """Whether they enter in this round: later rounds have them already."""
        return self.covers(position) and (self.replacement is None or position >= self.replacement.previous_coverage)
