"""Texts of dates, times and durations: read as nanoseconds, and written again, in ISO 8601 or a declared pattern.

The calendar is the Gregorian one, from year 1 to 9999; names of months and weekdays are English, whatever the machine
is set to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cached_property, lru_cache
from typing import Literal

TEMPORAL = ("date", "time", "datetime", "duration")
DEFAULT = "default"
"""The format of ISO 8601."""

DIGITS = 9
"""Of a second's decimals: ticks are nanoseconds."""

YEARS_FROM = 1969
"""First of the hundred years that two digits stand for where nothing is declared, as POSIX has it."""

SECOND = 10**DIGITS
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
UNIX_DAY = date(1970, 1, 1).toordinal()
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_CLOCK = r"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
_OFFSET = r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?)"
_ISO = {
    "date": re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})"),
    "time": re.compile(_CLOCK),
    "datetime": re.compile(rf"([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})[T ]{_CLOCK}({_OFFSET})?"),
    "duration": re.compile(
        r"([+-])?P(?=[0-9T])(?:([0-9]{1,9})W)?(?:([0-9]{1,9})D)?"
        r"(?:T(?=[0-9])(?:([0-9]{1,12})H)?(?:([0-9]{1,12})M)?(?:([0-9]{1,15})(?:\.([0-9]{1,9}))?S)?)?"
    ),
}
_OF_DAY, _OF_CLOCK = "YymbBdjaA", "HIMSfp"
DIRECTIVES = {"date": _OF_DAY, "time": _OF_CLOCK, "datetime": f"{_OF_DAY}{_OF_CLOCK}z:", "duration": "dHMSf"}
"""By type, the letters that may stand behind a % sign of its format."""

_WIDTH = {"Y": 4, "y": 2, "m": 2, "d": 2, "H": 2, "I": 2, "M": 2, "S": 2, "j": 3}
_WORDS = {
    "b": [month[:3] for month in MONTHS], "B": list(MONTHS), "a": [day[:3] for day in WEEKDAYS], "A": list(WEEKDAYS),
    "p": ["AM", "PM"],
}  # fmt: skip
SHORT = "-"
"""Between the % sign and a letter: written without a zero in front, as in 3/4/2024."""

_SHORTENED = "dmHI"
_TOKEN = re.compile(rf"%(:z|(?P<short>{SHORT}(?=[{_SHORTENED}]))?.)|([^%]+)")


class FormError(ValueError):
    """What is wrong with a declared format or time zone: the key, and what to do."""

    def __init__(self, key: str, message: str, remedy: str) -> None:
        self.key, self.message, self.remedy = key, message, remedy
        super().__init__(message)


def iso_format(kind: str, unit: int, zoned: bool) -> str:
    """The format of ISO 8601 as a pattern; of a duration there is none."""
    clock = "%H:%M" + ("" if unit >= MINUTE else ":%S") + ("" if unit >= SECOND else ".%f")
    return {"date": "%Y-%m-%d", "time": clock, "datetime": f"%Y-%m-%dT{clock}{'%:z' * zoned}"}.get(kind, DEFAULT)


def tokens_of(kind: str, form: str) -> list[tuple[str, str]]:
    """The format in parts: a letter, with ``SHORT`` if it is, or "" and a text; checked as a whole."""
    tokens = []
    for found in _TOKEN.finditer(form):
        letter, short, text = found[1], found["short"] or "", found[3]
        tokens.append(("", "%") if letter == "%" else ("", text) if letter is None else (letter[len(short) :], short))
    letters = [letter for letter, _ in tokens if letter]
    allowed = DIRECTIVES[kind]
    odd = [letter for letter in letters if letter.removeprefix(":") not in allowed]
    if odd or "%" in _TOKEN.sub("", form) or not letters:
        known = ", ".join(f"%{letter}" for letter in allowed if letter != ":")
        message = f"%{odd[0]} is not read in a {kind}." if odd else "it is no format."
        raise FormError("format", message, f"Use {DEFAULT!r}, or a pattern of {known}, such as {EXAMPLES[kind]}.")
    if len(set(letters)) < len(letters) or any(len(part & set(letters)) > 1 for part in SAME):
        raise FormError("format", "a part appears twice.", "Write each part once.")
    if any(text == SHORT and letter and _beside_digits(tokens, place) for place, (letter, text) in enumerate(tokens)):
        message = f"a part without a zero in front (%{SHORT}) stands beside digits."
        raise FormError("format", message, "Write a separator between them, or leave the - out.")
    if missing := _lacking(kind, set(letters)):
        raise FormError("format", f"it lacks {missing}, so that values would be lost.", f"Such as {EXAMPLES[kind]}.")
    return tokens


