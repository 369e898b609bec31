"""A party's figures for Prometheus, for its owner; docs/observability.md says of each why it is harmless."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from prometheus_client import CollectorRegistry, Counter, Gauge

from privity.common.errors import PrivityError
from privity.common.node.metrics_page import known_code
from privity.common.node.tls_check import Stage
from privity.common.privacy.ledger import Ledger
from privity.common.protocol.steps import Pending, Refusal, Step


class PartyMetrics:
    """Counters, fed where things happen, and the budget, looked up when somebody asks.

    Args:
        ledger: says what was spent on the population in all, and its total.
    """

    def __init__(self, registry: CollectorRegistry, ledger: Ledger) -> None:
        self.registry = registry
        self._answered = Counter(
            "privity_party_steps_answered", "Steps that were answered, by kind.", ["kind"], registry=registry
        )
        self._refused = Counter(
            "privity_party_steps_refused", "Steps that were refused, by kind and error code.", ["kind", "reason"],
            registry=registry,
        )  # fmt: skip
        self._connected = Gauge(
            "privity_party_connected", "1 if the curator answered when it was last called.", registry=registry
        )
        self._disconnections = Counter(
            "privity_party_disconnections", "Connections that were lost or did not come about, by where they ended.",
            ["reason"], registry=registry,
        )  # fmt: skip
        for stage in Stage:
            self._disconnections.labels(_reason(stage))
        budget = Gauge("privity_party_epsilon_spent", "Epsilon spent on the population, in all.", registry=registry)
        budget.set_function(lambda: _looked_up(ledger.spent))
        total = Gauge("privity_party_epsilon_allowed", "The population's total epsilon.", registry=registry)
        total.set_function(lambda: _looked_up(lambda: ledger.population.total_epsilon))

    def step(self, step: Step, reply: Refusal | Pending | None) -> None:
        """A step was answered, None, or refused; what waits is not counted."""
        # A key begins with the step's kind.
        kind = step.key.partition("/")[0]
        if isinstance(reply, Refusal):
            self._refused.labels(kind, known_code(reply.code)).inc()
        elif reply is None:
            self._answered.labels(kind).inc()

    def connected(self) -> None:
        self._connected.set(1)

    def disconnected(self) -> None:
        self._connected.set(0)

    def connection_ended(self, stage: Stage) -> None:
        """The connection was lost, or did not come about; ``stage`` is how far another one came at once."""
        self._disconnections.labels(_reason(stage)).inc()


def _reason(stage: Stage) -> str:
    return stage.name.lower()


def _looked_up(spent: Callable[[], Fraction]) -> float:
    try:
        return float(spent())
    except PrivityError:
        return math.nan
