"""Ctrl-C: once stops cleanly, twice at once; nodes as processes, as docs/walkthrough.md founds them."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from privity.common.exit_codes import Exit
from tests.harness.command import ROOT

pytestmark = pytest.mark.process

BUSY = """
import asyncio, signal, sys, time
from privity.common.node.process import at_interrupt

async def main():
    stopped = asyncio.Event()
    at_interrupt(stopped.set)
    print("ready", flush=True)
    if sys.argv[1] == "waits":
        await stopped.wait()
    elif sys.argv[1] == "computes":
        while True:
            time.sleep(0.01)  # the event loop gets no turn
    else:
        await asyncio.to_thread(time.sleep, 600)

asyncio.run(main())
print("stopped in order", flush=True)
"""


def node(kind: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY, kind], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_stops_in_order(number: signal.Signals) -> None:
    process = node("waits")
    process.send_signal(number)
    out, told = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "stopped in order\n")
    assert "at once on a second signal" in told


@pytest.mark.parametrize("kind", ["computes", "works in a thread"])
def test_the_second_stops_at_once_whatever_is_at_work(kind: str) -> None:
    process = node(kind)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert "at once on a second signal" in process.stderr.readline()
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (Exit.INTERRUPTED, "")
