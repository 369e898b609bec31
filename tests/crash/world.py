"""A consortium's processes during its runs: started, killed by their switches, started again from their own files."""

from __future__ import annotations

import itertools
import json
import shutil
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from privity.common.crypto import paillier
from privity.common.data.schema import load_schema
from privity.common.errors import PrivityError
from privity.common.protocol.secure_sum_method import Method, sum_kind
from privity.common.storage.journal import Journal
from privity.deploy.consortium.provisioning import HOST, Consortium, Limits, point_to, provision
from privity.deploy.operator import operator_client
from privity.deploy.operator.operator_client import OperatorClient
from privity.deploy.operator.run_submission import submit_to
from privity.party.approvals import Approvals
from tests.crash.node import CURATOR, Life, live
from tests.crash.recording import Record, Records
from tests.crash.switch import Kill
from tests.harness.receivers import webhook
from tests.harness.tables import FIELDS, people
from tests.harness.zygote import Forked, readable, zygote

PATIENCE_SECONDS = 30.0
DEADLINE_SECONDS = 240.0
KEY_BITS = 2048
Kills = Callable[[int], Kill | None]
"""The kill of a process's life with this number, from 0."""

operator_client.RETRY_SECONDS = 0.02  # a curator that is started again is there within milliseconds


class StuckError(Exception):
    """The run did not come to its end."""


class Course(Enum):
    """What people do about a run."""

    STRAIGHT = "it is submitted; owners who are asked approve it"
    LATE = "owners approve it when all others have ended"
    RESUMED = "the operator stops it at work, and resumes it when every party was told"
    DISCARDED = "the operator discards it at work"
    UNDECIDED = "owners say nothing; the operator discards it when all others but late ones have ended"


@dataclass(frozen=True)
class Run:
    """What is run, and by how many parties; once, or several times side by side.

    Attributes:
        fields: how many of the made-up table's attributes there are; rows: of each party.
        manual: whether the owners are asked to approve runs.
        courses: of each run, in the order in which they are submitted: its name, and what people do about it.
        notices: whether everybody tells a webhook what happens.
    """

    algorithm: str = "one-way"
    settings: Mapping[str, Any] = field(default_factory=dict)
    parties: int = 3
    fields: tuple[str, ...] = ("ward", "smoker", "score")
    rows: int = 50
    secure_sum: str = "masks"
    epsilon: str = "1"
    delta: str = "0"
    manual: bool = False
    courses: tuple[tuple[str, Course], ...] = (("crash", Course.STRAIGHT),)
    notices: bool = False

    @property
    def called(self) -> tuple[str, ...]:
        """The names of the runs."""
        return tuple(name for name, _ in self.courses)

    def ends(self, name: str) -> str:
        """The state in which the run of this name is to end."""
        discarded = dict(self.courses)[name] in (Course.DISCARDED, Course.UNDECIDED)
        return "DISCARDED" if discarded else "COMPLETED"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"party-{k}" for k in range(1, self.parties + 1))

    @property
    def key_bits(self) -> int | None:
        return None if self.secure_sum == Method.MASKS.value else KEY_BITS

    def request(self) -> dict[str, Any]:
        return {
            "format_version": 1,
            "algorithm": self.algorithm,
            "settings": dict(self.settings),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "tolerate": 1,
            "key_bits": self.key_bits,
            "secure_sum": self.secure_sum,
        }

    def provide(self, folder: Path) -> Template:
        """Write the consortium that every run of this kind starts from."""
        folder.mkdir(parents=True)
        schema = folder / "schema.json"
        fields = [entry for entry in FIELDS if entry["name"] in self.fields]
        schema.write_text(json.dumps({"name": "people", "fields": fields}), encoding="utf-8")
        frames = {n: people(self.rows, seed=k)[list(self.fields)] for k, n in enumerate(self.names, start=1)}
        limits = Limits(Fraction(100), 1, sum_kind(self.secure_sum, None), self.key_bits, Fraction(self.delta))
        consortium = provision(folder / "consortium", frames, load_schema(schema), limits, patience=PATIENCE_SECONDS)
        for name in self.names:
            file = consortium.party(name) / "policy.toml"
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace('"by-policy"', '"manual"') if self.manual else text, encoding="utf-8")
        key = None
        if self.key_bits is not None:
            key = folder / "paillier.json"
            _, secret = paillier.generate_keypair(self.key_bits)
            key.write_text(json.dumps(paillier.secret_to_dict(secret)), encoding="ascii")
        return Template(self, consortium, key)


@dataclass(frozen=True)
class Template:
    """A provisioned consortium; each run goes over a copy of its folders."""

    run: Run
    consortium: Consortium
    key: Path | None

    def copy(self, folder: Path) -> Consortium:
        shutil.copytree(self.consortium.folder, folder)
        return replace(self.consortium, folder=folder)


