"""Whether a question is about what was measured together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from privity.common.release.queries.evidence import Evidence

MEASURED, IMPLIED, EXTRAPOLATED = "measured", "implied", "extrapolated"

WORDS = {
    MEASURED: "measured: the noisy marginals tell it without a model",
    IMPLIED: "implied: each pair was measured, the model joins them",
    EXTRAPOLATED: "extrapolated: some pairs were not measured, the model alone tells of them",
}

NEARLY_ALL = 0.999
"""Of a function, from which on measured cells tell all of it, be they those of other attributes."""


@dataclass(frozen=True)
class Support:
    """What a question stands on.

    Attributes:
        kind: ``MEASURED``, ``IMPLIED`` or ``EXTRAPOLATED``.
        r2: part of the question's variance that measured cells tell of.
        missing: pairs of attributes, by name, that no noisy marginal holds with all their values.
        model_error: what the model's error was estimated from; None if nothing tells of it.
    """

    kind: str
    r2: float
    missing: tuple[tuple[str, str], ...]
    model_error: str | None

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "kind": self.kind,
            "r2": self.r2,
            "missing": [list(pair) for pair in self.missing],
            "model_error": self.model_error,
        }


def kind_of(evidence: Evidence, attributes: Sequence[int]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """How far some attributes were measured together, and the pairs of them that were not."""
    pooled, names = evidence.pooled, evidence.schema.names
    if (whole := pooled.of(*attributes)) is not None and whole.whole:
        return MEASURED, ()
    pairs = list(combinations(sorted(attributes), 2))
    missing = tuple((names[a], names[b]) for a, b in pairs if (pair := pooled.of(a, b)) is None or not pair.whole)
    return (EXTRAPOLATED if missing or len(attributes) == 1 else IMPLIED), missing
