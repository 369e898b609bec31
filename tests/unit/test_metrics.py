"""The figures of both nodes against docs/observability.md, and what their labels may be."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from common.crypto.certificates import self_signed
from common.errors import Catalogue, PrivityError
from common.node.logs import FIELDS
from common.node.metrics import OTHER, CertificateDays, exported
from common.node.tls_check import Stage
from common.protocol.steps import Close
from curator.metrics import CuratorMetrics, Direction, Unwelcome
from party.metrics import PartyMetrics
from tests.harness.scrape import free_address, shown

PAGE = (Path(__file__).parents[2] / "docs" / "observability.md").read_text(encoding="utf-8")


def curator() -> CollectorRegistry:
    """Every figure of a curator, moved."""
    metrics = CuratorMetrics(CollectorRegistry())
    metrics.follow(lambda: {"QUEUED": 2, "RUNNING": 1}, lambda: {"north": True, "south": False})
    metrics.run_ended("FAILED", Catalogue.NO_PROGRESS.value.code)
    metrics.run_ended("COMPLETED", "")
    metrics.step_refused("refused-by-policy")
    metrics.call_refused(Unwelcome.UNLISTED)
    metrics.moved(Direction.TO_PARTIES, 10)
    return metrics.registry


def party() -> CollectorRegistry:
    """Every figure of a party, moved."""
    metrics = PartyMetrics(CollectorRegistry(), lambda: Fraction(1, 4), Fraction(2))
    metrics.step(Close("run-1", "COMPLETED"), "")
    metrics.step(Close("run-1", "COMPLETED"), "step-refused")
    metrics.connected()
    metrics.connection_ended(Stage.NETWORK)
    return metrics.registry


def described(heading: str) -> dict[str, set[str]]:
    """Metrics and their labels in the table below a heading of the page."""
    text = PAGE.split(heading)[1].split("\n#")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", text, re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}


@pytest.mark.parametrize(("registry", "heading"), [(curator(), "### Of the curator"), (party(), "### Of a party")])
def test_the_page_describes_what_is_exported(registry: CollectorRegistry, heading: str) -> None:
    registry.register(CertificateDays(lambda: {"party/north": self_signed("north", "party")[0].decode()}))
    address = free_address()
    with exported(address, registry):
        found = {name: {label for labels, _ in samples for label in labels} for name, samples in shown(address).items()}
    assert found == described(heading)


def test_the_page_describes_every_field_of_a_log_line() -> None:
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", PAGE.split("## Metrics")[0], re.MULTILINE)
    assert [name for row in rows for name in re.findall(r"`(\w+)`", row)] == list(FIELDS)


def test_labels_are_codes_of_the_catalogue_and_never_what_a_party_made_up() -> None:
    metrics = CuratorMetrics(CollectorRegistry())
    metrics.run_ended("FAILED", "count=42")
    metrics.step_refused("count=42")
    party = PartyMetrics(CollectorRegistry(), lambda: Fraction(0), Fraction(1))
    party.step(Close("run-1", "x"), "count=42")
    for registry in (metrics.registry, party.registry):
        values = {v for metric in registry.collect() for sample in metric.samples for v in sample.labels.values()}
        assert OTHER in values
        assert "count=42" not in values


def test_asking_often_shows_nothing_new_and_no_moment_of_any_event() -> None:
    metrics, address = CuratorMetrics(CollectorRegistry()), free_address()
    with exported(address, metrics.registry):
        metrics.moved(Direction.TO_PARTIES, 1)
        first = shown(address)
        metrics.moved(Direction.TO_PARTIES, 1)
        assert shown(address) == first
    assert not [name for name in first if "created" in name or not name.startswith("privity_")]


def test_a_ledger_that_cannot_be_read_leaves_the_other_figures() -> None:
    def unusable() -> Fraction:
        raise PrivityError(Catalogue.LEDGER_UNUSABLE, file="ledger", reason="it is damaged")

    registry = PartyMetrics(CollectorRegistry(), unusable, Fraction(2)).registry
    assert str(registry.get_sample_value("privity_party_epsilon_spent")) == "nan"
    assert registry.get_sample_value("privity_party_epsilon_allowed") == 2


def test_an_address_that_is_taken_is_told() -> None:
    address = free_address()
    with (
        exported(address, CollectorRegistry()),
        pytest.raises(PrivityError, match="cannot show metrics there"),
        exported(address, CollectorRegistry()),
    ):
        pass
    with exported(address, CollectorRegistry()):
        assert shown(address) == {}
