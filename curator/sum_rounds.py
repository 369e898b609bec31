"""The curator's side of a secure sum.

It asks for contributions, relays blocks up the tree of combiners, and decrypts what arrives. A few blocks are under way
at a time, so that parties, combiners and curator work at once and memory stays that of a few blocks. Every summed block
is in the journal before it is revealed, and no other one of its place ever is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import numpy as np

from privity.common.crypto.paillier import SecretKey
from privity.common.crypto.sealing import SealedBlob
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.combiner_tree import CombinerTree, combiners_needed
from privity.common.protocol.round import Round
from privity.common.protocol.round_attempt import MOST_ATTEMPTS, Attempt
from privity.common.protocol.round_context import RoundContext
from privity.common.protocol.secure_sum import reveal_block
from privity.common.protocol.steps import CombineBlock, Contribute, Done, Reply, SealBlock, Sealed, Sum
from privity.common.storage.canonical_json import canonical_bytes, parse
from privity.curator.answer_store import Answers
from privity.curator.traffic_meter import Meter

BLOCKS_AT_ONCE = 4
"""Blocks under way at a time."""

GROUPS_AT_ONCE = 32
"""Groups of members whose blobs are held at a time, of all blocks together: 128 MiB under masks."""

Result = TypeVar("Result")
Kind = TypeVar("Kind", bound=Reply)


async def together(coroutines: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """All of them at once; the first that fails ends the others."""
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class CombinerFailedError(Exception):
    """A combiner brought nothing; the cause is what it said, or its silence."""

    def __init__(self, combiner: str, cause: PrivityError) -> None:
        super().__init__(combiner)
        self.combiner, self.cause = combiner, cause


class RoundAtWork:
    """One round until it is revealed.

    Args:
        number: of the round within its run: combiners take turns.
        previous: the round whose noise this round replaces, if it does.
        secret: reveals sums under Paillier; None if nobody holds a key.
    """

    def __init__(
        self,
        context: RoundContext,
        number: int,
        previous: Round | None,
        answers: Answers,
        secret: SecretKey | None,
        meter: Meter,
    ) -> None:
        self._context, self._number, self._previous = context, number, previous
        self._answers, self._secret, self._meter = answers, secret, meter
        self._journal = answers.journal
        self._members = context.plan.spec.members
        self._groups = asyncio.Semaphore(GROUPS_AT_ONCE)
        self._attempt = self._begun_attempt()

    async def reveal(self) -> np.ndarray:
        """The revealed vector, int64 of shape (cells,)."""
        round_, blocks = self._context.round, self._context.sum.blocks
        missing = [block for block in range(blocks) if self._summed(block) is None]
        self._meter.expect(len(self._members) + len(missing) * (len(self._members) + len(self._attempt.combiners)))
        if missing:
            contribute = Contribute(round_)
            await together(self._answers.ask(member, contribute, round_.phase, Done) for member in self._members)
        vector = np.empty(self._context.cells, dtype=np.int64)
        places = asyncio.Semaphore(BLOCKS_AT_ONCE)

        async def reveal_into(block: int) -> None:
            async with places:
                summed = self._summed(block) or await self._bring_together(block)
                values = await asyncio.to_thread(reveal_block, summed, self._context, block, self._secret)
                vector[self._context.sum.cells_of(block)] = values

        await together(reveal_into(block) for block in range(blocks))
        return vector

    def forget(self) -> None:
        """Erase what the round left in the journal, and what a running sum was before it: its vector is there.

        The blocks of a running sum stay for the round that follows.
        """
        round_ = self._context.round
        done = [self._previous] if self._previous is not None else []
        if round_.replacement is None or round_.replacement.last:
            done.append(round_)
        blocks = range(self._context.sum.blocks)
        keys = [self._key(one, block) for one in done for block in blocks]
        keys += [self._attempt_key(number) for number in range(2, MOST_ATTEMPTS + 1)]
        self._journal.wipe([*keys, *self._answers.of_blocks(round_)])

    def _key(self, round_: Round, block: int) -> str:
        return f"{round_.run}/sum/{round_.round}/{block}"

    def _summed(self, block: int) -> bytes | None:
        return self._journal.recall(self._key(self._context.round, block), self._context.round.digest)

    def _base(self, block: int) -> bytes:
        """The block of the running sum that the round changes; nothing for other rounds."""
        if self._previous is None:
            return b""
        stored = self._journal.recall(self._key(self._previous, block), self._previous.digest)
        assert stored is not None
        return stored

    def _begun_attempt(self) -> Attempt:
        """The last attempt that was begun, or the first: members have answered to its combiners."""
        for number in range(MOST_ATTEMPTS, 1, -1):
            stored = self._journal.recall(self._attempt_key(number), self._context.round.digest)
            if stored is not None:
                return self._with(number, tuple(parse(stored)))
        return self._new_attempt(1, ())

    def _attempt_key(self, number: int) -> str:
        round_ = self._context.round
        return f"{round_.run}/attempt/{round_.round}/{number}"

    def _new_attempt(self, number: int, failed: tuple[str, ...]) -> Attempt:
        """The attempt with this number: members take turns as combiners, but for the curator's own and the failed."""
        never = {self._context.manifest.curator_member, *failed}
        start = (self._number + number) % len(self._members)
        turns = self._members[start:] + self._members[:start]
        able = [member for member in turns if member not in never]
        return self._with(number, tuple(able[: combiners_needed(len(self._members))]))

    def _with(self, number: int, combiners: tuple[str, ...]) -> Attempt:
        return Attempt(self._context.round.round, self._context.round.digest, number, combiners)

    async def _bring_together(self, block: int) -> bytes:
        """The block's sum, the only one that the journal takes; other combiners are tried if one fails."""
        while True:
            attempt = self._attempt
            try:
                summed = await self._combined(attempt, block)
            except CombinerFailedError as failure:
                self._give_up(attempt, failure)
                continue
            stored = self._journal.record(self._key(self._context.round, block), attempt.digest, summed)
            self._answers.drop_block(self._context.round.run, attempt, block)
            return stored

    def _give_up(self, attempt: Attempt, failure: CombinerFailedError) -> None:
        """Go on with the next attempt, or raise the failure if there is none."""
        if attempt is not self._attempt:
            return  # another block has given it up already
        following = self._new_attempt(attempt.number + 1, (failure.combiner,))
        if following.number > MOST_ATTEMPTS or len(following.combiners) < len(attempt.combiners):
            raise failure.cause
        # On disk before anybody answers to it: a curator that starts again must name the same combiners.
        content = canonical_bytes(list(following.combiners))
        self._journal.record(self._attempt_key(following.number), following.digest, content)
        self._meter.troubled(f"{failure.combiner} failed as combiner: {failure.cause.message}")
        self._attempt = following

    async def _combined(self, attempt: Attempt, block: int) -> bytes:
        """One block from all members up to the root."""
        tree = self._context.tree(attempt)
        summed = await self._of_node(tree, tree.root, attempt, block, Sum)
        self._check(summed.payload, block, tree.combiners[tree.root])
        return summed.payload

    async def _of_node(self, tree: CombinerTree, node: int, attempt: Attempt, block: int, kind: type[Kind]) -> Kind:
        """What the node's combiner makes of its children's blobs, which are dropped then."""
        children = tree.children(node)
        async with AsyncExitStack() as stack:
            if tree.is_leaf(children[0]):
                await stack.enter_async_context(self._groups)
            blobs = await together(self._blob(tree, child, attempt, block) for child in children)
            sent = tuple(zip(tree.senders(node), blobs, strict=True))
            base = self._base(block) if node == tree.root else b""
            step = CombineBlock(self._context.plan.spec.run, attempt, block, node, sent, base)
            try:
                reply = await self._answers.ask(tree.combiners[node], step, self._context.round.phase, kind)
            except PrivityError as error:
                raise CombinerFailedError(tree.combiners[node], error) from error
        self._meter.sent(self._context.sum.ciphertexts(block))
        return reply

    async def _blob(self, tree: CombinerTree, child: int, attempt: Attempt, block: int) -> SealedBlob:
        """The blob of a member or of a node below."""
        if not tree.is_leaf(child):
            return (await self._of_node(tree, child - len(self._members), attempt, block, Sealed)).blob
        member, step = self._members[child], SealBlock(self._context.plan.spec.run, attempt, block)
        try:
            reply = await self._answers.ask(member, step, self._context.round.phase, Sealed)
        except PrivityError as error:
            if error.kind is Catalogue.NO_PROGRESS and member in attempt.combiners:
                # Its silence as a combiner may show here first.
                raise CombinerFailedError(member, error) from error
            raise
        self._meter.sent(self._context.sum.ciphertexts(block))
        return reply.blob

    def _check(self, summed: bytes, block: int, combiner: str) -> None:
        """Refuse what cannot be a sum before it takes the place of one in the journal."""
        try:
            self._context.sum.check(summed, block)
        except ValueError as error:
            raise CombinerFailedError(combiner, self._context.refusal(str(error))) from error
