"""Calls that are awaited: each is made in a thread, and the event loop goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
Found = TypeVar("Found")


def awaited(
    method: Callable[Concatenate[Any, P], Found],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, Found]]:
    """The method of the object's ``_same``, to be awaited.

    A cancelled call still runs to its end in its thread; its result is discarded.
    """

    @wraps(method)
    async def call(self: Any, *args: P.args, **kwargs: P.kwargs) -> Found:
        return await asyncio.to_thread(method, self._same, *args, **kwargs)

    return call


async def followed(items: Iterator[Found], name: str) -> AsyncIterator[Found]:
    """What a thread reads, item by item. Whoever stops following leaves the thread to end at its next item.

    Args:
        name: of the thread.

    Raises:
        Exception: what the thread met.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Queue[tuple[Found] | Exception | None] = asyncio.Queue()
    left = threading.Event()

    def tell(what: tuple[Found] | Exception | None) -> None:
        # The loop may be closed by now: then nobody waits for it.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(found.put_nowait, what)

    def listen() -> None:
        try:
            for item in items:
                tell((item,))
                if left.is_set():
                    return
        except Exception as error:  # the one who follows raises it
            tell(error)
        else:
            tell(None)

    # A daemon: a loop that ends does not wait for the next event of a run that nobody follows any more.
    threading.Thread(target=listen, name=name, daemon=True).start()
    try:
        while (what := await found.get()) is not None:
            if isinstance(what, Exception):
                raise what
            yield what[0]
    finally:
        left.set()
