"""In which type and format some texts are dates, times or durations: for proposals to the owner of a table.

What is proposed is tried by the reader itself, so that a fit reads every text that a draft was made of.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any

from privity.common.data.temporal import Temporal, temporal
from privity.common.data.temporal_pattern import DEFAULT

DAYS = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%d.%m.%y", "%d/%m/%y",
        "%m/%d/%y", "%d-%m-%y", "%m-%d-%y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d %b %y", "%d%b%Y", "%b %d, %Y",
        "%d %B %Y", "%B %d, %Y", "%Y%m%d")  # fmt: skip
HOURS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I:%M:%S%p")
ZONES = ("", "%z", " %z", " UTC")
FORMATS = (
    *DAYS,
    *(f"{day}{between}{hours}{zone}" for day in DAYS for between in (" ", "T") for hours in HOURS for zone in ZONES),
    *HOURS,
)
"""The common ones of dates and times, as ``strptime`` writes them."""

ISO = {"date": ("%Y-%m-%d",), "time": ("%H:%M:%S", "%H:%M:%S.%f"),
       "datetime": tuple(f"%Y-%m-%dT%H:%M:%S{part}{zone}" for part in ("", ".%f") for zone in ("", "%z"))}  # fmt: skip
"""What needs no format."""

OTHERS = (
    *(("datetime", DEFAULT, zone) for zone in (None, "UTC")), ("time", DEFAULT, None), ("duration", DEFAULT, None),
    *(("duration", form, None) for form in ("%d days %H:%M:%S", "%d days %H:%M:%S.%f", "%H:%M:%S", "%H:%M:%S.%f")),
)  # fmt: skip
"""Types, formats and zones that are tried where none of ``FORMATS`` fits; hours without days are a day or more."""

MOST_DECIMALS = 6
"""Of a second."""

_ZONE = re.compile(r"(?<=[0-9 M])(Z|[+-][0-9]{2}:?[0-9]{2})$")
_FRACTION = re.compile(r"\.([0-9]+)")


def formats_of(texts: Iterable[str]) -> list[str]:
    """All formats in which each of these texts is a date or time; none if there is no text."""
    found: list[str] | None = None
    for text in texts:
        found = [form for form in (_alike(text) if found is None else found) if _fits(text, form)]
        if not found:
            break
    return found or []


def _alike(text: str) -> list[str]:
    """Formats with digits, letters and signs where a text has them."""
    known = _by_shape()
    zoned = _ZONE.sub("", text.rstrip())
    return [*known.get(_shape(text), ()), *(known.get(f"{_shape(zoned).rstrip()}%", ()) if zoned != text else ())]


@cache
def _by_shape() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for form in FORMATS:
        plain = re.sub("%[YymdHIMSf]", "0", re.sub("%[bBp]", "a", form.removesuffix("%z").rstrip()))
        found.setdefault(_shape(plain) + "%" * form.endswith("%z"), []).append(form)
    return found


def _shape(text: str) -> str:
    return re.sub("[0-9]+", "0", re.sub("[A-Za-z]+", "a", text))


def _fits(text: str, form: str) -> bool:
    # Eight digits are a number unless they are a day of the last or this century.
    if form == EIGHT_DIGITS and not (len(text) == 8 and text.startswith(("19", "20"))):
        return False
    return _reader(kind_of(form), form).read(text) is not None


def kind_of(form: str) -> str:
    """The type of a date or time in a format."""
    clock = "%H" in form or "%I" in form
    return "datetime" if clock and "%d" in form else "time" if clock else "date"


def _reader(kind: str, form: str) -> Temporal:
    return temporal(kind, form, MOST_DECIMALS if "%f" in form else None, "UTC" if "%z" in form else None)


def declared_forms(texts: Collection[str], name: str, this_year: int) -> list[dict[str, Any]]:
    """Keys of a field by which each of these texts is a date, time or duration; of each way in which they can be so.

    Args:
        name: of the column.
        this_year: by which it is proposed what years of two digits are; no row is read by it.
    """
    if forms := formats_of(texts):
        return [_keys(kind_of(form), form, texts, name, this_year) for form in forms]
    for kind, form, zone in OTHERS:
        decimals = MOST_DECIMALS if form == DEFAULT or "%f" in form else None
        if texts and _all_are(temporal(kind, form, decimals, zone), texts):
            written = {} if form == DEFAULT else {"format": form}
            return [{"type": kind, **written, **_zone(texts if zone else ()), **(_decimals(texts) if decimals else {})}]
    return []


def are_moments(texts: Collection[str]) -> bool:
    """Whether each of these texts is a date, time or duration, in whichever way."""
    return bool(declared_forms(texts, "", 0))


def _all_are(form: Temporal, texts: Collection[str]) -> bool:
    return all(form.read(text) is not None for text in texts)


def _keys(kind: str, form: str, texts: Collection[str], name: str, this_year: int) -> dict[str, Any]:
    """What declares one of ``FORMATS``."""
    found: dict[str, Any] = {"type": kind}
    if "%z" in form:
        colons = sum(":" in text[-3:] or text.endswith("Z") for text in texts)
        form = form.replace("%z", "%:z") if 2 * colons > len(texts) else form
    written, _ = as_written(form, texts)
    if written.replace("%:z", "%z") not in ISO.get(kind, ()) or "%z" in written:
        found["format"] = written
    if "z" in form:
        found |= _zone(texts)
    if "%f" in form:
        found |= _decimals(texts)
    if "%y" in form:
        found["yearsFrom"] = years_from(name, _years(form, texts), this_year)
    return found


def _decimals(texts: Iterable[str]) -> dict[str, Any]:
    digits = max((len(found[1]) for text in texts if (found := _FRACTION.search(text))), default=0)
    return {"decimals": min(digits, MOST_DECIMALS)} if digits else {}


def _zone(texts: Iterable[str]) -> dict[str, Any]:
    """The offset that all of these times have; UTC of several."""
    found = {re.sub("^([+-][0-9]{2}):?([0-9]{2})?$", r"\1:\2", text[-6:].lstrip("0123456789:. "))
             if not text.endswith("Z") else "Z" for text in texts}  # fmt: skip
    if not found:
        return {}
    offset = found.pop() if len(found) == 1 else "Z"
    offset = f"{offset}00" if offset.endswith(":") else offset
    return {"timezone": "UTC" if offset in ("Z", "+00:00", "-00:00") else offset}


AHEAD = 10
"""Years in which something is planned."""

LATELY = 20
"""Years from which a column is likely that names no future ones only by chance."""

BIRTHS = ("birth", "born", "dob", "geb", "naiss", "nasc", "nacim", "death", "died")


def years_from(name: str, years: Collection[int], this_year: int) -> int:
    """The first of the hundred years that two digits are proposed to stand for.

    They end this year, so that nothing lies in the future; some years later if all years are near, as of appointments.

    Args:
        years: the last two digits that there are.
    """
    near = [(year - this_year + 50) % 100 - 50 for year in years]
    planned = bool(near) and min(near) >= -LATELY and 0 < max(near) <= AHEAD and min(near) <= 0
    birth = any(word in name.lower() for word in BIRTHS)
    return this_year - 99 + (AHEAD if planned and not birth else 0)


EARLY = 100
"""Years below it, of four digits, are hardly meant as they are written."""


def early(keys: Mapping[str, Any], texts: Collection[str]) -> dict[str, Any]:
    """Constraints for days that are all of the first hundred years; none for others.

    Args:
        keys: of the field.
    """
    if keys["type"] not in ("date", "datetime") or "yearsFrom" in keys:
        return {}
    form = temporal(keys["type"], keys.get("format", DEFAULT), keys.get("decimals"), keys.get("timezone"))
    after = form.midnight(EARLY)
    if any((number := form.read(text)) is None or number >= after for text in texts):
        return {}
    return {"constraints": {"minimum": form.iso(form.first), "maximum": form.iso(after - 1)}}


def _years(form: str, texts: Iterable[str]) -> set[int]:
    read, points = _reader(kind_of(form), form), set()
    for text in texts:
        if (number := read.read(text)) is not None:
            points.add(int(read.iso(number)[2:4]))
    return points


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
