"""Drafts a schema from a file, for a person to review before anybody declares it.

What is read from rows tells about the rows: see ``LEAK_WARNING``, which is to be shown with every draft. The domains of
numbers are left to be discovered under differential privacy, so that no minimum or maximum of the rows is in a draft
but a minimum of 0, which is proposed where no number is negative.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from math import floor, log10
from pathlib import Path
from typing import Any

import numpy as np

from privity.common.data.attribute import (
    FALSE_TEXTS,
    SPELLINGS,
    TRUE_TEXTS,
    UNDECLARED,
    is_double,
    read_number,
)
from privity.common.data.constant_drafts import constant_field
from privity.common.data.date_formats import EIGHT_DIGITS, days_among, declared_forms, early
from privity.common.data.dialect import Dialect, NumberMarks
from privity.common.data.file_look import Look, LookedAt
from privity.common.data.key_columns import WHY_NO_WEIGHTS, looks_like_weight
from privity.common.data.public_grid import DECIMALS
from privity.common.data.schema import FORMAT_VERSION
from privity.common.data.schema_fields import OTHER
from privity.common.data.temporal import TEMPORAL, temporal
from privity.common.data.temporal_pattern import DEFAULT
from privity.common.data.text_decisions import MOST_LISTED_TEXTS, decisions_on_texts
from privity.common.data.value_grids import number_text
from privity.common.data.value_remedies import seems_missing
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.budget import USUAL, Budget
from privity.common.text.first_few import first_few
from privity.common.text.short_values import listed, shorten

LEAK_WARNING = (
    "This draft was read from the rows, which is a leak: it is not private. A category can be one person's, and so can "
    "a text for missing values or the number of decimals. Before you share it, replace what the rows gave by what is "
    "publicly known (code lists), and only then declare it."
)

MOST_LISTED_NUMBERS = 20  # distinct numbers up to which they are listed as categories
SIGNIFICANT = 4
"""Digits of the small numbers that are kept."""

MOST_DECIMALS = 12
MARKERS = ("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NaT", "NULL", "null", "\\N")
"""Texts that mean a missing value beside other texts; beside numbers there are more."""

_CODE = re.compile(r"[+-]?0[0-9]+")
"""A number that is written with leading zeros is a code, such as that of a place."""


@dataclass(frozen=True)
class Draft:
    """A schema for a person to review.

    Attributes:
        document: of the schema.
        findings: what was decided of the columns, and what comes out otherwise than it is written, a sentence each.
    """

    document: dict[str, Any]
    findings: tuple[str, ...]

    @property
    def left_out(self) -> Sequence[str]:
        """The columns that it leaves out."""
        found: list[str] = self.document.get("leaveOut", [])
        return found


def drafted(
    look: Look,
    *,
    leave_out: Collection[str] = (),
    keep: Collection[str] = (),
    budget: Budget = USUAL,
) -> Draft:
    """A schema for a file that was looked at: its dialect, categories for few distinct values, other domains open.

    Each field is marked as read off the rows, until a person declares it public. Keys are left out, and texts of which
    nothing would be discovered.

    Args:
        leave_out, keep: columns that are, or are not, left out whatever they hold.
        budget: epsilon and delta of the release that it is drafted for; by them it forecasts what would be discovered.

    Raises:
        PrivityError: bad-option: a column that there is not, or in both; or none is left.
    """
    _check_named(look, leave_out, keep)
    document = {"format_version": FORMAT_VERSION, "name": Path(look.file).name.removesuffix(".gz").removesuffix(".csv")}
    if dialect := look.dialect.document():
        document["dialect"] = dialect
    if look.ignored:
        document["extraColumns"] = "ignore"
    open_to_both = [column for column in look.columns if column.name not in (*keep, *leave_out)]
    keys = [column.name for column in open_to_both if column.identifies]
    weights = [column.name for column in open_to_both if column.fits and looks_like_weight(column.name)]
    out = {*leave_out, *keys, *weights}
    kept = {column.name: draft_field(column, look.dialect) for column in look.columns if column.name not in out}
    constants = _constants(look, kept)
    texts = [column for column in look.columns if column.name in kept and _is_text(kept[column.name])]
    texts = [column for column in texts if column.name not in constants]
    decided = decisions_on_texts(texts, look.rows, keep, *budget)
    out |= {name for name, decision in decided.items() if decision.left_out}
    for name in (name for name, decision in decided.items() if decision.discover):
        kept[name] = {"name": name, **_open("string"), **_missing_of(kept[name])}
    if not (fields := [field for name, field in kept.items() if name not in out]):
        reason, hint = "every column would be left out", f"Keep some: --keep {shorten(look.columns[0].name)}"
        raise PrivityError(Catalogue.BAD_OPTION, option="keep", reason=reason, hint=hint)
    if left_out := [column.name for column in look.columns if column.name in out]:
        document["leaveOut"] = left_out
    marked = [{**constants.get(field["name"], field), "readOffRows": UNDECLARED} for field in fields]
    lines = [decision.line for decision in decided.values()]
    if keys:
        lines.insert(0, f'Left out as keys, by "leaveOut": {first_few(keys)}. Keep one that is none: --keep NAME.')
    if weights:
        lines.append(
            f"{first_few(weights)}: left out as survey weights: {WHY_NO_WEIGHTS}. Keep one that is none: --keep NAME."
        )
    if constants:
        said = "one value in every row, or none, and declared so: neither read nor charged"
        lines.append(f"{first_few([*constants])}: {said}.")
    others = [field for field in fields if field["name"] not in constants]
    return Draft({**document, "fields": marked}, (*lines, *recodings(look, others)))


def _constants(look: Look, kept: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Fields of columns of one value; none where nothing else is left to be read."""
    columns = {column.name: column for column in look.columns}
    tried = {name: constant_field(columns[name], field, look.rows) for name, field in kept.items()}
    found = {name: field for name, field in tried.items() if field is not None}
    return found if len(found) < len(kept) else {}


