"""All runs of a curator: submitted, queued, driven a few at a time, ended in a named state."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path

from privity.common.consortium.manifest import CURATOR
from privity.common.consortium.manifest_file import ManifestFile
from privity.common.consortium.schema_file import SchemaFile
from privity.common.errors import Catalogue, PrivityError
from privity.common.notices.channels import Channel
from privity.common.notices.outbox import Outbox
from privity.common.protocol.steps import Reply, Step
from privity.common.runs.run_request import parse_request
from privity.common.runs.signed_request import SignedRequest
from privity.common.storage.journal import Journal
from privity.common.text.utc_times import utc, utc_now
from privity.curator.announcements import Announcements
from privity.curator.lately_awaited import LatelyAwaited
from privity.curator.leases import Leases
from privity.curator.limits_of_parties import LimitsOfParties
from privity.curator.metrics import CuratorMetrics, reason_of
from privity.curator.operator_notices import OperatorNotices
from privity.curator.pending_steps import Awaited, Desk, Listener, Note
from privity.curator.released_files import released_files, with_release
from privity.curator.run_driver import RunDriver
from privity.curator.run_outcome import HERE, outcome, unforeseen
from privity.curator.run_progress_marks import BY_DISCARD, BY_OPERATOR, End, Marks
from privity.curator.run_state import Run
from privity.curator.run_state_machine import (
    AT_WORK,
    ENDED,
    FINAL,
    QUEUED,
    RUNNING,
    STOPPED,
    WAITING,
    Event,
    may,
)
from privity.curator.signed_by_parties import SignedByParties
from privity.curator.signed_releases import SignedReleases
from privity.curator.submissions import Submission, check_free, check_many, check_word, open_signed
from privity.curator.traffic_meter import Meter

_log = logging.getLogger("privity.curator")

JOURNAL_FILE = "journal.sqlite"
ROOM_SECONDS = 5.0
"""Between two tries to go on when a disk is full."""
RUNS_AT_ONCE = 2
MOST_WAITING = 50
"""Runs that wait for people at a time: half of what a party keeps open, so that none is refused for their number."""


class Runs:
    """The curator's runs over one consortium.

    Args:
        folder: holds the journal and, below ``releases/``, what completed runs released.
        lease: seconds for which a run may stand still before it expires.
        at_once: runs at work side by side; those that wait for people do not count.
        channels: where notices are sent.
        key: of the certificate that the manifest lists for the curator, which signs releases; None signs none.
    """

    def __init__(
        self,
        folder: Path,
        manifests: ManifestFile,
        schemas: SchemaFile,
        desk: Desk,
        metrics: CuratorMetrics,
        lease: float = math.inf,
        at_once: int = RUNS_AT_ONCE,
        channels: Sequence[Channel] = (),
        key: Path | None = None,
    ) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._journal = Journal(folder / JOURNAL_FILE, called=HERE)
        self._marks = Marks(self._journal)
        self.outbox = Outbox(self._journal, CURATOR, channels)
        self._notices = OperatorNotices(self.outbox)
        self.limits = LimitsOfParties(self._journal, manifests)
        self._releases = folder / "releases"
        self._manifests = manifests
        self._schemas = schemas
        self._desk = desk
        self._metrics = metrics
        self._leases = Leases(lease, self._marks.moved)
        self._at_once = at_once
        self._runs: dict[str, Run] = {}
        self._signed = SignedReleases(self._releases, key, manifests, self._marks, self._missed)
        self._announcements = Announcements(self._journal, self._marks, desk, self._parties_asked, self._signed)
        self.statements = SignedByParties(self._journal, self._releases)
        self._queue, self._going_on = dict[str, Run](), dict[str, Run]()
        self._tasks, self._closings = dict[str, asyncio.Task[None]](), dict[str, asyncio.Task[None]]()
        self._due = asyncio.Event()
        self._closing = False
        self._taken_up: dict[str, float] = {}
        self._lately = LatelyAwaited(desk)
        self._load()

    def _load(self) -> None:
        """Runs of an earlier process stand where the journal has them: ended, stopped, or queued."""
        self._desk.heard_before, self._desk.last_before = self._marks.heard(), self._marks.last_replies()
        for key in self._journal.keys("#token/"):
            stored = self._journal.recall(key, "request")
            assert stored is not None
            run = self._add(Submission.read(stored))
            stands = self._marks.end(run.name) or self._marks.stop(run.name)
            if stands is not None:
                run.stand(stands, self._marks.since(run.name))
                run.last_error = self._marks.unattested(run.name)
                if not self._marks.closed(run.name):
                    # It may have been killed before it could tell.
                    self._notices.stands(run.name, stands, run.since)
            else:
                self._queue[run.name] = run

    def _missed(self, name: str, why: str) -> None:
        self._runs[name].update(last_error=why)

    def _parties_asked(self, name: str) -> tuple[str, ...] | None:
        return self._runs[name].request.parties

    def _add(self, kept: Submission) -> Run:
        signed = kept.request
        run = Run(signed.run, signed.request(), kept.at, signed.operator, kept.signed.encode(), since=kept.at)
        self._runs[signed.run] = run
        return run

    def _enqueue(self, run: Run) -> None:
        if run.state is QUEUED:  # one that is retried may have been stopped meanwhile
            self._queue[run.name] = run
            self._due.set()

    def read(self, signed: bytes, operator: str) -> SignedRequest:
        """A request that this operator signed, and that can run."""
        opened = open_signed(signed, manifest := self._manifests.current(), operator)
        schema, asked = self._schemas.of(manifest), parse_request(opened.asked)
        for request in (asked, asked.over(opened.members)):
            request.check(manifest, schema)
        return opened

    def take(self, token: str, signed: SignedRequest) -> str:
        """Name of the operator's run that this token stands for, always the same."""
        stored = self._journal.recall(f"#token/{token}", "request")
        if stored is not None:
            known = Submission.read(stored).request
            reason = "" if known.asked == signed.asked else "it stands for another request"
            if not self._may(signed.operator, known.operator):
                reason = f"it stands for a run of the operator {known.operator}"
            if reason and signed.run == token:
                check_free(signed.run, self._runs, self._releases)
            if reason:
                raise PrivityError(Catalogue.BAD_OPTION, option="token", reason=reason, hint="Use a new token.")
            return known.run
        check_word("token", token)
        check_free(signed.run, self._runs, self._releases)
        check_many(signed.operator, self._runs.values())
        fresh = Submission(signed.bytes().decode(), utc_now())
        self._journal.record(f"#token/{token}", "request", fresh.bytes())
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
        """A run is its submitter's; anybody's if that is no operator by the manifest of now."""
        return submitter == operator or self._manifests.current().certificate_of("operator", submitter) is None

    def get(self, name: str) -> Run:
        try:
            return self._runs[name]
        except KeyError:
            hint = "`privity run list` names the runs of this curator."
            raise PrivityError(Catalogue.RUN_UNKNOWN, run=name, hint=hint) from None

    def numbers(self) -> dict[str, int]:
        """How many runs are queued, at work and waiting for people; may be asked from any thread."""
        states = [run.state for run in list(self._runs.values())]
        return {state: states.count(state) for state in (QUEUED, RUNNING, WAITING)}

    def release_files(self, name: str, party: str = "") -> list[Path]:
        """As ``released_files``."""
        return released_files(self.get(name), self._releases / name, party)

    async def watch(self, name: str, every: float | None = None) -> AsyncIterator[Run]:
        """The run now, and again after every change, until it has ended; without a change after ``every`` seconds.

        Its end is told when the parties know of it, as far as they can be reached.
        """
        run = self.get(name)
        while True:
            while run.state in ENDED and not self._closing and not self._marks.closed(name):
                closing = self._closings.get(name)
                await (asyncio.sleep(0) if closing is None else asyncio.wait([closing]))
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
        """Whom a run waits for, as ``LatelyAwaited`` tells it."""
        return self._lately.of(run.name) if run.state in AT_WORK else []

    def notes(self, run: Run) -> list[str]:
        """The people that a run waits for, and the parties that are silent, now."""
        return [awaited.words for awaited in self._desk.awaited(run.name) if awaited.of_person]

    def since(self, run: Run) -> str:
        """When it came into its state, in UTC; of a run that waits, since when it waits for a person."""
        people = self._desk.awaited(run.name) if run.state == WAITING else []
        return min((awaited.since for awaited in people if awaited.note), default=run.since)

    def stop(self, name: str, *, discard: bool = False) -> None:
        """Stop a run that is queued or at work; with ``discard`` for good, also one that was stopped before."""
        run = self.get(name)
        if discard and may(run.state, Event.DISCARD):
            self._end(run, Event.DISCARD, BY_DISCARD)
        elif not discard and may(run.state, Event.STOP):
            self._stand_still(run, Event.STOP, BY_OPERATOR)

    def _stand_still(self, run: Run, event: Event, why: End) -> None:
        """Stop a run. The parties keep what they answered, and the curator what was revealed."""
        self._leave(run, event, self._marks.note_stop, why)
        self._announcements.stopped(run.name, run.since)

    def _end(self, run: Run, event: Event, end: End) -> None:
        """End a run for good: its parties are told, and what was kept of it is erased."""
        self._leave(run, event, self._marks.note_end, with_release(run.name, end, self._releases / run.name))
        self._close_soon(run)

    def _leave(self, run: Run, event: Event, note: Callable[[str, End], tuple[End, bool]], why: End) -> None:
        """A run goes on no more: on disk first, where the first word stays; then its place is free."""
        stands, new = note(run.name, why)
        if new:
            self._metrics.run_ended(stands.state, stands.code)
            _log.info("a run ended", extra={"run": run.name, "state": stands.state, "reason": reason_of(stands.code)})
        run.move(event, self._marks.since(run.name), stands)
        self._queue.pop(run.name, None)
        self._going_on.pop(run.name, None)
        task = self._tasks.get(run.name)
        if task is not None and task is not asyncio.current_task():
            task.cancel()
        self._due.set()
        self._notices.stands(run.name, stands, run.since)

    def resume(self, name: str) -> None:
        """Let a stopped run go on where it was; one that goes on already does so.

        Raises:
            PrivityError: it has ended for good.
        """
        run = self.get(name)
        if run.state in ENDED:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="run", reason=f"{name} has ended for good: {run.reason or run.state}",
                hint="Submit it anew.",
            )  # fmt: skip
        if may(run.state, Event.RESUME):
            self._marks.note_resumed(name)
            run.move(Event.RESUME, utc_now())
            self._announcements.stopped(name, "")
            self._enqueue(run)

    async def work(self) -> None:
        """Drive runs, the oldest first and a few side by side, until the curator ends."""
        self._announcements.of_before(self._manifests.current().members)
        for run in self.all():
            if run.state in ENDED and not self._marks.closed(run.name):
                self._close_soon(run)
            elif run.state == STOPPED or self._marks.resumed(run.name):
                self._announcements.stopped(run.name, run.since if run.state == STOPPED else "")
        while not self._closing:
            self._due.clear()
            while self._give_place():
                pass
            await self._due.wait()

    def _give_place(self) -> bool:
        """Give a free place to the run that has waited for it the longest; whether one was given."""
        driven = [self._runs[name] for name in self._tasks]
        if sum(run.state == RUNNING for run in driven) >= self._at_once:
            return False
        ready = (run for run in self._going_on.values() if not self._desk.waits_for_person(run.name))
        if (run := next(ready, None)) is not None:
            del self._going_on[run.name]
            run.move(Event.GO_ON, utc_now())
            return True
        # One that was stopped and resumed may not have let go of everything yet.
        queued = (run for run in self._queue.values() if run.name not in self._tasks)
        if sum(run.state == WAITING for run in driven) >= MOST_WAITING or (run := next(queued, None)) is None:
            return False
        del self._queue[run.name]
        begun = self._journal.written(f"{run.name}/manifest")
        run.move(Event.BEGIN, utc_now() if begun is None else utc(begun))
        # Its lease begins now, however long it was queued or the curator was down.
        self._taken_up[run.name] = time.time()
        task = self._tasks[run.name] = asyncio.create_task(self._drive(run))
        task.add_done_callback(lambda task: self._driven(run, task))
        return True

    async def _keep_place(self, run: Run) -> None:
        """Go on at once, or when a run that waited for people has a place again."""
        while run.state == WAITING:
            self._going_on.setdefault(run.name, run)
            self._due.set()
            await run.next_change().wait()

    def _noted(self, run: Run, party: str, step: str, note: Note) -> None:
        """A party waits for a person: that is told, then kept (it is no news any more), and the run's place is free."""
        self._notices.waits(run.name, party, note.text)
        with contextlib.suppress(PrivityError):  # no room on the disk: it is said again after a restart
            self._marks.note_waits(run.name, party, step, note)
        self._wait(run)

    def _wait(self, run: Run) -> None:
        if may(run.state, Event.WAIT):
            run.move(Event.WAIT, utc_now())
        else:
            run.update()
        self._due.set()

    def _driven(self, run: Run, task: asyncio.Task[None]) -> None:
        """Nothing is done for a run any more."""
        del self._tasks[run.name]
        self._taken_up.pop(run.name, None)
        self._going_on.pop(run.name, None)
        self._desk.listen(run.name, None)
        self._due.set()
        if not self._closing and not task.cancelled() and (error := task.exception()) is not None:
            # Its end is not on disk: it is gone on from where it was.
            unforeseen(error, run.name)
            run.update(last_error=f"internal error: {type(error).__name__}")
            if run.state in AT_WORK:
                run.move(Event.RESTART, utc_now())
                asyncio.get_running_loop().call_later(ROOM_SECONDS, self._enqueue, run)

    async def expire(self) -> None:
        """End runs in which nothing has moved for as long as a lease lasts, for ever."""
        while True:
            for run in self.all():
                if self._leases.is_over(run, self._taken_up.get(run.name, 0.0)):
                    with contextlib.suppress(PrivityError):  # no room on the disk: at the next time then
                        waits = [f"{a.party} ({a.note or a.step})" for a in self._desk.awaited(run.name)]
                        self._end(run, Event.EXPIRE, self._leases.expired(run, waits))
            self._keep_heard()
            await asyncio.sleep(self._leases.every)

    def _keep_heard(self) -> None:
        """Put on disk when parties were last heard of, for a curator that starts again while one is away."""
        heard = {party: at for party, at in self._desk.heard_at().items() if self._desk.connected(party)}
        with contextlib.suppress(PrivityError):  # no room on the disk: at the next time then
            self._marks.note_heard(heard)

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
        """Drive a run to where it does not go on, and put that on disk."""
        meter = Meter(lambda progress: run.update(progress=progress, last_error=meter.last_error))
        manifest, sealed = self._manifests.sealed()

        async def ask(party: str, step: Step, phase: str) -> Reply:
            if (party, step.key) in known:
                self._wait(run)
            return await self._desk.ask(party, step, phase)

        known = self._marks.waits(run.name)
        self._desk.listen(run.name, Listener(meter.traffic, partial(self._noted, run), known))
        driver = RunDriver(
            run.name, run.request, manifest, self._schemas.of(manifest), self._journal, ask, meter, sealed=sealed,
            sign=self._signed.sign, signed=run.signed, waiting=self._desk.waiting,
            place=lambda: self._keep_place(run), last=self._desk.last_reply,
        )  # fmt: skip
        driver.remind = self._marks.resumed(run.name)
        event, stands = await outcome(run.name, driver.drive(self._releases / run.name))
        # If it was stopped or ended meanwhile, it stands there. If the process ends, it is driven again.
        if not self._closing and run.state in AT_WORK:
            (self._stand_still if event is Event.SILENCE else self._end)(run, event, stands)

    def _close_soon(self, run: Run) -> None:
        closing = self._closings[run.name] = asyncio.create_task(self._close(run))
        closing.add_done_callback(lambda _closing: self._closings.pop(run.name, None))

    async def _close(self, run: Run) -> None:
        """Tell the parties of an end that is on disk, erase the run's secrets, and note that; in this order."""
        if (task := self._tasks.get(run.name)) is not None and task is not asyncio.current_task():
            await asyncio.wait([task])
        while not self._closing:
            try:
                sealed = self._journal.recall(f"{run.name}/sealed", "sealed")
                if (self._releases / run.name).is_dir():
                    await asyncio.to_thread(self._signed.sign, run.name, sealed)
                away = await self._announcements.ended(run.name)
                self._journal.erase(f"{run.name}/")
                self._marks.note_closed(run.name, away)
                self._announcements.later(run.name, away)
                return
            except Exception as error:
                unforeseen(error, run.name)
                run.update(last_error=f"internal error: {type(error).__name__}")
            await asyncio.sleep(ROOM_SECONDS)

    async def close(self) -> None:
        """Interrupt what runs, to be gone on with, and close the journal."""
        if self._closing:
            return
        self._closing = True
        self._due.set()
        self._announcements.close()
        tasks = [*self._tasks.values(), *self._closings.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._keep_heard()
        self._journal.close()
