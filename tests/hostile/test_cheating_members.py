"""Members that cheat: copied keys, a modulus that is none, sums that were shifted. What it gets them, and what not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from numpy.typing import NDArray

from privity.common.crypto import masks, sealing
from privity.common.crypto.identity import Identity, PublicIdentity
from privity.common.errors import PrivityError
from privity.common.protocol.round import Round
from privity.common.protocol.run_spec import Enrolment, RunPlan
from privity.common.protocol.secure_sum import reveal_block
from privity.common.protocol.secure_sum_method import MASKS, PAILLIER, SumKind
from privity.common.protocol.steps import (
    Begin,
    Contribute,
    Done,
    Enrol,
    Enrolled,
    Refusal,
    SealBlock,
    Sealed,
    Sum,
)
from privity.common.wire.codec import decode_step, encode_reply
from tests.harness.consortium import TestConsortium, make_consortium, make_schema, make_table, open_policy, small_key
from tests.harness.steps import laplace_round

KINDS = pytest.mark.parametrize("kind", [PAILLIER, MASKS], ids=lambda kind: kind.method.value)
COPIED_FROM, VICTIM, COPIES = "a-north", "m-victim", "z-evil"
TABLES = ((0, 1), (2,))


class Copier(Identity):
    """A member that lists another's agreement key as its own."""

    copied: bytes

    def public(self) -> PublicIdentity:
        return dataclasses.replace(super().public(), agreement=self.copied)


def with_a_copied_key() -> TestConsortium:
    """A consortium as if nobody had checked keys: the manifest lists one agreement key twice."""
    schema = make_schema((2, 3, 2))
    tables = {name: make_table(schema, 60, seed=k) for k, name in enumerate((COPIED_FROM, VICTIM, COPIES))}
    identities = {name: Identity.generate() for name in tables}
    own = identities[COPIES]
    copier = Copier(own.signing, own.sealing, own.agreement)
    object.__setattr__(copier, "copied", identities[COPIED_FROM].public().agreement)
    identities[COPIES] = copier
    return TestConsortium(tables, identities=identities)


def enrolled(consortium: TestConsortium, modulus: int | None, **spec: Any) -> RunPlan:
    """The plan of a run in which every member has enrolled, and which none has begun."""
    asked = consortium.spec(**spec)
    replies = [consortium.tell(name, Enrol(asked)) for name in asked.members]
    enrolments = tuple(Enrolment.from_dict(reply.enrolment) for reply in replies if isinstance(reply, Enrolled))
    return RunPlan(asked, enrolments, modulus)


def seen_and_kept(consortium: TestConsortium, kind: SumKind) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
    """What the copier, as combiner with the curator's key, makes of the victim's blob; and what the victim kept.

    The first is None if it is no packed vector at all.
    """
    plan = enrolled(consortium, None if kind is MASKS else consortium.public.n, secure_sum=kind)
    honest = consortium.tell(COPIED_FROM, Begin(plan))
    assert isinstance(honest, Refusal)
    assert honest.code == "identity-unknown", "it sees its own key there; a curator that cheats goes on without it"
    assert consortium.tell(VICTIM, Begin(plan)) == Done()
    round_ = laplace_round(plan.spec.run, "test", "1", TABLES, Fraction(1))
    attempt = consortium.attempt(round_, first=2)
    assert attempt.combiners == (COPIES,)
    assert consortium.tell(VICTIM, Contribute(round_)) == Done()
    reply = consortium.tell(VICTIM, SealBlock(plan.spec.run, attempt, 0))
    assert isinstance(reply, Sealed)
    context, parties = consortium.context(plan, round_), consortium.parties
    place = list(parties).index(VICTIM)
    binding = context.binding(attempt, 0, place)
    sender = parties[VICTIM].identity.signing.public_key()
    payload = sealing.open_sealed(reply.blob, parties[COPIES].identity.sealing, binding, sender)
    kept = parties[VICTIM].releases.vectors[round_.digest]
    if kind is MASKS:
        return np.frombuffer(payload, "<i8"), kept
    try:
        return reveal_block(payload, context, 0, consortium.secret), kept
    except PrivityError:
        return None, kept


