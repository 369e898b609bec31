"""In which formats some texts are dates or times: for proposals to the owner of a table."""

from __future__ import annotations

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
