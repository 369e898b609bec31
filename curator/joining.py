"""The curator's folder: made from an invite, and the manifests that it takes."""

from __future__ import annotations

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
from privity.common.formats.declared_keys import new_file
from privity.common.storage.safe_files import read_regular, write_private
from privity.curator.server import CuratorConfig

SETTINGS = "curator.toml"


def join(folder: Path, invite: Invite, listen: str) -> tuple[Path, dict[str, Any]]:
    """Make the curator's folder and its answer to the invite: the file to send, and its content.

    Raises:
        PrivityError: the folder holds a curator already.
    """
    make_folder(folder, invite, SETTINGS)
    answer = make_join(folder, invite)
    write_private(folder / SETTINGS, new_file(CuratorConfig, listen=listen).encode())
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
