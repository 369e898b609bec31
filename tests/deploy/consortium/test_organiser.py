"""From consortium.toml to a signed manifest: invites, answers, and everything that must be refused on the way."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography import x509

from privity.common.consortium.invitation import Join, fingerprint, read_invite, read_join
from privity.common.consortium.manifest import read_manifest, sign_manifest
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.consortium.member_folder import make_folder, make_join
from privity.common.crypto.identity import Identity
from privity.common.data.schema import load_schema
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.formats import read_json
from privity.common.formats.declared_keys import new_file
from privity.common.storage.canonical_json import b64
from privity.curator.server import CuratorConfig
from privity.deploy.consortium.organiser import Organiser, load_agreement
from privity.party import joining
from privity.party.policy import Approval
from tests.harness.command import here, privity

PARTIES = ("north", "south", "east")


@pytest.fixture
def organiser(tmp_path: Path) -> Organiser:
    schema = tmp_path / "table.schema.json"
    schema.write_text(json.dumps({"fields": [{"name": "a", "type": "string", "categories": ["x", "y"]}]}))
    return Organiser.init(tmp_path / "organiser", "clinics", "localhost:7443", schema, PARTIES)


def join(organiser: Organiser, member: str) -> Path:
    """The member joins in a folder of its own and sends its answer."""
    file, invite = organiser.invite(member)
    assert read_invite(file, invite.role) == invite
    folder = organiser.folder.parent / member
    if invite.role == "party":
        answer, _ = joining.join(folder, invite, "rows.csv", "patients", Approval.MANUAL)
    else:
        make_folder(folder, invite, f"{invite.role}.toml")
        answer, _ = make_join(folder, invite)
    sent = organiser.joins / answer.name
    sent.write_bytes(answer.read_bytes())
    return sent


def join_all(organiser: Organiser) -> None:
    for member in organiser.agreement().everybody():
        join(organiser, member)


def test_everybody_joins_and_one_signed_manifest_lists_all(organiser: Organiser) -> None:
    join_all(organiser)
    sealed = organiser.seal()
    assert sealed.serial == 1
    north = organiser.folder.parent / "north"
    manifest = read_manifest(organiser.manifest_file, north / "organiser.pub")
    assert manifest == sealed
    assert tuple(manifest.members) == PARTIES
    assert manifest.members["north"] == Identity.load(north / "keys").public()
    assert manifest.certificates["party/north"] == (north / "tls.pem").read_text()
    assert set(manifest.certificates) == {"curator/curator", "operator/operator", *(f"party/{p}" for p in PARTIES)}
    assert manifest.schema_digest == load_schema(north / "schema.json").digest
    assert (manifest.minimum_parties, manifest.minimum_tolerate) == (3, 1)
    assert not manifest.simulation


def test_private_keys_are_made_where_they_stay_and_only_their_owner_may_read_them(organiser: Organiser) -> None:
    join_all(organiser)
    organiser.seal()
    secrets = {}
    for key in organiser.folder.parent.rglob("*"):
        if key.is_file() and b"PRIVATE KEY" in key.read_bytes():
            secrets[key] = key.read_bytes()
            assert stat.S_IMODE(key.stat().st_mode) == 0o600, key
    by_folder = {key.relative_to(organiser.folder.parent).parts[0] for key in secrets}
    assert by_folder == {"organiser", "curator", "operator", *PARTIES}
    # What travels holds none of them.
    for sent in (*organiser.joins.iterdir(), *(organiser.folder / "invites").iterdir(), organiser.manifest_file):
        assert b"PRIVATE" not in sent.read_bytes()


def test_the_curators_certificate_is_for_the_names_under_which_it_is_dialled(organiser: Organiser) -> None:
    file = organiser.agreement_file
    file.write_text(file.read_text().replace('# hosts = ["10.0.0.5"]', 'hosts = ["10.0.0.5", "curator.example.org"]'))
    join_all(organiser)
    pem = organiser.seal().certificates["curator/curator"]
    certificate = x509.load_pem_x509_certificate(pem.encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "curator.example.org"]
    assert [str(a) for a in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.5"]
    authority = x509.load_pem_x509_certificate((organiser.folder / "private" / "authority.pem").read_bytes())
    certificate.verify_directly_issued_by(authority)


def test_sealing_again_counts_on_and_touches_no_certificate(organiser: Organiser) -> None:
    join_all(organiser)
    first, second = organiser.seal(), organiser.seal()
    assert (first.serial, second.serial) == (1, 2)
    assert first.certificates == second.certificates
    file = organiser.agreement_file
    file.write_text(file.read_text().replace('# hosts = ["10.0.0.5"]', 'hosts = ["10.0.0.5"]'))
    third = organiser.seal()
    assert third.certificates["curator/curator"] != second.certificates["curator/curator"]


def test_a_party_is_added_and_nobody_elses_files_change(organiser: Organiser) -> None:
    join_all(organiser)
    before = organiser.seal()
    folders = [organiser.folder.parent / member for member in (*PARTIES, "curator", "operator")]
    files = {file: file.read_bytes() for folder in folders for file in folder.rglob("*") if file.is_file()}
    agreement = organiser.agreement_file
    agreement.write_text(agreement.read_text().replace('"east"]', '"east", "west"]'))
    join(organiser, "west")
    after = organiser.seal()
    assert list(after.members) == [*PARTIES, "west"]
    assert {k: v for k, v in after.certificates.items() if k != "party/west"} == before.certificates
    assert files == {file: file.read_bytes() for file in files}


def test_who_has_not_joined_is_named_with_what_comes_first(organiser: Organiser) -> None:
    join(organiser, "north")
    with pytest.raises(PrivityError, match="curator, south, east, operator") as caught:
        organiser.seal()
    assert caught.value.code == "out-of-order"
    assert "privity consortium invite" in caught.value.remedy
    for member in ("curator", "south", "east", "operator"):
        organiser.invite(member)
    with pytest.raises(PrivityError) as caught:
        organiser.seal()
    assert (
        "This comes first: privity curator init or privity party init or privity operator init" in caught.value.remedy
    )
    assert str(organiser.folder / "invites") in caught.value.remedy
    assert "privity consortium invite" not in caught.value.remedy
    assert not organiser.manifest_file.exists()


def test_commands_before_init_say_what_comes_first(tmp_path: Path) -> None:
    for use in (lambda: Organiser(tmp_path).invite("north"), lambda: Organiser(tmp_path).seal()):
        with pytest.raises(PrivityError) as caught:
            use()
        assert caught.value.code == "out-of-order"
        assert "privity consortium init" in caught.value.remedy


def test_nothing_is_overwritten(organiser: Organiser) -> None:
    with pytest.raises(PrivityError, match="exists already"):
        Organiser.init(organiser.folder, "x", "localhost:1", organiser.agreement().schema, PARTIES)
    _, invite = organiser.invite("north")
    joining.join(organiser.folder.parent / "north", invite, "rows.csv", "patients", Approval.MANUAL)
    with pytest.raises(PrivityError, match="exists already"):
        joining.join(organiser.folder.parent / "north", invite, "rows.csv", "patients", Approval.MANUAL)


def test_an_undeclared_member_is_not_invited(organiser: Organiser) -> None:
    with pytest.raises(PrivityError, match="'west' is not declared"):
        organiser.invite("west")


@pytest.mark.parametrize(
    ("old", "new", "field", "rule"),
    [
        ("minimum_parties = 3", "minimum_parties = 4", "minimum_parties", "reachable"),
        ("minimum_tolerate = 1", "minimum_tolerate = 3", "minimum_tolerate", "reachable"),
        ('operators = ["operator"]', 'operators = ["north"]', "operators", "unique"),
        ('operators = ["operator"]', 'operators = ["curator"]', "operators", "unique"),
        ('# curator_member = "north"', 'curator_member = "west"', "curator_member", "member"),
        ('curator = "localhost:7443"', 'curator = "localhost"', "curator", "pattern"),
        ("format_version = 1", "format_version = 1\ncolour = 1", "colour", "additionalProperties"),
    ],
)
def test_each_fault_of_the_agreement_is_found(organiser: Organiser, old: str, new: str, field: str, rule: str) -> None:
    file = organiser.agreement_file
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(ProblemsFound) as caught:
        load_agreement(file)
    assert [(p.field, p.rule) for p in caught.value.problems] == [(field, rule)]
    assert ("does not have the form host:port." in caught.value.message) == (rule == "pattern")


def test_invites_and_joins_that_were_tampered_with_are_refused(organiser: Organiser) -> None:
    file, _ = organiser.invite("north")
    changed = json.loads(file.read_text())
    changed["invite"]["curator"] = "evil.example.org:7443"
    file.write_text(json.dumps(changed))
    with pytest.raises(PrivityError) as caught:
        read_invite(file, "party")
    assert caught.value.code == "tampered"
    _, invite = organiser.invite("north")
    own = Identity.load(organiser.folder / "private" / "keys")
    file.write_text(json.dumps(replace(invite, possession_key=b64(bytes(32))).signed(own)))
    with pytest.raises(PrivityError, match="possession key is not a usable") as caught:
        read_invite(file, "party")
    assert caught.value.code == "tampered"
    sent = join(organiser, "south")
    document = json.loads(sent.read_text())
    document["join"]["keys"]["sealing"] = Identity.generate().public().to_dict()["sealing"]
    sent.write_text(json.dumps(document))
    with pytest.raises(PrivityError) as caught:
        read_join(sent)
    assert caught.value.code == "tampered"


def test_an_invite_is_for_its_role(organiser: Organiser) -> None:
    file, _ = organiser.invite("operator")
    with pytest.raises(PrivityError, match="invites a operator, not a party"):
        read_invite(file, "party")


def test_a_member_cannot_bring_anothers_certificate(organiser: Organiser) -> None:
    sent = join(organiser, "south")
    _, invite = organiser.invite("north")
    identity = Identity.generate()
    stolen = read_join(sent).certificate
    forged = Join(invite.consortium, "party", "north", invite.possession_key, identity.public(), stolen)
    file = organiser.joins / "join-north.json"
    file.write_text(json.dumps(forged.signed(identity)))
    with pytest.raises(PrivityError, match="not that of party north"):
        read_join(file)


def answer_again(sent: Path, folder: Path, **changed: bytes) -> None:
    """The member sends its answer again with other public keys, and with what it can make of proofs for them."""
    own, answered = Identity.load(folder / "keys"), read_join(sent)
    assert answered.keys is not None
    forged = replace(answered, keys=replace(answered.keys, **changed))
    sent.write_text(json.dumps(forged.signed(own)))


@pytest.mark.parametrize("use", ["sealing", "agreement"])
def test_a_copied_key_is_refused_for_who_copied_it_cannot_prove_that_it_holds_it(
    organiser: Organiser, use: str
) -> None:
    join_all(organiser)
    theirs = Identity.load(organiser.folder.parent / "north" / "keys").public()
    sent = organiser.joins / "join-east.json"
    answer_again(sent, organiser.folder.parent / "east", **{use: getattr(theirs, use)})
    with pytest.raises(ProblemsFound, match=rf"join-east\.json.*its sender holds the {use} key") as caught:
        organiser.seal()
    assert len(caught.value.problems) == 1
    assert not organiser.manifest_file.exists()
    # The member itself, who cannot check it, reads its own answer all the same.
    assert read_join(sent).name == "east"


def test_whoever_copies_a_signing_key_cannot_sign_the_answer(organiser: Organiser) -> None:
    join_all(organiser)
    theirs = Identity.load(organiser.folder.parent / "north" / "keys").public()
    answer_again(organiser.joins / "join-east.json", organiser.folder.parent / "east", signing=theirs.signing)
    with pytest.raises(ProblemsFound, match=r"join-east\.json.*not the sender's signature"):
        organiser.seal()


def test_one_owner_of_two_names_is_refused_though_it_holds_every_key(organiser: Organiser) -> None:
    join_all(organiser)
    sent, home = organiser.joins / "join-east.json", organiser.folder.parent
    answered, north = read_join(sent), Identity.load(home / "north" / "keys")
    sent.write_text(json.dumps(replace(answered, keys=north.public()).signed(north)))
    with pytest.raises(ProblemsFound, match="signing key of east is the signing key of north") as caught:
        organiser.seal()
    assert len(caught.value.problems) == 3
    assert not organiser.manifest_file.exists()


def test_an_answer_to_another_organiser_or_without_its_proofs_is_refused(organiser: Organiser, tmp_path: Path) -> None:
    join_all(organiser)
    other = Organiser.init(tmp_path / "other", "clinics", "localhost:7443", organiser.agreement().schema, PARTIES)
    _, invite = other.invite("north")
    answer, _ = joining.join(tmp_path / "elsewhere", invite, "rows.csv", "patients", Approval.MANUAL)
    (organiser.joins / "join-north.json").write_bytes(answer.read_bytes())
    south = organiser.joins / "join-south.json"
    document = json.loads(south.read_text())
    south.write_text(json.dumps({**document, "proofs": {**document["proofs"], "sealing": b64(bytes(32))}}))
    east = organiser.joins / "join-east.json"
    east.write_text(json.dumps({**json.loads(east.read_text()), "proofs": None}))
    with pytest.raises(ProblemsFound) as caught:
        organiser.seal()
    assert [Path(p.file).name for p in caught.value.problems] == [f"join-{n}.json" for n in ("east", "north", "south")]
    found = [p.message for p in caught.value.problems]
    assert "with their proofs" in found[0]
    assert "holds the sealing key" in found[1], "its proof is for another organiser"
    assert "holds the sealing key" in found[2]


def test_a_signed_manifest_with_one_key_twice_is_refused_by_every_role(organiser: Organiser) -> None:
    """As an organiser seals it whose software did not look."""
    join_all(organiser)
    sealed, home = organiser.seal(), organiser.folder.parent
    (home / "curator" / "curator.toml").write_text(new_file(CuratorConfig, listen="127.0.0.1:0"))
    north = sealed.members["north"]
    members = {**sealed.members, "east": replace(sealed.members["east"], agreement=north.agreement)}
    bad = replace(sealed, members=members, serial=9)
    own = Identity.load(organiser.folder / "private" / "keys")
    document = json.dumps(sign_manifest(bad, own))
    (home / "bad.json").write_text(document)
    named = "the agreement key of east is the agreement key of north"

    accepted = "privity curator accept organiser/manifest.json --config curator/curator.toml"
    assert here(home, accepted).returncode == 0
    refused = here(home, "privity curator accept bad.json --config curator/curator.toml")
    assert named in refused.stderr
    assert json.loads((home / "curator" / "manifest.json").read_text())["manifest"]["serial"] == 1

    kept = ManifestFile(home / "north" / "manifest.json", home / "north" / "organiser.pub")
    kept.offer(organiser.manifest_file.read_bytes(), "the curator's manifest")
    with pytest.raises(ProblemsFound, match=named):
        kept.offer(document.encode(), "the curator's manifest")
    assert kept.current() == sealed

    (home / "north" / "rows.csv").write_text("a\nx\n")
    here(home, "privity population declare patients --total-epsilon 1")
    for role, member in (("party", "north"), ("curator", "curator")):
        (home / member / "manifest.json").write_text(document)
        assert named in here(home, f"privity {role} serve --config {member}/{role}.toml").stderr
    # Operators read it so from the curator, and beside transcripts.
    with pytest.raises(ProblemsFound, match=named):
        read_manifest(home / "bad.json", organiser.folder / "organiser.pub")
    # The organiser finds it in its own folder, and seals nothing that has it.
    organiser.manifest_file.write_text(document)
    with pytest.raises(ProblemsFound, match=named):
        organiser.seal()


def test_every_faulty_join_is_named_at_once(organiser: Organiser) -> None:
    join_all(organiser)
    (organiser.joins / "join-north.json").write_text("{}")
    (organiser.joins / "join-south.json").write_text("not json")
    again = json.loads((organiser.joins / "join-east.json").read_text())
    (organiser.joins / "second.json").write_text(json.dumps(again))
    with pytest.raises(ProblemsFound) as caught:
        organiser.seal()
    assert {Path(p.file).name for p in caught.value.problems} == {"join-north.json", "join-south.json", "second.json"}


@pytest.mark.process
def test_answers_of_others_are_left_aside(organiser: Organiser) -> None:
    join_all(organiser)
    agreement = organiser.agreement_file
    text = agreement.read_text().replace(', "east"]', "]").replace("minimum_parties = 3", "minimum_parties = 2")
    agreement.write_text(text)
    assert list(organiser.seal().members) == ["north", "south"]
    done = privity("consortium", "seal", "--folder", organiser.folder)
    table, _, rest = done.stdout.partition("Not declared")
    assert "join-south.json" in table
    assert "east" not in table
    assert "east in join-east.json" in rest
    agreement.write_text(text.replace('"south"]', '"soth"]'))
    with pytest.raises(PrivityError, match=r"there are answers of others, not declared: east in .*, south in "):
        organiser.seal()


def test_fingerprints_tell_answers_apart(organiser: Organiser) -> None:
    contents = [read_json(join(organiser, member))["join"] for member in PARTIES]
    marks = [fingerprint(content) for content in contents]
    assert len(set(marks)) == 3
    assert all(len(mark) == 24 for mark in marks)
