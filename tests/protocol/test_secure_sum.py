"""The multi-party Laplace mechanism through production engines, codec, packing, sealing and combiner."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from common.counting import contingency_tables
from common.crypto import masks, paillier, sealing
from common.crypto.identity import Identity
from common.crypto.packing import unpack
from common.errors import PrivityError
from common.protocol.plan import Enrolment, RunPlan
from common.protocol.round import Round
from common.protocol.secure_sum import mask_keys, open_sum
from common.protocol.steps import Begin, Close, Combine, Contribute, Contribution, Done, Enrol, Product, Refusal
from tests.harness.consortium import TestConsortium, make_consortium

TABLES = ((0, 1), (2,), (0, 1, 2))
# So large an epsilon that the noise is 0 but for a chance below 1e-20: the sum must then be exact.
NO_NOISE = Fraction(600)


def round_of(plan, name: str = "1", epsilon: Fraction = Fraction(1), tables=TABLES) -> Round:
    return Round(plan.spec.run, "test", name, tables, epsilon)


def contributions(consortium: TestConsortium, round_: Round, combiner: str = "party-1", attempt: int = 1):
    step = Contribute(round_, attempt, combiner)
    replies = {name: consortium.tell(name, step) for name in consortium.parties}
    assert all(isinstance(reply, Contribution) for reply in replies.values()), replies
    return tuple((name, reply.blob) for name, reply in replies.items())


def exact(consortium: TestConsortium, tables=TABLES) -> np.ndarray:
    return sum(
        np.concatenate([c.ravel() for c in contingency_tables(party.table, list(tables))])
        for party in consortium.parties.values()
    )


@pytest.mark.parametrize("parties", [2, 3, 5])
def test_the_opened_sum_is_the_sum_of_all_parties_counts(parties: int) -> None:
    consortium = make_consortium(parties)
    plan = consortium.begin(consortium.spec(epsilon=NO_NOISE))
    opened = asyncio.run(consortium.session(plan).measure("test", TABLES, NO_NOISE))
    np.testing.assert_array_equal(np.concatenate([t.counts.ravel() for t in opened]), exact(consortium))


def test_a_repeated_step_gets_the_same_bytes_and_is_charged_once() -> None:
    consortium = make_consortium()
    round_ = round_of(consortium.begin())
    first = consortium.tell("party-2", Contribute(round_, 1, "party-1"))
    spent = consortium.parties["party-2"].ledger.spent()
    assert consortium.tell("party-2", Contribute(round_, 1, "party-1")) == first
    assert consortium.parties["party-2"].ledger.spent() == spent == 1


def test_the_same_step_with_other_content_is_refused() -> None:
    consortium = make_consortium()
    plan = consortium.begin()
    consortium.tell("party-2", Contribute(round_of(plan), 1, "party-1"))
    for other in (
        Contribute(round_of(plan), 1, "party-3"),
        Contribute(round_of(plan, epsilon=Fraction(1, 2)), 1, "party-1"),
        Contribute(round_of(plan, tables=((0,),)), 2, "party-1"),
    ):
        reply = consortium.tell("party-2", other)
        assert isinstance(reply, Refusal)
        assert reply.code == "step-changed"
    assert consortium.parties["party-2"].ledger.spent() == 1


def test_another_attempt_opens_the_same_value_at_no_new_charge() -> None:
    consortium = make_consortium()
    plan = consortium.begin()
    round_ = round_of(plan)
    opened, blobs = [], []
    for attempt, combiner in ((1, "party-1"), (2, "party-3")):
        sent = contributions(consortium, round_, combiner, attempt)
        reply = consortium.tell(combiner, Combine(round_, attempt, combiner, sent))
        assert isinstance(reply, Product)
        context = consortium.context(plan, round_, combiner, attempt)
        opened.append(open_sum(reply.ciphertexts, context, consortium.secret))
        blobs.append(sent)
    np.testing.assert_array_equal(*opened)
    assert all(first[1].ciphertext != second[1].ciphertext for first, second in zip(*blobs, strict=True))
    assert {p.ledger.spent() for p in consortium.parties.values()} == {Fraction(1)}


def test_a_restarted_party_answers_as_before_its_crash(tmp_path) -> None:
    consortium = make_consortium(folder=tmp_path)
    plan = consortium.begin()
    step = Contribute(round_of(plan), 1, "party-1")
    first = consortium.tell("party-2", step)
    consortium.restart("party-2")
    assert consortium.tell("party-2", step) == first
    assert consortium.parties["party-2"].ledger.spent() == 1


def test_a_crash_between_charge_and_answer_leaves_it_charged_once(tmp_path, monkeypatch) -> None:
    consortium = make_consortium(folder=tmp_path)
    plan = consortium.begin()
    step = Contribute(round_of(plan), 1, "party-1")

    class Crash(BaseException):
        """The process is gone: nothing may catch this."""

    def crash(*_arguments: object) -> None:
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr("party.handlers.noisy_counts", crash)
        with pytest.raises(Crash):
            consortium.tell("party-2", step)
    party = consortium.restart("party-2")
    assert party.ledger.spent() == 1
    assert isinstance(consortium.tell("party-2", step), Contribution)
    assert party.ledger.spent() == 1


def test_noise_differs_between_rounds() -> None:
    consortium = make_consortium()
    plan = consortium.begin()
    session = consortium.session(plan)

    async def twice():
        return [(await session.measure("test", TABLES, Fraction(1, 100)))[2].counts for _ in range(2)]

    first, second = asyncio.run(twice())
    assert (first != second).any()


class TestHostileRelay:
    """A curator that forges, swaps, repeats or omits a blob opens nothing."""

    def setup_method(self) -> None:
        self.consortium = make_consortium()
        self.plan = self.consortium.begin(self.consortium.spec(epsilon=Fraction(9)))
        self.round = round_of(self.plan)
        self.blobs = contributions(self.consortium, self.round)

    def combine(self, blobs, combiner: str = "party-1", attempt: int = 1):
        return self.consortium.tell(combiner, Combine(self.round, attempt, combiner, tuple(blobs)))

    def refused(self, blobs) -> Refusal:
        reply = self.combine(blobs)
        assert isinstance(reply, Refusal), "the combiner took it"
        assert reply.code == "blob-refused"
        return reply

    def test_the_honest_round_is_combined(self) -> None:
        assert isinstance(self.combine(self.blobs), Product)

    def test_omitted(self) -> None:
        self.refused(self.blobs[:2])

    def test_repeated(self) -> None:
        self.refused([*self.blobs, self.blobs[1]])
        self.refused([self.blobs[0], self.blobs[1], self.blobs[1]])

    def test_swapped_between_senders(self) -> None:
        (a, x), (b, y), last = self.blobs
        self.refused([(a, y), (b, x), last])

    def test_of_another_round_or_attempt(self) -> None:
        other = contributions(self.consortium, round_of(self.plan, "2"))
        self.refused([self.blobs[0], self.blobs[1], other[2]])
        again = contributions(self.consortium, self.round, attempt=2)
        self.refused([self.blobs[0], self.blobs[1], again[2]])

    def test_of_another_run(self) -> None:
        plan = self.consortium.begin(self.consortium.spec(run="run-2"))
        other = contributions(self.consortium, round_of(plan))
        self.refused([self.blobs[0], self.blobs[1], other[2]])

    def test_forged_encryptions_of_zero(self) -> None:
        # The attack of privacy.md, section 3: with K-1 blobs of zeros the sum is the last party's vector.
        context = self.consortium.context(self.plan, self.round, "party-1")
        zeros = paillier.encrypt(self.consortium.public, [0] * context.layout.plaintexts)
        payload = paillier.ciphertexts_to_bytes(self.consortium.public, zeros)
        recipient = self.consortium.manifest.keys_of("party-1").sealing_key
        forger = Identity.generate()
        forged = [
            (name, sealing.seal(payload, recipient, context.binding(name), forger.signing))
            for name in ("party-2", "party-3")
        ]
        assert "signature" in self.refused([self.blobs[0], *forged]).message

    def test_a_changed_byte(self) -> None:
        name, blob = self.blobs[2]
        broken = bytearray(blob.ciphertext)
        broken[-1] ^= 1
        self.refused([*self.blobs[:2], (name, sealing.SealedBlob(bytes(broken), blob.signature))])

    @pytest.mark.parametrize("bad", ["zero", "n", "n squared", "too few"])
    def test_a_member_that_sends_no_valid_ciphertexts(self, bad: str) -> None:
        public = self.consortium.public
        context = self.consortium.context(self.plan, self.round, "party-1")
        good = paillier.encrypt(public, [0] * context.layout.plaintexts)
        numbers = {"zero": [0, *good[1:]], "n": [public.n, *good[1:]], "n squared": good, "too few": good[1:]}[bad]
        payload = b"".join(c.to_bytes(public.ciphertext_bytes, "big") for c in numbers)
        if bad == "n squared":
            payload = public.square.to_bytes(public.ciphertext_bytes, "big") + payload[public.ciphertext_bytes :]
        party = self.consortium.parties["party-3"]
        recipient = self.consortium.manifest.keys_of("party-1").sealing_key
        blob = sealing.seal(payload, recipient, context.binding("party-3"), party.identity.signing)
        self.refused([*self.blobs[:2], ("party-3", blob)])

    def test_another_party_than_the_combiner_refuses_to_combine(self) -> None:
        step = Combine(self.round, 1, "party-1", self.blobs)
        assert isinstance(self.consortium.tell("party-2", step), Refusal)
        assert isinstance(self.combine(self.blobs, combiner="party-2"), Refusal)


def test_the_curators_own_member_is_never_combiner() -> None:
    consortium = make_consortium(curator_member="party-1")
    plan = consortium.begin()
    reply = consortium.tell("party-2", Contribute(round_of(plan), 1, "party-1"))
    assert isinstance(reply, Refusal)
    session = consortium.session(plan)
    assert {session.combiner(attempt) for attempt in range(6)} == {"party-2", "party-3"}


def test_combiner_and_curator_together_learn_only_the_sum() -> None:
    """Without the zero-sum masks they would decrypt one party's vector; with them they get noise."""
    consortium = make_consortium()
    plan = consortium.begin()
    round_ = round_of(plan)
    context = consortium.context(plan, round_, "party-1")
    blobs = contributions(consortium, round_)
    combiner = consortium.parties["party-1"].identity
    name, blob = blobs[1]
    key = consortium.manifest.keys_of(name).signing_key
    payload = sealing.open_sealed(blob, combiner.sealing, context.binding(name), key)
    pooled = paillier.decrypt(consortium.secret, paillier.ciphertexts_from_bytes(consortium.public, payload))

    victim = consortium.parties[name]
    vector = victim.releases.noisy_vector(round_, plan.noise_quota, victim.engine._policy.allowance(plan.spec), 1)
    pads = masks.zero_sum_masks(
        mask_keys(victim.identity, name, plan, consortium.manifest),
        name,
        plan.modulus,
        len(pooled),
        context.mask_nonce(),
    )
    bare = [(p - m) % plan.modulus for p, m in zip(pooled, pads, strict=True)]
    # With the victim's own keys the vector comes out: the test looks in the right place.
    np.testing.assert_array_equal(unpack(bare, plan.modulus, context.layout), vector)
    # Without them, what is decrypted is another residue altogether.
    assert all(p != b for p, b in zip(pooled, bare, strict=True))


