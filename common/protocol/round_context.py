"""Everything public about a round that its members and the curator must agree on, and what blobs are bound to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from privity.common.consortium.manifest import Manifest
from privity.common.crypto import masks, paillier
from privity.common.crypto.identity import Identity
from privity.common.crypto.packing import Layout, slot_width
from privity.common.crypto.residues import Residues
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.block_sums import BlockSum, MaskedSum, PaillierSum
from privity.common.protocol.combiner_tree import CombinerTree
from privity.common.protocol.round import Replacement, Round
from privity.common.protocol.round_attempt import MOST_ATTEMPTS, Attempt
from privity.common.protocol.run_spec import RunPlan
from privity.common.storage.canonical_json import canonical_bytes


@dataclass(frozen=True)
class RoundContext:
    """A round within its run.

    Args:
        residues: the randomness of ciphertexts at this node; None makes it anew.
    """

    plan: RunPlan
    manifest: Manifest
    round: Round
    schema: Schema
    residues: Residues | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        most = max(enrolment.rows for enrolment in self.plan.enrolments)
        self.round.check(self.schema.derived, most, self.plan.noise_quota)
        if self.round.replacement is not None:
            self._check_replacement(self.round.replacement)

    def _check_replacement(self, r: Replacement) -> None:
        # Rows never leave the running sum: each time it is revealed, all that are in it must be charged.
        grows = 0 <= r.previous_coverage <= r.coverage <= self.plan.parties
        first = (r.previous is None) == (r.previous_coverage == 0)
        if not grows or not first or r.coverage < 1 or not self.round.fits_widest:
            raise self.refusal("its coverage or its layout does not fit a running sum")

    def refusal(self, reason: str) -> PrivityError:
        return PrivityError(Catalogue.ROUND_REFUSED, round=self.round.round, reason=reason)

    @cached_property
    def cells(self) -> int:
        """Of the round's vector."""
        return self.round.cells(self.schema.derived.domain)

    @cached_property
    def slot_bits(self) -> int:
        """Bits, sign included, that a cell of the revealed sum is proved to fit."""
        plan = self.plan
        return slot_width(plan.rows, self.round.reach, self.cells, plan.parties, plan.spec.tolerate)

    @cached_property
    def sum(self) -> BlockSum:
        """How the run's vectors are hidden, added and revealed."""
        if self.plan.modulus is None:
            return MaskedSum(self.cells, self.slot_bits)
        # How short a key may be is each party's policy, checked before the plan is kept.
        public = paillier.PublicKey(self.plan.modulus, allow_small=True)
        return PaillierSum(public, Layout.of(self.cells, self.slot_bits, public.bits), self.residues)

    def tree(self, attempt: Attempt) -> CombinerTree:
        """The attempt's tree.

        Raises:
            PrivityError: round-refused, for an attempt at another round, one too many, or combiners that may not be.
        """
        if (attempt.round, attempt.digest) != (self.round.round, self.round.digest):
            raise self.refusal("the attempt is at another round")
        if not 1 <= attempt.number <= MOST_ATTEMPTS:
            raise self.refusal(f"its attempts are 1 to {MOST_ATTEMPTS}, and this is {attempt.number}")
        if self.manifest.curator_member in attempt.combiners:
            raise self.refusal(f"{self.manifest.curator_member} operates the curator and may not be combiner")
        try:
            return CombinerTree(self.plan.spec.members, attempt.combiners)
        except ValueError as error:
            raise self.refusal(str(error)) from error

    def binding(self, attempt: Attempt, block: int, child: int) -> bytes:
        """Canonical bytes that bind a blob to run, round, attempt, block, sender, recipient, key and layout.

        Args:
            child: the leaf or node of the tree that sends it.
        """
        tree = self.tree(attempt)
        return canonical_bytes(
            {
                "protocol": "privity secure sum 3",
                "plan": self.plan.digest,
                "manifest": self.manifest.digest,
                "schema": self.manifest.schema_digest,
                "attempt": attempt.content(),
                "block": block,
                "child": child,
                "sender": tree.sender(child),
                "recipient": tree.recipient(child),
                "sum": self.sum.binding,
            }
        )

    def masks(self, attempt: Attempt, block: int, keys: Mapping[str, bytes], party: str) -> masks.PairwiseMasks:
        """The party's masks of one block of one attempt, from its keys with the other members."""
        names = {"plan": self.plan.digest, "round": self.round.digest, "attempt": attempt.number, "block": block}
        return masks.PairwiseMasks(keys, party, hashlib.sha256(canonical_bytes(names)).digest())


def mask_keys(identity: Identity, party: str, plan: RunPlan, manifest: Manifest) -> dict[str, bytes]:
    """The pairwise keys of ``party`` with every other member, agreed under the manifest, for this plan.

    Raises:
        PrivityError: identity-unknown, for a member with whom there can be none.
    """
    names = {"use": "privity zero-sum masks 2", "consortium": manifest.consortium, "run": plan.spec.run}
    context = canonical_bytes({**names, "plan": plan.digest})
    keys = {}
    for peer in plan.spec.members:
        if peer != party:
            try:
                keys[peer] = masks.agree(identity.agreement, manifest.keys_of(peer).agreement_key, party, peer, context)
            except ValueError as error:
                raise PrivityError(Catalogue.IDENTITY_UNKNOWN, identity=peer, reason=str(error)) from error
    return keys
