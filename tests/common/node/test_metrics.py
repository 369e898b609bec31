"""The figures of both nodes against docs/observability.md, and what their labels may be."""

from __future__ import annotations

import http.client
import io
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, suppress
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge

from privity.common.crypto.certificates import self_signed
from privity.common.errors import Catalogue, PrivityError
from privity.common.node.logs import FIELDS
from privity.common.node.metrics_page import CONNECTIONS, OTHER, CertificateDays, exported
from privity.common.node.tls_check import Stage
from privity.common.privacy.ledger import Allowance, Charge
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.protocol.steps import Close, Refusal
from privity.curator.metrics import CuratorMetrics, Direction, Unwelcome
from privity.party.metrics import PartyMetrics
from tests.harness.ledgers import declared
from tests.harness.places import ROOT
from tests.harness.scrape import free_address, shown

PAGE = (ROOT / "docs" / "observability.md").read_text(encoding="utf-8")


def curator() -> CollectorRegistry:
    """Every figure of a curator, moved."""
    metrics = CuratorMetrics(CollectorRegistry())
    metrics.follow(lambda: {"QUEUED": 2, "RUNNING": 1}, lambda: {"north": True, "south": False}, lambda: {"party": 3})
    metrics.run_ended("FAILED", Catalogue.NO_PROGRESS.value.code)
    metrics.run_ended("COMPLETED", "")
    metrics.step_refused("refused-by-policy")
    metrics.call_refused(Unwelcome.UNLISTED)
    metrics.moved(Direction.TO_PARTIES, 10)
    return metrics.registry


def party() -> CollectorRegistry:
    """Every figure of a party, moved."""
    metrics = PartyMetrics(CollectorRegistry(), declared(total=2))
    metrics.step(Close("run-1", "COMPLETED"), None)
    metrics.step(Close("run-1", "COMPLETED"), Refusal("step-refused", "", ""))
    metrics.connected()
    metrics.connection_ended(Stage.NETWORK)
    return metrics.registry


def described(heading: str) -> dict[str, set[str]]:
    """Metrics and their labels in the table below a heading of the page."""
    text = PAGE.split(heading)[1].split("\n#")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", text, re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}


@pytest.mark.statistical
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
    party = PartyMetrics(CollectorRegistry(), declared(total=1))
    party.step(Close("run-1", "x"), Refusal("count=42", "", ""))
    for registry in (metrics.registry, party.registry):
        values = {v for metric in registry.collect() for sample in metric.samples for v in sample.labels.values()}
        assert OTHER in values
        assert "count=42" not in values


@pytest.mark.statistical
def test_asking_often_shows_nothing_new_and_no_moment_of_any_event() -> None:
    metrics, address = CuratorMetrics(CollectorRegistry()), free_address()
    with exported(address, metrics.registry):
        metrics.moved(Direction.TO_PARTIES, 1)
        first = shown(address)
        metrics.moved(Direction.TO_PARTIES, 1)
        assert shown(address) == first
    assert not [name for name in first if "created" in name or not name.startswith("privity_")]


def test_the_budget_is_that_of_the_ledger_as_it_is_now() -> None:
    ledger = declared(total=2)
    registry = PartyMetrics(CollectorRegistry(), ledger).registry
    spent, allowed = "privity_party_epsilon_spent", "privity_party_epsilon_allowed"
    assert (registry.get_sample_value(spent), registry.get_sample_value(allowed)) == (0, 2)
    ledger.charge(Charge("r", "a", PureDP(Fraction(1, 4), RELATION)), Allowance(), "north")
    ledger.change(replace(ledger.population, total_epsilon=Fraction(1)), ledger.population)
    assert (registry.get_sample_value(spent), registry.get_sample_value(allowed)) == (0.25, 1)


def test_a_ledger_that_cannot_be_read_leaves_the_other_figures() -> None:
    ledger = declared(total=2)
    metrics = PartyMetrics(CollectorRegistry(), ledger)
    metrics.connected()
    ledger.close()
    for figure in ("privity_party_epsilon_spent", "privity_party_epsilon_allowed"):
        assert str(metrics.registry.get_sample_value(figure)) == "nan"
    assert metrics.registry.get_sample_value("privity_party_connected") == 1


@pytest.mark.statistical
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


@contextmanager
def dialled(address: str) -> Iterator[socket.socket]:
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as line:
        yield line


def hung_up(line: socket.socket) -> bool:
    try:
        return line.recv(1) == b""
    except ConnectionError:
        return True


