"""A run that waits for its owner: nothing leaves before a yes to that very spec, and nothing more after a no."""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from unittest.mock import ANY

import numpy as np
import pytest

from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.errors import PrivityError
from privity.common.privacy.mechanisms import NoisyMax
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.protocol.expected_tables import ExpectedTables
from privity.common.protocol.round import Replacement
from privity.common.protocol.run_spec import RunSpec
from privity.common.protocol.steps import (
    Close,
    Contribute,
    Done,
    Enrol,
    Enrolled,
    Learn,
    Pending,
    Refusal,
    Select,
    Selected,
    SelectTable,
)
from privity.common.storage.journal import Journal
from privity.common.text.awaited_words import OWNER
from privity.curator.pending_steps import Desk, Listener
from privity.party.approvals import MOST_WAITING, Approvals
from privity.party.policy import Approval
from tests.harness.consortium import TestConsortium, make_consortium, open_policy
from tests.harness.ledgers import charged
from tests.harness.network import NetworkConsortium
from tests.harness.steps import laplace, laplace_round
from tests.harness.tls import OPERATOR

ASKS = open_policy(approval=Approval.MANUAL)
NAME = "party-1"
WHOLE = laplace_round("run-1", "test", "1", ((0,),), Fraction(1))
EXPECTED = ExpectedTables(((0,),), np.array([1, 1]), 2, (0,))
PART = laplace_round(
    "run-1",
    "test",
    "1",
    ((0,),),
    Fraction(1, 2),
    Replacement(1, None, 0, laplace(((0,),), Fraction(1, 2)).scale, False),
)


def waiting(folder: Path) -> TestConsortium:
    """Three parties, the first of which approves by hand."""
    return make_consortium(3, policies={NAME: ASKS}, folder=folder)


def desk(folder: Path) -> Approvals:
    """What the owner's commands open: the same file, in their own process as it were."""
    return Approvals(Journal(folder / f"{NAME}-journal.sqlite"))


def say_yes(folder: Path, run: str = "run-1") -> None:
    approvals = desk(folder)
    approvals.approve(run, approvals.of(run).spec.digest)


def test_a_run_waits_until_it_is_approved_and_then_goes_on(tmp_path: Path) -> None:
    consortium = waiting(tmp_path)
    enrol = Enrol(consortium.spec())
    assert consortium.tell(NAME, enrol) == Pending(OWNER, ANY)
    assert consortium.tell(NAME, enrol) == Pending(OWNER, ANY), "a delay is no stored answer"
    (filed,) = desk(tmp_path).filed()
    assert (filed.spec, filed.state, filed.waits) == (enrol.spec, "waits for approval", True)
    assert charged(consortium.parties[NAME].ledger) == []
    say_yes(tmp_path)
    assert isinstance(consortium.tell(NAME, enrol), Enrolled)
    assert desk(tmp_path).of("run-1").state == "taken part in"


def test_who_asks_is_kept_with_what_was_asked_and_changes_nothing_of_it(tmp_path: Path) -> None:
    consortium = waiting(tmp_path)
    enrol = Enrol(consortium.spec())
    assert consortium.tell(NAME, enrol) == Pending(OWNER, ANY)
    say_yes(tmp_path)
    assert isinstance(consortium.tell(NAME, enrol), Enrolled)
    assert desk(tmp_path).of("run-1").submitter == OPERATOR
    consortium.tell(NAME, Enrol(consortium.spec("run-2", algorithm="magic")))
    assert desk(tmp_path).of("run-2").denied
    assert desk(tmp_path).of("run-2").submitter == OPERATOR
    consortium.tell(NAME, Enrol(consortium.spec("run-3")))
    consortium.tell(NAME, Close("run-3", "FAILED"))
    assert desk(tmp_path).of("run-3").closed
    assert desk(tmp_path).of("run-3").submitter == OPERATOR


