"""The curator's side of a round: blocks under way together, combiners that fail, and a round taken up again."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from privity.common.crypto import packing, paillier
from privity.common.crypto.sealing import SealedBlob, open_sealed
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol import block_sums
from privity.common.protocol.combiner_tree import tree_of
from privity.common.protocol.round_attempt import MOST_ATTEMPTS
from privity.common.protocol.secure_sum_method import MASKS, PAILLIER, SumKind
from privity.common.protocol.steps import CombineBlock, Contribute, Done, Refusal, Reply, SealBlock, Sealed, Step, Sum
from privity.common.wire.codec import decode_step
from privity.curator import pending_steps as desks
from privity.curator import sum_rounds
from privity.curator.answer_store import Answers
from privity.curator.network_backend import NetworkBackend
from privity.curator.pending_steps import PartyRefusedError
from privity.curator.traffic_meter import Meter
from tests.common.protocol.test_secure_sum import KINDS, NO_NOISE, exact
from tests.harness.consortium import TestConsortium, make_consortium, open_policy
from tests.harness.steps import laplace_round, pure

TABLES = ((0, 1), (0, 2))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of these tests have several blocks."""
    monkeypatch.setattr(packing, "BLOCK_PLAINTEXTS", 2)
    monkeypatch.setattr(block_sums, "BLOCK_WORDS", 64)


def consortium_of(parties: int = 3, **options) -> TestConsortium:
    return make_consortium(parties, domain=(16, 20, 12), rows=50, **options)


def measured(consortium: TestConsortium, kind: SumKind) -> np.ndarray:
    plan = consortium.begin(consortium.spec(epsilon=NO_NOISE, secure_sum=kind))
    opened = asyncio.run(consortium.session(plan).measure("test", TABLES, pure(NO_NOISE)))
    return np.concatenate([t.counts.ravel() for t in opened])


def steps(consortium: TestConsortium, kind: type[Step]) -> list[tuple[str, Step]]:
    return [(party, step) for party, step in consortium.told if isinstance(step, kind)]


@pytest.mark.process
@KINDS
@pytest.mark.parametrize("parties", [3, 11])
def test_blocks_make_up_the_vector_and_everybody_sends_each_once(parties: int, kind: SumKind) -> None:
    consortium = consortium_of(parties)
    np.testing.assert_array_equal(measured(consortium, kind), exact(consortium, TABLES))
    sealed = steps(consortium, SealBlock)
    blocks = {step.block for _, step in sealed}
    assert len(blocks) > 4
    assert len(sealed) == len(blocks) * parties
    assert len(steps(consortium, Contribute)) == parties
    combined = steps(consortium, CombineBlock)
    assert max(len(step.blobs) for _, step in combined) <= 8
    assert len(combined) == len(blocks) * (1 if parties == 3 else 3)


class Faulty(TestConsortium):
    """A consortium whose parties may fail: ``fault`` gives an error to raise, or another reply, or None."""

    fault = staticmethod(lambda _party, _step: None)

    async def ask(self, party: str, step: Step, phase: str) -> Reply:
        await asyncio.sleep(0)
        found = self.fault(party, step)
        if isinstance(found, Exception):
            raise found
        return found or await super().ask(party, step, phase)


def faulty(parties: int, fault, **options) -> Faulty:
    plain = consortium_of(parties, **options)
    consortium = Faulty({name: party.table for name, party in plain.parties.items()}, **options)
    consortium.fault = fault
    return consortium


def silence(party: str) -> PrivityError:
    return PrivityError(Catalogue.NO_PROGRESS, party=party, seconds=1, phase="test")


@pytest.mark.process
@KINDS
@pytest.mark.parametrize("parties", [3, 11])
def test_another_combiner_takes_over_from_one_that_falls_silent(parties: int, kind: SumKind) -> None:
    """It contributed, and seals its blocks again; it is combiner no more. Blocks that were summed stay."""
    silent: set[str] = set()

    def fault(party: str, step: Step):
        if isinstance(step, CombineBlock) and step.block >= 3 and not silent:
            silent.add(party)
        return silence(party) if isinstance(step, CombineBlock) and party in silent else None

    consortium = faulty(parties, fault)
    np.testing.assert_array_equal(measured(consortium, kind), exact(consortium, TABLES))
    again = {step.block for _, step in steps(consortium, SealBlock) if step.attempt.number == 2}
    assert again
    assert min(again) >= 3
    assert {party.ledger.spent() for party in consortium.parties.values()} == {NO_NOISE}
    second = [step.attempt.combiners for _, step in steps(consortium, CombineBlock) if step.attempt.number == 2]
    assert len(set(second)) == 1


