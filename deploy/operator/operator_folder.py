"""The folder of an operator: its settings, and the link to the curator that they make."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from privity.common.consortium.key_renewal import Next
from privity.common.consortium.manifest import Manifest
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.formats import declared_keys as declare
from privity.common.node.proxy import Proxy, proxy_key
from privity.deploy.operator.operator_client import OperatorClient

SETTINGS = "operator.toml"


@dataclass(frozen=True, kw_only=True)
class OperatorConfig:
    """operator.toml."""

    FILE: ClassVar = declare.SettingsFile(
        "operator", "operator.toml: how the operator reaches the curator"
    )  # fmt: skip

    curator: str = declare.of_form(declare.PUBLIC_ADDRESS, "address to connect to, `host:port`")
    proxy: Proxy | None = proxy_key()
    certificate: Path = declare.path(
        "path of the operator's TLS certificate (PEM), as in the manifest", start="tls.pem"
    )
    key: Path = declare.path("path of the certificate's private key (PEM)", start="tls.key")
    manifest: Path = declare.path(
        "path of the newest manifest, which comes from the curator. The certificate that it lists for the curator is"
        " the only one that is taken for the curator's", start="manifest.json",
    )  # fmt: skip
    organiser_key: Path = declare.path(
        "path of the organiser's public key in base64, with which the manifest is checked", start="organiser.pub"
    )


def client_of(config: Path) -> OperatorClient:
    """The operator's link to its curator, under renewed keys from the moment that the curator knows them."""
    client = link_of(config)
    waiting = Next(client.key, client.certificate)
    if waiting.half_taken() or (
        waiting.there() and replace(client, certificate=waiting.next_certificate, key=waiting.next_key).known()
    ):
        waiting.take()
    return client


def newest_manifest(config: Path) -> Manifest:
    """The manifest that the curator goes by now, as the organiser signed it; kept if it is newer than the one here."""
    client = client_of(config)
    document, name = client.manifest(), f"the manifest of {client.address}"
    client.manifests.offer(document, name)
    return client.manifests.opened(document, name)


def link_of(config: Path) -> OperatorClient:
    """The operator's link under the keys that are in use."""
    settings = OperatorConfig(**declare.read_settings(OperatorConfig, config))
    manifests = ManifestFile(settings.manifest, settings.organiser_key)
    return OperatorClient(settings.curator, manifests, settings.certificate, settings.key, settings.proxy)
