"""Signatures of a release: any byte that was changed is named, and so is everything that a member may have signed."""

from __future__ import annotations

import copy
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.consortium.manifest import sign_manifest
from privity.common.crypto.identity import Identity
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.release.attestations import FIGURES, Published, attestations_text, charges_of, signed_by_party
from privity.common.release.release_contents import ATTESTATIONS, PRIVACY, RELEASE_FILES, RUN
from privity.common.release.verification.release_verification import check_release, check_signed_release
from privity.common.release.verification.signature_verification import check_signatures
from privity.common.storage.canonical_json import b64
from tests.harness.consortium import TestConsortium, make_consortium
from tests.harness.signed_releases import SignedRelease, document_of, signed_release

Change = Callable[[dict[str, Any], SignedRelease], None]


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> SignedRelease:
    return signed_release(tmp_path_factory.mktemp("signed"))


def faults(folder: Path, root: Path) -> list[str]:
    """Everything that a reader is told is wrong, with its place."""
    try:
        lines = list(check_signed_release(folder, root))
    except ProblemsFound as error:
        return [f"{problem.field or Path(problem.file).name}: {problem.rule}" for problem in error.problems]
    except PrivityError as error:
        return [error.code]
    assert lines
    return []


def of_document(signed: SignedRelease, tmp_path: Path, change: Change) -> list[str]:
    """What is wrong with the release once its attestations.json was changed so."""
    folder = tmp_path / "release"
    shutil.copytree(signed.folder, folder)
    document = json.loads((folder / ATTESTATIONS).read_text(encoding="utf-8"))
    change(document, signed)
    (folder / ATTESTATIONS).write_text(attestations_text(document), encoding="utf-8")
    return faults(folder, signed.root)


def test_a_release_that_everybody_signed_has_no_fault(signed: SignedRelease) -> None:
    assert faults(signed.folder, signed.root) == []
    assert check_release(signed.folder)[-1].startswith(f"{ATTESTATIONS} was not checked.")
    said = check_signatures(signed.folder, signed.root).in_short()
    assert said == "Signed by the curator and 3 of 3 parties: their signatures hold."


@given(data=st.data())
def test_any_byte_of_any_file_that_was_changed_is_named(signed: SignedRelease, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([*RELEASE_FILES, ATTESTATIONS, "organiser.pub"]))
    with tempfile.TemporaryDirectory() as place:
        folder, root = Path(place) / "release", Path(place) / "organiser.pub"
        shutil.copytree(signed.folder, folder)
        shutil.copy(signed.root, root)
        file = root if name == root.name else folder / name
        content = bytearray(file.read_bytes())
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] ^= data.draw(st.integers(1, 255))
        file.write_bytes(content)
        said = faults(folder, root)
    # Of another root every manifest is told, of another run.json every signature.
    assert said, (name, at)


def in_a_statement(field: str, value: object, place: int = 1) -> Change:
    """The statement changed, under the signature that was there."""
    return lambda document, _: document["parties"][place]["statement"].update({field: value})


def signs(party: str = "party-2", **changes: Any) -> Change:
    """What this party signs itself, otherwise than it was asked."""

    def change(document: dict[str, Any], signed: SignedRelease) -> None:
        own = (signed.folder / RUN).read_bytes()
        published = Published.of(own, json.loads(own))
        entries = json.loads((signed.folder / PRIVACY).read_text())["parties"]
        charges = charges_of(next(one for one in entries if one["name"] == party)) | changes.pop("charges", {})
        manifest = changes.pop("manifest", signed.consortium.manifest)
        identity = signed.consortium.parties[party].identity
        place = next(at for at, one in enumerate(document["parties"]) if one["statement"]["party"] == party)
        again = signed_by_party(replace(published, **changes), manifest, party, charges, identity)
        document["parties"][place] = again

    return change


def by_a_stranger(document: dict[str, Any], signed: SignedRelease) -> None:
    own = (signed.folder / RUN).read_bytes()
    published, charges = Published.of(own, json.loads(own)), document["parties"][0]["statement"]["charges"]
    manifest = signed.consortium.manifest
    document["parties"].append(signed_by_party(published, manifest, "stranger", charges, Identity.generate()))


