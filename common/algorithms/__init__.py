"""Algorithms by name: async functions of a session, an epsilon and settings that return a model."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from common.algorithms import dp_ccbn, dp_subn, one_way
from common.models.bayesian_network import BayesianNetwork
from common.protocol.session import Session


@dataclass(frozen=True)
class Algorithm:
    """One way to learn a model.

    Attributes:
        check: reads the plain settings, given the attributes' names; raises ProblemsFound with every
            fault, before any party is asked.
        learn: learns a model for an epsilon in all.
    """

    check: Callable[[Mapping[str, Any], Sequence[str]], object]
    learn: Callable[[Session, Fraction, Mapping[str, Any]], Coroutine[Any, Any, BayesianNetwork]]


ALGORITHMS: dict[str, Algorithm] = {
    "dp-ccbn": Algorithm(dp_ccbn.check, dp_ccbn.learn),
    "dp-subn": Algorithm(dp_subn.Settings.read, dp_subn.learn),
    "one-way": Algorithm(one_way.check, one_way.learn),
}
"""Every algorithm that a run may name."""
