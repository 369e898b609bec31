"""The text of a CSV file, and its records, in a dialect."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from privity.common.data.dialect import Dialect
from privity.common.data.file_kinds import JSON_LINES, kind_of_file
from privity.common.data.json_lines import JsonLines
from privity.common.errors import Catalogue, PrivityError

NAME_IT = "give it as an address (docs/sources.md)"


@contextmanager
def open_text(path: Path | str, dialect: Dialect) -> Iterator[io.TextIOBase]:
    """Open a text file, packed or not.

    Raises:
        PrivityError: file-missing; file-unreadable: also of a file that is no text of rows by its first bytes.
        UnicodeDecodeError, csv.Error: what its reader meets.
    """
    kind, remedy = kind_of_file(path)
    if kind and kind != JSON_LINES:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=f"it is {kind}, not CSV: {remedy or NAME_IT}")
    opener: Any = gzip.open if str(path).lower().endswith(".gz") else open
    # A byte-order mark is no text. Bytes that are none are told from any text by halves of surrogate pairs.
    encoding = "utf-8-sig" if dialect.encoding.lower().replace("_", "-") in ("utf-8", "utf8") else dialect.encoding
    errors = "surrogateescape" if dialect.forgiving else "strict"
    try:
        if kind:
            with opener(path, "rb") as file:
                yield JsonLines(file, path, dialect)
            return
        with opener(path, "rt", encoding=encoding, errors=errors, newline="") as file:
            yield file
    except FileNotFoundError as error:
        raise PrivityError(Catalogue.FILE_MISSING, file=path) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason="not a whole gzip file") from error
    except OSError as error:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=error.strerror or error) from error


def bytes_read(text: io.TextIOBase) -> int:
    """How many bytes of the file below an open text were read, packed ones if it is packed."""
    below: Any = getattr(text, "buffer", None)
    return int(getattr(below, "fileobj", below).tell())


def csv_rows(text: Iterator[str], dialect: Dialect) -> Iterator[list[str]]:
    """The records of a text, from the header on; empty ones are there only if they count."""
    rows = csv.reader(
        islice(text, dialect.skip_rows, None),
        delimiter=dialect.delimiter,
        quotechar=dialect.quote or None,
        quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        escapechar=dialect.escape or None,
        skipinitialspace=dialect.skip_initial_space,
        strict=True,
    )
    return filter(None, rows) if dialect.skip_blank_rows else rows
