"""When certificates are warned of, by a given clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cryptography import x509

from privity.common.crypto.certificates import self_signed
from privity.common.node.certificate_expiry import ExpiryWatch
from privity.common.notices.channels import Webhook
from privity.common.notices.outbox import Outbox
from privity.common.storage.journal import Journal


def end_of(pem: str) -> datetime:
    return x509.load_pem_x509_certificate(pem.encode()).not_valid_after_utc


def certificate(days: int) -> str:
    return self_signed("north", "party", days)[0].decode()


def found(watch: ExpiryWatch, certificates: dict[str, str], now: datetime) -> list[tuple[str, int]]:
    return [(expiring.holder, expiring.days) for expiring in watch.look(certificates, now)]


def test_once_at_each_threshold_and_again_at_a_start() -> None:
    pem = certificate(365)
    told: list[tuple[int, int]] = []
    watch = ExpiryWatch()
    # Every hour from 40 days before the end to 2 days after it.
    for hour in range(24 * 42):
        now = end_of(pem) - timedelta(days=40) + timedelta(hours=hour)
        told += [(hour // 24, found.days) for found in watch.look({"party/north": pem}, now)]
    assert [days for _, days in told] == [30, 7, 1, -1]
    later = end_of(pem) - timedelta(days=3)
    assert found(ExpiryWatch(), {"party/north": pem}, later) == [("party/north", 3)]


def test_a_node_that_slept_over_thresholds_warns_once() -> None:
    pem = certificate(365)
    watch = ExpiryWatch()
    assert not watch.look({"a/b": pem}, datetime.now(UTC))
    assert found(watch, {"a/b": pem}, end_of(pem) - timedelta(hours=30)) == [("a/b", 1)]
    assert not watch.look({"a/b": pem}, end_of(pem) - timedelta(hours=29))


def test_a_new_certificate_begins_anew() -> None:
    old, new = certificate(5), certificate(6)
    watch, now = ExpiryWatch(), datetime.now(UTC)
    assert found(watch, {"party/north": old}, now) == [("party/north", 4)]
    assert watch.look({"party/north": certificate(365)}, now) == []
    assert found(watch, {"party/north": new}, now) == [("party/north", 5)]


def test_each_holder_by_itself() -> None:
    of_each = found(
        ExpiryWatch(),
        {"party/north": certificate(5), "party/south": certificate(300), "curator/curator": certificate(20)},
        datetime.now(UTC),
    )
    assert of_each == [("party/north", 4), ("curator/curator", 19)]


def test_a_notice_is_posted_once_a_threshold_also_after_a_restart() -> None:
    pem, journal = certificate(365), Journal()
    for days in (20, 19, 5):
        outbox = Outbox(journal, "north", [Webhook("https://example.org/hook")])
        for expiring in ExpiryWatch().look({"party/north": pem}, end_of(pem) - timedelta(days=days)):
            expiring.tell(outbox)
    posted = [each.notice for each in outbox.deliveries()]
    assert [notice.subject for notice in posted] == [
        f"the certificate of party/north expires on {end_of(pem):%Y-%m-%d}"
    ] * 2
    assert "privity party renew" in posted[0].text
