"""A member's folder, made from an invite: what everybody in the consortium has, and the member's own TLS key."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from privity.common.consortium.invitation import Invite, Join, fingerprint, read_join
from privity.common.consortium.key_renewal import CERTIFICATE, KEY, KEYS, REQUEST, Next
from privity.common.crypto.certificates import Role, certificate_request, self_signed
from privity.common.crypto.identity import Identity, PublicIdentity
from privity.common.data.schema import parse_schema
from privity.common.data.spreadsheet_formulas import warning
from privity.common.errors import Catalogue, PrivityError
from privity.common.storage.safe_files import write_private, write_whole

SCHEMA, ORGANISER_KEY = "schema.json", "organiser.pub"


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


def make_join(folder: Path, invite: Invite, identity: Identity | None = None) -> tuple[Path, dict[str, Any]]:
    """Make the member's TLS key, and the answer to the invite: ``join-NAME.json``, and its content.

    Args:
        identity: of a party; curator and operators have none.
    """
    certificate = _make_tls_key(folder, invite.role, invite.name)
    join = Join(invite.consortium, invite.role, invite.name, invite.possession_key, _public(identity), certificate)
    return _answer(folder, join, identity)


def renew(
    waiting: Next,
    role: Role,
    name: str,
    identity: Identity | None = None,
    *,
    keys: bool = False,
    invite: Path | None = None,
) -> tuple[Path, dict[str, Any]]:
    """Make a new TLS key beside the one in use, and the answer that has it sealed; nothing in use changes.

    Args:
        identity: of a party: its keys from then on.
        keys: whether they are new ones, to be kept ready, too.

    Raises:
        PrivityError: others are kept ready already, or there was no answer before.
    """
    home = waiting.key.parent
    if waiting.there():
        raise PrivityError(
            Catalogue.BAD_OPTION, option="renew", reason=f"{waiting.folder} holds keys that no manifest has listed yet",
            hint=f"Send {join_file(home, name)} to the organiser; if it got lost there, remove that folder first.",
        )  # fmt: skip
    if not join_file(home, name).exists():
        raise PrivityError(Catalogue.OUT_OF_ORDER, missing=join_file(home, name), first=f"privity {role} init")
    answered = read_join(join_file(home, name))
    with tempfile.TemporaryDirectory(dir=home, prefix=f".{waiting.folder.name}-") as scratch:
        place = Path(scratch) / "made"
        place.mkdir(mode=0o700)
        if identity is not None and keys:
            identity.save(place / KEYS)
        certificate = _make_tls_key(place, role, name)
        shutil.rmtree(waiting.folder, ignore_errors=True)  # what a crash left empty
        place.rename(waiting.folder)
    # Nobody is sent an answer whose keys are not there.
    join = Join(answered.consortium, role, name, answered.possession_key, _public(identity), certificate)
    return _answer(home, join, identity)


def _make_tls_key(folder: Path, role: Role, name: str) -> str:
    """The key, and its certificate or the curator's request for one, as files; the latter as PEM."""
    if role == "curator":
        certificate, key = certificate_request(name)
        write_whole(folder / REQUEST, certificate.decode())
    else:
        certificate, key = self_signed(name, role)
        write_whole(folder / CERTIFICATE, certificate.decode())
    write_private(folder / KEY, key)
    return certificate.decode()


def _public(identity: Identity | None) -> PublicIdentity | None:
    return None if identity is None else identity.public()


def join_file(folder: Path, name: str) -> Path:
    """The member's answer to its invite, or to the renewal of its keys."""
    return folder / f"join-{name}.json"


def _answer(folder: Path, join: Join, identity: Identity | None) -> tuple[Path, dict[str, Any]]:
    file = join_file(folder, join.name)
    write_whole(file, json.dumps(join.signed(identity), indent=2) + "\n")
    return file, join.to_dict()


def hand_over(file: Path, answer: Path | None, content: dict[str, Any], invite: Invite | None = None) -> list[str]:
    """Put a copy of the answer where the organiser looks, if ``answer`` says where; what comes next, a sentence a line.

    Args:
        invite: that it answers; None if it renews an earlier answer.
    """
    if answer is not None:
        write_whole(answer, file.read_text(encoding="utf-8"))
    came = "Compare with the organiser by another way than the file came."
    before = (
        "Nothing in use changes until a manifest lists the new ones."
        if invite is None
        else (f"Invite: {fingerprint(invite.to_dict())}. {came}")
    )
    warned = "" if invite is None else warning(parse_schema(invite.schema, "the invite"))
    told = [before, f"Answer: {fingerprint(content)}. Send {answer or file} to the organiser."]
    return [*told, *([f"Warning: {warned}"] if warned else [])]
