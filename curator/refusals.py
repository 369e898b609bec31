"""What several parties refuse a run for: each of them is heard before it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from privity.common.errors import Catalogue, PrivityError
from privity.curator.pending_steps import PartyRefusedError

HEARD_SECONDS = 10.0
"""How long the others are heard once one has refused."""
LOOK_SECONDS = 0.2

Result = TypeVar("Result")


@dataclass(frozen=True)
class Refused:
    """What one party refuses a run with; message and remedy are its own."""

    party: str
    code: str
    message: str
    remedy: str


class RefusedByPartiesError(PrivityError):
    """Parties refuse a run."""

    def __init__(self, refused: Sequence[PartyRefusedError]) -> None:
        super().__init__(Catalogue.STEP_REFUSED, step="enrol", reason="")
        self.refusals = tuple(Refused(error.party, error.code, error.message, error.remedy) for error in refused)
        self.code = refused[0].code
        self.message = ". ".join(error.message for error in refused)
        self.remedy = " ".join(error.remedy for error in refused)
        self.args = (f"{self.message}\n{self.remedy}",)


async def all_heard(
    asked: Mapping[str, Coroutine[Any, Any, Result]], waiting: Callable[[], Collection[str]]
) -> list[Result]:
    """What parties answer, all of them at once, in their order.

    Once one has refused, the others are heard for a while, but not those that wait for a person.

    Args:
        asked: each party's answer.
        waiting: names of parties that wait for a person now.

    Raises:
        RefusedByPartiesError: what all that were heard refuse with.
        PrivityError: what else went wrong first.
    """
    tasks = {party: asyncio.create_task(coroutine) for party, coroutine in asked.items()}
    loop = asyncio.get_running_loop()
    try:
        await asyncio.wait(tasks.values(), return_when=asyncio.FIRST_EXCEPTION)
        deadline = loop.time() + HEARD_SECONDS
        while _refused(tasks.values()) and loop.time() < deadline:
            others = [task for party, task in tasks.items() if not task.done() and party not in waiting()]
            if not others:
                break
            await asyncio.wait(others, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if refused := _refused(tasks.values()):
            raise RefusedByPartiesError(refused)
        return await asyncio.gather(*tasks.values())
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)


def _refused(tasks: Collection[asyncio.Task[Any]]) -> list[PartyRefusedError]:
    ended = [task.exception() for task in tasks if task.done() and not task.cancelled()]
    return [error for error in ended if isinstance(error, PartyRefusedError)]
