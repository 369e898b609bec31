"""How a data owner joins: keys of its own, made here, and files to be reviewed before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from privity.common.consortium import member_folder
from privity.common.consortium.invitation import Invite
from privity.common.consortium.key_renewal import Next
from privity.common.consortium.member_folder import make_folder, make_join
from privity.common.crypto.identity import Identity
from privity.common.formats.declared_keys import new_file
from privity.common.runs.automatic_choice import ALLOWED_AT_FIRST
from privity.common.storage.safe_files import write_private
from privity.party.config import PartyConfig
from privity.party.policy import Approval, Policy
from privity.party.sources.address import moved

SETTINGS = "party.toml"


def join(folder: Path, invite: Invite, data: str, population: str, approval: Approval) -> tuple[Path, dict[str, Any]]:
    """Make the party's folder and its answer to the invite: the file to send, and its content.

    Raises:
        PrivityError: the folder holds a party already.
    """
    make_folder(folder, invite, SETTINGS)
    identity = Identity.generate()
    identity.save(folder / "keys")
    file, content = make_join(folder, invite, identity)
    settings = new_file(PartyConfig, name=invite.name, curator=invite.curator, data=moved(data, folder))
    write_private(folder / SETTINGS, settings.encode())
    policy = new_file(
        Policy, population=population, approval=approval.value, algorithms=list(ALLOWED_AT_FIRST),
        parties_per_person=invite.parties_per_person, minimum_parties=invite.minimum_parties,
        minimum_tolerate=invite.minimum_tolerate,
    )  # fmt: skip
    write_private(folder / "policy.toml", policy.encode())
    return file, content


def renew(config: PartyConfig, *, keys: bool) -> tuple[Path, dict[str, Any]]:
    """Make a new TLS key, and new keys of its own if ``keys``; the answer to have them sealed, and its content.

    Raises:
        PrivityError: others wait for being sealed already.
    """
    waiting = Next(config.key, config.certificate, config.keys)
    identity = Identity.generate() if keys else Identity.load(config.keys)
    return member_folder.renew(waiting, "party", config.name, identity, keys=keys)
