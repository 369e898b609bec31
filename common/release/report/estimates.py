"""Means, shares and the main cross-tabs with intervals, as far as noisy marginals tell them without a model."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from privity.common.data.attribute import Attribute
from privity.common.data.code_values import code_values
from privity.common.data.coded_table import CodedTable
from privity.common.errors import PrivityError
from privity.common.release.queries import statistics
from privity.common.release.queries.answer import POPULATION, ROWS, Answer
from privity.common.release.queries.estimator import Estimator
from privity.common.release.queries.evidence import Evidence
from privity.common.release.queries.question import Options, options
from privity.common.release.queries.statistics import Asking
from privity.common.release.release_contents import Release
from privity.common.release.report.pair_strengths import Pair

NOT_TOLD = (PrivityError, ArithmeticError, ValueError)
"""What says that there is no figure: nothing was measured, or a number overflows."""

FREQUENT = 5
"""Values of an attribute whose shares are shown."""

MOST_ATTRIBUTES = 250
CROSS_TABS, SIDE = 4, 8
"""How many cross-tabs are shown; the most values of an attribute in one."""


@dataclass(frozen=True)
class Mean:
    """Of an attribute's numbers.

    Attributes:
        middle: where numbers lie in bins, with each taken for the middle of its bin.
        bounds: then wherever they lie; None if a bin has no end, or each code is one number.
    """

    name: str
    middle: Answer
    bounds: Answer | None


@dataclass(frozen=True)
class CrossTab:
    """Shares of one attribute's values within each value of another one.

    Attributes:
        rows: a value of the other attribute, with one answer for each of the columns.
    """

    of: str
    by: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Answer, ...]], ...]


@dataclass(frozen=True)
class Estimates:
    """What the report shows of them.

    Attributes:
        about: whom the intervals are about.
        shares: by attribute, the most frequent values with an answer each.
    """

    about: str
    means: tuple[Mean, ...]
    shares: tuple[tuple[str, tuple[tuple[str, Answer], ...]], ...]
    cross_tabs: tuple[CrossTab, ...]


def estimates(release: Release, table: CodedTable, strongest: list[Pair]) -> Estimates:
    """Of a release; what was not measured is left out.

    Args:
        table: the synthetic rows, which tell what values are frequent.
        strongest: pairs of attributes, those with the strongest dependence first.
    """
    found = _Estimates(Estimator(Evidence.of(release)), table)
    every = range(min(len(release.schema.attributes), MOST_ATTRIBUTES))
    return Estimates(
        found.about,
        tuple(mean for a in every if (mean := found.mean(a)) is not None),
        tuple(shares for a in every if (shares := found.shares(a)) is not None),
        tuple(found.cross_tabs(strongest)),
    )


class _Estimates:
    def __init__(self, estimator: Estimator, table: CodedTable) -> None:
        self._estimator, self._table, self._schema = estimator, table, estimator.evidence.schema
        self.about = POPULATION if estimator.evidence.rows_per_person == 1 else ROWS

    def _asking(self, *about: int, **others: Any) -> Asking:
        return Asking(self._estimator, self._options(**others), about)

    def _options(self, **others: Any) -> Options:
        rows_per_person = self._estimator.evidence.rows_per_person
        return options(self._schema, rows_per_person, target=self.about, **others)

    def mean(self, place: int) -> Mean | None:
        """None if the attribute has no mean, or nothing measured it."""
        attribute = self._schema.attributes[place]
        if attribute.type == "boolean":
            return None
        try:
            exact = code_values(attribute).exact
            (middle,) = statistics.mean(self._asking(place, midpoints=True))
        except NOT_TOLD:
            return None
        if middle.value is None:
            return None
        try:
            bounds = None if exact else statistics.mean(self._asking(place))[0]
        except NOT_TOLD:
            bounds = None
        return Mean(attribute.name, middle, bounds)

    def shares(self, place: int) -> tuple[str, tuple[tuple[str, Answer], ...]] | None:
        """Of the most frequent values; None if nothing measured the attribute."""
        attribute = self._schema.attributes[place]
        frequent = self._frequent(place, FREQUENT)
        try:
            found = [statistics.share(self._asking(), {place: _one(attribute, code)})[0] for code in frequent]
        except NOT_TOLD:
            return None
        return attribute.name, tuple((attribute.labels[code], one) for code, one in zip(frequent, found, strict=True))

    def _frequent(self, place: int, most: int) -> list[int]:
        counts = np.bincount(self._table.columns[place], minlength=self._schema.domain[place])
        present = counts[: self._schema.attributes[place].present]
        return [int(code) for code in np.argsort(-present, kind="stable")[:most] if present[code]]

    def cross_tabs(self, strongest: list[Pair]) -> Iterator[CrossTab]:
        """Of the strongest pairs that were measured with all their values, of which there are few."""
        sizes = [attribute.values for attribute in self._schema.attributes]
        whole = [pair for pair in strongest if pair.margin is not None and pair.margin.whole]
        for pair in [pair for pair in whole if max(sizes[pair.a], sizes[pair.b]) <= SIDE][:CROSS_TABS]:
            # Fewer columns than rows.
            by, of = (pair.a, pair.b) if sizes[pair.a] >= sizes[pair.b] else (pair.b, pair.a)
            with contextlib.suppress(*NOT_TOLD):
                yield self._cross_tab(of, by)

    def _cross_tab(self, of: int, by: int) -> CrossTab:
        shown, groups = self._schema.attributes[of], self._schema.attributes[by]
        asking = self._asking(by=groups.name)
        columns = [statistics.share(asking, {of: _one(shown, code)}) for code in range(shown.values)]
        rows = [tuple(column[code] for column in columns) for code in range(groups.values)]
        labels = groups.labels[: groups.values]
        return CrossTab(
            shown.name, groups.name, tuple(shown.labels[: shown.values]), tuple(zip(labels, rows, strict=True))
        )


def _one(attribute: Attribute, code: int) -> np.ndarray:
    return np.asarray(np.eye(attribute.size)[code])
