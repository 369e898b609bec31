"""In which formats some texts are dates or times: for proposals to the owner of a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
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
    if form == "%Y%m%d" and not text.startswith(("19", "20")):
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

LEAST_DAYS = 3
"""Different numbers of eight digits that are all days: one in thirty is so by chance."""


def days_among(texts: Iterable[str]) -> list[str]:
    """The days among numbers of eight digits, if all others stand in the place of one; else none."""
    days = [text for text in texts if text not in NO_DAY]
    return days if len(days) >= LEAST_DAYS and formats_of(days, [EIGHT_DIGITS]) else []


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
    shortened = [letter for letter in letters if short[letter] > long[letter]]
    written = re.sub(_SHORTENED, lambda found: f"%-{found[1]}" if found[1] in shortened else found[0], form)
    return written, not any(min(short[letter], long[letter]) for letter in letters)
