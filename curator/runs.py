"""All runs of a curator: submitted, queued, driven one at a time, ended in a named state."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import secrets
import time
import traceback
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from common.errors import Catalogue, PrivityError
from common.formats import require
from common.journal import Journal
from common.privacy.budget import parse_delta, parse_epsilon
from common.protocol.manifest_file import ManifestFile
from common.protocol.plan import check_run_name
from common.protocol.session import Progress
from common.protocol.sum_kind import USUAL_KEY_BITS, Method, sum_kind
from common.schema import Schema
from curator.desk import Awaited, Desk
from curator.driver import RunDriver, RunRequest
from curator.meter import Meter
from curator.metrics import CuratorMetrics, reason_of

_log = logging.getLogger("privity.curator")

QUEUED, RUNNING, COMPLETED, FAILED, STOPPED = "QUEUED", "RUNNING", "COMPLETED", "FAILED", "STOPPED"
SEEN_EVERY_SECONDS = 10.0
FINAL = (COMPLETED, FAILED, STOPPED)
"""States in which nothing goes on; a stopped run may be resumed."""

_START = Progress("queued", 0, 0, 0, 0, 0, Fraction(0))


@dataclass(frozen=True)
class End:
    """Where a run stands that does not go on, why, and what to do."""

    state: str
    reason: str = ""
    remedy: str = ""
    code: str = ""

    @classmethod
    def read(cls, stored: bytes) -> End:
        return cls(**json.loads(stored))

    def bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()


BY_OPERATOR = End(STOPPED, "stopped by the operator", "It goes on with `privity run resume`.")
DISCARDED = End(STOPPED, "discarded by the operator", "It cannot be resumed: submit it anew.")


@dataclass
class Run:
    """One run as the operator sees it.

    Attributes:
        submitted: when, in UTC; for people to read.
        last_error: the last thing that went wrong and was tried again.
    """

    name: str
    request: RunRequest
    submitted: str
    state: str = QUEUED
    reason: str = ""
    remedy: str = ""
    progress: Progress = _START
    last_error: str = ""
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def stand(self, end: End) -> None:
        """It does not go on."""
        self.update(state=end.state, reason=end.reason, remedy=end.remedy)

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
    method = Method(document.get("secure_sum", Method.PAILLIER.value))
    return RunRequest(
        algorithm=document["algorithm"],
        settings=document.get("settings", {}),
        epsilon=parse_epsilon(document["epsilon"]),
        tolerate=document.get("tolerate", 1),
        key_bits=document.get("key_bits", USUAL_KEY_BITS if method is Method.PAILLIER else None),
        rows=document.get("rows"),
        delta=parse_delta(document.get("delta", "0")),
        secure_sum=sum_kind(method.value, document.get("exponents")),
        attributes=None if document.get("attributes") is None else tuple(document["attributes"]),
    )


class Runs:
    """The curator's runs over one consortium.

    Args:
        folder: holds the journal and, below ``releases/``, what completed runs released.
    """

    def __init__(
        self, folder: Path, manifests: ManifestFile, schema: Schema, desk: Desk, metrics: CuratorMetrics
    ) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._journal = Journal(folder / "journal.sqlite")
        self._releases = folder / "releases"
        self._manifests = manifests
        self._schema = schema
        self._desk = desk
        self._metrics = metrics
        self._runs: dict[str, Run] = {}
        self._queue: asyncio.Queue[Run] = asyncio.Queue()
        self._current: tuple[Run, asyncio.Task[None]] | None = None
        self._closing = False
        self._seen: dict[str, tuple[float, list[Awaited]]] = {}
        self._load()

    def _load(self) -> None:
        """Runs of an earlier process: closed ones are known, all others are driven to their end again."""
        for key in self._journal.keys("#token/"):
            stored = self._journal.recall(key, "request")
            assert stored is not None
            submitted = json.loads(stored)
            run = Run(submitted["run"], parse_request(submitted["request"].encode()), submitted["at"])
            self._runs[run.name] = run
            self._take_up(run)

    def _take_up(self, run: Run) -> None:
        """Bring a run that nothing is done for to where the journal has it: ended, stopped, or queued."""
        end = self._end_of(run)
        stands = end or self._stop_of(run)
        if stands is not None and (end is None or self._is_closed(run)):
            run.stand(stands)
        else:
            self._queue.put_nowait(run)

    def submit(self, token: str, request: bytes, name: str = "") -> str:
        """Name of the run that this token stands for; the same token again gives the same name.

        Args:
            name: what the run is to be called; a name of its own if it is empty.
        """
        parsed = parse_request(request)
        parsed.check(self._manifests.current(), self._schema)
        key = f"#token/{token}"
        known = self._journal.recall(key, "request")
        if known is None and name:
            self._check_free(name)
        at = datetime.now(UTC).isoformat(timespec="seconds")
        named = name or f"run-{secrets.token_hex(6)}"
        fresh = json.dumps({"run": named, "request": request.decode(), "at": at})
        submitted = json.loads(known or self._journal.record(key, "request", fresh.encode()))
        if submitted["request"].encode() != request:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="token", reason="it stands for another request", hint="Use a new token."
            )
        if known is None:
            run = Run(submitted["run"], parsed, at)
            self._runs[run.name] = run
            self._queue.put_nowait(run)
            _log.info("a run was submitted", extra={"run": run.name})
        return str(submitted["run"])

    def _check_free(self, name: str) -> None:
        reason = "another run is called so" if name in self._runs else ""
        try:
            check_run_name(name)
        except ValueError:
            reason = "it must be 1 to 63 letters, digits, '.', '_' or '-'"
        if reason:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="name", reason=f"{name}: {reason}", hint="Use another name."
            )

    def get(self, name: str) -> Run:
        try:
            return self._runs[name]
        except KeyError:
            raise PrivityError(Catalogue.RUN_UNKNOWN, run=name) from None

    def numbers(self) -> dict[str, int]:
        """How many runs are queued and at work; may be asked from any thread."""
        states = [run.state for run in list(self._runs.values())]
        return {state: states.count(state) for state in (QUEUED, RUNNING)}

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

    def all(self) -> list[Run]:
        """The oldest first."""
        return list(self._runs.values())

    def awaited(self, run: Run) -> list[Awaited]:
        """What a run waits for, as it was up to ten seconds ago: when a step is answered may depend on rows."""
        if run.state != RUNNING:
            return []
        at, seen = self._seen.get(run.name, (-math.inf, []))
        if time.monotonic() - at > SEEN_EVERY_SECONDS:
            seen = self._desk.awaited(run.name)
            self._seen = {run.name: (time.monotonic(), seen)}
        return seen

    def notes(self, run: Run) -> list[str]:
        """The people that a run waits for, now."""
        return [f"{a.party} waits for {a.note}" for a in self._desk.awaited(run.name) if a.note]

    def stop(self, name: str, *, discard: bool = False) -> None:
        """Stop a run that is queued or at work; with ``discard`` for good, also one that was stopped before."""
        run = self.get(name)
        # A run that has ended already, and only tells the parties so, keeps its end.
        if run.state in (COMPLETED, FAILED) or self._end_of(run) is not None:
            return
        if discard:
            self._record("ended", run, DISCARDED)
        elif run.state != STOPPED:
            self._record("stopped", run, BY_OPERATOR)
        if self._current and self._current[0] is run:
            self._current[1].cancel()
        elif discard:
            # Its parties are told in its turn.
            self._queue.put_nowait(run)
        elif run.state != STOPPED:
            run.stand(BY_OPERATOR)

    def resume(self, name: str) -> None:
        """Let a stopped run go on where it was; one that goes on already does so.

        Raises:
            PrivityError: it has ended for good.
        """
        run = self.get(name)
        if self._end_of(run) is not None:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="run", reason=f"{name} has ended for good: {run.reason or run.state}",
                hint="Submit it anew.",
            )  # fmt: skip
        if run.state == STOPPED:
            self._journal.drop(f"#stopped/{name}")
            run.update(state=QUEUED, reason="", remedy="")
            self._queue.put_nowait(run)

    async def work(self) -> None:
        """Drive queued runs one after another, for ever."""
        while True:
            run = await self._queue.get()
            # It may have been stopped in the queue, or be there twice.
            if self._is_closed(run) or (self._end_of(run) is None and self._stop_of(run) is not None):
                continue
            task = asyncio.create_task(self._drive(run))
            self._current = (run, task)
            # Waiting without awaiting: the run's end, whatever it is, must not end this loop.
            await asyncio.wait([task])
            self._current = None
            if task.cancelled() and not self._closing:
                # It was stopped before its first step: then nothing of it was done, its end neither.
                self._take_up(run)

    async def _drive(self, run: Run) -> None:
        """Bring a run to its end, put the end on disk, tell the parties, erase its secrets; in this order."""
        meter = Meter(lambda progress: run.update(progress=progress, last_error=meter.last_error))
        self._desk.traffic, self._desk.noted = meter.traffic, run.update
        driver = RunDriver(
            run.name, run.request, self._manifests.current(), self._schema, self._journal, self._desk.ask, meter
        )
        end = self._end_of(run)
        if end is None:
            run.update(state=RUNNING)
            stands = await self._learn(driver, run)
            if self._closing:
                # The process ends, not the run: it is taken up again at the next start.
                return
            if stands.state == STOPPED and self._end_of(run) is None:
                # The parties keep what they answered, and the curator what was opened, for a resumption.
                run.stand(self._record("stopped", run, stands))
                return
            end = self._record("ended", run, stands)
        await driver.close(end.state)
        self._journal.record(f"#closed/{run.name}", "closed", b"")
        run.stand(end)

    async def _learn(self, driver: RunDriver, run: Run) -> End:
        """Where the run stands when it does not go on."""
        try:
            await driver.drive(self._releases / run.name)
        except PrivityError as error:
            if error.code == Catalogue.NO_PROGRESS.value.code:
                return End(STOPPED, error.message, f"{error.remedy} Then: privity run resume {run.name}", error.code)
            return End(FAILED, error.message, error.remedy, error.code)
        except asyncio.CancelledError:
            return BY_OPERATOR
        except Exception as error:
            # The class of an unforeseen error is safe to tell and to log; its text might hold anything.
            place = traceback.extract_tb(error.__traceback__)[-1]
            _log.error(
                "an internal error",
                extra={
                    "run": run.name,
                    "error": type(error).__name__,
                    "file": place.filename,
                    "line": place.lineno,
                },
            )
            return End(FAILED, f"internal error: {type(error).__name__}", "See the curator's log.", "internal")
        return End(COMPLETED)

    def _is_closed(self, run: Run) -> bool:
        """Whether its parties were told of its end."""
        return self._journal.recall(f"#closed/{run.name}", "closed") is not None

    def _end_of(self, run: Run) -> End | None:
        """Its end for good."""
        stored = self._journal.recall(f"#ended/{run.name}", "ended")
        return None if stored is None else End.read(stored)

    def _stop_of(self, run: Run) -> End | None:
        """Why it was stopped, until it is resumed."""
        stored = self._journal.recall(f"#stopped/{run.name}", "stopped")
        return None if stored is None else End.read(stored)

    def _record(self, word: str, run: Run, end: End) -> End:
        """Put on disk that the run stands, as ``stopped`` or ``ended``; the first record stays the only one."""
        key = f"#{word}/{run.name}"
        if self._journal.content(key) is None:
            self._metrics.run_ended(end.state, end.code)
            _log.info("a run ended", extra={"run": run.name, "state": end.state, "reason": reason_of(end.code)})
        return End.read(self._journal.record(key, word, end.bytes()))

    async def close(self) -> None:
        """Interrupt what runs, to be taken up again, and close the journal."""
        self._closing = True
        if self._current:
            task = self._current[1]
            task.cancel()
            await asyncio.wait([task])
        self._journal.close()