def _check_named(look: Look, leave_out: Collection[str], keep: Collection[str]) -> None:
    """Refuse names that say nothing clear."""
    known = [column.name for column in look.columns]
    for option, names in (("leave-out", leave_out), ("keep", keep)):
        if unknown := [name for name in names if name not in known]:
            reason, hint = f"the table has no {first_few(unknown)}", f"Possible: {first_few(known)}."
            raise PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=hint)
    if both := [name for name in keep if name in leave_out]:
        reason = f"{first_few(both)} would be left out, too"
        raise PrivityError(Catalogue.BAD_OPTION, option="keep", reason=reason, hint="Name each in one of the two.")


def _is_text(field: Mapping[str, Any]) -> bool:
    return bool(field["type"] == "string" and not field.get("format"))


def _missing_of(field: Mapping[str, Any]) -> dict[str, Any]:
    return {key: field[key] for key in ("missingValues",) if key in field}


def draft_field(column: LookedAt, dialect: Dialect) -> dict[str, Any]:
    """The field of a column."""
    name, marks, distinct = column.name, column.marks, sorted(column.texts)
    texts = [text for text in distinct if text not in column.missing]
    plain = [] if marks is None else [marks.plain(text) or "" for text in texts]
    if marks is not None and marks.bare and (days := days_among({text: column.texts[text] for text in texts})):
        rest = [text for text in distinct if text not in days]
        return {"name": name, **_open("date", EIGHT_DIGITS), **_missing(column, rest)}
    numbers = [Fraction(number) for text in plain if (number := read_number(text)) is not None]
    readable = numbers and len(numbers) == len(texts) and all(abs(number) < 2**60 for number in numbers)
    if marks is not None and readable and not any(_CODE.fullmatch(text) for text in texts):
        # Texts such as "1" and "1.0" are one number.
        field = _draft_numbers(set(numbers), column.codes)
        return {"name": name, **field, **_own_marks(marks, dialect), **_missing(column, column.missing)}
    nothing = [text for text in distinct if seems_missing(text)]
    if len(forms := moments_of(column)) == 1:
        values = [text for text in distinct if text not in nothing]
        return {"name": name, **forms[0], "domain": "discover", **early(forms[0], values), **_missing(column, nothing)}
    missing = [text for text in MARKERS if text in distinct]
    texts = [text for text in distinct if text not in missing]
    if texts and set(texts) <= {*TRUE_TEXTS, *FALSE_TEXTS}:
        return {"name": name, "type": "boolean", **_spelling(column), **_missing(column, missing)}
    if len(texts) > MOST_LISTED_TEXTS:
        return {"name": name, **_open("string"), **_missing(column, missing)}
    plain = [text for text in texts if not any(ord(sign) < 32 or ord(sign) == 127 for sign in text)]
    if not plain or len(plain) < len(texts):
        # A text with a line end can be no category, and no value is no domain.
        other = {"outOfDomain": "other", "other": OTHER}
        return {"name": name, "type": "string", "categories": [*plain, OTHER], **other, **_missing(column, missing)}
    return {"name": name, "type": "string", "categories": texts, **_missing(column, missing)}


