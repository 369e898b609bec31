"""A consortium's processes during one run: started, killed by their switches, started again from their own files."""

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
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
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
from privity.party.approvals import Approvals
from tests.crash.node import CURATOR, Life, live
from tests.crash.recording import Records
from tests.crash.switch import Kill
from tests.harness.tables import FIELDS, people
from tests.harness.zygote import Forked, readable, zygote

RUN = "crash"
PATIENCE_SECONDS = 30.0
DEADLINE_SECONDS = 240.0
KEY_BITS = 2048
Kills = Callable[[int], Kill | None]
"""The kill of a process's life with this number, from 0."""

operator_client.RETRY_SECONDS = 0.02  # a curator that is started again is there within milliseconds


class StuckError(Exception):
    """The run did not come to its end."""


@dataclass(frozen=True)
class Run:
    """What is run, and by how many parties.

    Attributes:
        fields: how many of the made-up table's attributes there are; rows: of each party.
        manual: whether the owners say yes to the run.
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
            file.write_text(text.replace('"auto"', '"manual"') if self.manual else text, encoding="utf-8")
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
    """What is left of a run: the folders, the records, and the state that the operator was told."""

    run: Run
    consortium: Consortium
    records: Records
    state: str
    reason: str
    lives: Mapping[str, int]


class World:
    """One run over a copy of a consortium, in processes of its own.

    Args:
        folder: is made; holds the copy, the logs and the records.
        seed: as for ``Life``.
        kills: by name of the process; whoever is not named lives on.
        disturb: called every few milliseconds once the run was submitted: may kill, too.
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
        self._disturb = disturb
        self._port = _free_port()
        self._client = OperatorClient(f"{HOST}:{self._port}", *self.consortium.operator_files)
        point_to(self.consortium, self._port)
        settings = self.consortium.curator / "curator.toml"
        text = settings.read_text(encoding="utf-8").replace("127.0.0.1:0", f"127.0.0.1:{self._port}")
        settings.write_text(text, encoding="utf-8")

    def complete(self) -> Outcome:
        """Start every process, submit the run, start again whoever is killed, until the run has ended.

        Raises:
            StuckError: a process ended in another way than by a kill, or the run did not end.
        """
        operator = threading.Thread(target=self._operate, daemon=True)
        self._state: tuple[str, str] | None = None
        self._over = False
        self._deadline = time.monotonic() + DEADLINE_SECONDS
        try:
            for who in (CURATOR, *self.names):
                self._start(who)
            while not self._closed():
                self._tend()
                if not operator.ident and any(self.records.of("serves")):
                    operator.start()
                elif operator.ident:
                    self._disturb(self)
            while operator.is_alive():
                self._tend()
        finally:
            self._over = True
            self._end_all()
        self.records.news()
        assert self._state is not None
        return Outcome(
            self.template.run, self.consortium, self.records, self._state[0], self._state[1], dict(self.lives)
        )

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
            if self.template.run.manual and record.kind == "wrote" and f"#asked/{RUN}" in record.content[1]:
                self._approve(record.who)
        if time.monotonic() > self._deadline:
            raise StuckError("the run did not end: " + "; ".join(self._log(who) for who in (CURATOR, *self.names)))

    def _approve(self, party: str) -> None:
        """What the owner does in a process of its own; it is done once, however often the node starts."""
        journal = Journal(self.consortium.party(party) / "state" / "journal.sqlite")
        approvals = Approvals(journal)
        approvals.note_shown(approvals.of(RUN))
        approvals.approve(approvals.of(RUN))
        journal.close()

    def _log(self, who: str) -> str:
        file = self._folder / f"{who}.log"
        return f"{who}: " + " | ".join(file.read_text(errors="replace").splitlines()[-6:]) if file.exists() else who

    def _operate(self) -> None:
        """Submit, say yes where it is asked for, and ask for the end: what people at the nodes do."""
        self._insist(lambda: self._client.submit(self.template.run.request(), "token", RUN))
        while not self._over:
            state = self._insist(lambda: {status.run: status for status in self._client.runs().runs})
            status = None if state is None else state.get(RUN)
            if status is not None and status.state in ("COMPLETED", "FAILED", "STOPPED", "DISCARDED", "EXPIRED"):
                self._state = (status.state, status.reason)
                return
            self._until_closed()

    def _until_closed(self) -> None:
        """The end shows in the records; asking the curator all the time would slow it down."""
        while not self._over and not self._closed():
            time.sleep(0.005)

    def _closed(self) -> bool:
        """Whether the curator's journal says so, in any of the ways in which a record may end before a kill."""
        marks = (f"#closed/{RUN}", f"#stopped/{RUN}")
        return any(
            r.kind in ("journaled", "wrote") and str(r.content[-2 if r.kind == "wrote" else 0]).endswith(marks)
            for r in list(self.records.all)
            if r.who == CURATOR
        )

    def _insist(self, call: Callable[[], Any]) -> Any:
        """Call until the curator, that may just be dead, answers."""
        while not self._over:
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
