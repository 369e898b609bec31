"""Every attribute's distribution: as it was measured, with its error bars, and as the synthetic rows have it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema
from privity.common.release.report.best_marginals import BestMargins, Margin

DEVIATIONS = 1.96

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Share:
    """Of one category or bin; ``noisy`` is None where it was not measured.

    Attributes:
        drawn: by how much chance moves the synthetic share, 19 times out of 20.
    """

    label: str
    noisy: float | None
    half_width: float
    synthetic: float
    drawn: float = 0.0

    @property
    def apart(self) -> bool:
        """Whether the two are further apart than noise and the drawing of rows explain."""
        return self.noisy is not None and abs(self.noisy - self.synthetic) > math.hypot(self.half_width, self.drawn)


def sampling_deviation(share: float, rows: int) -> float:
    """By how much the share of drawn rows lies off the model's, 19 times out of 20, about."""
    return DEVIATIONS * math.sqrt(share * (1 - share) / rows)


@dataclass(frozen=True)
class Measured:
    """Shares of codes in a noisy marginal beside those of synthetic rows.

    Attributes:
        margin: None if no table tells the codes.
        rows: that 1 stands for: of the table, without those that are absent.
        absent: places of absent rows as measured, if the schema has such.
    """

    shares: tuple[Share, ...]
    margin: Margin | None
    rows: int
    absent: int | None = None

    @property
    def half_width(self) -> float | None:
        """Error bar of each share."""
        return self.margin.half_width / self.rows if self.margin else None

    @property
    def furthest(self) -> Share | None:
        """The category in which the synthetic rows are furthest from what was measured."""
        there = [share for share in self.shares if share.noisy is not None]
        return max(there, key=lambda share: abs((share.noisy or 0) - share.synthetic), default=None)

    @property
    def apart(self) -> int:
        """Categories whose two shares are further apart than chance explains."""
        return sum(share.apart for share in self.shares)

    @property
    def below_noise_floor(self) -> bool:
        """Whether the error bar is wider than the average share."""
        width = self.half_width
        return width is not None and width > 1 / len(self.shares)


@dataclass(frozen=True)
class Distribution:
    """Of one attribute; ``parts`` are what was measured of it in place of its codes, by name."""

    attribute: Attribute
    whole: Measured
    parts: tuple[tuple[str, Measured], ...] = ()


def distributions(best: BestMargins, table: CodedTable) -> list[Distribution]:
    """Of every attribute of the schema, in its order.

    Args:
        table: the synthetic rows.
    """
    schema, found = table.schema, []
    for place, attribute in enumerate(schema.attributes):
        if attribute.discover:
            found.append(_of_grid(best, table, place))
            continue
        margin = best.one(place)
        whole = _measured(attribute, attribute.labels, margin, _counts(table, place, attribute.size))
        parts = []
        if margin is None:
            for index in sorted(best.parts.get(place, ())):
                synthetic = _counts(table, index, schema.derived.domain[index])
                labels = labels_of_part(schema, index)
                parts.append((schema.derived.names[index], _measured(None, labels, best.part(place, index), synthetic)))
        found.append(Distribution(attribute, whole, tuple(parts)))
    return found


def _of_grid(best: BestMargins, table: CodedTable, place: int) -> Distribution:
    """Of an attribute without a domain: by the coarsest that was measured: its grid has too many cells to show."""
    schema = table.schema
    index = schema.derived.levels(place)[-1]
    margin = best.part(place, index) if index in best.parts.get(place, ()) else best.one(place)
    synthetic = _counts(table, index, schema.derived.domain[index])
    return Distribution(schema.attributes[place], _measured(None, labels_of_part(schema, index), margin, synthetic))


def _counts(table: CodedTable, index: int, size: int) -> Numbers:
    return np.bincount(table.column(index), minlength=size).astype(np.float64)


def _measured(
    attribute: Attribute | None, labels: tuple[str, ...], margin: Margin | None, synthetic: Numbers
) -> Measured:
    """Shares of the rows that are there, if some may be absent."""
    shown = len(labels)
    absent: int | None = None
    rows = margin.table.rows if margin else 1
    if attribute is not None and attribute.absent_code is not None:
        shown = attribute.present
        if margin is not None:
            absent = int(margin.counts[attribute.absent_code])
            rows = max(1, rows - absent)
    width = margin.half_width / rows if margin else 0.0
    shares = tuple(
        Share(
            labels[code],
            int(margin.counts[code]) / rows if margin else None,
            width,
            part := float(synthetic[code] / synthetic.sum()),
            sampling_deviation(part, int(synthetic.sum())),
        )
        for code in range(shown)
    )
    return Measured(shares, margin, rows, absent)


def labels_of_part(schema: Schema, index: int) -> tuple[str, ...]:
    """What each value of something derived stands for: the categories that have it, the first and last of bins."""
    derived = schema.derived
    attribute = schema.attributes[derived.base[index]]
    codes = derived.derive(index, np.arange(attribute.size))
    labels = []
    for value in range(derived.domain[index]):
        having = np.flatnonzero(codes == value).tolist()
        names = [attribute.labels[code] for code in having]
        whole = having == list(range(having[0], having[-1] + 1)) if having else False
        if attribute.edges and whole and len(names) > 2 and having[-1] < attribute.values:
            names = [f"{names[0]} to {names[-1]}"]
        labels.append(f"{value}: {', '.join(names) or 'no value'}")
    return tuple(labels)
