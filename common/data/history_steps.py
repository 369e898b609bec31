"""Steps of histories: one row a person, which holds one of the person's own events and what was before it.

A person's row depends on that person's data alone, whatever is wrong with them: each disorder has one rule. Which of n
events it is follows from a hash of the person's key, evenly; no randomness is kept, and no other person matters.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute
from privity.common.data.coded_table import CodedTable, Column, code_type
from privity.common.data.history import PREVIOUS, History
from privity.common.data.schema import Schema

Whole = npt.NDArray[np.int64]

PURPOSE = b"privity: step of a history\0"
HASH_BITS = 32


@dataclass(frozen=True)
class Coded:
    """Rows of one of the two tables.

    Attributes:
        columns: codes of its attributes.
        keys: number of the person of each row; the same person has the same number in both tables, and -1 is none.
    """

    columns: Sequence[Column]
    keys: Whole


@dataclass(frozen=True)
class Disorders:
    """What was not read; for the owner's eyes only.

    Attributes:
        twice: rows of persons who have one already.
        orphans: events of nobody in the table of persons.
        late: events after the end of the time that was observed.
        beyond: events beyond the most of a person.
        ties: events at the same point of a person's order as the one before.
    """

    twice: int = 0
    orphans: int = 0
    late: int = 0
    beyond: int = 0
    ties: int = 0


def hashed(key: str) -> int:
    """What decides which of a person's events is in the person's row, by the text of the key: 32 bits."""
    return int.from_bytes(
        hashlib.sha256(PURPOSE + key.encode("utf-8", "surrogatepass")).digest()[: HASH_BITS // 8], "big"
    )


@dataclass(frozen=True)
class Histories:
    """Persons and their events, in order.

    Attributes:
        persons: codes of their attributes.
        numbers: which person each row of these is.
        starts, counts: the first event of each person, and how many count: the ones from there on.
        owners: the row of the person of each event; events of a person stand together.
        moments: when each is, in points; its position where that is the order.
        events: codes of their attributes.
    """

    persons: tuple[Column, ...]
    numbers: Whole
    starts: Whole
    counts: Whole
    owners: Whole
    moments: Whole
    events: tuple[Column, ...]


def steps_of(
    schema: Schema, persons: Coded, events: Coded, order: Whole, hashes: Iterable[int]
) -> tuple[CodedTable, Whole, Disorders]:
    """The row of each person, in the order of their numbers; and which numbers these are.

    Args:
        schema: of steps.
        order: of each event, in points; where the order is a position, the position.
        hashes: of the keys, by the number of a person.
    """
    history = schema.history
    assert history is not None
    found, disorders = in_order(history, persons, events, order)
    all_hashes = np.fromiter(hashes, dtype=np.int64)  # of 32 bits, so that a product has 38
    taken = (all_hashes[found.numbers] * found.counts) >> HASH_BITS
    return CodedTable(schema, (*found.persons, *_step(history, found, taken))), found.numbers, disorders


def in_order(history: History[Schema], persons: Coded, events: Coded, order: Whole) -> tuple[Histories, Disorders]:
    """Each person once, with the events that count; what is wrong has one rule, which looks at that person alone."""
    chosen, twice = _first_of_each(persons)
    numbers = persons.keys[chosen]
    place = np.full(int(max(persons.keys.max(initial=-1), events.keys.max(initial=-1))) + 1, -1, dtype=np.int64)
    place[numbers] = np.arange(len(numbers))
    owners = np.where(events.keys >= 0, place[events.keys], -1)
    kept = owners >= 0
    orphans = int((~kept).sum())
    late = np.zeros(len(owners), dtype=np.bool_) if history.until is None else kept & (order > history.until)
    rows = np.flatnonzero(kept & ~late)
    by_columns = (column[rows] for column in reversed(events.columns))
    rows = rows[np.lexsort((*by_columns, order[rows], owners[rows]))]
    owners, moments = owners[rows], order[rows]
    starts = np.searchsorted(owners, np.arange(len(numbers)))
    counts = np.diff(np.append(starts, len(owners)))
    ties = int(((owners[1:] == owners[:-1]) & (moments[1:] == moments[:-1])).sum())
    within = np.minimum(counts, history.most)
    codes = tuple(column[rows] for column in events.columns)
    about = tuple(column[chosen] for column in persons.columns)
    found = Histories(about, numbers, starts, within, owners, moments, codes)
    return found, Disorders(twice, orphans, int(late.sum()), int((counts - within).sum()), ties)


def _step(history: History[Schema], found: Histories, taken: Whole) -> list[Column]:
    """Columns of steps beside those of persons.

    Args:
        taken: which of a person's events the step is, from 0.
    """
    codes, moments, starts, counts = found.events, found.moments, found.starts, found.counts
    some = counts > 0
    at = np.where(some, starts + taken, 0)
    later = some & (taken > 0)
    before = np.where(later, at - 1, 0)
    attributes = history.events.attributes
    columns = [counts.astype(code_type(history.most + 1))]
    if history.gap is not None:
        first = codes[history.events.index(history.order)]
        columns.append(_or_none(first, np.where(some, starts, 0), some, history.order_attribute))
    columns.append(np.where(some, taken + 1, 0).astype(code_type(history.most + 1)))
    if PREVIOUS in history.before:
        columns += [_or_none(codes[a], before, later, attributes[a]) for a in history.happening]
    columns += [
        mean_so_far(attributes[a], *_sums(attributes[a], codes[a], starts, at, later)) for a in history.averaged
    ]
    columns += [_or_none(codes[a], at, some, attributes[a]) for a in history.happening]
    if history.gap is not None:
        gaps = moments[at] - moments[before] if len(moments) else np.zeros(len(at), dtype=np.int64)
        columns.append(
            np.where(later, bin_codes(history.gap, gaps), history.gap.size).astype(code_type(history.gap.size + 1))
        )
    return columns


def bin_codes(attribute: Attribute, points: Whole) -> Whole:
    """Codes of points; one beyond the bins is in that at the end."""
    inner = np.array(attribute.point_edges[1:-1], dtype=np.int64)
    return np.searchsorted(inner, points, side="right").astype(np.int64)


def mean_so_far(attribute: Attribute, sums: Whole, values: Whole) -> Column:
    """The mean code of the events before, halves up; the code of none where none has a value.

    Args:
        sums: of codes of values; values: how many there are.
    """
    mean = (2 * sums + values) // np.maximum(2 * values, 1)
    return np.where(values > 0, mean, attribute.values).astype(code_type(attribute.values + 1))


def _sums(
    attribute: Attribute, codes: Column, starts: Whole, at: Whole, later: npt.NDArray[np.bool_]
) -> tuple[Whole, Whole]:
    """Of each person's events before the step: the sum of codes of values, and how many values there are."""
    there = codes < attribute.values
    found = []
    for amounts in (np.where(there, codes, 0), there):
        upto = np.concatenate([[0], np.cumsum(amounts, dtype=np.int64)])
        found.append(np.where(later, upto[np.where(later, at, 0)] - upto[np.where(later, starts, 0)], 0))
    return found[0], found[1]


def _or_none(codes: Column, at: Whole, there: npt.NDArray[np.bool_], attribute: Attribute) -> Column:
    """The codes of these events; the code of none where there is no event."""
    found = codes[at] if len(codes) else np.zeros(len(at), dtype=np.int64)
    return np.where(there, found, attribute.size).astype(code_type(attribute.size + 1))


def _first_of_each(persons: Coded) -> tuple[Whole, int]:
    """The row of each person, in the order of their numbers: of several the first one by all columns."""
    order = np.lexsort((*reversed([*persons.columns]), persons.keys))
    keys = persons.keys[order]
    first = np.ones(len(keys), dtype=np.bool_)
    first[1:] = keys[1:] != keys[:-1]
    first &= keys >= 0
    return order[first], int((keys >= 0).sum() - first.sum())
