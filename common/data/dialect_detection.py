"""What dialect a CSV file seems to be in: for proposals and messages to its owner, never for reading rows.

A delimiter is told by trying: the one with which most records of the beginning have the same number of values.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import string
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from privity.common.data.attribute import read_number
from privity.common.data.csv_text import csv_rows
from privity.common.data.dialect import Dialect, NumberMarks

_CODE = re.compile(r"[^\W\d_][0-9]")
"""A letter before a digit."""

SAMPLE_BYTES = 1 << 20
SAMPLE_RECORDS = 2000
LONGEST_RECORD = 100
"""Lines of a record that the end of a sample may cut off."""

LONGEST_PREFACE = 30
"""Lines before a header that are looked for."""

DELIMITERS = (",", ";", "\t", "|")
ENCODINGS = ("cp1252", "cp1250", "cp1251", "cp1253", "mac-roman", "cp850", "iso8859-15")
LETTERS = frozenset(
    "äöüÄÖÜßéèêëÉÈÊàâáãåÀÂÁÃÅçÇîïíìôóòõûùúñÑøæØÆœŒ€£°§µ²³½ªº·–—‘’“”„…«»®"
    "ąćęłńśźżĄĆĘŁŃŚŹŻčďěňřšťůžČĎĚŇŘŠŤŮŽőűŐŰýÝ"
    "абвгдежзийклмнопрстуфхцчшщъыьэюяАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЭЮЯ"
    "αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ"
)
"""Signs beyond ASCII that texts often have: of the encodings of a byte, the right one gives the most of them."""

MARKS = (
    NumberMarks(),
    NumberMarks(","),
    *(NumberMarks(".", group) for group in (",", "'", "’", " ", "\u00a0", "\u202f")),
    *(NumberMarks(",", group) for group in (".", " ", "\u00a0", "\u202f", "'", "’")),
)
"""How numbers are written in the world, the plainest first."""


def sample(path: Path | str) -> bytes:
    """The beginning of a file, up to the end of a line; empty if it cannot be read."""
    opener: Any = gzip.open if str(path).lower().endswith(".gz") else open
    try:
        with opener(path, "rb") as file:
            data: bytes = file.read(SAMPLE_BYTES)
    except (OSError, EOFError, zlib.error):
        return b""
    return data if len(data) < SAMPLE_BYTES else data[: data.rfind(b"\n") + 1] or data


def likely_encoding(data: bytes) -> str:
    """The encoding that a text seems to be in."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if data.count(b"\0") > len(data) // 4:
        return "utf-16-le" if data[1::2].count(b"\0") > data[::2].count(b"\0") else "utf-16-be"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            pairs = Counter(re.findall(rb"(?s).[\x80-\xff]", b" " + data))
            return max(ENCODINGS, key=lambda name: sum(n * _is_likely(pair, name) for pair, n in pairs.items()))
    return "utf-8"


def _is_likely(pair: bytes, encoding: str) -> bool:
    """Whether two bytes end with a letter that texts often have; a capital does not follow a small letter."""
    text = pair.decode(encoding, "replace")
    return text[-1] in LETTERS and not (text[0].islower() and text[-1].isupper())


def likely_dialect(data: bytes, encoding: str | None = None) -> Dialect:
    """The dialect that a file seems to be in: all but marks of numbers."""
    encoding = encoding or likely_encoding(data)
    text = data.decode(encoding, "replace").removeprefix("\ufeff")
    lines = io.StringIO(text, newline="")
    first = lines.readline().strip().strip('"')
    declared = first[4:] if first.startswith("sep=") and len(first) == 5 else ""
    tries = [
        Dialect(delimiter=delimiter, quote=quote, escape=escape, encoding=encoding)
        for quote, escape in (('"', ""), ('"', "\\"), ("", ""))
        for delimiter in ((declared,) if declared else (*DELIMITERS, " "))
    ]
    whole = len(data) < SAMPLE_BYTES
    found = next((best for quotes in _by_quotes(tries) if (best := _faultless(text, quotes, whole))), None)
    found = found or max(tries, key=lambda dialect: _agreement(_records(text, dialect)[0], dialect))
    records, _ = _records(text, found)
    width = _width(records)
    fitting = [place for place, record in enumerate(records[:LONGEST_PREFACE]) if len(record) == width]
    start = next((place for place in fitting if place or not declared), 0)
    table = [record for record in records[start:] if record]
    cells = [cell for record in table for cell in record]
    found = replace(
        found,
        skip_rows=start,
        skip_blank_rows=any(not record for record in records[start:]) and width > 1,
        skip_initial_space=2 * sum(cell.startswith(" ") for record in table for cell in record[1:]) > len(cells),
        header=not table or is_header(table[0], [row for row in table[1:] if len(row) == width]),
    )
    if 2 * sum(len(cell) > 1 and cell[0] == cell[-1] == "'" for cell in cells) > len(cells):
        found = replace(found, quote="'")
    return found


def likely_start(rows: Sequence[Sequence[str]]) -> tuple[int, bool]:
    """Before which row of a sheet its table seems to begin, from 0, and whether that row seems to hold names."""
    filled = [sum(map(bool, row)) for row in rows[:LONGEST_PREFACE]]
    start = next((place for place, cells in enumerate(filled) if 2 * cells > max(filled)), 0)
    table = [list(row) for row in rows[start:] if any(row)]
    return start, not table or is_header(table[0], table[1:])


