"""How far a statistic can move between neighbouring tables: a number that carries its norm and relation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Protocol

from privity.common.privacy.exact_bounds import as_fraction
from privity.common.privacy.neighbouring_relation import PrivacyMismatchError, Relation


class Norm(Enum):
    """How the move of a vector is measured."""

    L1 = "L1"
    L2 = "L2"
    LINF = "L-infinity"


@dataclass(frozen=True)
class Sensitivity:
    """The most by which a statistic moves between neighbours, exactly.

    Attributes:
        bound: the move itself for L1 and L-infinity; its square for L2, whose root is rarely a fraction.
            `value` and `squared` say which is meant; a constructor such as `l2_squared` says it when made.
    """

    bound: Fraction
    norm: Norm
    relation: Relation

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", as_fraction(self.bound, "a sensitivity"))
        if not isinstance(self.norm, Norm) or not isinstance(self.relation, Relation):
            raise TypeError("a sensitivity needs a Norm and a Relation")

    @classmethod
    def l1(cls, value: Fraction | int, relation: Relation) -> Sensitivity:
        """The sum of the moves of all coordinates is at most ``value``."""
        return cls(as_fraction(value, "a sensitivity"), Norm.L1, relation)

    @classmethod
    def l2_squared(cls, squared: Fraction | int, relation: Relation) -> Sensitivity:
        """The sum of the squared moves of all coordinates is at most ``squared``."""
        return cls(as_fraction(squared, "a squared sensitivity"), Norm.L2, relation)

    @classmethod
    def linf(cls, value: Fraction | int, relation: Relation) -> Sensitivity:
        """Each coordinate moves by at most ``value``, in either direction."""
        return cls(as_fraction(value, "a sensitivity"), Norm.LINF, relation)

    @property
    def value(self) -> Fraction:
        """The sensitivity itself, for L1 and L-infinity.

        Raises:
            PrivacyMismatchError: the norm is L2, of which only the square is exact.
        """
        if self.norm is Norm.L2:
            raise PrivacyMismatchError("an L2 sensitivity is kept as its square: use `squared`")
        return self.bound

    @property
    def squared(self) -> Fraction:
        """The square of the sensitivity, in any norm."""
        return self.bound if self.norm is Norm.L2 else self.bound**2

    def times(self, count: int) -> Sensitivity:
        """Of ``count`` such statistics released side by side, as one vector.

        L1 adds up to count * v, L2 to sqrt(count) * v (its square: count * v^2), L-infinity stays.
        """
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ValueError("a number of statistics is an integer of at least 0")
        if self.norm is Norm.LINF:
            return self if count else Sensitivity(Fraction(0), self.norm, self.relation)
        return Sensitivity(count * self.bound, self.norm, self.relation)

    def in_norm(self, norm: Norm) -> Sensitivity:
        """Itself, if it is stated in this norm.

        Raises:
            PrivacyMismatchError: it is stated in another one.
        """
        if self.norm is not norm:
            raise PrivacyMismatchError(f"a sensitivity in {norm.value} is needed, this one is in {self.norm.value}")
        return self


CELLS_MOVED = {Relation.REPLACE_ONE: 2, Relation.ADD_OR_REMOVE_ONE: 1}
"""Cells of one contingency table that a neighbour moves, by one each: a replaced row leaves one cell for another."""


def contingency_tables(count: int, relation: Relation, norm: Norm = Norm.L1) -> Sensitivity:
    """Of the cells of ``count`` contingency tables of the same rows.

    One row stands in exactly one cell of each table. Replacing it moves two cells a table by one each: L1
    2*count, squared L2 2*count. Adding or removing it moves one cell a table: L1 count, squared L2 count.
    """
    cells = 1 if norm is Norm.LINF else CELLS_MOVED[relation]
    return Sensitivity(Fraction(cells), norm, relation).times(count)


def weighted_tables(weights: Sequence[int], relation: Relation, norm: Norm) -> Sensitivity:
    """Of the cells of contingency tables, each counted as its weight says: L1 2*sum w, squared L2 2*sum w^2."""
    power = 1 if norm is Norm.L1 else 2
    return contingency_tables(sum(weight**power for weight in weights), relation, norm)


class Query(Protocol):
    """Integer statistics that are released together, each under noise whose width follows from its weight."""

    @property
    def weights(self) -> tuple[int, ...]:
        """One a statistic: with noise 1/w times as wide it counts w times."""
        ...

    @property
    def in_words(self) -> str: ...

    @property
    def revealed_as(self) -> str:
        """In words, how sums of it over several parties are revealed."""
        ...

    def sensitivity(self, norm: Norm, relation: Relation) -> Sensitivity:
        """How far a neighbour moves all statistics together, each counted as often as its weight says."""
        ...


def scores(largest_move: int, relation: Relation) -> Sensitivity:
    """Of a list of integer scores of which each moves by at most ``largest_move``, in any direction."""
    return Sensitivity.linf(largest_move, relation)