def test_how_far_a_run_has_come_is_read_from_the_answers(tmp_path: Path) -> None:
    consortium = make_consortium(3, folder=tmp_path)
    consortium.begin()
    done = desk(tmp_path).progress("run-1")
    assert done is not None
    assert (done.phase, done.answers) == ("enrolment", 2)
    asked = laplace_round("run-1", "tree-again", "looks/3-tree-again", ((0,),), Fraction(1, 2))
    assert consortium.tell(NAME, Contribute(asked)) == Done()
    done = desk(tmp_path).progress("run-1")
    assert done is not None
    assert (done.phase, done.answers) == ("tree-again", 3)
    consortium.tell(NAME, Close("run-1", "FAILED"))
    assert desk(tmp_path).progress("run-1") is None, "what it was made of is erased"


def test_a_run_that_waits_outlives_a_newer_manifest_that_says_the_same_of_it(tmp_path: Path) -> None:
    consortium = waiting(tmp_path)
    enrol = Enrol(consortium.spec(members=(NAME, "party-2")))
    assert consortium.tell(NAME, enrol) == Pending(OWNER, ANY)
    consortium.parties[NAME].engine.adopt(replace(consortium.manifest, serial=2, paused=("party-3",)))
    node = consortium.restart(NAME)
    node.engine.adopt(replace(consortium.manifest, serial=3, paused=("party-3",)))
    assert consortium.tell(NAME, enrol) == Pending(OWNER, ANY)
    say_yes(tmp_path)
    assert isinstance(consortium.tell(NAME, enrol), Enrolled)
    assert node.journal.content("#under/run-1") is None
    fresh = consortium.tell(NAME, Enrol(consortium.spec(run="run-2", members=(NAME, "party-2"))))
    assert isinstance(fresh, Refusal)
    assert "belongs to another manifest" in fresh.message


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"paused": ("party-2",)}, "party-2 is paused"),
        ({"minimum_parties": 4}, "Possible|3 parties"),
        ({"minimum_tolerate": 2}, "1 colluding parties"),
        ({"parties_per_person": 2}, "belongs to another manifest"),
        ({"members": "other keys"}, "belongs to another manifest"),
    ],
    ids=["paused", "more parties", "more colluding", "people at several", "keys"],
)
def test_a_run_that_waits_ends_by_a_newer_manifest_that_forbids_it(
    tmp_path: Path, change: dict[str, object], reason: str
) -> None:
    consortium = waiting(tmp_path)
    enrol, manifest = Enrol(consortium.spec()), consortium.manifest
    assert consortium.tell(NAME, enrol) == Pending(OWNER, ANY)
    say_yes(tmp_path)
    if "members" in change:
        change = {"members": {**manifest.members, "party-2": make_consortium(2).manifest.members["party-2"]}}
    consortium.parties[NAME].engine.adopt(replace(manifest, serial=2, **change))
    refused = consortium.tell(NAME, enrol)
    assert isinstance(refused, Refusal)
    assert re.search(reason, refused.message)


def test_nobody_approves_without_the_digest_of_what_was_read(tmp_path: Path) -> None:
    consortium = waiting(tmp_path)
    consortium.tell(NAME, Enrol(consortium.spec()))
    approvals, digest = desk(tmp_path), consortium.spec().digest
    for other in ("", "0" * 64, digest[:-1], digest.upper()):
        with pytest.raises(PrivityError, match=r"run-1 is not what you read any more.*\n.*privity party show run-1$"):
            approvals.approve("run-1", other)
        assert approvals.of("run-1").waits
    with pytest.raises(PrivityError, match=r"no run run-2\n.*privity party show"):
        approvals.approve("run-2", digest)
    approvals.approve("run-1", digest)
    assert approvals.of("run-1").approved


def test_a_yes_is_to_one_spec_and_no_other(tmp_path: Path) -> None:
    consortium = waiting(tmp_path)
    spec = consortium.spec()
    consortium.tell(NAME, Enrol(spec))
    say_yes(tmp_path)
    refused = consortium.tell(NAME, Enrol(replace(spec, epsilon=Fraction(2))))
    assert isinstance(refused, Refusal)
    assert refused.code == "step-changed"
    assert isinstance(consortium.tell(NAME, Enrol(spec)), Enrolled)


