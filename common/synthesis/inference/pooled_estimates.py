"""What all noisy marginals of a release together tell of an attribute, or of several: one estimate, and its error.

Generalised least squares over every table that holds any of the attributes, each summed over its other ones: repeats,
wider tables, those of one attribute alone, those of bits and generalisations. The number of rows is exact. Where no
table is over something derived, no other linear unbiased estimate of these attributes has less error, whatever it makes
of the tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from privity.common.data.derived_attributes import DerivedAttributes
from privity.common.data.noisy_tables import Marginal, NoisyTable
from privity.common.privacy.noise_distribution import LAPLACE
from privity.common.privacy.noisy_count_intervals import deviations
from privity.common.synthesis.inference.least_squares import Design, Estimate, Grouping, least_squares, unknowns

Numbers = npt.NDArray[np.float64]

MOST_UNKNOWNS = 512
"""Of one system of equations. Beyond it only tables at the groups of the estimate itself count, on every axis."""

LEAST_VARIANCE = 1e-6
"""Of noise that no count ever has, so that exact counts are no division by zero."""


MEAN_OF_NORMAL = math.sqrt(2 / math.pi)
"""Mean absolute value of a normal variable, in standard deviations."""


def noise_distance(deviations: float, rows: int, excess: float = 0.0) -> float:
    """Total variation distance from true shares that noise alone makes: its expectation, above 1 where noise is all.

    Args:
        deviations: standard deviations of the noise on all counts, added up.
        rows: that the counts add up to.
        excess: kurtosis of the noise over that of a normal law; of heavier tails the mean is less.
    """
    return MEAN_OF_NORMAL * (1 - excess / 24) / 2 * deviations / rows


@dataclass(frozen=True)
class Pooled:
    """An estimated table of counts.

    Attributes:
        groups: for each axis the indices whose values it tells: the attribute, or what is derived of it. An attribute
            that was measured by all its bits is told itself.
        groupings: for each axis the cell of each code of its attribute.
        whole: whether each axis tells its attribute's code.
        rows: public number that the counts add up to.
        tables: places of the noisy marginals that it is made of and that hold all the attributes; others tell of its
            margins.
        estimate: the counts and the covariance of their error.
        excess: kurtosis of a count's error over that of a normal law, at most about; 0 for Gaussian noise.
    """

    groups: tuple[Marginal, ...]
    groupings: tuple[Grouping, ...]
    whole: bool
    rows: int
    tables: tuple[int, ...]
    estimate: Estimate
    excess: float

    @property
    def counts(self) -> Numbers:
        """Unbiased; some may be negative."""
        return self.estimate.counts

    @cached_property
    def half_widths(self) -> Numbers:
        """Error bar of each count at the level of ``noisy_count_intervals``, in whole rows."""
        return _whole(deviations(self.excess) * np.sqrt(np.maximum(self.estimate.variances, 0.0)))

    @property
    def half_width(self) -> int:
        """The widest of them."""
        return int(self.half_widths.max())

    def half_width_of(self, weights: Numbers) -> int:
        """Error bar of a weighted sum of the counts; ``weights`` have their shape."""
        variance = max(0.0, self.estimate.variance(weights))
        return int(_whole(np.array(deviations(self.excess) * math.sqrt(variance))))

    @property
    def surely(self) -> float:
        """What no count's error exceeds, but for once in a hundred tables."""
        level = 1 - Fraction(1, 100 * self.counts.size)
        return deviations(self.excess, level) * math.sqrt(max(0.0, float(self.estimate.variances.max())))

    @property
    def distance(self) -> float:
        """Total variation distance from the true shares that the error alone makes: see ``noise_distance``."""
        deviations = float(np.sqrt(np.maximum(self.estimate.variances, 0.0)).sum())
        return noise_distance(deviations, self.rows, self.excess)


def _whole(widths: Numbers) -> Numbers:
    """Rounded up, but for what is rounding itself: noise moves whole rows."""
    return np.ceil(widths - 1e-9 * (1 + widths))


