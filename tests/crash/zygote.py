"""A process that has imported everything and forks a node on command: a start costs milliseconds, not seconds.

It never opens a channel or a server, because gRPC's threads do not outlive a fork; so the tests' own process cannot do
this. Commands and reports are JSON lines on its standard input and output.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import select
import signal
import subprocess
import sys
import traceback
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

from tests.harness.command import ROOT

PR_SET_PDEATHSIG = 1


class Zygote:
    """The tests' end of it. Leaving the context kills every node that is left."""

    def __enter__(self) -> Self:
        # One thread: what a fork copies has no others.
        alone = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.zygote"],
            cwd=ROOT,
            env={**os.environ, **alone},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._buffer = b""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def start(self, life: Any) -> None:
        """Fork a node; its end will be reported under its name and number."""
        self._say({"start": asdict(life)})

    def kill(self, who: str) -> None:
        """SIGKILL the node of this name, if there is one."""
        self._say({"kill": who})

    def _say(self, command: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        self._process.stdin.flush()

    def ended(self, seconds: float) -> list[tuple[str, int, int]]:
        """(who, number, signal or minus the exit code) of nodes that ended, waiting so long for the first."""
        out = self._process.stdout
        assert out is not None
        if not select.select([out], [], [], seconds)[0]:
            return []
        data = os.read(out.fileno(), 1 << 16)
        if not data:
            raise RuntimeError("the zygote ended")
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return [tuple(json.loads(line)) for line in lines]


def main() -> None:
    """Fork nodes until standard input closes."""
    from privity.common import pages
    from privity.common.release.report import TEMPLATES
    from tests.crash.node import Life, live  # slow, and not needed at the tests' end

    pages.read_all(TEMPLATES)

    gc.freeze()
    reports, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    children: dict[int, tuple[str, int]] = {}
    buffer = b""
    try:
        while True:
            ready, _, _ = select.select([0, reports], [], [])
            if reports in ready:
                os.read(reports, 4096)
                _report(children)
            if 0 in ready:
                data = os.read(0, 1 << 16)
                if not data:
                    return
                *lines, buffer = (buffer + data).split(b"\n")
                for command in map(json.loads, lines):
                    if "kill" in command:
                        for pid, (who, _) in children.items():
                            if who == command["kill"]:
                                os.kill(pid, signal.SIGKILL)
                        continue
                    life = Life.read(command["start"])
                    pid = os.fork()
                    if pid == 0:
                        os.close(reports)
                        os.close(wake)
                        _become(life, live)
                    children[pid] = (life.who, life.number)
    finally:
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _report(children: dict[int, tuple[str, int]]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        end = os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status)
        os.write(1, json.dumps([*children.pop(pid), end]).encode() + b"\n")


def _become(life: Any, live: Any) -> None:
    """The forked process: its end is never the zygote's."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        log = os.open(life.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        live(life)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    os._exit(1)


if __name__ == "__main__":
    main()