@pytest.mark.parametrize("curator_member", [None, "party-1"])
def test_a_round_without_a_combiner_is_given_up(curator_member: str | None) -> None:
    consortium = faulty(
        3,
        lambda party, step: silence(party) if isinstance(step, CombineBlock) else None,
        curator_member=curator_member,
    )
    with pytest.raises(PrivityError, match="no answer from party-"):
        measured(consortium, PAILLIER)
    tried = {step.attempt.combiners for _, step in steps(consortium, SealBlock)}
    assert len(tried) == MOST_ATTEMPTS
    assert (curator_member,) not in tried


def none_of(what: str) -> Reply | PrivityError:
    """What a combiner at fault brings."""
    return {
        "too short": Sum(b"\0" * 5),
        "nothing": Sum(b""),
        "another kind": Done(),
        "a sealed blob": Sealed(SealedBlob(b"x", bytes(64))),
        "an internal error": PartyRefusedError("party-1", Refusal("internal", "x", "y")),
    }[what]


@pytest.mark.process
@KINDS
@pytest.mark.parametrize("what", ["too short", "nothing", "another kind", "a sealed blob", "an internal error"])
def test_a_sum_that_is_none_is_asked_of_another_combiner(what: str, kind: SumKind) -> None:
    def fault(_party: str, step: Step):
        return none_of(what) if isinstance(step, CombineBlock) and step.attempt.number == 1 else None

    consortium = faulty(3, fault)
    np.testing.assert_array_equal(measured(consortium, kind), exact(consortium, TABLES))