def recodings(look: Look, fields: Iterable[Mapping[str, Any]]) -> list[str]:
    """What comes out otherwise than it is written, or is no value, by drafted fields: for the owner of the rows."""
    columns = {column.name: column for column in look.columns}
    drafted = [(columns[field["name"]], field) for field in fields]
    rounded = ", ".join(filter(None, (_rounded(*each) for each in drafted)))
    found = [finding for each in drafted for finding in _recoded(*each)]
    words = f'Numbers are rounded to "decimals" after the point: {rounded}. Declare more where they matter.'
    return [*found, words] if rounded else found


def _recoded(column: LookedAt, field: Mapping[str, Any]) -> list[str]:
    """Of one column."""
    name, texts = shorten(column.name), column.texts
    missing = field.get("missingValues", [])
    values = [text for text in texts if text not in missing]
    found = []
    if column.marks is not None and not field.get("bareNumber", True):
        unit = "".join(column.marks.unit(values[0]))
        found.append(
            f"{name}: {shorten(unit)} beside its numbers is left out: {shorten(values[0])} comes out as "
            f"{column.marks.plain(values[0])}. If it says more than a unit, declare the texts as categories."
        )
    if field.get("format") == EIGHT_DIGITS:
        found.append(f"{name}: its numbers of eight digits are days. If they are codes, declare them as categories.")
    if odd := [text for text in missing if not seems_missing(text)]:
        what = {"date": "days"}.get(field["type"], "numbers")
        found.append(
            f"{name}: {listed(odd)} ({_rows(texts, odd)} rows) are no {what}, and mean a missing value. Correct them "
            'if they say something, or declare categories and "outOfDomain".'
        )
    if len(missing) > 1:
        found.append(
            f"{name}: {listed(missing[1:])} ({_rows(texts, missing[1:])} rows) mean a missing value, as {missing[0]!r} "
            'does, and come out as that. Take what is a value out of "missingValues".'
        )
    if field["type"] in TEMPORAL:
        found += _of_moments(name, {text: texts[text] for text in values}, field)
    elif field["type"] == "string" and len(forms := moments_of(column)) > 1:
        written = " or ".join(each["format"] for each in forms)
        found.append(
            f"{name}: its texts are days in more than one way ({written}), so it is drafted as texts. Declare "
            f'"type": "{forms[0]["type"]}", "domain": "discover" and the "format" that is right.'
        )
    if field.get("other") == OTHER and (held := [text for text in values if text not in field.get("categories", ())]):
        found.append(
            f"{name}: {len(held)} texts with line ends or other control characters ({_rows(texts, held)} rows) become "
            f"{OTHER!r}: no category holds such a character."
        )
    if field["type"] == "boolean":
        known = SPELLINGS.get(field.get("format", ""), ("true", "false"))
        if rows := _rows(texts, [text for text in values if text not in known]):
            found.append(f"{name}: {rows} rows have another spelling of {known[0]} and {known[1]}, and come out so.")
    return found


def _rows(texts: Mapping[str, int], some: Iterable[str]) -> int:
    """How many rows have one of these texts."""
    return sum(texts[text] for text in some)


def _of_moments(name: str, texts: Mapping[str, int], field: Mapping[str, Any]) -> list[str]:
    """What a column of dates or times should say of itself, by how many rows have each of its texts."""
    keys = [field.get(key) for key in ("decimals", "timezone", "yearsFrom")]
    form = temporal(field["type"], field.get("format", DEFAULT), *keys)
    found = []
    if early(field, texts):
        found.append(
            f"{name}: its years are below 100, as in {shorten(min(texts))}. If they are short for later ones, correct "
            'the file and draft again; or else keep the "constraints", within which all days are told apart.'
        )
    if "yearsFrom" in field:
        first, last = form.years
        found.append(
            f"{name}: its years of two digits are read as {first} to {last}. If that is not right, declare another "
            'first year in "yearsFrom".'
        )
    written = {text: form.text(number) for text in texts if (number := form.read(text)) is not None}
    other = [text for text, again in written.items() if text != again]
    if other:
        zone = f", in the time zone {field['timezone']}" if "timezone" in field else ""
        found.append(
            f"{name}: {_rows(texts, other)} rows come out written otherwise{zone}, such as {shorten(other[0])} as "
            f"{shorten(written[other[0]])}."
        )
    return found


