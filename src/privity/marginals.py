"""The noisy marginals of a release as objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import overload

import pandas as pd

from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.schema import Schema
from privity.common.privacy.budget import readable
from privity.common.privacy.noise_distribution import GAUSSIAN
from privity.common.privacy.noisy_count_intervals import LEVEL, half_width
from privity.common.release.report.distributions import labels_of_part
from privity.summaries import Shown, Summary

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
        derived = self._schema.derived
        own = len(self._schema.attributes)
        labels = [
            self._schema.attributes[a].labels if a < own else labels_of_part(self._schema, a)
            for a in self._table.attributes
        ]
        names = [derived.names[a] for a in self._table.attributes]
        index: pd.Index
        if len(labels) == 1:
            index = pd.Index(labels[0], name=names[0])
        elif labels:
            index = pd.MultiIndex.from_product(labels, names=names)
        else:
            index = pd.Index([ALL_ROWS])
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

    def _summary(self) -> Summary:
        lines = [
            {"attributes": ", ".join(m.attributes), "phase": m.phase, "cells": m._table.counts.size, "±": m.half_width}
            for m in self
        ]
        return Summary(f"{len(self)} noisy marginals", table=pd.DataFrame(lines))
