"""What a draft does with columns of texts: list them, leave them to be discovered, or leave them out.

Read off the rows, for their owner's screen and for a person to review; no release looks so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from privity.common.data.file_look import LookedAt
from privity.common.data.key_columns import LEAST_ROWS, LEAST_VALUES, ROWS_A_CODE
from privity.common.data.value_remedies import seems_missing
from privity.common.privacy.budget import readable
from privity.common.privacy.category_budget import USUAL, category_budget
from privity.common.text.short_values import shorten

MOST_LISTED_TEXTS = 256
"""Different texts up to which they may be listed as categories."""


@dataclass(frozen=True)
class Decision:
    """What is done with a column, and why; with neither its texts are listed."""

    line: str
    discover: bool = False
    left_out: bool = False


def decisions_on_texts(
    columns: Sequence[LookedAt], rows: int, keep: Collection[str], epsilon: Fraction, delta: Fraction
) -> Mapping[str, Decision]:
    """Of the columns of texts that are not listed, by name.

    Args:
        columns: those of texts.
        keep: names of those that are not left out whatever they hold.
        epsilon, delta: of the release; without a delta nothing is discovered.
    """
    counted = {column.name: _counts(column) for column in columns}
    many = {name: counts for name, counts in counted.items() if _too_many(counts, rows, listed=name in keep)}
    kept = [name for name in many if name in keep]
    threshold = _threshold(many, kept, rows, epsilon, delta or USUAL[1])
    found = {}
    for name, counts in many.items():
        above = [count for count in counts.values() if count > threshold]
        budget = f"at epsilon {readable(epsilon)} and delta {readable(delta or USUAL[1])}"
        named, of = shorten(name), f"{len(counts)} different texts in {sum(counts.values())} rows"
        if above:
            part = 1 - sum(above) / sum(counts.values())
            would = f"{len(above)} of them have more than about {threshold} rows, and would be discovered {budget}"
            rest = f"the other {part:.0%} of the rows become '(other)'"
        else:
            would = f"none of them has more than about {threshold} rows, as it takes to be discovered {budget}"
            rest = "all rows would become '(other)'"
        if above and delta:
            found[name] = Decision(f"{named}: {of}; {would}; {rest}.", discover=True)
        elif name in kept:
            found[name] = Decision(f"{named}: {of}; {would}; {rest}. It is kept, to be discovered.", discover=True)
        else:
            remedy = _remedy(name, len(counts), would=bool(above))
            found[name] = Decision(f'{named}: {of}; {would}. It is left out, by "leaveOut". {remedy}', left_out=True)
    return found


def _remedy(name: str, different: int, *, would: bool) -> str:
    """What keeps a column."""
    if would:
        return "To keep it, draft for a delta: --delta 1e-6."
    listed = different <= MOST_LISTED_TEXTS
    means = "its texts are listed then" if listed else "to be discovered, or to declare groups of it"
    return f"To keep it: --keep {shorten(name)} ({means})."


def _counts(column: LookedAt) -> Mapping[str, int]:
    """How many rows have each of its texts, without those that mean no value."""
    return {text: count for text, count in column.texts.items() if not seems_missing(text)}


def _too_many(counts: Mapping[str, int], rows: int, *, listed: bool) -> bool:
    """Whether texts are not listed: there are many; or nearly each row has its own, and nobody asked for it."""
    few_each = not listed and len(counts) > LEAST_VALUES and sum(counts.values()) < ROWS_A_CODE * len(counts)
    return len(counts) > MOST_LISTED_TEXTS or (few_each and rows >= LEAST_ROWS)


def _threshold(
    many: Mapping[str, Mapping[str, int]], kept: Collection[str], rows: int, epsilon: Fraction, delta: Fraction
) -> int:
    """Rows of a text from which it would be discovered, if all columns are of which something would be.

    The more columns there are, the higher it is: so one column of which nothing would be discovered spoils it for all.
    """
    largest = sorted((max(counts.values()) for name, counts in many.items() if name not in kept), reverse=True)
    for columns in range(len(largest), 0, -1):
        threshold = category_budget(columns + len(kept), epsilon, delta, rows=rows).mechanism.threshold
        if largest[columns - 1] > threshold:
            return threshold
    return category_budget(max(1, len(kept)), epsilon, delta, rows=rows).mechanism.threshold
