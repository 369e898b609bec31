"""Whether what was revealed can be what rows and noise add up to: by the law of the noise, against public numbers.

A party that adds to its vector what no rows give is not seen in its blobs, which are hidden, but in the sum, if it adds
more than the noise does. The true counts of a table, and of its parts, are within ``reach`` of what was revealed. No
rows have them if they are not from 0 to the public number of rows then, if all of a table are not this number, or if
two tables give the same counts otherwise. Absent rows are in tables like any other: there is a public number of them
and the others together.

In an honest run all true counts are so near, but for a probability of at most ``CHANCE``, whatever its rows are and
whatever it asks for after what it has seen: noise is fresh, and how often it may reach farther is settled before it is
drawn. The j-th round may use ``CHANCE``/(j (j+1)), its tables alike, and all counts that a table gives alike.

The bound on a sum S of independent noise is Chernoff's, P(S >= x) <= E exp(l S) exp(-l x), for any l. One variable of
discrete Laplace noise of scale b has E exp(l Z) = 1/(1 - (sinh(l/2)/sinh(1/2b))^2), a share its part as the exponent;
shares of discrete Gaussian noise are subgaussian with their parameter (Canonne, Kamath, Steinke 2020, Corollary 17).
All of it looks at figures that are revealed, so floats do no harm.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, count

import numpy as np
import numpy.typing as npt

from privity.common.data.derived_attributes import DerivedAttributes
from privity.common.data.noisy_tables import Marginal, NoisyTable
from privity.common.privacy.noise_distribution import GAUSSIAN, NoiseLaw

CHANCE = 1e-12
"""That an honest run is refused."""

MOST_SHARED = 2
"""Attributes of the parts in which tables are compared, besides whole tables."""

SMALLEST_SCALE = 1 / 600
"""Of Laplace noise, in what follows: narrower noise counts as so wide, so that nothing overflows."""

ROUNDED = 1 + 1e-9
"""What a bound is widened by: more than floats err."""

LARGEST_SUM = 1 << 62
"""Counts are not compared whose sums might not fit 64 bits, for the width of their noise."""

Counts = npt.NDArray[np.int64]


@lru_cache(maxsize=1 << 16)
def reach(law: NoiseLaw, cells: int, variables: Fraction, chance: float) -> int:
    """What the absolute value of the noise of so many cells together exceeds with at most this probability.

    Args:
        law: of the noise on each cell.
        variables: of the law, that the noise on one cell amounts to: K/(K - t).
    """
    wanted, number = math.log(2 / chance), float(variables * cells)
    if law.name == GAUSSIAN:
        return math.floor(ROUNDED * math.sqrt(2 * wanted * float(law.scale) * number))
    scale = max(float(law.scale), SMALLEST_SCALE)
    rates = [0.99 * 0.95**step / scale for step in range(200)]
    return math.floor(ROUNDED * min((wanted + number * _log_mean(scale, rate)) / rate for rate in rates))


def _log_mean(scale: float, rate: float) -> float:
    """ln E exp(rate Z) of one variable Z of discrete Laplace noise."""
    return -math.log1p(-((math.sinh(rate / 2) / math.sinh(1 / (2 * scale))) ** 2))


class PlausibleSums:
    """Compares the tables of a run, round by round.

    Args:
        derived: the attributes of its tables.
        variables: of a table's law, that the noise on one cell amounts to.
    """

    def __init__(self, derived: DerivedAttributes, variables: Fraction) -> None:
        self._derived, self._variables = derived, variables
        self._rounds = count(1)
        # By rows and attributes in ascending order: the most exact counts so far, and how near the true ones are.
        self._known: dict[tuple[int, Marginal], tuple[Counts, int]] = {}
        self._derived_of: dict[int, set[int]] = defaultdict(set)

    def of_other_codes(self, derived: DerivedAttributes) -> PlausibleSums:
        """For the further rounds of the same run, over rows that are coded anew."""
        found = PlausibleSums(derived, self._variables)
        found._rounds = self._rounds  # the same one: all rounds of a run share the chance
        return found

    def fault(self, tables: Sequence[NoisyTable], revealed: int = 0) -> str | None:
        """Why the tables of one round cannot be sums of rows and noise; None if they can.

        Args:
            revealed: how many tables the round had, if not all of them are at hand.
        """
        chance = self._chance_of_a_round() / max(revealed, len(tables), 1)
        by_shape: dict[tuple[tuple[int, ...], NoiseLaw, int], list[NoisyTable]] = defaultdict(list)
        for table in tables:
            by_shape[table.counts.shape, table.law, table.rows].append(table)
        faults = (self._fault(alike, law, rows, chance) for (_, law, rows), alike in by_shape.items())
        return next((fault for fault in faults if fault is not None), None)

    def fault_of_scores(self, values: Sequence[int], law: NoiseLaw, rows: int) -> str | None:
        """The same of scores, each of which is one a row at the most."""
        around = reach(law, 1, self._variables, self._chance_of_a_round() / len(values))
        if -around <= min(values) and max(values) <= rows + around:
            return None
        return f"a score is not between 0 and the {rows} rows that it is about"

    def _chance_of_a_round(self) -> float:
        number = next(self._rounds)
        return CHANCE / (number * (number + 1))

    def _fault(self, tables: Sequence[NoisyTable], law: NoiseLaw, rows: int, chance: float) -> str | None:
        """Of tables of one shape."""
        counts = np.stack([table.counts for table in tables])
        shape = counts.shape[1:]
        parts = _parts(len(shape))
        chance /= sum(math.prod(shape[axis] for axis in part) for part in parts)
        for part in parts:
            over = tuple(axis for axis in range(len(shape)) if axis not in part)
            cells = math.prod(shape[axis] for axis in over)
            around = reach(law, cells, self._variables, chance)
            if (rows + around) * cells >= LARGEST_SUM:
                continue
            sums = counts.sum(axis=tuple(axis + 1 for axis in over))
            beyond = (sums < (0 if part else rows) - around) | (sums > rows + around)
            if beyond.any():
                first = tables[int(beyond.reshape(len(tables), -1).any(axis=1).argmax())]
                if not part:
                    return f"the table over {self._named(first.attributes)} does not add up to its {rows} rows"
                named = self._named([first.attributes[axis] for axis in part])
                return f"a count of {named} is not between 0 and the {rows} rows"
            for table, own in zip(tables, sums if over else (table.counts for table in tables), strict=True):
                attributes = [table.attributes[axis] for axis in part]
                if attributes and (fault := self._compare(attributes, own, around, rows)) is not None:
                    return fault
        return None

    def _compare(self, attributes: Sequence[int], counts: Counts, around: int, rows: int) -> str | None:
        """With those that are known; the more exact ones are known from now on."""
        order = sorted(range(len(attributes)), key=attributes.__getitem__)
        key = rows, tuple(attributes[place] for place in order)
        own = counts.transpose(order), around
        known = self._known.get(key, own)
        if int(np.abs(known[0] - own[0]).max()) > known[1] + around:
            return f"two tables do not say the same of {self._named(attributes)}"
        self._known[key] = min(known, own, key=lambda one: one[1])
        return self._compare_derived(attributes[0], rows) if len(attributes) == 1 else None

    def _compare_derived(self, attribute: int, rows: int) -> str | None:
        """A derived attribute with its own, or one with those that are derived of it."""
        base = self._derived.base[attribute]
        if attribute != base:
            self._derived_of[base].add(attribute)
        if (whole := self._known.get((rows, (base,)))) is None:
            return None
        for other in self._derived_of[base] if attribute == base else (attribute,):
            if (known := self._known.get((rows, (other,)))) is not None:
                groups = self._derived.derive(other, np.arange(whole[0].size))
                summed = np.zeros_like(known[0])
                np.add.at(summed, groups, whole[0])
                if (np.abs(summed - known[0]) > known[1] + np.bincount(groups) * whole[1]).any():
                    return f"two tables do not say the same of {self._named((other,))}"
        return None

    def _named(self, attributes: Sequence[int]) -> str:
        return ", ".join(self._derived.names[attribute] for attribute in attributes)


def _parts(axes: int) -> list[tuple[int, ...]]:
    """Axes of the parts of a table that are compared: of the whole table first, and of none for all its rows."""
    sizes = range(1, min(MOST_SHARED, axes - 1) + 1)
    return [tuple(range(axes)), (), *(part for size in sizes for part in combinations(range(axes), size))]
