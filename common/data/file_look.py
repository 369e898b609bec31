"""A look at a CSV file before anything is declared: in which dialect it seems to be, and what its columns hold.

What it finds out is of the rows: it is for their owner, who declares what is right of it. No release looks so.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from privity.common.data.attribute import read_number
from privity.common.data.csv_text import csv_rows, open_text
from privity.common.data.date_formats import MOST_ODD, MOSTLY, are_moments, days_among
from privity.common.data.dialect import COMMON, PLAIN, Dialect, NumberMarks
from privity.common.data.dialect_detection import fitting_marks, likely_dialect, likely_encoding, readings, sample
from privity.common.data.file_kinds import JSON_LINES, kind_of_file
from privity.common.data.key_columns import KeyLook, looked_for_keys, of_persons
from privity.common.data.reading_hints import encoding_hint, quoting_hint
from privity.common.data.units import may_be_left_out
from privity.common.data.value_remedies import seems_missing
from privity.common.errors import Problem, RowProblemsFound
from privity.common.text.short_values import shorten

SHOWN = 3

REMOVE = "If it is one, remove it; if it is none, declare it."


@dataclass(frozen=True)
class LookedAt:
    """A column.

    Attributes:
        texts: how many rows have each of its texts; of texts that mean no value as well.
        missing: those of its texts that seem to mean no value, if it is a column of numbers.
        fits: marks with which all others are numbers, the likeliest first; empty if they are none.
        identifies: whether it seems to hold keys, which a draft leaves out.
        codes: whether its whole numbers seem to be codes.
    """

    name: str
    texts: Counter[str]
    missing: tuple[str, ...]
    fits: tuple[NumberMarks, ...]
    identifies: bool = False
    codes: bool = False

    @property
    def values(self) -> list[str]:
        """Its texts without those that mean no value."""
        return [text for text in self.texts if text not in self.missing]

    @property
    def marks(self) -> NumberMarks | None:
        """How its numbers are written; None if it is no column of numbers."""
        return self.fits[0] if self.fits else None

    def ambiguous(self, fits: Sequence[NumberMarks]) -> str:
        """A text that is one number with some of these marks, and another with others; empty if there is none."""
        signed = (text for text in self.values if not text.isdigit())
        return next((text for text in signed if len(set(readings(text, fits).values())) > 1), "")


@dataclass(frozen=True)
class Look:
    """What a file seems to be.

    Attributes:
        dialect: in which it can be read, with the marks of most of its numbers.
        ignored: names of columns that are left out, because they have none or number the rows.
        findings: what the owner should know, a sentence each; with row numbers and values.
    """

    file: str
    dialect: Dialect
    rows: int
    columns: tuple[LookedAt, ...]
    ignored: tuple[str, ...]
    findings: tuple[str, ...]


def look_at(path: Path | str, dialect: Mapping[str, Any] | None = None) -> Look:
    """Look at a CSV file (gzip if the name ends in .gz).

    Args:
        dialect: a checked document of the one in which it is; found out if it is None.

    Raises:
        PrivityError: file-missing, file-unreadable.
        RowProblemsFound: it has no rows, or its quotes fit in no way that is known.
    """
    file = str(path)
    findings: list[str] = []
    data = sample(path)
    with open_text(path, COMMON):  # a file that is not there is said to be missing
        pass
    if kind_of_file(path)[0] == JSON_LINES:
        found = COMMON
    elif dialect is not None:
        found = COMMON.changed(dialect)
    else:
        found = likely_dialect(data, _encoding_of_all(path, data))
    try:
        header, counts, rows = _counted(path, found, findings)
    except UnicodeDecodeError as error:
        message, remedy = encoding_hint(path, found, error)
        raise RowProblemsFound([Problem(file, "", "encoding", message, remedy)]) from None
    except csv.Error as error:
        message, remedy = quoting_hint(path, found, str(error))
        raise RowProblemsFound([Problem(file, "", "quoting", message, remedy)]) from None
    if not rows:
        raise RowProblemsFound([Problem(file, "", "no-rows", "the table has no rows.", "Give it at least one row.")])
    names, found, ignored = _named(header, counts, rows, found, findings)
    columns = [looked_at(name, texts, rows) for name, texts in zip(names, counts, strict=True) if name not in ignored]
    usual = _usual_marks(columns)
    columns = [_settled(column, usual, findings) for column in columns]
    keys = [look_for_keys(column, rows) for column in columns]
    # By name only; and with nothing else there is nothing to leave them out of.
    identify = [key is not None and not key.codes for key in keys]
    left_out = found.header and not all(identify)
    for place, key in enumerate(keys):
        if key is not None:
            columns[place] = replace(columns[place], identifies=left_out and not key.codes, codes=key.codes)
            findings.append(key.finding if key.codes or left_out else f"{key.finding} {REMOVE}")
    if repeated := [column.name for column, key in zip(columns, keys, strict=True) if key is not None and key.repeats]:
        findings.append(of_persons(repeated))
    decimal = None if usual.decimal == PLAIN.decimal else usual.decimal
    findings[:0] = _of_form(found)
    found = replace(found, decimal=decimal, group=usual.group or None)
    return Look(file, found, rows, tuple(columns), ignored, tuple(findings))


def _of_form(dialect: Dialect) -> list[str]:
    """What is left out of the file as it is read, a sentence each."""
    found = []
    if dialect.header and dialect.skip_rows:
        found.append(f'Lines before the header are left out, by "skipRows": {dialect.skip_rows}.')
    if dialect.skip_blank_rows:
        found.append('Empty lines are left out, by "skipBlankRows".')
    if dialect.skip_initial_space:
        found.append('Spaces before values are left out, by "skipInitialSpace".')
    return found


def _encoding_of_all(path: Path | str, data: bytes) -> str:
    """What the whole file can be read in: a byte beyond ASCII may come late."""
    found = likely_encoding(data)
    if found != "utf-8":
        return found
    try:
        with open_text(path, COMMON) as text:
            for _ in text:
                pass
    except UnicodeDecodeError as error:
        return likely_encoding(error.object)
    return found


def _counted(path: Path | str, dialect: Dialect, findings: list[str]) -> tuple[list[str], list[Counter[str]], int]:
    """The header, how many rows have each text of each column, and the number of rows."""
    with open_text(path, dialect) as text:
        records = csv_rows(text, dialect)
        first = next(records, [])
        header = first if dialect.header else [f"column {place}" for place in range(1, len(first) + 1)]
        counts = [Counter[str]() for _ in header]
        ragged: list[int] = []
        rows = repeated = 0
        seen: set[int] = set()
        for record in records if dialect.header else chain([first], records):
            rows += 1
            if len(record) != len(header):
                ragged.append(rows)
                continue
            for count, cell in zip(counts, record, strict=True):
                count[cell] += 1
            mark = hash(tuple(record))
            repeated += mark in seen
            seen.add(mark)
    if ragged:
        shown = ", ".join(map(str, ragged[:SHOWN])) + (" and others" if len(ragged) > SHOWN else "")
        findings.append(
            f"{len(ragged)} rows have more or fewer values than the header ({len(header)}): row {shown}. Correct them, "
            'or declare "badRows": "missing" in "dialect": what they lack is then missing.'
        )
    if repeated:
        findings.append(f"{repeated} rows are the same as an earlier one.")
    return header, counts, rows


def _named(
    header: list[str], counts: Sequence[Counter[str]], rows: int, dialect: Dialect, findings: list[str]
) -> tuple[list[str], Dialect, tuple[str, ...]]:
    """Names of the columns, all different; the dialect in which they are so; and those that are left out."""
    if not dialect.header:
        findings.append("The file seems to have no header: its columns are named by their places. Name the fields.")
        return header, dialect, ()
    unnamed = [place for place, name in enumerate(header) if not name]
    numbering = len(unnamed) == 1 and len(counts[unnamed[0]]) == rows
    twice = [name for name, times in Counter(header).items() if times > 1 and name]
    if not twice and (not unnamed or numbering):
        if numbering:
            findings.append('A column without a name numbers the rows: it is ignored, by "extraColumns".')
        return header, dialect, ("",) if numbering else ()
    for name in twice:
        findings.append(f"{shorten(name)} is the name of {header.count(name)} columns.")
    if unnamed:
        findings.append(f"Columns without a name: {', '.join(str(place + 1) for place in unnamed)}.")
    findings.append("So the header is skipped, and the fields are named by their places. Give them better names.")
    return list(_unlike(header)), replace(dialect, header=False, skip_rows=dialect.skip_rows + 1), ()


def _unlike(header: list[str]) -> Iterator[str]:
    """The names, each with a number behind it if it was there before."""
    taken: set[str] = set()
    for place, name in enumerate(header, 1):
        found, number = name or f"column {place}", 1
        while found in taken:
            number += 1
            found = f"{name} {number}"
        taken.add(found)
        yield found


def looked_at(name: str, texts: Counter[str], rows: int) -> LookedAt:
    """A column by how many of so many rows have each of its texts."""
    missing = [text for text in texts if seems_missing(text)]
    values = [text for text in texts if text not in missing]
    if fits := _marks_of(values):
        return LookedAt(name, texts, tuple(missing), tuple(fits))
    # A few words in a column of numbers are what somebody wrote in place of a number.
    odd = [text for text in values if not any(sign.isdigit() for sign in text)]
    odd = odd or [text for text in values if not text[0].isdigit()]
    if odd and len(odd) <= MOST_ODD and MOSTLY * sum(texts[word] for word in odd) <= rows:
        fits = _marks_of([text for text in values if text not in odd])
    return LookedAt(name, texts, (*missing, *odd) if fits else (), tuple(fits))


def _marks_of(texts: Sequence[str]) -> list[NumberMarks]:
    """The marks with which these texts are numbers, if the numbers say all that they say."""
    found = fitting_marks(texts)
    if not found or found[0].bare or may_be_left_out(*found[0].unit(texts[0]), len(texts)):
        return found
    return []


def look_for_keys(column: LookedAt, rows: int) -> KeyLook | None:
    """Keys or codes; other numbers than whole ones, and dates, differ by nature."""
    values = {text: column.texts[text] for text in column.values if text}
    if (marks := column.marks) is None:
        return None if are_moments(values) else looked_for_keys(column.name, values, None, rows)
    plain = [(marks.plain(text) or "").lstrip("+") for text in values]
    if days_among(dict(zip(plain, values.values(), strict=True))) or (not marks.bare and len(values) < rows):
        return None
    numbers = [read_number(text) for text in plain]
    whole = [int(number) for number in numbers if number is not None and number.denominator == 1]
    return looked_for_keys(column.name, values, whole, rows) if len(whole) == len(values) else None


def _usual_marks(columns: Sequence[LookedAt]) -> NumberMarks:
    """The marks of most columns, of those whose numbers can be read in one way only."""
    found: Counter[NumberMarks] = Counter()
    for column in columns:
        # A column of digits alone says nothing.
        clear = column.fits and not column.ambiguous(column.fits)
        if clear and not all(text.isdigit() for text in column.values):
            found[replace(column.fits[0], bare=True)] += 1
    if not found:
        return PLAIN
    decimal = found.most_common(1)[0][0].decimal
    group = next((marks.group for marks, _ in found.most_common() if marks.group and marks.decimal == decimal), "")
    return NumberMarks(decimal, group)


def _settled(column: LookedAt, usual: NumberMarks, findings: list[str]) -> LookedAt:
    """The column with one reading of its numbers: that of the file, if it can be read so."""
    if not column.fits:
        return column
    bare = column.fits[0].bare
    of_file = [replace(marks, bare=bare) for marks in (usual, NumberMarks(usual.decimal), PLAIN)]
    known = next((marks for marks in of_file if marks in column.fits), None)
    chosen = known or next((marks for marks in column.fits if marks.group), column.fits[0])
    text = column.ambiguous(column.fits)
    if text and known is None:
        others = {marks.plain(text) for marks in column.fits}
        findings.append(
            f"{shorten(column.name)}: {text!r} may be {' or '.join(sorted(filter(None, others)))}. It is drafted as "
            f"{chosen.plain(text)}: review groupChar and decimalChar."
        )
    return replace(column, fits=(chosen,))
