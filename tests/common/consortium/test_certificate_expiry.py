"""When certificates are warned of, by a given clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cryptography import x509

from privity.common.consortium.certificate_expiry import Expiring, ExpiryWatch
from privity.common.crypto.certificates import self_signed


def end_of(pem: str) -> datetime:
    return x509.load_pem_x509_certificate(pem.encode()).not_valid_after_utc


def certificate(days: int) -> str:
    return self_signed("north", "party", days)[0].decode()


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
    assert ExpiryWatch().look({"party/north": pem}, later) == [Expiring("party/north", 3)]


def test_a_node_that_slept_over_thresholds_warns_once() -> None:
    pem = certificate(365)
    watch = ExpiryWatch()
    assert not watch.look({"a/b": pem}, datetime.now(UTC))
    assert watch.look({"a/b": pem}, end_of(pem) - timedelta(hours=30)) == [Expiring("a/b", 1)]
    assert not watch.look({"a/b": pem}, end_of(pem) - timedelta(hours=29))


def test_a_new_certificate_begins_anew() -> None:
    old, new = certificate(5), certificate(6)
    watch, now = ExpiryWatch(), datetime.now(UTC)
    assert watch.look({"party/north": old}, now) == [Expiring("party/north", 4)]
    assert watch.look({"party/north": certificate(365)}, now) == []
    assert watch.look({"party/north": new}, now) == [Expiring("party/north", 5)]


def test_each_holder_by_itself() -> None:
    found = ExpiryWatch().look(
        {"party/north": certificate(5), "party/south": certificate(300), "curator/curator": certificate(20)},
        datetime.now(UTC),
    )
    assert found == [Expiring("party/north", 4), Expiring("curator/curator", 19)]
