"""A consortium's own certificate authority and the TLS certificates of its members (mutual TLS).

A certificate names its holder as the URI ``privity:ROLE/MEMBER`` among its alternative names; that URI,
and nothing else in the certificate, says who calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Literal, get_args

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

Role = Literal["party", "curator", "operator"]

_PREFIX = "privity:"
_MEMBER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_CLOCK_SKEW = timedelta(hours=1)

RENEW_DAYS = 30
"""A certificate with no more days left is made anew when there is occasion."""


@dataclass(frozen=True)
class Authority:
    """A certificate authority: its certificate for everybody, its private key for the one who issues."""

    cert_pem: bytes
    key_pem: bytes = field(repr=False)


def make_authority(name: str, days: int = 3650) -> Authority:
    """A new self-signed authority (EC P-256) called ``name`` (1 to 64 characters)."""
    if not 1 <= len(name) <= 64:
        raise ValueError("the name of an authority must have 1 to 64 characters")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _named(name)
    builder = (
        _builder(subject, subject, key.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(authority=True), critical=True)
    )
    return Authority(_pem(builder.sign(key, hashes.SHA256())), _key_pem(key))


def issue(
    authority: Authority, member: str, role: Role, hosts: Sequence[str] = (), days: int = 365
) -> tuple[bytes, bytes]:
    """A TLS certificate for ``member`` in ``role``: (certificate PEM, private key PEM).

    Parties and operators only dial out, so theirs is a client certificate; the curator's is a server
    certificate, valid for ``hosts`` (DNS names and IP addresses).

    Raises:
        ValueError: a name that does not fit a URI, an unknown role, a curator without hosts, hosts for
            one who serves nobody, or a certificate and key that are no authority.
    """
    _check_member(member, role)
    if (role == "curator") != bool(hosts):
        raise ValueError("the curator's certificate, and no other, names the hosts under which it is reached")
    key = ec.generate_private_key(ec.SECP256R1())
    return _issued(authority, key.public_key(), member, role, hosts, days), _key_pem(key)


def _issued(
    authority: Authority, public: ec.EllipticCurvePublicKey, member: str, role: Role, hosts: Sequence[str], days: int
) -> bytes:
    """A certificate of the authority for this public key."""
    issuer, issuer_key = _loaded(authority)
    builder = _member_extensions(_builder(_named(member), issuer.subject, public, days), member, role, hosts)
    builder = builder.add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False
    )
    return _pem(builder.sign(issuer_key, hashes.SHA256()))


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _check_member(member: str, role: str) -> None:
    if not _MEMBER.fullmatch(member):
        raise ValueError("a member's name must be 1 to 63 letters, digits, '.', '_' or '-'")
    if role not in get_args(Role):
        raise ValueError("the role must be party, curator or operator")


def _loaded(authority: Authority) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    try:
        issuer = x509.load_pem_x509_certificate(authority.cert_pem)
        issuer_key = serialization.load_pem_private_key(authority.key_pem, password=None)
    except (ValueError, TypeError):
        raise ValueError("the authority's certificate and key must be unencrypted PEM") from None
    if not isinstance(issuer_key, ec.EllipticCurvePrivateKey) or issuer_key.public_key() != issuer.public_key():
        raise ValueError("the authority's key does not belong to its certificate")
    return issuer, issuer_key


def _member_extensions(
    builder: x509.CertificateBuilder, member: str, role: Role, hosts: Sequence[str]
) -> x509.CertificateBuilder:
    """What says whose certificate it is, and for what."""
    names: list[x509.GeneralName] = [x509.UniformResourceIdentifier(f"{_PREFIX}{role}/{member}")]
    names += [_host(host) for host in hosts]
    purpose = ExtendedKeyUsageOID.SERVER_AUTH if role == "curator" else ExtendedKeyUsageOID.CLIENT_AUTH
    return (
        builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    )


def self_signed(member: str, role: Role, days: int = 365) -> tuple[bytes, bytes]:
    """A TLS client certificate that its holder makes alone: (certificate PEM, private key PEM).

    Nobody vouches for it but the manifest that lists it.

    Raises:
        ValueError: a name that does not fit a URI, or the role of a server.
    """
    _check_member(member, role)
    if role == "curator":
        raise ValueError("the curator's certificate is a server's and comes from the authority")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _named(member)
    builder = _member_extensions(_builder(subject, subject, key.public_key(), days), member, role, ())
    return _pem(builder.sign(key, hashes.SHA256())), _key_pem(key)


def certificate_request(member: str) -> tuple[bytes, bytes]:
    """The curator's request for a server certificate: (request PEM, private key PEM)."""
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(_named(member)).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM), _key_pem(key)


