"""Arguments of the Python face that a command takes as options: checked by name, and written as the options are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from typing import Any, TypeVar

from privity.common.errors import Catalogue, PrivityError, ProblemsFound
from privity.common.runs.automatic_choice import AUTO, check_automatic
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.text import terminal
from privity.common.text.short_values import shorten
from privity.deploy.operator.live_progress import ProgressView
from privity.given import plain

Option = TypeVar("Option", bound=Enum)


def bad_argument(name: str, reason: str, hint: str) -> PrivityError:
    """What is wrong with an argument, and what to give."""
    return PrivityError(Catalogue.BAD_OPTION, option=name, reason=reason, hint=hint)


@contextmanager
def as_arguments() -> Iterator[None]:
    """What a command says of its options, said of arguments: ``key_bits`` for ``--key-bits``."""
    try:
        yield
    except ProblemsFound as error:
        if type(error) is not ProblemsFound:
            raise
        problems = error.problems
        raise ProblemsFound(
            replace(p, field=_named(p.field), message=_named(p.message), remedy=_named(p.remedy)) for p in problems
        ) from None
    except PrivityError as error:
        if error.kind is not Catalogue.BAD_OPTION:
            raise
        told = {name: _named(str(value)) for name, value in error.fields.items()}
        raise bad_argument(told["option"].replace("-", "_"), told["reason"], told["hint"]) from None


def _named(text: str) -> str:
    return re.sub(r"(?<!\S)--([a-z][a-z-]*)", lambda option: option[1].replace("-", "_"), text)


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
        raise bad_argument(name, f"{shorten(str(value))} is no whole number from {least} on", f"Give {least} or more.")
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
    raise bad_argument(name, f"{shorten(str(value))} is no list of names", "Give a list of texts.")


def one_of(name: str, value: object, kind: type[Option]) -> Option:
    """A member of an enumeration, or its text.

    Raises:
        PrivityError: bad-option.
    """
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(repr(member.value) for member in kind)
        raise bad_argument(name, f"{shorten(str(value))} is unknown", f"Give one of: {known}.") from None


def algorithm_settings(algorithm: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of an algorithm as a plain document: exact numbers as texts.

    Raises:
        PrivityError: bad-option: no such algorithm, or settings of one that is yet to be chosen.
        ProblemsFound: each setting that it does not have.
    """
    if algorithm == AUTO:
        check_automatic(settings)
        return {}
    if algorithm not in ALGORITHMS:
        hint = f"Give one of: {', '.join(map(repr, (AUTO, *ALGORITHMS)))}."
        raise bad_argument("algorithm", f"{shorten(str(algorithm))} is unknown", hint)
    if unknown := ALGORITHMS[algorithm].unknown(settings):
        raise ProblemsFound(unknown)
    return {name: plain(value) for name, value in settings.items()}


def request_settings(settings: Mapping[str, Any]) -> str:
    """Plain settings as the option of a command has them.

    Raises:
        PrivityError: bad-option: a value that no setting can have.
    """
    try:
        return json.dumps(settings)
    except TypeError as error:
        raise bad_argument("settings", f"a value cannot be written: {error}", "Give texts and numbers.") from None


@contextmanager
def progress_of(title: str, *, shown: bool) -> Iterator[ProgressView]:
    """What shows a run's progress: in a terminal a table, elsewhere a line a phase; or, if not shown, nothing."""
    console = terminal.console(err=True)
    console.quiet = not shown
    with ProgressView(console, title) as view:
        yield view
