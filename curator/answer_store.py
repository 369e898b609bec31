"""Every answer of a party, in the journal before anything is made of it: a curator that starts again asks nobody twice.

Blobs of a block lie here, sealed, until the block's sum is in the journal; the other answers until the run has ended.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.round import Round
from privity.common.protocol.round_attempt import Attempt
from privity.common.protocol.steps import Reply, Step, step_digest
from privity.common.storage.journal import Journal
from privity.common.wire.codec import decode_reply, encode_reply
from privity.curator.pending_steps import LastReply
from privity.curator.run_progress_marks import last_reply_entry
from privity.curator.traffic_meter import Meter

Ask = Callable[[str, Step, str], Awaitable[Reply]]
Place = Callable[[], Awaitable[None]]
Kind = TypeVar("Kind", bound=Reply)

COMBINED = ("seal", "combine")
"""Steps that are about a block of a round."""


async def no_wait() -> None:
    """The run has a place whenever it wants one."""


class Answers:
    """What parties said in a run.

    Args:
        ask: sends a step to a party and waits for the reply: (party, step, phase).
        place: awaited before anything is made of an answer.
        last: what the desk took from a party last, which is put on disk together with its answer.
    """

    def __init__(
        self,
        journal: Journal,
        ask: Ask,
        meter: Meter,
        place: Place = no_wait,
        last: Callable[[str], LastReply] = lambda _party: LastReply(),
    ) -> None:
        self.journal = journal
        self._place = place
        self._ask = ask
        self._meter = meter
        self._last = last

    async def ask(self, party: str, step: Step, phase: str, kind: type[Kind]) -> Kind:
        """The party's answer to the step, of this kind: the one in the journal, or the one that it gives now.

        Raises:
            PrivityError: what the party refused with, or it answered with another kind.
        """
        key, content = f"{step.run}/answer/{step.key}/{party}", step_digest(step)
        stored = self.journal.recall(key, content)
        if stored is None:
            reply = await self._ask(party, step, phase)
            if not isinstance(reply, kind):
                raise PrivityError(
                    Catalogue.STEP_REFUSED, step=step.key, reason=f"{party} answered with another kind of reply"
                )
            # Not in a thread: whoever is cancelled in between would have heard an answer and not kept it.
            mark = last_reply_entry(party, self._last(party))
            answer = key, content, encode_reply(step.run, step.key, reply)
            self.journal.record_together([answer, mark], instead_of=[mark[0]])
            stored = self.journal.recall(key, content)
            assert stored is not None
        self._meter.answered()
        await self._place()
        _, _, found = decode_reply(stored)
        assert isinstance(found, kind)
        return found

    def drop_block(self, run: str, attempt: Attempt, block: int) -> None:
        """Forget what an attempt brought for a block: its sum is in the journal."""
        self.journal.drop(self._of_blocks(run, f"{attempt.round}/{attempt.number}/{block}"))

    def of_blocks(self, round_: Round) -> list[str]:
        """Keys of what was brought for the blocks of a round, by attempts that failed too."""
        return self._of_blocks(round_.run, round_.round)

    def _of_blocks(self, run: str, place: str) -> list[str]:
        return [key for step in COMBINED for key in self.journal.keys(f"{run}/answer/{step}/{place}/")]