def swapped(consortium: TestConsortium, spec: RunSpec) -> None:
    """The curator withdraws the run, and asks for this one under its name."""
    assert consortium.tell(NAME, Close(spec.run, "FAILED")) == Done()
    assert consortium.tell(NAME, Enrol(spec)) == Pending(OWNER, ANY)


def test_an_approval_goes_to_no_other_spec_than_the_one_read(tmp_path: Path) -> None:
    consortium, approvals = waiting(tmp_path), desk(tmp_path)
    cheap = consortium.spec(epsilon=Fraction(1, 10))
    dear = replace(cheap, epsilon=Fraction(90))
    consortium.tell(NAME, Enrol(cheap))
    read = approvals.of("run-1")
    swapped(consortium, dear)
    # Somebody else, or a page that looks again by itself, sees the other one meanwhile.
    assert desk(tmp_path).of("run-1").spec == dear
    with pytest.raises(PrivityError, match=r"run-1 is not what you read.*\n.*: privity party show run-1$") as caught:
        approvals.approve("run-1", read.spec.digest)
    assert caught.value.code == "bad-option"
    for spec in (cheap, dear):
        assert not isinstance(consortium.tell(NAME, Enrol(spec)), Enrolled)
    assert approvals.of("run-1").waits
    say_yes(tmp_path)
    assert isinstance(consortium.tell(NAME, Enrol(dear)), Enrolled)


def test_an_approval_is_gone_with_the_spec_that_it_was_given_to(tmp_path: Path) -> None:
    consortium = waiting(tmp_path)
    spec = consortium.spec(epsilon=Fraction(1, 10))
    consortium.tell(NAME, Enrol(spec))
    say_yes(tmp_path)
    swapped(consortium, replace(spec, epsilon=Fraction(90)))
    assert desk(tmp_path).of("run-1").waits
    assert charged(consortium.parties[NAME].ledger) == []


def test_what_a_crash_left_of_an_approval_passes_for_no_other(tmp_path: Path) -> None:
    """The owner is not told that something is approved which is not."""
    consortium = waiting(tmp_path)
    own = desk(tmp_path)
    first, second = consortium.spec(), consortium.spec(epsilon=Fraction(2))
    consortium.tell(NAME, Enrol(second))
    # As if the node had ended while it forgot the run under its former spec.
    consortium.parties[NAME].journal.record(f"#approved/{first.run}", first.digest, b"{}")
    filed = own.of(first.run)
    assert not own.of(first.run).approved
    with pytest.raises(PrivityError):
        own.approve(filed.spec.run, filed.spec.digest)
    consortium.tell(NAME, Close(first.run, "STOPPED"))
    consortium.tell(NAME, Enrol(second))
    filed = own.of(first.run)
    own.approve(filed.spec.run, filed.spec.digest)
    assert own.of(first.run).approved


@pytest.mark.parametrize("first", ["swapped", "rejected"])
def test_a_rejection_is_of_the_name_whatever_the_spec(tmp_path: Path, first: str) -> None:
    consortium, approvals = waiting(tmp_path), desk(tmp_path)
    spec = consortium.spec()
    dear = replace(spec, epsilon=Fraction(90))
    consortium.tell(NAME, Enrol(spec))
    read = approvals.of("run-1")
    if first == "swapped":
        swapped(consortium, dear)
    approvals.reject("run-1")
    consortium.tell(NAME, Close("run-1", "FAILED"))
    for asked in (spec, dear):
        reply = consortium.tell(NAME, Enrol(asked))
        assert isinstance(reply, Refusal)
        assert reply.code == "rejected-by-owner"
    approvals.reject("run-1")
    with pytest.raises(PrivityError, match="run-1 was rejected"):
        approvals.approve(read.spec.run, read.spec.digest)


