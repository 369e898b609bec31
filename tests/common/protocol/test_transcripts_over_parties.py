"""A curator that tells parties different things: what each alone accepts or refuses, their transcripts show."""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.assessment.audit.audited_consortium import small_key
from privity.common.crypto.sealing import SealedBlob
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.errors import PrivityError
from privity.common.privacy.mechanisms import NoisyMax
from privity.common.protocol.secure_sum_method import sum_kind
from privity.common.protocol.steps import (
    Begin,
    Close,
    CombineBlock,
    Contribute,
    Done,
    Enrol,
    Enrolled,
    Pending,
    Refusal,
    SealBlock,
    Select,
    Step,
)
from privity.common.protocol.transcript import Transcript, read_transcript
from privity.deploy.operator.transcript_comparison import MEANING, OF_TWO, Difference, compare
from privity.party import transcript as party_transcript
from privity.party.policy import Approval
from privity.party.transcript import MOST_REFUSALS, TOO_MANY, TRANSCRIPTS, Transcripts
from tests.harness.consortium import TestConsortium, make_consortium, open_policy
from tests.harness.steps import laplace, laplace_round

RUN = "run-1"
ROUND = laplace_round(RUN, "test", "1", ((0, 1),), Fraction(1))


def file_of(folder: Path, party: str, run: str = RUN) -> Path:
    return folder / f"{party}-{TRANSCRIPTS}" / f"{run}.json"


def written(consortium: TestConsortium, folder: Path) -> list[Transcript]:
    """The transcripts of all parties, checked."""
    return [read_transcript(file_of(folder, name), [consortium.manifest]) for name in consortium.parties]


def unfinished(consortium: TestConsortium, name: str, run: str = RUN) -> Transcript | None:
    return consortium.parties[name].engine._transcripts.of(run)


def close(consortium: TestConsortium, state: str = "FAILED") -> None:
    for name in consortium.parties:
        assert consortium.tell(name, Close(RUN, state)) == Done()


def steps_of(transcript: Transcript | None) -> list[str]:
    assert transcript is not None
    return [entry.step for entry in transcript.entries]


@pytest.mark.process
@pytest.mark.parametrize(
    ("parties", "request_"),
    [
        (2, {"settings": {"schedule": "uniform", "frontier": "always"}}),
        (3, {"settings": {"frontier": "always"}}),
        (3, {"algorithm": "independent"}),
        (3, {"algorithm": "one-way", "secure_sum": sum_kind("masks", None), "key_bits": None}),
        (9, {"algorithm": "one-way"}),
    ],
)
def test_parties_that_were_told_the_same_agree(tmp_path: Path, parties: int, request_: dict) -> None:
    consortium = make_consortium(parties, domain=(2, 3, 2), rows=40, folder=tmp_path)
    consortium.drive(tmp_path / "release", **request_)
    transcripts = written(consortium, tmp_path)
    assert compare(transcripts) == []
    assert {transcript.end for transcript in transcripts} == {"COMPLETED"}
    told = {name: [step for party, step in consortium.told if party == name] for name in consortium.parties}
    for transcript in transcripts:
        assert steps_of(transcript) == [step.key for step in told[transcript.party]]
        assert all(entry.reply for entry in transcript.entries)
        assert consortium.parties[transcript.party].journal.keys(f"{RUN}/") == []


@pytest.mark.process
def test_every_blob_that_a_combiner_was_given_is_in_its_senders_transcript(tmp_path: Path) -> None:
    consortium = make_consortium(9, domain=(2, 3), rows=20, folder=tmp_path)
    consortium.drive(tmp_path / "release", algorithm="one-way")
    transcripts = written(consortium, tmp_path)
    given = [blob for t in transcripts for entry in t.entries for blob in entry.blobs]
    sent = {(t.party, entry.blob) for t in transcripts for entry in t.entries if entry.blob}
    assert len(given) > 9, "there are nodes below the root"
    assert set(given) == sent
    for transcript in transcripts:
        # A party that leaves out one of its answers is told from what others show.
        entries = tuple(entry for entry in transcript.entries if not entry.step.startswith("seal/"))
        lying = replace(transcript, entries=entries)
        others = [other for other in transcripts if other is not transcript]
        assert {d.what for d in compare([*others, lying]) if transcript.party in d.parties}


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> list[Transcript]:
    """Transcripts of three parties that were told the same."""
    folder = tmp_path_factory.mktemp("honest")
    consortium = make_consortium(3, folder=folder)
    consortium.drive(folder / "release", settings={"schedule": "uniform", "frontier": "always"})
    return written(consortium, folder)


