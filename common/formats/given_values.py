"""Values that people give by a name, as options of a command or arguments in Python: checked, one by one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, TypeVar

from privity.common.errors import Catalogue, PrivityError
from privity.common.text.short_values import shorten

Member = TypeVar("Member", bound=Enum)


def bad_option(name: str, reason: str, hint: str) -> PrivityError:
    """What is wrong with an option, and what to give."""
    return PrivityError(Catalogue.BAD_OPTION, option=name, reason=reason, hint=hint)


def whole_number(name: str, value: object, least: int) -> int:
    """A whole number.

    Raises:
        PrivityError: bad-option.
    """
    try:
        number = value.__index__() if not isinstance(value, bool) else None  # type: ignore[attr-defined]
    except AttributeError:
        number = None
    if number is None or number < least:
        raise bad_option(name, f"{shorten(str(value))} is no whole number from {least} on", f"Give {least} or more.")
    return int(number)


def names_in(name: str, value: object) -> list[str]:
    """Names, of which one may stand alone.

    Raises:
        PrivityError: bad-option.
    """
    if isinstance(value, str):
        return [value]
    names: list[object] = list(value) if isinstance(value, Iterable) else [None]
    texts = [each for each in names if isinstance(each, str)]
    if len(texts) == len(names):
        return texts
    raise bad_option(name, f"{shorten(str(value))} is no list of names", "Give a list of texts.")


def one_of(name: str, value: object, kind: type[Member]) -> Member:
    """A member of an enumeration, or its text.

    Raises:
        PrivityError: bad-option.
    """
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(repr(member.value) for member in kind)
        raise bad_option(name, f"{shorten(str(value))} is unknown", f"Give one of: {known}.") from None


def plain_settings(name: str, value: object) -> dict[str, Any]:
    """Settings by name, or their JSON: a plain document.

    Raises:
        PrivityError: bad-option.
    """
    try:
        parsed = json.loads(value if isinstance(value, str) else json.dumps(value), parse_float=str)
    except TypeError as error:
        raise bad_option(name, f"a value cannot be written: {error}", "Give texts and numbers.") from None
    except ValueError:
        parsed = None
    if not isinstance(parsed, Mapping):
        raise bad_option(name, "not a JSON object", "Write for instance '{\"largest_degree\": 2}'.")
    return dict(parsed)
