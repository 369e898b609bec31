"""All that is known of a release from itself: what the report, the terminal and the notebook show parts of."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import NoisyTable
from privity.common.privacy.noisy_count_intervals import half_width
from privity.common.release.release_contents import Release
from privity.common.release.release_folder import read_release
from privity.common.release.report.distributions import Distribution, distributions
from privity.common.release.report.pair_strengths import Pair, pairs
from privity.common.release.report.quality import Quality, Standing, quality, standing
from privity.common.release.report.warnings import Warned, warnings
from privity.common.release.rows_file import read_synthetic
from privity.common.release.synthetic_histories import release_rows
from privity.common.release.synthetic_rows import rows_to_publish
from privity.common.synthesis.inference.pooled_estimates import PooledEstimates

SEED = 0
"""Of the rows that stand for those which an unfinished release has not: the same ones each time."""

WORTH = 0.005
"""Cramer's V from which on a pair is worth showing."""


@dataclass(frozen=True)
class Overview:
    """Of a release.

    Attributes:
        table: its synthetic rows.
        tables: every noisy marginal with its phase; ``half_widths`` the error bar of a cell of each.
        level: of all error bars.
    """

    release: Release
    table: CodedTable
    tables: tuple[tuple[str, NoisyTable], ...]
    half_widths: tuple[int, ...]
    level: Fraction
    distributions: tuple[Distribution, ...]
    pairs: tuple[Pair, ...]
    quality: Quality
    warnings: tuple[Warned, ...]

    @property
    def name(self) -> str:
        """Of the table; empty if its schema names none."""
        return self.release.schema.name

    @property
    def rows(self) -> int:
        """Real rows of all parties."""
        return self.release.places

    def strongest(self, most: int) -> list[Pair]:
        """The pairs with the strongest dependence, as measured, else as the synthetic rows have it."""
        return [pair for pair in sorted(self.pairs, key=lambda pair: pair.rank) if _worth_showing(pair)][:most]


def overview(release: Release, table: CodedTable) -> Overview:
    """The overview of a release; counts all pairs of its synthetic rows, which takes seconds where there are many."""
    tables = release.tables()
    variables = Fraction(release.marginals["noise_variables"])
    widths = [half_width(one.law, variables) for _, one in tables]
    pooled = PooledEstimates([one for _, one in tables], release.schema.derived, variables)
    shown, found = distributions(pooled, table), pairs(pooled, table)
    return Overview(
        release,
        table,
        tuple(tables),
        tuple(widths),
        Fraction(release.marginals["interval_level"]),
        tuple(shown),
        tuple(found),
        quality(shown, found, widths, release.scores),
        tuple(warnings(release, tables, shown, found, widths)),
    )


def overview_of(folder: Path) -> Overview:
    """What is known of a release from its files; of one that is unfinished, with rows that are drawn for it.

    Raises:
        PrivityError, ProblemsFound: as ``read_release``, or rows that do not fit the schema.
    """
    release = read_release(folder)
    if not release.unfinished:
        return overview(release, read_synthetic(folder, release.schema))
    rows = rows_to_publish(release.model, release.places, SEED)
    return overview(release, release_rows(release.model, rows, SEED).table)


def _worth_showing(pair: Pair) -> bool:
    told = pair.measured is not None and pair.measured.told
    return told or (pair.synthetic.v >= WORTH and standing(pair) is not Standing.HIDDEN)
