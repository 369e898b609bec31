"""From consortium.toml to a signed manifest: invites, answers, and everything that must be refused on the way."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from cryptography import x509

from common.crypto.identity import Identity
from common.errors import PrivityError, ProblemsFound
from common.formats import read_json
from common.membership.joining import Join, fingerprint, read_invite, read_join
from common.membership.member_folder import make_folder, make_join
from common.protocol.manifest import read_manifest
from common.schema import load_schema
from deploy.organiser import Organiser, load_agreement
from party import joining
from party.policy import Approval
from tests.harness.command import privity

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
    authority = x509.load_pem_x509_certificate((organiser.folder.parent / "north" / "authority.pem").read_bytes())
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
    assert "First comes privity curator init or privity party init or privity operator init" in caught.value.remedy
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
    forged = Join(invite.consortium, "party", "north", identity.public(), stolen)
    file = organiser.joins / "join-north.json"
    file.write_text(json.dumps(forged.signed(identity)))
    with pytest.raises(PrivityError, match="not that of party north"):
        read_join(file)


def test_every_faulty_join_is_named_at_once(organiser: Organiser) -> None:
    join_all(organiser)
    (organiser.joins / "join-north.json").write_text("{}")
    (organiser.joins / "join-south.json").write_text("not json")
    again = json.loads((organiser.joins / "join-east.json").read_text())
    (organiser.joins / "second.json").write_text(json.dumps(again))
    with pytest.raises(ProblemsFound) as caught:
        organiser.seal()
    assert {Path(p.file).name for p in caught.value.problems} == {"join-north.json", "join-south.json", "second.json"}


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
