"""Child processes of a simulation: started together, watched, and always stopped."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from privity.common.errors import Catalogue, PrivityError

STOP_SECONDS = 10


class ProcessGroup:
    """Named ``privity`` processes; leaving the context stops them all, whatever happened."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        # Throwaway nodes: the ledgers that this account knows of are none of theirs.
        self._environment = {**os.environ, "XDG_STATE_HOME": str(logs.absolute() / "state")}
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        self._logs.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, name: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start ``privity ARGUMENTS``; its output goes to a log file of its own."""
        with (self._logs / f"{name}.log").open("wb") as log:
            child = subprocess.Popen(  # noqa: S603 - our own program, no shell
                [sys.executable, "-m", "privity.interfaces.cli.main", *arguments, "--stop-with-stdin"],
                # Our end of this pipe closes when we die, however we die, and the child stops.
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                # Ctrl-C reaches the parent only; it stops its children in order.
                start_new_session=True,
            )
        self._children[name] = child
        return child

    @property
    def pids(self) -> dict[str, int]:
        return {name: child.pid for name, child in self._children.items()}

    def check(self) -> None:
        """Raises PrivityError if a child has ended by itself, with the last lines that it wrote."""
        for name, child in self._children.items():
            code = child.poll()
            if code is not None:
                lines = (self._logs / f"{name}.log").read_text(errors="replace").strip().splitlines()
                said = " ".join(lines[-2:]) if code > 0 and lines else "it was killed"
                raise PrivityError(
                    Catalogue.RUN_FAILED, run="simulation", state="FAILED",
                    reason=f"the process of {name} ended: {said}",
                    hint="Nothing was released; run it again when the cause is mended.",
                )  # fmt: skip

    def stop(self) -> None:
        """Ask every child to end, then end it; at a second interruption at once."""
        for child in self._children.values():
            with contextlib.suppress(ProcessLookupError):
                child.terminate()
        try:
            for child in self._children.values():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(STOP_SECONDS)
        finally:
            # Also when somebody does not want to wait so long.
            for child in self._children.values():
                child.kill()
                child.wait()
