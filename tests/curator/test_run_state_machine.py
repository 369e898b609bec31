"""The table of states, and the curator's runs under every event in every state: they are where the table says."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from privity.common.consortium.manifest_file import ManifestFile
from privity.common.consortium.schema_file import SchemaFile
from privity.common.errors import Catalogue, PrivityError
from privity.common.storage.canonical_json import canonical_bytes
from privity.curator import run_queue
from privity.curator.metrics import CuratorMetrics
from privity.curator.pending_steps import Desk, Note
from privity.curator.run_queue import Runs
from privity.curator.run_state_machine import (
    AT_WORK,
    ENDED,
    FINAL,
    QUEUED,
    RUNNING,
    STOPPED,
    TRANSITIONS,
    WAITING,
    Event,
    State,
    after,
    may,
)
from tests.curator.test_run_driver import request
from tests.harness.consortium import make_consortium
from tests.harness.network import NetworkConsortium, submit_signed
from tests.harness.places import ROOT

PARTIES = ("party-1", "party-2")
NAMES = ("first", "second", "third")
MADE = make_consortium(2, rows=20)
KEPT = tempfile.TemporaryDirectory(prefix="privity-manifest-")


@given(st.lists(st.sampled_from(Event)))
def test_whatever_happens_a_run_is_where_the_table_says_and_an_end_is_for_good(events: list[Event]) -> None:
    state = QUEUED
    for event in events:
        if may(state, event):
            following = after(state, event)
            assert state not in ENDED or following is state
            assert following not in AT_WORK or state in {QUEUED, *AT_WORK}, "a stopped run is queued first"
            state = following
        else:
            with pytest.raises(ValueError, match=f"a run that is {state} cannot be moved by"):
                after(state, event)


def test_every_state_is_reached_and_every_open_one_can_be_ended() -> None:
    assert set(TRANSITIONS) == set(State)
    assert {following for row in TRANSITIONS.values() for following in row.values()} == set(State)
    for state in set(State) - ENDED:
        assert may(state, Event.DISCARD)
    for state in State:
        assert after(state, Event.RESTART) == (state if state in FINAL else QUEUED)


def test_the_page_draws_the_table() -> None:
    text = (ROOT / "docs" / "data_model.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z, ]+) \| ([^|]+) \| ([A-Z]+) \|$", text, re.MULTILINE)
    drawn = {(state, event, following) for states, event, following in rows for state in states.split(", ")}
    table = {(str(s), str(e), str(f)) for s, row in TRANSITIONS.items() for e, f in row.items() if s is not f}
    assert drawn == table


@cache
def manifests() -> ManifestFile:
    folder = Path(KEPT.name)
    NetworkConsortium(folder, MADE)
    return ManifestFile(folder / "manifest.json", folder / "organiser.pub")


class World:
    """Runs over a desk that nobody dials in to, with drivers that end as the test says."""

    def __init__(self, folder: Path, patched: pytest.MonkeyPatch, at_once: int) -> None:
        self._folder, self._at_once = folder, at_once
        self.ends: dict[str, asyncio.Future[None]] = {}
        self.finished: set[str] = set()
        patched.setattr(run_queue, "RunDriver", lambda run, *_rest, **options: _Driver(self, run, options["place"]))
        self.manifests = manifests()
        self.start()

    def start(self) -> None:
        self.desk = Desk(1e6)
        schemas = SchemaFile(self._folder / "unused", MADE.schema)
        metrics = CuratorMetrics(CollectorRegistry())
        self.runs = Runs(
            self._folder / "state", self.manifests, schemas, self.desk, metrics, lease=1e6, at_once=self._at_once
        )
        self._work = asyncio.create_task(self.runs.work())

    async def stop(self) -> None:
        await self.runs.close()
        self._work.cancel()
        await asyncio.gather(self._work, return_exceptions=True)

    async def settle(self) -> None:
        for _ in range(12):
            await asyncio.sleep(0)


class _Driver:
    def __init__(self, world: World, run: str, place: Callable) -> None:
        self._world, self._run, self._place = world, run, place

    async def drive(self, _release: Path) -> None:
        manifest = canonical_bytes(MADE.manifest.to_dict())
        self._world.runs._journal.record(f"{self._run}/manifest", "manifest", manifest)
        while True:
            self._world.ends[self._run] = asyncio.get_running_loop().create_future()
            await self._world.ends[self._run]
            await self._place()
            if self._world.runs.get(self._run).state is RUNNING and self._run in self._world.finished:
                return


async def apply(world: World, name: str, event: Event) -> None:
    """Bring the event about, as far as it can be of this run now."""
    runs, run = world.runs, world.runs.get(name)
    end = world.ends.get(name)
    driven = run.state in AT_WORK and end is not None and not end.done()
    if event is Event.STOP:
        runs.stop(name)
    elif event is Event.DISCARD:
        runs.stop(name, discard=True)
    elif event is Event.RESUME:
        if run.state in ENDED:
            with pytest.raises(PrivityError, match="has ended for good"):
                runs.resume(name)
        else:
            runs.resume(name)
    elif event is Event.EXPIRE and may(run.state, event):
        runs._end(run, event, runs._leases.expired(run, ["party-2"]))
    elif event is Event.WAIT and driven:
        runs._noted(run, "party-2", "enrol", Note("the approval of its owner", "2026-01-01T00:00:00+00:00"))
    elif event is Event.GO_ON and driven and run.state is WAITING:
        end.set_result(None)
    elif event is Event.COMPLETE and driven and run.state is RUNNING:
        world.finished.add(name)
        end.set_result(None)
    elif event in (Event.FAIL, Event.SILENCE) and driven:
        kind = Catalogue.NO_PROGRESS if event is Event.SILENCE else Catalogue.INTERNAL
        fields = {"party": "party-2", "seconds": 1, "phase": "p"} if event is Event.SILENCE else {"reason": "r"}
        end.set_exception(PrivityError(kind, **fields))


@pytest.mark.parametrize("at_once", [1, 2])
@given(events=st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(Event)), max_size=25))
def test_runs_under_every_event(at_once: int, events: list[tuple[str, Event]]) -> None:
    """What is said is what is on disk; no more runs than places are at work; no turn is lost; ends are for good."""

    async def scenario(folder: Path, patched: pytest.MonkeyPatch) -> None:
        world = World(folder, patched, at_once)
        for name in NAMES:
            submit_signed(world.runs, MADE.operator, name, request(), name)
        await world.settle()
        for name, event in events:
            before = {run.name: run.state for run in world.runs.all()}
            if event is Event.RESTART:
                await world.stop()
                world.ends.clear()
                world.start()
            else:
                await apply(world, name, event)
            await world.settle()
            check(world, before, at_once)
        await world.stop()

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        asyncio.run(scenario(Path(folder), patched))


def check(world: World, before: dict[str, State], at_once: int) -> None:
    runs = world.runs
    for run in runs.all():
        end, stop = runs._marks.end(run.name), runs._marks.stop(run.name)
        assert (run.state in ENDED) == (end is not None)
        assert (run.state is STOPPED) == (end is None and stop is not None)
        if end is not None or stop is not None:
            assert run.state == (end or stop).state
            assert run.since == runs._marks.since(run.name) != ""
        assert before[run.name] not in ENDED or run.state is before[run.name], "an end is for good"
        told = {key.partition("/")[0] for p in PARTIES for r, key in world.desk._party(p).waiting if r == run.name}
        begun = runs._journal.keys(f"{run.name}/manifest")
        if begun and run.state in FINAL:
            assert told == ({"stopped"} if run.state is STOPPED else {"close"})
        else:
            assert told <= {"stopped"}
    states = [run.state for run in runs.all()]
    assert states.count(RUNNING) <= at_once
    if states.count(RUNNING) < at_once:
        assert QUEUED not in states, "a place is free and a run is queued"


@pytest.mark.parametrize("event", [Event.STOP, Event.DISCARD])
def test_a_run_that_is_stopped_before_it_is_retried_stands_and_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: Event
) -> None:
    async def scenario() -> None:
        world = World(tmp_path, monkeypatch, 1)
        monkeypatch.setattr(run_queue, "ROOM_SECONDS", 0.01)
        first = world.runs.get(submit_signed(world.runs, MADE.operator, "first", request(), "first"))
        with monkeypatch.context() as broken:
            broken.setattr(world.runs._schemas, "of", lambda: None)  # takes an argument: an error nobody foresaw
            async with asyncio.timeout(10):
                while not first.last_error:
                    await asyncio.sleep(0)
        await apply(world, "first", event)
        await asyncio.sleep(0.05)
        submit_signed(world.runs, MADE.operator, "second", request(), "second")
        await world.settle()
        assert first.state in FINAL
        assert world.runs.get("second").state is RUNNING
        await world.stop()

    asyncio.run(scenario())


def test_every_event_in_every_state() -> None:
    """By the shortest way to each state, then the event, then what the table says."""
    ways = {
        QUEUED: [], RUNNING: [], WAITING: [Event.WAIT], STOPPED: [Event.STOP], State.DISCARDED: [Event.DISCARD],
        State.COMPLETED: [Event.COMPLETE], State.FAILED: [Event.FAIL], State.EXPIRED: [Event.EXPIRE],
    }  # fmt: skip

    async def scenario(folder: Path, patched: pytest.MonkeyPatch, state: State, event: Event) -> State:
        world = World(folder, patched, 1)
        name = "second" if state is QUEUED else "first"
        for submitted in NAMES:
            submit_signed(world.runs, MADE.operator, submitted, request(), submitted)
        await world.settle()
        for step in ways[state]:
            await apply(world, name, step)
            await world.settle()
        run = world.runs.get(name)
        if state is WAITING:
            # The place is another's meanwhile, until that is stopped.
            world.runs.stop("second")
            world.runs.stop("third")
            await world.settle()
        assert run.state is state
        if event is Event.BEGIN and state is QUEUED:
            world.runs.stop("first")
        else:
            await apply(world, name, event)
        await world.settle()
        found = run.state
        await world.stop()
        return found

    for state, event in product(State, set(Event) - {Event.RESTART}):
        expected = after(state, event) if may(state, event) else state
        allowed = {expected}
        if (state, event) == (STOPPED, Event.RESUME):
            allowed = {QUEUED, RUNNING}
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
            found = asyncio.run(scenario(Path(folder), patched, state, event))
        assert found in allowed, (state, event)
