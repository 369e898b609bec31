"""A round: one secure sum over all members of a run, of what a mechanism releases.

Its loss is that of the mechanism: the curator computes it, and each party again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from privity.common.data.derived_attributes import DerivedAttributes
from privity.common.data.noisy_tables import Marginal
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.mechanisms import AdvancedLaplaceNoise, LaplaceNoise, Noise
from privity.common.privacy.neighbouring_relation import PrivacyMismatchError, Relation
from privity.common.privacy.noise_distribution import LAPLACE, NoiseLaw
from privity.common.privacy.sensitivity import Norm, Sensitivity, weighted_tables
from privity.common.protocol.evaluation_scores import Score, check_scores
from privity.common.protocol.step_limits import cells_of, check_tables
from privity.common.storage.canonical_json import digest


@dataclass(frozen=True)
class Tables:
    """Contingency tables of the joint rows: a ``privity.common.privacy.sensitivity.Query``.

    Attributes:
        given: a weight for each table, or none for all alike.
    """

    marginals: tuple[Marginal, ...]
    given: tuple[int, ...] = ()

    in_words = "contingency tables"
    revealed_as = "one sum"

    @property
    def weights(self) -> tuple[int, ...]:
        return self.given or (1,) * len(self.marginals)

    def sensitivity(self, norm: Norm, relation: Relation) -> Sensitivity:
        return weighted_tables(self.weights, relation, norm)

    def check(self, attributes: DerivedAttributes, _rows: int) -> None:
        """Refuse what cannot be counted, before anything is charged.

        Raises:
            PrivityError: step-refused or domain-too-large.
        """
        check_tables(self.marginals, attributes)
        if len(self.weights) != len(self.marginals):
            raise PrivityError(Catalogue.STEP_REFUSED, step="tables", reason="its weights are not one for each table")

    def cells(self, domain: Sequence[int]) -> npt.NDArray[np.int64]:
        """Of each table: in the revealed vector they stand one after another, C order within each."""
        return cells_of(self.marginals, domain).astype(np.int64)

    def content(self) -> dict[str, Any]:
        return {"tables": [list(table) for table in self.marginals], "weights": list(self.given)}


@dataclass(frozen=True)
class Scores:
    """Scores of a synthetic table on each party's rows, as sums over the parties; a ``Query`` like tables."""

    scores: tuple[Score, ...]

    in_words = "scores of the synthetic table"
    revealed_as = "sums over the parties"

    @property
    def weights(self) -> tuple[int, ...]:
        return (1,) * len(self.scores)

    def sensitivity(self, norm: Norm, relation: Relation) -> Sensitivity:
        """Each score moves by one at most, either way (``privity.common.protocol.evaluation_scores``)."""
        if relation is not Relation.REPLACE_ONE:
            raise PrivacyMismatchError("scores of a synthetic table are bounded for a replaced row")
        return Sensitivity(Fraction(1), norm, relation).times(len(self.scores))

    def check(self, attributes: DerivedAttributes, rows: int) -> None:
        """Refuse scores that cannot be made of so many rows, before anything is charged.

        Raises:
            PrivityError: step-refused or domain-too-large.
        """
        check_scores(self.scores, attributes, rows)

    def cells(self, _domain: Sequence[int]) -> npt.NDArray[np.int64]:
        """One a score."""
        return np.ones(len(self.scores), dtype=np.int64)

    def content(self) -> dict[str, Any]:
        return {"scores": [score.content() for score in self.scores]}


@dataclass(frozen=True)
class Replacement:
    """That a round reveals a running sum once, in which new noise takes the place of the old.

    All rounds of a series are of the same tables.

    Attributes:
        coverage: the rows of the first ``coverage`` members of the plan are in the revealed sum.
        previous: the round before it, None for the first one; every member takes its old share out.
        previous_coverage: whose rows were in that one, 0 for the first.
        widest: the largest scale of the noise of any round of the series. The layout is made for that noise and stays,
            because slots of different layouts cannot be added to each other.
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
    """One secure sum over all members of the plan.

    The digest leaves the attempt out: attempts are re-encryptions of the same stored vectors.

    Attributes:
        noise: the mechanism, with what it releases; its loss is that of every party whose rows are in the revealed sum.

    Raises:
        TypeError: anything else in the place of a mechanism.
    """

    run: str
    phase: str
    round: str
    noise: Noise
    replacement: Replacement | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.noise, Noise) or not isinstance(self.noise.query, Tables | Scores):
            raise TypeError("a round holds a mechanism that releases tables or scores")

    @property
    def query(self) -> Tables | Scores:
        """What is asked for."""
        return cast("Tables | Scores", self.noise.query)

    def check(self, attributes: DerivedAttributes, rows: int, quota: int) -> None:
        """Refuse what cannot be asked of so many rows, or noise that does not give what it claims, before any charge.

        Args:
            quota: of how many shares a whole noise consists.

        Raises:
            PrivityError: step-refused or domain-too-large.
        """
        self.query.check(attributes, rows)
        reason = None
        if isinstance(self.query, Scores) and (
            not isinstance(self.noise, LaplaceNoise) or self.replacement is not None
        ):
            reason = "scores are revealed once, all alike, under pure differential privacy"
        elif self.replacement is not None and (
            len(set(self.noise.query.weights)) > 1 or isinstance(self.noise, AdvancedLaplaceNoise)
        ):
            reason = "a running sum has noise of one width, and no composition of its own"
        if reason is not None:
            raise PrivityError(Catalogue.ROUND_REFUSED, round=self.round, reason=reason)
        self.noise.check(quota)
        NoiseLaw(LAPLACE, self.reach).check(quota)

    def cells(self, domain: Sequence[int]) -> int:
        """Of the revealed vector."""
        return int(self.query.cells(domain).sum())

    def content(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "phase": self.phase,
            "round": self.round,
            **self.query.content(),
            **self.noise.content(),
            "replacement": None if self.replacement is None else self.replacement.content(),
        }

    @cached_property
    def digest(self) -> str:
        return digest(self.content())

    @property
    def _widest(self) -> Noise:
        """The farthest reaching noise that shares this round's layout."""
        return self.noise if self.replacement is None else replace(self.noise, scale=self.replacement.widest)

    @property
    def reach(self) -> Fraction:
        """b of the discrete Laplace noise for which this round's slots are made wide enough."""
        return self._widest.reach

    @property
    def fits_widest(self) -> bool:
        """Whether its noise is no wider than that for which the layout of its series is made."""
        return self.noise.scale <= self._widest.scale

    def series(self, coverage: int) -> str:
        """What a kept share must belong to, so that the right one is taken out.

        The tables belong to it: noise that is wide enough for one table would else take the place of what hides many.
        """
        assert self.replacement is not None
        return digest({"coverage": coverage, "widest": str(self.replacement.widest), **self.query.content()})

    def covers(self, position: int) -> bool:
        """Whether the rows of the member at this position (from 0) are in the revealed sum."""
        return self.replacement is None or position < self.replacement.coverage

    def adds_rows(self, position: int) -> bool:
        """Whether they enter in this round: later rounds have them already."""
        return self.covers(position) and (self.replacement is None or position >= self.replacement.previous_coverage)
