"""In which formats some texts are dates or times: for proposals to the owner of a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

DAYS = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%d.%m.%y", "%d/%m/%y",
        "%m/%d/%y", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y", "%Y%m%d")  # fmt: skip
HOURS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p")
FORMATS = (
    *DAYS,
    *(
        f"{day}{between}{hours}{zone}"
        for day in DAYS
        for between in (" ", "T")
        for hours in HOURS
        for zone in ("", "%z")
    ),
    *HOURS,
)
"""The common ones, as ``strptime`` writes them."""


def formats_of(texts: Iterable[str], known: Sequence[str] = FORMATS) -> list[str]:
    """All formats in which each of these texts is a date or time; none if there is no text."""
    found = list(known)
    seen = False
    for text in texts:
        seen = True
        found = [form for form in found if _fits(text, form)]
        if not found:
            break
    return found if seen else []


def _fits(text: str, form: str) -> bool:
    # Eight digits are a number unless they are a day of the last or this century.
    if form == EIGHT_DIGITS and not (len(text) == 8 and text.startswith(("19", "20"))):
        return False
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True


EIGHT_DIGITS = "%Y%m%d"
_SHORTENED = r"%([dmHI])"
NO_DAY = ("0", "00000000", "99999999")
"""What stands in the place of a day of eight digits."""

MOSTLY = 20
"""One row in so many may hold something else in a column of numbers or days."""

MOST_ODD = 5
"""Different values that this may be: more are no markers of missing values."""

LEAST_DAYS = 3
"""Different numbers of eight digits that are all days: one in thirty is so by chance."""


def days_among(texts: Mapping[str, int]) -> list[str]:
    """The days among numbers of eight digits, if nearly all are days or stand in the place of one; else none.

    Args:
        texts: how many rows have each.
    """
    found = [text for text in texts if text not in NO_DAY]
    days = [text for text in found if _fits(text, EIGHT_DIGITS)]
    rows = sum(map(texts.__getitem__, days))
    few = len(found) - len(days) <= MOST_ODD and MOSTLY * (sum(map(texts.__getitem__, found)) - rows) <= rows
    return days if few and len(days) >= LEAST_DAYS else []


def as_written(form: str, texts: Iterable[str]) -> tuple[str, bool]:
    """The format with months, days and hours as most of these texts have them, and whether all have them so.

    Args:
        form: in which each of them is a date or time.
    """
    letters = re.findall(_SHORTENED, form) if form != EIGHT_DIGITS else []
    parts = re.split(r"%(.)", form)
    numbers = re.compile(
        "".join(
            re.escape(part) if not place % 2 else "([0-9]{1,2})" if part in letters else ".+?"
            for place, part in enumerate(parts)
        )
    )
    short, long = Counter[str](), Counter[str]()
    for found in filter(None, map(numbers.fullmatch, texts)):
        for letter, part in zip(letters, found.groups(), strict=True):
            short[letter] += len(part) == 1
            long[letter] += part[0] == "0"
    shortened = {letter for letter in letters if short[letter] > long[letter]}
    if not shortened.isdisjoint("dm"):  # what is never below ten goes with the other part of the day
        shortened |= {letter for letter in "dm" if letter in letters and not long[letter]}
    written = re.sub(_SHORTENED, lambda found: f"%-{found[1]}" if found[1] in shortened else found[0], form)
    return written, not any(min(short[letter], long[letter]) for letter in letters)
