"""The multi-party Laplace mechanism: one noisy sum of integer vectors, opened by the curator only.

Party k packs ``v_k + share_k`` into few plaintexts, adds its zero-sum masks, encrypts under the run's
Paillier key, signs, and seals to the round's combiner. The combiner takes exactly one valid blob from
every member, multiplies, re-randomises, and returns the product. The curator decrypts the product.

Deviation from Su, Tang, Cheng, Chen, Wu (ICDE 2016, section III, multi-party Laplace mechanism): the
noise is shared among all parties instead of one party's being chosen by a hidden one-hot vector, which
would hand each party the exact answer with probability 1/K.

These functions are pure: randomness aside, their outputs follow from their arguments.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from common.canonical import canonical_bytes
from common.crypto import masks, paillier, sealing
from common.crypto.identity import Identity
from common.crypto.packing import Layout, pack, plan_layout, unpack
from common.errors import Catalogue, PrivityError
from common.protocol.limits import check_tables, count_cells
from common.protocol.manifest import Manifest
from common.protocol.plan import RunPlan
from common.protocol.round import Replacement, Round
from common.schema import Schema
from common.statistics import NoisyTables


@dataclass(frozen=True)
class RoundContext:
    """Everything public that a blob of one attempt at a round is bound to."""

    plan: RunPlan
    manifest: Manifest
    round: Round
    attempt: int
    combiner: str
    schema: Schema

    def __post_init__(self) -> None:
        if self.combiner not in self.plan.spec.members or self.combiner == self.manifest.curator_member:
            reason = f"{self.combiner} may not be combiner"
            raise PrivityError(Catalogue.ROUND_REFUSED, round=self.round.round, reason=reason)
        check_tables(self.round.tables, self.schema.derived)
        self.round.check_noise(self.plan.noise_quota)
        if self.round.replacement is not None:
            self._check_replacement(self.round.replacement)

    def _check_replacement(self, r: Replacement) -> None:
        # Rows never leave the running sum: an opening must be charged to all that are in it.
        grows = 0 <= r.previous_coverage <= r.coverage <= self.plan.parties
        first = (r.previous is None) == (r.previous_coverage == 0)
        if not grows or not first or r.coverage < 1 or r.widest > self.round.epsilon:
            reason = "its coverage or its layout does not fit a running sum"
            raise PrivityError(Catalogue.ROUND_REFUSED, round=self.round.round, reason=reason)

    @property
    def cells(self) -> int:
        """Cells of all tables of the round together, in the order of the tables, C order within each."""
        return count_cells(self.round.tables, self.schema.derived.domain)

    @property
    def public_key(self) -> paillier.PublicKey:
        # How short a key may be is each party's policy, checked before the plan is kept.
        return paillier.PublicKey(self.plan.modulus, allow_small=True)

    @property
    def layout(self) -> Layout:
        return plan_layout(
            rows=self.plan.rows,
            scale=self.round.widest_scale,
            cells=self.cells,
            parties=self.plan.parties,
            tolerate=self.plan.spec.tolerate,
            modulus_bits=self.public_key.bits,
        )

    def binding(self, sender: str) -> bytes:
        """Canonical bytes that bind a blob to run, round, attempt, sender, recipient, key and layout."""
        layout = self.layout
        return canonical_bytes(
            {
                "protocol": "privity secure sum 1",
                "plan": self.plan.digest,
                "manifest": self.manifest.digest,
                "schema": self.manifest.schema_digest,
                "round": self.round.digest,
                "attempt": self.attempt,
                "sender": sender,
                "recipient": self.combiner,
                "key_id": self.public_key.key_id,
                "layout": [layout.cells, layout.width, layout.slots],
            }
        )

    def mask_nonce(self) -> bytes:
        """Names this attempt for the zero-sum masks; the same at every member, new for every attempt."""
        return hashlib.sha256(
            canonical_bytes({"plan": self.plan.digest, "round": self.round.digest, "attempt": self.attempt})
        ).digest()


def mask_keys(identity: Identity, party: str, plan: RunPlan, manifest: Manifest) -> dict[str, bytes]:
    """The pairwise keys of ``party`` with every other member, agreed under the manifest, for this plan."""
    context = canonical_bytes({"use": "privity zero-sum masks 1", "plan": plan.digest})
    return {
        peer: masks.agree(identity.agreement, manifest.keys_of(peer).agreement_key, context)
        for peer in plan.spec.members
        if peer != party
    }


def contribute(noisy: np.ndarray, context: RoundContext, party: str, identity: Identity) -> sealing.SealedBlob:
    """Seal this party's noisy vector to the combiner.

    Args:
        noisy: int64 of shape (context.cells,): counts plus this party's noise share.
    """
    masked = masked_plaintexts(pack(noisy, context.layout), context, party, identity)
    return sealed(paillier.encrypt(context.public_key, masked), context, party, identity)


def masked_plaintexts(plaintexts: Sequence[int], context: RoundContext, party: str, identity: Identity) -> list[int]:
    """The packed plaintexts plus this party's zero-sum masks: residues modulo n."""
    modulus = context.plan.modulus
    keys = mask_keys(identity, party, context.plan, context.manifest)
    pads = masks.zero_sum_masks(keys, party, modulus, len(plaintexts), context.mask_nonce())
    return [(p + m) % modulus for p, m in zip(plaintexts, pads, strict=True)]


