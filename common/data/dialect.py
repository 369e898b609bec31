"""How an owner's table is written down: the form of a CSV file, and the marks of numbers that are texts.

It is declared, and decides how a text is read, never which code a value has. So it is in no digest, and each party may
have its rows in a dialect of its own. The names are those of Frictionless and of CSV on the Web.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from privity.common import formats
from privity.common.data.attribute import LONGEST_NUMBER
from privity.common.errors import Catalogue, PrivityError, Problem
from privity.common.text.short_values import shorten

ENCODINGS = frozenset(
    codecs.lookup(name).name
    for name in [
        *("utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii", "koi8-r", "koi8-u", "mac-roman"),
        *(f"iso8859-{part}" for part in range(1, 17) if part != 12),
        *(f"cp{page}" for page in (437, 850, 852, 858, 866, 874, *range(1250, 1259), 932, 949)),
        *("gb2312", "gbk", "gb18030", "big5", "shift_jis", "euc_jp", "euc_kr"),
    ]
)
"""Without states that last from one row to the next, so that each row can be read alone."""

REFUSE, MISSING_CELLS = "refuse", "missing"

KEYS = {
    "delimiter": "delimiter",
    "quoteChar": "quote",
    "escapeChar": "escape",
    "skipInitialSpace": "skip_initial_space",
    "header": "header",
    "skipRows": "skip_rows",
    "skipBlankRows": "skip_blank_rows",
    "encoding": "encoding",
    "decimalChar": "decimal",
    "groupChar": "group",
    "badRows": "bad_rows",
    "sheet": "sheet",
}
"""Each key of a declared dialect, and the attribute of ``Dialect`` that it sets."""


@dataclass(frozen=True)
class NumberMarks:
    """How a number is written as a text.

    Attributes:
        decimal: stands before the digits of a fraction.
        group: may stand between groups of digits; empty if there is none.
        bare: whether nothing else is there. If not, a currency or unit may stand before or after the number, and
            parentheses around it mean a negative one.
    """

    decimal: str = "."
    group: str = ""
    bare: bool = True

    def plain(self, text: str) -> str | None:
        """The number as a decimal with a point; None if it is not written so."""
        if len(text) > LONGEST_NUMBER:
            return None
        found = self._pattern.fullmatch(text)
        if found is None:
            return None
        opened, closed, sign, inner, number = found.group("opened", "closed", "sign", "inner", "number")
        if bool(opened) != bool(closed) or ((opened or sign) and inner) or (opened and sign):
            return None
        if self.group:
            number = number.replace(self.group, "")
        if self.decimal != ".":
            number = number.replace(self.decimal, ".")
        return "-" + number if opened else sign + inner + number

    def unit(self, text: str) -> tuple[str, str]:
        """What stands before the number of a text, and after it, without spaces; empty if the text is none."""
        found = self._pattern.fullmatch(text)
        before, after = ("", "") if found is None else (found["unit"], found["end"])
        return "".join(before.split()), "".join(after.split())

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        mark, between = re.escape(self.decimal), re.escape(self.group)
        digits = rf"(?:[0-9]{{1,3}}(?:{between}[0-9]{{2,3}})*{between}[0-9]{{3}}|[0-9]+)" if self.group else "[0-9]+"
        number = f"{digits}(?:{mark}[0-9]*)?"
        unit = ""
        if self.bare:
            number = f"(?:{number}|{mark}[0-9]+)"
        else:
            # A mark of numbers is part of a unit ("Rs. 5") only where no digit follows. No two ways match one sign.
            signs = "".join(re.escape(sign) for sign in (self.decimal, self.group) if not sign.isspace())
            unit = rf"(?:[^0-9+\-()<>≤≥~={signs}]|[{signs}](?![0-9]))*"
        inner, opened, closed = ("[+-]?", "\\(?", "\\)?") if unit else ("", "", "")
        number = f"{number}(?:[eE][+-]?[0-9]{{1,3}})?"
        return re.compile(
            f"(?P<opened>{opened})(?P<sign>[+-]?)(?P<unit>{unit})(?P<inner>{inner})(?P<number>{number})(?P<end>{unit})"
            f"(?P<closed>{closed})"
        )


PLAIN = NumberMarks()


@dataclass(frozen=True)
class Dialect:
    """What the keys of ``KEYS`` say.

    Attributes:
        quote, escape: empty if there is none.
        skip_rows: lines before the header, which are left out.
        decimal, group: marks of the numbers whose fields declare none; None is a point, and none.
        bad_rows: what becomes of a row that does not fit: ``refuse``, or ``missing``.
        sheet: of a workbook; empty: the only one.
    """

    delimiter: str = ","
    quote: str = '"'
    escape: str = ""
    skip_initial_space: bool = False
    header: bool = True
    skip_rows: int = 0
    skip_blank_rows: bool = False
    encoding: str = "utf-8"
    decimal: str | None = None
    group: str | None = None
    bad_rows: str = REFUSE
    sheet: str = ""

    @property
    def forgiving(self) -> bool:
        """Whether cells that cannot be read are missing values, instead of a reason to refuse the table."""
        return self.bad_rows == MISSING_CELLS

    def changed(self, document: Mapping[str, Any]) -> Dialect:
        """This one with what a checked document says instead."""
        return replace(self, **{KEYS[key]: value for key, value in document.items()})

    def document(self) -> dict[str, Any]:
        """What differs from the default, as it is declared."""
        found = {key: getattr(self, name) for key, name in KEYS.items()}
        return {key: value for key, value in found.items() if value != getattr(COMMON, KEYS[key])}


COMMON = Dialect()
"""UTF-8 with commas and a header: what is read where nothing is declared, and what releases are written in."""


def dialect_problems(document: object, file: str) -> list[Problem]:
    """Everything that is wrong with a declared dialect; ``field`` is a path that begins with ``dialect``."""
    found = formats.check(document, "dialect", file)
    problems = [replace(each, field=f"dialect.{each.field}".removesuffix(".")) for each in found]
    if problems or not isinstance(document, dict):
        return problems

    def fault(key: str, rule: str, message: str, remedy: str) -> None:
        problems.append(Problem(file, f"dialect.{key}", rule, message, remedy))

    dialect = COMMON.changed(document)
    signs = [sign for sign in (dialect.delimiter, dialect.quote, dialect.escape) if sign]
    if len(set(signs)) < len(signs):
        message = "delimiter, quoteChar and escapeChar are not three different characters."
        fault("delimiter", "same-character", message, 'Declare another one; "quoteChar": "" is none.')
    if dialect.delimiter == " " and dialect.skip_initial_space:
        fault("skipInitialSpace", "same-character", "a space is the delimiter, too.", "Leave one of them out.")
    if dialect.group and dialect.group == (dialect.decimal or PLAIN.decimal):
        fault("groupChar", "same-character", "it is the decimal mark, too.", 'Declare "decimalChar" as well.')
    try:
        known = codecs.lookup(dialect.encoding).name in ENCODINGS
    except LookupError:
        known = False
    if not known:
        remedy = "Use utf-8, utf-16, a code page such as cp1252, or iso8859-1 to -16, for instance."
        fault("encoding", "encoding", f"{shorten(dialect.encoding)} is not read.", remedy)
    return problems


def dialect_option(text: str | None) -> dict[str, Any]:
    """A dialect as a command line has it.

    Raises:
        PrivityError: bad-option.
    """
    if text is None:
        return {}
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    problems = [] if isinstance(document, dict) else ["not a JSON object."]
    problems += [f"{each.field}: {each.message} {each.remedy}" for each in dialect_problems(document or {}, "")]
    if problems:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="dialect", reason=" ".join(problems),
            hint="Write for instance '{\"delimiter\": \";\", \"decimalChar\": \",\"}'.",
        )  # fmt: skip
    assert isinstance(document, dict)
    return document
