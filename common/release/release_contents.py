"""What a release is, wherever it is kept: its documents, and the names of its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from privity.common.data.noisy_tables import NoisyTable
from privity.common.data.schema import Schema
from privity.common.release.marginals_file import read_tables
from privity.common.synthesis.models import Model

FORMAT_VERSION = 1
"""Of run.json."""

SYNTHETIC, MODEL, MARGINALS, PRIVACY, RUN, SCHEMA, REPORT = (
    "synthetic.csv", "model.json", "marginals.json", "privacy.json", "run.json", "schema.json", "report.html",
)  # fmt: skip
EVENTS = "synthetic_events.csv"
"""Of a release of histories, whose persons are in ``SYNTHETIC``."""

SCORES = "scores.json"
"""Of a release that was scored over the parties."""

ANALYSES = "analyses.json"
"""Of a release whose run declared analyses."""

ATTESTATIONS = "attestations.json"
"""Of a consortium's release: who signed it. The one file that ``run.json`` does not name: more signatures may come."""

LEARNT = "What was learnt is a release without rows"
"""Begins what operators are told of a run that ended after it had learnt, before there were rows."""

MOST_RELEASE_CELLS = 1 << 28
"""Rows times attributes of a release: some gigabytes of memory."""

RELEASE_FILES = (SYNTHETIC, MODEL, MARGINALS, PRIVACY, RUN, SCHEMA, REPORT)
"""Of every release that is finished."""

LEARNT_FILES = (MODEL, MARGINALS, PRIVACY, RUN, SCHEMA)
"""Of one that is not: what was learnt and paid for, from which the rest can be made at any time."""

MEANINGS = {
    SYNTHETIC: "the synthetic rows: the table to work with",
    EVENTS: "what happened to the synthetic persons",
    MODEL: "the model that they were drawn from",
    MARGINALS: "every noisy marginal, with its error bar",
    SCHEMA: "the attributes and their categories",
    PRIVACY: "the privacy statement, for programs",
    ANALYSES: "the declared regressions: estimates with intervals",
    SCORES: "how good the rows are, by noisy scores of all owners",
    RUN: "what the run was and what it sent, with the digest of every file",
    ATTESTATIONS: "what the curator and each party signed of these files, if they did",
    REPORT: "all of it on one page",
}
"""Every file that a release may have, in the order in which people are shown them."""

LARGEST_FILES = {
    SYNTHETIC: 64 * MOST_RELEASE_CELLS,
    EVENTS: 48 * MOST_RELEASE_CELLS,
    **dict.fromkeys((MODEL, MARGINALS, REPORT), 1 << 30),
    **dict.fromkeys((SCHEMA, ATTESTATIONS), 1 << 24),
    **dict.fromkeys((PRIVACY, RUN, SCORES, ANALYSES), 1 << 23),
}
"""The most bytes of each file: some times what the largest honest release needs.

A round has 2^24 cells at most, of some 20 characters each; a statement, some 1 kB for each of at most 1,000 parties.
"""


@dataclass(frozen=True)
class Release:
    """What a run publishes, as documents; all of it is public.

    Attributes:
        marginals, privacy, run: the content of the files of these names; ``run`` without the digests of files.
            It is ``unfinished`` until there are synthetic rows.
        scores: the same, if the parties scored it.
        analyses: the same, if the run declared some and there are synthetic rows.
    """

    model: Model
    marginals: dict[str, Any]
    privacy: dict[str, Any]
    run: dict[str, Any]
    scores: dict[str, Any] | None = None
    analyses: dict[str, Any] | None = None

    @property
    def schema(self) -> Schema:
        return self.model.schema

    @property
    def places(self) -> int:
        """Public number of rows of all owners; places for rows, if some may be absent."""
        return sum(int(party["rows"]) for party in self.privacy["parties"])

    @property
    def unfinished(self) -> bool:
        """Whether it has no synthetic rows, and no report of them."""
        return is_unfinished(self.run)

    def tables(self) -> list[tuple[str, NoisyTable]]:
        """Every noisy marginal with its phase."""
        return read_tables(self.marginals, self.schema, MARGINALS)


def is_unfinished(run: Mapping[str, Any]) -> bool:
    """Whether the content of a ``run.json`` is that of a release without synthetic rows."""
    return "unfinished" in run


def files_wanted(run: Mapping[str, Any]) -> tuple[str, ...]:
    """The files that every release has whose ``run.json`` has this content."""
    return LEARNT_FILES if is_unfinished(run) else RELEASE_FILES
