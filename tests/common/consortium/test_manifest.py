"""The signed manifest, the enrolments signed under it, and the plan that binds both."""

import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from unittest.mock import patch

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from privity.common.consortium.manifest import Manifest, open_manifest, read_manifest, sign_manifest
from privity.common.crypto.certificates import check_self_signed, self_signed
from privity.common.crypto.identity import Identity, sign
from privity.common.crypto.residues import Exponents
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.protocol.run_spec import Enrolment, RunPlan, RunSpec
from privity.common.protocol.secure_sum_method import MASKS, Method, SumKind
from privity.common.storage.canonical_json import b64, canonical_bytes, parse

NAMES = ("north", "south", "east")
IDENTITIES = {name: Identity.generate() for name in NAMES}
ORGANISER, STRANGER = Identity.generate(), Identity.generate()
PUBLIC = ORGANISER.public().signing_key
MANIFEST = Manifest(
    consortium="hospitals",
    members={name: identity.public() for name, identity in IDENTITIES.items()},
    schema_digest="ab" * 32,
    curator_member="south",
    simulation=False,
)
SPEC = RunSpec(
    run="run-1",
    algorithm="dp-subn",
    settings={"theta": "6"},
    epsilon=Fraction(1, 3),
    tolerate=1,
    members=NAMES,
    manifest_digest=MANIFEST.digest,
)
ENROLMENTS = tuple(Enrolment.signed(name, SPEC, 10 + i, IDENTITIES[name]) for i, name in enumerate(NAMES))
PLAN = RunPlan(SPEC, ENROLMENTS, (1 << 2047) + 12345)


def reread(document):
    return json.loads(json.dumps(document))


def test_a_signed_manifest_comes_back_from_its_file(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps(sign_manifest(MANIFEST, ORGANISER), indent=2))
    (tmp_path / "organiser.pub").write_text(b64(ORGANISER.public().signing) + "\n")
    read = read_manifest(tmp_path / "manifest.json", tmp_path / "organiser.pub")
    assert read == MANIFEST
    assert list(read.members) == list(NAMES)
    assert read.digest == MANIFEST.digest


@pytest.mark.statistical
def test_any_changed_byte_of_the_content_is_refused(tmp_path):
    document = sign_manifest(MANIFEST, ORGANISER)
    content = canonical_bytes(document["manifest"])
    rest = f'{{"format_version": 1, "signature": "{document["signature"]}", "manifest": '.encode()
    path, key = tmp_path / "manifest.json", tmp_path / "organiser.pub"
    key.write_text(b64(ORGANISER.public().signing))
    path.write_bytes(rest + content + b"}")
    assert read_manifest(path, key) == MANIFEST
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(rest + bytes(changed) + b"}")
        with pytest.raises(PrivityError) as caught:
            read_manifest(path, key)
        assert caught.value.code in ("tampered", "bad-input", "file-unreadable"), place


def test_another_organiser_or_signature_is_refused():
    document = sign_manifest(MANIFEST, ORGANISER)
    for signed in (
        sign_manifest(MANIFEST, STRANGER),
        {**document, "signature": b64(bytes(64))},
        {**document, "signature": "*" * 88},
        {**document, "signature": "é" * 88},
        {**document, "signature": b64(sign(ORGANISER.signing, "receipt", canonical_bytes(document["manifest"])))},
    ):
        with pytest.raises(PrivityError) as caught:
            open_manifest(signed, PUBLIC, "manifest.json")
        assert caught.value.code == "tampered"


def signed(content):
    signature = sign(ORGANISER.signing, "privity manifest", canonical_bytes(content))
    return {"format_version": 1, "manifest": content, "signature": b64(signature)}


NORTH_KEYS = IDENTITIES["north"].public()


def point(u: int) -> str:
    """A coordinate of Curve25519, as a key is written."""
    return b64(u.to_bytes(32, "little"))


def own_keys(**changed: str) -> dict[str, str]:
    return {**STRANGER.public().to_dict(), **changed}


def written_otherwise(base: X25519PrivateKey) -> str:
    """The text of another key with which everybody agrees on the same as with ``base``: its highest bit is ignored."""
    raw = base.public_key().public_bytes_raw()
    return b64(raw[:31] + bytes([raw[31] | 0x80]))


