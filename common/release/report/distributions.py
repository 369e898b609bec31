"""Every attribute's distribution: as it was measured, with its error bars, and as the synthetic rows have it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema
from privity.common.release.report.number_texts import count
from privity.common.synthesis.inference.pooled_estimates import Pooled, PooledEstimates

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
    def off(self) -> float:
        """The synthetic share is off by no more than this, 19 times out of 20; 0 where nothing was measured."""
        return 0.0 if self.noisy is None else abs(self.noisy - self.synthetic) + self.half_width

    @property
    def apart(self) -> bool:
        """Whether the two are further apart than noise and the drawing of rows explain."""
        return self.noisy is not None and abs(self.noisy - self.synthetic) > math.hypot(self.half_width, self.drawn)


def sampling_deviation(share: float, rows: int) -> float:
    """By how much the share of drawn rows lies off the model's, 19 times out of 20, about."""
    return DEVIATIONS * math.sqrt(share * (1 - share) / rows)


@dataclass(frozen=True)
class Measured:
    """Shares of codes by the noisy marginals beside those of synthetic rows.

    Attributes:
        margin: None if no table tells the codes.
        rows: that 1 stands for: of the tables, without those that are absent.
        absent: places of absent rows as measured, if the schema has such.
    """

    shares: tuple[Share, ...]
    margin: Pooled | None
    rows: int
    absent: int | None = None

    @property
    def half_width(self) -> float | None:
        """Error bar of each share, the widest of them."""
        return self.margin.half_width / self.rows if self.margin else None

    @property
    def off(self) -> float | None:
        """By how much a synthetic share may be off at most; each share by itself, 19 times out of 20."""
        return max(share.off for share in self.shares) if self.margin else None

    @property
    def apart(self) -> int:
        """Categories whose two shares are further apart than chance explains."""
        return sum(share.apart for share in self.shares)

    @property
    def below_noise_floor(self) -> bool:
        """Whether the error bar is wider than the average share."""
        width = self.half_width
        return width is not None and width > 1 / len(self.shares)

    def together(self, codes: Sequence[int], label: str) -> Share:
        """The share of several codes as one; the error bar is that of a sum."""
        some = [self.shares[code] for code in codes]
        if len(some) == 1:
            return replace(some[0], label=label)
        noisy, width = None, 0.0
        if self.margin is not None:
            noisy = sum(share.noisy or 0 for share in some)
            weights = np.zeros(self.margin.counts.shape)
            weights[list(codes)] = 1
            width = self.margin.half_width_of(weights) / self.rows
        # Of shares that exclude each other the squares add up to no more than this.
        drawn = math.hypot(*(share.drawn for share in some))
        return Share(label, noisy, width, sum(share.synthetic for share in some), drawn)

    def largest(self, most: int) -> list[Share]:
        """At most so many shares in their order: the largest, and one for all others together."""
        shares = list(self.shares)
        if len(shares) <= most:
            return shares
        by_size = sorted(range(len(shares)), key=lambda i: (-max(shares[i].synthetic, shares[i].noisy or 0), i))
        kept = set(by_size[: most - 1])
        rest = [i for i in range(len(shares)) if i not in kept]
        found = [share for i, share in enumerate(shares) if i in kept]
        return [*found, self.together(rest, f"{count(len(rest))} others")]


@dataclass(frozen=True)
class Distribution:
    """Of one attribute; ``parts`` are what was measured of it in place of its codes, by name."""

    attribute: Attribute
    whole: Measured
    parts: tuple[tuple[str, Measured], ...] = ()


def distributions(pooled: PooledEstimates, table: CodedTable) -> list[Distribution]:
    """Of every attribute of the schema, in its order.

    Args:
        table: the synthetic rows.
    """
    schema, found = table.schema, []
    for place, attribute in enumerate(schema.attributes):
        if attribute.discover:
            found.append(_of_grid(pooled, table, place))
            continue
        margin = pooled.one(place)
        whole = _measured(attribute, attribute.labels, margin, _counts(table, place, attribute.size))
        parts = []
        if margin is None:
            for index in pooled.parts.get(place, ()):
                synthetic = _counts(table, index, schema.derived.domain[index])
                labels = labels_of_part(schema, index)
                parts.append((schema.derived.names[index], _measured(None, labels, pooled.part(index), synthetic)))
        found.append(Distribution(attribute, whole, tuple(parts)))
    return found


def _of_grid(pooled: PooledEstimates, table: CodedTable, place: int) -> Distribution:
    """Of an attribute without a domain: by the coarsest that was measured: its grid has too many cells to show."""
    schema = table.schema
    index = schema.derived.levels(place)[-1]
    margin = pooled.part(index) if index in pooled.parts.get(place, ()) else pooled.one(place)
    synthetic = _counts(table, index, schema.derived.domain[index])
    return Distribution(schema.attributes[place], _measured(None, labels_of_part(schema, index), margin, synthetic))


def _counts(table: CodedTable, index: int, size: int) -> Numbers:
    return np.bincount(table.column(index), minlength=size).astype(np.float64)


def _measured(
    attribute: Attribute | None, labels: tuple[str, ...], margin: Pooled | None, synthetic: Numbers
) -> Measured:
    """Shares of the rows that are there, if some may be absent."""
    shown = len(labels)
    absent: int | None = None
    rows = margin.rows if margin else 1
    if attribute is not None and attribute.absent_code is not None:
        shown = attribute.present
        if margin is not None:
            absent = round(float(margin.counts[attribute.absent_code]))
            rows = max(1, rows - absent)
    shares = tuple(
        Share(
            labels[code],
            float(margin.counts[code]) / rows if margin else None,
            float(margin.half_widths[code]) / rows if margin else 0.0,
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
    return labels_of_groups(attribute, derived.derive(index, np.arange(attribute.size)), derived.domain[index])


def labels_of_groups(attribute: Attribute, codes: npt.NDArray[np.integer], groups: int) -> tuple[str, ...]:
    """The same of groups of an attribute's codes.

    Args:
        codes: the group of each code.
    """
    labels = []
    for value in range(groups):
        having = np.flatnonzero(codes == value).tolist()
        names = [attribute.labels[code] for code in having]
        whole = having == list(range(having[0], having[-1] + 1)) if having else False
        if attribute.edges and whole and len(names) > 2 and having[-1] < attribute.values:
            names = [f"{names[0]} to {names[-1]}"]
        labels.append(f"{value}: {', '.join(names) or 'no value'}")
    return tuple(labels)