@dataclass(frozen=True)
class Outcome:
    """What is left of runs: the folders, the records, and the state of each and why, as the operator was told."""

    run: Run
    consortium: Consortium
    records: Records
    states: Mapping[str, tuple[str, str]]
    lives: Mapping[str, int]


class World:
    """The runs of a template over a copy of its consortium, in processes of their own.

    Args:
        folder: is made; holds the copy, the logs and the records.
        seed: as for ``Life``.
        kills: by name of the process; whoever is not named lives on.
        disturb: called every few milliseconds once the runs were submitted: may kill, too.
    """

    def __init__(
        self,
        template: Template,
        folder: Path,
        *,
        seed: int | None = 1,
        kills: Mapping[str, Kills] | None = None,
        variant: str = "",
        disturb: Callable[[World], None] = lambda _world: None,
    ) -> None:
        folder.mkdir(parents=True)
        self.template, self._folder = template, folder
        self.names = template.run.names
        self.consortium = template.copy(folder / "consortium")
        self.records = Records(folder / "records.jsonl")
        self.lives: Counter[str] = Counter()
        self._seed, self._kills, self._variant = seed, kills or {}, variant
        self._alive: dict[str, Forked] = {}
        self._states: dict[str, tuple[str, str]] = {}
        self._asked: set[tuple[str, str]] = set()
        self._approved: set[tuple[str, str]] = set()
        self._at_work: set[str] = set()
        self._noted: set[tuple[str, str]] = set()
        self._stopped: set[str] = set()
        self._paused: set[tuple[str, str]] = set()
        self._closed: set[str] = set()
        self._disturb = disturb
        self._port = _free_port()
        self._client = OperatorClient(f"{HOST}:{self._port}", *self.consortium.operator_files)
        point_to(self.consortium, self._port)
        settings = self.consortium.curator / "curator.toml"
        text = settings.read_text(encoding="utf-8").replace("127.0.0.1:0", f"127.0.0.1:{self._port}")
        settings.write_text(text, encoding="utf-8")

    def complete(self) -> Outcome:
        """Start every process, submit the runs, start again whoever is killed, until every run has ended.

        Raises:
            StuckError: a process ended in another way than by a kill, or a run did not end, or nobody was told.
        """
        operator = threading.Thread(target=self._operate, daemon=True)
        self._over = False
        self._deadline = time.monotonic() + DEADLINE_SECONDS
        try:
            with ExitStack() as stack:
                self._hook = stack.enter_context(webhook()) if self.template.run.notices else None
                if self._hook is not None:
                    self._give_hook(self._hook.url)
                for who in (CURATOR, *self.names):
                    self._start(who)
                while not operator.ident or operator.is_alive() or self._untold():
                    self._tend()
                    if not operator.ident and any(self.records.of("serves")):
                        operator.start()
                    elif operator.is_alive():
                        self._disturb(self)
        finally:
            self._over = True
            self._end_all()
        self.records.news()
        assert set(self._states) == set(self.template.run.called)
        return Outcome(self.template.run, self.consortium, self.records, self._states, dict(self.lives))

    def _give_hook(self, url: str) -> None:
        for file in (self.consortium.curator / "curator.toml", *self._of_parties("party.toml")):
            with file.open("a", encoding="utf-8") as settings:
                settings.write(f"\n[notices]\nwebhook = {json.dumps(url)}\n")

    def _of_parties(self, name: str) -> list[Path]:
        return [self.consortium.party(party) / name for party in self.names]

    def _told(self) -> set[tuple[str, ...]]:
        """What came to the webhook: the node, the run, and what became of it."""
        posted = [] if self._hook is None else list(self._hook.posted)
        return {
            (document["node"], *notice["name"].split("/")[:2]) for document in posted for notice in document["notices"]
        }

    def _untold(self) -> set[tuple[str, ...]]:
        """Ends and stops of runs of which the operator or an owner was not told yet."""
        if self._hook is None:
            return set()
        due = {(CURATOR, run, state) for run, (state, _) in self._states.items()}
        due |= {(party, run, "ended") for run in self._states for party in self.names}
        due |= {(CURATOR, run, "STOPPED") for run in self._states if run in self._stopped}
        return due - self._told()

    def _waits(self, run: str) -> bool:
        """Whether everybody knows that the run waits for every owner: the curator, and who is to be told."""
        notices = {(node, run, "waits") for node in (CURATOR, *self.names)} if self._hook else set()
        return notices <= self._told() and all((run, party) in self._noted for party in self.names)

    def _start(self, who: str) -> None:
        number = self.lives[who]
        self.lives[who] += 1
        folder = self.consortium.curator if who == CURATOR else self.consortium.party(who)
        kill = self._kills[who](number) if who in self._kills else None
        key = None if self.template.key is None else str(self.template.key)
        life = Life(who, number, str(folder), str(self._folder / "records.jsonl"), self._seed, key, self._variant, kill)
        with (self._folder / f"{who}.log").open("ab") as log:
            self._alive[who] = zygote(live.__module__).start(f"{live.__module__}:live", [asdict(life)], output=log)

    def kill(self, who: str) -> None:
        """SIGKILL the node of this name."""
        self._alive[who].kill()

    def _tend(self) -> None:
        ended = readable(self._alive.values(), 0.005)
        for who in [who for who, process in self._alive.items() if process in ended]:
            if self._alive.pop(who).wait() != -signal.SIGKILL:
                raise StuckError(f"{who} ended by itself: {self._log(who)}")
            self._start(who)
        for record in self.records.news():
            self._note(record)
        for party, run in sorted(self._asked - self._approved):
            if self._may_approve(run):
                self._approve(party, run)
                self._approved.add((party, run))
        if time.monotonic() > self._deadline:
            logs = "; ".join(self._log(who) for who in (CURATOR, *self.names))
            raise StuckError(f"the runs did not end, or {sorted(self._untold())} were not told: {logs}")

    def _note(self, record: Record) -> None:
        """Keep what people know of the runs, from what nodes write."""
        key, by_curator = record.key, record.who == CURATOR
        for name, course in self.template.run.courses:
            if by_curator and key.startswith(f"#waits/{name}/"):
                self._noted.add((name, key.split("/")[2]))
            elif by_curator and key.startswith(f"{name}/answer/begin/"):
                self._at_work.add(name)
            elif by_curator and (
                key == f"#closed/{name}" or (key == f"#stopped/{name}" and course is not Course.RESUMED)
            ):
                self._closed.add(name)
            elif not by_curator and key == f"#stopped/{name}":
                self._paused.add((name, record.who))
            elif record.kind == "wrote" and key == f"#asked/{name}" and self.template.run.manual:
                self._asked.add((record.who, name))

    def _approve(self, party: str, run: str) -> None:
        """What the owner does in a process of its own; it is done once, however often the node starts."""
        journal = Journal(self.consortium.party(party) / "state" / "journal.sqlite")
        approvals = Approvals(journal)
        approvals.approve(run, approvals.of(run).spec.digest)
        journal.close()

    def _log(self, who: str) -> str:
        file = self._folder / f"{who}.log"
        return f"{who}: " + " | ".join(file.read_text(errors="replace").splitlines()[-6:]) if file.exists() else who

    def _operate(self) -> None:
        """Submit, do what the courses of the runs say, and ask for the ends: what the operator does."""
        run = self.template.run
        for name in run.called:
            self._insist(
                partial(submit_to, self._client, self.consortium.manifest, run.request(), f"token-{name}", name)
            )
        while not self._over and not self._closed.issuperset(run.called):
            for name, course in run.courses:
                if name not in self._closed:
                    self._act(name, course)
            # Ends show in the records; asking the curator all the time would slow it down.
            time.sleep(0.005)
        listed = self._insist(self._client.runs)
        if listed is not None:
            self._states = {status.run: (status.state, status.reason) for status in listed.runs}

    def _act(self, name: str, course: Course) -> None:
        if course is Course.RESUMED and name in self._at_work and name not in self._stopped:
            self._insist(partial(self._client.stop, name), name)
            self._stopped.add(name)
        elif course is Course.RESUMED and self._paused.issuperset((name, party) for party in self.names):
            self._insist(partial(self._client.resume, name), name)
        elif (course is Course.DISCARDED and name in self._at_work) or (
            course is Course.UNDECIDED and self._others_closed(name, Course.LATE) and self._waits(name)
        ):
            self._insist(partial(self._client.stop, name, discard=True), name)

    def _others_closed(self, name: str, *but: Course) -> bool:
        others = {other for other, course in self.template.run.courses if course not in but and other != name}
        return others <= self._closed

    def _may_approve(self, run: str) -> bool:
        course = dict(self.template.run.courses)[run]
        return course is not Course.UNDECIDED and (
            course is not Course.LATE or (self._others_closed(run) and self._waits(run))
        )

    def _insist(self, call: Callable[[], Any], about: str = "") -> Any:
        """Call until the curator, that may just be dead, answers, or the run that it is about has ended."""
        while not self._over and about not in self._closed:
            try:
                return call()
            except PrivityError:
                time.sleep(0.02)
        return None

    def _end_all(self) -> None:
        """SIGKILL, for everybody: the files must be good at any moment."""
        for process in self._alive.values():
            process.kill()
        for process in self._alive.values():
            process.wait()
        self._alive.clear()


def once(kill: Kill) -> Kills:
    """The first life ends so; the second one goes on."""
    return lambda life: kill if life == 0 else None


def again_and_again(_life: int) -> Kill:
    """Every life ends after the first write that changes something."""
    return Kill("changed", 1)


def folders(place: Path) -> Iterator[Path]:
    """Names for worlds, one after another."""
    return (place / f"world-{number}" for number in itertools.count())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
