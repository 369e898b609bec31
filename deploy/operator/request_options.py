"""A run as its operator asks for it on the command line: by options, or by a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privity.common.errors import Problem
from privity.common.formats.given_values import bad_option, plain_settings
from privity.common.formats.toml_file import read_toml
from privity.common.privacy.budget import budget_problems
from privity.common.protocol.run_terms import AUTO
from privity.common.runs.run_request import request_document, with_defaults
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.inference.fit_choice import INFERENCES


def run_request(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The request as a document (common/formats/run_request.schema.json).

    Args:
        asked: options of a command by name, those that were given; ``spec`` is a file, which stands for all others.

    Raises:
        PrivityError: an option that cannot be.
        ProblemsFound: every fault of the file.
    """
    if (spec := asked.get("spec")) is not None:
        if set(asked) != {"spec"}:
            hint = "Leave them out, or the file."
            raise bad_option("spec", "options are given that the file already contains", hint)
        return read_spec(spec)
    return request_document({**asked, "settings": learning_settings(asked)})


def learning_settings(asked: Mapping[str, Any]) -> dict[str, Any]:
    """An algorithm's settings from the options, one of which is short for the setting ``inference``.

    Raises:
        PrivityError: bad-option: an algorithm without that setting, a fit that there is not, or two different ones.
    """
    settings = plain_settings("settings", asked.get("settings", {}))
    algorithm, inference = asked.get("algorithm", AUTO), asked.get("inference")
    if inference is None:
        return settings
    reason = ""
    if inference not in INFERENCES:
        reason, hint = f"{inference!r} is unknown", f"Use one of: {', '.join(INFERENCES)}."
    elif algorithm == AUTO:
        reason, hint = f"it is a setting of one algorithm, and it is {AUTO!r}", "Name it by --algorithm."
    elif algorithm in ALGORITHMS and not ALGORITHMS[algorithm].infers:
        able = ", ".join(name for name, known in ALGORITHMS.items() if known.infers)
        reason, hint = f"{algorithm} offers no choice of a fit", f"Leave it out, or use one of: {able}."
    elif settings.get("inference", inference) != inference:
        reason = f"it is {inference!r}, and {settings['inference']!r} in the settings"
        hint = "Leave one of them out."
    if reason:
        raise bad_option("inference", reason, hint)
    return {**settings, "inference": inference}


def read_spec(path: Path) -> dict[str, Any]:
    """A run spec that a person wrote: TOML, in the format of a run request.

    Raises:
        PrivityError: file-missing or file-unreadable.
        ProblemsFound: every fault, with its line.
    """

    def also(document: dict[str, Any]) -> list[Problem]:
        problems = budget_problems(document, str(path), ("epsilon",), ("delta",))
        name = document.get("algorithm")
        if isinstance(name, str) and name and name not in (AUTO, *ALGORITHMS):
            message, remedy = f"{name!r} is no algorithm.", f"Write one of: {', '.join((AUTO, *ALGORITHMS))}."
            problems.append(Problem(str(path), "algorithm", "known", message, remedy))
        return problems

    return with_defaults(read_toml(path, "run_request", also))
