"""Why a connection to the curator does not come about: a plain TLS handshake, and what it fails at, in plain words.

gRPC tells only that a server is unavailable. Here the same handshake is made step by step: name, network, the
curator's certificate, this member's own.
"""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID

SECONDS = 5.0


class Stage(Enum):
    """How far a connection comes."""

    NAME = "the name does not resolve"
    NETWORK = "nobody answers there"
    CURATOR = "the curator's certificate does not hold"
    OWN = "the curator does not accept this certificate"
    THROUGH = "the connection stands"


@dataclass(frozen=True)
class Finding:
    """Where it ended, why, and what to do about it."""

    stage: Stage
    reason: str
    remedy: str

    @property
    def of_identity(self) -> bool:
        """Whether waiting will not help."""
        return self.stage in (Stage.CURATOR, Stage.OWN)


def check_connection(address: str, name: str | None, authority: Path, certificate: Path, key: Path) -> Finding:
    """Shake hands with the curator.

    Args:
        address: ``host:port``.
        name: the host name that its certificate must show, if it is not the one dialled.
    """
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    try:
        socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        return Finding(Stage.NAME, f"{host} has no address here", "Check the name, and this machine's name servers.")
    try:
        raw = socket.create_connection((host, int(port)), SECONDS)
    except OSError as error:
        reason = "no answer in time" if isinstance(error, TimeoutError) else error.strerror or type(error).__name__
        remedy = "Check that the curator runs, and that firewalls and proxies let this machine dial out to it."
        return Finding(Stage.NETWORK, f"{address}: {reason}", remedy)
    context = ssl.create_default_context(cafile=str(authority))
    context.set_alpn_protocols(["h2"])
    context.load_cert_chain(certificate, key)
    try:
        with raw, context.wrap_socket(raw, server_hostname=name or host) as link:
            accepted = _accepts(link)
    except ssl.SSLCertVerificationError as error:
        reason = _of_curator(host, int(port), name or host, error)
        return Finding(Stage.CURATOR, reason, "Check the address, and that the invite is of this consortium.")
    except OSError:
        reason = f"{address} does not speak TLS as a curator does"
        return Finding(Stage.NETWORK, reason, "Check the port, and proxies that open TLS or have nobody behind them.")
    if not accepted:
        remedy = "Ask the organiser whether the manifest that the curator has lists this certificate."
        return Finding(Stage.OWN, _of_own(certificate), remedy)
    return Finding(Stage.THROUGH, address, "")


def _accepts(link: ssl.SSLSocket) -> bool:
    """Whether the curator takes our certificate: under TLS 1.3 it judges after our side of the handshake is done.

    gRPC then speaks first, or hangs up; silence is no refusal.
    """
    link.settimeout(SECONDS)
    try:
        return bool(link.recv(1))
    except TimeoutError:
        return True
    except OSError:
        return False


def _of_own(certificate: Path) -> str:
    loaded = x509.load_pem_x509_certificate(certificate.read_bytes())
    return (
        f"{certificate} is for {_subject(loaded)}, valid until {loaded.not_valid_after_utc:%Y-%m-%d}; the curator's"
        " manifest does not list it, or it has expired"
    )


def _of_curator(host: str, port: int, dialled: str, error: ssl.SSLCertVerificationError) -> str:
    """Whose certificate it is, after all."""
    blind = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    blind.check_hostname = False
    blind.verify_mode = ssl.CERT_NONE
    try:
        with socket.create_connection((host, port), SECONDS) as raw, blind.wrap_socket(raw) as link:
            shown = x509.load_der_x509_certificate(link.getpeercert(binary_form=True) or b"")
    except (OSError, ValueError):
        return f"it cannot be checked: {error.verify_message}"
    try:
        listed = shown.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        found = (*listed.get_values_for_type(x509.DNSName), *listed.get_values_for_type(x509.IPAddress))
        names = [str(host) for host in found]
    except x509.ExtensionNotFound:
        names = []
    return (
        f"the certificate is for {', '.join(names) or _subject(shown)}, you dialled {dialled}, it was issued by"
        f" {_name(shown.issuer)} and is valid until {shown.not_valid_after_utc:%Y-%m-%d} ({error.verify_message})"
    )


def _subject(certificate: x509.Certificate) -> str:
    return _name(certificate.subject)


def _name(name: x509.Name) -> str:
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else name.rfc4514_string()
