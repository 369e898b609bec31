"""The folder of an operator: its settings, and the link to the curator that they make."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from privity.common.consortium.key_renewal import Next
from privity.common.consortium.manifest import Manifest, open_manifest, read_organiser_key
from privity.common.consortium.member_folder import ORGANISER_KEY
from privity.common.formats import parse_json
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
authority = "authority.pem"
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
    """The manifest that the curator goes by now, as the organiser signed it."""
    client = client_of(config)
    name = f"the manifest of {client.address}"
    organiser = read_organiser_key(config.parent / ORGANISER_KEY)
    return open_manifest(parse_json(client.manifest(), name), organiser, name)


def link_of(config: Path) -> OperatorClient:
    """The operator's link under the keys that are in use."""
    document = read_toml(config, "operator", lambda document: proxy_problems(document, str(config)))
    base = config.parent
    return OperatorClient(
        document["curator"],
        base / document["authority"],
        base / document["certificate"],
        base / document["key"],
        base / ORGANISER_KEY,
        proxy_of(document),
    )
