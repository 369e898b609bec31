"""Why a connection to the curator does not come about: a plain TLS handshake, and what it fails at, in plain words.

The curator is trusted by its certificate alone, the one that the member's newest manifest lists.

gRPC tells only that a server is unavailable. Here the same handshake is made step by step: name, network, a proxy if
the settings name one, the curator's certificate, this member's own.
"""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID

from privity.common.consortium.manifest import Manifest
from privity.common.node.curator_trust import curator_certificate, hosts_of
from privity.common.node.proxy import Proxy, ProxyRefusedError, dial, proxy_of_environment

SECONDS = 5.0
CREDENTIALS_NEEDED = 407
CHECK_PROXY = "Check `proxy` in the settings, that the proxy runs, and that firewalls let this machine dial it."
CURATOR_SERVES = "the curator runs (`privity curator serve`)"
CHECK_MANIFEST = (
    "Check the address. If the curator's certificate was renewed, have the curator serve with the newest manifest, or"
    " ask the organiser for it and put it in the place of manifest.json."
)
PASSING = (408, 429)  # no answer in time, too many questions


class Stage(Enum):
    """How far a connection comes."""

    NAME = "the name does not resolve"
    NETWORK = "nobody answers there"
    PROXY_AWAY = "the proxy is not reached"
    PROXY = "the proxy does not let us through"
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
        return self.stage in (Stage.PROXY, Stage.CURATOR, Stage.OWN)


def check_connection(
    address: str,
    name: str | None,
    manifest: Manifest | None,
    certificate: Path,
    key: Path,
    proxy: Proxy | None = None,
) -> Finding:
    """Shake hands with the curator.

    Args:
        address: ``host:port``.
        name: the host name that its certificate must show, if it is not the one dialled.
        manifest: whose curator it must be; None if the member has none yet, so that any curator will do.
        proxy: to go through; without one the environment's counts, as for gRPC.
    """
    trusted = certificate_shown(address, proxy) if manifest is None else curator_certificate(manifest)
    if isinstance(trusted, Finding):
        return trusted
    raw = _reached(address, proxy)
    if isinstance(raw, Finding):
        return raw
    host = address.rpartition(":")[0].strip("[]")
    context = ssl.create_default_context(cadata=trusted.decode("ascii"))
    # The listed certificate is the only root: another one is refused, whoever issued it.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2"])
    context.load_cert_chain(certificate, key)
    try:
        with raw, context.wrap_socket(raw, server_hostname=name or host) as link:
            accepted = _accepts(link)
    except ssl.SSLCertVerificationError as error:
        reason = _of_curator(address, proxy, name or host, error)
        return Finding(Stage.CURATOR, reason, CHECK_MANIFEST)
    except OSError:
        return _no_curator(address)
    if not accepted:
        remedy = "Ask the organiser whether the curator's manifest still lists this member, and with this certificate."
        return Finding(Stage.OWN, _of_own(certificate), remedy)
    return Finding(Stage.THROUGH, address, "")


def certificate_shown(address: str, proxy: Proxy | None) -> bytes | Finding:
    """The certificate (PEM) of whoever answers there, checked by nothing, or how far it came."""
    raw = _reached(address, proxy)
    if isinstance(raw, Finding):
        return raw
    blind = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    blind.check_hostname = False
    blind.verify_mode = ssl.CERT_NONE
    try:
        with raw, blind.wrap_socket(raw) as link:
            return ssl.DER_cert_to_PEM_cert(link.getpeercert(binary_form=True) or b"").encode("ascii")
    except OSError:
        return _no_curator(address)


def check_proxy(address: str, proxy: Proxy) -> Finding:
    """Ask the proxy for a way to the curator, and look no further."""
    raw = _reached(address, proxy)
    if isinstance(raw, Finding):
        return raw
    raw.close()
    return Finding(Stage.THROUGH, f"{proxy} lets us through to {address}", "")


def _reached(address: str, proxy: Proxy | None) -> socket.socket | Finding:
    """A connection, or how far it came."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    proxy = proxy or proxy_of_environment(host)
    if not port.isdecimal():
        return Finding(Stage.NAME, f"{address} names no port", "Write the address as HOST:PORT.")
    asked = (host, int(port)) if proxy is None else (proxy.host, proxy.port)
    try:
        socket.getaddrinfo(*asked, type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        remedy = "Check the name, and this machine's name servers."
        if proxy is None:
            return Finding(Stage.NAME, f"{host} has no address here", remedy)
        return Finding(Stage.PROXY_AWAY, f"the proxy {proxy} has no address here", remedy)
    try:
        return dial(proxy, host, int(port), SECONDS) if proxy else socket.create_connection(asked, SECONDS)
    except ProxyRefusedError as refused:
        return _of_proxy(refused, proxy, address)
    except OSError as error:
        reason = "no answer in time" if isinstance(error, TimeoutError) else error.strerror or type(error).__name__
        if proxy is None:
            remedy = f"Check that {CURATOR_SERVES}, and that firewalls and proxies let this machine dial out to it."
            return Finding(Stage.NETWORK, f"{address}: {reason}", remedy)
        return Finding(Stage.PROXY_AWAY, f"the proxy {proxy}: {reason}", CHECK_PROXY)


def _of_proxy(refused: ProxyRefusedError, proxy: Proxy | None, address: str) -> Finding:
    """A refusal that lasts until somebody changes settings, or a curator that the proxy does not reach just now."""
    reason = f"the proxy {proxy}, asked for {address}, says: {refused}"
    if refused.status == CREDENTIALS_NEEDED:
        given = proxy is not None and proxy.user is not None
        said = "does not accept these credentials" if given else "asks for credentials"
        reason = f"the proxy {proxy} {said}: {refused}"
        return Finding(Stage.PROXY, reason, "Write them into `proxy` in the settings: http://USER:PASSWORD@HOST:PORT.")
    if refused.status in range(400, 500) and refused.status not in PASSING:
        remedy = "Ask those who run the proxy to allow CONNECT to this address; it must not open TLS."
        return Finding(Stage.PROXY, reason, remedy)
    remedy = f"Check that {CURATOR_SERVES} and the proxy can reach it." if refused.status else CHECK_PROXY
    return Finding(Stage.NETWORK, reason, remedy)


def _no_curator(address: str) -> Finding:
    reason = f"{address} does not speak TLS as a curator does"
    return Finding(Stage.NETWORK, reason, "Check the port, and proxies that open TLS or have nobody behind them.")


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


def _of_curator(address: str, proxy: Proxy | None, dialled: str, error: ssl.SSLCertVerificationError) -> str:
    """Whose certificate it is, after all."""
    found = certificate_shown(address, proxy)
    if isinstance(found, Finding):
        return f"it cannot be checked: {error.verify_message}"
    try:
        shown = x509.load_pem_x509_certificate(found)
        names = hosts_of(shown)
    except ValueError:
        return f"it cannot be checked: {error.verify_message}"
    return (
        f"the certificate is for {', '.join(names) or _subject(shown)}, you dialled {dialled}, it is valid until"
        f" {shown.not_valid_after_utc:%Y-%m-%d}: it is not the one that the manifest here lists, or not for this host"
        f" ({error.verify_message})"
    )


def _subject(certificate: x509.Certificate) -> str:
    return _name(certificate.subject)


def _name(name: x509.Name) -> str:
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else name.rfc4514_string()
