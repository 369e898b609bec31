"""The multi-party Laplace mechanism: one noisy sum of integer vectors, revealed block by block.

Party k hides each block of ``v_k + share_k`` (`block_sums`), signs it, and seals it to its combiner. A combiner takes
exactly one valid blob from each of its children in the tree (`combiner_tree`), adds them up and sends the sum on, the
root's combiner to the curator, which decrypts it.

Deviation from Su, Tang, Cheng, Chen, Wu (ICDE 2016, section III, multi-party Laplace mechanism): the
noise is shared among all parties instead of one party's being chosen by a hidden one-hot vector, which
would hand each party the exact answer with probability 1/K.

These functions are pure: randomness aside, their outputs follow from their arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from privity.common.crypto import paillier, sealing
from privity.common.crypto.identity import Identity
from privity.common.data.noisy_tables import NoisyTables
from privity.common.data.schema import Schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.round import Round, Tables
from privity.common.protocol.round_attempt import Attempt
from privity.common.protocol.round_context import RoundContext

Blobs = Sequence[tuple[str, sealing.SealedBlob]]
"""What a combiner is given: (sender, blob)."""


def seal_block(
    noisy: np.ndarray,
    context: RoundContext,
    attempt: Attempt,
    block: int,
    party: str,
    identity: Identity,
    keys: Mapping[str, bytes],
) -> sealing.SealedBlob:
    """One block of this party's noisy vector, hidden and sealed to its combiner.

    Args:
        noisy: int64, the block's cells: counts plus this party's noise share.
        keys: this party's pairwise keys, see `round_context.mask_keys`.
    """
    masks = context.masks(attempt, block, keys, party)
    payload = context.sum.conceal(noisy, block, masks)
    return sealed(payload, context, attempt, block, context.plan.spec.members.index(party), identity)


def sealed(
    payload: bytes, context: RoundContext, attempt: Attempt, block: int, child: int, identity: Identity
) -> sealing.SealedBlob:
    """A payload from a leaf or node of the tree, readable for the combiner above only, signed and bound."""
    recipient = context.manifest.keys_of(context.tree(attempt).recipient(child)).sealing_key
    return sealing.seal(payload, recipient, context.binding(attempt, block, child), identity.signing)


def combine_block(
    blobs: Blobs,
    context: RoundContext,
    attempt: Attempt,
    block: int,
    node: int,
    identity: Identity,
    base: bytes = b"",
) -> bytes:
    """The part of a node's combiner: the sum of exactly one valid blob from each of its children, or nothing at all.

    ``base`` is the block of the running sum that the blobs change; only the root of a round that has one gets it.
    """
    refuse, name = Catalogue.BLOB_REFUSED, context.round.round
    tree = context.tree(attempt)
    children = tree.children(node)
    if tuple(sender for sender, _ in blobs) != tree.senders(node):
        raise PrivityError(refuse, round=name, reason="not exactly one blob from each child of the tree, in its order")
    payloads = []
    replacement = context.round.replacement
    replaces = replacement is not None and replacement.previous is not None and node == tree.root
    if replaces or base:
        try:
            context.sum.check(base, block)
        except ValueError as error:
            raise PrivityError(refuse, round=name, reason=f"the running sum: {error}") from error
        if not replaces:
            raise PrivityError(refuse, round=name, reason="the running sum does not fit the round")
        payloads.append(base)
    for child, (sender, blob) in zip(children, blobs, strict=True):
        try:
            signing_key = context.manifest.keys_of(sender).signing_key
            payload = sealing.open_sealed(blob, identity.sealing, context.binding(attempt, block, child), signing_key)
            context.sum.check(payload, block)
        except ValueError as error:
            raise PrivityError(refuse, round=name, reason=f"the blob of {sender}: {error}") from error
        payloads.append(payload)
    return context.sum.add(payloads, block)


def reveal_block(product: bytes, context: RoundContext, block: int, secret: paillier.SecretKey | None) -> np.ndarray:
    """The block's cells, int64: the sum of counts and one (shared) noise."""
    try:
        return context.sum.reveal(product, block, secret)
    except ValueError as error:
        raise context.refusal(str(error)) from error


def noisy_tables(vector: np.ndarray, round_: Round, schema: Schema, parties: int, quota: int, rows: int) -> NoisyTables:
    """A revealed vector as tables.

    Args:
        parties: how many shares are in the noise of a cell; quota: how many make one whole noise.
        rows: what the vector counts.
    """
    query = round_.query
    assert isinstance(query, Tables)
    laws = {weight: round_.noise.law(weight) for weight in set(query.weights)}
    variances = {weight: parties * law.share_variance(quota) for weight, law in laws.items()}
    return NoisyTables(query.marginals, vector, schema.derived.domain, query.weights, laws, variances, rows)
