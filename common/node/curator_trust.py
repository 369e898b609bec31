"""Whom a member takes for its curator: the holder of the certificate that its newest manifest lists, and nobody else.

That certificate is the only root of the connection, so that a renewal ends the trust in the key before. A manifest is
believed by the organiser's signature: it may come from anybody, over a connection to whoever answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import grpc
from cryptography import x509

from privity.common.consortium.manifest import CURATOR, Manifest
from privity.common.errors import Catalogue, PrivityError
from privity.common.node.connection_silence import SILENCE_SECONDS, dialling_options
from privity.common.node.proxy import Proxy, channel_options

Channel = TypeVar("Channel")


def curator_certificate(manifest: Manifest) -> bytes:
    """The certificate (PEM) that the manifest lists for the curator.

    Raises:
        PrivityError: it lists none.
    """
    listed = manifest.certificate_of("curator", CURATOR)
    if listed is None:
        raise PrivityError(Catalogue.TAMPERED, what="the manifest", reason="it lists no certificate for the curator")
    return listed.encode("ascii")


def member_channel(
    opened: Callable[..., Channel],
    address: str,
    trusted: bytes,
    certificate: Path,
    key: Path,
    proxy: Proxy | None = None,
    name: str | None = None,
    silence: float = SILENCE_SECONDS,
    besides: Sequence[tuple[str, Any]] = (),
) -> Channel:
    """On which a member and its curator know each other by their certificates.

    Args:
        opened: ``grpc.secure_channel``, or that of ``grpc.aio``.
        address: ``host:port``.
        trusted: the one certificate (PEM) that is accepted from the other end.
        certificate, key: the member's own, as PEM files.
        name: host name that the other end's certificate must show, if it is not the one dialled.
        silence: seconds without progress after which a connection is given up.
        besides: more options of the channel.
    """
    credentials = grpc.ssl_channel_credentials(trusted, key.read_bytes(), certificate.read_bytes())
    options = [*channel_options(proxy), *dialling_options(silence), *besides]
    if name:
        options.append(("grpc.ssl_target_name_override", name))
    return opened(address, credentials, options=options)


def hosts_of(certificate: x509.Certificate) -> list[str]:
    """The hosts that a certificate is for; ValueError if it cannot be read."""
    try:
        listed = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [str(host) for kind in (x509.DNSName, x509.IPAddress) for host in listed.get_values_for_type(kind)]


def any_host_of(shown: bytes) -> str | None:
    """A host that this certificate (PEM) is for, whatever was dialled; None if it is for none."""
    try:
        return next(iter(hosts_of(x509.load_pem_x509_certificate(shown))), None)
    except ValueError:
        return None
