"""Options that several commands share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from privity.common.crypto.residues import Exponents
from privity.common.data.dialect import dialect_option
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.secure_sum_method import USUAL_KEY_BITS, Method, SumKind, sum_kind
from privity.common.runs.automatic_choice import AUTO
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.inference.fit_choice import INFERENCES
from privity.party.sources.source_settings import RowSettings

KEY_BITS = (2048, USUAL_KEY_BITS, 4096)


def settings_option(text: str) -> dict[str, Any]:
    """An algorithm's settings from JSON text."""
    try:
        parsed = json.loads(text, parse_float=str)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise PrivityError(
            Catalogue.BAD_OPTION, option="settings", reason="not a JSON object",
            hint="Write for instance '{\"largest_degree\": 2}'.",
        )  # fmt: skip
    return parsed


def learning_settings(algorithm: str, text: str, inference: str | None) -> dict[str, Any]:
    """An algorithm's settings from JSON text, and from an option that is short for one of them.

    Raises:
        PrivityError: bad-option: an algorithm without that setting, a fit that there is not, or two different ones.
    """
    settings = settings_option(text)
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
        raise PrivityError(Catalogue.BAD_OPTION, option="inference", reason=reason, hint=hint)
    return {**settings, "inference": inference}


DialectOption = Annotated[
    str | None,
    typer.Option(
        "--dialect",
        help="how the rows are written, as JSON; replaces single keys of the schema's dialect",
    ),
]


def row_options(
    data: str, person: str | None = None, order: str | None = None, dialect: str | None = None
) -> RowSettings:
    """Where the rows of a command are; paths are relative to the folder of now."""
    return RowSettings(data, Path(), person=person, order=order, dialect=dialect_option(dialect))


def refuse_existing(out: Path, option: str = "out") -> None:
    """What a command makes is never written over anything."""
    if out.exists():
        raise PrivityError(
            Catalogue.BAD_OPTION, option=option, reason=f"{out} exists already",
            hint="Name something that does not exist; nothing is overwritten.",
        )  # fmt: skip


def sum_options(method: Method, exponents: Exponents | None, key_bits: int | None) -> tuple[SumKind, int | None]:
    """The secure sum that was asked for, and the length of its Paillier modulus if it has one."""
    kind = sum_kind(method.value, exponents and exponents.value)
    if kind.method is Method.MASKS:
        if key_bits is not None:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="key-bits", reason="masks have no key", hint="Leave it out."
            )
        return kind, None
    if key_bits is not None and key_bits not in KEY_BITS:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="key-bits", reason=f"{key_bits} is not offered", hint="Use 2048, 3072 or 4096."
        )
    return kind, key_bits or USUAL_KEY_BITS
