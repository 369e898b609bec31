"""What a release is, wherever it is kept: its documents, and the names of its files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from common.models import Model
from common.release.marginals import read_tables
from common.schema import Schema
from common.statistics import NoisyTable

FORMAT_VERSION = 1
SYNTHETIC, MODEL, MARGINALS, PRIVACY, RUN, SCHEMA, REPORT = (
    "synthetic.csv", "model.json", "marginals.json", "privacy.json", "run.json", "schema.json", "report.html",
)  # fmt: skip
SCORES = "scores.json"
"""Of a release that was scored over the parties."""

RELEASE_FILES = (SYNTHETIC, MODEL, MARGINALS, PRIVACY, RUN, SCHEMA, REPORT)


@dataclass(frozen=True)
class Release:
    """What a run publishes, as documents; all of it is public.

    Attributes:
        marginals, privacy, run: the content of the files of these names; ``run`` without the digests of files.
        scores: the same, if the parties scored it.
    """

    model: Model
    marginals: dict[str, Any]
    privacy: dict[str, Any]
    run: dict[str, Any]
    scores: dict[str, Any] | None = None

    @property
    def schema(self) -> Schema:
        return self.model.schema

    def tables(self) -> list[tuple[str, NoisyTable]]:
        """Every noisy table with its phase."""
        return read_tables(self.marginals, self.schema, MARGINALS)