def likely_delimiter(line: str, than: str) -> str:
    """The delimiter that a line seems to have, other than this one; empty if it has none."""
    best = max(DELIMITERS, key=lambda sign: (sign != than, line.count(sign)))
    return best if best != than and best in line else ""


def fitting_marks(texts: Sequence[str]) -> list[NumberMarks]:
    """All marks with which all of some texts are numbers, the plainest first; with a unit only if nothing else fits.

    The unit is the same in all texts, and no letter stands before a digit: codes look like numbers with units, too.
    """
    if not texts:
        return []
    signed = [text for text in texts if not (text.isascii() and text.isdigit())]  # the others are numbers with any
    found = _fitting(signed, MARKS)
    if found or any(_CODE.search(text) for text in signed):
        return found
    found = _fitting(texts, [NumberMarks(marks.decimal, marks.group, bare=False) for marks in MARKS])
    return found if found and len({found[0].unit(text) for text in texts}) == 1 else []


def _fitting(texts: Sequence[str], known: Sequence[NumberMarks]) -> list[NumberMarks]:
    found = list(known)
    for text in texts:
        read = readings(text, found)
        found = [marks for marks in found if read[marks] is not None]
        if not found:
            break
    return found


def readings(text: str, known: Sequence[NumberMarks]) -> dict[NumberMarks, str | None]:
    """What a text is with each of some marks."""
    found: dict[NumberMarks, str | None] = {}
    ungrouped: dict[str, str | None] = {}
    for marks in known:
        if marks.group and marks.group in text:
            found[marks] = marks.plain(text)
        else:  # that of a group decides nothing
            if marks.decimal not in ungrouped:
                ungrouped[marks.decimal] = NumberMarks(marks.decimal, "", marks.bare).plain(text)
            found[marks] = ungrouped[marks.decimal]
    return found


def _records(text: str, dialect: Dialect) -> tuple[list[list[str]], int]:
    """The first records, as far as they can be read in this dialect; and how many lines the one has that cannot."""
    found: list[list[str]] = []
    lines = io.StringIO(text, newline="")
    begins = 0
    try:
        for record in islice(csv_rows(lines, dialect), SAMPLE_RECORDS):
            found.append(record)
            begins = lines.tell()
    except csv.Error:
        return found, max(1, text.count("\n", begins, lines.tell()))
    return found, 0


def _by_quotes(tries: Sequence[Dialect]) -> list[list[Dialect]]:
    """The dialects with the same signs around values, the usual ones first."""
    found: dict[tuple[str, str], list[Dialect]] = {}
    for dialect in tries:
        found.setdefault((dialect.quote, dialect.escape), []).append(dialect)
    return list(found.values())


def _faultless(text: str, tries: Sequence[Dialect], whole: bool) -> Dialect | None:
    """Of some dialects in which all records have the same number of values, the one with most of them.

    Spaces are none of them: they stand between words of a sentence, too.

    Args:
        whole: whether the text is not the beginning of a longer one, whose last record may be cut off.
    """
    fitting = {}
    for dialect in tries:
        records, lost = _records(text, dialect)
        widths = {len(record) for record in records if record}
        cut = not whole and lost <= LONGEST_RECORD
        if dialect.delimiter != " " and len(widths) == 1 and max(widths) > 1 and (cut or not lost):
            fitting[dialect] = max(widths)
    return max(fitting, key=fitting.__getitem__, default=None)


def _width(records: list[list[str]]) -> int:
    """The number of values that most records have, among those with several if there are any."""
    widths = Counter(len(record) for record in records if len(record) > 1) or Counter(map(len, records))
    return widths.most_common(1)[0][0] if widths else 0


def _agreement(records: list[list[str]], dialect: Dialect) -> tuple[int, float, int]:
    """How well records agree in their number of values: records that do, their share among those read, values."""
    width = _width(records)
    if width < 2:
        return (0, 0.0, len(records))
    same = sum(len(record) == width for record in records)
    if dialect.delimiter == " " and same < len(records):
        return (0, 0.0, 0)  # words of a sentence
    return (1, same * same / len(records), width)


def is_header(first: list[str], rows: list[list[str]]) -> bool:
    """Whether a record holds names: a text stands above numbers, or its only numbers count on, as years do."""
    values = [_is_value(cell) for cell in first]
    above = (cells for name, cells in zip(first, zip(*rows, strict=True), strict=False) if _is_word(name))
    if any(any(map(_is_value, cells)) and not any(map(_is_word, cells)) for cells in above):
        return True
    counted = [int(cell) for cell in first if cell.isdecimal() and len(cell) == len("1970")]
    counting = len(counted) == sum(values) > 2 and all(later - one == 1 for one, later in pairwise(counted))
    return counting or not any(values)


def _is_word(cell: str) -> bool:
    return any(sign.isalpha() for sign in cell) and cell.lower() not in ("na", "n/a", "nan", "null", "none")


def _is_value(cell: str) -> bool:
    """Whether a cell is no name of a column: a number, or nothing but digits and marks."""
    return read_number(cell.strip()) is not None or (bool(cell) and set(cell) <= set(string.digits + ".,-/: "))
