"""The multi-party Laplace mechanism through production engines, codec, packing, sealing and combiner."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from privity.common.crypto import paillier, sealing
from privity.common.crypto.identity import Identity
from privity.common.crypto.packing import Layout, unpack
from privity.common.data.contingency_tables import contingency_tables
from privity.common.errors import PrivityError
from privity.common.privacy.mechanisms import LaplaceNoise
from privity.common.protocol.round import Round, Tables
from privity.common.protocol.round_attempt import Attempt
from privity.common.protocol.round_context import mask_keys
from privity.common.protocol.run_spec import Enrolment, RunPlan
from privity.common.protocol.secure_sum_method import MASKS, PAILLIER, SumKind
from privity.common.protocol.steps import (
    Begin,
    Close,
    CombineBlock,
    Contribute,
    Done,
    Enrol,
    Refusal,
    Revealed,
    SealBlock,
    Sealed,
    Step,
    Sum,
)
from tests.harness.consortium import TestConsortium, make_consortium, open_policy
from tests.harness.steps import laplace, laplace_round, pure

TABLES = ((0, 1), (2,), (0, 1, 2))
# So large an epsilon that the noise is 0 but for a chance below 1e-20: the sum must then be exact.
NO_NOISE = Fraction(100)
KINDS = pytest.mark.parametrize("kind", [PAILLIER, MASKS], ids=lambda kind: kind.method.value)


def round_of(plan, name: str = "1", epsilon: Fraction = Fraction(1), tables=TABLES) -> Round:
    return laplace_round(plan.spec.run, "test", name, tables, epsilon)


def exact(consortium: TestConsortium, tables=TABLES) -> np.ndarray:
    return sum(
        np.concatenate([c.ravel() for c in contingency_tables(party.table, list(tables))])
        for party in consortium.parties.values()
    )


def seal(consortium: TestConsortium, round_: Round, number: int = 1, party: str = "party-2"):
    """The party's reply to its first block."""
    return consortium.tell(party, SealBlock(round_.run, consortium.attempt(round_, number), 0))


@pytest.mark.process
@KINDS
@pytest.mark.parametrize("parties", [2, 3, 5, 9, 20])
def test_the_revealed_sum_is_the_sum_of_all_parties_counts(parties: int, kind: SumKind) -> None:
    consortium = make_consortium(parties)
    plan = consortium.begin(consortium.spec(epsilon=NO_NOISE, secure_sum=kind))
    opened = asyncio.run(consortium.session(plan).measure("test", TABLES, pure(NO_NOISE)))
    np.testing.assert_array_equal(np.concatenate([t.counts.ravel() for t in opened]), exact(consortium))


def test_a_repeated_step_gets_the_same_bytes_and_is_charged_once() -> None:
    consortium = make_consortium()
    round_ = round_of(consortium.begin())
    assert consortium.tell("party-2", Contribute(round_)) == Done()
    first = seal(consortium, round_)
    spent = consortium.parties["party-2"].ledger.spent()
    assert consortium.tell("party-2", Contribute(round_)) == Done()
    assert seal(consortium, round_) == first
    assert consortium.parties["party-2"].ledger.spent() == spent == 1


def test_the_same_step_with_other_content_is_refused() -> None:
    consortium = make_consortium()
    plan = consortium.begin()
    round_ = round_of(plan)
    consortium.tell("party-2", Contribute(round_))
    seal(consortium, round_)
    for other in (
        SealBlock("run-1", consortium.attempt(round_, first=2), 0),
        Contribute(round_of(plan, epsilon=Fraction(1, 2))),
        Contribute(round_of(plan, tables=((0,),))),
        SealBlock("run-1", consortium.attempt(round_of(plan, tables=((0,),)), 2), 0),
    ):
        reply = consortium.tell("party-2", other)
        assert isinstance(reply, Refusal)
        assert reply.code == "step-changed"
    assert consortium.parties["party-2"].ledger.spent() == 1


@KINDS
def test_another_attempt_opens_the_same_value_at_no_new_charge(kind: SumKind) -> None:
    consortium = make_consortium()
    plan = consortium.begin(consortium.spec(secure_sum=kind))
    round_ = round_of(plan)
    attempts = [consortium.attempt(round_, 1), consortium.attempt(round_, 2, first=2)]
    np.testing.assert_array_equal(*(consortium.reveal(plan, round_, attempt) for attempt in attempts))
    blobs = [consortium.seal(round_, attempt) for attempt in attempts]
    assert all(first[1].ciphertext != second[1].ciphertext for first, second in zip(*blobs, strict=True))
    assert {p.ledger.spent() for p in consortium.parties.values()} == {Fraction(1)}


