"""All runs of a curator: submitted, queued, driven one at a time, ended in a named state."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import math
import secrets
import time
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from privity.common.consortium.manifest import CURATOR
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.consortium.schema_file import SchemaFile
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import read_json
from privity.common.notices.channels import Channel
from privity.common.notices.outbox import Outbox
from privity.common.release.release_contents import PRIVACY
from privity.common.storage.journal import Journal
from privity.curator.metrics import CuratorMetrics, reason_of
from privity.curator.pending_steps import Awaited, Desk
from privity.curator.refusals import RefusedByPartiesError
from privity.curator.run_driver import RunDriver
from privity.curator.run_progress_marks import (
    BY_OPERATOR,
    COMPLETED,
    DISCARDED,
    EXPIRED,
    FAILED,
    FINAL,
    QUEUED,
    RUNNING,
    STOPPED,
    End,
    Marks,
)
from privity.curator.run_request import canonical_request, parse_request
from privity.curator.run_state import Run
from privity.curator.submissions import Submission, check_free, check_many, check_word
from privity.curator.traffic_meter import Meter

_log = logging.getLogger("privity.curator")

JOURNAL_FILE = "journal.sqlite"
SEEN_EVERY_SECONDS = 10.0
EXPIRE_EVERY_SECONDS = 60.0
HOUR, DAY = 3600.0, 86400.0
ROOM_SECONDS = 5.0
"""Between two tries to go on when a disk is full."""
HERE = "the curator"  # in the place of paths in what operators are told


class Runs:
    """The curator's runs over one consortium.

    Args:
        folder: holds the journal and, below ``releases/``, what completed runs released.
        lease: seconds for which a run may stand still before it expires.
        channels: where notices are sent.
    """

    def __init__(
        self,
        folder: Path,
        manifests: ManifestFile,
        schemas: SchemaFile,
        desk: Desk,
        metrics: CuratorMetrics,
        lease: float = math.inf,
        channels: Sequence[Channel] = (),
    ) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._journal = Journal(folder / JOURNAL_FILE, called=HERE)
        self._marks = Marks(self._journal)
        self.outbox = Outbox(self._journal, CURATOR, channels)
        self._releases = folder / "releases"
        self._manifests = manifests
        self._schemas = schemas
        self._desk = desk
        self._metrics = metrics
        self._lease = lease
        self._runs: dict[str, Run] = {}
        self._queue: asyncio.Queue[Run] = asyncio.Queue()
        self._in_queue: set[str] = set()
        self._current: tuple[Run, asyncio.Task[None]] | None = None
        self._closing = False
        self._resumed: set[str] = set()
        self._taken_up = ("", 0.0)
        self._seen: dict[str, tuple[float, list[Awaited]]] = {}
        self._load()

    def _load(self) -> None:
        """Runs of an earlier process: closed ones are known, all others are driven to their end again."""
        for key in self._journal.keys("#token/"):
            stored = self._journal.recall(key, "request")
            assert stored is not None
            self._take_up(self._add(Submission.read(stored)))

    def _add(self, kept: Submission) -> Run:
        run = self._runs[kept.run] = Run(kept.run, parse_request(kept.request.encode()), kept.at, kept.by)
        return run

    def _take_up(self, run: Run) -> None:
        """Bring a run that nothing is done for to where the journal has it: ended, stopped, or queued."""
        end = self._marks.end(run.name)
        stands = end or self._marks.stop(run.name)
        if stands is not None and (end is None or self._marks.closed(run.name)):
            run.stand(stands)
        else:
            self._enqueue(run)

    def _enqueue(self, run: Run) -> None:
        """Have a run driven in its turn; one that is in the queue keeps its place there."""
        if run.name not in self._in_queue:
            self._in_queue.add(run.name)
            self._queue.put_nowait(run)

    def submit(self, token: str, request: bytes, name: str = "", operator: str = "") -> str:
        """Name of the run that this token stands for; the same token again gives the same name.

        Args:
            name: what the run is to be called; a name of its own if it is empty.
            operator: whose run it is; anybody's if that is empty.
        """
        manifest = self._manifests.current()
        parse_request(request).check(manifest, self._schemas.of(manifest))
        asked = canonical_request(request)
        key = f"#token/{token}"
        stored = self._journal.recall(key, "request")
        if stored is not None:
            known = Submission.read(stored)
            reason = "" if canonical_request(known.request.encode()) == asked else "it stands for another request"
            if not self._may(operator, known.by):
                reason = f"it stands for a run of the operator {known.by}"
            if reason and name == token:
                check_free(name, self._runs, self._releases)
            if reason:
                raise PrivityError(Catalogue.BAD_OPTION, option="token", reason=reason, hint="Use a new token.")
            return known.run
        check_word("token", token)
        if name:
            check_free(name, self._runs, self._releases)
        check_many(operator, self._runs.values())
        at = datetime.now(UTC).isoformat(timespec="seconds")
        fresh = Submission(name or f"run-{secrets.token_hex(6)}", asked, at, operator)
        self._journal.record(key, "request", fresh.bytes())
        run = self._add(fresh)
        self._enqueue(run)
        _log.info("a run was submitted", extra={"run": run.name})
        return run.name

    def check_submitter(self, name: str, operator: str) -> None:
        """Refuse an operator to whom this run does not belong (run-of-another)."""
        submitter = self.get(name).submitter
        if not self._may(operator, submitter):
            raise PrivityError(Catalogue.RUN_OF_ANOTHER, run=name, submitter=submitter)

    def _may(self, operator: str, submitter: str) -> bool:
        """A run is its submitter's; anybody's if that is not known, or is no operator by the manifest of now."""
        return submitter in ("", operator) or self._manifests.current().certificate_of("operator", submitter) is None

    def get(self, name: str) -> Run:
        try:
            return self._runs[name]
        except KeyError:
            hint = "`privity run list` names the runs of this curator."
            raise PrivityError(Catalogue.RUN_UNKNOWN, run=name, hint=hint) from None

    def numbers(self) -> dict[str, int]:
        """How many runs are queued and at work; may be asked from any thread."""
        states = [run.state for run in list(self._runs.values())]
        return {state: states.count(state) for state in (QUEUED, RUNNING)}

    def release_files(self, name: str, party: str = "") -> list[Path]:
        """Files of a completed run's release.

        Args:
            party: who asks, if it is one: only parties of the run are given it.
        """
        run = self.get(name)
        if run.state not in FINAL:
            first = f"the end of the run, for which privity run watch {name} waits"
            raise PrivityError(Catalogue.OUT_OF_ORDER, missing=f"the release of {name}", first=first)
        reason, hint = run.reason, "Only completed runs have a release."
        if run.state == COMPLETED:
            if (folder := self._releases / name).is_dir():
                if party and all(party != each["name"] for each in read_json(folder / PRIVACY)["parties"]):
                    hint = "Only its operator and the parties that took part in it fetch its release."
                    raise PrivityError(Catalogue.RUN_UNKNOWN, run=f"{name} with {party} in it", hint=hint)
                return sorted(folder.iterdir())
            reason = "its release was deleted at the curator"
            hint = "Ask whoever fetched it; the parties were charged for it, so think before you run it anew."
        raise PrivityError(Catalogue.RUN_FAILED, run=name, state=run.state, reason=reason, hint=hint)

    async def watch(self, name: str, every: float | None = None) -> AsyncIterator[Run]:
        """The run now, and again after every change, until it has ended; without a change after ``every`` seconds."""
        run = self.get(name)
        while True:
            changed = None if run.state in FINAL else run.next_change()
            yield run
            if changed is None:
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(every):
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
        if run.state in (COMPLETED, FAILED) or self._marks.end(run.name) is not None:
            return
        if discard:
            self._end(run, DISCARDED)
        elif run.state != STOPPED:
            self._record(self._marks.note_stop, run, BY_OPERATOR)
            if not self._interrupted(run):
                run.stand(BY_OPERATOR)

    def _end(self, run: Run, end: End) -> None:
        """End a run for good that is at work, queued or stopped."""
        self._record(self._marks.note_end, run, end)
        if not self._interrupted(run):
            # Its parties are told in its turn.
            self._enqueue(run)

    def _interrupted(self, run: Run) -> bool:
        """Cut a run short that is at work; whether it was."""
        if self._current is None or self._current[0] is not run or self._current[1].done():
            return False
        self._current[1].cancel()
        return True

    def resume(self, name: str) -> None:
        """Let a stopped run go on where it was; one that goes on already does so.

        Raises:
            PrivityError: it has ended for good.
        """
        run = self.get(name)
        if self._marks.end(run.name) is not None:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="run", reason=f"{name} has ended for good: {run.reason or run.state}",
                hint="Submit it anew.",
            )  # fmt: skip
        if self._marks.stop(name) is None:
            return
        self._marks.note_resumed(name)
        self._resumed.add(name)
        if run.state == STOPPED:
            run.update(state=QUEUED, reason="", remedy="")
            self._enqueue(run)

    async def work(self) -> None:
        """Drive queued runs one after another, until the curator ends."""
        while True:
            run = await self._queue.get()
            self._in_queue.discard(run.name)
            # It may have been stopped in the queue.
            stopped = self._marks.end(run.name) is None and self._marks.stop(run.name) is not None
            if stopped or self._marks.closed(run.name):
                continue
            task = asyncio.create_task(self._drive(run))
            self._current = (run, task)
            # Waiting without awaiting: the run's end, whatever it is, must not end this loop.
            await asyncio.wait([task])
            self._current = None
            if self._closing:
                # The journal is closed in a moment: the next run is for the next start.
                return
            if task.cancelled():
                # It was stopped before its first step, or while it waited for room: its end was not brought about.
                self._take_up(run)
            elif (error := task.exception()) is not None:
                # Its end is on disk or is not; either way it is gone on from there.
                self._unforeseen(error, run)
                run.update(last_error=f"internal error: {type(error).__name__}")
                asyncio.get_running_loop().call_later(ROOM_SECONDS, self._enqueue, run)

    async def expire(self) -> None:
        """End runs in which nothing has moved for as long as a lease lasts, for ever.

        A queued run waits for others and not for anybody: its lease begins when it is driven.
        """
        every, still = min(EXPIRE_EVERY_SECONDS, self._lease / 10), dict[str, float]()
        while True:
            for run in self.all():
                if run.state not in (RUNNING, STOPPED) or self._marks.end(run.name) is not None:
                    continue
                moved = self._marks.moved(run.name)
                if moved is not None and run.name == self._taken_up[0]:
                    moved = max(moved, self._taken_up[1])
                if moved is None or time.time() - moved <= self._lease:
                    still.pop(run.name, None)
                # Found so twice, with a while between by a clock that nobody sets.
                elif time.monotonic() - still.setdefault(run.name, time.monotonic()) >= min(HOUR, self._lease / 10):
                    del still[run.name]
                    with contextlib.suppress(PrivityError):  # no room on the disk: at the next time then
                        self._end(run, self._expired(run))
            await asyncio.sleep(every)

    def _expired(self, run: Run) -> End:
        """Its end, with the reason why it stood still."""
        waits = [f"{a.party} ({a.note or a.step})" for a in self._desk.awaited(run.name)]
        why = f"an answer of {', '.join(waits)}" if waits else f"a resumption: {run.reason}"
        error = PrivityError(Catalogue.RUN_EXPIRED, days=f"{self._lease / DAY:g}", awaited=why)
        return End(EXPIRED, error.message, error.remedy, error.code)

    async def _drive(self, run: Run) -> None:
        """Bring a run to its end, however often it must be taken up for want of room on a disk."""
        while True:
            try:
                await self._drive_once(run)
                return
            except PrivityError as error:
                if error.kind is not Catalogue.NO_ROOM:
                    raise
                _log.error("a run waits", extra={"run": run.name, "reason": error.code})
                run.update(last_error=f"{error.message}. {error.remedy}")
            await asyncio.sleep(ROOM_SECONDS)

    async def _drive_once(self, run: Run) -> None:
        """Bring a run to its end, put the end on disk, tell the parties, erase its secrets; in this order."""
        meter = Meter(lambda progress: run.update(progress=progress, last_error=meter.last_error))
        self._desk.traffic, self._desk.noted = meter.traffic, run.update
        manifest = self._manifests.current()
        schema = self._schemas.of(manifest)
        driver = RunDriver(
            run.name, run.request, manifest, schema, self._journal, self._desk.ask, meter, waiting=self._desk.waiting
        )
        end = self._marks.end(run.name)
        if end is None:
            run.update(state=RUNNING)
            # Its lease begins now, however long it was queued or the curator was down.
            self._taken_up = (run.name, time.time())
            driver.remind = run.name in self._resumed
            self._resumed.discard(run.name)
            stands = await self._learn(driver, run)
            if self._closing:
                # The process ends, not the run: it is resumed at the next start.
                return
            if stands == BY_OPERATOR and run.name in self._resumed:
                # Before it could stand.
                run.update(state=QUEUED)
                self._enqueue(run)
                return
            if stands.state == STOPPED and self._marks.end(run.name) is None:
                # The parties keep what they answered, and the curator what was revealed, for a resumption.
                run.stand(self._record(self._marks.note_stop, run, stands))
                return
            end = self._record(self._marks.note_end, run, stands)
        await driver.close(end.state)
        self._marks.note_closed(run.name)
        run.stand(end)

    async def _learn(self, driver: RunDriver, run: Run) -> End:
        """Where the run stands when it does not go on."""
        try:
            await driver.drive(self._releases / run.name)
        except PrivityError as error:
            if error.kind is Catalogue.NO_ROOM:
                raise
            if error.kind is Catalogue.NO_PROGRESS:
                return End(STOPPED, error.message, f"{error.remedy} Then: privity run resume {run.name}", error.code)
            refusals = error.refusals if isinstance(error, RefusedByPartiesError) else ()
            return End(FAILED, error.message, error.remedy, error.code, refusals)
        except asyncio.CancelledError:
            return BY_OPERATOR
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                return self._unforeseen(error, run)
            raise PrivityError(Catalogue.NO_ROOM, file=HERE) from error
        except Exception as error:
            return self._unforeseen(error, run)
        return End(COMPLETED)

    @staticmethod
    def _unforeseen(error: BaseException, run: Run) -> End:
        """The class of an unforeseen error is safe to tell and to log; its text might hold anything."""
        place = traceback.extract_tb(error.__traceback__)[-1]
        _log.error(
            "an internal error",
            extra={"run": run.name, "error": type(error).__name__, "file": place.filename, "line": place.lineno},
        )
        known = PrivityError(Catalogue.INTERNAL, reason=type(error).__name__)
        return End(FAILED, known.message, known.remedy, known.code)

    def _record(self, note: Callable[[str, End], tuple[End, bool]], run: Run, end: End) -> End:
        """Put on disk where the run stands; the first record stays the only one."""
        stands, new = note(run.name, end)
        if new:
            self._metrics.run_ended(stands.state, stands.code)
            _log.info("a run ended", extra={"run": run.name, "state": stands.state, "reason": reason_of(stands.code)})
        return stands

    async def close(self) -> None:
        """Interrupt what runs, to be resumed, and close the journal."""
        self._closing = True
        if self._current:
            task = self._current[1]
            task.cancel()
            await asyncio.wait([task])
        self._journal.close()
