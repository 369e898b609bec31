"""Questions on a draft to whoever sits at a terminal or in a notebook: what numbers may be, and what is public."""

from __future__ import annotations

from typing import Any

from privity.common.data.schema import parse_schema
from privity.common.data.schema_review import undeclared_in_words
from privity.common.errors import ProblemsFound
from privity.common.runs.few_rows import with_ends
from privity.common.text.terminal import agreed, answer, say

ENDS_QUESTION = (
    "  Smallest and largest possible value, with a space between them, and a number of bins if it is not to be "
    "discovered (empty: as it is)?"
)


def asked_fields(document: dict[str, Any], file: str) -> tuple[dict[str, Any], list[str]]:
    """Ask about each field that is still marked: the document with the ends that were given, and what is public."""
    declared = []
    for name in parse_schema(document, file).undeclared:
        say(f"{name}: {undeclared_in_words(parse_schema(document, file), document)[name]}")
        field = next(field for field in document["fields"] if field["name"] == name)
        if field.get("domain") == "discover" and field["type"] != "string":
            document = asked_ends(document, name, file, ENDS_QUESTION) or document
        if agreed("  Is all of that known without the rows, and so public?"):
            declared.append(name)
    return document, declared


def asked_ends(document: dict[str, Any], name: str, file: str, question: str, *bins: str) -> dict[str, Any] | None:
    """The document with the ends that a person gives when asked; None if the answer is empty.

    Args:
        bins: how many there are if the answer does not say; without any the number stays to be discovered.
    """
    while texts := _texts(answer(question)):
        try:
            return with_ends(document, name, [*texts, *bins][:3], file)
        except ProblemsFound as error:
            say(*error.problems)
    return None


def _texts(answered: str) -> list[str]:
    """Two ends of as many words each, as a time may have several, and what stands behind them."""
    words = answered.split()
    each = len(words) // 2
    return [" ".join(words[:each]), " ".join(words[each : 2 * each]), *words[2 * each :]] if each else words
