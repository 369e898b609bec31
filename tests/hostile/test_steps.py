"""What a hostile curator may ask of a party: a named refusal, nothing charged or kept, the honest step answered after.

What sealed blobs and ciphertexts are refused for is in tests/common/protocol/test_secure_sum.py.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from privity.common.crypto import paillier
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.privacy.mechanisms import NoisyMax
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.protocol.expected_tables import ExpectedTables
from privity.common.protocol.round import Replacement, Round
from privity.common.protocol.run_spec import Enrolment, RunPlan
from privity.common.protocol.steps import (
    Begin,
    Close,
    CombineBlock,
    Contribute,
    Done,
    Enrol,
    Enrolled,
    Learn,
    Recode,
    Refusal,
    Revealed,
    SealBlock,
    Sealed,
    Select,
    Selected,
    SelectTable,
    Step,
    Sum,
)
from privity.common.wire.codec import MalformedMessageError, decode_step, encode_step
from privity.party.sum_contributions import ROUNDS_KEPT
from tests.harness.consortium import KEY_BITS, TestConsortium, make_consortium
from tests.harness.steps import laplace, laplace_round, pure
from tests.hostile.test_fuzz import state_of

ONE, HALF = Fraction(1), Fraction(1, 2)
PAIR = (AttributeParentPair(0, (1,)),)
EXPECTED = ExpectedTables(((0,), (2,)), np.array([8, 8, 16, 0]), 16, (0, 0))


def round_of(run: str = "run-1", name: str = "1", tables=((0, 1),), epsilon: Fraction = HALF) -> Round:
    return laplace_round(run, "test", name, tables, epsilon)


def refused(consortium: TestConsortium, party: str, step: Step, code: str, said: str = "") -> None:
    """By this code, and nothing has changed at any party."""
    before = state_of(consortium)
    reply = consortium.tell(party, step)
    assert isinstance(reply, Refusal), f"it was answered: {reply}"
    assert reply.code == code, reply
    assert said in reply.message, reply
    assert state_of(consortium) == before


def enrolments(consortium: TestConsortium, *specs) -> tuple[Enrolment, ...]:
    """Of every party, each told its own spec."""
    found = []
    for party, spec in zip(consortium.parties, specs, strict=True):
        reply = consortium.tell(party, Enrol(spec))
        assert isinstance(reply, Enrolled), reply
        found.append(Enrolment.from_dict(reply.enrolment))
    return tuple(found)


DATA_STEPS: dict[str, Step] = {
    "contribute": Contribute(round_of()),
    "select": Select("run-1", "test", "d", PAIR, NoisyMax(HALF)),
    "select table": SelectTable("run-1", "test", "d", EXPECTED, NoisyMax(HALF)),
    "learn": Learn("run-1", "test", "m", "one-way", {}, PureDP(HALF, RELATION)),
    "recode": Recode("run-1", "look", ((0, (HALF, ONE)),)),
}


@pytest.mark.parametrize("kind", DATA_STEPS)
@pytest.mark.parametrize("enrolled", [False, True])
def test_no_data_before_the_run_has_begun(kind: str, enrolled: bool) -> None:
    consortium = make_consortium()
    if enrolled:
        consortium.tell("party-1", Enrol(consortium.spec()))
    refused(consortium, "party-1", DATA_STEPS[kind], "step-refused", "the run has not begun")
    consortium.begin()
    assert consortium.tell("party-1", Contribute(round_of())) == Done()


def test_no_block_of_a_run_or_round_that_this_party_is_not_in() -> None:
    consortium = make_consortium()
    plan = consortium.begin()
    rounds = round_of(), round_of("run-2"), round_of(name="2")
    consortium.seal(rounds[0], consortium.attempt(rounds[0]))
    for other, said in ((rounds[1], "the run has not begun"), (rounds[2], "did not contribute")):
        attempt = consortium.attempt(other)
        refused(consortium, "party-2", SealBlock(other.run, attempt, 0), "step-refused", said)
        refused(consortium, "party-1", CombineBlock(other.run, attempt, 0, 0, ()), "step-refused", said)
    assert consortium.reveal(plan, rounds[0], consortium.attempt(rounds[0])).size == 6


def test_begin_without_enrolment() -> None:
    consortium = make_consortium()
    spec = consortium.spec()
    plan = RunPlan(spec, enrolments(consortium, spec, spec, spec), consortium.public.n)
    consortium.tell("party-3", Close("run-1", "STOPPED"))
    fresh = make_consortium()
    refused(fresh, "party-1", Begin(plan), "step-refused", "did not enrol")
    assert consortium.tell("party-1", Begin(plan)) == Done()


def test_a_close_from_nowhere_marks_nothing_and_the_run_can_still_come() -> None:
    consortium = make_consortium()
    before = state_of(consortium)
    for run in ("run-1", "run-7"):
        assert consortium.tell("party-1", Close(run, "COMPLETED")) == Done()
    assert state_of(consortium) == before
    consortium.begin()


def test_the_plan_of_a_run_does_not_change_half_way() -> None:
    consortium = make_consortium()
    plan = consortium.begin()
    consortium.tell("party-1", Contribute(round_of()))
    other_key, _ = paillier.generate_keypair(KEY_BITS, allow_small=True)
    swapped = (plan.enrolments[1], plan.enrolments[0], plan.enrolments[2])
    for lie in (replace(plan, modulus=other_key.n), replace(plan, enrolments=swapped)):
        refused(consortium, "party-1", Begin(lie), "step-changed")
    looser = replace(plan.spec, tolerate=2)
    refused(consortium, "party-1", Enrol(looser), "step-changed")
    refused(consortium, "party-1", Begin(replace(plan, spec=looser)), "step-changed")
    assert isinstance(consortium.tell("party-1", SealBlock("run-1", consortium.attempt(round_of()), 0)), Sealed)


@pytest.mark.parametrize(
    ("tolerate", "code"),
    [(0, "step-refused"), (-1, "step-refused"), (3, "step-refused"), (10**9, "step-refused")],
)
def test_a_number_of_colluding_parties_that_cannot_be(tolerate: int, code: str) -> None:
    consortium = make_consortium()
    honest = consortium.signed(Enrol(consortium.spec()))
    refused(consortium, "party-1", replace(honest, spec=consortium.spec(tolerate=tolerate)), code)
    consortium.begin()


@pytest.mark.parametrize(
    ("members", "code", "said"),
    [
        (("party-1",), "step-refused", "needs two parties or more"),
        (("party-1", "party-2", "party-9"), "step-refused", "the manifest lists no 'party-9'"),
        (("party-2", "party-3"), "refused-by-policy", "party-1 is not a member"),
    ],
)
def test_members_that_are_not_the_runs(members: tuple[str, ...], code: str, said: str) -> None:
    consortium = make_consortium()
    refused(consortium, "party-1", Enrol(consortium.spec(members=members)), code, said)


def test_two_parties_that_are_told_different_specs_do_not_begin() -> None:
    """K, t and everything else of a run stand in the spec, which every enrolment signs."""
    consortium = make_consortium()
    one, other = consortium.spec(), consortium.spec(tolerate=2)
    enrolled = enrolments(consortium, one, other, one)
    for party, spec in (("party-1", one), ("party-2", other), ("party-3", one)):
        refused(consortium, party, Begin(RunPlan(spec, enrolled, consortium.public.n)), "step-refused", "does not hold")
    consortium.begin(consortium.spec(run="run-2"))


def test_row_counts_of_others_are_theirs_to_state() -> None:
    consortium = make_consortium()
    spec = consortium.spec()
    enrolled = enrolments(consortium, spec, spec, spec)
    for rows in (1, 61, 10**9):
        lie = (enrolled[0], replace(enrolled[1], rows=rows), enrolled[2])
        refused(consortium, "party-1", Begin(RunPlan(spec, lie, consortium.public.n)), "step-refused", "does not hold")
    assert consortium.tell("party-1", Begin(RunPlan(spec, enrolled, consortium.public.n))) == Done()


def test_parties_with_different_plans_make_no_sum() -> None:
    """Both plans hold for themselves: each is signed by all, under another Paillier key."""
    consortium = make_consortium()
    spec = consortium.spec()
    enrolled = enrolments(consortium, spec, spec, spec)
    other_key, _ = paillier.generate_keypair(KEY_BITS, allow_small=True)
    plan, other = RunPlan(spec, enrolled, consortium.public.n), RunPlan(spec, enrolled, other_key.n)
    for party, told in (("party-1", plan), ("party-2", other), ("party-3", plan)):
        assert consortium.tell(party, Begin(told)) == Done()
    round_ = round_of()
    attempt = consortium.attempt(round_)
    blobs = consortium.seal(round_, attempt)
    combine = CombineBlock("run-1", attempt, 0, 0, tuple(blobs))
    refused(consortium, "party-1", combine, "blob-refused", "the blob of party-2: bad signature")


def test_a_combiner_sums_once() -> None:
    """Two sums of one block, over other blobs or on another base, would show their difference."""
    consortium = make_consortium()
    consortium.begin()
    round_ = round_of()
    attempt = consortium.attempt(round_)
    blobs = tuple(consortium.seal(round_, attempt))
    combine = CombineBlock("run-1", attempt, 0, 0, blobs)
    first = consortium.tell("party-1", combine)
    assert isinstance(first, Sum)
    for other in (replace(combine, blobs=blobs[:2]), replace(combine, base=first.payload)):
        refused(consortium, "party-1", other, "step-changed")
    assert consortium.tell("party-1", combine) == first


def test_tables_that_are_too_large() -> None:
    consortium = make_consortium(domain=(300, 300, 300))
    consortium.begin()
    large = round_of(tables=((0, 1, 2),))
    refused(consortium, "party-1", Contribute(large), "domain-too-large", "27000000 cells")
    many = round_of(tables=tuple((0, 1) for _ in range(200)))
    refused(consortium, "party-1", Contribute(many), "domain-too-large")
    select = Select("run-1", "test", "d", (AttributeParentPair(0, (1, 2)),), NoisyMax(HALF))
    refused(consortium, "party-1", select, "domain-too-large")
    assert consortium.tell("party-1", Contribute(round_of(tables=((0,),)))) == Done()


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        (replace(EXPECTED, tables=((0,), (99,))), "attributes that the schema does not have, or one twice"),
        (replace(EXPECTED, tables=((0,), (2, 2))), "attributes that the schema does not have, or one twice"),
        (replace(EXPECTED, tables=(), counts=EXPECTED.counts[:0], penalties=()), "no table"),
        (replace(EXPECTED, tables=((0,), (1,))), "not have one count for each cell"),
        (replace(EXPECTED, counts=EXPECTED.counts[:3]), "not have one count for each cell"),
        (replace(EXPECTED, rows=15), "more rows than there are"),
        (replace(EXPECTED, rows=0, counts=0 * EXPECTED.counts), "or of none"),
        (replace(EXPECTED, rows=(1 << 32) - 1), "more rows than there are"),
        (replace(EXPECTED, penalties=(0,)), "not have one score penalty for each table"),
        (replace(EXPECTED, penalties=(0, 1 << 31)), "a score penalty lies outside"),
    ],
)
def test_a_model_that_expects_what_cannot_be(lie: ExpectedTables, said: str) -> None:
    consortium = make_consortium()
    consortium.begin()
    refused(consortium, "party-1", SelectTable("run-1", "test", "d", lie, NoisyMax(HALF)), "step-refused", said)
    assert isinstance(consortium.tell("party-1", SelectTable("run-1", "test", "d", EXPECTED, NoisyMax(HALF))), Selected)


def test_a_model_of_more_cells_than_a_selection_has() -> None:
    consortium = make_consortium(domain=(1024, 1024, 2))
    consortium.begin()
    many = ExpectedTables(((0, 1), (2,)), np.zeros((1 << 20) + 2, dtype=np.int64), 1, (0, 0))
    with pytest.raises(MalformedMessageError):
        decode_step(encode_step(SelectTable("run-1", "test", "d", many, NoisyMax(HALF))))
    few = replace(many, counts=many.counts[:4])
    refused(
        consortium,
        "party-1",
        SelectTable("run-1", "test", "d", few, NoisyMax(HALF)),
        "domain-too-large",
        "1048578 cells",
    )


def test_rounds_that_cost_this_party_nothing_do_not_fill_its_disk() -> None:
    """Of the first parties' rows only, under a schedule: kept are a few, until they are opened."""
    consortium = make_consortium()
    consortium.begin()
    for number in range(ROUNDS_KEPT):
        round_ = laplace_round(
            "run-1",
            "test",
            f"{number}/1",
            ((0,),),
            HALF / 100,
            Replacement(1, None, 0, laplace(((0,),), HALF / 100).scale, False),
        )
        assert consortium.tell("party-3", Contribute(round_)) == Done()
    assert consortium.parties["party-3"].ledger.spent() == 0
    more = Contribute(round_of(name="more"))
    refused(consortium, "party-3", more, "step-refused", "8 rounds of the run are kept")
    assert consortium.tell("party-3", Revealed("run-1", round_.round, round_.digest)) == Done()
    refused(consortium, "party-3", more, "step-refused", "8 rounds of the run are kept")


def test_more_epsilon_than_the_run_has() -> None:
    consortium = make_consortium()
    consortium.begin()
    refused(consortium, "party-1", Contribute(round_of(epsilon=Fraction(11, 10))), "step-refused", "more epsilon")
    assert consortium.tell("party-1", Contribute(round_of())) == Done()
    refused(consortium, "party-1", Contribute(round_of(name="2", epsilon=ONE)), "budget-exhausted")
    for draw in (
        Select("run-1", "test", "d", PAIR, NoisyMax(ONE)),
        SelectTable("run-1", "test", "d", EXPECTED, NoisyMax(ONE)),
    ):
        refused(consortium, "party-1", draw, "budget-exhausted")


def test_a_replayed_step_of_a_closed_run() -> None:
    consortium = make_consortium()
    plan = consortium.begin()
    asyncio.run(consortium.session(plan).measure("test", [(0, 1)], pure(ONE)))
    steps = [(party, step) for party, step in consortium.told]
    for party in consortium.parties:
        assert consortium.tell(party, Close("run-1", "COMPLETED")) == Done()
    for party, step in steps:
        refused(consortium, party, step, "step-refused", "the run is closed")
    consortium.begin(consortium.spec(run="run-2"))