SMALL = "is not a usable X25519 key"
BAD_KEYS = {
    "a copied agreement key": (own_keys(agreement=b64(NORTH_KEYS.agreement)), "agreement key of west is the agreement"),
    "it, written otherwise": (
        own_keys(agreement=written_otherwise(IDENTITIES["north"].agreement)),
        "agreement key of west is the agreement key of north",
    ),
    "it, for another use": (
        own_keys(sealing=b64(NORTH_KEYS.agreement)),
        "sealing key of west is the agreement key of north",
    ),
    "a copied sealing key": (own_keys(sealing=b64(NORTH_KEYS.sealing)), "sealing key of west is the sealing key of"),
    "a copied signing key": (own_keys(signing=b64(NORTH_KEYS.signing)), "signing key of west is the signing key of"),
    "all of another member's": (NORTH_KEYS.to_dict(), "agreement key of west is the agreement key of north"),
    "one key for two uses": (
        own_keys(sealing=b64(STRANGER.public().agreement)),
        "agreement key of west is the sealing key of west",
    ),
    "the neutral agreement key": (own_keys(agreement=point(0)), SMALL),
    "one of order 4": (own_keys(agreement=point(1)), SMALL),
    "one of order 8": (
        own_keys(sealing=point(325606250916557431795983626356110631294008115727848805560023387167927233504)),
        SMALL,
    ),
    "the neutral signing key": (own_keys(signing=point(1)), "is not a usable Ed25519 key"),
    "a signing key of order 4": (own_keys(signing=point(0)), "is not a usable Ed25519 key"),
    "a signing key that is written otherwise": (own_keys(signing=point(2**255 - 18)), "is not a usable Ed25519 key"),
    "no base64": (own_keys(sealing="?" * 44), "base64"),
    "a short key": (own_keys(sealing=b64(bytes(31))), "32 bytes long"),
}


@pytest.mark.parametrize(("keys", "reason"), BAD_KEYS.values(), ids=BAD_KEYS)
def test_keys_that_cannot_be_a_members_own_are_refused_though_signed(keys: dict[str, str], reason: str):
    content = reread(MANIFEST.to_dict())
    content["members"].append({"name": "west", "keys": keys})
    with pytest.raises(ProblemsFound) as caught:
        open_manifest(signed(content), PUBLIC, "manifest.json")
    assert reason in caught.value.message
    assert {p.file for p in caught.value.problems} == {"manifest.json"}
    assert all(p.field.startswith("manifest.members[3].keys") for p in caught.value.problems)


