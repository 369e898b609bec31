"""Files of JSON objects, one a line, as the CSV text that they stand for: each value as the text that it has there.

Digits stay as they are written; null and a key that an object lacks are empty; lists and objects
are JSON, in which numbers are texts.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from privity.common.data.dialect import Dialect
from privity.common.errors import Catalogue, PrivityError


class JsonLines(io.TextIOBase):
    """The text of such a file in a dialect, line by line.

    Args:
        file: the opened file, of UTF-8; it is read twice, for its keys first.

    Raises:
        PrivityError: file-unreadable: a line is no JSON object, at the latest as it is read.
    """

    def __init__(self, file: Any, path: Path | str, dialect: Dialect) -> None:
        self.buffer, self._path = file, path
        names: dict[str, None] = {}
        for row in self._objects():
            names.update(dict.fromkeys(row))
        self._names = list(names)
        file.seek(0)
        self._line = io.StringIO()
        quoting: Any = csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE
        self._writer = csv.writer(
            self._line, delimiter=dialect.delimiter, quotechar=dialect.quote or None, quoting=quoting,
            escapechar=dialect.escape or None,
        )  # fmt: skip
        self._lines = self._written()

    def __iter__(self) -> Iterator[str]:  # type: ignore[override]
        return self

    def __next__(self) -> str:  # type: ignore[override]
        return next(self._lines)

    def _written(self) -> Iterator[str]:
        yield self._csv(self._names)
        for row in self._objects():
            yield self._csv([_text(row.get(name)) for name in self._names])

    def _csv(self, cells: list[str]) -> str:
        self._line.seek(0)
        self._line.truncate()
        self._writer.writerow(cells)
        return self._line.getvalue()

    def _objects(self) -> Iterator[dict[str, Any]]:
        for number, line in enumerate(self.buffer, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line, parse_int=str, parse_float=str, parse_constant=str)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                reason = f"line {number} is no JSON object in UTF-8: correct it, or save the file as CSV"
                raise PrivityError(Catalogue.FILE_UNREADABLE, file=self._path, reason=reason)
            yield row


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
