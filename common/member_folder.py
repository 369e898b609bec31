"""A member's folder, made from an invite: what everybody in the consortium has, and the member's own TLS key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from common.crypto.certificates import certificate_request, self_signed
from common.crypto.identity import Identity
from common.errors import Catalogue, PrivityError
from common.files import write_private, write_whole
from common.joining import Invite, Join, fingerprint

SCHEMA, ORGANISER_KEY, AUTHORITY = "schema.json", "organiser.pub", "authority.pem"
CERTIFICATE, KEY, REQUEST, MANIFEST = "tls.pem", "tls.key", "tls.request.pem", "manifest.json"


def make_folder(folder: Path, invite: Invite, settings: str) -> None:
    """The folder with what the invite says.

    Args:
        settings: name of the file that the member's node will read; the folder must not have it yet.
    """
    if (folder / settings).exists():
        raise PrivityError(
            Catalogue.BAD_OPTION, option="folder", reason=f"{folder / settings} exists already",
            hint="Name another folder; nothing is overwritten.",
        )  # fmt: skip
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(folder / SCHEMA, json.dumps(invite.schema, indent=2, ensure_ascii=False) + "\n")
    write_whole(folder / ORGANISER_KEY, invite.organiser_key)
    write_whole(folder / AUTHORITY, invite.authority)


def make_join(folder: Path, invite: Invite, identity: Identity | None = None) -> tuple[Path, dict[str, Any]]:
    """Make the member's TLS key, and the answer to the invite: ``join-NAME.json``, and its content.

    Args:
        identity: of a party; curator and operators have none.
    """
    if invite.role == "curator":
        certificate, key = certificate_request(invite.name)
        write_whole(folder / REQUEST, certificate.decode())
    else:
        certificate, key = self_signed(invite.name, invite.role)
        write_whole(folder / CERTIFICATE, certificate.decode())
    write_private(folder / KEY, key)
    keys = None if identity is None else identity.public()
    join = Join(invite.consortium, invite.role, invite.name, keys, certificate.decode())
    file = folder / f"join-{invite.name}.json"
    write_whole(file, json.dumps(join.signed(identity), indent=2) + "\n")
    return file, join.to_dict()


def hand_over(file: Path, answer: Path | None, content: dict[str, Any], invite: Invite) -> str:
    """Put a copy of the answer where the organiser looks, if ``answer`` says where; what comes next, in words."""
    if answer is not None:
        write_whole(answer, file.read_text(encoding="utf-8"))
    return (
        f"Invite: {fingerprint(invite.to_dict())}. Compare with the organiser by another way than the file came.\n"
        f"Answer: {fingerprint(content)}. Send {answer or file} to the organiser."
    )
