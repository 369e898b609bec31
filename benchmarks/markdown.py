"""Results as Markdown: tables, means with their spread, and how far two means are apart."""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Iterable, Mapping, Sequence

NONE = "-"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return ["", f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in rows)]


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Mean (least-greatest)."""
    if not values:
        return NONE
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def standard_error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def standard_errors_apart(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Difference of means over its standard error, from the pooled spread; None if there is no spread."""
    free = len(first) + len(second) - 2
    if free < 1:
        return None
    means = statistics.mean(first), statistics.mean(second)
    squares = sum((x - mean) ** 2 for values, mean in zip((first, second), means, strict=True) for x in values)
    error = math.sqrt(squares / free * (1 / len(first) + 1 / len(second)))
    return (means[0] - means[1]) / error if error else None


def not_measured(failed: Mapping[tuple[Hashable, int], str]) -> list[str]:
    """A section on the points and seeds that gave no result, by reason; nothing if there are none."""
    if not failed:
        return []
    lines = ["", "## Not measured", ""]
    reasons: dict[str, list[str]] = {}
    for (point, seed), reason in failed.items():
        reasons.setdefault(reason, []).append(f"{point}, seed {seed}")
    for reason, points in reasons.items():
        lines.append(f"- {reason} ({len(points)}, first: {points[0]})")
    return lines
