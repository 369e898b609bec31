"""The signed manifest, the enrolments signed under it, and the plan that binds both."""

import hashlib
import json
from dataclasses import replace
from fractions import Fraction

import pytest

from common.canonical import b64, canonical_bytes, parse
from common.crypto.identity import Identity, sign
from common.crypto.residues import Exponents
from common.errors import PrivityError, ProblemsFound
from common.protocol.manifest import Manifest, open_manifest, read_manifest, sign_manifest
from common.protocol.plan import Enrolment, RunPlan, RunSpec
from common.protocol.sum_kind import MASKS, Method, SumKind

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
SPEC = RunSpec("run-1", "dp-subn", {"theta": "6"}, Fraction(1, 3), 1, NAMES, MANIFEST.digest)
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


def test_a_member_named_twice_is_refused_though_signed():
    content = reread(MANIFEST.to_dict())
    content["members"].append({"name": "north", "keys": STRANGER.public().to_dict()})
    with pytest.raises(PrivityError, match="twice"):
        open_manifest(signed(content), PUBLIC, "manifest.json")


def test_keys_that_are_no_keys_are_refused_though_signed():
    content = reread(MANIFEST.to_dict())
    content["members"][0]["keys"]["sealing"] = "?" * 44
    with pytest.raises(PrivityError, match=r"manifest\.json.*base64") as caught:
        open_manifest(signed(content), PUBLIC, "manifest.json")
    assert caught.value.code == "file-unreadable"


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
    spec = RunSpec("run-1", "one-way", {"b": 1, "a": "é"}, Fraction(1, 3), 1, ("y", "x"), "0" * 64)
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
