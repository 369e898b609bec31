"""Whether the signatures beside a release hold: by the organiser's public key alone, and member by member."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from privity.common.consortium.manifest import CURATOR, Manifest, open_manifest, read_organiser_key
from privity.common.crypto.certificate_signatures import verify_by_certificate
from privity.common.errors import Catalogue, PrivityError, Problem, ProblemsFound
from privity.common.formats import parse_json, read_json
from privity.common.release.attestations import (
    CURATOR_SIGNED_AS,
    Published,
    charges_of,
    is_signed_by_party,
    read_attestations,
)
from privity.common.release.release_contents import ATTESTATIONS, PRIVACY, RUN
from privity.common.release.statement import rounded_up
from privity.common.storage.canonical_json import canonical_bytes, unb64
from privity.common.storage.safe_files import read_regular

HONEST = (
    "Nobody attests that the curator computed the table honestly from the sums, nor that rows, sums and ledgers are"
    " what their members say."
)
FETCH_AGAIN = "Fetch the release again from where it was published, and ask the member."
Fault = tuple[str, str]
"""Which rule a statement breaks, and how."""


@dataclass(frozen=True)
class Signers:
    """Whose statements about a release hold.

    Attributes:
        published: what they must be about.
        privacy: the content of ``privacy.json``.
        manifests: that came along and were checked, by digest.
    """

    published: Published
    privacy: Mapping[str, Any]
    manifests: Mapping[str, Manifest]

    def fault_of_curator(self, signed: Mapping[str, Any]) -> Fault | None:
        """Why the curator's statement does not hold; None if it does."""
        statement = signed["statement"]
        manifest = self.manifests.get(statement["manifest_digest"])
        certificate = None if manifest is None else manifest.certificate_of("curator", CURATOR)
        if certificate is None:
            return _not_listed(CURATOR)
        try:
            signature = unb64(signed["signature"])
            verify_by_certificate(certificate.encode(), CURATOR_SIGNED_AS, canonical_bytes(statement), signature)
        except ValueError:
            return _no_match(CURATOR)
        return self._fault_of_content(CURATOR, statement)

    def fault_of_party(self, signed: Mapping[str, Any]) -> Fault | None:
        """The same of a party's."""
        statement = signed["statement"]
        party = statement["party"]
        manifest = self.manifests.get(statement["manifest_digest"])
        if manifest is None or party not in manifest.members:
            return _not_listed(party)
        if not is_signed_by_party(signed, manifest.keys_of(party)):
            return _no_match(party)
        entry = next((one for one in self.privacy["parties"] if one["name"] == party), None)
        if entry is None:
            return "not-a-party", f"{party} signed, and {PRIVACY} does not name it as a party of the run."
        if (fault := self._fault_of_content(party, statement)) is not None:
            return fault
        stated = charges_of(entry)
        if statement["charges"] != stated:
            odd = sorted(key for key in {*stated, *statement["charges"]} if _differ(key, stated, statement["charges"]))
            return "charge", f"{party} signed other charges than {PRIVACY} states for it: {', '.join(odd)}."
        return None

    def _fault_of_content(self, who: str, statement: Mapping[str, Any]) -> Fault | None:
        wanted = self.published.under(self.manifests[statement["manifest_digest"]])
        for key, word in (("consortium", "consortium"), ("run", "run"), ("plan_digest", "plan")):
            if statement[key] != wanted[key]:
                return "other-run", f"{who} signed for another {word}: {statement[key]}, not {wanted[key]}."
        if statement["release_digest"] != wanted["release_digest"]:
            found, own = statement["release_digest"], wanted["release_digest"]
            return "other-digest", f"{who} signed another digest than that of this release: {found}, not {own}."
        return None