@KINDS
def test_a_copied_agreement_key_removes_no_mask_of_a_third_party(kind: SumKind) -> None:
    seen, kept = seen_and_kept(with_a_copied_key(), kind)
    assert seen is None or not np.array_equal(seen, kept)


@KINDS
def test_it_does_without_the_names_in_the_keys(kind: SumKind, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack itself works: what stops it above is that a key is bound to both names."""
    agree = masks.agree

    def nameless(own: X25519PrivateKey, peer: X25519PublicKey, _own: str, _peer: str, context: bytes) -> bytes:
        keys = own.public_key().public_bytes_raw(), peer.public_bytes_raw()
        return agree(own, peer, *(key.hex() for key in keys), context)

    monkeypatch.setattr("privity.common.protocol.round_context.masks.agree", nameless)
    monkeypatch.setattr("privity.common.crypto.masks.PairwiseMasks.__post_init__", lambda _self: None)
    seen, kept = seen_and_kept(with_a_copied_key(), kind)
    np.testing.assert_array_equal(seen, kept)


def test_a_member_with_whom_there_are_no_masks_is_named_before_anything_is_charged() -> None:
    """Rows elsewhere are charged as a run begins: not if it cannot be served."""
    policies = {f"party-{k}": open_policy(rows_per_person=2) for k in (1, 2, 3)}
    consortium = make_consortium(3, policies=policies, parties_per_person=2)
    begin = Begin(enrolled(consortium, consortium.public.n))
    party = consortium.parties["party-1"]
    with pytest.MonkeyPatch.context() as patch:

        def refuses(_own: object, _key: object, _name: str, peer: str, _context: bytes) -> bytes:
            raise ValueError(f"the public key of {peer} is not a usable X25519 key")

        patch.setattr("privity.common.protocol.round_context.masks.agree", refuses)
        reply = consortium.tell("party-1", begin)
    assert isinstance(reply, Refusal)
    assert reply.code == "identity-unknown"
    assert "party-2" in reply.message
    assert party.ledger.spent() == 0
    assert party.journal.recall("run-1/plan", "plan") is None
    # Nothing is lost: the same step is answered once the key is one.
    assert consortium.tell("party-1", begin) == Done()
    assert party.ledger.spent() > 0


def test_blocks_of_two_runs_asked_for_by_turns_are_under_their_own_masks() -> None:
    consortium = make_consortium(3)
    rounds = []
    for run in ("run-1", "run-2"):
        plan = consortium.begin(consortium.spec(run=run, epsilon=Fraction(100)))
        rounds.append((plan, laplace_round(run, "test", "1", TABLES, Fraction(100))))
    for _, round_ in rounds:
        for name in consortium.parties:
            assert consortium.tell(name, Contribute(round_)) == Done()
    for plan, round_ in (*rounds, *rounds):
        consortium.reveal(plan, round_, consortium.attempt(round_))  # raises if a mask of another run is in it


def _prime(bits: int) -> int:
    return int(gmpy2.next_prime((3 << (bits - 2)) + 12345))


def _blum(bits: int) -> int:
    """A prime that is 3 modulo 4."""
    found = _prime(bits)
    while found % 4 != 3:
        found = int(gmpy2.next_prime(found))
    return found


NO_MODULUS: dict[str, Callable[[], tuple[int, str]]] = {
    "a prime": lambda: (next(p for k in range(99) if (p := int(gmpy2.next_prime((1 << 511) + (k << 20)))) % 4 == 1),
                        "a prime or a power"),
    "a square": lambda: (_prime(256) ** 2, "a prime or a power"),
    "a power of 3": lambda: (3**324, "prime factor of at most 20 bits"),
    "2^512 - 1": lambda: ((1 << 512) - 1, "not 1 modulo 4"),
    "a prime times a small one": lambda: (1048573 * _prime(510), ""),
    "even": lambda: ((1 << 511) + 2, "not 1 modulo 4"),
    "3 modulo 4": lambda: (_blum(256) * next(p for p in (_prime(256), _prime(257), _prime(258)) if p % 4 == 1), ""),
}  # fmt: skip


@pytest.mark.parametrize("make", NO_MODULUS.values(), ids=NO_MODULUS)
def test_a_modulus_that_is_none_is_refused_when_the_run_begins(make: Callable[[], tuple[int, str]]) -> None:
    modulus, reason = make()
    consortium = make_consortium(3)
    plan = enrolled(consortium, modulus)
    for name in consortium.parties:
        reply = consortium.tell(name, Begin(plan))
        assert isinstance(reply, Refusal)
        assert "the modulus" in reply.message
        assert reason in reply.message
        assert consortium.parties[name].ledger.spent() == 0
        assert consortium.tell(name, Begin(dataclasses.replace(plan, modulus=consortium.public.n))) == Done()


def test_moduli_made_for_runs_are_accepted() -> None:
    for bits in (512, 520, 1024):
        consortium = make_consortium(2, key_bits=bits, policies={f"party-{k}": open_policy() for k in (1, 2)})
        assert consortium.public == small_key(bits)[0]
        consortium.begin()


def _shifted(consortium: TestConsortium, plan: RunPlan, round_: Round, total: Sum, by: NDArray[np.int64]) -> bytes:
    """The combiner's sum, with its own numbers added."""
    added = consortium.context(plan, round_).sum
    if plan.modulus is None:
        return (np.frombuffer(total.payload, "<u8") + by.view(np.uint64)).astype("<u8").tobytes()
    return added.add([total.payload, added.encrypted(added.packed(by, 0))], 0)


@KINDS
def test_a_combiner_shifts_a_sum_and_nothing_shows_it(kind: SumKind) -> None:
    consortium = make_consortium(3)
    plan = consortium.begin(consortium.spec(secure_sum=kind))
    round_ = laplace_round(plan.spec.run, "test", "1", TABLES, Fraction(1))
    attempt = consortium.attempt(round_)
    total = consortium.combine(round_, attempt, consortium.seal(round_, attempt))
    assert isinstance(total, Sum)
    by = np.zeros(8, dtype=np.int64)
    by[:2] = 57, -57
    context = consortium.context(plan, round_)
    right = reveal_block(total.payload, context, 0, consortium.secret)
    wrong = reveal_block(_shifted(consortium, plan, round_, total, by), context, 0, consortium.secret)
    np.testing.assert_array_equal(wrong - right, by)


class ShiftingCombiner(TestConsortium):
    """Whoever is combiner adds 40 to every cell of every sum."""

    shifts = True

    def deliver(self, party: str, message: bytes) -> bytes:
        answer, step = super().deliver(party, message), decode_step(message)
        reply = self.receive(step, answer)
        if not self.shifts or not isinstance(reply, Sum):
            return answer
        cells = np.frombuffer(reply.payload, "<u8") + np.uint64(40)
        return encode_reply(step.run, step.key, Sum(cells.astype("<u8").tobytes()))


def test_a_shifted_sum_biases_the_release_and_costs_nobody_more(tmp_path: Path) -> None:
    """Later steps may ask for other tables because of it: each is charged, and the run's epsilon bounds all of them."""
    schema = make_schema((2, 3, 2))
    tables = {f"party-{k}": make_table(schema, 60, seed=k) for k in (1, 2, 3)}
    spent, counts = [], []
    for shifts in (False, True):
        consortium = ShiftingCombiner(tables, seed=1)
        consortium.shifts = shifts
        release = tmp_path / str(shifts)
        consortium.drive(release, algorithm="one-way", secure_sum=MASKS, key_bits=None, epsilon=Fraction(1))
        spent.append({name: party.ledger.spent() for name, party in consortium.parties.items()})
        counts.append((release / "marginals.json").read_text())
    assert spent[0] == spent[1] == dict.fromkeys(tables, 1)
    assert counts[0] != counts[1]