def test_a_restarted_party_answers_as_before_its_crash(tmp_path) -> None:
    consortium = make_consortium(folder=tmp_path)
    round_ = round_of(consortium.begin())
    consortium.tell("party-2", Contribute(round_))
    first = seal(consortium, round_)
    consortium.restart("party-2")
    assert seal(consortium, round_) == first
    assert isinstance(seal(consortium, round_, 2), Sealed), "what was contributed is found again"
    assert consortium.parties["party-2"].ledger.spent() == 1


def test_a_block_of_a_round_that_was_never_contributed_to_is_refused() -> None:
    consortium = make_consortium()
    round_ = round_of(consortium.begin())
    reply = seal(consortium, round_)
    assert isinstance(reply, Refusal)
    assert "did not contribute" in reply.message


@pytest.mark.parametrize("block", [1, 2**31])
def test_a_block_that_the_round_does_not_have_is_refused(block: int) -> None:
    consortium = make_consortium()
    round_ = round_of(consortium.begin())
    consortium.tell("party-2", Contribute(round_))
    reply = consortium.tell("party-2", SealBlock("run-1", consortium.attempt(round_), block))
    assert isinstance(reply, Refusal)
    assert "1 blocks" in reply.message


def test_a_crash_between_charge_and_answer_leaves_it_charged_once(tmp_path, monkeypatch) -> None:
    consortium = make_consortium(folder=tmp_path)
    plan = consortium.begin()
    step = Contribute(round_of(plan))

    class Crash(BaseException):
        """The process is gone: nothing may catch this."""

    def crash(*_arguments: object) -> None:
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr("privity.party.answers_from_rows.noisy_counts", crash)
        with pytest.raises(Crash):
            consortium.tell("party-2", step)
    party = consortium.restart("party-2")
    assert party.ledger.spent() == 1
    assert consortium.tell("party-2", step) == Done()
    assert party.ledger.spent() == 1


def test_noise_differs_between_rounds() -> None:
    consortium = make_consortium()
    plan = consortium.begin()
    session = consortium.session(plan)

    async def twice():
        return [(await session.measure("test", TABLES, pure(Fraction(1, 100))))[2].counts for _ in range(2)]

    first, second = asyncio.run(twice())
    assert (first != second).any()


@pytest.fixture(params=[PAILLIER, MASKS], ids=lambda kind: kind.method.value)
def relay(request: pytest.FixtureRequest) -> Iterator[HostileRelay]:
    """A relay that a test may misuse; the right blobs must be combined all the same afterwards."""
    relay = HostileRelay(request.param)
    yield relay
    relay.still_works()


class HostileRelay:
    """A curator that forges, swaps, repeats or omits a blob; a member that sends what is none."""

    def __init__(self, kind: SumKind) -> None:
        self.consortium = make_consortium()
        self.plan = self.consortium.begin(self.consortium.spec(epsilon=Fraction(9), secure_sum=kind))
        self.round = round_of(self.plan)
        self.attempt = self.consortium.attempt(self.round)
        self.context = self.consortium.context(self.plan, self.round)
        self.blobs = self.consortium.seal(self.round, self.attempt)

    def refused(self, blobs, base: bytes = b"") -> str:
        """What the combiner says to these blobs."""
        reply = self.consortium.combine(self.round, self.attempt, blobs, base)
        assert isinstance(reply, Refusal), "the combiner took it"
        assert reply.code == "blob-refused"
        return reply.message

    def still_works(self) -> None:
        reply = self.consortium.combine(self.round, self.attempt, self.blobs)
        assert isinstance(reply, Sum), "the run is of no use any more"

    def sealed_by(self, party: str, payload: bytes, block: int = 0, signer: Identity | None = None):
        """A payload of anybody's making in the party's place."""
        child = list(self.consortium.parties).index(party)
        recipient = self.consortium.manifest.keys_of("party-1").sealing_key
        signing = (signer or self.consortium.parties[party].identity).signing
        return party, sealing.seal(payload, recipient, self.context.binding(self.attempt, block, child), signing)


def test_the_honest_round_is_combined(relay: HostileRelay) -> None:
    assert isinstance(relay.consortium.combine(relay.round, relay.attempt, relay.blobs), Sum)


