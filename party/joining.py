"""How a data owner joins: keys of its own, made here, and files to be reviewed before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from privity.common.consortium import member_folder
from privity.common.consortium.invitation import Invite
from privity.common.consortium.key_renewal import Next
from privity.common.consortium.member_folder import make_folder, make_join
from privity.common.crypto.identity import Identity
from privity.common.runs.automatic_choice import CANDIDATES
from privity.common.storage.safe_files import write_private
from privity.party.config import PartyConfig
from privity.party.policy import Approval
from privity.party.sources.address import moved

SETTINGS = "party.toml"

PARTY_TOML = """\
# This party's node (docs/formats.md). Paths are relative to this file.
format_version = 1
name = {name}
curator = {curator}
# If this machine dials out through a proxy (HTTP CONNECT); keep the file to yourself if there is a password in it.
# proxy = "http://proxy.example.org:3128"
data = {data}
schema = "schema.json"
policy = "policy.toml"
# Comes from the curator, signed by the organiser; checked against organiser.pub.
manifest = "manifest.json"
organiser_key = "organiser.pub"
keys = "keys"
certificate = "tls.pem"
key = "tls.key"
# Journal and transcripts: keep it, and back it up.
state = "state"
# The ledger of the population that the policy names; by default that of this user account
# (privity population list). Several services may share one.
{ledger}
# Days without a word about a run after which what is kept of it is erased (its charges stay).
# lease_days = 30
# Figures for Prometheus (docs/observability.md), over plain HTTP.
# metrics = "127.0.0.1:9465"
# If these rows are written otherwise than the schema's "dialect" says (docs/schema.md): privity data inspect FILE
# [dialect]
# delimiter = ";"
# encoding = "cp1252"
# decimalChar = ","
"""

POLICY_TOML = """\
# What this party allows (docs/formats.md). Nothing runs that it does not allow: review every line. A node at work
# obeys a change at once.
format_version = 1

# The people in these rows, whatever file the rows come in. They are declared once on this machine, with what all
# releases may cost one of them and how many rows one of them has at most: privity population declare --help.
population = {population}

# What one run may cost one of them.
epsilon_per_run = "1"

# A run that this policy allows: "manual" waits for `privity party approve RUN`, "by-policy" goes on by itself.
approval = {approval}

# How many runs a day, and at what cost of one of them in all, may go on by themselves; one more waits to be approved.
# runs_per_day = 3
# epsilon_per_day = "1"

# At how many parties of the consortium one person has rows at most. What a run costs a person is counted with it.
parties_per_person = {parties_per_person}

# If a run may not be about every attribute, name those that it may be about.
# attributes = ["age"]

# Whether runs may spend a share of their epsilon on telling how good the synthetic table is, by these rows.
# evaluation = true

# Which algorithms may run. These are what `--algorithm auto` chooses among; `privity algorithms` lists all.
algorithms = {algorithms}
minimum_parties = {minimum_parties}
minimum_tolerate = {minimum_tolerate}
minimum_key_bits = 3072

# Which of these limits operators may know before they submit a run, so that they ask for none that would be refused. A
# refusal names the limit that it is by in any case. Without this line nothing is published.
published = [
    "epsilon_per_run", "delta_per_run", "algorithms", "minimum_parties", "minimum_tolerate", "minimum_key_bits",
    "secure_sums", "exponents", "parties_per_person", "attributes", "evaluation",
]
"""


def settings_text(name: str, curator: str, data: str, ledger: str | None = None) -> str:
    """party.toml; without a ledger of its own it names that of the user account."""
    named = '# ledger = "/srv/privity/people.sqlite"' if ledger is None else f"ledger = {json.dumps(ledger)}"
    texts = (json.dumps(text) for text in (name, curator, data))
    return PARTY_TOML.format(**dict(zip(("name", "curator", "data"), texts, strict=True)), ledger=named)


def join(folder: Path, invite: Invite, data: str, population: str, approval: Approval) -> tuple[Path, dict[str, Any]]:
    """Make the party's folder and its answer to the invite: the file to send, and its content.

    Raises:
        PrivityError: the folder holds a party already.
    """
    make_folder(folder, invite, SETTINGS)
    identity = Identity.generate()
    identity.save(folder / "keys")
    file, content = make_join(folder, invite, identity)
    write_private(folder / SETTINGS, settings_text(invite.name, invite.curator, moved(data, folder)).encode())
    policy = POLICY_TOML.format(
        population=json.dumps(population),
        approval=json.dumps(approval.value),
        parties_per_person=invite.parties_per_person,
        minimum_parties=invite.minimum_parties,
        minimum_tolerate=invite.minimum_tolerate,
        algorithms=json.dumps(list(CANDIDATES)),
    )
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