@given(st.data())
def test_whatever_was_told_otherwise_is_found(honest: list[Transcript], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, 2))
    one = honest[place]
    told = [number for number, entry in enumerate(one.entries) if entry.step.partition("/")[0] in MEANING]
    number = data.draw(st.sampled_from(told))
    kept = one.entries[number]
    # Told otherwise, or never.
    instead = data.draw(st.sampled_from([(replace(kept, content="0" * 64),), ()]))
    other = replace(one, entries=(*one.entries[:number], *instead, *one.entries[number + 1 :]))
    found = compare([*honest[:place], other, *honest[place + 1 :]])
    if kept.step.startswith("seal/") and not instead:
        assert {d.step.partition("/")[0] for d in found} == {"combine"}, "its blob is found at the combiner"
    else:
        assert kept.step in {d.step for d in found}
    assert all(one.party in d.parties for d in found)


def for_party(name: str, change: Callable[[Step], Step]) -> Callable[[str, Step], Step]:
    return lambda party, step: change(step) if party == name else step


def another_spec(step: Step) -> Step:
    return Enrol(replace(step.spec, epsilon=Fraction(2))) if isinstance(step, Enrol) else step


def another_key(step: Step) -> Step:
    return Begin(replace(step.plan, modulus=small_key(528)[0].n)) if isinstance(step, Begin) else step


def another_round(step: Step) -> Step:
    if isinstance(step, Contribute):
        return Contribute(replace(step.round, noise=replace(step.round.noise, scale=2 * step.round.noise.scale)))
    return step


def another_attempt(step: Step) -> Step:
    if isinstance(step, SealBlock):
        return replace(step, attempt=replace(step.attempt, combiners=("party-2",)))
    return step


def another_end(step: Step) -> Step:
    return replace(step, state="EXPIRED") if isinstance(step, Close) else step


def another_blob(step: Step) -> Step:
    if isinstance(step, CombineBlock):
        return replace(step, blobs=tuple((sender, SealedBlob(b.ciphertext, bytes(64))) for sender, b in step.blobs))
    return step


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        (another_spec, "enrol", "different runs under one name"),
        (another_key, "begin", "different plans"),
        (another_round, "contribute", "different questions"),
        (another_attempt, "seal", "other combiners"),
        (another_end, "close", "different ends"),
    ],
)
def test_a_curator_that_tells_one_party_something_else_is_found(
    tmp_path: Path, change: Callable[[Step], Step], kind: str, said: str
) -> None:
    consortium = make_consortium(3, folder=tmp_path)
    consortium.tamper = for_party("party-2", change)
    try:
        consortium.drive(tmp_path / "release", algorithm="one-way")
    except PrivityError:
        close(consortium)
    found = compare(written(consortium, tmp_path))
    assert {d.parties for d in found if d.step.partition("/")[0] == kind} == {
        ("party-1", "party-2"),
        ("party-2", "party-3"),
    }
    assert all("party-2" in d.parties for d in found)
    assert any(said in str(d) for d in found)


def test_a_blob_that_its_sender_did_not_send_is_found(tmp_path: Path) -> None:
    consortium = make_consortium(3, folder=tmp_path)
    consortium.tamper = lambda _party, step: another_blob(step)
    with pytest.raises(PrivityError):
        consortium.drive(tmp_path / "release", algorithm="one-way")
    close(consortium)
    found = compare(written(consortium, tmp_path))
    assert found
    assert all("did not send" in d.what and d.step.startswith("combine/") for d in found)
    assert {party for d in found for party in d.parties} == set(consortium.parties)


def test_a_blob_of_another_attempt_is_found(tmp_path: Path) -> None:
    """Each blob is genuine; the combiner refuses it, and the transcripts say whose it was."""
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin(consortium.spec(algorithm="one-way"))
    first, second = consortium.attempt(ROUND), consortium.attempt(ROUND, 2)
    old, new = consortium.seal(ROUND, first), consortium.seal(ROUND, second)
    assert isinstance(consortium.combine(ROUND, second, [new[0], old[1]]), Refusal)
    close(consortium)
    (found,) = compare(written(consortium, tmp_path))
    assert (found.parties, found.step) == (("party-1", "party-2"), "combine/1/2/0/0")