def test_blobs_omitted_repeated_or_out_of_order(relay: HostileRelay) -> None:
    first, second, third = relay.blobs
    for blobs in ([first, second], [*relay.blobs, second], [first, second, second], [second, first, third]):
        assert "exactly one blob" in relay.refused(blobs)


def test_blobs_swapped_between_senders(relay: HostileRelay) -> None:
    (a, x), (b, y), last = relay.blobs
    assert "signature" in relay.refused([(a, y), (b, x), last])


def test_a_party_that_is_not_in_the_run(relay: HostileRelay) -> None:
    stranger = ("party-9", relay.blobs[2][1])
    assert "exactly one blob" in relay.refused([*relay.blobs[:2], stranger])
    assert "exactly one blob" in relay.refused([*relay.blobs, stranger])


def test_blobs_replayed_from_another_round_attempt_or_run(relay: HostileRelay) -> None:
    c = relay.consortium
    other_round = round_of(relay.plan, "2")
    plan = c.begin(c.spec(run="run-2", epsilon=Fraction(9), secure_sum=relay.plan.spec.secure_sum))
    other_run = round_of(plan)
    replayed = [
        c.seal(other_round, c.attempt(other_round)),
        c.seal(relay.round, c.attempt(relay.round, 2)),
        c.seal(other_run, c.attempt(other_run)),
    ]
    for blobs in replayed:
        assert "signature" in relay.refused([*relay.blobs[:2], blobs[2]])


def test_a_blob_of_another_block(relay: HostileRelay) -> None:
    payload = relay.context.sum.conceal(*vector_and_masks(relay))
    assert "signature" in relay.refused([*relay.blobs[:2], relay.sealed_by("party-3", payload, block=1)])


def vector_and_masks(relay: HostileRelay):
    """Arguments of a fair payload of zeros."""
    party = relay.consortium.parties["party-3"]
    keys = mask_keys(party.identity, party.name, relay.plan, relay.consortium.manifest)
    zeros = np.zeros(relay.context.cells, dtype=np.int64)
    return zeros, 0, relay.context.masks(relay.attempt, 0, keys, party.name)


def test_forged_payloads_of_zero(relay: HostileRelay) -> None:
    # The attack of privacy.md, section 3: with K-1 blobs of zeros the sum is the last party's vector.
    zeros, block, masks = vector_and_masks(relay)
    payload, forger = relay.context.sum.conceal(zeros, block, masks), Identity.generate()
    forged = [relay.sealed_by(name, payload, signer=forger) for name in ("party-2", "party-3")]
    assert "signature" in relay.refused([relay.blobs[0], *forged])


def test_a_changed_byte(relay: HostileRelay) -> None:
    name, blob = relay.blobs[2]
    broken = bytearray(blob.ciphertext)
    broken[-1] ^= 1
    relay.refused([*relay.blobs[:2], (name, sealing.SealedBlob(bytes(broken), blob.signature))])


def test_a_truncated_blob(relay: HostileRelay) -> None:
    name, blob = relay.blobs[2]
    cut = sealing.SealedBlob(blob.ciphertext[:-9], blob.signature)
    assert "signature" in relay.refused([*relay.blobs[:2], (name, cut)])
    fair = relay.context.sum.conceal(*vector_and_masks(relay))
    for payload in (fair[:-1], fair[:-8], b"", fair + fair, fair + b"x"):
        assert "not the number" in relay.refused([*relay.blobs[:2], relay.sealed_by("party-3", payload)])


@pytest.mark.parametrize("bad", ["zero", "n", "a factor of n", "n squared", "n squared and one", "another key"])
def test_a_member_that_sends_no_valid_ciphertexts(bad: str) -> None:
    relay = HostileRelay(PAILLIER)
    public = relay.consortium.public
    # An exponent of a key above ours: its ciphertexts lie outside our group.
    larger, _ = paillier.generate_keypair(public.bits, allow_small=True)
    while larger.n < public.n:
        larger, _ = paillier.generate_keypair(public.bits, allow_small=True)
    number = {
        "zero": 0,
        "n": public.n,
        "a factor of n": relay.consortium.secret.p,
        "n squared": public.square,
        "n squared and one": public.square + 1,
        "another key": larger.square - 1,
    }[bad]
    good = paillier.ciphertexts_to_bytes(public, paillier.encrypt(public, [0] * relay.context.sum.ciphertexts(0)))
    payload = number.to_bytes(public.ciphertext_bytes, "big") + good[public.ciphertext_bytes :]
    assert "a ciphertext must" in relay.refused([*relay.blobs[:2], relay.sealed_by("party-3", payload)])
    relay.still_works()


