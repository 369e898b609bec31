"""Columns of dates and times as a whole: what ``Temporal`` says of each value, for many at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute
from privity.common.data.temporal import Temporal
from privity.common.data.temporal_pattern import DAY, UNIX_DAY, Pattern, clock_parts, day_parts, filled, offset_text

Numbers = npt.NDArray[np.int64]

NOT_A_TIME = -(2**63)
"""NaT, in ticks."""

LARGEST = 2**62
FIRST_DAY, LAST_DAY = 1 - UNIX_DAY, 3_652_059 - UNIX_DAY
"""Of the calendar."""

DAY_MICROSECONDS = DAY // 1000
SOURCES = {**dict.fromkeys("YymbBdjaA", "day"), **dict.fromkeys("HIMSp", "second"), "f": "fraction", "z": "offset",
           ":z": "offset"}  # fmt: skip
"""What each letter of a pattern is taken of."""


def texts_of(form: Temporal, numbers: Numbers) -> npt.NDArray[np.object_]:
    """The texts of numbers as they stand in a file, shape (rows,)."""
    if form.type == "duration":
        return np.array([*map(form.text, numbers.tolist()), None], dtype=object)[:-1]
    microseconds = numbers * (form.unit // 1000)
    offsets = np.zeros(len(numbers), dtype=np.int64)
    if form.zone is not None:
        import pandas as pd

        there = pd.DatetimeIndex(microseconds.view("M8[us]")).tz_localize("UTC").tz_convert(form.zone)
        offsets = np.asarray(there.tz_localize(None)).view(np.int64) - microseconds
    days, clocks = np.divmod(microseconds + offsets, DAY_MICROSECONDS)
    seconds, fractions = np.divmod(clocks, 1_000_000)
    of = {"day": days, "second": seconds, "fraction": fractions, "offset": offsets // 1_000_000}
    known = {source: np.unique(values, return_inverse=True) for source, values in of.items()}
    found: Any = None
    for source, tokens in _runs(form.pattern):
        distinct, places = known[source]
        parts = [_parts(source, value, form.pattern) for value in distinct.tolist()]
        texts = [filled(tokens, part) for part in parts]
        column = np.array([*texts, None], dtype=object)[:-1][places]
        found = column if found is None else found + column
    return np.asarray(found)


def _runs(pattern: Pattern) -> list[tuple[str, list[tuple[str, str]]]]:
    """Parts of a pattern side by side that are taken of the same number; texts between go with them."""
    runs: list[tuple[str, list[tuple[str, str]]]] = []
    waiting: list[tuple[str, str]] = []
    for letter, text in pattern.tokens:
        source = SOURCES.get(letter, runs[-1][0] if runs else "")
        if not source:
            waiting.append((letter, text))
        elif runs and runs[-1][0] == source:
            runs[-1][1].append((letter, text))
        else:
            runs.append((source, [*waiting, (letter, text)]))
            waiting = []
    return runs


def _parts(source: str, value: int, pattern: Pattern) -> dict[str, str]:
    match source:
        case "day":
            return day_parts(value)
        case "second":
            return clock_parts(value * 1_000_000_000, 0)
        case "fraction":
            return {"f": f"{value:06d}"[: pattern.digits]}
    return {"z": offset_text(value, ""), ":z": offset_text(value, ":")}


def codes_of(attribute: Attribute, kind: str, ticks: Numbers, nanoseconds: int) -> npt.NDArray[np.int64] | None:
    """The codes of a column of a program, one beyond the last for what is outside; None if this takes each value.

    Args:
        kind: as ``Temporal.of_value`` takes it.
        ticks: of so many nanoseconds each, shape (rows,); ``NOT_A_TIME`` is a missing value.
    """
    form = attribute.temporal
    if form is None or not form.takes(kind):
        return None
    nothing = ticks == NOT_A_TIME
    present = ticks[~nothing]
    if not len(present) or not _is_plain(present, kind, nanoseconds):
        return None
    outside = attribute.size
    whole, part = form.unit // nanoseconds, nanoseconds // form.unit
    numbers = present // whole if whole else present * part
    off = present % whole != 0 if form.type == "date" and whole else np.zeros(len(present), dtype=np.bool_)
    other = outside if attribute.code_outside is None else attribute.code_outside
    if attribute.edges:
        edges = np.array(attribute.point_edges, dtype=np.int64)
        found = np.searchsorted(edges, numbers, side="right") - 1
        edge = attribute.out_of_domain == "edge"
        found = np.where(found < 0, 0 if edge else other, found)
        found = np.where(numbers >= edges[-1], attribute.values - 1 if edge else other, found)
    else:
        order = sorted(range(attribute.values), key=lambda code: int(attribute.categories[code]))
        listed = np.array([int(attribute.categories[code]) for code in order], dtype=np.int64)
        places = np.minimum(np.searchsorted(listed, numbers), len(listed) - 1)
        found = np.where(listed[places] == numbers, np.array(order)[places], other)
    missing = sorted(int(number) for text in attribute.missing if (number := attribute.read(text)) is not None)
    if missing:
        found = np.where(np.isin(numbers, missing), attribute.values, found)
    nowhere = attribute.code_of_nothing()
    codes = np.full(len(ticks), outside if nowhere is None else nowhere, dtype=np.int64)
    codes[~nothing] = np.where(off, other, found)
    return codes


def _is_plain(ticks: Numbers, kind: str, nanoseconds: int) -> bool:
    """Whether 64 bits hold the values as microseconds, and times are of the calendar."""
    low, high = int(ticks.min()) * nanoseconds, int(ticks.max()) * nanoseconds
    if kind == "duration":
        return low // 1000 >= -LARGEST and high // 1000 <= LARGEST
    return low >= FIRST_DAY * DAY and high < (LAST_DAY + 1) * DAY