def test_a_selection_that_was_asked_of_two_parties_is_found(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin()
    pairs = (AttributeParentPair(0, (1,)), AttributeParentPair(1, (2,)))
    for name in consortium.parties:
        consortium.tell(name, Select(RUN, "p", "draw", pairs, NoisyMax(Fraction(1, 10))))
    close(consortium)
    (found,) = compare(written(consortium, tmp_path))
    assert (found.step, found.what) == ("select/draw", "both were asked for it")


def test_a_party_that_was_left_out_of_a_completed_run_is_found(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin(consortium.spec(algorithm="one-way"))
    consortium.tell("party-1", Contribute(ROUND))
    close(consortium, "COMPLETED")
    (found,) = compare(written(consortium, tmp_path))
    assert found.what == "party-1 was asked for it, party-2 never"
    assert found.step == "contribute/1"


def expire(consortium: TestConsortium, name: str) -> None:
    """The party hears nothing of the run for longer than its lease."""
    consortium.parties[name].engine.let_go(-1.0)


def test_parties_that_were_told_no_end_of_a_completed_run_are_found(tmp_path: Path) -> None:
    consortium = make_consortium(3, folder=tmp_path)
    consortium.begin(consortium.spec(algorithm="one-way"))
    for name in ("party-1", "party-2"):
        consortium.tell(name, Contribute(ROUND))
    early = unfinished(consortium, "party-2")
    consortium.tell("party-1", Close(RUN, "COMPLETED"))
    for name in ("party-2", "party-3"):
        expire(consortium, name)
    one, two, three = transcripts = written(consortium, tmp_path)
    assert [transcript.end for transcript in transcripts] == ["COMPLETED", "EXPIRED", "EXPIRED"]
    told = {(d.parties, d.step) for d in compare(transcripts)}
    assert told == {
        (("party-1", "party-2"), "close"),
        (("party-1", "party-3"), "close"),
        (("party-1", "party-3"), "contribute/1"),
        (("party-2", "party-3"), "contribute/1"),
    }
    assert early is not None
    assert compare([one, early]) == [], "what follows may be the same"
    assert compare([two, three]) == [], "nobody was told that it completed"


def test_a_curator_cannot_pass_off_another_end_as_the_partys_own(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin(consortium.spec(algorithm="one-way"))
    for name, state in zip(consortium.parties, ("COMPLETED", "EXPIRED"), strict=True):
        consortium.tell(name, Close(RUN, state))
    (found,) = compare(written(consortium, tmp_path))
    assert (found.parties, found.step, found.what) == (("party-1", "party-2"), "close", "the content differs")


def test_a_run_that_nobody_was_told_to_be_completed_may_expire_anywhere(tmp_path: Path) -> None:
    consortium = make_consortium(3, folder=tmp_path)
    consortium.begin(consortium.spec(algorithm="one-way"))
    consortium.tell("party-1", Contribute(ROUND))
    consortium.tell("party-1", Close(RUN, "FAILED"))
    for name in ("party-2", "party-3"):
        expire(consortium, name)
    assert compare(written(consortium, tmp_path)) == []


def test_a_run_that_failed_half_way_is_no_difference(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin(consortium.spec(algorithm="one-way"))
    consortium.tell("party-1", Contribute(ROUND))
    close(consortium)
    assert compare(written(consortium, tmp_path)) == []


def test_a_step_that_changed_is_found_in_one_transcript(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin(consortium.spec(algorithm="one-way"))
    for epsilon in (1, 2, 1):
        consortium.tell("party-1", Contribute(replace(ROUND, noise=laplace(((0, 1),), Fraction(epsilon)))))
    close(consortium)
    transcript = written(consortium, tmp_path)[0]
    assert steps_of(transcript) == ["enrol", "begin", "contribute/1", "contribute/1", "close"]
    assert [entry.code for entry in transcript.entries[2:4]] == [None, "step-changed"]
    (found,) = compare([transcript])
    assert (found.parties, found.what) == (("party-1",), "it was told 2 contents under one name")


def test_a_run_that_is_open_has_an_unfinished_transcript(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin(consortium.spec(algorithm="one-way"))
    consortium.seal(ROUND, consortium.attempt(ROUND))
    early = [unfinished(consortium, name) for name in consortium.parties]
    assert [transcript.end for transcript in early if transcript] == [None, None]
    consortium.combine(ROUND, consortium.attempt(ROUND), [])
    close(consortium)
    late = written(consortium, tmp_path)
    assert compare([*early, *late]) == [], "the one is the other's beginning"
    assert compare([early[0], late[1]]) == compare([late[0], early[1]]) == []


def test_a_party_that_signs_two_stories_is_found(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin()
    close(consortium)
    one, other = written(consortium, tmp_path)
    shorter = replace(one, entries=one.entries[:1])
    assert compare([one, other, shorter]) == [
        Difference(("party-1",), "", "it signed two transcripts that contradict each other", OF_TWO)
    ]
    assert compare([one, other, replace(shorter, end=None)]) == []


def test_repetitions_and_delays_leave_no_entry(tmp_path: Path) -> None:
    policies = {"party-1": open_policy(approval=Approval.MANUAL)}
    consortium = make_consortium(2, folder=tmp_path, policies=policies)
    spec = consortium.spec(algorithm="one-way")
    assert isinstance(consortium.tell("party-1", Enrol(spec)), Pending)
    assert unfinished(consortium, "party-1") is None
    approvals = consortium.parties["party-1"].engine._approvals
    approvals.approve(RUN, approvals.of(RUN).spec.digest)
    for _ in range(3):
        assert isinstance(consortium.tell("party-1", Enrol(spec)), Enrolled)
    for _ in range(3):
        assert isinstance(consortium.tell("party-1", Contribute(ROUND)), Refusal)
    assert steps_of(unfinished(consortium, "party-1")) == ["enrol", "contribute/1"]
    consortium.restart("party-1")
    consortium.tell("party-1", Contribute(ROUND))
    assert steps_of(unfinished(consortium, "party-1")) == ["enrol", "contribute/1"]


def test_nothing_is_kept_of_a_run_without_an_enrolment(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    for step in (Contribute(ROUND), Enrol(consortium.spec(algorithm="magic")), Close(RUN, "FAILED")):
        consortium.tell("party-1", step)
    assert consortium.parties["party-1"].journal.keys(f"{RUN}/") == []
    assert not file_of(tmp_path, "party-1").exists()


@pytest.mark.process
def test_a_curator_that_never_stops_being_refused_ends_the_run(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.tell("party-1", Enrol(consortium.spec()))
    attempt = consortium.attempt(ROUND)
    journal = consortium.parties["party-1"].journal
    for block in range(MOST_REFUSALS - 1):
        consortium.tell("party-1", SealBlock(RUN, attempt, block))
    assert not file_of(tmp_path, "party-1").exists()
    consortium.restart("party-1")
    for block in range(MOST_REFUSALS + 3):
        reply = consortium.tell("party-1", SealBlock(RUN, attempt, block))
        assert isinstance(reply, Refusal)
    assert "closed" in reply.message
    assert journal.keys(f"{RUN}/") == []
    text = file_of(tmp_path, "party-1").read_bytes()
    transcript = read_transcript(file_of(tmp_path, "party-1"), [consortium.manifest])
    assert (transcript.end, len(transcript.entries)) == (TOO_MANY, 1 + MOST_REFUSALS)
    consortium.tell("party-1", Close(RUN, "FAILED"))
    assert file_of(tmp_path, "party-1").read_bytes() == text


def test_a_full_disk_holds_up_the_end_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin()

    def full(_file: Path, _content: bytes) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as disk:
        disk.setattr(party_transcript, "write_private", full)
        assert consortium.tell("party-1", Close(RUN, "FAILED")) == Pending("room on its disk")
    assert consortium.parties["party-1"].journal.keys(f"{RUN}/"), "nothing is erased without a transcript"
    close(consortium)
    assert compare(written(consortium, tmp_path)) == []


def test_the_first_end_that_was_told_counts(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin()
    for state in ("COMPLETED", "FAILED"):
        assert consortium.tell("party-1", Close(RUN, state)) == Done()
        assert read_transcript(file_of(tmp_path, "party-1"), [consortium.manifest]).end == "COMPLETED"


def test_an_answer_that_the_journal_lost_is_not_given_otherwise(tmp_path: Path) -> None:
    """A sealed block is hidden with fresh randomness: other bytes than those in the transcript are not sent."""
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin(consortium.spec(algorithm="one-way"))
    attempt = consortium.attempt(ROUND)
    consortium.seal(ROUND, attempt)
    journal = consortium.parties["party-1"].journal
    journal.erase(f"{RUN}/reply/")
    reply = consortium.tell("party-1", SealBlock(RUN, attempt, 0))
    assert isinstance(reply, Refusal)
    assert reply.code == "step-answered"
    assert consortium.tell("party-1", Contribute(ROUND)) == Done(), "these bytes are the same"


def test_a_transcript_holds_no_digest_of_rows(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin(consortium.spec(algorithm="one-way"))
    consortium.combine(ROUND, consortium.attempt(ROUND), consortium.seal(ROUND, consortium.attempt(ROUND)))
    party = consortium.parties["party-1"]
    transcript = unfinished(consortium, "party-1")
    assert transcript is not None
    document = transcript.to_dict()
    assert {key for entry in document["entries"] for key in entry} == {
        "step", "content", "reply", "blob", "blobs", "link",
    }  # fmt: skip
    vectors = [party.journal.content(key) or b"" for key in party.journal.keys(f"{RUN}/vector/")]
    assert vectors
    for secret in (party.releases.table_digest, *(hashlib.sha256(vector).hexdigest() for vector in vectors)):
        assert secret not in json.dumps(document)


def test_a_broken_journal_keeps_no_refusal_from_being_sent(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin()
    transcripts: Transcripts = consortium.parties["party-1"].engine._transcripts
    assert transcripts.refused(Contribute(ROUND), "step-refused") is False
    consortium.parties["party-1"].journal.close()
    assert isinstance(consortium.tell("party-1", Contribute(ROUND)), Refusal)