def test_a_running_sum_where_there_is_none(relay: HostileRelay) -> None:
    fair = relay.context.sum.conceal(*vector_and_masks(relay))
    assert "does not fit the round" in relay.refused(relay.blobs, base=fair)
    assert "running sum" in relay.refused(relay.blobs, base=fair[:-1])


def test_another_party_than_the_combiner_refuses_to_combine(relay: HostileRelay) -> None:
    c = relay.consortium
    for node in (0, 1):
        step = CombineBlock("run-1", relay.attempt, 0, node, tuple(relay.blobs))
        reply = c.tell("party-2", step)
        assert isinstance(reply, Refusal)
        assert "another party is this node's combiner" in reply.message
    turned = c.attempt(relay.round, 1, first=1)
    assert "signature" in c.tell("party-2", CombineBlock("run-1", turned, 0, 0, tuple(relay.blobs))).message


@pytest.mark.parametrize("combiners", [(), ("party-1", "party-2"), ("party-9",), ("party-2",)])
def test_combiners_that_may_not_be_are_refused(combiners: tuple[str, ...]) -> None:
    """None, too many, a stranger, or the member that operates the curator."""
    consortium = make_consortium(curator_member="party-2")
    round_ = round_of(consortium.begin())
    consortium.tell("party-1", Contribute(round_))
    reply = consortium.tell("party-1", SealBlock("run-1", Attempt("1", round_.digest, 1, combiners), 0))
    assert isinstance(reply, Refusal)
    assert reply.code == "round-refused"


def test_the_curators_own_member_is_never_combiner() -> None:
    consortium = make_consortium(curator_member="party-1")
    plan = consortium.begin()
    session = consortium.session(plan)

    async def several():
        for _ in range(6):
            await session.measure("test", TABLES, pure(Fraction(1, 6)))

    asyncio.run(several())
    asked = {party for party, step in consortium.told if isinstance(step, CombineBlock)}
    assert asked == {"party-2", "party-3"}


def test_combiner_and_curator_together_learn_only_the_sum() -> None:
    """Without the zero-sum masks they would decrypt one party's vector; with them they get noise."""
    relay = HostileRelay(PAILLIER)
    consortium, plan, context = relay.consortium, relay.plan, relay.context
    combiner = consortium.parties["party-1"].identity
    name, blob = relay.blobs[1]
    key = consortium.manifest.keys_of(name).signing_key
    payload = sealing.open_sealed(blob, combiner.sealing, context.binding(relay.attempt, 0, 1), key)
    pooled = paillier.decrypt(consortium.secret, paillier.ciphertexts_from_bytes(consortium.public, payload))

    victim = consortium.parties[name]
    vector = victim.releases.noisy_vector(relay.round, plan.noise_quota, open_policy().allowance(plan.spec, 1), 1)
    keys = mask_keys(victim.identity, name, plan, consortium.manifest)
    pads = context.masks(relay.attempt, 0, keys, name).residues(plan.modulus, len(pooled))
    bare = [(p - m) % plan.modulus for p, m in zip(pooled, pads, strict=True)]
    # With the victim's own keys the vector comes out: the test looks in the right place.
    layout = Layout.of(context.cells, context.slot_bits, consortium.public.bits)
    np.testing.assert_array_equal(unpack(bare, plan.modulus, layout), vector)
    # Without them, what is decrypted is another residue altogether.
    assert all(p != b for p, b in zip(pooled, bare, strict=True))


def test_under_masks_alone_the_combiner_learns_only_the_sum() -> None:
    relay = HostileRelay(MASKS)
    consortium, plan, context = relay.consortium, relay.plan, relay.context
    combiner = consortium.parties["party-1"].identity
    seen = []
    for child, (name, blob) in enumerate(relay.blobs):
        key = consortium.manifest.keys_of(name).signing_key
        payload = sealing.open_sealed(blob, combiner.sealing, context.binding(relay.attempt, 0, child), key)
        seen.append(np.frombuffer(payload, dtype="<i8"))
    vectors = []
    for place, party in enumerate(consortium.parties.values()):
        allowance = open_policy().allowance(plan.spec, 1)
        vectors.append(party.releases.noisy_vector(relay.round, plan.noise_quota, allowance, place))
    np.testing.assert_array_equal(sum(seen), sum(vectors))
    for pad, vector in zip(seen, vectors, strict=True):
        # A residue modulo 2^64 lies within 2^40 of 0 by chance with probability 2^-23.
        assert (np.abs(pad - vector) > 2**40).all()
    # All but one pool what they know: the last one's masks with the others fall, and only then its vector.
    keys = mask_keys(consortium.parties["party-3"].identity, "party-3", plan, consortium.manifest)
    own = context.masks(relay.attempt, 0, keys, "party-3").words(context.cells)
    np.testing.assert_array_equal((seen[2].view(np.uint64) - own).view(np.int64), vectors[2])


