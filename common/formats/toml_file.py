"""Configuration files that people write: TOML, checked against a committed format, every fault at once."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from privity.common.errors import Catalogue, PrivityError, Problem, ProblemsFound
from privity.common.formats import UNREAD, check, located
from privity.common.formats.line_numbers import toml_lines
from privity.common.storage.exact_json import DEEPEST
from privity.common.storage.safe_files import read_regular
from privity.common.text.secret_texts import holds_secret
from privity.common.text.short_values import path_text

LARGEST_TOML = 1 << 20
"""Bytes of a file of settings."""

WRITTEN_BY = {
    "consortium": "privity consortium init",
    "curator": "privity curator init",
    "operator": "privity operator init",
    "party": "privity party init",
}
"""Settings that nobody writes by hand from the beginning, and the command that does."""

_QUOTED_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"?|\'[^\'\n]*\'?|#[^\n]*')
_LONG_KEY = re.compile(rf"(?:\.[^.=,\[\]{{}}\n]*){{{DEEPEST}}}")
"""Of more parts than a document may have levels; ``tomllib`` takes the square of their number to read it."""


def read_toml(
    path: Path, format_name: str, also: Callable[[dict[str, Any]], list[Problem]] = lambda _document: []
) -> dict[str, Any]:
    """The document of a TOML file.

    Args:
        also: finds the faults that the format does not; it must bear documents that do not fit the format.

    Raises:
        PrivityError: file-missing, out-of-order if a command writes such a file, or file-unreadable.
        ProblemsFound: everything in which it does not fit ``common/formats/FORMAT_NAME.schema.json``.
    """
    try:
        data = read_regular(path, most=LARGEST_TOML)
    except PrivityError as error:
        if error.kind is Catalogue.FILE_MISSING and format_name in WRITTEN_BY:
            first = f"{WRITTEN_BY[format_name]}; or give the right path (--config, --folder)"
            raise PrivityError(Catalogue.OUT_OF_ORDER, missing=path, first=first) from None
        raise
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        document = _loads(text)
    except (ValueError, RecursionError) as error:
        # Beside what is no TOML or no UTF-8: a number or a nesting that Python does not read.
        reason = str(error)
        if holds_secret(reason):
            reason = reason[reason.rfind("(at ") :]
        raise PrivityError(Catalogue.FILE_UNREADABLE, file=path, reason=f"not TOML: {reason}") from None
    problems = check(document, format_name, str(path))
    if not any(problem.rule in UNREAD for problem in problems):
        problems += [*_not_finite(document, str(path)), *also(document)]
    if problems:
        raise ProblemsFound(located(problems, toml_lines, text))
    return document


def _loads(text: str) -> dict[str, Any]:
    if _LONG_KEY.search(_QUOTED_OR_COMMENT.sub("", text)):
        raise ValueError(f"a key has more than {DEEPEST} parts")
    return tomllib.loads(text)


def _not_finite(value: object, file: str, path: tuple[str | int, ...] = ()) -> list[Problem]:
    """TOML's inf and nan, which no rule of a format finds."""
    if isinstance(value, dict | list):
        members = value.items() if isinstance(value, dict) else enumerate(value)
        return [problem for key, member in members for problem in _not_finite(member, file, (*path, key))]
    if isinstance(value, float) and not math.isfinite(value):
        return [Problem(file, path_text(path), "finite", f"{value} is not a number for use.", "Write a finite number.")]
    return []
