"""Exact privacy budgets: how they are read from text, and a type for each kind, which mixes with no other.

A budget is an upper bound on a loss, so whatever cannot be kept exact is rounded up. Budgets add for
releases on the same rows, even when later questions depend on earlier answers. Budgets of two kinds, or
for two neighbouring relations, never add: see `privity.common.privacy.budget_conversion`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from privity.common.errors import Catalogue, PrivityError, Problem
from privity.common.formats import shorten
from privity.common.privacy.neighbouring_relation import PrivacyMismatchError, Relation, check_same_relation

# Beyond this the guarantee is void in practice, and a typing error is the likelier reason.
LARGEST_EPSILON = Fraction(100)
# Below this no table of any size is above its noise; and integer noise stays far within 64 bits.
SMALLEST_EPSILON = Fraction(1, 1_000_000)

LARGEST_DELTA = Fraction(1, 1000)
"""Of any run: with a larger one even a row drawn at random could be published."""

LARGEST_DENOMINATOR = 1_000_000
"""Finest epsilon, and finest part of one: what is derived from it stays within exact 64-bit noise."""

_NUMBER = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30}|/[0-9]{1,30})?")
_WITH_EXPONENT = re.compile(r"\+?[0-9.]+[eE][+-]?[0-9]+")


def exact_number(text: str) -> Fraction:
    """The number behind ``"0.1"`` or ``"1/3"``, of at most 30 digits a part; ValueError for anything else."""
    if not _NUMBER.fullmatch(text):
        raise ValueError("neither a decimal nor a fraction")
    return Fraction(text)


def parse_epsilon(text: str, option: str = "epsilon") -> Fraction:
    """An exact epsilon from ``"0.1"`` (one tenth) or ``"1/3"``.

    Raises PrivityError (bad-option) for anything that is not a number in
    [SMALLEST_EPSILON, LARGEST_EPSILON]; scientific notation is refused, so that no digit hides.
    """
    hint = "Give a decimal such as 1.0 or a fraction such as 1/3."
    text = text.strip()
    try:
        value = exact_number(text)
    except ZeroDivisionError:
        raise PrivityError(Catalogue.BAD_OPTION, option=option, reason="division by zero", hint=hint) from None
    except ValueError:
        exponent = " without an exponent" if _WITH_EXPONENT.fullmatch(text) else ""
        reason = f"{shorten(text)} is not a positive number{exponent}"
        raise PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=hint) from None
    if value.denominator > LARGEST_DENOMINATOR:
        reason = f"{shorten(text)} has too many digits for exact integer noise"
        raise PrivityError(
            Catalogue.BAD_OPTION, option=option, reason=reason, hint="Use at most six digits after the point."
        )
    if not SMALLEST_EPSILON <= value <= LARGEST_EPSILON:
        reason = f"{shorten(text)} is not from {readable(SMALLEST_EPSILON)} to {LARGEST_EPSILON}"
        raise PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=hint)
    return value


def readable(number: Fraction) -> str:
    """An exact number for people: a decimal, in full if six digits after the point are enough, else of six digits."""
    scaled = number * LARGEST_DENOMINATOR
    if scaled.denominator == 1:
        return f"{scaled.numerator / LARGEST_DENOMINATOR:.6f}".rstrip("0").rstrip(".")
    return re.sub(r"e([+-])0+", r"e\1", f"{float(number):.6g}")


def parse_delta(text: str, option: str = "delta") -> Fraction:
    """An exact delta, at least 0 and at most LARGEST_DELTA, such as ``"0"``, ``"0.000000001"`` or ``"1/1073741824"``.

    Raises PrivityError (bad-option) for anything else.
    """
    try:
        delta = exact_number(text.strip())
    except (ValueError, ZeroDivisionError):
        delta = Fraction(1)
    if delta > LARGEST_DELTA:
        reason = f"it is not a number from 0 to {float(LARGEST_DELTA)}"
        hint = 'Write for instance "0" or "0.000000001".'
        raise PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=hint)
    return delta


def split_epsilon(epsilon: Fraction, weights: Sequence[Fraction]) -> list[Fraction]:
    """Shares of epsilon in proportion to the weights, exactly ``epsilon`` together.

    A part with more digits than exact integer noise can serve is rounded down to a millionth; the last
    part takes up what is left.

    Raises:
        PrivityError: epsilon is too small for such a split.
    """
    total = sum(weights, Fraction(0))
    shares = [_rounded_down(epsilon * weight / total) for weight in weights[:-1]]
    shares.append(epsilon - sum(shares, Fraction(0)))
    if min(shares) <= 0:
        raise PrivityError(
            Catalogue.BAD_OPTION,
            option="epsilon",
            reason=f"{epsilon} is too small to be split over the algorithm's phases",
            hint="Use a larger epsilon.",
        )
    return shares


def _rounded_down(share: Fraction) -> Fraction:
    if share.denominator <= LARGEST_DENOMINATOR:
        return share
    return Fraction(math.floor(share * LARGEST_DENOMINATOR), LARGEST_DENOMINATOR)


def as_fraction(value: Fraction | int, what: str) -> Fraction:
    """The exact number, at least 0.

    Raises:
        TypeError: a float, or anything else that is not exactly an integer or a fraction.
        ValueError: it is negative.
    """
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        raise TypeError(f"{what} is an exact fraction, never {type(value).__name__}")
    if value < 0:
        raise ValueError(f"{what} is at least 0")
    return Fraction(value)


@dataclass(frozen=True)
class PureEpsilon:
    """Pure differential privacy (Dwork, McSherry, Nissim, Smith 2006): no outcome is more than e^epsilon as likely.

    Composition: epsilons add (basic composition, ibid.).
    """

    epsilon: Fraction
    relation: Relation

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_fraction(self.epsilon, "epsilon"))
        _check_relation(self.relation)

    def __add__(self, other: PureEpsilon) -> PureEpsilon:
        _check_same(self, other)
        return replace(self, epsilon=self.epsilon + other.epsilon)

    def exceeds(self, limit: PureEpsilon) -> bool:
        """Whether this is more than the limit allows."""
        _check_same(self, limit)
        return self.epsilon > limit.epsilon

    def scaled(self, rows_per_person: int) -> PureEpsilon:
        """For a person with that many rows: m * epsilon (group privacy, Dwork et al. 2006)."""
        return replace(self, epsilon=_count(rows_per_person) * self.epsilon)


@dataclass(frozen=True)
class Zcdp:
    """Zero-concentrated differential privacy: Renyi divergence of each order alpha at most rho * alpha.

    Source: Bun and Steinke 2016, Definition 1.1. Composition: rhos add (Lemma 1.7).
    """

    rho: Fraction
    relation: Relation

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", as_fraction(self.rho, "rho"))
        _check_relation(self.relation)

    def __add__(self, other: Zcdp) -> Zcdp:
        _check_same(self, other)
        return replace(self, rho=self.rho + other.rho)

    def exceeds(self, limit: Zcdp) -> bool:
        """Whether this is more than the limit allows."""
        _check_same(self, limit)
        return self.rho > limit.rho

    def scaled(self, rows_per_person: int) -> Zcdp:
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

    def exceeds(self, limit: ApproxDP) -> bool:
        """Whether epsilon or delta is more than the limit allows."""
        _check_same(self, limit)
        return self.epsilon > limit.epsilon or self.delta > limit.delta

    def scaled(self, rows_per_person: int) -> ApproxDP:
        """For a person with that many rows: (m * epsilon, m * e^((m-1) epsilon) * delta), the power rounded up.

        Group privacy: m steps of P <= e^epsilon P' + delta give delta (1 + e^epsilon + ... + e^((m-1) epsilon)).
        """
        rows = _count(rows_per_person)
        delta = rows * exp_above((rows - 1) * self.epsilon) * self.delta
        return replace(self, epsilon=rows * self.epsilon, delta=min(Fraction(1), delta))


Budget = PureEpsilon | Zcdp | ApproxDP
AnyBudget = TypeVar("AnyBudget", PureEpsilon, Zcdp, ApproxDP)


def compose(budgets: Iterable[AnyBudget]) -> AnyBudget:
    """The budget of all these releases on the same rows together.

    Raises:
        PrivacyMismatchError: they are of two kinds or for two relations.
        ValueError: there is none, so that neither kind nor relation is known.
    """
    rest = iter(budgets)
    try:
        total = next(rest)
    except StopIteration:
        raise ValueError("nothing to compose: of which kind would the budget be?") from None
    for budget in rest:
        total = total + budget
    return total


def _check_relation(relation: Relation) -> None:
    if not isinstance(relation, Relation):
        raise TypeError("a budget needs a neighbouring Relation")


def _check_same(one: Budget, other: Budget) -> None:
    if type(one) is not type(other):
        raise PrivacyMismatchError(
            f"{type(one).__name__} and {type(other).__name__} are different kinds of budget: convert explicitly first"
        )
    check_same_relation(one.relation, other.relation)


def _count(rows_per_person: int) -> int:
    if isinstance(rows_per_person, bool) or not isinstance(rows_per_person, int) or rows_per_person < 1:
        raise ValueError("rows per person is an integer of at least 1")
    return rows_per_person


def exp_above(x: Fraction) -> Fraction:
    """A fraction not below e^x, x >= 0, and less than one part in a thousand above it for x <= 40.

    For 0 <= y < 2: ln((2+y)/(2-y)) = 2 artanh(y/2) >= y, so e^y <= (2+y)/(2-y). Here y = x/parts.
    """
    shares = 64 * max(1, math.ceil(x))
    y = Fraction(math.ceil(x / shares * 2**40), 2**40)
    return Fraction(math.ceil(((2 + y) / (2 - y)) ** shares * 2**64), 2**64)


def budget_problems(
    document: Mapping[str, Any], file: str, epsilons: Sequence[str] = (), deltas: Sequence[str] = ()
) -> list[Problem]:
    """Faults of the epsilons and deltas of a document under these keys; what is no text is a fault of the format."""
    problems = []
    for rule, keys, read in (("epsilon", epsilons, parse_epsilon), ("delta", deltas, parse_delta)):
        for key in keys:
            text = document.get(key)
            if isinstance(text, str) and text:
                try:
                    read(text, key)
                except PrivityError as error:
                    problems.append(Problem(file, key, rule, error.message + ".", error.remedy))
    return problems