def test_a_sum_that_lacks_a_partys_masks_is_an_error_and_no_table() -> None:
    relay = HostileRelay(MASKS)
    partial = relay.context.sum.conceal(*vector_and_masks(relay))
    with pytest.raises(ValueError, match="not all masks are in"):
        relay.context.sum.reveal(relay.context.sum.add([partial, partial], 0), 0, None)


@KINDS
def test_only_one_sum_of_a_block_is_ever_opened(kind: SumKind) -> None:
    consortium = make_consortium()
    plan = consortium.begin(consortium.spec(secure_sum=kind))
    session, sums = consortium.session(plan), []

    def look(_party: str, step: Step) -> Step:
        if isinstance(step, Revealed):
            assert not consortium.journal.keys("run-1/sum/"), "what was summed is opened and erased"
        return step

    def remembering(key: str, digest: str, payload: bytes) -> bytes:
        if key.startswith("run-1/sum/"):
            sums.append(key)
            with pytest.raises(PrivityError, match="other content"):
                record(key, "another round", record(key, digest, payload))
        return record(key, digest, payload)

    record, consortium.journal.record, consortium.tamper = consortium.journal.record, remembering, look
    asyncio.run(session.measure("test", TABLES, pure(Fraction(1))))
    assert len(sums) == 1
    replayed = consortium.session(plan)
    sent = len(consortium.recorder.sent)
    asyncio.run(replayed.measure("test", TABLES, pure(Fraction(1))))
    assert len(consortium.recorder.sent) == sent, "a replay asked the parties again"


def test_a_closed_run_is_answered_no_more_and_leaves_no_vector(tmp_path) -> None:
    consortium = make_consortium(folder=tmp_path)
    plan = consortium.begin()
    round_ = round_of(plan)
    consortium.seal(round_, consortium.attempt(round_))
    for name in consortium.parties:
        assert consortium.tell(name, Close("run-1", "COMPLETED")) == Done()
        assert consortium.parties[name].journal.keys("run-1/") == []
    reply = consortium.tell("party-1", Contribute(round_of(plan)))
    assert isinstance(reply, Refusal)
    consortium.restart("party-1")
    assert isinstance(consortium.tell("party-1", Contribute(round_of(plan, "9"))), Refusal)
    assert consortium.parties["party-1"].ledger.spent() == 1


def test_plans_that_lie_are_refused() -> None:
    consortium = make_consortium()
    plan = consortium.begin()
    spec = consortium.spec(run="run-2")
    for name in consortium.parties:
        consortium.tell(name, Enrol(spec))
    liars = {
        "other enrolments": replace(plan, spec=spec),
        "a missing member": replace(plan, enrolments=plan.enrolments[:2]),
        "a row count of its own": replace(
            plan, enrolments=(replace(plan.enrolments[0], rows=10), *plan.enrolments[1:])
        ),
    }
    for what, lie in liars.items():
        reply = consortium.tell("party-3", Begin(lie))
        assert isinstance(reply, Refusal), what


