"""The noisy marginals of a release as objects, and what all of them together tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt

from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.budget import readable
from privity.common.privacy.noise_distribution import GAUSSIAN
from privity.common.privacy.noisy_count_intervals import LEVEL, half_width
from privity.common.release.report.distributions import labels_of_groups, labels_of_part
from privity.common.synthesis.inference.pooled_estimates import Pooled, PooledEstimates
from privity.summaries import Shown, Summary

if TYPE_CHECKING:
    import pandas as pd

ALL_ROWS = "all rows"
"""Label of the one count of a marginal without attributes."""


@dataclass(frozen=True, eq=False, repr=False)
class Marginal(Shown):
    """One noisy marginal, as it was revealed.

    Attributes:
        attributes: names of its axes; one that is derived of an attribute is named after it, such as ``age:level1``.
        phase: of the run, which measured it.
        rows: public number of rows that the true counts add up to.
        half_width: error bar: each true count lies within so many of the noisy one, with probability ``level``.
    """

    attributes: tuple[str, ...]
    phase: str
    rows: int
    half_width: int
    _table: NoisyTable
    _schema: Schema

    level = LEVEL

    @property
    def counts(self) -> pd.DataFrame:
        """A line a cell, labelled by its values, with its noisy ``count`` and the ``half_width`` beside it."""
        import pandas as pd

        derived = self._schema.derived
        own = len(self._schema.attributes)
        labels = [
            self._schema.attributes[a].labels if a < own else labels_of_part(self._schema, a)
            for a in self._table.attributes
        ]
        names = tuple(derived.names[a] for a in self._table.attributes)
        index = _cells(labels, names)
        return pd.DataFrame({"count": self._table.counts.ravel(), "half_width": self.half_width}, index=index)

    @property
    def noise(self) -> str:
        """The law of the noise on a count, in words."""
        law = self._table.law
        scale = "variance" if law.name == GAUSSIAN else "scale"
        return f"{law.name} noise of {scale} {readable(law.scale)}"

    def _summary(self) -> Summary:
        over = " and ".join(self.attributes) or ALL_ROWS
        bar = f"each count ± {self.half_width} at {float(self.level):.0%}"
        return Summary(f"Noisy marginal of {over} ({self.phase}), {bar}", table=self.counts.reset_index())


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedMarginal(Shown):
    """A marginal as all noisy marginals of a release together tell it: generalised least squares, without a model.

    Attributes:
        attributes: names of its axes, in the order that was asked for.
        rows: public number of rows that the counts add up to.
        tables: how many noisy marginals hold all these attributes; others tell of some of them.
        whole: whether it is over the attributes' values; else over groups of them, as finely as they were measured.
    """

    attributes: tuple[str, ...]
    rows: int
    tables: int
    whole: bool
    _pooled: Pooled
    _schema: Schema

    level = LEVEL

    @property
    def counts(self) -> pd.DataFrame:
        """A line a cell, with its estimated ``count`` and the ``half_width`` of its error bar at ``level``.

        Counts are unbiased, so that some may be negative.
        """
        import pandas as pd

        numbers = {"count": self._pooled.counts.ravel(), "half_width": self._pooled.half_widths.ravel().astype(int)}
        return pd.DataFrame(numbers, index=self._index)

    @cached_property
    def covariance(self) -> pd.DataFrame:
        """Of the counts' errors, a line and a column a cell: of the noise alone, not of who was sampled."""
        import pandas as pd

        return pd.DataFrame(self._pooled.estimate.covariance(), index=self._index, columns=self._index)

    def standard_error(self, weights: npt.ArrayLike) -> float:
        """Of a weighted sum of the counts, by the noise alone.

        Args:
            weights: a number for each line of ``counts``.

        Raises:
            PrivityError: bad-option: not as many as lines.
        """
        counts, given = self._pooled.counts, np.asarray(weights, dtype=np.float64).ravel()
        if given.size != counts.size:
            reason = f"there are {given.size} of them, and {counts.size} cells"
            raise PrivityError(
                Catalogue.BAD_OPTION, option="weights", reason=reason, hint="Give one for each line of counts."
            )
        return float(np.sqrt(max(0.0, self._pooled.estimate.variance(given.reshape(counts.shape)))))

    @cached_property
    def _index(self) -> pd.Index:
        labels = [
            labels_of_groups(self._schema.attributes[self._schema.names.index(name)], grouping.labels, grouping.groups)
            if not grouping.whole
            else self._schema.attributes[self._schema.names.index(name)].labels
            for name, grouping in zip(self.attributes, self._pooled.groupings, strict=True)
        ]
        return _cells(labels, self.attributes)

    def _summary(self) -> Summary:
        found = f"{self.tables} noisy marginal{'' if self.tables == 1 else 's'}"
        title = f"Marginal of {' and '.join(self.attributes)}, estimated from {found}"
        return Summary(f"{title}, error bars at {float(self.level):.0%}", table=self.counts.round(1).reset_index())


class Marginals(Sequence[Marginal], Shown):
    """Every noisy marginal of a release, in the order in which they were revealed."""

    def __init__(self, tables: Sequence[tuple[str, NoisyTable]], schema: Schema, variables: Fraction) -> None:
        self._tables, self._schema, self._variables = tables, schema, variables

    def __len__(self) -> int:
        return len(self._tables)

    @overload
    def __getitem__(self, index: int) -> Marginal: ...
    @overload
    def __getitem__(self, index: slice) -> list[Marginal]: ...
    def __getitem__(self, index: int | slice) -> Marginal | list[Marginal]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        phase, table = self._tables[index]
        names = tuple(self._schema.derived.names[a] for a in table.attributes)
        return Marginal(names, phase, table.rows, half_width(table.law, self._variables), table, self._schema)

    def over(self, *attributes: str) -> list[Marginal]:
        """Those of exactly these attributes, in any order; none if they were not measured together."""
        return [marginal for marginal in self if set(marginal.attributes) == set(attributes)]

    def estimate(self, *attributes: str) -> EstimatedMarginal | None:
        """What all noisy marginals together tell of these attributes; None if none holds them all.

        Raises:
            PrivityError: bad-option: no attribute, one twice, or one that the schema does not have.
        """
        names = self._schema.names
        wrong = [name for name in attributes if name not in names]
        if wrong or not attributes or len(set(attributes)) < len(attributes):
            reason = f"{wrong[0]!r} is unknown" if wrong else "name one attribute or more, each once"
            hint = f"Possible: {', '.join(names)}."
            raise PrivityError(Catalogue.BAD_OPTION, option="attributes", reason=reason, hint=hint)
        pooled = self._pooled.of(*map(names.index, attributes))
        if pooled is None:
            return None
        return EstimatedMarginal(attributes, pooled.rows, len(pooled.tables), pooled.whole, pooled, self._schema)

    @cached_property
    def _pooled(self) -> PooledEstimates:
        return PooledEstimates([table for _, table in self._tables], self._schema.derived, self._variables)

    def _summary(self) -> Summary:
        import pandas as pd

        lines = [
            {"attributes": ", ".join(m.attributes), "phase": m.phase, "cells": m._table.counts.size, "±": m.half_width}
            for m in self
        ]
        return Summary(f"{len(self)} noisy marginals", table=pd.DataFrame(lines))


def _cells(labels: Sequence[Sequence[str]], names: tuple[str, ...]) -> pd.Index:
    """A line for each cell of a table of these axes."""
    import pandas as pd

    if len(labels) == 1:
        return pd.Index(labels[0], name=names[0])
    return pd.MultiIndex.from_product(labels, names=names) if labels else pd.Index([ALL_ROWS])
