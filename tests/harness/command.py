"""Run the command ``privity`` as a user does, and look for what it leaves behind."""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any
from unittest import mock

import psutil

from privity.interfaces.cli.main import main
from tests.harness.forked_nodes import forked_nodes
from tests.harness.places import ROOT
from tests.harness.zygote import Forked, zygote

PATIENCE_SECONDS = 120

# A shell that starts the tests in the background ignores interrupts, and children would inherit that. It is mended here
# and not between fork and exec: gRPC's threads may be at work then, and its handlers of forks abort.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def start(*arguments: str | Path, cwd: Path = ROOT, output: IO[Any] | None = None) -> Forked:
    """Start ``privity`` in the background, output captured, or written to a file."""
    return zygote().start(f"{main.__module__}:main", argv=["privity", *map(str, arguments)], cwd=cwd, output=output)


def privity(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run ``privity`` to its end; a simulation in this process, with forks as its nodes."""
    if arguments[:1] == ("simulate",):
        with forked_nodes():
            return here(cwd, shlex.join(map(str, ("privity", *arguments))))
    process = start(*arguments, cwd=cwd)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def run_in(place: Path, *arguments: str) -> str:
    """Run ``privity`` to its end in a folder, which must succeed: what it printed."""
    done = privity(*arguments, cwd=place)
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    return done.stdout


def run_script(file: Path) -> None:
    """Run a page's program in its folder, in this process."""
    with contextlib.chdir(file.parent):
        runpy.run_path(str(file), run_name="__main__")


def children(process: Forked) -> list[psutil.Process]:
    """The processes that it has started and that still run."""
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def lives(process: psutil.Process) -> bool:
    """Whether it still runs: a zombie does not, nor one that goes while it is asked."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def shown_commands(text: str) -> list[str]:
    """The commands that a page shows, in its order, as they stand."""
    blocks = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def serves(command: str) -> bool:
    """Whether a command line of a page is a node, which goes on until it is ended."""
    return command.split()[2] == "serve"


def program(command: str) -> list[str]:
    """A command line of a page, to be run as it stands."""
    name, *arguments = shlex.split(command)
    assert name == "privity"
    return [sys.executable, "-m", "privity.interfaces.cli.main", *arguments]


def here(place: Path, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command line of a page that comes to an end, in this process: no seconds for a start.

    The command's own entry point, with its exit code and what it prints.
    """
    name, *arguments = shlex.split(command)
    out, err, code = io.StringIO(), io.StringIO(), 0
    before, handler = sys.argv, signal.getsignal(signal.SIGTERM)
    sys.argv = [name, *arguments]
    try:
        printed = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
        with contextlib.chdir(place), printed[0], printed[1], mock.patch.dict(os.environ, environment):
            main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    finally:
        sys.argv = before
        signal.signal(signal.SIGTERM, handler)
    return subprocess.CompletedProcess([name, *arguments], code, out.getvalue(), err.getvalue())


def listening(port: int) -> bool:
    """Whether somebody on this machine listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Poll until the condition holds; a hung condition is the test's failure."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.02)