def test_signing_keys_of_low_order_are_refused_and_no_others_are():
    p = 2**255 - 19
    d = -121665 * pow(121666, -1, p) % p
    # Order 8: twice the point has y = 0. Solve d y^4 + 2 y^2 = 1 for y^2, and take a root of what has one.
    root = pow(1 + d, (p + 3) // 8, p)
    root = root if root * root % p == (1 + d) % p else root * pow(2, (p - 1) // 4, p) % p
    found = []
    for square in ((half * root - 1) * pow(d, -1, p) % p for half in (1, -1)):
        y = pow(square, (p + 3) // 8, p)
        y = y if y * y % p == square else y * pow(2, (p - 1) // 4, p) % p
        found += [y, p - y] if y * y % p == square else []
    assert len(found) == 2
    for y in (0, 1, p - 1, p, p + 1, *found):
        for top in (0, 1 << 255):
            with pytest.raises(ValueError, match="Ed25519"):
                replace(NORTH_KEYS, signing=(y + top).to_bytes(32, "little"))
    for y in (2, 3, p - 2):
        replace(NORTH_KEYS, signing=y.to_bytes(32, "little"))


def test_a_name_that_stands_for_two_is_refused_though_signed():
    content = reread(MANIFEST.to_dict())
    content["members"].append({"name": "north", "keys": STRANGER.public().to_dict()})
    content["curator_member"] = "west"
    content["split"] = "given"
    with pytest.raises(ProblemsFound) as caught:
        open_manifest(signed(content), PUBLIC, "manifest.json")
    assert {p.field for p in caught.value.problems} == {
        f"manifest.{name}" for name in ("members", "curator_member", "split")
    }
    assert "the party north is named twice" in caught.value.message


def certified(**others: str) -> dict:
    own = {f"party/{name}": self_signed(name, "party")[0].decode() for name in NAMES}
    return {**reread(MANIFEST.to_dict()), "certificates": {**own, **others}}


def test_certificates_of_two_members_or_two_roles_are_refused_though_signed():
    open_manifest(signed(certified()), PUBLIC, "manifest.json")
    boss = {"operator/boss": self_signed("boss", "operator")[0].decode()}
    open_manifest(signed(certified(**boss)), PUBLIC, "manifest.json")
    both = {"operator/north": self_signed("north", "operator")[0].decode()}
    borrowed = certified(**boss)
    borrowed["certificates"]["party/south"] = borrowed["certificates"]["party/north"]
    alone = certified(**boss)
    del alone["certificates"]["party/east"]
    for content, reason in (
        (certified(**both), "north is named as party and as operator"),
        (borrowed, "the certificate is not that of party south"),
        (certified(**{"operator/boss": "no certificate"}), "operator/boss: it holds no certificate"),
        (alone, "east: each party has keys and a certificate"),
    ):
        with pytest.raises(ProblemsFound, match=reason):
            open_manifest(signed(content), PUBLIC, "manifest.json")


def with_another_key(kind: object) -> str:
    """A member's certificate as ours is but for the kind of its key."""
    with patch("privity.common.crypto.certificates.ec.generate_private_key", return_value=kind):
        return self_signed("boss", "operator")[0].decode()


CERTIFICATE = self_signed("boss", "operator")[0].decode()
MORE_THAN_ONE = {
    "a broken one behind it": CERTIFICATE + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    "another behind it": CERTIFICATE + CERTIFICATE,
    "no line end": CERTIFICATE.rstrip("\n"),
    "a text before it": "boss\n" + CERTIFICATE,
    "other line ends": CERTIFICATE.replace("\n", "\r\n"),
    "another curve": with_another_key(ec.generate_private_key(ec.SECP384R1())),
}


@pytest.mark.parametrize("text", MORE_THAN_ONE.values(), ids=MORE_THAN_ONE)
def test_a_certificate_behind_which_others_could_not_be_read_is_refused(text: str):
    """Those of all callers are joined for TLS: one member's text could lock out everybody after it."""
    with pytest.raises(ProblemsFound, match="operator/boss: it holds no certificate of a member"):
        open_manifest(signed(certified(**{"operator/boss": text})), PUBLIC, "manifest.json")
    with pytest.raises(ValueError, match="self-signed certificate"):
        check_self_signed(text.encode(), "operator", "boss")


def test_one_tls_key_under_two_names_is_refused_though_signed():
    key = ec.generate_private_key(ec.SECP256R1())
    with patch("privity.common.crypto.certificates.ec.generate_private_key", return_value=key):
        one, two = (self_signed(name, "operator")[0].decode() for name in ("boss", "chief"))
    content = certified(**{"operator/boss": one, "operator/chief": two})
    with pytest.raises(ProblemsFound, match="operator/chief has the TLS key of operator/boss"):
        open_manifest(signed(content), PUBLIC, "manifest.json")


def test_a_manifest_of_another_version_is_refused_with_the_remedy():
    document = {**signed(MANIFEST.to_dict()), "format_version": 2}
    with pytest.raises(ProblemsFound) as caught:
        open_manifest(document, PUBLIC, "manifest.json")
    (problem,) = caught.value.problems
    assert (problem.field, problem.rule) == ("format_version", "format-version")
    assert problem.remedy == "Another version of Privity wrote it: install that one, or a later one."


def test_every_fault_of_the_format_is_named():
    document = reread(sign_manifest(MANIFEST, ORGANISER))
    document["manifest"]["members"][1]["name"] = "../south"
    document["manifest"]["simulation"] = "no"
    del document["signature"]
    with pytest.raises(ProblemsFound) as caught:
        open_manifest(document, PUBLIC, "manifest.json")
    assert {p.field for p in caught.value.problems} == {"", "manifest.members[1].name", "manifest.simulation"}


@pytest.mark.parametrize("text", ["", "no key", b64(bytes(31)), "é"])
def test_a_broken_organiser_key_is_named(tmp_path, text):
    (tmp_path / "organiser.pub").write_text(text)
    with pytest.raises(PrivityError, match=r"organiser\.pub") as caught:
        read_manifest(tmp_path / "manifest.json", tmp_path / "organiser.pub")
    assert caught.value.code == "file-unreadable"
    (tmp_path / "organiser.pub").unlink()
    with pytest.raises(PrivityError, match=r"organiser\.pub: no such file"):
        read_manifest(tmp_path / "manifest.json", tmp_path / "organiser.pub")


def test_only_members_have_keys():
    assert MANIFEST.keys_of("east") == IDENTITIES["east"].public()
    with pytest.raises(PrivityError) as caught:
        MANIFEST.keys_of("west")
    assert caught.value.code == "identity-unknown"


def test_a_complete_plan_holds():
    PLAN.check(MANIFEST)
    assert PLAN.rows == 33
    assert PLAN.rows_of("south") == 11
    assert (PLAN.parties, PLAN.noise_quota) == (3, 2)


NORTH, SOUTH, EAST = ENROLMENTS
OTHER_SPEC = replace(SPEC, tolerate=2)
REFUSED = {
    "rows changed after signing": (replace(NORTH, rows=99), SOUTH, EAST),
    "no rows, well signed": (Enrolment.signed("north", SPEC, 0, IDENTITIES["north"]), SOUTH, EAST),
    "fewer than no rows": (Enrolment.signed("north", SPEC, -4, IDENTITIES["north"]), SOUTH, EAST),
    "signed by another member": (Enrolment.signed("north", SPEC, 10, IDENTITIES["south"]), SOUTH, EAST),
    "another spec, well signed": (Enrolment.signed("north", OTHER_SPEC, 10, IDENTITIES["north"]), SOUTH, EAST),
    "another spec's signature": (
        replace(Enrolment.signed("north", OTHER_SPEC, 10, IDENTITIES["north"]), spec_digest=SPEC.digest),
        SOUTH,
        EAST,
    ),
    "no signature": (replace(NORTH, signature=b""), SOUTH, EAST),
    "a member is missing": (NORTH, SOUTH),
    "a member twice": (NORTH, NORTH, EAST),
    "one more than the members": (NORTH, SOUTH, EAST, EAST),
    "another order": (SOUTH, NORTH, EAST),
    "a stranger": (NORTH, SOUTH, Enrolment.signed("west", SPEC, 5, STRANGER)),
    "nobody": (),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_plan_is_refused_with(case):
    with pytest.raises(PrivityError) as caught:
        replace(PLAN, enrolments=REFUSED[case]).check(MANIFEST)
    assert caught.value.code == "step-refused"


def test_a_spec_that_names_a_member_twice_is_refused():
    spec = replace(SPEC, members=("north", "north"))
    twice = Enrolment.signed("north", spec, 10, IDENTITIES["north"])
    with pytest.raises(PrivityError, match="not exactly the run's members"):
        RunPlan(spec, (twice, twice), PLAN.modulus).check(MANIFEST)


def test_a_member_that_the_manifest_does_not_list_is_refused():
    spec = replace(SPEC, members=("north", "west"))
    enrolments = tuple(Enrolment.signed(n, spec, 5, i) for n, i in (("north", IDENTITIES["north"]), ("west", STRANGER)))
    with pytest.raises(PrivityError) as caught:
        RunPlan(spec, enrolments, PLAN.modulus).check(MANIFEST)
    assert caught.value.code == "identity-unknown"


def test_documents_come_back_from_their_canonical_bytes_with_the_same_digest():
    spec = RunSpec.from_dict(parse(canonical_bytes(SPEC.to_dict())))
    plan = RunPlan.from_dict(parse(canonical_bytes(PLAN.to_dict())))
    assert (spec, plan) == (SPEC, PLAN)
    assert (spec.digest, plan.digest) == (SPEC.digest, PLAN.digest)
    assert Enrolment.from_dict(NORTH.to_dict()) == NORTH
    plan.check(MANIFEST)


def test_the_digest_of_a_spec_is_that_of_its_rfc_8785_text():
    spec = RunSpec(
        run="run-1",
        algorithm="one-way",
        settings={"b": 1, "a": "é"},
        epsilon=Fraction(1, 3),
        tolerate=1,
        members=("y", "x"),
        manifest_digest="0" * 64,
    )
    text = (
        '{"algorithm":"one-way","attributes":null,"delta":"0","epsilon":"1/3","evaluation":null,"format_version":1,"manifest_digest":"'
        + "0" * 64
        + '",'
        '"members":["y","x"],"run":"run-1","secure_sum":{"exponents":"half","method":"paillier"},'
        '"settings":{"a":"é","b":1},"tolerate":1}'
    )
    assert spec.digest == hashlib.sha256(text.encode()).hexdigest()


def test_digests_differ_for_any_change():
    specs = [
        SPEC,
        replace(SPEC, run="run-2"),
        replace(SPEC, algorithm="one-way"),
        replace(SPEC, settings={"theta": "5"}),
        replace(SPEC, epsilon=Fraction(1, 4)),
        replace(SPEC, tolerate=2),
        replace(SPEC, members=NAMES[::-1]),
        replace(SPEC, members=NAMES[:2]),
        replace(SPEC, manifest_digest="0" * 64),
        replace(SPEC, secure_sum=MASKS),
        *(replace(SPEC, secure_sum=SumKind(Method.PAILLIER, kind)) for kind in (Exponents.SHORT, Exponents.FULL)),
    ]
    plans = [
        *(replace(PLAN, spec=spec) for spec in specs),
        replace(PLAN, modulus=PLAN.modulus + 2),
        replace(PLAN, modulus=None),
        replace(PLAN, enrolments=(SOUTH, NORTH, EAST)),
        replace(PLAN, enrolments=(replace(NORTH, rows=11), SOUTH, EAST)),
        replace(PLAN, enrolments=(replace(NORTH, signature=bytes(64)), SOUTH, EAST)),
    ]
    manifests = [
        MANIFEST,
        replace(MANIFEST, consortium="clinics"),
        replace(MANIFEST, members=dict(reversed(MANIFEST.members.items()))),
        replace(MANIFEST, members={**MANIFEST.members, "east": STRANGER.public()}),
        replace(MANIFEST, schema_digest="0" * 64),
        replace(MANIFEST, curator_member=None),
        replace(MANIFEST, simulation=True),
    ]
    for documents in (specs, plans, manifests):
        assert len({document.digest for document in documents}) == len(documents)


@pytest.mark.parametrize(
    "change",
    [
        {"tolerate": "1"},
        {"tolerate": 1.5},
        {"tolerate": True},
        {"members": "abc"},
        {"members": ["north", 5]},
        {"settings": []},
        {"epsilon": "2/6"},
        {"epsilon": 1},
        {"epsilon": "-1"},
        {"run": "a/b"},
        {"run": ""},
        {"run": 3},
        {"algorithm": None},
        {"format_version": 2},
        {"format_version": "1"},
        {"secure_sum": "masks"},
        {"secure_sum": {"method": "paillier", "exponents": None}},
        {"secure_sum": {"method": "masks", "exponents": "half"}},
        {"secure_sum": {"method": "paillier", "exponents": "tiny"}},
        {"secure_sum": {"method": "masks", "exponents": None, "more": 1}},
        {"colour": "red"},
    ],
)
def test_a_document_that_is_no_spec_is_not_read(change):
    with pytest.raises((ValueError, TypeError, KeyError)):
        RunSpec.from_dict({**SPEC.to_dict(), **change})
    with pytest.raises((ValueError, TypeError, KeyError)):
        RunPlan.from_dict({**PLAN.to_dict(), "spec": {**SPEC.to_dict(), **change}})


@pytest.mark.parametrize("modulus", ["-ff", "0ff", "0x1f", "FF", " ff", "f_f", "", "f" * 10**6, 255])
def test_a_modulus_has_one_spelling_only(modulus):
    with pytest.raises((ValueError, TypeError)):
        RunPlan.from_dict({**PLAN.to_dict(), "modulus": modulus})


@pytest.mark.parametrize("change", [{"rows": "5"}, {"rows": 1.5}, {"rows": True}, {"party": 1}, {"signature": "AA"}])
def test_a_document_that_is_no_enrolment_is_not_read(change):
    with pytest.raises((ValueError, TypeError)):
        Enrolment.from_dict({**NORTH.to_dict(), **change})
