"""Typed requests to a party. Each declares what it costs; each has an identity and a digest.

A step is the only thing that reaches a party's rows. Its cost is a pure function of the step and of
the public plan. Its key names the question; its digest names the content; a key is answered once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from common.candidates import Candidates
from common.canonical import digest
from common.crypto.sealing import SealedBlob
from common.errors import Catalogue, PrivityError
from common.privacy.composition import LARGEST_WEIGHT, MOST_WEIGHTS, Accounting
from common.privacy.cost import noise_scale
from common.privacy.noise_law import LAPLACE, NoiseLaw
from common.protocol.plan import RunPlan, RunSpec
from common.statistics import AttributeParentPair, Marginal

FREE = Fraction(0)


@dataclass(frozen=True)
class Enrol:
    """Ask a party to take part in a run, before anything is counted."""

    spec: RunSpec

    key = "enrol"
    cost = FREE

    @property
    def run(self) -> str:
        return self.spec.run

    def content(self) -> dict[str, Any]:
        return {"kind": "enrol", "spec": self.spec.to_dict()}


@dataclass(frozen=True)
class Begin:
    """Give a party the complete plan, to be verified and kept."""

    plan: RunPlan

    key = "begin"
    cost = FREE

    @property
    def run(self) -> str:
        return self.plan.spec.run

    def content(self) -> dict[str, Any]:
        return {"kind": "begin", "plan": self.plan.to_dict()}


@dataclass(frozen=True)
class Replacement:
    """That a round is one opening of a running sum, in which new noise takes the place of the old.

    Attributes:
        coverage: the rows of the first ``coverage`` members of the plan are in the opened sum.
        previous: the opening before it, None for the first one; every member takes its old share out.
        previous_coverage: whose rows were in that one, 0 for the first.
        widest: the smallest epsilon of any opening of the series. The layout is made for its noise and
            stays, because slots of different layouts cannot be added to each other.
        last: no opening follows: old shares are erased.
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

    def series(self, coverage: int) -> str:
        """What a kept share must belong to, so that the right one is taken out."""
        return digest({"coverage": coverage, "widest": str(self.widest)})


@dataclass(frozen=True)
class Round:
    """One secure sum over all members of the plan: which tables, at which price.

    The digest leaves the attempt out: attempts are re-encryptions of the same stored vectors.

    Attributes:
        epsilon: what the opened sum costs every party whose rows are in it.
        weights: one a table, or none for all alike; the noise of a table of weight w is 1/w times as wide.
        accounting: what makes it cost some delta too; without it the price is pure.
    """

    run: str
    phase: str
    round: str
    tables: tuple[Marginal, ...]
    epsilon: Fraction
    replacement: Replacement | None = None
    weights: tuple[int, ...] = ()
    accounting: Accounting | None = None

    @property
    def cost(self) -> Fraction:
        """Epsilon that the opened sum costs every party whose rows are in it."""
        return self.epsilon

    @property
    def delta(self) -> Fraction:
        """The same for delta."""
        return FREE if self.accounting is None else self.accounting.delta

    @property
    def all_weights(self) -> tuple[int, ...]:
        """One a table."""
        return self.weights or (1,) * len(self.tables)

    def law(self, weight: int) -> NoiseLaw:
        """The noise on every cell of a table of this weight in the opened sum."""
        if self.accounting is not None:
            return self.accounting.law(weight)
        # Parts of epsilon go with the weights: 2w/b of table by table, epsilon in all.
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
        different = set(self.all_weights)
        if len(self.all_weights) != len(self.tables) or min(different) < 1 or max(different) > LARGEST_WEIGHT:
            reason = f"its weights are not one of 1 to {LARGEST_WEIGHT} for each table"
        elif len(different) > MOST_WEIGHTS:
            reason = f"it has more than {MOST_WEIGHTS} different weights"
        elif self.replacement is not None and (self.weights or self.accounting is not None):
            reason = "a running sum has noise of one width, and pure differential privacy"
        if reason is not None:
            raise PrivityError(Catalogue.ROUND_REFUSED, round=self.round, reason=reason)
        if self.accounting is not None:
            self.accounting.check(self.all_weights, self.epsilon)
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
        }

    @cached_property
    def digest(self) -> str:
        return digest(self.content())

    @property
    def widest_scale(self) -> Fraction:
        """b of the farthest reaching noise that shares this round's layout."""
        if self.replacement is not None:
            return noise_scale(len(self.tables), self.replacement.widest)
        return self.law(min(self.all_weights)).reach

    def covers(self, position: int) -> bool:
        """Whether the rows of the member at this position (from 0) are in the opened sum."""
        return self.replacement is None or position < self.replacement.coverage

    def adds_rows(self, position: int) -> bool:
        """Whether they enter in this round: later openings have them already."""
        return self.covers(position) and (self.replacement is None or position >= self.replacement.previous_coverage)


