"""The consortium's certificates: who is named, for what, by whom, for how long."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store

from privity.common.crypto.certificates import Authority, identity_from_san, issue, make_authority

AUTHORITY = make_authority("test authority")


def store() -> Store:
    return Store([x509.load_pem_x509_certificate(AUTHORITY.cert_pem)])


def names(pem: bytes) -> x509.SubjectAlternativeName:
    found = x509.load_pem_x509_certificate(pem).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return found.value


def test_the_curator_serves_under_its_hosts() -> None:
    pem, key = issue(AUTHORITY, "hub", "curator", ["curator.example", "127.0.0.1", "::1"])
    san = names(pem)
    assert san.get_values_for_type(x509.DNSName) == ["curator.example"]
    assert san.get_values_for_type(x509.IPAddress) == [
        ipaddress.ip_address("127.0.0.1"),
        ipaddress.ip_address("::1"),
    ]
    assert san.get_values_for_type(x509.UniformResourceIdentifier) == ["privity:curator/hub"]
    certificate = x509.load_pem_x509_certificate(pem)
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    private = serialization.load_pem_private_key(key, password=None)
    assert private.public_key() == certificate.public_key()
    verifier = PolicyBuilder().store(store()).build_server_verifier(x509.DNSName("curator.example"))
    assert verifier.verify(certificate, [])


@pytest.mark.parametrize("role", ["party", "operator"])
def test_those_who_dial_out_have_client_certificates(role: str) -> None:
    pem, _ = issue(AUTHORITY, "north", role)  # type: ignore[arg-type]
    certificate = x509.load_pem_x509_certificate(pem)
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert PolicyBuilder().store(store()).build_client_verifier().verify(certificate, [])
    values = [str(v).encode() for v in names(pem).get_values_for_type(x509.UniformResourceIdentifier)]
    assert identity_from_san(values) == (role, "north")


def test_another_authority_is_not_believed() -> None:
    pem, _ = issue(make_authority("other"), "north", "party")
    with pytest.raises(x509.verification.VerificationError):
        PolicyBuilder().store(store()).build_client_verifier().verify(x509.load_pem_x509_certificate(pem), [])


def test_validity() -> None:
    pem, _ = issue(AUTHORITY, "north", "party", days=3)
    certificate = x509.load_pem_x509_certificate(pem)
    now = datetime.now(UTC)
    assert timedelta(minutes=59) < now - certificate.not_valid_before_utc < timedelta(minutes=61)
    assert timedelta(days=2, hours=23) < certificate.not_valid_after_utc - now <= timedelta(days=3)
    with pytest.raises(ValueError, match="day"):
        issue(AUTHORITY, "north", "party", days=0)


def test_text_forms_show_no_key() -> None:
    assert "PRIVATE" in AUTHORITY.key_pem.decode()
    assert "PRIVATE" not in repr(AUTHORITY)


def test_what_is_not_issued() -> None:
    for member in ("", "a/b", "a b", "-a", "ä", "x" * 64, "a\n"):
        with pytest.raises(ValueError, match="name"):
            issue(AUTHORITY, member, "party")
    with pytest.raises(ValueError, match="role"):
        issue(AUTHORITY, "a", "king")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="hosts"):
        issue(AUTHORITY, "a", "curator")
    with pytest.raises(ValueError, match="hosts"):
        issue(AUTHORITY, "a", "party", ["host"])
    with pytest.raises(ValueError, match="authority's key"):
        issue(Authority(AUTHORITY.cert_pem, make_authority("x").key_pem), "a", "party")
    with pytest.raises(ValueError, match="PEM"):
        issue(Authority(b"", b""), "a", "party")
    with pytest.raises(ValueError, match="64"):
        make_authority("")


def test_exactly_one_name_says_who_calls() -> None:
    assert identity_from_san([b"localhost", "127.0.0.1", b"privity:operator/root.1"]) == (
        "operator",
        "root.1",
    )
    for bad in (
        [],
        [b"localhost"],
        [b"privity:party/a", b"privity:party/b"],
        [b"privity:party/a", b"privity:party/a"],
        [b"privity:party/a", b"PRIVITY:operator/a"],
        [b"privity:party/"],
        [b"privity:party"],
        [b"privity:king/a"],
        [b"privity:party/a/b"],
        [b"privity:party/a\n"],
        [b"Privity:party/a"],
        [b"privity:party/\xff"],
    ):
        with pytest.raises(ValueError, match="certificate must name"):
            identity_from_san(bad)
