"""What to do about a CSV file that cannot be read as it is declared: for the owner's screen.

A hint looks at the file again and guesses. What is read never depends on it.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path

from privity.common.data.cell_files import first_texts, holds_cells
from privity.common.data.csv_text import csv_rows, open_text
from privity.common.data.dialect import Dialect
from privity.common.data.dialect_detection import (
    LONGEST_PREFACE,
    likely_delimiter,
    likely_dialect,
    likely_encoding,
    sample,
)
from privity.common.errors import PrivityError


def declare(dialect: Dialect) -> str:
    """How a dialect is declared."""
    return f'declare "dialect": {json.dumps(dialect.document(), ensure_ascii=False)}'


def encoding_hint(path: Path | str, dialect: Dialect, error: UnicodeDecodeError) -> tuple[str, str]:
    """What is wrong with bytes that are not in the encoding, and what to do."""
    data = sample(path)
    looks = likely_encoding(data)
    message = f"it is not {dialect.encoding.upper()} text ({error.reason})."
    others = 'Or declare "badRows": "missing", if cells with such bytes are missing values.'
    if looks == dialect.encoding.lower() or not data:
        return message, f"Correct the bytes. {others}"
    return message, f'It looks like {looks}: declare "dialect": {{"encoding": "{looks}"}}. {others}'


def quoting_hint(path: Path | str, dialect: Dialect, fault: str) -> tuple[str, str]:
    """What is wrong with a record that cannot be told from what follows, and what to do."""
    line, text = _last_record(path, dialect)
    message = f"not CSV in line {line}: {fault}."
    looks = likely_delimiter(text, dialect.delimiter)
    if line == 1 + dialect.skip_rows and text.count(looks or "\n") > text.count(dialect.delimiter):
        return message, f"It looks like {looks!r}: {declare(likely_dialect(sample(path), dialect.encoding))}."
    if "limit" in fault or "unexpected end" in fault:
        remedy = "A quote that is opened there is never closed: close it, or double it if it is part of the value."
    else:
        remedy = "Double each quote within a value that stands in quotes."
    return message, f'{remedy} If quotes mean nothing in this file, declare "dialect": {{"quoteChar": ""}}.'


def header_hint(path: Path | str, dialect: Dialect, names: Collection[str]) -> str:
    """What to do if a file does not have the declared columns; empty if nothing shows it."""
    cells = holds_cells(path)
    try:
        if cells:
            rows = first_texts(path, dialect, dialect.skip_rows + LONGEST_PREFACE)[dialect.skip_rows :]
        else:
            with open_text(path, dialect) as text:
                rows = list(islice(csv_rows(text, dialect), LONGEST_PREFACE))
    except (PrivityError, UnicodeDecodeError, csv.Error):
        return ""
    if not rows:
        return ""
    looks = dialect if cells else likely_dialect(sample(path), dialect.encoding)
    if looks.delimiter != dialect.delimiter and len(rows[0]) <= 1:
        return f"It looks like {looks.delimiter!r}: {declare(looks)}."
    for place, row in enumerate(rows[1:], 1):
        if 2 * len(set(row) & set(names)) > len(names):
            return f'The header is in line {place + 1}: declare "dialect": {{"skipRows": {dialect.skip_rows + place}}}.'
    stripped = {name.strip() for name in rows[0]}
    if dialect.header and set(names) <= stripped:
        return 'Names have spaces around them: declare "dialect": {"skipInitialSpace": true}, or take them away.'
    if dialect.header and not looks.header and len(rows[0]) == len(names):
        return 'The file seems to have no header: declare "dialect": {"header": false}.'
    return ""


def _last_record(path: Path | str, dialect: Dialect) -> tuple[int, str]:
    """The line in which the first record begins that cannot be read, and the text of that line."""
    begins = dialect.skip_rows
    try:
        with open_text(path, dialect) as text:
            lines = _Lines(text)
            for _ in csv_rows(lines, dialect):
                begins = lines.read
    except csv.Error:
        with open_text(path, dialect) as text:
            return begins + 1, next(islice(text, begins, None), "")
    except (PrivityError, UnicodeDecodeError):
        pass
    return begins + 1, ""


class _Lines(Iterator[str]):
    """The lines of a text, counted."""

    def __init__(self, text: Iterator[str]) -> None:
        self._text = text
        self.read = 0

    def __next__(self) -> str:
        self.read += 1
        return next(self._text)
