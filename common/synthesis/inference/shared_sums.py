"""Marginals of one table, each summed from the smallest that holds it: as many small sums for as few large ones.

A clique of 16 binary attributes has 65,536 cells, and 120 pairs. Summed one by one they take 120 passes over all cells;
here some eight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from privity.common.data.noisy_tables import Marginal

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Step:
    """A table that is summed from another one.

    Attributes:
        parent: place of that one among the steps, of which the first is the whole table.
        shape: of the parent, axes that stay or go together as one.
        gone: those of its axes that are summed over.
        beside: this table's shape beside them.
        axes: this table's own shape.
    """

    parent: int
    shape: tuple[int, ...]
    gone: tuple[int, ...]
    beside: tuple[int, ...]
    axes: tuple[int, ...]


class SharedSums:
    """Which sums give these marginals of a table.

    Args:
        attributes: the table's, ascending.
        sizes: of its axes.
        marginals: over some of its attributes each, ascending; the same one may be there more than once.
    """

    def __init__(self, attributes: Marginal, sizes: Sequence[int], marginals: Sequence[Marginal]) -> None:
        self._size = dict(zip(attributes, sizes, strict=True))
        whole = tuple(sizes)
        self._steps = [_Step(0, whole, (), whole, whole)]
        self._place: dict[Marginal, int] = {tuple(attributes): 0}
        self._split(tuple(attributes), sorted(set(marginals)))
        self._places = [self._place[marginal] for marginal in marginals]

    def _split(self, held: Marginal, wanted: Sequence[Marginal]) -> None:
        """Plan the marginals of a table that is planned."""
        if not wanted:
            return
        holders = Counter(a for marginal in wanted for a in marginal)
        together = tuple(a for a in held if a in holders)
        if together not in self._place:
            self._add(held, together)
        # Whoever does without one attribute goes on with a table that is so much smaller.
        some = [a for a in together if holders[a] < len(wanted)]
        if some:
            dropped = min(some, key=lambda a: (holders[a], -self._size[a]))
            self._split(together, [marginal for marginal in wanted if dropped not in marginal])
            self._split(together, [marginal for marginal in wanted if dropped in marginal])

    def _add(self, held: Marginal, kept: Marginal) -> None:
        runs = [(stays, list(run)) for stays, run in groupby(held, key=set(kept).__contains__)]
        shape = tuple(int(np.prod([self._size[a] for a in run])) for _, run in runs)
        gone = tuple(axis for axis, (stays, _) in enumerate(runs) if not stays)
        beside = tuple(1 if axis in gone else size for axis, size in enumerate(shape))
        self._place[kept] = len(self._steps)
        self._steps.append(_Step(self._place[held], shape, gone, beside, tuple(self._size[a] for a in kept)))

    def sums(self, table: Numbers) -> list[Numbers]:
        """The marginals of the table."""
        found = [np.ascontiguousarray(table)]
        for step in self._steps[1:]:
            found.append(found[step.parent].reshape(step.shape).sum(axis=step.gone).reshape(step.axes))
        return [found[place] for place in self._places]

    def spread(self, parts: Sequence[Numbers]) -> Numbers:
        """The table each of whose cells is the sum of those that it falls into, one of each marginal.

        Args:
            parts: tables over the marginals.
        """
        found = [np.zeros(step.axes) for step in self._steps]
        for place, part in zip(self._places, parts, strict=True):
            found[place] += part
        for step, part in zip(self._steps[:0:-1], found[:0:-1], strict=True):
            above = found[step.parent].reshape(step.shape)
            above += part.reshape(step.beside)
        return found[0]