@pytest.mark.statistical
@pytest.mark.parametrize("asked", [b"", b"GET / HTTP/1.1\r\nX-A: "])
def test_who_does_not_ask_in_time_is_hung_up_on_without_a_word(
    asked: bytes, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("privity.common.node.metrics_page.ASK_SECONDS", 0.1)
    address = free_address()
    ended = threading.Event()

    def drip(line: socket.socket) -> None:
        with suppress(OSError):
            while asked and not ended.wait(0.02):
                line.sendall(b"a")

    with exported(address, CollectorRegistry()), dialled(address) as line:
        line.sendall(asked)
        dripping = threading.Thread(target=drip, args=[line])
        dripping.start()
        assert hung_up(line)
        ended.set()
        dripping.join()
    assert capfd.readouterr().err == ""


@pytest.mark.statistical
def test_who_asks_and_does_not_read_is_hung_up_on_without_a_word(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("privity.common.node.metrics_page.ASK_SECONDS", 2.0)
    registry, address = CollectorRegistry(), free_address()
    Gauge("much", "x" * (1 << 24), registry=registry)
    with exported(address, registry), dialled(address) as line:
        line.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert line.recv(1) == b"H"
        answers = [thread for thread in threading.enumerate() if "process_request_thread" in thread.name]
        assert len(answers) == 1
        for thread in answers:
            thread.join(60)
        assert not [thread for thread in answers if thread.is_alive()]
    assert capfd.readouterr().err == ""


def stays(line: socket.socket) -> bool:
    line.settimeout(0.02)
    with suppress(TimeoutError):
        return not hung_up(line)
    return True


@pytest.mark.statistical
def test_so_many_are_connected_at_a_time_and_the_oldest_silent_one_makes_room(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privity.common.node.metrics_page.ASK_SECONDS", 60.0)
    address = free_address()
    with exported(address, CollectorRegistry()), ExitStack() as stack:
        lines = [stack.enter_context(dialled(address)) for _ in range(CONNECTIONS)]
        for oldest in lines[:3]:
            lines.append(stack.enter_context(dialled(address)))
            assert hung_up(oldest)
        for _ in range(3):
            # Whoever asks is answered, however many are silent.
            assert shown(address) == {}
            lines.append(stack.enter_context(dialled(address)))
        # Each that was answered may still have counted when the next one came.
        assert all(stays(line) for line in lines[-CONNECTIONS + 1 + 3 :])
    assert capfd.readouterr().err == ""


@pytest.mark.statistical
@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.0\r\n\r\n"])
def test_nobody_ends_the_connection_of_another_address_by_many_of_its_own(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privity.common.node.metrics_page.ASK_SECONDS", 60.0)
    address, crowd = free_address(), list[socket.socket]()
    host, _, port = address.rpartition(":")
    with exported(address, CollectorRegistry()), dialled(address) as slow:
        try:
            for _ in range(4 * CONNECTIONS):
                crowd.append(socket.create_connection((host, int(port)), 60, source_address=("127.0.0.2", 0)))
                with suppress(ConnectionError):
                    crowd[-1].sendall(sent)
            slow.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert slow.recv(1 << 12).startswith(b"HTTP/1.0 200")
        finally:
            for one in crowd:
                one.close()


@pytest.mark.process
@settings(max_examples=10)
@given(st.binary(max_size=200))
@example(b"GET / HTTP/1.1\r\nContent-Length: -1")
@example(b"GET /\xff%00?name[]=\x00 HTTP/1.1\r\nAccept-Encoding: gzip\r\nAccept: \xff")
def test_whatever_is_asked_nothing_is_written_to_standard_error_and_the_page_stays(asked: bytes) -> None:
    address, said = free_address(), io.StringIO()
    with redirect_stderr(said), exported(address, CollectorRegistry()):
        with suppress(ConnectionError), dialled(address) as line:
            line.sendall(asked + b"\r\n\r\n")
            line.shutdown(socket.SHUT_WR)
            while line.recv(1 << 16):
                pass
        assert shown(address) == {}
    assert said.getvalue() == ""


@pytest.mark.process
def test_a_name_that_a_page_on_the_web_could_have_is_shown_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    with exported(address, CollectorRegistry()):
        for host, status in (("evil.example", 421), ("127.0.0.1", 200), ("localhost", 200), ("curator:9464", 200)):
            connection = http.client.HTTPConnection(address, timeout=10)
            connection.request("GET", "/metrics", headers={"Host": host})
            assert connection.getresponse().status == status
            connection.close()
