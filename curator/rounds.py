"""The curator's side of a secure sum: ask for contributions, relay blocks up the tree of combiners, open what arrives.

A few blocks are under way at a time, so that parties, combiners and curator work at once and memory stays that of a
few blocks. Every summed block is in the journal before it is opened, and no other one of its place ever is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, Protocol, TypeVar

import numpy as np

from common.crypto.paillier import SecretKey
from common.crypto.sealing import SealedBlob
from common.errors import Catalogue, PrivityError
from common.journal import Journal
from common.protocol.attempt import Attempt
from common.protocol.combiner_tree import combiners_needed
from common.protocol.round import Round
from common.protocol.round_context import RoundContext
from common.protocol.secure_sum import open_block
from common.protocol.steps import CombineBlock, Contribute, Done, Reply, SealBlock, Sealed, Step, Sum
from curator.meter import Meter

BLOCKS_AT_ONCE = 4
ATTEMPTS = 2
AFRESH = (Catalogue.NO_PROGRESS.value.code, Catalogue.BLOB_REFUSED.value.code, Catalogue.ROUND_REFUSED.value.code)
"""Failures of a combiner after which others may combine, from blocks sealed anew."""

Result = TypeVar("Result")
Kind = TypeVar("Kind", bound=Reply)


class Asks(Protocol):
    """Sends a step to a party and waits for the reply, which must be of the kind."""

    async def __call__(self, party: str, step: Step, phase: str, kind: type[Kind]) -> Kind: ...


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
    """A node of the tree brought nothing; the cause is what its combiner said, or its silence."""

    def __init__(self, combiner: str, cause: PrivityError) -> None:
        super().__init__(combiner)
        self.combiner, self.cause = combiner, cause


class RoundAtWork:
    """One round until it is open.

    Args:
        number: of the round within its run: combiners take turns.
        previous: the opening whose noise this round replaces, if it does.
        secret: opens sums under Paillier; None if nobody holds a key.
    """

    def __init__(
        self,
        context: RoundContext,
        number: int,
        previous: Round | None,
        ask: Asks,
        secret: SecretKey | None,
        journal: Journal,
        meter: Meter,
    ) -> None:
        self._context, self._number, self._previous = context, number, previous
        self._ask, self._secret, self._journal, self._meter = ask, secret, journal, meter
        self._members = context.plan.spec.members
        self._failed: set[str] = set()
        self._attempt = self._next_attempt(1)

    async def open(self) -> np.ndarray:
        """The opened vector, int64 of shape (cells,)."""
        round_, blocks = self._context.round, self._context.sum.blocks
        missing = [block for block in range(blocks) if self._summed(block) is None]
        self._meter.expect(len(self._members) + len(missing) * (len(self._members) + len(self._attempt.combiners)))
        if missing:
            contribute = Contribute(round_)
            await together(self._ask(member, contribute, round_.phase, Done) for member in self._members)
        vector = np.empty(self._context.cells, dtype=np.int64)
        places = asyncio.Semaphore(BLOCKS_AT_ONCE)

        async def open_into(block: int) -> None:
            async with places:
                summed = self._summed(block) or await self._bring_together(block)
                values = await asyncio.to_thread(open_block, summed, self._context, block, self._secret)
                vector[self._context.sum.cells_of(block)] = values

        await together(open_into(block) for block in range(blocks))
        return vector

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

    def _next_attempt(self, number: int) -> Attempt:
        """The attempt with this number: members take turns as combiners, but for the curator's own and those that
        failed."""
        round_, needed = self._context.round, combiners_needed(len(self._members))
        never = {self._context.manifest.curator_member, *self._failed}
        start = (self._number + number) % len(self._members)
        turns = self._members[start:] + self._members[:start]
        able = [member for member in turns if member not in never]
        return Attempt(round_.round, round_.digest, number, tuple(able[:needed]))

    async def _bring_together(self, block: int) -> bytes:
        """The block's sum, from the journal's point of view the only one; other combiners are tried if one fails."""
        while True:
            attempt = self._attempt
            try:
                summed = await self._combined(attempt, block)
            except CombinerFailedError as failure:
                self._give_up(attempt, failure)
                continue
            return self._journal.record(self._key(self._context.round, block), attempt.digest, summed)

    def _give_up(self, attempt: Attempt, failure: CombinerFailedError) -> None:
        """Go on with the next attempt, or raise the failure if there is none."""
        if attempt is not self._attempt:
            return  # another block has given it up already
        self._failed.add(failure.combiner)
        following = self._next_attempt(attempt.number + 1)
        if attempt.number == ATTEMPTS or len(following.combiners) < len(attempt.combiners):
            raise failure.cause
        self._attempt = following

    async def _combined(self, attempt: Attempt, block: int) -> bytes:
        """One block from all members up to the root."""
        context, phase = self._context, self._context.round.phase
        tree = context.tree(attempt)

        async def seal(member: str) -> SealedBlob:
            step = SealBlock(context.plan.spec.run, attempt, block)
            return (await self._ask(member, step, phase, Sealed)).blob

        blobs = dict(enumerate(await together(seal(member) for member in self._members)))
        self._meter.sent(context.sum.ciphertexts(block) * len(self._members))
        for node, combiner in enumerate(tree.combiners):
            sent = tuple((tree.sender(child), blobs.pop(child)) for child in tree.children(node))
            base = self._base(block) if node == tree.root else b""
            step = CombineBlock(context.plan.spec.run, attempt, block, node, sent, base)
            try:
                if node == tree.root:
                    summed = (await self._ask(combiner, step, phase, Sum)).payload
                    self._check(summed, block)
                    self._meter.sent(context.sum.ciphertexts(block))
                    return summed
                blobs[len(self._members) + node] = (await self._ask(combiner, step, phase, Sealed)).blob
                self._meter.sent(context.sum.ciphertexts(block))
            except PrivityError as error:
                if error.code in AFRESH:
                    raise CombinerFailedError(combiner, error) from error
                raise
        raise AssertionError("the root is the last node")

    def _check(self, summed: bytes, block: int) -> None:
        """Refuse what cannot be a sum before it takes the place of one in the journal."""
        try:
            self._context.sum.check(summed, block)
        except ValueError as error:
            raise self._context.refusal(str(error)) from error
