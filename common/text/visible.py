r"""Texts of somebody else's making, shown so that nothing in them acts, hides or passes for a line of our own.

What would act on a terminal or a page, or could not be seen there, is shown as an escape of JSON: a control character
as ``\u001b``, a mark that turns the direction of writing as ``\u202e``, a space of no width as ``\u200b``, a line
end as ``\n``. So is what follows the first four accents of a letter, and within a line the first three spaces of a
gap. A visible text stays as it is when it is made visible again.
"""

from __future__ import annotations

import json
import re
import unicodedata

LONGEST_TEXT = 1500
"""Most characters of a text that another member sends to be read by people."""

MOST_MARKS, MOST_SPACES = 4, 3
"""Most marks in a row that are set over, under or through a letter; most spaces in a row within a line."""

HIDDEN = frozenset(
    map(
        chr,
        (
            *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x3164, *range(0xFE00, 0xFE10), 0xFFA0),
            *range(0xE0100, 0xE01F0),
            *(0x2800, 0x16FE4, 0x1D159),
        ),
    )
)
"""Letters and marks, by their category, that show nothing.

The last three are a pattern, a filler and a note without ink. The others are Default_Ignorable_Code_Point in Unicode's
DerivedCoreProperties; all others of that property are format characters or not assigned, and so not printable.
"""

_GAP = re.compile(rf"(?<=\S)(\s{{{MOST_SPACES}}})(\s+)")


def in_line(text: str) -> str:
    """The text as a part of one line; the same if there is nothing in it that could not be seen.

    A wide gap would let a terminal that folds the line begin the next one with what follows. At the start it is ours.
    """
    return _GAP.sub(lambda gap: gap[1] + "".join(map(_escape, gap[2])), _seen(text))


def in_lines(text: str) -> str:
    """The same for a text whose line ends and gaps are meant."""
    return "\n".join(map(_seen, text.split("\n")))


def cut(text: str, longest: int = LONGEST_TEXT) -> str:
    """The text, or its start and three dots: no more characters than ``longest``."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def _seen(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    shown, marks = [], 0
    for sign in text:
        kind = unicodedata.category(sign)
        marks = marks + 1 if kind[0] == "M" else 0
        # Spaces of other widths are no line ends, and stand in ordinary text.
        plain = (sign.isprintable() or kind == "Zs") and sign not in HIDDEN and marks <= MOST_MARKS
        shown.append(sign if plain else _escape(sign))
    return "".join(shown)


def _escape(sign: str) -> str:
    return r"\u0020" if sign == " " else json.dumps(sign)[1:-1]