class TestNothingIsAnsweredTwice:
    """Faults that reviewers found or looked for: each must stay impossible."""

    def contribute(self, consortium: TestConsortium, plan, name: str = "party-2"):
        return consortium.tell(name, Contribute(round_of(plan)))

    def test_a_run_named_like_the_closed_marks_reopens_nothing(self) -> None:
        consortium = make_consortium()
        plan = consortium.begin()
        self.contribute(consortium, plan)
        for run in ("run-1", "closed", "run"):
            consortium.tell("party-2", Close(run, "COMPLETED"))
        assert isinstance(consortium.tell("party-2", Enrol(plan.spec)), Refusal)
        assert isinstance(self.contribute(consortium, plan), Refusal)

    def test_a_journal_that_was_lost_or_set_back_gives_no_second_answer(self, tmp_path) -> None:
        consortium = make_consortium(folder=tmp_path)
        plan = consortium.begin()
        party = consortium.parties["party-2"]
        file = tmp_path / "party-2-journal.sqlite"
        party.journal._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        backup = file.read_bytes()
        assert self.contribute(consortium, plan) == Done()
        party.journal.close()
        for side in tmp_path.glob("party-2-journal.sqlite-*"):
            side.unlink()
        file.write_bytes(backup)
        consortium.restart("party-2")
        for _ in range(2):
            reply = self.contribute(consortium, plan)
            assert isinstance(reply, Refusal)
            assert reply.code == "step-answered"
            assert isinstance(seal(consortium, round_of(plan)), Refusal)
        assert consortium.parties["party-2"].ledger.spent() == 1
        assert consortium.parties["party-2"].journal.keys("run-1/vector/") == [], "a second answer is kept"

    def test_a_share_is_not_taken_for_a_share_of_another_quota(self) -> None:
        consortium = make_consortium()
        plan = consortium.begin()
        self.contribute(consortium, plan)
        party = consortium.parties["party-2"]
        allowance = open_policy().allowance(plan.spec, 1)
        with pytest.raises(PrivityError, match="other content"):
            party.releases.noisy_vector(round_of(plan), 1, allowance)

    def test_rows_that_change_during_a_run_are_refused(self, tmp_path) -> None:
        consortium = make_consortium(folder=tmp_path)
        plan = consortium.begin()
        party = consortium.parties["party-2"]
        changed = party.table.take([0, *range(party.table.rows - 1)])
        consortium.start("party-2", changed, party.identity)
        reply = self.contribute(consortium, plan)
        assert isinstance(reply, Refusal)
        assert "rows of this party have changed" in reply.message


@pytest.mark.parametrize(
    ("epsilon", "tables"),
    [
        (Fraction(1, 10**25), TABLES),
        (Fraction(10**17 + 3, 10**18), TABLES),
        (Fraction(1, 10**19), ((0,),)),
        (Fraction(1), ()),
        (Fraction(1), ((0, 0),)),
        (Fraction(1), ((9,),)),
    ],
)
def test_a_round_that_cannot_be_served_is_refused_before_it_is_charged(epsilon: Fraction, tables) -> None:
    consortium = make_consortium()
    plan = consortium.begin()
    noise = laplace(tables, epsilon) if tables else LaplaceNoise(Tables(()), Fraction(2))
    reply = consortium.tell("party-2", Contribute(Round(plan.spec.run, "test", "1", noise)))
    assert isinstance(reply, Refusal)
    assert consortium.parties["party-2"].ledger.spent() == 0
    assert consortium.parties["party-2"].journal.keys("run-1/way") == [], "the way is taken by a refused round"


@pytest.mark.parametrize("modulus", ["even", "too long", "too short"])
def test_a_modulus_that_cannot_serve_is_refused_at_the_start(modulus: str) -> None:
    consortium = make_consortium()
    good = consortium.public.n
    bad = {"even": good - 1, "too long": (1 << 9000) + 1, "too short": (1 << 300) + 1}[modulus]
    fresh = consortium.spec()
    enrolments = []
    for name in consortium.parties:
        reply = consortium.tell(name, Enrol(fresh))
        enrolments.append(Enrolment.from_dict(reply.enrolment))
    reply = consortium.tell("party-1", Begin(RunPlan(fresh, tuple(enrolments), bad)))
    assert isinstance(reply, Refusal)


@KINDS
def test_a_plan_has_a_modulus_exactly_if_its_sums_are_under_one(kind: SumKind) -> None:
    consortium = make_consortium()
    spec = consortium.spec(secure_sum=kind)
    plan = consortium.begin(spec)
    wrong = replace(plan, modulus=consortium.public.n if plan.modulus is None else None)
    with pytest.raises(PrivityError, match="modulus"):
        wrong.check(consortium.manifest)


def test_an_unforeseen_error_is_a_refusal_without_its_text(monkeypatch) -> None:
    consortium = make_consortium()
    plan = consortium.begin()

    def broken(*_arguments: object) -> None:
        raise ZeroDivisionError("a row's value")

    monkeypatch.setattr("privity.party.answers_from_rows.noisy_counts", broken)
    reply = consortium.tell("party-2", Contribute(round_of(plan)))
    assert isinstance(reply, Refusal)
    assert "ZeroDivisionError" in reply.message
    assert "value" not in reply.message