def under_another_root(document: dict[str, Any], signed: SignedRelease) -> None:
    document["manifests"] = [sign_manifest(signed.consortium.manifest, Identity.generate())]


def of_another_consortium_too(document: dict[str, Any], signed: SignedRelease) -> None:
    other = replace(signed.consortium.manifest, consortium="another")
    document["manifests"].append(sign_manifest(other, signed.consortium.tls.organiser))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (in_a_statement("release_digest", "0" * 64), ["parties[1]: signature"]),
        (in_a_statement("run", "another"), ["parties[1]: signature"]),
        (in_a_statement("party", "party-1"), ["parties[1]: signature", "parties: missing"]),
        (in_a_statement("manifest_digest", "0" * 64), ["parties[1]: not-in-manifest"]),
        (lambda d, _: d["curator"]["statement"].update(run="another"), ["curator: signature"]),
        (lambda d, _: d["curator"].update(signature=d["parties"][0]["signature"]), ["curator: signature"]),
        (lambda d, _: d["parties"][0].update(signature=d["parties"][1]["signature"]), ["parties[0]: signature"]),
        (signs(digest="f" * 64), ["parties[1]: other-digest"]),
        (signs(run="another"), ["parties[1]: other-run"]),
        (signs(plan_digest="f" * 64), ["parties[1]: other-run"]),
        (signs(charges={"epsilon_per_row": "1/2"}), ["parties[1]: charge"]),
        (signs(charges={"rho_per_row": "1"}), ["parties[1]: charge"]),
        (by_a_stranger, ["parties[3]: not-in-manifest"]),
        (lambda d, _: d["parties"].append(copy.deepcopy(d["parties"][0])), ["parties[3]: not-a-party"]),
        (lambda d, _: d.pop("curator"), [f"{ATTESTATIONS}: not-signed"]),
        (lambda d, _: d.pop("parties"), [f"{ATTESTATIONS}: required"]),
        (
            under_another_root,
            ["manifests[0]: root", "curator: not-in-manifest", *(f"parties[{k}]: not-in-manifest" for k in range(3))],
        ),
        (of_another_consortium_too, ["manifests[1]: root"]),
    ],
)
def test_each_fault_is_named_with_its_member(
    signed: SignedRelease, tmp_path: Path, change: Change, said: list[str]
) -> None:
    assert of_document(signed, tmp_path, change) == said


