"""A node's copy of the manifest: newer ones come in, everything else leaves what is there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from privity.common.consortium.manifest import Manifest, sign_manifest
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.crypto.identity import Identity
from privity.common.errors import PrivityError
from privity.common.storage.canonical_json import b64
from privity.common.storage.safe_files import write_whole

ORGANISER = Identity.generate()
FIRST = Manifest("clinics", {"north": Identity.generate().public()}, "0" * 64, None, False)
SECOND = replace(FIRST, serial=2)


def signed(manifest: Manifest, by: Identity = ORGANISER) -> str:
    return json.dumps(sign_manifest(manifest, by))


@pytest.fixture
def copy(tmp_path: Path) -> ManifestFile:
    (tmp_path / "organiser.pub").write_text(b64(ORGANISER.public().signing))
    return ManifestFile(tmp_path / "manifest.json", tmp_path / "organiser.pub")


def test_without_a_file_it_says_what_comes_first(copy: ManifestFile) -> None:
    assert not copy.exists()
    with pytest.raises(PrivityError) as caught:
        copy.current()
    assert caught.value.code == "out-of-order"


def test_a_newer_file_counts_at_once_and_is_handed_on(copy: ManifestFile) -> None:
    for manifest in (FIRST, SECOND):
        write_whole(copy.path, signed(manifest))
        assert copy.current() == manifest
        assert json.loads(copy.document()) == json.loads(signed(manifest))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        signed(SECOND, Identity.generate()),
        signed(FIRST),
        signed(replace(SECOND, consortium="others", serial=9)),
    ],
    ids=["empty", "no manifest", "forged", "older", "of others"],
)
def test_a_file_at_fault_leaves_the_manifest_before_and_is_not_handed_on(copy: ManifestFile, caplog, text: str) -> None:
    write_whole(copy.path, signed(SECOND))
    before = copy.current(), copy.document()
    write_whole(copy.path, text)
    for _ in range(3):
        assert (copy.current(), copy.document()) == before
    assert len(caplog.records) == 1, "it is told once, not at every call"
    copy.path.unlink()
    assert copy.current() == SECOND


def test_offers_are_taken_if_they_are_newer(copy: ManifestFile) -> None:
    assert copy.offer(signed(FIRST).encode(), "an offer")
    assert not copy.offer(signed(FIRST).encode(), "an offer")
    assert copy.offer(signed(SECOND).encode(), "an offer")
    assert not copy.offer(signed(FIRST).encode(), "an offer")
    assert copy.current() == SECOND
    for bad in (
        signed(replace(SECOND, serial=3), Identity.generate()),
        signed(replace(SECOND, consortium="o", serial=3)),
    ):
        with pytest.raises(PrivityError, match="an offer"):
            copy.offer(bad.encode(), "an offer")
    assert copy.current() == SECOND


def test_a_manifest_of_another_version_is_refused_and_stays(copy: ManifestFile) -> None:
    written = json.dumps({**json.loads(signed(FIRST)), "format_version": 2})
    write_whole(copy.path, written)
    with pytest.raises(PrivityError, match=r"format-version\] 2 is not 1"):
        copy.offer(signed(SECOND).encode(), "the curator's")
    assert copy.path.read_text() == written