@KINDS
def test_a_well_formed_sum_of_something_else_opens_nothing_then_or_later(kind: SumKind) -> None:
    """It is the one sum that the journal takes: the round is lost, nothing comes out, nobody pays twice."""

    def fault(_party: str, step: Step):
        if not (isinstance(step, CombineBlock) and step.block == 0):
            return None
        if kind is MASKS:
            return Sum(b"\x7f" * 8 * 64)
        numbers = paillier.encrypt(consortium.public, [consortium.public.n // 3] * 2)
        return Sum(paillier.ciphertexts_to_bytes(consortium.public, numbers))

    consortium = faulty(3, fault)
    plan = consortium.begin(consortium.spec(epsilon=NO_NOISE, secure_sum=kind))
    for _ in range(2):
        with pytest.raises(PrivityError, match="is not revealed"):
            asyncio.run(consortium.session(plan).measure("test", TABLES, pure(NO_NOISE)))
        consortium.fault = lambda _party, _step: None
    assert consortium.journal.keys("run-1/revealed/") == []
    assert {party.ledger.spent() for party in consortium.parties.values()} == {NO_NOISE}


@pytest.mark.process
def test_a_curator_that_starts_again_goes_on_with_the_combiners_that_it_named() -> None:
    """Before the crash one combiner failed, after it another one would have."""

    class Crash(BaseException):
        """The curator's process is gone."""

    phase = 0

    def fault(party: str, step: Step):
        if isinstance(step, CombineBlock) and step.attempt.number == 1 and step.node == phase:
            return silence(party)
        if phase == 0 and isinstance(step, CombineBlock) and step.attempt.number == 2:
            raise Crash
        return None

    consortium = faulty(11, fault)
    plan = consortium.begin(consortium.spec(epsilon=NO_NOISE, secure_sum=MASKS))
    with pytest.raises(Crash):
        asyncio.run(consortium.session(plan).measure("test", TABLES, pure(NO_NOISE)))
    phase = 1
    opened = asyncio.run(consortium.session(plan).measure("test", TABLES, pure(NO_NOISE)))
    np.testing.assert_array_equal(np.concatenate([t.counts.ravel() for t in opened]), exact(consortium, TABLES))


@pytest.mark.process
@pytest.mark.parametrize(("back_after", "comes_through"), [(0.2, True), (1.5, True), (60.0, False)])
def test_a_combiner_that_is_silent_for_a_while_at_a_real_desk(monkeypatch, back_after, comes_through) -> None:
    """Patience is a second. A member is waited for twice; one that stays away ends the round."""
    monkeypatch.setattr(desks, "CHECK_EVERY_SECONDS", 0.05)
    consortium = consortium_of()
    plan = consortium.begin(consortium.spec(epsilon=NO_NOISE, secure_sum=MASKS))
    desk = desks.Desk(patience=1.0)
    fell_silent: list[str] = []

    async def node(name: str) -> None:
        while True:
            message = await desk.next_step(name, 0.2)
            if message is None:
                continue
            step = decode_step(message)
            if isinstance(step, CombineBlock) and not fell_silent and step.block == 1:
                fell_silent.append(name)
                await asyncio.sleep(back_after)
                continue
            desk.deliver(name, consortium.parties[name].engine.handle(step))
            await asyncio.sleep(0.001)

    async def scenario():
        nodes = [asyncio.create_task(node(name)) for name in consortium.parties]
        meter = Meter()
        answers = Answers(consortium.journal, desk.ask, meter)
        session = NetworkBackend(plan, consortium.manifest, consortium.schema, None, answers, meter).session()
        try:
            return await session.measure("test", TABLES, pure(NO_NOISE))
        finally:
            for task in nodes:
                task.cancel()

    if comes_through:
        opened = asyncio.run(scenario())
        np.testing.assert_array_equal(np.concatenate([t.counts.ravel() for t in opened]), exact(consortium, TABLES))
    else:
        with pytest.raises(PrivityError, match="no answer from party-"):
            asyncio.run(scenario())
    assert fell_silent


def test_a_blob_spoilt_on_its_way_is_sealed_anew() -> None:
    """The combiner refuses; the second attempt brings the round to its end."""
    consortium = consortium_of()

    def tamper(_party: str, step: Step) -> Step:
        if isinstance(step, CombineBlock) and step.attempt.number == 1 and step.block == 1:
            (sender, blob), *rest = step.blobs
            spoilt = replace(blob, ciphertext=blob.ciphertext[:-1] + b"\0")
            return replace(step, blobs=((sender, spoilt), *rest))
        return step

    consortium.tamper = tamper
    np.testing.assert_array_equal(measured(consortium, PAILLIER), exact(consortium, TABLES))


@KINDS
def test_a_party_that_seals_no_more_ends_the_round(kind: SumKind) -> None:
    """All shares must be in, or nothing is opened."""

    def fault(party: str, step: Step):
        return silence(party) if isinstance(step, SealBlock) and party == "party-2" and step.block >= 2 else None

    consortium = faulty(3, fault)
    with pytest.raises(PrivityError, match="no answer from party-2"):
        measured(consortium, kind)
    assert consortium.journal.keys("run-1/revealed/") == []


@KINDS
def test_a_round_taken_up_again_asks_for_missing_blocks_only(kind: SumKind) -> None:
    class Crash(BaseException):
        """The curator's process is gone."""

    crashed = False

    def fault(_party: str, step: Step):
        nonlocal crashed
        if isinstance(step, CombineBlock) and step.block == 4 and not crashed:
            crashed = True
            raise Crash
        return

    consortium = faulty(3, fault)
    plan = consortium.begin(consortium.spec(epsilon=NO_NOISE, secure_sum=kind))
    with pytest.raises(Crash):
        asyncio.run(consortium.session(plan).measure("test", TABLES, pure(NO_NOISE)))
    done = {int(key.split("/")[-1]) for key in consortium.journal.keys("run-1/sum/")}
    assert done
    consortium.told.clear()
    opened = asyncio.run(consortium.session(plan).measure("test", TABLES, pure(NO_NOISE)))
    np.testing.assert_array_equal(np.concatenate([t.counts.ravel() for t in opened]), exact(consortium, TABLES))
    assert not done & {step.block for _, step in steps(consortium, CombineBlock)}
    assert {party.ledger.spent() for party in consortium.parties.values()} == {NO_NOISE}


def test_a_few_blocks_are_under_way_at_a_time() -> None:
    under_way: set[int] = set()
    most = 0

    class Watched(Faulty):
        async def ask(self, party: str, step: Step, phase: str) -> Reply:
            nonlocal most
            if isinstance(step, SealBlock):
                under_way.add(step.block)
            most = max(most, len(under_way))
            reply = await super().ask(party, step, phase)
            if isinstance(reply, Sum) and isinstance(step, CombineBlock):
                under_way.discard(step.block)
            return reply

    plain = consortium_of()
    measured(Watched({name: party.table for name, party in plain.parties.items()}), PAILLIER)
    assert 1 < most <= sum_rounds.BLOCKS_AT_ONCE + 1


@pytest.mark.process
def test_what_a_party_sends_does_not_grow_with_the_parties() -> None:
    """The worst party's blobs, sent and received, of one block: as many at 40 parties as at 8."""
    loads = {}
    for parties in (8, 40):
        consortium = consortium_of(parties)
        measured(consortium, MASKS)
        load = dict.fromkeys(consortium.parties, 0)
        for party, step in consortium.told:
            if isinstance(step, SealBlock | CombineBlock) and step.block == 0:
                load[party] += 1 + (len(step.blobs) if isinstance(step, CombineBlock) else 0)
        loads[parties] = max(load.values())
    assert loads[40] <= loads[8] == 10


def test_a_partial_sum_is_sealed_to_the_combiner_above_and_of_no_use_elsewhere() -> None:
    consortium = consortium_of(11)
    plan = consortium.begin(consortium.spec(epsilon=NO_NOISE))
    round_ = laplace_round("run-1", "test", "1", TABLES, NO_NOISE)
    attempt = consortium.attempt(round_)
    blobs = consortium.seal(round_, attempt)
    tree = consortium.context(plan, round_).tree(attempt)
    partial = []
    for node in (0, 1):
        sent = tuple(blobs[child] for child in tree.children(node))
        reply = consortium.tell(tree.combiners[node], CombineBlock("run-1", attempt, 0, node, sent))
        assert isinstance(reply, Sealed)
        partial.append((tree.combiners[node], reply.blob))
    root = tree.combiners[2]
    for wrong in (partial[::-1], partial[:1], [partial[0], partial[0]], [partial[0], blobs[1]], blobs[:2]):
        reply = consortium.tell(root, CombineBlock("run-1", attempt, 0, 2, tuple(wrong)))
        assert getattr(reply, "code", "") == "blob-refused"
    assert isinstance(consortium.tell(root, CombineBlock("run-1", attempt, 0, 2, tuple(partial))), Sum)


@KINDS
def test_all_combiners_and_the_curator_together_learn_only_the_total(kind: SumKind) -> None:
    """Nine parties, three combiners: every blob opened, every group summed, and no sum but that of all comes out."""
    consortium = consortium_of(9)
    plan = consortium.begin(consortium.spec(epsilon=NO_NOISE, secure_sum=kind))
    round_ = laplace_round("run-1", "test", "1", TABLES, NO_NOISE)
    context, attempt = consortium.context(plan, round_), consortium.attempt(round_)
    blobs, tree = consortium.seal(round_, attempt), consortium.context(plan, round_).tree(attempt)
    payloads, vectors = [], []
    for child, (name, blob) in enumerate(blobs):
        combiner = consortium.parties[tree.recipient(child)].identity
        key = consortium.manifest.keys_of(name).signing_key
        payloads.append(open_sealed(blob, combiner.sealing, context.binding(attempt, 0, child), key))
        party = consortium.parties[name]
        allowance = open_policy().allowance(plan.spec, 1)
        vector = party.releases.noisy_vector(round_, plan.noise_quota, allowance, child)
        vectors.append(vector[context.sum.cells_of(0)])

    def opened(children: tuple[int, ...]) -> list[int]:
        """What the key holder has of a sum: a residue for each plaintext or word."""
        total = context.sum.add([payloads[c] for c in children], 0)
        if kind is MASKS:
            return np.frombuffer(total, dtype="<u8").tolist()
        return paillier.decrypt(consortium.secret, paillier.ciphertexts_from_bytes(consortium.public, total))

    def unmasked(children: tuple[int, ...]) -> list[int]:
        total = sum(vectors[c] for c in children)
        if kind is MASKS:
            return total.view(np.uint64).tolist()
        return [plaintext % consortium.public.n for plaintext in context.sum.packed(total, 0)]

    everybody = tuple(range(9))
    assert opened(everybody) == unmasked(everybody)
    for children in [*tree_of(9)[:2], *((c,) for c in everybody), everybody[:8]]:
        assert not any(a == b for a, b in zip(opened(children), unmasked(children), strict=True))


@KINDS
def test_two_runs_that_take_turns_do_not_disturb_each_other(kind: SumKind) -> None:
    generous = open_policy(total_epsilon=2 * NO_NOISE)
    consortium = consortium_of(policies={f"party-{k}": generous for k in (1, 2, 3)})
    plans = [consortium.begin(consortium.spec(run=run, epsilon=NO_NOISE, secure_sum=kind)) for run in ("a", "b")]

    async def both():
        sessions = [consortium.session(plan) for plan in plans]
        return await asyncio.gather(*(session.measure("test", TABLES, pure(NO_NOISE)) for session in sessions))

    for opened in asyncio.run(both()):
        np.testing.assert_array_equal(np.concatenate([t.counts.ravel() for t in opened]), exact(consortium, TABLES))


def test_a_crash_after_the_vector_is_kept_leaves_a_round_that_goes_on(tmp_path, monkeypatch) -> None:
    consortium = consortium_of(folder=tmp_path)
    consortium.begin(consortium.spec(epsilon=NO_NOISE))
    round_ = laplace_round("run-1", "test", "1", TABLES, NO_NOISE)

    class Crash(BaseException):
        """The party's process is gone."""

    def crash(*_arguments: object) -> bytes:
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr("privity.party.sum_contributions.encode_step", crash)
        with pytest.raises(Crash):
            consortium.tell("party-2", Contribute(round_))
    consortium.restart("party-2")
    attempt = consortium.attempt(round_)
    assert consortium.tell("party-2", SealBlock("run-1", attempt, 0)).code == "step-refused"
    reply = consortium.combine(round_, attempt, consortium.seal(round_, attempt))
    assert isinstance(reply, Sum)
    assert consortium.parties["party-2"].ledger.spent() == NO_NOISE
