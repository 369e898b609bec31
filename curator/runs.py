"""All runs of a curator: submitted, queued, driven one at a time, ended in a named state."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import traceback
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from common.errors import Catalogue, PrivityError
from common.formats import require
from common.journal import Journal
from common.privacy.budget import parse_delta, parse_epsilon
from common.protocol.manifest_file import ManifestFile
from common.protocol.session import Progress
from common.protocol.sum_kind import Method, sum_kind
from common.schema import Schema
from curator.desk import Desk
from curator.driver import RunDriver, RunRequest
from curator.meter import Meter

_log = logging.getLogger("privity.curator")

QUEUED, RUNNING, COMPLETED, FAILED, STOPPED = "QUEUED", "RUNNING", "COMPLETED", "FAILED", "STOPPED"
STOPPED_BY_OPERATOR = "stopped by the operator"
FINAL = (COMPLETED, FAILED, STOPPED)
_START = Progress("queued", 0, 0, 0, 0, 0, Fraction(0))


@dataclass
class Run:
    """One run as the operator sees it."""

    name: str
    request: RunRequest
    state: str = QUEUED
    reason: str = ""
    progress: Progress = _START
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def update(self, **fields: object) -> None:
        for name, value in fields.items():
            setattr(self, name, value)
        # Whoever waits holds the old event; the next change has an event of its own.
        self.changed.set()
        self.changed = asyncio.Event()


def parse_request(data: bytes) -> RunRequest:
    """A run request from its JSON; every fault at once."""
    try:
        document: Any = json.loads(data)
    except ValueError:
        raise PrivityError(Catalogue.FILE_UNREADABLE, file="run request", reason="not JSON") from None
    require(document, "run_request", "run request")
    return RunRequest(
        algorithm=document["algorithm"],
        settings=document.get("settings", {}),
        epsilon=parse_epsilon(document["epsilon"]),
        tolerate=document["tolerate"],
        key_bits=document["key_bits"],
        rows=document.get("rows"),
        delta=parse_delta(document.get("delta", "0")),
        secure_sum=sum_kind(document.get("secure_sum", Method.PAILLIER.value), document.get("exponents")),
    )


class Runs:
    """The curator's runs over one consortium.

    Args:
        folder: holds the journal and, below ``releases/``, what completed runs released.
    """

    def __init__(self, folder: Path, manifests: ManifestFile, schema: Schema, desk: Desk) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._journal = Journal(folder / "journal.sqlite")
        self._releases = folder / "releases"
        self._manifests = manifests
        self._schema = schema
        self._desk = desk
        self._runs: dict[str, Run] = {}
        self._queue: asyncio.Queue[Run] = asyncio.Queue()
        self._current: tuple[Run, asyncio.Task[None]] | None = None
        self._closing = False
        self._load()

    def _load(self) -> None:
        """Runs of an earlier process: closed ones are known, all others are driven to their end again."""
        for key in self._journal.keys("token/"):
            stored = self._journal.recall(key, "request")
            assert stored is not None
            submitted = json.loads(stored)
            run = Run(submitted["run"], parse_request(submitted["request"].encode()))
            self._runs[run.name] = run
            if self._journal.recall(f"closed/{run.name}", "closed") is None:
                self._queue.put_nowait(run)
            else:
                run.update(**(self._end_of(run) or {}))

    def submit(self, token: str, request: bytes) -> str:
        """Name of the run that this token stands for; the same token again gives the same name."""
        parsed = parse_request(request)
        parsed.check(self._manifests.current(), self._schema)
        key = f"token/{token}"
        fresh = json.dumps({"run": f"run-{secrets.token_hex(6)}", "request": request.decode()})
        known = self._journal.recall(key, "request")
        submitted = json.loads(known or self._journal.record(key, "request", fresh.encode()))
        if submitted["request"].encode() != request:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="token", reason="it stands for another request", hint="Use a new token."
            )
        if known is None:
            run = Run(submitted["run"], parsed)
            self._runs[run.name] = run
            self._queue.put_nowait(run)
        return str(submitted["run"])

    def get(self, name: str) -> Run:
        try:
            return self._runs[name]
        except KeyError:
            raise PrivityError(Catalogue.RUN_UNKNOWN, run=name) from None

    def release_files(self, name: str) -> list[Path]:
        """Files of a completed run's release."""
        run = self.get(name)
        if run.state not in FINAL:
            first = f"the end of the run, for which privity run watch {name} waits"
            raise PrivityError(Catalogue.OUT_OF_ORDER, missing=f"the release of {name}", first=first)
        if run.state != COMPLETED:
            raise PrivityError(
                Catalogue.RUN_FAILED, run=name, state=run.state, reason=run.reason,
                hint="Only completed runs have a release.",
            )  # fmt: skip
        return sorted((self._releases / name).iterdir())

    async def watch(self, name: str) -> AsyncIterator[Run]:
        """The run now, and again after every change, until it has ended."""
        run = self.get(name)
        while True:
            changed = run.changed
            yield run
            if run.state in FINAL:
                return
            await changed.wait()

    def stop(self, name: str) -> None:
        """End a run that is queued or running as STOPPED."""
        run = self.get(name)
        if run.state in FINAL:
            return
        # A run that has ended already, and only tells the parties so, keeps its end.
        if self._current and self._current[0] is run:
            if self._end_of(run) is None:
                self._current[1].cancel()
        else:
            self._record_end(run, STOPPED, STOPPED_BY_OPERATOR)

    async def work(self) -> None:
        """Drive queued runs one after another, for ever."""
        while True:
            run = await self._queue.get()
            task = asyncio.create_task(self._drive(run))
            self._current = (run, task)
            # Waiting without awaiting: the run's end, whatever it is, must not end this loop.
            await asyncio.wait([task])
            self._current = None

    async def _drive(self, run: Run) -> None:
        """Bring a run to its end, put the end on disk, tell the parties, erase its secrets; in this order."""
        meter = Meter(lambda progress: run.update(progress=progress))
        self._desk.traffic = meter.traffic
        driver = RunDriver(
            run.name, run.request, self._manifests.current(), self._schema, self._journal, self._desk.ask, meter
        )
        end = self._end_of(run)
        if end is None:
            run.update(state=RUNNING)
            state, reason = await self._learn(driver, run)
            if self._closing:
                # The process ends, not the run: it is taken up again at the next start.
                return
            end = self._record_end(run, state, reason)
        await driver.close(end["state"])
        self._journal.record(f"closed/{run.name}", "closed", b"")
        run.update(**end)

    async def _learn(self, driver: RunDriver, run: Run) -> tuple[str, str]:
        """(state, reason) in which the run ended."""
        try:
            await driver.drive(self._releases / run.name)
        except PrivityError as error:
            return FAILED, f"{error.message} {error.remedy}"
        except asyncio.CancelledError:
            return STOPPED, STOPPED_BY_OPERATOR
        except Exception as error:
            # The class of an unforeseen error is safe to tell and to log; its text might hold anything.
            place = traceback.extract_tb(error.__traceback__)[-1]
            _log.error("run %s: %s at %s:%s", run.name, type(error).__name__, place.filename, place.lineno)
            return FAILED, f"internal error: {type(error).__name__}"
        return COMPLETED, ""

    def _end_of(self, run: Run) -> dict[str, str] | None:
        stored = self._journal.recall(f"ended/{run.name}", "ended")
        return None if stored is None else json.loads(stored)

    def _record_end(self, run: Run, state: str, reason: str) -> dict[str, str]:
        """Put the end on disk; the first one recorded stays the only one."""
        end = json.dumps({"state": state, "reason": reason}).encode()
        recorded: dict[str, str] = json.loads(self._journal.record(f"ended/{run.name}", "ended", end))
        return recorded

    async def close(self) -> None:
        """Interrupt what runs, to be taken up again, and close the journal."""
        self._closing = True
        if self._current:
            task = self._current[1]
            task.cancel()
            await asyncio.wait([task])
        self._journal.close()
