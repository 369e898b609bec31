"""Which of our algorithms the comparison at equal guarantee runs, and with which settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from privity.common.data.schema import Schema
from privity.common.errors import PrivityError
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.inference.fit_choice import INFERENCES


@dataclass(frozen=True)
class Method:
    """An algorithm of the registry with settings."""

    algorithm: str
    settings: Mapping[str, Any] = field(default_factory=dict)


COMPARED: dict[str, Method] = {
    "mst": Method("mst"),
    "aim": Method("aim"),
    "dp-subn": Method("dp-subn"),
    "privbayes": Method("privbayes"),
    "one-way": Method("one-way"),
}
"""Name in the tables -> what is run; over every epsilon, guarantee and K. The last one has no structure."""

SLOW: dict[str, Method] = {"aim, 8 MiB model": Method("aim", {"cells": 1 << 20})}
"""With more time than by default; at one party."""

SELECTIONS: dict[str, Method] = {
    f"{name}, {text}": Method(name, {"selection": value})
    for name in ("mst", "aim")
    for value, text in (("parties", "drawn at the parties"), ("joint", "joint selection"))
}
"""Run where parties are unlike each other, and where they are alike."""

UNLIKE = (*SELECTIONS, *(m for m in COMPARED if m not in {one.algorithm for one in SELECTIONS.values()}))
"""What is run over unlike parties."""


def fit_name(algorithm: str, fit: str) -> str:
    """The name in FITS."""
    return f"{algorithm}, fit {fit}"


FITS: dict[str, Method] = {
    fit_name(name, fit): Method(name, {"inference": fit})
    for name, algorithm in ALGORITHMS.items()
    if algorithm.infers
    for fit in INFERENCES
}
"""Every algorithm that may end in one fit or the other, with both."""

METHODS: dict[str, Method] = {**COMPARED, **SLOW, **SELECTIONS, **FITS}
ONE_WAY = "one-way"


def refusal(name: str, schema: Schema) -> str | None:
    """Why the registry does not run a method, or None if it does."""
    method = METHODS[name]
    if method.algorithm not in ALGORITHMS:
        return f"there is no algorithm {method.algorithm!r}"
    try:
        ALGORITHMS[method.algorithm].check(method.settings, schema)
    except PrivityError as error:
        return " ".join(error.message.split())
    return None
