"""Arguments of the Python face that a command takes as options: checked by name, and written as the options are."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

from privity.common.errors import Catalogue, PrivityError, ProblemsFound
from privity.common.formats.given_values import bad_option
from privity.common.protocol.declared_options import Option, Taker, options_of
from privity.common.protocol.run_terms import AUTO
from privity.common.runs.automatic_choice import check_automatic
from privity.common.runs.run_request import RunRequest, request_document
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.text import terminal
from privity.common.text.short_values import shorten
from privity.deploy.operator.live_progress import ProgressView
from privity.given import plain

Found = TypeVar("Found")


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
        raise bad_option(told["option"].replace("-", "_"), told["reason"], told["hint"]) from None


def _named(text: str) -> str:
    return re.sub(r"(?<!\S)--([a-z][a-z-]*)", lambda option: option[1].replace("-", "_"), text)


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
        raise bad_option("algorithm", f"{shorten(str(algorithm))} is unknown", hint)
    if unknown := ALGORITHMS[algorithm].unknown(settings):
        raise ProblemsFound(unknown)
    return {name: plain(value) for name, value in settings.items()}


def takes_run_arguments(taker: Taker) -> Callable[[Callable[..., Found]], Callable[..., Found]]:
    """Give a function the options of a run as arguments, and the request that they make as its argument ``asked``.

    What is left over are settings of the algorithm. ``src/privity/__init__.pyi`` tells type checkers the same.
    """

    def decorate(function: Callable[..., Found]) -> Callable[..., Found]:
        options = {name: each for name, each in options_of(RunRequest, taker).items() if name != "settings"}
        own = inspect.signature(function)
        others = [each for each in own.parameters.values() if each.name != "asked"]
        parameters = [each for each in others if each.kind is not each.KEYWORD_ONLY]
        parameters += [_parameter(name, option) for name, option in options.items()]
        parameters += [each for each in others if each.kind is each.KEYWORD_ONLY]
        settings = inspect.Parameter("settings", inspect.Parameter.VAR_KEYWORD, annotation="Any")
        signature = own.replace(parameters=[*parameters, settings])

        @wraps(function)
        def call(*arguments: Any, **named: Any) -> Found:
            given = signature.bind(*arguments, **named).arguments
            of_algorithm = given.pop("settings", {})
            asked = {name: value for name in options if (value := given.pop(name, None)) is not None}
            with as_arguments():
                asked["settings"] = algorithm_settings(asked.get("algorithm", AUTO), of_algorithm)
                request = request_document(asked)
            return function(**given, asked=request)

        call.__signature__ = signature  # type: ignore[attr-defined]
        told = [f"{name}: {option.told}." for name, option in options.items()]
        call.__doc__ = inspect.cleandoc(function.__doc__ or "").replace("{options}", "\n    ".join(told))
        return call

    return decorate


def _parameter(name: str, option: Option) -> inspect.Parameter:
    empty = inspect.Parameter.empty
    default = empty if option.is_required and option.default is None else option.default
    annotation = f"{option.kind.python} | None" if default is None else option.kind.python
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


@contextmanager
def progress_of(title: str, *, shown: bool) -> Iterator[ProgressView]:
    """What shows a run's progress: in a terminal a table, elsewhere a line a phase; or, if not shown, nothing."""
    console = terminal.console(err=True)
    console.quiet = not shown
    with ProgressView(console, title) as view:
        yield view