def test_who_is_missing_is_a_fault_unless_a_reader_allows_it(signed: SignedRelease, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(signed.folder, folder)
    document = json.loads((folder / ATTESTATIONS).read_text(encoding="utf-8"))
    del document["parties"][1]
    (folder / ATTESTATIONS).write_text(attestations_text(document), encoding="utf-8")
    assert faults(folder, signed.root) == ["parties: missing"]
    lines = list(check_signed_release(folder, signed.root, ["party-2"]))
    assert any(line.startswith("party-2: MISSING, which was allowed:") for line in lines)
    assert "2 of 3 parties agree with the curator; not party-2." in lines
    with pytest.raises(ProblemsFound, match="party-2 has not signed"):
        list(check_signed_release(folder, signed.root, ["party-1"]))
    with pytest.raises(PrivityError, match="no party party-9 took part"):
        list(check_signed_release(folder, signed.root, ["party-2", "party-9"]))
    said = check_signatures(folder, signed.root, allow_missing=None).in_short()
    assert said.startswith("Signed by the curator and 2 of 3 parties: their signatures hold. MISSING: party-2.")
    (folder / ATTESTATIONS).write_text(attestations_text({**document, "parties": []}), encoding="utf-8")
    assert faults(folder, signed.root) == ["parties: missing"] * 3, "the curator's word alone is none"


def test_nobody_is_said_to_have_signed_whose_signature_does_not_hold(signed: SignedRelease, tmp_path: Path) -> None:
    """Every signature is zeros: a sentence about signers comes from a verification, and there is none."""
    folder = tmp_path / "release"
    shutil.copytree(signed.folder, folder)
    document = json.loads((folder / ATTESTATIONS).read_text(encoding="utf-8"))
    for each in (document["curator"], *document["parties"]):
        each["signature"] = b64(bytes(64))
    (folder / ATTESTATIONS).write_text(attestations_text(document), encoding="utf-8")
    assert not any("party" in line or "Signed" in line for line in check_release(folder))
    with pytest.raises(ProblemsFound) as found:
        check_signatures(folder, signed.root, allow_missing=None).in_short()
    assert [problem.rule for problem in found.value.problems] == ["signature"] * 4


def test_a_file_that_only_looks_the_same_is_not_the_one_that_was_written(signed: SignedRelease, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(signed.folder, folder)
    document = json.loads((folder / ATTESTATIONS).read_text(encoding="utf-8"))
    (folder / ATTESTATIONS).write_text(json.dumps(document), encoding="utf-8")
    assert faults(folder, signed.root) == ["release: tampered"]


def test_a_release_whose_signatures_were_left_out_is_not_signed(signed: SignedRelease, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(signed.folder, folder)
    (folder / ATTESTATIONS).unlink()
    assert check_release(folder)[-1].startswith(f"It is not signed: {ATTESTATIONS} is missing.")
    assert faults(folder, signed.root) == [f"{ATTESTATIONS}: not-signed"]


def test_signatures_of_another_run_of_the_same_consortium_do_not_pass(signed: SignedRelease, tmp_path: Path) -> None:
    """All of attestations.json replayed: each statement is of another run, plan and digest."""
    other = signed_release(tmp_path / "other", run="run-2", consortium=make_again(signed))
    shutil.copy(other.folder / ATTESTATIONS, tmp_path / ATTESTATIONS)
    folder = tmp_path / "release"
    shutil.copytree(signed.folder, folder)
    shutil.copy(tmp_path / ATTESTATIONS, folder / ATTESTATIONS)
    assert faults(folder, signed.root) == ["curator: other-run", *(f"parties[{k}]: other-run" for k in range(3))]


def make_again(signed: SignedRelease) -> TestConsortium:
    """The same members, keys and organiser, with nothing in their journals."""
    identities = {name: party.identity for name, party in signed.consortium.parties.items()}
    return make_consortium(
        3, domain=(2, 3), rows=20, simulation=False, identities=identities, tls=signed.consortium.tls
    )


def test_signatures_of_another_consortium_with_the_same_keys_do_not_pass(signed: SignedRelease, tmp_path: Path) -> None:
    """The organiser sealed both, the members kept their keys, run and plan have one name: the consortium differs."""
    other = replace(signed.consortium.manifest, consortium="another")

    def replayed(document: dict[str, Any], made: SignedRelease) -> None:
        signs(manifest=other)(document, made)

    def with_its_manifest(document: dict[str, Any], made: SignedRelease) -> None:
        replayed(document, made)
        document["manifests"].append(sign_manifest(other, made.consortium.tls.organiser))

    assert of_document(signed, tmp_path / "1", replayed) == ["parties[1]: not-in-manifest"]
    assert of_document(signed, tmp_path / "2", with_its_manifest) == [
        "manifests[1]: root",
        "parties[1]: not-in-manifest",
    ]


def test_a_statement_of_a_party_that_the_release_does_not_name(tmp_path: Path) -> None:
    """A member of the consortium that took no part signs all the same."""
    four = make_consortium(4, domain=(2, 3), rows=20, simulation=False)
    folder = tmp_path / "release"
    folder.parent.mkdir(exist_ok=True)
    four.drive(folder, algorithm="one-way", close=False, parties=("party-1", "party-2", "party-3"))
    own = (folder / RUN).read_bytes()
    published, charges = Published.of(own, json.loads(own)), dict.fromkeys(FIGURES[:4], "0")
    signed = signed_by_party(published, four.manifest, "party-4", charges, four.parties["party-4"].identity)
    (folder / ATTESTATIONS).write_text(attestations_text(document_of(four, folder, [signed])), encoding="utf-8")
    (tmp_path / "root").write_text(b64(four.tls.organiser.public().signing))
    assert faults(folder, tmp_path / "root") == ["parties[0]: not-a-party", *["parties: missing"] * 3]
