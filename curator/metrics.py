"""The curator's figures for Prometheus; docs/observability.md says of each why it is harmless."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from privity.common.node.metrics_page import known_code

NO_REASON = "none"


class Unwelcome(StrEnum):
    """Why a call was refused."""

    NAMELESS = "nameless"  # the certificate names no member
    OTHER_ROLE = "other-role"  # a party called what is for operators, or the other way round
    UNLISTED = "unlisted"  # the manifest lists no such member now
    OTHER_CERTIFICATE = "other-certificate"  # the manifest lists another certificate for the member now
    OLD_TLS = "old-tls"  # the connection is not TLS 1.3
    MALFORMED = "malformed"  # a reply that is none of this protocol
    TOO_LARGE = "too-large"  # a reply larger than any that is awaited
    TOO_MANY = "too-many"  # one of more calls than its certificate may make
    OLDER_NODE = "older-node"  # a newer node of the party serves under the same certificate
    OVERTAKEN = "overtaken"  # a reply that was not complete when its party began another


class Pool(StrEnum):
    """By whom connections are held."""

    PARTY = "party"
    OPERATOR = "operator"
    SILENT = "silent"  # no call has come over them yet


class Direction(StrEnum):
    """Of messages between curator and parties."""

    TO_PARTIES = "to-parties"
    FROM_PARTIES = "from-parties"


def reason_of(code: str) -> str:
    """Why a run ended, as a label or in a log line, from the code of its error if there was one."""
    return known_code(code) if code else NO_REASON


class CuratorMetrics:
    """Counters, fed where things happen, and figures that are looked up when somebody asks."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._ended = Counter(
            "privity_curator_runs_ended", "Runs that ended, by state and error code.", ["state", "reason"],
            registry=registry,
        )  # fmt: skip
        self._steps_refused = Counter(
            "privity_curator_steps_refused", "Steps that a party refused, by error code.", ["reason"], registry=registry
        )
        self._calls_refused = Counter(
            "privity_curator_calls_refused", "Calls that were refused, by reason.", ["reason"], registry=registry
        )
        self._connections_ended = Counter(
            "privity_curator_connections_ended", "Connections that were more than a share, by pool.", ["pool"],
            registry=registry,
        )  # fmt: skip
        self._bytes = Counter(
            "privity_curator_bytes", "Bytes of messages between curator and parties.", ["direction"], registry=registry
        )
        for pool in Pool:
            self._connections_ended.labels(pool.value)
        for why in Unwelcome:
            self._calls_refused.labels(why.value)
        for direction in Direction:
            self._bytes.labels(direction.value)

    def follow(
        self,
        runs: Callable[[], Mapping[str, int]],
        connected: Callable[[], Mapping[str, bool]],
        held: Callable[[], Mapping[str, int]],
    ) -> None:
        """Look these up whenever somebody asks: runs by state, which parties are connected, connections by pool."""
        self.registry.register(_LookedUp(runs, connected, held))

    def run_ended(self, state: str, code: str) -> None:
        self._ended.labels(state, reason_of(code)).inc()

    def step_refused(self, code: str) -> None:
        self._steps_refused.labels(known_code(code)).inc()

    def call_refused(self, why: Unwelcome) -> None:
        self._calls_refused.labels(why.value).inc()

    def connections_ended(self, pool: str, count: int) -> None:
        self._connections_ended.labels(pool).inc(count)

    def moved(self, direction: Direction, count: int) -> None:
        self._bytes.labels(direction.value).inc(count)


class _LookedUp(Collector):
    def __init__(
        self,
        runs: Callable[[], Mapping[str, int]],
        connected: Callable[[], Mapping[str, bool]],
        held: Callable[[], Mapping[str, int]],
    ) -> None:
        self._runs, self._connected, self._held = runs, connected, held

    def collect(self) -> Iterable[Metric]:
        runs = GaugeMetricFamily("privity_curator_runs", "Runs that are queued or at work.", labels=["state"])
        for state, number in self._runs().items():
            runs.add_metric([state], number)
        yield runs
        connected = GaugeMetricFamily(
            "privity_curator_party_connected", "1 if the party gave a sign of life in the last minute.",
            labels=["party"],
        )  # fmt: skip
        for party, there in self._connected().items():
            connected.add_metric([party], there)
        yield connected
        held = GaugeMetricFamily("privity_curator_connections", "Connections that are open, by pool.", labels=["pool"])
        for pool, number in self._held().items():
            held.add_metric([pool], number)
        yield held
