"""Settings of algorithms: fields of a dataclass, each declared once with its type, range, default and meaning.

From this follow reading, ``privity algorithms NAME``, docs/algorithms/settings.md and the keyword arguments in Python.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any

from privity.common.data.regression_formula import MOST_FORMULAS, Formula, read_formula, regression_of
from privity.common.data.schema import Schema
from privity.common.errors import PrivityError
from privity.common.privacy.budget import exact_number, readable
from privity.common.text.short_values import shorten

LARGEST = "1000"
"""Number, unless its setting says otherwise."""

EXAMPLE = '["income ~ age + sex + C(region)"]'

NOISE = "from the noise"
STRENGTH = "Cramer's V of the weakest association that gets an edge; the number of edges follows"


class BadValueError(Exception):
    """A value that a setting cannot have: what is wrong with it, and what to write."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message, remedy)


@dataclass(frozen=True)
class Setting:
    """How one setting was declared.

    Attributes:
        read: a value of a plain document, given the schema; raises BadValueError.
        default: as in a document; None if what holds follows from something else.
        rule: what a fault is called.
        type, allowed, meaning, by_default: type, range, meaning and default in words, a line each.
    """

    read: Callable[[Any, Schema], Any]
    default: Any
    rule: str
    type: str
    allowed: str
    meaning: str
    by_default: str

    @property
    def told(self) -> str:
        """All of it in one line."""
        return f"{self.meaning} ({self.type}: {self.allowed}; by default {self.by_default})"


def weight(default: str | None, meaning: str, most: str = LARGEST, *, zero: bool = False, by_default: str = "") -> Any:
    """A positive exact number, such as "1/4" or 0.25; 0 too if so declared."""
    largest = Fraction(most)

    def read(value: Any, _schema: Schema) -> Fraction:
        try:
            number = exact_number(value)
        except ValueError:
            number = Fraction(-1)
        if number > largest or not (number >= 0 if zero else number > 0):
            message = f"{value!r} is not a number above 0, at most {readable(largest)}."
            raise BadValueError(message, 'Write for instance 0.25 or "1/4".')
        return number

    allowed = f"0 to {largest}" if zero else f"above 0, at most {largest}"
    how = Setting(read, default, "weight", "exact number", allowed, meaning, by_default)
    return _field(how, None if default is None else Fraction(default))


def whole(
    default: int | None,
    meaning: str,
    smallest: int,
    most: int | tuple[str, Callable[[Schema], int]],
    *,
    by_default: str = "",
) -> Any:
    """A whole number, both ends included; the larger one may follow from the schema, in words and by a function."""
    words, largest_of = most if isinstance(most, tuple) else (str(most), lambda _schema: most)

    def read(value: Any, schema: Schema) -> int:
        largest = largest_of(schema)
        if isinstance(value, bool) or not isinstance(value, int) or not smallest <= value <= largest:
            raise BadValueError(f"{value!r} is out of range.", f"Write a number from {smallest} to {largest}.")
        return value

    how = Setting(read, default, "range", "whole number", f"{smallest} to {words}", meaning, by_default)
    return _field(how, default)


def choice(default: str | None, meaning: str, options: Sequence[str], *, by_default: str = "") -> Any:
    """One of some texts."""
    *others, last = map(json.dumps, options)
    how = Setting(
        lambda value, _schema: _one_of(value, options),
        default, "choice", "text", f"{', '.join(others)} or {last}", meaning, by_default,
    )  # fmt: skip
    return _field(how, default)


def attribute_name(meaning: str, *, by_default: str) -> Any:
    """The name of an attribute of the schema, or none."""
    how = Setting(
        lambda value, schema: _one_of(value, schema.names),
        None, "choice", "text", "name of an attribute", meaning, by_default,
    )  # fmt: skip
    return _field(how, None)


def formulas(meaning: str) -> Any:
    """Formulas of regressions over the schema."""

    def read(value: Any, schema: Schema) -> tuple[Formula, ...]:
        texts = value if isinstance(value, list | tuple) and all(isinstance(text, str) for text in value) else []
        if not 0 < len(texts) <= MOST_FORMULAS or len({*texts}) < len(texts):
            message = f"{shorten(str(value))} is no list of 1 to {MOST_FORMULAS} formulas, each another one."
            raise BadValueError(message, f"Write {EXAMPLE}.")
        found, faults, hints = [], [], dict[str, None]()
        for text in texts:
            try:
                found.append(read_formula(text, schema, midpoints=True))
                regression_of(found[-1], schema)
            except PrivityError as error:
                faults.append(f"{shorten(text)}: {error.fields['reason']}")
                hints[str(error.fields["hint"])] = None
        if faults:
            raise BadValueError(f"{'; '.join(faults)}.", " ".join(hints))
        return tuple(found)

    how = Setting(read, None, "formula", "list of texts", f"1 to {MOST_FORMULAS} formulas", meaning, "none")
    return _field(how, None)


def _one_of(value: Any, options: Sequence[str]) -> str:
    if value not in options:
        raise BadValueError(f"{value!r} is unknown.", f"Write one of: {', '.join(options)}.")
    return str(value)


def text(default: str, meaning: str, check: Callable[[str], object], allowed: str) -> Any:
    """A text that ``check`` accepts; its ValueError says what is wrong with another."""

    def read(value: Any, _schema: Schema) -> str:
        try:
            check(value if isinstance(value, str) else "")
        except (ValueError, ZeroDivisionError) as error:
            raise BadValueError(f"{value!r}: {error}.", f"Write for instance {default!r}.") from None
        return str(value)

    return _field(Setting(read, default, "text", "text", allowed, meaning, ""), default)


def document(meaning: str, allowed: str) -> Any:
    """Settings of another algorithm, which reads them."""

    def read(value: Any, _schema: Schema) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise BadValueError(f"{value!r} holds no settings.", "Write a JSON object.")
        return value

    return _field(Setting(read, None, "document", "JSON object", allowed, meaning, "{}"), None)


def _field(how: Setting, default: Any) -> Any:
    if not how.by_default:
        how = replace(how, by_default=json.dumps(how.default))
    return field(default=default, metadata={"setting": how})


def declared(settings: type[Any]) -> dict[str, Setting]:
    """The settings of such a dataclass by name."""
    return {each.name: each.metadata["setting"] for each in fields(settings)}
