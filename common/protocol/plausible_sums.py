"""Whether what was revealed can be what rows and noise add up to: by the law of the noise, against public numbers.

A party that adds to its vector what no rows give is not seen in its blobs, which are hidden, but in the sum, if it adds
more than the noise does. Each table of a run is compared with the number of rows that it counts, cell by cell with what
so many rows can have, and with the tables before it that share attributes with it. An honest run is refused with
probability ``CHANCE`` at the most, whatever its rows are: the j-th round may use ``CHANCE``/(j (j+1)) of it, shared
out evenly among its comparisons.

The bound on a sum S of independent noise is Chernoff's, P(S >= x) <= E exp(l S) exp(-l x), for any l. One variable of
discrete Laplace noise of scale b has E exp(l Z) = 1/(1 - (sinh(l/2)/sinh(1/2b))^2), a share its part as the exponent;
shares of discrete Gaussian noise are subgaussian with their parameter (Canonne, Kamath, Steinke 2020, Corollary 17).
All of it looks at figures that are revealed, so floats do no harm; they decide the same wherever they are computed,
but within a relative 1e-9 of the bound.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, count

import numpy as np
import numpy.typing as npt

from privity.common.data.noisy_tables import Marginal, NoisyTable
from privity.common.privacy.noise_distribution import GAUSSIAN, NoiseLaw

CHANCE = 1e-12
"""That an honest run is refused."""

MOST_SHARED = 2
"""Attributes of the parts in which tables are compared, besides whole tables."""

Part = tuple[NoiseLaw, int]
"""Independent cells of noise of one law that are added up."""


SMALLEST_SCALE = 1 / 600
"""Of Laplace noise, in what follows: narrower noise counts as so wide, so that nothing overflows."""


@lru_cache(maxsize=1 << 16)
def reach(parts: tuple[Part, ...], variables: Fraction, chance: float) -> float:
    """What the absolute value of the sum of this noise exceeds with at most this probability.

    Args:
        parts: the cells that are added up, by law.
        variables: of the law, that the noise on one cell amounts to: K/(K - t).
    """
    wanted = math.log(2 / chance)
    widest = max((_scale(law) for law, _ in parts if law.name != GAUSSIAN), default=None)
    if widest is None:
        return math.sqrt(2 * wanted * sum(float(law.scale * variables) * cells for law, cells in parts))
    rates = [step / (100 * widest) for step in range(1, 100)]
    return min((wanted + float(variables) * sum(_log_mean(law, rate) * n for law, n in parts)) / rate for rate in rates)


def _scale(law: NoiseLaw) -> float:
    return max(float(law.scale), SMALLEST_SCALE)


def _log_mean(law: NoiseLaw, rate: float) -> float:
    """Bound on ln E exp(rate Z) of one variable Z."""
    if law.name == GAUSSIAN:
        return float(law.scale) * rate * rate / 2
    return -math.log1p(-((math.sinh(rate / 2) / math.sinh(1 / (2 * _scale(law)))) ** 2))


@dataclass(frozen=True)
class _Comparison:
    """Numbers that should be equal but for noise.

    Attributes:
        count: how many pairs; off: the farthest that any of them lie apart.
        parts: the noise between them.
        what: in words, if it is too far.
    """

    count: int
    off: int
    parts: tuple[Part, ...]
    what: str


class PlausibleSums:
    """Compares the tables of a run, round by round.

    Args:
        variables: of a table's law, that the noise on one cell amounts to.
        absent: whether rows may be absent, so that the number of those that are there is not public.
    """

    def __init__(self, variables: Fraction, *, absent: bool) -> None:
        self._variables, self._absent = variables, absent
        self._rounds = count(1)
        self._known: dict[tuple[int, Marginal], tuple[npt.NDArray[np.int64], Part]] = {}

    def of_other_codes(self) -> PlausibleSums:
        """For further rounds of the same run, over rows that are coded anew."""
        found = PlausibleSums(self._variables, absent=self._absent)
        found._rounds = self._rounds
        return found

    def fault(self, tables: Iterable[NoisyTable]) -> str | None:
        """Why the tables of one round cannot be sums of rows and noise; None if they can."""
        return self._fault([*self._of_tables(tables)])

    def fault_of_scores(self, values: npt.NDArray[np.int64], law: NoiseLaw, rows: int) -> str | None:
        """The same of scores, each of which is one a row at the most."""
        off = int(max(values.max() - rows, -values.min()))
        what = f"a score is not between 0 and the {rows} rows that it is about"
        return self._fault([_Comparison(values.size, off, ((law, 1),), what)])

    def _fault(self, compared: list[_Comparison]) -> str | None:
        number = next(self._rounds)
        chance = CHANCE / (number * (number + 1) * max(sum(one.count for one in compared), 1))
        return next((one.what for one in compared if one.off > reach(one.parts, self._variables, chance)), None)

    def _of_tables(self, tables: Iterable[NoisyTable]) -> Iterator[_Comparison]:
        by_shape: dict[tuple[tuple[int, ...], NoiseLaw, int], list[NoisyTable]] = defaultdict(list)
        for table in tables:
            by_shape[table.counts.shape, table.law, table.rows].append(table)
        for (shape, law, rows), alike in by_shape.items():
            counts = np.stack([table.counts for table in alike])
            off = int(max(counts.max() - rows, -counts.min()))
            yield _Comparison(
                counts.size, off, ((law, 1),), f"a cell is not between 0 and the {rows} rows of its table"
            )
            if not self._absent:
                off = int(np.abs(counts.reshape(len(alike), -1).sum(axis=1) - rows).max())
                what = f"the cells of a table do not add up to its {rows} rows"
                yield _Comparison(len(alike), off, ((law, math.prod(shape)),), what)
            yield from self._with_those_before([table.attributes for table in alike], counts, law, rows)

    def _with_those_before(
        self, marginals: Sequence[Marginal], counts: npt.NDArray[np.int64], law: NoiseLaw, rows: int
    ) -> Iterator[_Comparison]:
        """Each table, and its parts, with the first of the same attributes."""
        axes = range(counts.ndim - 1)
        parts = [part for size in range(1, min(MOST_SHARED, len(axes) - 1) + 1) for part in combinations(axes, size)]
        for axes_kept in [*parts, tuple(axes)]:
            over = tuple(axis + 1 for axis in axes if axis not in axes_kept)
            projected = counts.sum(axis=over)
            own = law, math.prod(counts.shape[axis] for axis in over)
            far: dict[Part, int] = {}
            pairs: Counter[Part] = Counter()
            for marginal, cells in zip(marginals, projected, strict=True):
                names = [marginal[axis] for axis in axes_kept]
                order = sorted(range(len(names)), key=names.__getitem__)
                mine = cells.transpose(order)
                key = rows, tuple(names[place] for place in order)
                first, part = self._known.setdefault(key, (mine, own))
                if first is not mine:
                    far[part] = max(far.get(part, 0), int(np.abs(first - mine).max()))
                    pairs[part] += mine.size
            for part, off in far.items():
                what = "two tables do not say the same of an attribute that both have"
                yield _Comparison(pairs[part], off, (part, own), what)
