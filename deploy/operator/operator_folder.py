"""The folder of an operator: its settings, and the link to the curator that they make."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from privity.common.consortium.key_renewal import Next
from privity.common.consortium.manifest import Manifest
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.formats.toml_file import read_toml
from privity.common.node.proxy import proxy_of, proxy_problems
from privity.deploy.operator.operator_client import OperatorClient

SETTINGS = "operator.toml"
OPERATOR_TOML = """\
# The operator's side (docs/formats.md). Paths are relative to this file.
format_version = 1
curator = {curator}
# If this machine dials out through a proxy (HTTP CONNECT); keep the file to yourself if there is a password in it.
# proxy = "http://proxy.example.org:3128"
certificate = "tls.pem"
key = "tls.key"
# Comes from the curator, signed by the organiser; checked against organiser.pub. The certificate that it lists for the
# curator is the only one that is taken for the curator's.
manifest = "manifest.json"
organiser_key = "organiser.pub"
"""


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
    document = read_toml(config, "operator", lambda document: proxy_problems(document, str(config)))
    base = config.parent
    return OperatorClient(
        document["curator"],
        ManifestFile(base / document["manifest"], base / document["organiser_key"]),
        base / document["certificate"],
        base / document["key"],
        proxy_of(document),
    )
