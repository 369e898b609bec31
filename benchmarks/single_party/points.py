"""What the sweep over PrivBayes measures: methods, points, seeds, tasks and the targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from privity.common.data.schema import Schema
from privity.common.synthesis.inference.fit_choice import TABLES


@dataclass(frozen=True)
class Method:
    """An algorithm of the registry with settings; exact draws or tables are for the source of error alone."""

    algorithm: str
    settings: dict[str, Any] = field(default_factory=dict)
    exact_draws: bool = False
    exact_tables: bool = False

    @property
    def asked(self) -> dict[str, Any]:
        """With the light fit, whose model is the network itself: that is what is looked at."""
        return {"inference": TABLES, **self.settings} if self.algorithm == DEFAULT else self.settings


DEFAULT, ONE_WAY = "privbayes", "one-way"
PAPER_BETA = "0.3"
BETAS = ("0.05", "0.1", "0.2", "0.3", "0.5", "0.7", "0.9")
THETAS = ("0.5", "1", "2", "3", "4", "6", "8", "12")
PARAMETER_EPSILONS = ("0.1", "0.4", "1.6")

SCORES = {
    f"{score}{', no noise' if exact else ''}": Method(
        "privbayes", {"score": score, "beta": PAPER_BETA, "encoding": "vanilla"}, exact_draws=exact
    )
    for exact in (False, True)
    for score in "FRI"
}
"""Of Figure 4, with beta of the paper, so that all scores may take the same tables; I without noise is NoPrivacy."""

DEFAULT_SCORES = {f"{score}, default beta": Method("privbayes", {"score": score}) for score in "FRI"}
ENCODINGS = {
    "vanilla-R": Method("privbayes", {"encoding": "vanilla"}),
    "binary-F": Method("privbayes", {"encoding": "binary"}),
    "gray-F": Method("privbayes", {"encoding": "gray"}),
}
"""The hierarchical one is the default."""
IN_BITS = ("binary-F", "gray-F")
SLOW_BITS = ("0.8", "1.6")
"""Epsilons at which a network of bits takes most of a minute: one seed."""

SOURCES = {
    "best network": Method("privbayes", exact_draws=True),
    "best tables": Method("privbayes", exact_tables=True),
    "no noise": Method("privbayes", exact_draws=True, exact_tables=True),
}
BY_BETA = {f"beta {beta}": Method("privbayes", {"beta": beta}) for beta in BETAS}
BY_THETA = {f"theta {theta}": Method("privbayes", {"theta": theta, "beta": PAPER_BETA}) for theta in THETAS}

METHODS: dict[str, Method] = {
    DEFAULT: Method("privbayes"),
    ONE_WAY: Method("one-way"),
    **{f"score {name}": method for name, method in SCORES.items()},
    **DEFAULT_SCORES,
    **ENCODINGS,
    **SOURCES,
    **BY_BETA,
    **BY_THETA,
}

REAL_ROWS, MAJORITY, ERM, ERM_SINGLE = "real rows", "majority", "PrivateERM", "PrivateERM, one task"
EPSILONS = ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6")
WAYS = {True: (3, 4), False: (2, 3)}
"""Whether all attributes are binary -> sizes of the marginals, as in the paper."""

TARGET_DATA = "adult"
TARGETS = (("0.4", "mean2", 0.078), ("1", "mean2", 0.053), ("1.6", "mean2", 0.047))
LARGEST_TARGETS = (("0.4", "largest2", 0.30), ("1", "largest2", 0.20))
MOONSHOTS = (("0.1", 0.10), ("0.4", 0.055), ("1", 0.040), ("1.6", 0.035))
TARGET_EPSILONS = ("0.1", "0.4", "1", "1.6")
SCORE_DATA = "nltcs"
SCORE_EPSILONS = ("0.1", "0.4", "1.6")


@dataclass(frozen=True)
class Point:
    """One setting of the sweep.

    Attributes:
        kind: ``whole`` (a model of all rows, distances and information), ``held out`` (a model of 80 % of them, and
            classifiers trained on its sample besides), ``marginals`` (a rival's tables) or ``classifier``.
        method: a name in ``METHODS``, of a baseline, or of a classifier.
        way: attributes of a marginal, for ``marginals``.
    """

    kind: str
    data: str
    method: str
    epsilon: str
    way: int = 0

    def __str__(self) -> str:
        way = f", {self.way}-way" if self.way else ""
        return f"{self.data}: {self.kind}, {self.method}{way}, eps {self.epsilon}"


def scores_of(*, binary: bool) -> list[str]:
    """Names in ``SCORES`` for attributes that are binary or not."""
    return [name for name in SCORES if binary or not name.startswith("F")]


def is_binary(schema: Schema) -> bool:
    return set(schema.domain) == {2}


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    epsilons: tuple[str, ...] = EPSILONS
    parameter_epsilons: tuple[str, ...] = PARAMETER_EPSILONS
    seeds: int = 3
    target_seeds: int = 10
    bits: bool = True

    def points(self, data: str, schema: Schema, baselines: Sequence[str]) -> dict[Point, int]:
        """Every point of one table with its number of seeds."""
        binary = is_binary(schema)
        many = max(self.seeds, self.target_seeds)
        whole = [DEFAULT, ONE_WAY, *(f"score {name}" for name in scores_of(binary=binary))]
        points = {Point("whole", data, m, e): self.seeds for m in whole for e in self.epsilons}
        if data == TARGET_DATA:
            points |= {Point("whole", data, m, e): many for m in (DEFAULT, ONE_WAY) for e in TARGET_EPSILONS}
        if binary:
            points |= {Point("whole", data, m, e): many for m in DEFAULT_SCORES for e in self.epsilons}
        for way in WAYS[binary]:
            points |= {Point("marginals", data, b, e, way): self.seeds for b in baselines for e in self.epsilons}
        held = [DEFAULT, *SOURCES, *(() if binary else ["vanilla-R"])]
        points |= {Point("held out", data, m, e): self.seeds for m in held for e in self.epsilons}
        parameters = [*BY_BETA, *BY_THETA]
        points |= {Point("held out", data, m, e): self.seeds for m in parameters for e in self.parameter_epsilons}
        for method in (MAJORITY, ERM, ERM_SINGLE):
            points |= {Point("classifier", data, method, e): self.seeds for e in self.epsilons}
        points[Point("classifier", data, REAL_ROWS, "-")] = self.seeds
        if not binary and self.bits:
            slow = {e: 1 if e in SLOW_BITS else self.seeds for e in self.epsilons}
            points |= {Point("held out", data, m, e): seeds for m in IN_BITS for e, seeds in slow.items()}
        return points


QUICK = Plan(epsilons=("0.2", "0.8"), parameter_epsilons=("0.2",), seeds=1, target_seeds=2, bits=False)
"""A small plan that shows most tables and pictures within two minutes."""
