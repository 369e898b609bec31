"""Columns that tell persons or things apart, survey weights, and codes in digits: for proposals to the data owner only.

A key is no attribute: a draft leaves it out. A code in digits is no number: between two of them there is nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import gcd

from privity.common.text.short_values import shorten

LEAST_ROWS = 100
"""From which a column may seem to hold keys or codes."""

LEAST_VALUES = 20
"""Different values, of which a column of keys or codes has more."""

MOST_LISTED = 256
"""Codes up to which they are listed as categories."""

NEARLY = 0.9
"""Part of the different values that are words with a digit in them, where they are keys."""

ROWS_A_CODE = 5
"""At least, on the average."""

GAPS = 2
"""Whole numbers between the first and the last code, for each code: at least so many."""

LEAST_DIGITS, MANY_DIGITS = 4, 8
"""Of codes; and of numbers of one length that count nothing."""

KEYS = frozenset(("id", "ids", "key", "uuid", "guid", "identifier", "pid", "ssn", "mrn"))
NUMBERS = frozenset(("number", "no", "nr", "num", "code"))
PERSONS = frozenset(
    ("person", "patient", "player", "customer", "client", "user", "member", "subject", "participant", "respondent",
     "employee", "student", "pupil", "donor", "pid", "ssn", "mrn")
)  # fmt: skip
TIMES = frozenset(("year", "month", "week", "day", "date", "time"))
"""Words of names of columns."""

WEIGHTS = frozenset(("weight", "weights", "wt", "wts", "wgt", "wgts"))
OF_SURVEYS = frozenset(
    ("survey", "sample", "sampling", "design", "person", "household", "final", "replicate", "probability",
     "population", "expansion", "respondent", "interview")
)  # fmt: skip
NAMED_WEIGHTS = frozenset(
    ("fnlwgt", "finalwgt", "finalwt", "pweight", "pwgtp", "perwt", "hhwt", "svywt", "wtfa", "wtper", "pworwgt",
     "pwsswgt", "marsupwt", "asecwt", "wtmec2yr", "wtint2yr", "llcpwt")
)  # fmt: skip
"""Of columns that say how many people a row stands for."""

WHY_NO_WEIGHTS = (
    "a row would stand for as many people as its weight says, so that one row could change a count by thousands, and "
    "no noise is made for that; as a number like others its sum over synthetic rows means nothing"
)

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_CODE = re.compile(r"(?=\S*[0-9])[\w.:/-]{4,64}", re.ASCII)
"""A word with a digit in it."""


@dataclass(frozen=True)
class KeyLook:
    """What a column seems to hold.

    Attributes:
        codes: whether it holds codes that may be listed; otherwise it holds keys, or too many codes.
        repeats: whether several rows have the same key.
        finding: what the owner should know.
    """

    codes: bool
    repeats: bool
    finding: str


def looked_for_keys(name: str, values: Mapping[str, int], whole: Sequence[int] | None, rows: int) -> KeyLook | None:
    """What a column seems to hold, if it is keys or codes.

    Args:
        values: how many rows have each of its texts; without those that mean no value.
        whole: the texts as whole numbers; None if they are not.
    """
    different, there = len(values), sum(values.values())
    if there < LEAST_ROWS or different <= LEAST_VALUES:
        return None
    named = shorten(name)
    if different == there == rows:
        return KeyLook(False, False, f"{named} looks like an identifier: every row has another value.")
    # What follows is of columns whose values repeat.
    words = [word.lower() for word in _WORD.findall(name)]
    of_person = not PERSONS.isdisjoint(words)
    said = bool(words) and TIMES.isdisjoint(words) and (
        words[-1] in KEYS or (of_person and words[-1] in NUMBERS) or (of_person and len(words) == 1)
    )  # fmt: skip
    lengths = {len(str(number)) for number in whole or ()}
    alike = len(lengths) == 1 and min(lengths) >= LEAST_DIGITS and _cells(whole or ()) >= GAPS * different
    coded = whole is None and sum(map(bool, map(_CODE.fullmatch, values))) >= NEARLY * different
    listed = different <= MOST_LISTED
    key = said or (alike and min(lengths) >= MANY_DIGITS) or (coded and not listed)
    share = f"{different} different values in {there} rows, up to {max(values.values())} rows each"
    if alike and different * ROWS_A_CODE <= there and not (said and of_person):
        many = "" if listed else ", too many to list"
        meant = 'It is drafted as categories; if it counts or measures, declare "domain": "discover".' if listed else ""
        of = f"whole numbers of {min(lengths)} digits with gaps between them"
        return KeyLook(listed, key, f"{named} looks like codes{many}: {share}, {of}. {meant}".rstrip())
    if not key or (whole is None and listed and not of_person):
        return None
    return KeyLook(False, True, f"{named} looks like a key whose values repeat: {share}.")


def looks_like_weight(name: str) -> bool:
    """Whether a column's name is that of a survey weight."""
    words = [word.lower() for word in _WORD.findall(name)]
    named = bool(words) and words[-1] in WEIGHTS and not OF_SURVEYS.isdisjoint(words)
    return named or "".join(words) in NAMED_WEIGHTS


def of_persons(names: Sequence[str]) -> str:
    """What to do if the values of columns of keys that repeat are persons."""
    which = names[0] if len(names) == 1 else "COLUMN"
    return (
        f"If the values of {' or '.join(map(shorten, names))} are persons, a person has several rows, and one row a "
        "person would promise too much: declare the population with --rows-per-person, and give the commands that read "
        f"the rows --person {which} and --order (docs/sources.md)."
    )


def _cells(numbers: Sequence[int]) -> int:
    """How many numbers there would be without gaps: from the first to the last, in the steps in which they stand."""
    low, high = min(numbers), max(numbers)
    return (high - low) // (reduce(gcd, (number - low for number in numbers)) or 1) + 1