SAME = ({"Y", "y"}, {"m", "b", "B", "j"}, {"d", "j"}, {"a", "A"}, {"H", "I"}, {"H", "p"}, {"z", ":z"})
"""Letters that say the same."""

EXAMPLES = {"date": "%d/%m/%Y", "time": "%H:%M", "datetime": "%d/%m/%Y %H:%M:%S", "duration": "%H:%M:%S"}


def _lacking(kind: str, letters: set[str]) -> str:
    """What a format must have besides: nothing between its coarsest and its finest part may be left out."""
    if kind in ("date", "datetime"):
        if not letters & {"Y", "y"}:
            return "the year"
        if "j" not in letters and not (letters & {"m", "b", "B"} and "d" in letters):
            return "the month or the day"
    if kind in ("time", "datetime") and "H" not in letters and not {"I", "p"} <= letters:
        return "the hour (%H, or %I with %p)"
    order = [letter for letter in "dHMSf" if letter in letters or (letter == "H" and "I" in letters)]
    clock = [letter for letter in order if letter != "d" or kind == "duration"]
    whole = "dHMSf"[("dHMSf").index(clock[0]) : "dHMSf".index(clock[-1]) + 1] if clock else ""
    between = set(whole) - set(clock)
    return f"%{sorted(between)[0]}" if between else ""