@dataclass(frozen=True)
class Contribute:
    """Count the round's tables, add this party's noise share, seal the encryption to the combiner."""

    round: Round
    attempt: int
    combiner: str

    @property
    def run(self) -> str:
        return self.round.run

    @property
    def key(self) -> str:
        return f"contribute/{self.round.round}/{self.attempt}"

    @property
    def cost(self) -> Fraction:
        return self.round.cost

    def content(self) -> dict[str, Any]:
        return {
            "kind": "contribute",
            "round": self.round.content(),
            "attempt": self.attempt,
            "combiner": self.combiner,
        }


@dataclass(frozen=True)
class Combine:
    """Open every member's sealed ciphertexts, multiply, re-randomise, return the product only.

    ``base`` is the running sum: the product of the opening whose noise this round replaces.
    """

    round: Round
    attempt: int
    combiner: str
    blobs: tuple[tuple[str, SealedBlob], ...]
    base: tuple[int, ...] = ()

    cost = FREE

    @property
    def run(self) -> str:
        return self.round.run

    @property
    def key(self) -> str:
        return f"combine/{self.round.round}/{self.attempt}"

    def content(self) -> dict[str, Any]:
        return {
            "kind": "combine",
            "round": self.round.content(),
            "attempt": self.attempt,
            "combiner": self.combiner,
            "blobs": [
                [sender, hashlib.sha256(blob.signature + blob.ciphertext).hexdigest()] for sender, blob in self.blobs
            ],
            "base": [format(c, "x") for c in self.base],
        }


@dataclass(frozen=True)
class Select:
    """Draw one candidate with the exponential mechanism on the party's own rows."""

    run: str
    phase: str
    draw: str
    candidates: Sequence[AttributeParentPair]
    epsilon: Fraction
    score: str = "R"

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", Candidates.of(self.candidates))

    @property
    def key(self) -> str:
        return f"select/{self.draw}"

    @property
    def cost(self) -> Fraction:
        return self.epsilon

    def content(self) -> dict[str, Any]:
        return {
            "kind": "select",
            "run": self.run,
            "phase": self.phase,
            "draw": self.draw,
            # One text: there may be a hundred thousand candidates.
            "candidates": Candidates.of(self.candidates).text,
            "epsilon": str(self.epsilon),
            "score": self.score,
        }


@dataclass(frozen=True)
class Learn:
    """Learn a model of the party's own rows with one of the algorithms, under noise of its own.

    A run asks for this or for sums over all parties, never for both: the model and an opened sum would be
    two views of the same rows at one observer.
    """

    run: str
    phase: str
    name: str
    algorithm: str
    settings: dict[str, Any]
    epsilon: Fraction

    @property
    def key(self) -> str:
        return f"learn/{self.name}"

    @property
    def cost(self) -> Fraction:
        return self.epsilon

    def content(self) -> dict[str, Any]:
        return {
            "kind": "learn",
            "run": self.run,
            "phase": self.phase,
            "name": self.name,
            "algorithm": self.algorithm,
            "settings": self.settings,
            "epsilon": str(self.epsilon),
        }


@dataclass(frozen=True)
class Close:
    """The run is over: stored vectors and replies are erased, the charges stay."""

    run: str
    state: str

    key = "close"
    cost = FREE

    def content(self) -> dict[str, Any]:
        return {"kind": "close", "run": self.run, "state": self.state}


Step = Enrol | Begin | Contribute | Combine | Select | Learn | Close


def step_digest(step: Step) -> str:
    return digest(step.content())


@dataclass(frozen=True)
class Contribution:
    """Reply to Contribute: sealed to the combiner, unreadable for the curator that relays it."""

    blob: SealedBlob


@dataclass(frozen=True)
class Product:
    """Reply to Combine: the re-randomised product ciphertexts, which hold the noisy sum only."""

    ciphertexts: tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """Reply to Select: index into the step's candidates; an outcome of the exponential mechanism."""

    index: int


@dataclass(frozen=True)
class Learned:
    """Reply to Learn: the model as a plain document; made of charged releases only."""

    model: dict[str, Any]


@dataclass(frozen=True)
class Enrolled:
    """Reply to Enrol: the party's signed enrolment as a plain document (``Enrolment.to_dict``)."""

    enrolment: dict[str, Any]


@dataclass(frozen=True)
class Done:
    """Reply to Begin and Close."""


@dataclass(frozen=True)
class Refusal:
    """A party's word that it will not answer, in the words of the error catalogue."""

    code: str
    message: str
    remedy: str


Reply = Enrolled | Done | Contribution | Product | Choice | Learned | Refusal