def sealed(ciphertexts: Sequence[int], context: RoundContext, party: str, identity: Identity) -> sealing.SealedBlob:
    """The ciphertexts, readable for the combiner only, signed by the party and bound to the attempt."""
    sealed_to = context.manifest.keys_of(context.combiner).sealing_key
    payload = paillier.ciphertexts_to_bytes(context.public_key, ciphertexts)
    return sealing.seal(payload, sealed_to, context.binding(party), identity.signing)


def combine(
    blobs: Sequence[tuple[str, sealing.SealedBlob]],
    context: RoundContext,
    identity: Identity,
    base: Sequence[int] = (),
) -> list[int]:
    """The combiner's part: exactly one valid blob from each member, or nothing at all.

    ``base`` is the running sum that the blobs change; a round by itself has none.
    """
    refuse = Catalogue.BLOB_REFUSED
    name = context.round.round
    if sorted(sender for sender, _ in blobs) != sorted(context.plan.spec.members):
        raise PrivityError(refuse, round=name, reason="not exactly one blob from each member of the run")
    public = context.public_key
    count = context.layout.plaintexts
    vectors = []
    replaces = context.round.replacement is not None and context.round.replacement.previous is not None
    if replaces or base:
        try:
            paillier.check_ciphertexts(public, list(base))
        except ValueError as error:
            raise PrivityError(refuse, round=name, reason=f"the running sum: {error}") from error
        if not replaces or len(base) != count:
            raise PrivityError(refuse, round=name, reason="the running sum does not fit the round")
        vectors.append(list(base))
    for sender, blob in blobs:
        try:
            payload = sealing.open_sealed(
                blob, identity.sealing, context.binding(sender), context.manifest.keys_of(sender).signing_key
            )
            ciphertexts = paillier.ciphertexts_from_bytes(public, payload)
            paillier.check_ciphertexts(public, ciphertexts)
            if len(ciphertexts) != count:
                raise ValueError("not the number of ciphertexts that the layout needs")
        except ValueError as error:
            raise PrivityError(refuse, round=name, reason=f"the blob of {sender}: {error}") from error
        vectors.append(ciphertexts)
    # Fresh randomness: the key holder recovers the randomness of what it decrypts, and could tell
    # the parties' ciphertexts apart in a bare product (privacy.md, section 3).
    return paillier.rerandomise(public, paillier.multiply(public, vectors))


def open_sum(product: Sequence[int], context: RoundContext, secret: paillier.SecretKey) -> np.ndarray:
    """Decrypt the product: int64 of shape (cells,), the sum of counts and one (shared) noise."""
    try:
        if len(product) != context.layout.plaintexts:
            raise ValueError("not the number of ciphertexts that the layout needs")
        paillier.check_ciphertexts(context.public_key, list(product))
        return unpack(paillier.decrypt(secret, list(product)), context.plan.modulus, context.layout)
    except ValueError as error:
        raise PrivityError(Catalogue.ROUND_REFUSED, round=context.round.round, reason=str(error)) from error


def noisy_tables(vector: np.ndarray, round_: Round, schema: Schema, parties: int, quota: int, rows: int) -> NoisyTables:
    """An opened vector as tables.

    Args:
        parties: how many shares are in the noise of a cell; quota: how many make one whole noise.
        rows: what the vector counts.
    """
    laws = {weight: round_.law(weight) for weight in set(round_.all_weights)}
    variances = {weight: parties * law.share_variance(quota) for weight, law in laws.items()}
    return NoisyTables(round_.tables, vector, schema.derived.domain, round_.all_weights, laws, variances, rows)
