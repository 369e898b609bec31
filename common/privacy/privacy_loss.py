"""Privacy loss: one exact type for each kind of differential privacy, which adds to no other kind.

A loss is an upper bound, so whatever cannot be kept exact is rounded up. Losses of one kind and one neighbouring
relation add for releases on the same rows, even when later questions depend on earlier answers. From one kind to
another: ``privity.common.privacy.loss_conversion``.

A person with m rows, all of whose rows may be replaced (group privacy), loses

==================  ==================================================
``PureDP``          m epsilon; exact
``ZCDP``            m^2 rho; exact
``ApproxDP``        m epsilon, and m e^((m-1) epsilon) delta rounded up
==================  ==================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from privity.common.privacy.exact_bounds import as_fraction, exp_above
from privity.common.privacy.neighbouring_relation import PrivacyMismatchError, Relation, check_same_relation

DELTA_DIGITS = 6
"""Of a delta that was computed: it is rounded up to so many decimal digits."""

VOID = 100
"""Exponent (m-1) epsilon beyond which no delta is left that promises anything: it counts as 1."""


@dataclass(frozen=True)
class PureDP:
    """Pure differential privacy: no outcome is more than e^epsilon times as likely.

    Source: Dwork, McSherry, Nissim, Smith 2006. Composition: epsilons add (basic composition, ibid.).
    """

    epsilon: Fraction
    relation: Relation

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_fraction(self.epsilon, "epsilon"))
        _check_relation(self.relation)

    def __add__(self, other: PureDP) -> PureDP:
        _check_same(self, other)
        return replace(self, epsilon=self.epsilon + other.epsilon)

    def scaled(self, rows_per_person: int) -> PureDP:
        """For a person with that many rows: m * epsilon (group privacy, Dwork et al. 2006)."""
        return replace(self, epsilon=_count(rows_per_person) * self.epsilon)


@dataclass(frozen=True)
class ZCDP:
    """Zero-concentrated differential privacy: Renyi divergence of each order alpha at most rho * alpha.

    Source: Bun and Steinke 2016, Definition 1.1. Composition: rhos add (Lemma 1.7).
    """

    rho: Fraction
    relation: Relation

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", as_fraction(self.rho, "rho"))
        _check_relation(self.relation)

    def __add__(self, other: ZCDP) -> ZCDP:
        _check_same(self, other)
        return replace(self, rho=self.rho + other.rho)

    def scaled(self, rows_per_person: int) -> ZCDP:
        """For a person with that many rows: m^2 * rho (group privacy, Bun and Steinke 2016, Proposition 1.9)."""
        return replace(self, rho=_count(rows_per_person) ** 2 * self.rho)


@dataclass(frozen=True)
class ApproxDP:
    """Approximate differential privacy: P(S) <= e^epsilon P'(S) + delta for all sets S of outcomes.

    Source: Dwork, Kenthapadi, McSherry, Mironov, Naor 2006. Composition: epsilons add and deltas add (basic
    composition, Dwork and Roth 2014, Theorem B.1). A delta of 1 promises nothing; a sum stops there.
    """

    epsilon: Fraction
    delta: Fraction
    relation: Relation

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_fraction(self.epsilon, "epsilon"))
        object.__setattr__(self, "delta", as_fraction(self.delta, "delta"))
        if self.delta > 1:
            raise ValueError("delta is at most 1")
        _check_relation(self.relation)

    def __add__(self, other: ApproxDP) -> ApproxDP:
        _check_same(self, other)
        delta = min(Fraction(1), self.delta + other.delta)
        return replace(self, epsilon=self.epsilon + other.epsilon, delta=delta)

    def scaled(self, rows_per_person: int) -> ApproxDP:
        """For a person with that many rows: (m * epsilon, m * e^((m-1) epsilon) * delta), the delta rounded up.

        Group privacy: m steps of P <= e^epsilon P' + delta give delta (1 + e^epsilon + ... + e^((m-1) epsilon)).
        """
        rows = _count(rows_per_person)
        more = (rows - 1) * self.epsilon
        delta = self.delta
        if delta and rows > 1:
            delta = Fraction(1) if more > VOID else min(Fraction(1), _readable_above(rows * exp_above(more) * delta))
        return replace(self, epsilon=rows * self.epsilon, delta=delta)


PrivacyLoss = PureDP | ZCDP | ApproxDP
OneKind = TypeVar("OneKind", bound=PrivacyLoss)


def compose(losses: Iterable[OneKind]) -> OneKind:
    """The loss by all these releases on the same rows together.

    Raises:
        PrivacyMismatchError: they are of two kinds or for two relations.
        ValueError: there is none, so that neither kind nor relation is known.
    """
    rest = iter(losses)
    try:
        total = next(rest)
    except StopIteration:
        raise ValueError("nothing to compose: of which kind would the loss be?") from None
    for loss in rest:
        total = total + loss  # type: ignore[operator,assignment]
    return total


def check_loss(loss: PrivacyLoss, kind: type[OneKind], relation: Relation) -> OneKind:
    """The loss, if it is of this kind and for this relation.

    Raises:
        PrivacyMismatchError: it is of another, or no loss at all.
    """
    if not isinstance(loss, kind):
        raise PrivacyMismatchError(f"a loss of kind {kind.__name__} is needed, not {type(loss).__name__}")
    check_same_relation(relation, loss.relation)
    return loss


def _check_relation(relation: Relation) -> None:
    if not isinstance(relation, Relation):
        raise TypeError("a privacy loss needs a neighbouring Relation")


def _check_same(one: PrivacyLoss, other: PrivacyLoss) -> None:
    if type(one) is not type(other):
        raise PrivacyMismatchError(
            f"{type(one).__name__} and {type(other).__name__} are different kinds of loss: convert explicitly first"
        )
    check_same_relation(one.relation, other.relation)


def _count(rows_per_person: int) -> int:
    if isinstance(rows_per_person, bool) or not isinstance(rows_per_person, int) or rows_per_person < 1:
        raise ValueError("rows per person is an integer of at least 1")
    return rows_per_person


def _readable_above(delta: Fraction) -> Fraction:
    """At least delta, > 0, in a few decimal digits."""
    places = DELTA_DIGITS
    while delta * 10**places < 10 ** (DELTA_DIGITS - 1):
        places += 1
    return Fraction(math.ceil(delta * 10**places), 10**places)
