"""A release is written in a thread beside the event loop, and whoever cancels it is answered when it is whole."""

import asyncio
import threading

import pytest

from privity.curator.run_driver import _to_its_end


def test_who_cancels_waits_until_the_release_is_written():
    began, may_end, written = threading.Event(), threading.Event(), []

    def write() -> None:
        began.set()
        may_end.wait(60)
        written.append("release")

    async def scenario() -> None:
        task = asyncio.create_task(_to_its_end(asyncio.to_thread(write)))
        await asyncio.to_thread(began.wait)
        task.cancel()
        # The loop goes on meanwhile, and the task is not over.
        for _ in range(5):
            await asyncio.sleep(0)
        assert not task.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert written == ["release"]

    asyncio.run(scenario())


def test_what_ends_the_writing_is_told():
    def write() -> None:
        raise OSError("no room")

    async def scenario() -> None:
        with pytest.raises(OSError, match="no room"):
            await _to_its_end(asyncio.to_thread(write))

    asyncio.run(scenario())
