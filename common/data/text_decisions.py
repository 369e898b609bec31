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
from privity.common.privacy.budget import USUAL, readable
from privity.common.privacy.category_budget import category_budget
from privity.common.text.short_values import shorten

MOST_LISTED_TEXTS = 256
"""Different texts up to which they may be listed as categories."""

LEAST_KNOWN = 0.2
"""Part of the rows whose texts would be discovered, from which a column is worth its price."""


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
    budget = f"at epsilon {readable(epsilon)} and delta {readable(delta or USUAL[1])}"
    found = {}
    for name, counts in many.items():
        above, there = _above(counts, threshold), sum(counts.values())
        known = sum(counts[text] for text in above) / there
        would = f"{len(above) or 'none'} of them would be discovered {budget}, from about {threshold} rows on"
        rest = f"{1 - known:.0%} of the rows become '(other)'"
        worth = known >= LEAST_KNOWN
        said = f"{shorten(name)}: {len(counts)} different texts in {there} rows; {would}; {rest}."
        if (worth and delta) or name in kept:
            found[name] = Decision(said, discover=True)
        else:
            remedy = _remedy(name, len(counts), would=worth)
            found[name] = Decision(f'{said} It is left out, by "leaveOut". {remedy}', left_out=True)
    return found


def _above(counts: Mapping[str, int], threshold: int) -> list[str]:
    """The texts that would be discovered, about."""
    return [text for text, count in counts.items() if count > threshold]


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
    """Rows of a text from which it would be discovered, if all columns are of which enough would be.

    The more columns there are, the higher it is: so columns of which little would be discovered are taken out first.
    """
    columns = dict(many)
    while True:
        threshold = category_budget(max(1, len(columns)), epsilon, delta, rows=rows).mechanism.threshold
        known = {
            name: sum(counts[text] for text in _above(counts, threshold)) / sum(counts.values())
            for name, counts in columns.items()
            if name not in kept
        }
        worst = min(known, key=known.__getitem__, default="")
        if not known or known[worst] >= LEAST_KNOWN:
            return threshold
        del columns[worst]
