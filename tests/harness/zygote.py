"""A process that has imported Privity and forks itself on command: a start costs milliseconds, not seconds.

It never opens a channel or a server, because gRPC's threads do not outlive a fork; so the tests' own process cannot do
this. A command is a JSON object on a socket, with the files that become standard input, output and error, and the end
of a pipe on which the new process's number and the end of it are told.

What it forks orders sets in one and the same way: a test that two processes write the same takes another one for the
second (``command.here``).
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import gc
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

from tests.harness.places import ROOT

PR_SET_PDEATHSIG = 1
LIBRARIES = (
    "duckdb", "networkx", "pandas", "pyarrow.dataset", "pyarrow.parquet", "scipy.fft", "scipy.linalg",
    "scipy.sparse.csgraph", "scipy.special",
)  # fmt: skip
"""Of most nodes and commands, which load them when they first use them."""

LOADED_WHEN_USED = ("sklearn.ensemble", "sklearn.linear_model", "sklearn.metrics", "scipy.optimize", "psycopg")
LOADED_BY_FEW = ("ibis_store", "spark_store", "merging_by_cccp")
LONGEST_COMMAND = 1 << 16


Stream = TypeVar("Stream", bound="HasFileno")


class HasFileno(Protocol):
    def fileno(self) -> int: ...


def readable(streams: Iterable[Stream], timeout: float | None) -> list[Stream]:
    """Those that can be read, or have ended, waiting so many seconds for the first; unlike select, of any number."""
    by_handle = {stream.fileno(): stream for stream in streams}
    poll = select.poll()
    for handle in by_handle:
        poll.register(handle, select.POLLIN)
    return [by_handle[handle] for handle, _ in poll.poll(None if timeout is None else timeout * 1000)]


class Forked:
    """A process that the zygote forked, to be used as a ``subprocess.Popen`` is whose output is text.

    Attributes:
        args: what it was asked to do.
        pid: its number.
        returncode: None while it runs; below zero the signal that ended it.
        stdout, stderr: what it wrote, to be read while it runs, where a pipe was asked for.
    """

    def __init__(self, args: Sequence[str], report: int, stdout: IO[str] | None, stderr: IO[str] | None) -> None:
        self.args, self.stdout, self.stderr = args, stdout, stderr
        self.returncode: int | None = None
        self._report = report
        weakref.finalize(self, os.close, report)
        self.pid = self._told()

    def fileno(self) -> int:
        """Readable once the process has ended: for ``select``."""
        return self._report

    def _told(self) -> int:
        digits = b""
        while not digits.endswith(b"\n"):
            byte = os.read(self._report, 1)
            if not byte:
                raise RuntimeError("the zygote ended")
            digits += byte
        return int(digits)

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not readable([self], timeout):
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = self._told()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it writes until its end, which is waited for: output and errors."""
        deadline = None if timeout is None else time.monotonic() + timeout
        texts: dict[IO[str], list[bytes]] = {stream: [] for stream in (self.stdout, self.stderr) if stream}
        unread = list(texts)
        while unread:
            left = None if deadline is None else max(deadline - time.monotonic(), 0)
            ready = readable(unread, left)
            if not ready:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            for stream in ready:
                data = os.read(stream.fileno(), 1 << 16)
                texts[stream].append(data)
                if not data:
                    unread.remove(stream)
        out, err = (b"".join(texts[s]).decode() if s else "" for s in (self.stdout, self.stderr))
        for stream in texts:
            stream.close()
        self.wait(None if deadline is None else max(deadline - time.monotonic(), 0))
        return out, err

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Zygote:
    """The tests' end of it. Closing it kills every process that is left.

    Args:
        loads: a module that it loads before it forks; all of Privity if left out. The less it has loaded, the less a
            fork copies.
    """

    def __init__(self, loads: str = "") -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # One thread: what a fork copies has no others.
        alone = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"from tests.harness import zygote; zygote.serve({theirs.fileno()}, {loads!r})"],
                cwd=ROOT,
                env={**os.environ, **alone},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def close(self) -> None:
        self._control.close()
        self._process.wait()

    def start(
        self,
        function: str,
        arguments: Sequence[Any] = (),
        *,
        argv: Sequence[str] = ("privity",),
        cwd: Path = ROOT,
        env: Mapping[str, str] | None = None,
        output: IO[Any] | None = None,
    ) -> Forked:
        """Fork a process that calls ``module:function`` with arguments that JSON can hold.

        Args:
            function: what it calls, with what ``sys.argv`` is then; what it returns is ignored.
            cwd, env: as of ``subprocess.Popen``.
            output: a file for all that it writes; None for two pipes.
        """
        report, told = os.pipe()
        with contextlib.ExitStack() as theirs:
            theirs.callback(os.close, told)
            nothing = theirs.enter_context(open(os.devnull))
            ours: list[IO[str] | None] = [None, None]
            files = [nothing.fileno()]
            for place in range(2):
                if output is not None:
                    files.append(output.fileno())
                    continue
                end, other = os.pipe()
                theirs.callback(os.close, other)
                ours[place] = os.fdopen(end)
                files.append(other)
            umask = os.umask(0)
            os.umask(umask)
            command = {
                "function": function,
                "arguments": arguments,
                "argv": list(argv),
                "cwd": str(cwd),
                "env": dict(os.environ if env is None else env),
                "umask": umask,
            }
            socket.send_fds(self._control, [json.dumps(command).encode()], [*files, told])
        return Forked(argv, report, *ours)


