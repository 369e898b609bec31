"""Which noisy marginal tells most of an attribute or of a pair, and its sum over the other axes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
import numpy.typing as npt

from privity.common.data.derived_attributes import DerivedAttributes
from privity.common.data.noisy_tables import Marginal, NoisyTable
from privity.common.privacy.noisy_count_intervals import half_width

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Margin:
    """A noisy marginal summed over some of its axes.

    Attributes:
        phase: that measured the table.
        groups: for each axis of ``counts`` the axes of the table that it stands for: an attribute, or what is derived
            of one; all bits of a code are read as the code.
        whole: whether each axis tells an attribute's code, and not only something derived of it.
        cells: how many cells of the table each count is the sum of.
        variables: that the noise on one cell of the table amounts to.
    """

    table: NoisyTable
    phase: str
    groups: tuple[Marginal, ...]
    whole: bool
    cells: int
    variables: Fraction
    counts: Counts

    @property
    def variance(self) -> float:
        """Of the noise on one count."""
        return self.table.variance * self.cells

    @property
    def half_width(self) -> int:
        """Error bar of one count, by the exact law."""
        return half_width(self.table.law, self.variables, self.cells)

    @property
    def sure(self) -> int:
        """What the noise on none of the counts exceeds, but for once in a hundred tables."""
        return half_width(self.table.law, self.variables, self.cells, 1 - Fraction(1, 100 * self.counts.size))

    @property
    def excess(self) -> float:
        """Excess kurtosis of the noise on one count; what it is for discrete Laplace noise, Gaussian has less."""
        return 3 / float(self.variables * self.cells)


class BestMargins:
    """Finds the best margin: over whole attributes before derived ones, over most rows, then with least noise.

    Args:
        tables: every noisy marginal with its phase.
        variables: that the noise on one cell amounts to, K/(K-t).
    """

    def __init__(
        self, tables: Sequence[tuple[str, NoisyTable]], derived: DerivedAttributes, variables: Fraction
    ) -> None:
        self._tables, self._derived, self._variables = tables, derived, variables
        self._best: dict[Marginal, tuple[tuple[float, ...], int, tuple[Marginal, ...]]] = {}
        self.parts: dict[int, dict[int, int]] = {}
        """Attribute -> what was measured of it only -> the place of the table."""
        for place, (_, table) in enumerate(tables):
            self._look_at(place, table)

    def one(self, attribute: int) -> Margin | None:
        """The best 1-way margin of an attribute; None if no table tells its codes."""
        found = self._best.get((attribute,))
        return self._margin(*found[1:]) if found and self._whole(attribute, found[2][0]) else None

    def pair(self, a: int, b: int) -> Margin | None:
        """The best 2-way margin of two attributes, the first on the first axis; derived ones if there is no other."""
        found = self._best.get((a, b) if a < b else (b, a))
        if found is None:
            return None
        return self._margin(found[1], found[2] if a < b else found[2][::-1])

    def part(self, attribute: int, index: int) -> Margin:
        """The best margin of something derived of an attribute that ``parts`` names."""
        return self._margin(self.parts[attribute][index], ((index,),))

    def _look_at(self, place: int, table: NoisyTable) -> None:
        groups = dict(_groups(table.attributes, self._derived))
        size = table.counts.size
        for axis in table.attributes:
            attribute = self._derived.base[axis]
            if axis != attribute:
                known = self.parts.setdefault(attribute, {})
                if axis not in known or self._noise(place, axis) < self._noise(known[axis], axis):
                    known[axis] = place
        ways = [*((a,) for a in sorted(groups)), *combinations(sorted(groups), 2)]
        for way in ways:
            chosen = tuple(groups[a] for a in way)
            cells = math.prod(self._derived.domain[i] for group in chosen for i in group)
            derived = sum(not self._whole(a, group) for a, group in zip(way, chosen, strict=True))
            # Of what is derived the finest; of what is whole all have the same cells.
            rank = (derived, -table.rows, -cells if derived else 0, table.variance * (size // cells))
            if way not in self._best or rank < self._best[way][0]:
                self._best[way] = rank, place, chosen

    def _noise(self, place: int, axis: int) -> float:
        table = self._tables[place][1]
        return table.variance * (table.counts.size // self._derived.domain[axis]) / table.rows**2

    def _whole(self, attribute: int, group: Marginal) -> bool:
        return group in self._derived.sources(attribute)

    def _margin(self, place: int, groups: tuple[Marginal, ...]) -> Margin:
        phase, table = self._tables[place]
        kept = [table.attributes.index(i) for group in groups for i in group]
        others = tuple(axis for axis in range(table.counts.ndim) if axis not in kept)
        summed = table.counts.sum(axis=others) if others else table.counts
        # The axes that are left are in the table's order.
        summed = summed.transpose([sorted(kept).index(axis) for axis in kept])
        counts = summed.reshape([math.prod(self._derived.domain[i] for i in group) for group in groups])
        whole = True
        for axis, group in enumerate(groups):
            attribute = self._derived.base[group[0]]
            if not self._whole(attribute, group):
                whole = False
            elif group != (attribute,):
                counts = counts.take(self._spelled(attribute, group), axis=axis)
        cells = table.counts.size // max(1, math.prod(self._derived.domain[i] for g in groups for i in g))
        return Margin(table, phase, groups, whole, cells, self._variables, counts)

    def _spelled(self, attribute: int, bits: Marginal) -> npt.NDArray[np.int64]:
        """The cell of a table of bits that each code has; the others are cells of no code."""
        codes = np.arange(self._derived.domain[attribute])
        values = [self._derived.derive(i, codes) for i in bits]
        return np.ravel_multi_index(values, [self._derived.domain[i] for i in bits]).astype(np.int64)


def _groups(attributes: Marginal, derived: DerivedAttributes) -> Iterator[tuple[int, Marginal]]:
    """For each attribute that a table says something of, the axes that say most."""
    of: dict[int, list[int]] = {}
    for axis in attributes:
        of.setdefault(derived.base[axis], []).append(axis)
    for attribute, axes in of.items():
        whole = [source for source in derived.sources(attribute) if set(source) <= set(axes)]
        yield attribute, whole[0] if whole else tuple(sorted(axes))