def _rounded(column: LookedAt, field: Mapping[str, Any]) -> str:
    """How many rows of a column are rounded, and to how many digits; empty if none is."""
    marks, decimals = column.marks, field.get("decimals")
    if marks is None or decimals is None:
        return ""
    rows = sum(column.texts[text] for text in column.values if _digits(marks.plain(text) or "0") > decimals)
    return f"{shorten(column.name)} ({rows} rows, to {decimals})" if rows else ""


def _open(kind: str, form: str = "") -> dict[str, Any]:
    """What is yet to be discovered."""
    return {"type": kind, **({"format": form} if form else {}), "domain": "discover"}


def moments_of(column: LookedAt) -> list[dict[str, Any]]:
    """The types and formats in which its texts are dates, times or durations, as keys of a field.

    Of several none is drafted: whether a day stands before a month is not guessed.
    """
    texts = [text for text in column.texts if not seems_missing(text)]
    return declared_forms(texts, column.name, datetime.now(UTC).year)


def _spelling(column: LookedAt) -> dict[str, Any]:
    """How most truth values are written, if it is not as they are by default."""
    rows = {form: sum(column.texts[text] for text in pair) for form, pair in SPELLINGS.items()}
    form = max(rows, key=rows.__getitem__)
    return {"format": form} if rows[form] > sum(column.texts[text] for text in ("true", "false")) else {}


def _own_marks(marks: NumberMarks, dialect: Dialect) -> dict[str, Any]:
    """What a field declares of its numbers beside the dialect."""
    found: dict[str, Any] = {}
    if marks.decimal != (dialect.decimal or ".") or marks.group not in ("", dialect.group):
        found = {"decimalChar": marks.decimal} | ({"groupChar": marks.group} if marks.group else {})
    return found if marks.bare else {**found, "bareNumber": False}


def _missing(column: LookedAt, texts: Iterable[str]) -> dict[str, Any]:
    """What means a missing value; what most rows have stands first, as it is what is written."""
    found = sorted(texts, key=lambda text: (-column.texts[text], text))
    return {"missingValues": found} if found else {}


def _draft_numbers(numbers: Collection[Fraction], codes: bool) -> dict[str, Any]:
    integers = all(number.denominator == 1 for number in numbers)
    kind = "integer" if integers else "number"
    doubles = integers or all(map(is_double, numbers))
    if codes or (len(numbers) <= MOST_LISTED_NUMBERS and doubles):
        categories = [int(number) if number.denominator == 1 else float(number) for number in sorted(numbers)]
        return {"type": kind, "categories": categories, **({} if codes else {"categoriesOrdered": True})}
    # Of counts, prices and the like the sign is known without the rows.
    bounds = {"constraints": {"minimum": 0}} if min(numbers) >= 0 else {}
    return {**_open(kind), **bounds, **({} if integers else {"decimals": _decimals(numbers)})}


def _decimals(numbers: Collection[Fraction]) -> int:
    """Digits after the point: as many as the numbers have, but no more than tell the small ones apart."""
    sizes = [abs(number) for number in numbers if number]
    singles = [_single(number) for number in numbers]
    exact = [single for single in singles if single is not None] if None not in singles else list(numbers)
    wanted = max(_digits(number_text(number)) for number in exact)
    small = sorted(sizes)[len(sizes) // 20]
    return min(wanted, MOST_DECIMALS, max(DECIMALS, SIGNIFICANT - floor(log10(small))))


def _single(number: Fraction) -> Fraction | None:
    """The shortest decimal of a number of single precision that was written as one of double precision."""
    single = np.float32(float(number))
    return Fraction(str(single)) if float(single) == float(number) else None


def _digits(text: str) -> int:
    """Digits after the point that a number has."""
    number = read_number(text)
    exponent = Decimal(text).normalize().as_tuple().exponent if number is not None else 0
    return max(0, -exponent) if isinstance(exponent, int) else 0
