"""The ends and bins of open numbers, as a person answers or gives them to ``privity schema draft`` and ``review``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from privity.asked_fields import asked_ends
from privity.common.data.schema import Schema, parse_schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.budget import USUAL, Budget
from privity.common.runs.few_rows import DECLARED_BINS, hidden_numbers, in_words, with_ends
from privity.common.text.first_few import FEW
from privity.common.text.terminal import say

PLACEHOLDERS = "SMALLEST,LARGEST"


def asked_of_few_rows(document: dict[str, Any], rows: int, file: str, budget: Budget) -> dict[str, Any]:
    """Ask for the ends of the numbers that so few rows would not tell, one by one: bins of one make noise less."""
    left_open: set[str] = set()
    if names := hidden_numbers(parse_schema(document, file), rows, budget):
        say(in_words(names, rows, budget), err=True)
    while rest := [
        name for name in hidden_numbers(parse_schema(document, file), rows, budget) if name not in left_open
    ]:
        question = f"{rest[0]}: smallest and largest possible value, with a space between them (empty: leave it open)?"
        found = asked_ends(document, rest[0], file, question, str(DECLARED_BINS))
        if found is None:
            left_open.add(rest[0])
        else:
            document = found
    return document


def tell_few_rows(schema: Schema, rows: int, file: str, budget: Budget = USUAL) -> None:
    """Say which numbers so few rows would not tell, and the command that mends it."""
    if not (names := hidden_numbers(schema, rows, budget)):
        return
    options = " ".join(f"--bins {shlex.quote(f'{name}={PLACEHOLDERS},{DECLARED_BINS}')}" for name in names[:FEW])
    more = " ... (and so on)" if len(names) > FEW else ""
    say(f"{in_words(names, rows, budget)} So: privity schema review {shlex.quote(file)} {options}{more}", err=True)


def with_given_bins(document: dict[str, Any], given: Sequence[str], file: str) -> dict[str, Any]:
    """The document with the bins that options give, each as ``NAME=SMALLEST,LARGEST,BINS``.

    Raises:
        PrivityError, ProblemsFound: bad-option: another form, or no such field; ends that do not fit.
    """
    names = [field["name"] for field in document["fields"]]
    for text in given:
        name, _, ends = text.rpartition("=")
        texts = ends.split(",")
        if name not in names or len(texts) != 3:
            reason = f"{text!r} is no NAME={PLACEHOLDERS},BINS of a field"
            raise PrivityError(
                Catalogue.BAD_OPTION, option="bins", reason=reason, hint="Write for example --bins age=0,120,10."
            )
        document = with_ends(document, name, texts, file)
    return document
