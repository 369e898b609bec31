"""The curator's side of a round: blocks under way together, combiners that fail, and a round taken up again."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from common.crypto import packing
from common.errors import Catalogue, PrivityError
from common.protocol import block_sums
from common.protocol.round import Round
from common.protocol.steps import CombineBlock, Contribute, Reply, SealBlock, Sealed, Step, Sum
from common.protocol.sum_kind import MASKS, PAILLIER, SumKind
from curator import rounds
from tests.harness.consortium import TestConsortium, make_consortium
from tests.protocol.test_secure_sum import KINDS, NO_NOISE, exact

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
    opened = asyncio.run(consortium.session(plan).measure("test", TABLES, NO_NOISE))
    return np.concatenate([t.counts.ravel() for t in opened])


def steps(consortium: TestConsortium, kind: type[Step]) -> list[tuple[str, Step]]:
    return [(party, step) for party, step in consortium.told if isinstance(step, kind)]


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


@KINDS
@pytest.mark.parametrize("parties", [3, 11])
def test_another_combiner_takes_over_from_one_that_falls_silent(parties: int, kind: SumKind) -> None:
    """It contributed, and seals its blocks again; it is combiner no more. Blocks that were summed stay."""
    silent: set[str] = set()

    def fault(party: str, step: Step):
        if isinstance(step, CombineBlock) and step.block >= 3 and step.attempt.number == 1:
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
    assert len(tried) == rounds.ATTEMPTS
    assert (curator_member,) not in tried


@KINDS
def test_a_sum_that_is_none_is_asked_of_another_combiner(kind: SumKind) -> None:
    def fault(party: str, step: Step):
        return Sum(b"\0" * 5) if isinstance(step, CombineBlock) and step.attempt.number == 1 else None

    consortium = faulty(3, fault)
    np.testing.assert_array_equal(measured(consortium, kind), exact(consortium, TABLES))


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
    assert consortium.journal.keys("run-1/opened/") == []


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
        asyncio.run(consortium.session(plan).measure("test", TABLES, NO_NOISE))
    done = {int(key.split("/")[-1]) for key in consortium.journal.keys("run-1/sum/")}
    assert done
    consortium.told.clear()
    opened = asyncio.run(consortium.session(plan).measure("test", TABLES, NO_NOISE))
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
    assert 1 < most <= rounds.BLOCKS_AT_ONCE + 1


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
    round_ = Round("run-1", "test", "1", TABLES, NO_NOISE)
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
