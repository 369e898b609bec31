"""The curator's folder: made from an invite, and the manifests that it takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from privity.common.consortium import member_folder
from privity.common.consortium.invitation import Invite
from privity.common.consortium.key_renewal import Next, fitting_key
from privity.common.consortium.manifest import CURATOR
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.consortium.member_folder import make_folder, make_join
from privity.common.consortium.schema_file import SchemaFile
from privity.common.data.schema import load_schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.storage.safe_files import read_regular, write_private
from privity.curator.server import CuratorConfig

SETTINGS = "curator.toml"
PATIENCE = 60.0

CURATOR_TOML = """\
# The curator's server (docs/formats.md). Paths are relative to this file.
format_version = 1
listen = {listen}
key = "tls.key"
# From the organiser: privity curator accept FILE
manifest = "manifest.json"
organiser_key = "organiser.pub"
schema = "schema.json"
# Runs and releases: keep it.
state = "state"
# Seconds without a sign of life from a party that was asked something, after which a run is stopped; it can be
# resumed.
patience = {patience}
# Days for which a run may stand still, stopped or waiting for somebody, before it expires.
# lease_days = 14
# Figures for Prometheus (docs/observability.md), over plain HTTP.
# metrics = "127.0.0.1:9464"
# Members may ask which services and messages there are.
# reflection = true
"""


def settings_text(listen: str, patience: float = PATIENCE) -> str:
    """curator.toml."""
    return CURATOR_TOML.format(listen=json.dumps(listen), patience=patience)


def join(folder: Path, invite: Invite, listen: str) -> tuple[Path, dict[str, Any]]:
    """Make the curator's folder and its answer to the invite: the file to send, and its content.

    Raises:
        PrivityError: the folder holds a curator already.
    """
    make_folder(folder, invite, SETTINGS)
    answer = make_join(folder, invite)
    write_private(folder / SETTINGS, settings_text(listen).encode())
    return answer


def renew(config: CuratorConfig) -> tuple[Path, dict[str, Any]]:
    """Make a new TLS key and the request for its certificate: the answer to send, and its content.

    Raises:
        PrivityError: another one waits for being sealed already.
    """
    return member_folder.renew(Next(config.key), "curator", CURATOR)


def accept(config: CuratorConfig, file: Path, schema: Path | None = None) -> tuple[int, bool]:
    """Take a manifest that the organiser sealed: the serial that is here now, and whether it was newer.

    Args:
        schema: that the manifest names, if it is not the one that is here.

    Raises:
        PrivityError: it is not the organiser's, of another consortium, or over another schema.
    """
    manifests = ManifestFile(config.manifest, config.organiser_key)
    if not file.exists():
        first = "privity consortium seal, if the path is right"
        raise PrivityError(Catalogue.OUT_OF_ORDER, missing=file, first=first)
    document = read_regular(file)
    manifest = manifests.opened(document, str(file))
    given = schema or config.schema
    if (digest := load_schema(given).digest) != manifest.schema_digest:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="schema",
            reason=f"{file} is over another schema than {given}: SHA-256 {manifest.schema_digest}, not {digest}",
            hint="Get that schema from the organiser and give it: --schema FILE.",
        )  # fmt: skip
    own = manifest.certificate_of("curator", CURATOR)
    if own is None or fitting_key(own, config.key) is None:
        reason = f"the curator's certificate in it is not that of {config.key}, nor of a renewed one"
        raise PrivityError(Catalogue.TAMPERED, what=file, reason=reason)
    schemas = SchemaFile(config.schema)
    if schema is not None:
        schemas.keep_ready(schema)
    newer = manifests.offer(document, str(file))
    schemas.settle(manifests.current())
    return manifests.current().serial, newer
