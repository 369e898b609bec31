"""Where in a TOML or JSON text a key or an entry stands: its line, by its path within the document.

The parsers of the standard library check a text and keep no places. This reads a text that one of them has accepted
already, so it only has to know where names, strings and brackets end. Of what is nested too deep it knows the outside.
"""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable

Path = tuple[str | int, ...]

_BLANK = re.compile(r"[ \t\r\n]*")
_BLANK_OR_COMMENT = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?""""{0,2}'  # up to two quotation marks more belong to the text
    r"|'''.*?''''{0,2}"
    r'|"(?:\\.|[^"\\])*"'
    r"|'[^']*'",
    re.DOTALL,
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE = re.compile(r"[^,\]}#\n]+")


def toml_lines(text: str) -> dict[Path, int]:
    """Path to line, from 1, of everything in a TOML document; a key's line is that of its name."""
    scan = _Scan(text, _BLANK_OR_COMMENT, "=", lambda name: str(tomllib.loads(f"name = {name}")["name"]))
    with contextlib.suppress(RecursionError):
        scan.toml()
    return scan.lines


def json_lines(text: str) -> dict[Path, int]:
    """The same of a JSON document."""
    scan = _Scan(text, _BLANK, ":", json.loads)
    with contextlib.suppress(RecursionError):
        scan.skip()
        scan.value(())
    return scan.lines


class _Scan:
    """A place in the text, and what has been found before it."""

    def __init__(self, text: str, blank: re.Pattern[str], sign: str, unquote: Callable[[str], str]) -> None:
        self._text = text
        self._at = 0
        self._blank = blank
        self._sign = sign
        self._unquote = unquote
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self.lines: dict[Path, int] = {}

    def _line(self) -> int:
        return bisect_right(self._starts, self._at)

    def _note(self, path: Path) -> None:
        """Note a path, and those above it that only its name brings about."""
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], self._line())

    def skip(self) -> None:
        """Go to the next sign that is neither blank nor comment."""
        self._pass(self._blank)

    def _pass(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        assert found is not None, "the text was accepted by a parser"
        self._at = found.end()
        return found[0]

    def _is(self, sign: str) -> bool:
        return self._text.startswith(sign, self._at)

    def _passed(self, sign: str) -> bool:
        """Whether the sign is next; then it is passed, with the blanks behind it."""
        found = self._is(sign)
        if found:
            self._at += len(sign)
            self.skip()
        return found

    def _name(self) -> Path:
        """A name, or several with dots between them."""
        names: list[str] = []
        while not names or self._passed("."):
            quoted = self._text[self._at] in "\"'"
            names.append(self._unquote(self._pass(_STRING)) if quoted else self._pass(_BARE_KEY))
            self.skip()
        return tuple(names)

    def _member(self, path: Path) -> None:
        """A name and its value."""
        start = self._at
        name = self._name()
        end, self._at = self._at, start
        self._note((*path, *name))
        self._at = end
        self._passed(self._sign)
        self.value((*path, *name))

    def value(self, path: Path) -> None:
        """A value of any kind, and the blanks behind it."""
        if self._passed("["):
            place = 0
            while not self._is("]"):
                self._note((*path, place))
                self.value((*path, place))
                self._passed(",")
                place += 1
            self._at += 1
        elif self._passed("{"):
            while not self._is("}"):
                self._member(path)
                self._passed(",")
            self._at += 1
        else:
            self._pass(_STRING if self._text[self._at] in "\"'" else _BARE_VALUE)
        self.skip()

    def toml(self) -> None:
        """Tables, one after another."""
        table: Path = ()
        entries: dict[Path, int] = {}
        self.skip()
        while self._at < len(self._text):
            if self._is("["):
                table = self._header(entries)
            else:
                self._member(table)

    def _header(self, entries: dict[Path, int]) -> Path:
        """The path of a table; of the last entry where it is in an array of tables."""
        start, many = self._at, self._is("[[")
        self._at += 2 if many else 1
        self.skip()
        *above, last = self._name()
        end, self._at = self._at, start
        path: Path = ()
        for name in above:
            path = self._in_last((*path, name), entries)
        path = (*path, last)
        if many:
            entries[path] = entries.get(path, 0) + 1
        path = self._in_last(path, entries)
        self._note(path)
        self._at = end + (2 if many else 1)
        self.skip()
        return path

    @staticmethod
    def _in_last(path: Path, entries: dict[Path, int]) -> Path:
        return (*path, entries[path] - 1) if path in entries else path