@dataclass(frozen=True)
class _Told:
    """What a table tells of one attribute.

    Attributes:
        axes: of the table.
        key: the indices they are of; the attribute itself if they tell its code.
        cells: of these axes, those that a code has, by group: a pattern of bits need not be one's.
    """

    axes: tuple[int, ...]
    key: Marginal
    grouping: Grouping
    cells: npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Sums:
    """An attribute's counts in every table that tells the same of it.

    Attributes:
        places: of the tables; weights: one over the variance of a count; both of shape (tables,).
        counts: float64, shape (tables, groups).
    """

    grouping: Grouping
    rows: int
    places: npt.NDArray[np.int64]
    weights: Numbers
    counts: Numbers

    def others(self, places: Iterable[int]) -> npt.NDArray[np.bool_]:
        """Which of the tables have none of these places."""
        found, looked_for = np.ones(len(self.places), dtype=bool), np.fromiter(places, np.int64)
        at = np.minimum(np.searchsorted(self.places, looked_for), len(found) - 1)
        found[at[self.places[at] == looked_for]] = False
        return found


class PooledEstimates:
    """Estimates from noisy marginals.

    Args:
        tables: independent of each other; those over fewer rows than others count where nothing else does. More may
            be added.
        variables: of a table's law that the noise on one cell amounts to, K/(K-t).

    Attributes:
        parts: attribute -> what was measured of it that is derived, in ascending order.
    """

    def __init__(self, tables: Sequence[NoisyTable], derived: DerivedAttributes, variables: Fraction) -> None:
        self._derived, self._variables = derived, variables
        self._tables: list[NoisyTable] = []
        self._views: list[dict[int, _Told]] = []
        self._told: dict[Marginal, Grouping] = {}
        self._cells: dict[Marginal, tuple[Marginal, Grouping, npt.NDArray[np.int64]]] = {}
        self._holding: dict[Marginal, list[int]] = {}
        self._sums: dict[int, list[_Sums]] = {}
        self.parts: dict[int, tuple[int, ...]] = {}
        for table in tables:
            self.add(table)

    def add(self, table: NoisyTable) -> frozenset[int]:
        """One more table; gives the attributes that it tells something of."""
        place, base = len(self._tables), self._derived.base
        view = self._view(table.attributes)
        self._tables.append(table)
        self._views.append(view)
        for attribute in view:
            self._holding.setdefault((attribute,), []).append(place)
            self._sums.pop(attribute, None)
        for pair in combinations(view, 2):
            self._holding.setdefault(pair, []).append(place)
        for index in table.attributes:
            if base[index] != index:
                self.parts[base[index]] = tuple(sorted({*self.parts.get(base[index], ()), index}))
        return frozenset(view)

    def one(self, attribute: int) -> Pooled | None:
        """An attribute's counts; None if no table tells its codes."""
        found = self.of(attribute)
        return found if found is not None and found.whole else None

    def part(self, index: int) -> Pooled:
        """The counts of something derived that ``parts`` names, from the tables that have it."""
        places = [place for place in self._holding[(self._derived.base[index],)] if index in self._axes(place)]
        rows = max(self._tables[place].rows for place in places)
        used = [place for place in places if self._tables[place].rows == rows]
        size = self._derived.domain[index]
        code = Grouping(np.arange(size), size)
        designs, excesses = [], []
        for place in used:
            table, axis = self._tables[place], self._axes(place).index(index)
            cells = table.counts.size // size
            counts = table.counts.sum(axis=tuple(i for i in range(table.counts.ndim) if i != axis), dtype=np.float64)
            designs.append(Design((code,), 1 / (max(table.variance, LEAST_VARIANCE) * cells), counts))
            excesses.append(excess_of(table, self._variables, cells))
        estimate = least_squares([code], designs, rows)
        excess = _excess_of_mean([design.weight for design in designs], excesses)
        codes = self._derived.derive(index, np.arange(self._derived.domain[self._derived.base[index]])).astype(np.int64)
        return Pooled(((index,),), (Grouping(codes, size),), False, rows, tuple(used), estimate, excess)

    def of(self, *attributes: int) -> Pooled | None:
        """The table of distinct attributes, its axes in their order; None if no noisy marginal holds them all.

        It is over their codes if a table is, else over the groups of the finest one.
        """
        places = self._places(attributes)
        if not places:
            return None

        def rank(place: int) -> tuple[float, ...]:
            axes = [self._views[place][a] for a in attributes]
            derived = sum(not axis.grouping.whole for axis in axes)
            # Of what is whole all have the same cells.
            cells = math.prod(axis.grouping.groups for axis in axes) if derived else 0
            return derived, -self._tables[place].rows, -cells, 1 / self._weight(place, attributes)

        best = self._views[min(places, key=rank)]
        return self._pooled(attributes, tuple(best[a].key for a in attributes), places)

    def _places(self, attributes: Sequence[int]) -> list[int]:
        """Of the tables that hold all of them."""
        if len(attributes) <= 2:
            return self._holding.get(tuple(sorted(attributes)), [])
        return [place for place, view in enumerate(self._views) if all(a in view for a in attributes)]

    def _pooled(self, attributes: Sequence[int], groups: tuple[Marginal, ...], places: Sequence[int]) -> Pooled:
        """From the tables over the most rows of which one tells these groups."""
        told = tuple(self._told[key] for key in groups)
        axes = list(zip(attributes, groups, strict=True))
        main = [place for place in places if all(self._views[place][a].key == key for a, key in axes)]
        rows = max(self._tables[place].rows for place in main)
        main = [place for place in main if self._tables[place].rows == rows]
        designs = self._designs(attributes, rows)
        target = told
        if unknowns([len(grouping.labels) for grouping in told], designs) > MOST_UNKNOWNS:
            target, designs = _alike(told, designs)
        weights = [self._weight(place, attributes) for place in main]
        excesses = [excess_of(self._tables[i], self._variables, self._rest(i, attributes)) for i in main]
        return Pooled(
            groups,
            told,
            all(key == (a,) for a, key in axes),
            rows,
            tuple(place for place in places if self._tables[place].rows == rows),
            least_squares(target, designs, rows),
            _excess_of_mean(weights, excesses),
        )

    def _designs(self, attributes: Sequence[int], rows: int) -> list[Design]:
        """What the tables over so many rows tell of the attributes; those that tell the same, averaged."""
        found: dict[tuple[Grouping | None, ...], tuple[float, Numbers]] = {}

        def add(groupings: tuple[Grouping | None, ...], weight: float, weighted: Numbers) -> None:
            known = found.get(groupings)
            found[groupings] = (weight, weighted) if known is None else (known[0] + weight, known[1] + weighted)

        several: set[int] = set()
        for pair in combinations(sorted(attributes), 2):
            several.update(self._holding.get(pair, ()))
        for place in sorted(several):
            if self._tables[place].rows == rows:
                view, weight = self._views[place], self._weight(place, attributes)
                groupings = tuple(view[a].grouping if a in view else None for a in attributes)
                add(groupings, weight, weight * self._summed(place, attributes))
        for axis, attribute in enumerate(attributes):
            shape = [-1 if i == axis else 1 for i in range(len(attributes))]
            for sums in self._sums_of(attribute):
                if sums.rows != rows:
                    continue
                alone = sums.others(several)
                if alone.any():
                    groupings = tuple(sums.grouping if i == axis else None for i in range(len(attributes)))
                    weighted = sums.weights[alone] @ sums.counts[alone]
                    add(groupings, float(sums.weights[alone].sum()), weighted.reshape(shape))
        return [Design(groupings, weight, weighted / weight) for groupings, (weight, weighted) in found.items()]

    def _sums_of(self, attribute: int) -> list[_Sums]:
        if attribute not in self._sums:
            alike: dict[tuple[Grouping, int], list[int]] = {}
            for place in self._holding.get((attribute,), ()):
                alike.setdefault((self._views[place][attribute].grouping, self._tables[place].rows), []).append(place)
            self._sums[attribute] = [
                _Sums(
                    grouping,
                    rows,
                    np.array(places),
                    np.array([self._weight(place, (attribute,)) for place in places]),
                    np.stack([self._summed(place, (attribute,)) for place in places]),
                )
                for (grouping, rows), places in alike.items()
            ]
        return self._sums[attribute]

    def _summed(self, place: int, attributes: Sequence[int]) -> Numbers:
        """A table's counts by what it tells of these attributes, axes in their order; of length 1 for others."""
        table, view = self._tables[place], self._views[place]
        order = [axis for told in view.values() for axis in told.axes]
        sizes = [math.prod(table.counts.shape[axis] for axis in told.axes) for told in view.values()]
        counts = table.counts.transpose(order).reshape(sizes)
        held = list(view)
        for axis, told in enumerate(view.values()):
            if len(told.axes) > 1 or len(told.cells) < sizes[axis]:
                counts = counts.take(told.cells, axis=axis)
        counts = counts.sum(axis=tuple(i for i, a in enumerate(held) if a not in attributes), dtype=np.float64)
        kept = [a for a in held if a in attributes]
        counts = counts.transpose([kept.index(a) for a in attributes if a in view])
        return counts.reshape([view[a].grouping.groups if a in view else 1 for a in attributes])

    def _axes(self, place: int) -> Marginal:
        return self._tables[place].attributes

    def _rest(self, place: int, attributes: Sequence[int]) -> int:
        """Cells of a table that each count over these attributes is the sum of."""
        return math.prod(told.grouping.groups for a, told in self._views[place].items() if a not in attributes)

    def _weight(self, place: int, attributes: Sequence[int]) -> float:
        """One over the variance of the noise on such a count."""
        return 1 / (max(self._tables[place].variance, LEAST_VARIANCE) * self._rest(place, attributes))

    def _view(self, marginal: Marginal) -> dict[int, _Told]:
        """For each attribute that a table says something of, what it tells; by attribute, in ascending order."""
        of: dict[int, list[int]] = {}
        for axis, index in enumerate(marginal):
            of.setdefault(self._derived.base[index], []).append(axis)
        found = {}
        for attribute in sorted(of):
            axes = sorted(of[attribute], key=lambda axis: marginal[axis])
            found[attribute] = self._telling(attribute, tuple(axes), tuple(marginal[axis] for axis in axes))
        return found

    def _telling(self, attribute: int, axes: tuple[int, ...], indices: Marginal) -> _Told:
        if indices not in self._cells:
            derived = self._derived
            codes = np.arange(derived.domain[attribute])
            sizes = [derived.domain[index] for index in indices]
            spelled = np.ravel_multi_index([derived.derive(index, codes) for index in indices], sizes).astype(np.int64)
            key: Marginal = indices
            cells, labels = np.unique(spelled, return_inverse=True)
            if len(cells) == len(codes):
                # The code itself, whatever spells it.
                key, cells, labels = (attribute,), spelled, codes
            grouping = self._told.setdefault(key, Grouping(labels.astype(np.int64), len(cells)))
            self._cells[indices] = key, grouping, cells
        key, grouping, cells = self._cells[indices]
        return _Told(axes, key, grouping, cells)


def _alike(target: Sequence[Grouping], designs: Sequence[Design]) -> tuple[tuple[Grouping, ...], list[Design]]:
    """Only tables of the groups that are asked for, with the groups in the place of codes."""
    codes = {grouping: Grouping(np.arange(grouping.groups), grouping.groups) for grouping in target}
    kept = [
        Design(tuple(None if g is None else codes[g] for g in design.groupings), design.weight, design.counts)
        for design in designs
        if all(g is None or g is wanted for g, wanted in zip(design.groupings, target, strict=True))
    ]
    return tuple(codes[grouping] for grouping in target), kept


def excess_of(table: NoisyTable, variables: Fraction, cells: int = 1) -> float:
    """Excess kurtosis of the noise on the sum of so many cells of a table, of which one has so many variables."""
    return 3 / float(variables * cells) if table.law.name == LAPLACE else 0.0


def _excess_of_mean(weights: Sequence[float], excesses: Sequence[float]) -> float:
    """Excess kurtosis of the average by inverse variance of independent errors."""
    whole = sum(weights)
    return sum((weight / whole) ** 2 * excess for weight, excess in zip(weights, excesses, strict=True))
