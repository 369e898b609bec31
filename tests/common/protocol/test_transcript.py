"""Transcripts: the chain holds every entry in its place, and the signature the whole."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privity.common import formats
from privity.common.consortium.manifest import Manifest
from privity.common.crypto.identity import Identity
from privity.common.crypto.sealing import SealedBlob
from privity.common.errors import PrivityError
from privity.common.protocol.combiner_tree import FAN_IN
from privity.common.protocol.round_attempt import Attempt
from privity.common.protocol.steps import Close, CombineBlock, Done, SealBlock, Sealed, step_digest
from privity.common.protocol.transcript import (
    LONGEST_STEP,
    Entry,
    Transcript,
    open_transcript,
    read_transcript,
    transcript_text,
)
from privity.common.storage.canonical_json import b64, unb64

KEYS = {name: Identity.generate() for name in ("north", "south")}
MANIFEST = Manifest("c", {name: keys.public() for name, keys in KEYS.items()}, "0" * 64, None, False)
DIGESTS = st.integers(0, 255).map(lambda byte: f"{byte:02x}" * 32)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20).filter(lambda name: name.rstrip("\r\n") == name)
OPTIONAL = st.none() | DIGESTS
ENTRIES = st.builds(
    Entry,
    NAMES,
    DIGESTS,
    OPTIONAL,
    st.none() | NAMES,
    OPTIONAL,
    st.lists(st.tuples(NAMES, DIGESTS), max_size=FAN_IN).map(tuple),
)
TRANSCRIPTS = st.builds(
    lambda end, entries: Transcript("run-1", "north", MANIFEST.digest, end, tuple(entries)).signed(KEYS["north"]),
    st.none() | NAMES,
    st.lists(ENTRIES, max_size=6),
)


def sample() -> Transcript:
    entries = tuple(
        Entry(f"contribute/{place}", f"{place:02x}" * 32, "ff" * 32, None, None, (("south", "aa" * 32),))
        for place in range(4)
    )
    return Transcript("run-1", "north", MANIFEST.digest, "COMPLETED", entries).signed(KEYS["north"])


def opened(document: dict[str, Any]) -> Transcript:
    transcript = open_transcript(document, "t.json")
    transcript.check_signature([MANIFEST], "t.json")
    return transcript


def code_of(document: dict[str, Any]) -> str:
    with pytest.raises(PrivityError) as caught:
        opened(document)
    return caught.value.code


@given(TRANSCRIPTS)
def test_what_is_written_is_what_is_read(transcript: Transcript) -> None:
    document = formats.parse_json(transcript_text(transcript).encode(), "t.json")
    assert opened(document) == transcript
    assert transcript_text(opened(document)) == transcript_text(transcript)


@given(TRANSCRIPTS, st.data())
def test_entries_cannot_be_changed_moved_added_or_left_out(transcript: Transcript, data: st.DataObject) -> None:
    document = transcript.to_dict()
    entries = document["entries"]
    change = data.draw(st.sampled_from(["change", "swap", "add", "drop"] if len(entries) > 1 else ["add"]))
    place = data.draw(st.integers(0, max(0, len(entries) - 1)))
    if change == "change":
        entries[place]["content"] = "ab" * 32 if entries[place]["content"] != "ab" * 32 else "cd" * 32
    elif change == "swap":
        other = (place + 1) % len(entries)
        entries[place], entries[other] = entries[other], entries[place]
    elif change == "add":
        entries.insert(place, {"step": "begin", "content": "0" * 64, "link": "1" * 64})
    else:
        del entries[place]
    assert code_of(document) == "tampered"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.integers(1, 255))
def test_a_changed_byte_anywhere_is_found(tmp_path: Path, place: int, flip: int) -> None:
    text = transcript_text(sample()).encode()
    changed = bytearray(text)
    changed[place % len(text)] ^= flip
    file = tmp_path / "t.json"
    file.write_bytes(changed)
    fault = ""
    try:
        # White space between the parts of a document says nothing.
        assert read_transcript(file, [MANIFEST]) == sample()
    except PrivityError as error:
        fault = error.code
    assert fault in {"", "tampered", "bad-input", "file-unreadable"}


def test_the_first_entry_that_does_not_fit_is_named() -> None:
    document = sample().to_dict()
    document["entries"][2]["content"] = "ab" * 32
    with pytest.raises(PrivityError, match=r"t\.json: entry 3 \(contribute/2\)"):
        opened(document)


@pytest.mark.parametrize(("key", "value"), [("run", "run-2"), ("end", None), ("entries", 3), ("head", "0" * 64)])
def test_what_is_signed_cannot_be_changed(key: str, value: object) -> None:
    document = sample().to_dict()
    document["transcript"][key] = value
    assert code_of(document) == "tampered"


def test_a_chain_that_was_made_anew_is_not_signed() -> None:
    old = sample()
    forged = Transcript(old.run, old.party, old.manifest_digest, old.end, old.entries[:-1], old.signature)
    assert code_of(forged.to_dict()) == "tampered"
    other = Transcript(old.run, old.party, old.manifest_digest, old.end, old.entries).signed(KEYS["south"])
    assert code_of(other.to_dict()) == "tampered"
    document = sample().to_dict()
    document["signature"] = b64(unb64(document["signature"])[:-1])
    assert code_of(document) == "tampered"
    document["signature"] = "no base64"
    assert code_of(document) == "tampered"


def test_the_key_of_an_older_manifest_counts_if_it_is_given() -> None:
    newest = Manifest("c", {"north": Identity.generate().public()}, "0" * 64, None, False, serial=2)
    with pytest.raises(PrivityError, match="if keys were renewed since, give that one too") as caught:
        sample().check_signature([newest], "t.json")
    assert caught.value.code == "tampered"
    sample().check_signature([newest, MANIFEST], "t.json")


def test_a_stranger_signs_nothing() -> None:
    stranger = Transcript("run-1", "west", MANIFEST.digest, None, ()).signed(Identity.generate())
    assert code_of(stranger.to_dict()) == "identity-unknown"


def test_all_faults_of_a_file_are_told_at_once() -> None:
    document = copy.deepcopy(sample().to_dict())
    document["entries"][0]["when"] = "12:00"
    document["transcript"]["party"] = "no name"
    with pytest.raises(PrivityError) as caught:
        opened(document)
    assert caught.value.code == "bad-input"
    assert "entries[0].when" in caught.value.message
    assert "transcript.party" in caught.value.message


def test_a_blob_is_the_same_to_who_sends_and_who_combines_it() -> None:
    attempt, blob = Attempt("r", "d", 1, ("north",)), SealedBlob(b"ciphertext", b"signature")
    seal = SealBlock("run-1", attempt, 0)
    combine = CombineBlock("run-1", attempt, 0, 0, (("south", blob),))
    sent = Entry.answered(seal, step_digest(seal), Sealed(blob), b"")
    given = Entry.answered(combine, step_digest(combine), Done(), b"")
    assert given.blobs == (("south", sent.blob),)
    assert combine.content()["blobs"] == [["south", sent.blob]]


def test_what_a_curator_names_at_length_is_cut() -> None:
    attempt, blob = Attempt("r" * 10_000, "d", 1, ("north",)), SealedBlob(b"c", b"s")
    steps = [CombineBlock("run-1", attempt, block, 0, (("x" * 1000, blob),) * FAN_IN) for block in (0, 1)]
    entries = tuple(Entry.refused(step, step_digest(step), "step-refused") for step in steps)
    assert {len(entry.step) for entry in entries} == {LONGEST_STEP}
    assert entries[0].step != entries[1].step
    opened(Transcript("run-1", "north", MANIFEST.digest, None, entries).signed(KEYS["north"]).to_dict())
    many = CombineBlock("run-1", attempt, 0, 0, (("x", blob),) * (FAN_IN + 1))
    assert Entry.refused(many, step_digest(many), "blob-refused").blobs == ()


def test_a_refusal_keeps_no_words() -> None:
    step = Close("run-1", "FAILED")
    assert json.dumps(Entry.refused(step, "0" * 64, "budget-exhausted").to_dict()) == json.dumps(
        {"step": "close", "content": "0" * 64, "code": "budget-exhausted"}
    )
