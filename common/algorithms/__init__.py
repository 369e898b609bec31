"""Algorithms by name: async functions of a session, an epsilon and settings that return a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from fractions import Fraction
from typing import Any

from common.algorithms import dp_subn, one_way
from common.models.bayesian_network import BayesianNetwork
from common.protocol.session import Session

Learner = Callable[[Session, Fraction, Mapping[str, Any]], Awaitable[BayesianNetwork]]

LEARNERS: dict[str, Learner] = {
    "dp-subn": dp_subn.learn,
    "one-way": one_way.learn,
}
"""Every algorithm that a run may name."""