@pytest.mark.parametrize("approved", [False, True])
def test_a_no_ends_it_at_any_moment(tmp_path: Path, approved: bool) -> None:
    consortium = waiting(tmp_path)
    spec = consortium.spec()
    consortium.tell(NAME, Enrol(spec))
    round_ = Contribute(laplace_round("run-1", "test", "1", ((0,),), Fraction(1)))
    if approved:
        say_yes(tmp_path)
        consortium.begin(spec)
    approvals = desk(tmp_path)
    approvals.reject("run-1", "too little\n time")
    approvals.reject("run-1", "another word")
    for step in (Enrol(spec), round_):
        reply = consortium.tell(NAME, step)
        assert isinstance(reply, Refusal)
        assert (reply.code, reply.message) == (
            "rejected-by-owner",
            f"{NAME} refuses the run: its owner rejected it: too little time",
        )
    assert charged(consortium.parties[NAME].ledger) == []
    with pytest.raises(PrivityError, match="was rejected"):
        approvals.approve("run-1", approvals.of("run-1").spec.digest)
    assert consortium.tell(NAME, Close("run-1", "STOPPED")) == Done()
    # A no is kept, so that the run's name stays refused.
    assert approvals.of("run-1").state == ("ended" if approved else "rejected")


def test_a_no_that_comes_while_a_step_is_at_work_keeps_its_answer_back(tmp_path: Path, monkeypatch) -> None:
    consortium = waiting(tmp_path)
    consortium.tell(NAME, Enrol(consortium.spec()))
    say_yes(tmp_path)
    consortium.begin()
    engine = consortium.parties[NAME].engine
    answer, approvals = engine._answer, desk(tmp_path)

    def slowly(step):
        answered = answer(step)
        approvals.reject("run-1")
        return answered

    monkeypatch.setattr(engine, "_answer", slowly)
    pair = (AttributeParentPair(0, (1,)), AttributeParentPair(1, (2,)))
    reply = consortium.tell(NAME, Select("run-1", "p", "d", pair, NoisyMax(Fraction(1))))
    assert isinstance(reply, Refusal)
    assert "its owner rejected it" in reply.message


@pytest.mark.parametrize(
    ("algorithm", "step", "said"),
    [
        (
            "one-way",
            Select("run-1", "p", "d", (AttributeParentPair(0, (1,)),), NoisyMax(Fraction(1))),
            "makes no selections",
        ),
        ("one-way", SelectTable("run-1", "p", "d", EXPECTED, NoisyMax(Fraction(1))), "makes no selections"),
        (
            "one-way",
            Learn("run-1", "p", "1", "privbayes", {}, PureDP(Fraction(1), RELATION)),
            "learns no model of one party's rows",
        ),
        ("one-way", Contribute(PART), "reveals sums over all parties only"),
        ("dp-subn", Contribute(PART), "reveals sums over all parties only"),
        ("independent", Contribute(WHOLE), "takes no sums"),
        (
            "independent",
            Select("run-1", "p", "d", (AttributeParentPair(0, (1,)),), NoisyMax(Fraction(1))),
            "makes no selections",
        ),
    ],
)
def test_a_yes_is_to_the_algorithms_kinds_of_answers_alone(tmp_path: Path, algorithm: str, step, said: str) -> None:
    consortium = waiting(tmp_path)
    spec = consortium.spec(algorithm=algorithm)
    consortium.tell(NAME, Enrol(spec))
    say_yes(tmp_path)
    consortium.begin(spec)
    reply = consortium.tell(NAME, step)
    assert isinstance(reply, Refusal)
    assert said in reply.message
    assert charged(consortium.parties[NAME].ledger) == []


