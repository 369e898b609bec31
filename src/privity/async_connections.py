"""The same consortium where calls are awaited: each is made in a thread, and the event loop goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from privity.connections import Consortium, Run
from privity.progress_and_plans import Progress

P = ParamSpec("P")
Found = TypeVar("Found")


def awaited(
    method: Callable[Concatenate[Any, P], Found],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, Found]]:
    """The same method, to be awaited. A cancelled call still runs to its end in its thread; its result is discarded."""

    @wraps(method)
    async def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> Found:
        return await asyncio.to_thread(method, self._same, *args, **kwargs)

    return call


class AsyncRun:
    """A run of the consortium, by its name; every call is awaited.

    Attributes:
        name: as in commands.
    """

    def __init__(self, run: Run) -> None:
        self._same, self.name = run, run.name

    def __repr__(self) -> str:
        return f"Async{self._same!r}"

    status = awaited(Run.status)
    why = awaited(Run.why)
    wait = awaited(Run.wait)
    fetch = awaited(Run.fetch)
    stop = awaited(Run.stop)
    resume = awaited(Run.resume)

    async def follow(self) -> AsyncIterator[Progress]:
        """Its progress from now on, until it has ended or was stopped. Whoever stops following has not stopped it.

        Raises:
            PrivityError: no connection, or what the curator refused.
        """
        loop = asyncio.get_running_loop()
        found: asyncio.Queue[Progress | Exception | None] = asyncio.Queue()
        left = threading.Event()

        def tell(what: Progress | Exception | None) -> None:
            # The loop may be closed by now: then nobody waits for it.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(found.put_nowait, what)

        def listen() -> None:
            try:
                for progress in self._same.follow():
                    tell(progress)
                    if left.is_set():
                        return
            except Exception as error:  # the one who follows raises it
                tell(error)
            else:
                tell(None)

        # A daemon: a loop that ends does not wait for the next event of a run that nobody follows any more.
        threading.Thread(target=listen, name=f"follow {self.name}", daemon=True).start()
        try:
            while (progress := await found.get()) is not None:
                if isinstance(progress, Exception):
                    raise progress
                yield progress
        finally:
            left.set()


def _awaited_run(submit: Callable[..., Run]) -> Callable[..., Coroutine[Any, Any, AsyncRun]]:
    """The same method, to be awaited, whose run is awaited too."""

    @wraps(submit)
    async def call(self: Any, **asked: Any) -> AsyncRun:
        return AsyncRun(await asyncio.to_thread(submit, self._same, **asked))

    return call


class AsyncConsortium:
    """The runs of a consortium, for its operator; every call is awaited. ``async with connect(...)`` gives it."""

    def __init__(self, consortium: Consortium) -> None:
        self._same = consortium

    def __repr__(self) -> str:
        return f"Async{self._same!r}"

    plan = awaited(Consortium.plan)
    submit = _awaited_run(Consortium.submit)
    runs = awaited(Consortium.runs)
    parties = awaited(Consortium.parties)
    schema = awaited(Consortium.schema)

    def run(self, name: str) -> AsyncRun:
        """The run of this name; whether there is one, its first call says."""
        return AsyncRun(self._same.run(name))
