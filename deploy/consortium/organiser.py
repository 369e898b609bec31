"""The organiser's desk: what the members agreed on, invites, their answers, and the one signed manifest.

The organiser holds two private things: the key that signs the manifest, and the authority of the curator's certificate.
It never holds a private key of a member, and no rows.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from privity.common.consortium.invitation import Invite, Join, read_join
from privity.common.consortium.manifest import CURATOR, Manifest, check_members, sign_manifest
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.consortium.member_folder import ORGANISER_KEY
from privity.common.crypto.certificates import Authority, Role, issue_for_request, make_authority
from privity.common.crypto.identity import Identity
from privity.common.data.schema import Schema, load_schema
from privity.common.errors import Catalogue, PrivityError, Problem, ProblemsFound
from privity.common.formats import LINE, read_json
from privity.common.formats import declared_keys as declare
from privity.common.protocol.run_terms import MOST_PARTIES
from privity.common.storage.canonical_json import b64
from privity.common.storage.safe_files import write_private, write_whole


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """consortium.toml."""

    FILE: ClassVar = declare.SettingsFile(
        "consortium", "consortium.toml: what the members agreed on",
        f"The organiser keeps this file; nothing in it is secret. {declare.PATHS}",
    )  # fmt: skip

    name: str = declare.text("name of the consortium, as everybody will see it", 60)
    curator: str = declare.of_form(
        declare.PUBLIC_ADDRESS,
        "address to which parties and operators connect, `host:port`. They only ever dial out to it",
    )
    hosts: tuple[str, ...] = declare.names(
        "more names and addresses in the curator's certificate, if it is reached under several",
        {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": LINE}, 0, default=[], by_default="none",
        example='["10.0.0.5"]',
    )  # fmt: skip
    schema: Path = declare.path(
        "path of the schema of the joint table (docs/schema.md): the same for all parties, declared, never read from"
        " rows"
    )
    parties: tuple[str, ...] = declare.names("names of the data owners, in their public order", declare.NAME, 2)
    operators: tuple[str, ...] = declare.names(
        "names of the members who may submit runs; each run belongs to its submitter", declare.NAME, start=["operator"]
    )
    curator_member: str | None = declare.of_form(
        declare.NAME, "the party that operates the curator, if one does; it is never a combiner", default=None,
        by_default="none", example='"north"',
    )  # fmt: skip
    minimum_parties: int = declare.whole(
        "a run over fewer parties is refused, whatever the parties' policies say", 2, MOST_PARTIES
    )
    minimum_tolerate: int = declare.whole(
        "a run that tolerates fewer colluding parties is refused", 1, MOST_PARTIES, start=1
    )
    parties_per_person: int = declare.whole(
        "the most parties at which one person has rows. What a run costs a person adds up over them", 1, MOST_PARTIES,
        default=1, start=1,
    )  # fmt: skip
    paused: tuple[str, ...] = declare.names(
        "names of the parties that new runs leave out; `privity consortium pause` writes it", declare.NAME, default=[],
        by_default="none",
    )  # fmt: skip

    @property
    def all_hosts(self) -> tuple[str, ...]:
        """All names of the curator in its certificate, the dialled one first."""
        return tuple(dict.fromkeys([self.curator.rpartition(":")[0], *self.hosts]))

    def role_of(self, member: str) -> Role | None:
        """The role under which a name is declared, None if it is not."""
        if member == CURATOR:
            return "curator"
        return "party" if member in self.parties else "operator" if member in self.operators else None

    def everybody(self) -> tuple[str, ...]:
        return (CURATOR, *self.parties, *self.operators)


def load_agreement(file: Path) -> Agreement:
    """Read consortium.toml; every fault at once."""

    def also(document: dict[str, Any]) -> list[Problem]:
        problems = []
        parties, operators = document.get("parties"), document.get("operators")
        if not isinstance(parties, list) or not isinstance(operators, list):
            return []  # faults of the format
        twice = {*parties} & {*operators} | {name for name in (*parties, *operators) if name == CURATOR}
        if twice:
            message = f"{', '.join(sorted(map(str, twice)))}: a name stands for one member in one role."
            problems.append(Problem(str(file), "operators", "unique", message, "Use another name."))
        if document.get("curator_member") not in (None, *parties):
            message, remedy = "it is none of the parties.", "Name a party, or leave it out."
            problems.append(Problem(str(file), "curator_member", "member", message, remedy))
        if isinstance(paused := document.get("paused", []), list) and {*map(str, paused)} - {*map(str, parties)}:
            message, remedy = "it names what is none of the parties.", "Name parties, or leave it out."
            problems.append(Problem(str(file), "paused", "member", message, remedy))
        least, tolerated = document.get("minimum_parties"), document.get("minimum_tolerate")
        if isinstance(least, int) and least > len(parties):
            message = f"there are {len(parties)} parties."
            problems.append(Problem(str(file), "minimum_parties", "reachable", message, "Ask for no more than that."))
        if isinstance(least, int) and isinstance(tolerated, int) and tolerated >= least:
            message = "a run of so many parties could not withstand so many of them."
            remedy = "Use a number below minimum_parties."
            problems.append(Problem(str(file), "minimum_tolerate", "reachable", message, remedy))
        everywhere = document.get("parties_per_person")
        if isinstance(everywhere, int) and everywhere > len(parties):
            message = f"there are {len(parties)} parties."
            problems.append(Problem(str(file), "parties_per_person", "reachable", message, "Write no more than that."))
        return problems

    return Agreement(**declare.read_settings(Agreement, file, also))


@dataclass(frozen=True)
class Answers:
    """What members sent back, by file: of those who are declared, and of others, which count for nothing."""

    declared: dict[Path, Join]
    others: dict[Path, Join]

    def named_others(self) -> str:
        return ", ".join(f"{join.name} in {path.name}" for path, join in self.others.items())


@dataclass(frozen=True)
class Organiser:
    """A folder with ``consortium.toml``, ``private/``, ``invites/``, ``joins/`` and ``manifest.json``."""

    folder: Path

    @property
    def agreement_file(self) -> Path:
        return self.folder / "consortium.toml"

    @property
    def joins(self) -> Path:
        return self.folder / "joins"

    @property
    def manifest_file(self) -> Path:
        return self.folder / "manifest.json"

    @property
    def _invites(self) -> Path:
        return self.folder / "invites"

    @property
    def _private(self) -> Path:
        return self.folder / "private"

    @classmethod
    def init(cls, folder: Path, name: str, curator: str, schema: Path, parties: tuple[str, ...]) -> Organiser:
        """A new folder: the agreement to be reviewed, and the organiser's own keys.

        Raises:
            PrivityError: the folder holds a consortium already, or the schema cannot be read.
        """
        organiser = cls(folder)
        if organiser.agreement_file.exists():
            raise PrivityError(
                Catalogue.BAD_OPTION, option="folder", reason=f"{organiser.agreement_file} exists already",
                hint="Edit it, or name another folder; nothing is overwritten.",
            )  # fmt: skip
        load_schema(schema).require_reviewed(schema)
        folder.mkdir(parents=True, exist_ok=True)
        organiser.joins.mkdir(exist_ok=True)
        identity = Identity.generate()
        identity.save(organiser._private / "keys")
        (folder / ORGANISER_KEY).write_text(b64(identity.public().signing), encoding="ascii")
        authority = make_authority(name[:64])
        (organiser._private / "authority.pem").write_bytes(authority.cert_pem)
        write_private(organiser._private / "authority.key", authority.key_pem)
        text = declare.new_file(
            Agreement, name=name, curator=curator, schema=os.path.relpath(schema.absolute(), folder.absolute()),
            parties=parties, minimum_parties=max(2, len(parties)),
        )  # fmt: skip
        organiser.agreement_file.write_text(text, encoding="utf-8")
        return organiser

    def agreement(self) -> Agreement:
        if not self.agreement_file.exists():
            raise PrivityError(Catalogue.OUT_OF_ORDER, missing=self.agreement_file, first="privity consortium init")
        return load_agreement(self.agreement_file)

    def _identity(self) -> Identity:
        return Identity.load(self._private / "keys")

    def _authority(self) -> Authority:
        pem, key = (self._private / name for name in ("authority.pem", "authority.key"))
        return Authority(pem.read_bytes(), key.read_bytes())

    def invite(self, member: str) -> tuple[Path, Invite]:
        """Write ``invites/MEMBER.json``, anew each time."""
        agreement = self.agreement()
        role = agreement.role_of(member)
        if role is None:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="member", reason=f"{member!r} is not declared in {self.agreement_file}",
                hint=f"Add it to parties or operators; declared are {', '.join(agreement.everybody())}.",
            )  # fmt: skip
        organiser = self._identity()
        invite = Invite(
            consortium=agreement.name,
            role=role,
            name=member,
            curator=agreement.curator,
            organiser_key=b64(organiser.public().signing),
            possession_key=b64(organiser.public().agreement),
            schema=read_json(agreement.schema),
            minimum_parties=agreement.minimum_parties,
            minimum_tolerate=agreement.minimum_tolerate,
            parties_per_person=agreement.parties_per_person,
        )
        file = self._invites / f"{member}.json"
        file.parent.mkdir(exist_ok=True)
        write_whole(file, json.dumps(invite.signed(organiser), indent=2) + "\n")
        return file, invite

    def seal(self) -> Manifest:
        """Check every join below ``joins/`` and write one signed manifest of all members.

        Raises:
            PrivityError: somebody has not joined yet.
            ProblemsFound: joins that do not fit, or bring keys of another member; all at once.
        """
        agreement, organiser = self.agreement(), self._identity()
        answers = self.answers()
        joins = {join.name: join for join in answers.declared.values()}
        missing = [member for member in agreement.everybody() if member not in joins]
        if missing:
            others = f" (there are answers of others, not declared: {answers.named_others()})" if answers.others else ""
            raise PrivityError(
                Catalogue.OUT_OF_ORDER,
                missing=f"{self.joins}: the answer of {', '.join(missing)}{others}",
                first=self._before_sealing(agreement, missing),
            )
        before = self.current()
        schema: Schema = load_schema(agreement.schema)
        schema.require_reviewed(agreement.schema)
        manifest = Manifest(
            consortium=agreement.name,
            members={name: keys for name in agreement.parties if (keys := joins[name].keys) is not None},
            schema_digest=schema.digest,
            curator_member=agreement.curator_member,
            simulation=False,
            serial=1 if before is None else before.serial + 1,
            certificates={
                f"{join.role}/{name}": self._certificate(join, agreement, before) for name, join in joins.items()
            },
            minimum_parties=agreement.minimum_parties,
            minimum_tolerate=agreement.minimum_tolerate,
            parties_per_person=agreement.parties_per_person,
            paused=agreement.paused,
            discoveries=schema.signed_discoveries,
        )
        check_members(manifest.to_dict(), str(self.joins))
        write_whole(self.manifest_file, json.dumps(sign_manifest(manifest, organiser), indent=2) + "\n")
        return manifest

    def current(self) -> Manifest | None:
        """The manifest as it was last sealed; none if none was."""
        manifests = ManifestFile(self.manifest_file, self.folder / ORGANISER_KEY)
        return manifests.current() if manifests.exists() else None

    def _before_sealing(self, agreement: Agreement, missing: list[str]) -> str:
        """The commands that bring the answers which are missing."""
        uninvited = [member for member in missing if not (self._invites / f"{member}.json").exists()]
        invite = f"privity consortium invite {' '.join(uninvited)} here, and then " if uninvited else ""
        roles = " or ".join(dict.fromkeys(f"privity {agreement.role_of(member)} init" for member in missing))
        return f"{invite}{roles} --invite FILE at each of them, with its file of {self._invites}"

    def answers(self) -> Answers:
        """What is below ``joins/``, each answer in its place.

        Raises:
            ProblemsFound: answers that do not fit, all at once.
        """
        agreement, organiser = self.agreement(), self._identity()
        found, others, names = {}, {}, set()
        problems: list[Problem] = []
        for file in sorted(self.joins.glob("*.json")):
            try:
                join = read_join(file, organiser)
            except ProblemsFound as error:
                problems += error.problems
                continue
            except PrivityError as error:
                problems.append(Problem(str(file), "", error.code, f"{error.message}.", error.remedy))
                continue
            if agreement.role_of(join.name) is None:
                others[file] = join
                continue
            fits = (join.consortium, join.role) == (agreement.name, agreement.role_of(join.name))
            if not fits or join.name in names:
                reason = "it is a second answer of this member." if fits else "it is for another consortium or role."
                problems.append(Problem(str(file), "join", "member", reason, "Take it out of the folder."))
            names.add(join.name)
            found[file] = join
        if problems:
            raise ProblemsFound(problems)
        return Answers(found, others)

    def _certificate(self, join: Join, agreement: Agreement, before: Manifest | None) -> str:
        """What the manifest lists for a member; the curator's is issued anew only if the one before does not serve."""
        if join.role != "curator":
            return join.certificate
        known = before.certificates.get(f"curator/{CURATOR}") if before is not None else None
        request, old = join.certificate.encode(), None if known is None else known.encode()
        return issue_for_request(self._authority(), request, CURATOR, agreement.all_hosts, old).decode()