class Pattern:
    """A format, ready to read and to write ticks.

    Attributes:
        tokens: its parts, as ``tokens_of`` has them.
        letters: that it has.
        digits: of a second's fraction.
        years_from: first of the hundred years that two digits stand for.
    """

    def __init__(self, kind: str, form: str, unit: int, zone: tzinfo | None, years_from: int = YEARS_FROM) -> None:
        self._kind, self._zone, self._unit, self.years_from = kind, zone, unit, years_from
        self._iso = form == DEFAULT
        self.tokens = [] if self._iso else tokens_of(kind, form)
        self.letters = {letter for letter, _ in self.tokens}
        self.digits = max(0, DIGITS - (len(str(unit)) - 1)) if unit < SECOND else 0
        self._first = next((letter for letter in "dHMS" if letter in self.letters), "")

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        parts = []
        for place, (letter, text) in enumerate(self.tokens):
            if not letter:
                parts.append(re.escape(text))
                continue
            name = letter.removeprefix(":")
            parts.append(f"(?P<{name}>{self._expression(place, name)})")
        sign = "(?P<sign>-)?" if self._kind == "duration" else ""
        return re.compile(sign + "".join(parts), re.IGNORECASE | re.ASCII)

    def _expression(self, place: int, letter: str) -> str:
        if letter in _WORDS:
            return "|".join(sorted(_WORDS[letter], key=len, reverse=True))
        if letter == "f":
            return "[0-9]{1,9}"
        if letter == "z":
            return _OFFSET
        if self._kind == "duration" and letter == self._first:
            return "[0-9]{1,15}"
        alone = letter not in "Yy" and not _beside_digits(self.tokens, place)
        width = _WIDTH[letter]
        return f"[0-9]{{1,{width}}}" if alone else f"[0-9]{{{width}}}"

    def ticks(self, text: str) -> int | None:
        """What a text stands for; None if it is not of the format."""
        if self._iso:
            return iso_ticks(self._kind, text)[0]
        found = self._regex.fullmatch(text)
        if found is None:
            return None
        parts = found.groupdict()
        if self._kind == "duration":
            return self._duration(parts)
        day = _day_of(parts, self.years_from) if self._kind != "time" else 0
        clock = _clock_of(parts) if self._kind != "date" else 0
        if day is None or clock is None:
            return None
        return day * DAY + clock - (_offset(parts["z"]) if "z" in parts else 0)

    def _duration(self, parts: Mapping[str, str | None]) -> int | None:
        whole = 0
        for letter, size, most in (("d", DAY, 0), ("H", HOUR, 24), ("M", MINUTE, 60), ("S", SECOND, 60)):
            if (found := parts.get(letter)) is not None:
                if letter != self._first and int(found) >= most:
                    return None
                whole += int(found) * size
        whole += _fraction(parts.get("f"))
        return -whole if parts["sign"] else whole

    def write(self, ticks: int) -> str:
        """The text of a value."""
        if self._kind == "duration":
            return self._written_duration(ticks)
        offset = 0
        if self._zone is not None:
            shift = (EPOCH + timedelta(microseconds=ticks // 1000)).astimezone(self._zone).utcoffset()
            offset = round((shift or timedelta()).total_seconds())
        day, clock = divmod(ticks + offset * SECOND, DAY)
        parts = {**clock_parts(clock, self.digits), "z": offset_text(offset, ""), ":z": offset_text(offset, ":")}
        if self._kind != "time":
            parts |= day_parts(day)
        return self._filled(parts)

    def _written_duration(self, ticks: int) -> str:
        sign, rest = "-" if ticks < 0 else "", abs(ticks)
        if self._iso:
            day, rest = divmod(rest, DAY)
            hour, rest = divmod(rest, HOUR)
            minute, rest = divmod(rest, MINUTE)
            second = f"{rest // SECOND}.{rest % SECOND:09d}"[: -DIGITS + self.digits or None].rstrip(".")
            parts = [(hour, f"{hour}H"), (minute, f"{minute}M"), (rest or not (day or hour or minute), f"{second}S")]
            clock = "".join(text for there, text in parts if there)
            return f"{sign}P{f'{day}D' if day else ''}{f'T{clock}' if clock else ''}"
        written = {"f": f"{rest % SECOND:09d}"[: self.digits]}
        for letter, size in (("d", DAY), ("H", HOUR), ("M", MINUTE), ("S", SECOND)):
            if any(letter == token for token, _ in self.tokens):
                whole, rest = divmod(rest, size)
                written[letter] = f"{whole:02d}" if letter != "d" else str(whole)
        return sign + self._filled(written)

    def _filled(self, parts: Mapping[str, str]) -> str:
        return filled(self.tokens, parts)


def _beside_digits(tokens: Sequence[tuple[str, str]], place: int) -> bool:
    """Whether a part beside this one may begin or end with a digit."""
    return any(
        letter not in (*_WORDS, "z", ":z") if letter else any(sign.isdigit() for sign in (text[0], text[-1]))
        for letter, text in (*tokens[max(place - 1, 0) : place], *tokens[place + 1 : place + 2])
    )


def filled(tokens: Sequence[tuple[str, str]], parts: Mapping[str, str]) -> str:
    """The text that parts of a format make of a value's parts by letter."""
    return "".join(
        text if not letter else str(int(parts[letter])) if text == SHORT else parts[letter] for letter, text in tokens
    )


def iso_ticks(kind: str, text: str) -> tuple[int | None, int | None]:
    """Ticks of a text of ISO 8601, and the offset that it names, in ticks; (None, None) if it is none."""
    if kind == "datetime" and len(text) >= 19 and text[10] in "T " and text[19:20] != ".":
        day, clock = _known_ticks("date", text[:10]), _known_ticks("time", text[11:19])
        known = _known_offset(text[19:])
        if day is not None and clock is not None and known is not False:
            return day + clock, known
    found = _ISO[kind].fullmatch(text)
    if found is None:
        return None, None
    parts = found.groups()
    if kind == "duration":
        sizes = (7 * DAY, DAY, HOUR, MINUTE, SECOND)
        whole = sum(int(part or 0) * size for part, size in zip(parts[1:6], sizes, strict=True)) + _fraction(parts[6])
        return (-whole if parts[0] == "-" else whole), None
    day = 0 if kind == "time" else _day(*map(int, parts[:3]))
    clock = 0 if kind == "date" else _clock(*(int(part or 0) for part in parts[-4 - (kind == "datetime") :][:3]))
    if day is None or clock is None:
        return None, None
    if kind == "date":
        return day * DAY, None
    fraction, offset = (parts[3], None) if kind == "time" else (parts[6], parts[7])
    return day * DAY + clock + _fraction(fraction), None if offset is None else _offset(offset)


@lru_cache(maxsize=1 << 17)
def _known_ticks(kind: str, text: str) -> int | None:
    """Ticks of a date or a time of day: there are not many of them."""
    return iso_ticks(kind, text)[0]


@lru_cache(maxsize=1 << 10)
def _known_offset(text: str) -> int | Literal[False] | None:
    """Ticks of an offset; None of no text, False of one that is no offset."""
    if not text:
        return None
    return _offset(text) if re.fullmatch(_OFFSET, text) else False


def _day(year: int, month: int, day: int) -> int | None:
    try:
        return date(year, month, day).toordinal() - UNIX_DAY
    except ValueError:
        return None


def _clock(hour: int, minute: int, second: int) -> int | None:
    return hour * HOUR + minute * MINUTE + second * SECOND if hour < 24 and minute < 60 and second < 60 else None


def _fraction(digits: str | None) -> int:
    return int((digits or "").ljust(DIGITS, "0"))


def _offset(text: str | None) -> int:
    if text is None or text in "Zz":
        return 0
    digits = text[1:].replace(":", "").ljust(6, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:4]) * 60 + int(digits[4:])
    return (-seconds if text[0] == "-" else seconds) * SECOND


def offset_text(seconds: int, colon: str) -> str:
    """An offset from UTC; Z in the form with a colon, which is that of ISO 8601."""
    if not seconds and colon:
        return "Z"
    minutes, rest = divmod(abs(seconds), 60)
    tail = f"{colon}{rest:02d}" if rest else ""
    return f"{'-' if seconds < 0 else '+'}{minutes // 60:02d}{colon}{minutes % 60:02d}{tail}"


def _day_of(parts: Mapping[str, str | None], years_from: int) -> int | None:
    """The day that the parts name; None if there is none, or its weekday is another."""
    short = years_from + (int(parts.get("y") or 0) - years_from) % 100
    year = int(parts["Y"] or 0) if "Y" in parts else short
    if "j" in parts:
        first, place = _day(year, 1, 1), int(parts["j"] or 0)
        found = None if first is None or not place >= 1 else first + place - 1
        if found is not None and place > 365 and _day(year, 12, 31) != found:
            return None
    else:
        month = next((_word(parts, letter) + 1 for letter in "bB" if letter in parts), int(parts.get("m") or 0))
        found = _day(year, month, int(parts["d"] or 0))
    named = [_word(parts, letter) for letter in "aA" if letter in parts]
    if found is not None and named and named[0] != (found + 3) % 7:
        return None
    return found


def _word(parts: Mapping[str, str | None], letter: str) -> int:
    return [word.lower() for word in _WORDS[letter]].index((parts[letter] or "").lower())


def _clock_of(parts: Mapping[str, str | None]) -> int | None:
    hour = int(parts.get("H") or 0)
    if "I" in parts:
        twelve = int(parts["I"] or 0)
        if not 1 <= twelve <= 12:
            return None
        hour = twelve % 12 + 12 * _word(parts, "p")
    clock = _clock(hour, int(parts.get("M") or 0), int(parts.get("S") or 0))
    return None if clock is None else clock + _fraction(parts.get("f"))


def clock_parts(clock: int, digits: int) -> dict[str, str]:
    """By letter, the parts of a time of day in ticks."""
    hour, rest = divmod(clock, HOUR)
    minute, rest = divmod(rest, MINUTE)
    second, rest = divmod(rest, SECOND)
    return {
        "H": f"{hour:02d}", "I": f"{(hour - 1) % 12 + 1:02d}", "p": "AM" if hour < 12 else "PM", "M": f"{minute:02d}",
        "S": f"{second:02d}", "f": f"{rest:09d}"[:digits],
    }  # fmt: skip


def day_parts(day: int) -> dict[str, str]:
    """By letter, the parts of a day from 1970-01-01 on."""
    found = date.fromordinal(day + UNIX_DAY)
    return {
        "Y": f"{found.year:04d}", "y": f"{found.year % 100:02d}", "m": f"{found.month:02d}", "d": f"{found.day:02d}",
        "j": f"{found.timetuple().tm_yday:03d}", "B": MONTHS[found.month - 1], "b": MONTHS[found.month - 1][:3],
        "A": WEEKDAYS[found.weekday()], "a": WEEKDAYS[found.weekday()][:3],
    }  # fmt: skip