def issue_for_request(
    authority: Authority,
    request: bytes,
    member: str,
    hosts: Sequence[str],
    known: bytes | None = None,
    days: int = 365,
) -> bytes:
    """The server certificate (PEM) for a request, valid for ``hosts``.

    ``known`` is given back if it serves: of the same key, for the same hosts, and not about to expire.

    Raises:
        ValueError: as ``issue``, or the request is none.
    """
    public = check_request(request, member)
    if known is not None and _serves(x509.load_pem_x509_certificate(known), public, hosts):
        return known
    return _issued(authority, public, member, "curator", hosts, days)


def _serves(known: x509.Certificate, public: ec.EllipticCurvePublicKey, hosts: Sequence[str]) -> bool:
    names = known.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    listed = {name for name in names if not isinstance(name, x509.UniformResourceIdentifier)}
    return known.public_key() == public and listed == {_host(host) for host in hosts} and days_left(known) > RENEW_DAYS


def check_request(request: bytes, member: str) -> ec.EllipticCurvePublicKey:
    """The public key of a certificate request that its holder signed; ValueError if it is none, or another's."""
    try:
        loaded = x509.load_pem_x509_csr(request)
    except ValueError:
        raise ValueError("it holds no certificate request") from None
    public = loaded.public_key()
    if not loaded.is_signature_valid or not isinstance(public, ec.EllipticCurvePublicKey):
        raise ValueError("the certificate request is not signed by its own key")
    if loaded.subject.rfc4514_string() != f"CN={member}":
        raise ValueError(f"the certificate request is not for {member}")
    return public


def check_self_signed(certificate: bytes, role: str, member: str) -> x509.Certificate:
    """A member's own certificate; ValueError if it is none, or names another member or role, or signs for others."""
    try:
        loaded = _alone(certificate)
        loaded.verify_directly_issued_by(loaded)
        names = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        authority = loaded.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        raise ValueError("it holds no self-signed certificate of a member") from None
    if identity_from_san(names.get_values_for_type(x509.UniformResourceIdentifier)) != (role, member):
        raise ValueError(f"the certificate in it is not that of {role} {member}")
    if authority:
        raise ValueError("the certificate in it could sign others")
    return loaded


def same_certificate(one: bytes, other: bytes) -> bool:
    """Whether two PEM texts hold the same certificate; False if one of them holds none."""
    try:
        return x509.load_pem_x509_certificate(one) == x509.load_pem_x509_certificate(other)
    except ValueError:
        return False


def name_in(certificate: bytes) -> str:
    """The member that a certificate (PEM) names; ValueError if it names none."""
    names = x509.load_pem_x509_certificate(certificate).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return identity_from_san(names.value.get_values_for_type(x509.UniformResourceIdentifier))[1]


def key_of_member(certificate: bytes, role: str, member: str) -> bytes:
    """The public key (DER) of a certificate (PEM); ValueError unless it is one of this member in this role."""
    try:
        loaded = _alone(certificate)
        names = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        raise ValueError("it holds no certificate of a member") from None
    if identity_from_san(names.get_values_for_type(x509.UniformResourceIdentifier)) != (role, member):
        raise ValueError(f"the certificate is not that of {role} {member}")
    return loaded.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def _alone(certificate: bytes) -> x509.Certificate:
    """The certificate that a PEM text is; ValueError if anything else is in it, or it has another kind of key.

    The texts of all callers are joined for TLS, which reads them only up to the first that it does not understand.
    """
    loaded = x509.load_pem_x509_certificate(certificate)
    public = loaded.public_key()
    if not isinstance(public, ec.EllipticCurvePublicKey) or not isinstance(public.curve, ec.SECP256R1):
        raise ValueError("the key of a certificate must be EC P-256")
    if _pem(loaded) != certificate:
        raise ValueError("there is more in the text than one certificate")
    return loaded


def days_left(certificate: x509.Certificate, now: datetime | None = None) -> int:
    """Whole days until it expires; below 0 once it has."""
    return (certificate.not_valid_after_utc - (now or datetime.now(UTC))).days


def identity_from_san(values: Iterable[bytes | str]) -> tuple[Role, str]:
    """(role, member) from a peer's alternative names, as gRPC's ``x509_subject_alternative_name`` gives them.

    Raises:
        ValueError: none or more than one of them names a member, or it is malformed.
    """
    texts = [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in values]
    found = [text for text in texts if text.lower().startswith(_PREFIX)]
    if len(found) != 1:
        raise ValueError("a certificate must name exactly one member as privity:ROLE/MEMBER")
    role_text, _, member = found[0][len(_PREFIX) :].partition("/")
    role = next((known for known in get_args(Role) if known == role_text), None)
    if role is None or not _MEMBER.fullmatch(member) or not found[0].startswith(_PREFIX):
        raise ValueError("a certificate must name its member as privity:ROLE/MEMBER with a known role")
    return role, member


def _builder(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    if days < 1:
        raise ValueError("a certificate must be valid for at least one day")
    start = datetime.now(UTC) - _CLOCK_SKEW
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + _CLOCK_SKEW + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