@functools.cache
def zygote(loads: str = "") -> Zygote:
    """The one of this process, started when it is first needed; it ends with this process."""
    return Zygote(loads)


def serve(control: int, loads: str) -> None:
    """Fork processes until the other end of the socket closes."""
    _load(loads)
    gc.collect()
    gc.freeze()
    if become := _fork_on_command(socket.socket(fileno=control)):
        become()
    os._exit(0)


def _load(module: str) -> None:
    import privity
    from privity.common import formats, pages
    from privity.common.release.report import TEMPLATES

    pages.read_all(TEMPLATES)
    for file in Path(formats.__path__[0]).glob("*.schema.json"):
        formats.check({}, file.name.removesuffix(".schema.json"), "")  # a format is compiled when it is first used
    import_module("cryptography.hazmat.backends.openssl")
    everything = (found.name for found in pkgutil.walk_packages(privity.__path__, "privity."))
    for name in [*LIBRARIES, *([module] if module else [*everything, *LOADED_WHEN_USED])]:
        if not name.endswith(LOADED_BY_FEW):
            import_module(name)


def _fork_on_command(control: socket.socket) -> Callable[[], None] | None:
    """What a forked process is to do, in that process; None in the zygote itself, at its end."""
    alive: dict[int, tuple[int, int]] = {}
    me = os.getpid()
    try:
        while True:
            ready = select.select([control, *alive], [], [])[0]
            for ended in set(ready) & alive.keys():
                pid, report = alive.pop(ended)
                _tell(report, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                os.close(report)
                os.close(ended)
            if control not in ready:
                continue
            data, files, _, _ = socket.recv_fds(control, LONGEST_COMMAND, 4)
            if not data:
                return None
            *streams, report = files
            pid = os.fork()
            if pid == 0:
                control.close()
                for other in (report, *alive, *(report for _, report in alive.values())):
                    os.close(other)
                return functools.partial(_become, json.loads(data), streams)
            for stream in streams:
                os.close(stream)
            alive[os.pidfd_open(pid)] = pid, report
            _tell(report, pid)
    finally:
        if os.getpid() == me:
            for pid, _ in alive.values():
                os.kill(pid, signal.SIGKILL)


def _tell(report: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # nobody wants to know
        os.write(report, f"{number}\n".encode())


def _become(command: dict[str, Any], streams: Sequence[int]) -> None:
    """The forked process, up to its end: as if it had been started in the ordinary way."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for target, stream in enumerate(streams):
        os.dup2(stream, target)
        os.close(stream)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    os.umask(command["umask"])
    os.chdir(command["cwd"])
    os.environ.clear()
    os.environ.update(command["env"])
    tempfile.tempdir = None
    sys.argv = command["argv"]
    module, _, function = command["function"].partition(":")
    code: Any = 0
    try:
        getattr(import_module(module), function)(*command["arguments"])
    except SystemExit as end:
        code = end.code
        if isinstance(code, str):
            print(code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    # Not the interpreter's own end, which would take apart what the zygote has loaded: a good half second.
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(bool(code)))