@pytest.mark.parametrize("algorithm", ["aim", "mst"])
@pytest.mark.parametrize("chosen", [None, "parties", "joint"])
def test_approval_of_a_joint_overview_is_none_of_selections(tmp_path: Path, algorithm: str, chosen) -> None:
    consortium = waiting(tmp_path)
    spec = consortium.spec(algorithm=algorithm, settings={} if chosen is None else {"selection": chosen})
    consortium.tell(NAME, Enrol(spec))
    say_yes(tmp_path)
    consortium.begin(spec)
    reply = consortium.tell(NAME, SelectTable("run-1", "p", "d", EXPECTED, NoisyMax(Fraction(1, 2))))
    assert isinstance(reply, Refusal if chosen == "joint" else Selected)
    if isinstance(reply, Refusal):
        assert f"{algorithm} makes no selections with these settings" in reply.message
    assert bool(charged(consortium.parties[NAME].ledger)) == isinstance(reply, Selected)


@pytest.mark.process
def test_what_nobody_says_yes_to_does_not_fill_the_house(tmp_path: Path) -> None:
    consortium = waiting(tmp_path)
    for number in range(MOST_WAITING):
        reply = consortium.tell(NAME, Enrol(consortium.spec(run=f"run-{number}")))
        assert isinstance(reply, Pending)
    more = Enrol(consortium.spec(run="one-more"))
    refused = consortium.tell(NAME, more)
    assert isinstance(refused, Refusal)
    assert f"{MOST_WAITING} runs wait" in refused.message
    consortium.tell(NAME, Close("run-7", "STOPPED"))
    assert "#asked/run-7" not in consortium.parties[NAME].journal.keys("#asked/")
    assert isinstance(consortium.tell(NAME, more), Pending)


@pytest.mark.parametrize(
    "change",
    [
        {"members": ["party-1", "party-2", "party-2"]},
        {"members": [f"p{number}" for number in range(2000)]},
        {"settings": {"theta": "9" * 200_000}},
        {"attributes": []},
        {"attributes": ["A0", "A0"]},
    ],
)
def test_specs_that_are_none_are_not_read(tmp_path: Path, change: dict) -> None:
    content = make_consortium(2).spec().to_dict()
    assert RunSpec.from_dict(content).to_dict() == content
    with pytest.raises(ValueError, match=r"twice|too large|no attribute"):
        RunSpec.from_dict({**content, **change})


@pytest.mark.process
def test_over_the_network_the_curator_waits_and_says_for_whom(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Longer than its patience: whoever waits for a person shows life. It is neither logged nor counted again."""
    caplog.set_level(logging.INFO, "privity")

    async def scenario() -> None:
        consortium = waiting(tmp_path)
        async with NetworkConsortium(tmp_path, consortium, patience=3.0) as network:
            counted: list[str] = []
            network.server.desk.listen("run-1", Listener(lambda party, _bytes: counted.append(party)))
            enrolling = asyncio.create_task(network.begin())
            await asyncio.sleep(4)
            assert not enrolling.done()
            (awaited,) = network.server.desk.awaited("run-1")
            assert (awaited.party, awaited.step, awaited.note) == (NAME, "enrol", "the approval of its owner")
            assert (awaited.seconds, awaited.silent_seconds) == (0, 0), "in whole tens"
            assert counted.count(NAME) == 2, "the step, and that it waits"
            asked = [line for line in caplog.records if line.msg == "a step" and line.__dict__["step"] == "enrol"]
            assert len(asked) == 3, "once for each party"
            say_yes(tmp_path)
            await asyncio.wait_for(enrolling, 10)
            assert network.server.desk.awaited("run-1") == []

    asyncio.run(scenario())


def test_a_party_that_was_never_heard_of_is_silent_since_the_curator_started() -> None:
    async def scenario() -> None:
        desk = Desk(patience=100)
        desk._started -= 40
        asking = asyncio.create_task(desk.ask(NAME, Close("run-1", "FAILED"), "close"))
        await asyncio.sleep(0)
        (awaited,) = desk.awaited("run-1")
        assert (awaited.seconds, awaited.silent_seconds) == (0, 40)
        desk.alive(NAME)
        (awaited,) = desk.awaited("run-1")
        assert awaited.silent_seconds == 0
        asking.cancel()

    asyncio.run(scenario())