def test_only_one_product_of_a_round_is_ever_decrypted() -> None:
    consortium = make_consortium()
    plan = consortium.begin()
    session = consortium.session(plan)
    asyncio.run(session.measure("test", TABLES, Fraction(1)))
    (key,) = consortium.journal.keys("run-1/product/")
    with pytest.raises(PrivityError, match="other content"):
        consortium.journal.record(key, "another round", b"[]")
    replayed = consortium.session(plan)
    sent = len(consortium.recorder.sent)
    asyncio.run(replayed.measure("test", TABLES, Fraction(1)))
    assert len(consortium.recorder.sent) == sent, "a replay asked the parties again"


def test_a_closed_run_is_answered_no_more_and_leaves_no_vector(tmp_path) -> None:
    consortium = make_consortium(folder=tmp_path)
    plan = consortium.begin()
    contributions(consortium, round_of(plan))
    for name in consortium.parties:
        assert consortium.tell(name, Close("run-1", "COMPLETED")) == Done()
        assert consortium.parties[name].journal.keys("run-1/") == []
    reply = consortium.tell("party-1", Contribute(round_of(plan), 1, "party-1"))
    assert isinstance(reply, Refusal)
    consortium.restart("party-1")
    assert isinstance(consortium.tell("party-1", Contribute(round_of(plan, "9"), 1, "party-1")), Refusal)
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
        return consortium.tell(name, Contribute(round_of(plan), 1, "party-1"))

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
        assert isinstance(self.contribute(consortium, plan), Contribution)
        party.journal.close()
        for side in tmp_path.glob("party-2-journal.sqlite-*"):
            side.unlink()
        file.write_bytes(backup)
        consortium.restart("party-2")
        reply = self.contribute(consortium, plan)
        assert isinstance(reply, Refusal)
        assert reply.code == "step-answered"
        assert consortium.parties["party-2"].ledger.spent() == 1

    def test_a_share_is_not_taken_for_a_share_of_another_quota(self) -> None:
        consortium = make_consortium()
        plan = consortium.begin()
        self.contribute(consortium, plan)
        party = consortium.parties["party-2"]
        allowance = party.engine._policy.allowance(plan.spec)
        with pytest.raises(PrivityError, match="other content"):
            party.releases.noisy_vector(round_of(plan), 1, allowance)

    def test_rows_that_change_during_a_run_are_refused(self, tmp_path) -> None:
        consortium = make_consortium(folder=tmp_path)
        plan = consortium.begin()
        party = consortium.parties["party-2"]
        changed = party.table.take(np.arange(party.table.rows)[::-1])
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
    reply = consortium.tell("party-2", Contribute(round_of(plan, epsilon=epsilon, tables=tables), 1, "party-1"))
    assert isinstance(reply, Refusal)
    assert consortium.parties["party-2"].ledger.spent() == 0


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


def test_an_unforeseen_error_is_a_refusal_without_its_text(monkeypatch) -> None:
    consortium = make_consortium()
    plan = consortium.begin()

    def broken(*_arguments: object) -> None:
        raise ZeroDivisionError("a row's value")

    monkeypatch.setattr("party.handlers.noisy_counts", broken)
    reply = consortium.tell("party-2", Contribute(round_of(plan), 1, "party-1"))
    assert isinstance(reply, Refusal)
    assert "ZeroDivisionError" in reply.message
    assert "value" not in reply.message