def _differ(key: str, one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return one.get(key) != other.get(key)


def _not_listed(who: str) -> Fault:
    return "not-in-manifest", f"no manifest that came along and holds lists {who} for the statement in its name."


def _no_match(who: str) -> Fault:
    return "signature", f"the signature does not match the key that the manifest lists for {who}."


@dataclass
class Signatures:
    """What signatures beside a release say, once they were checked.

    Attributes:
        lines: for people, a sentence each.
        problems: everything that does not hold.
        parties: those that ``privacy.json`` names; attested: those of them whose statement holds.
    """

    lines: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    parties: list[str] = field(default_factory=list)
    attested: list[str] = field(default_factory=list)

    def in_short(self) -> str:
        """Who signed, in a line; only of signatures that all hold.

        Raises:
            ProblemsFound: some do not.
        """
        if self.problems:
            raise ProblemsFound(self.problems)
        missing = [name for name in self.parties if name not in self.attested]
        away = f" MISSING: {', '.join(missing)}. Fetch it again before you publish it." if missing else ""
        here = len(self.parties) - len(missing)
        return f"Signed by the curator and {here} of {len(self.parties)} parties: their signatures hold.{away}"


def check_signatures(folder: Path, root: Path, allow_missing: Collection[str] | None = ()) -> Signatures:
    """Check the signatures of a release whose files were checked before.

    Args:
        root: the file of the organiser's public key.
        allow_missing: parties whose statement need not be there; None for any.

    Raises:
        PrivityError: the root cannot be read; bad-option: a party to be allowed that the release does not name.
    """
    organiser = read_organiser_key(root)
    found, path = Signatures(), folder / ATTESTATIONS
    try:
        document = read_attestations(folder)
    except ProblemsFound as error:
        return Signatures(problems=list(error.problems))
    except PrivityError as error:
        return Signatures(problems=[_problem(path, "", error.code, f"{error.message}.")])
    if document is None or "curator" not in document:
        what = unsigned(folder) if document is None else "the curator's signature is missing."
        remedy = f"Get the signed release from where it was published, or leave out --root {root}: then it shows"
        found.problems.append(Problem(str(path), "", "not-signed", what, f"{remedy} damage only."))
        if document is None:
            return found
    manifests = _manifests(document, organiser, path, found)
    run = read_regular(folder / RUN, links=False)
    signers = Signers(
        Published.of(run, parse_json(run, str(folder / RUN))),
        read_json(folder / PRIVACY, links=False),
        manifests,
    )
    found.parties = [entry["name"] for entry in signers.privacy["parties"]]
    if unknown := sorted({*(allow_missing or ())} - {*found.parties}):
        reason, hint = f"no party {', '.join(unknown)} took part", f"Parties: {', '.join(found.parties)}."
        raise PrivityError(Catalogue.BAD_OPTION, option="allow-missing", reason=reason, hint=hint)
    _judge(document, signers, path, found, found.parties if allow_missing is None else allow_missing)
    return found


def unsigned(folder: Path) -> str:
    """Why there are no signatures beside a release, as far as it shows."""
    privacy = read_json(folder / PRIVACY, links=False)
    if privacy["simulation"]:
        return "it is not signed: a simulation's keys all lay on one machine."
    if privacy["K"] == 1:
        return "it is not signed: a single data owner published it, without a consortium."
    return f"it is not signed: {ATTESTATIONS} is missing."


def unchecked(folder: Path) -> str:
    """What is known of the signatures of a release without a root: whether there are any."""
    if read_attestations(folder) is None:
        what = unsigned(folder)
        return what[0].upper() + what[1:]
    return (
        f"{ATTESTATIONS} was not checked. Who signed the release, and whether that holds: privity verify RELEASE"
        " --root organiser.pub"
    )


def _manifests(
    document: dict[str, Any], organiser: Ed25519PublicKey, path: Path, found: Signatures
) -> dict[str, Manifest]:
    """Those that this root signed, by digest."""
    manifests: dict[str, Manifest] = {}
    for place, sealed in enumerate(document["manifests"]):
        at = f"manifests[{place}]"
        try:
            manifest = open_manifest(sealed, organiser, str(path))
        except ProblemsFound as error:
            message = f"it is no manifest of today: {error.problems[0].message}"
            found.problems.append(_problem(path, at, "root", message))
            continue
        except PrivityError:
            message = "the manifest is not signed by this root, or is none."
            found.problems.append(_problem(path, at, "root", message))
            continue
        if any(manifest.consortium != other.consortium for other in manifests.values()):
            found.problems.append(_problem(path, at, "root", "the manifests are of different consortia."))
            continue
        manifests[manifest.digest] = manifest
        found.lines.append(f"The root signed the manifest of {manifest.consortium}, serial {manifest.serial}.")
        if manifest.simulation:
            found.lines.append("It is that of a simulation: all keys lay on one machine.")
    return manifests


def _judge(
    document: dict[str, Any], signers: Signers, path: Path, found: Signatures, may_miss: Collection[str]
) -> None:
    """Member by member, and then all together."""
    digest, attested = signers.published.digest, found.attested
    if "curator" in document:
        fault = signers.fault_of_curator(document["curator"])
        if fault is None:
            found.lines.append(f"{CURATOR}: signed that it published this release, digest {digest}.")
        else:
            found.problems.append(_problem(path, "curator", *fault))
    signed = [each["statement"]["party"] for each in document["parties"]]
    for place, each in enumerate(document["parties"]):
        party = each["statement"]["party"]
        fault = signers.fault_of_party(each)
        if fault is None and party in signed[:place]:
            fault = "not-a-party", f"{party} is there twice."
        if fault is not None:
            found.problems.append(_problem(path, f"parties[{place}]", *fault))
        else:
            attested.append(party)
            charged = _in_words(each["statement"]["charges"])
            found.lines.append(f"{party}: attests this run, plan and digest, {charged}.")
    away = "it was away, or refused, or its statement was left out"
    for name in found.parties:
        if name not in signed and name in may_miss:
            found.lines.append(f"{name}: MISSING, which was allowed: {away}.")
        elif name not in signed:
            remedy = f"Fetch the release again later, or do without {name}: --allow-missing {name}"
            found.problems.append(Problem(str(path), "parties", "missing", f"{name} has not signed: {away}.", remedy))
    found.lines.append(_together(found.parties, attested, curator="curator" in document and not found.problems))
    found.lines.append(HONEST)


def _together(names: Sequence[str], attested: Sequence[str], *, curator: bool) -> str:
    agree = [name for name in names if name in attested]
    others = [name for name in names if name not in attested]
    if curator and not others:
        return f"All {len(names)} parties and the curator agree."
    who = f"{len(agree)} of {len(names)} parties agree"
    rest = f"; not {', '.join(others)}" if others else ""
    return f"{who} with {'the curator' if curator else 'this release'}{rest}."


def _in_words(charges: Mapping[str, str]) -> str:
    epsilon, delta = (rounded_up(Fraction(charges[f"{word}_per_person"])) for word in ("epsilon", "delta"))
    return f"and that its ledger was charged as {PRIVACY} says: epsilon {epsilon}, delta {delta} a person"


def _problem(path: Path, place: str, rule: str, message: str) -> Problem:
    return Problem(str(path), place, rule, message, FETCH_AGAIN)
