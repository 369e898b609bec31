"""``connect``: a consortium's runs as their operator sees them, from Python; what ``privity run`` does.

Every call dials the curator anew, in the thread that makes it: so one object serves several threads, and a notebook,
whose own event loop it does not touch.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from privity.arguments import as_arguments, progress_of, takes_run_arguments
from privity.assessment.planning.run_cost import about, plan_document, planned
from privity.awaited_calls import awaited, followed
from privity.common.consortium.member_folder import SCHEMA
from privity.common.data.schema import load_schema
from privity.common.formats.given_values import bad_option, whole_number
from privity.common.privacy.exact_numbers import ExactNumber
from privity.common.protocol.declared_options import Taker
from privity.common.protocol.run_terms import AUTO
from privity.common.public_names import public
from privity.common.runs.automatic_choice import with_algorithm
from privity.common.storage.safe_files import refuse_existing
from privity.common.text.terminal import warn
from privity.common.text.visible import in_line
from privity.deploy.operator.foreseen_refusals import forecast_of
from privity.deploy.operator.operator_client import OperatorClient
from privity.deploy.operator.operator_folder import SETTINGS, client_of, newest_manifest
from privity.deploy.operator.plan_options import Faults, parties_of, rows_held
from privity.deploy.operator.run_status import RunEvent, event_document, explained, status_document
from privity.deploy.operator.run_submission import (
    check_completed,
    foreseen_refusals,
    submit_run,
    with_concrete_algorithm,
)
from privity.given import warn_of_unkept_rules
from privity.progress_and_plans import Plan, Progress, Status
from privity.release_sources import OwnFolder
from privity.releases import Release
from privity.schemas import Schema

if TYPE_CHECKING:
    import pandas as pd


@public
def connect(config: Path | str = SETTINGS) -> Consortium:
    """The consortium of an operator's folder.

    Use it as ``with connect(...) as consortium`` or, where calls are awaited, as ``async with``.

    Args:
        config: ``operator.toml``, or the folder that it is in.

    Raises:
        PrivityError: file-missing and the like; ProblemsFound: every fault of the file.
    """
    if not isinstance(config, Path | str):
        raise bad_option("config", f"a {type(config).__name__} is no path", "Give the path of operator.toml.")
    file = Path(config).absolute()
    return Consortium(file / SETTINGS if file.is_dir() else file)


class Run:
    """A run of the consortium, by its name.

    Attributes:
        name: as in commands.
        request: what was submitted; None of a run that was submitted elsewhere.
    """

    def __init__(self, consortium: Consortium, name: str, request: dict[str, Any] | None = None) -> None:
        self.consortium, self.name, self.request = consortium, name, request

    def __repr__(self) -> str:
        if self.request is None:
            return f"Run({self.name!r})"
        why = self.request.get("automatic")
        because = f", which was chosen: {why['reason']}" if why else ""
        return f"Run({self.name!r}; {self.request['algorithm']}{because})"

    def status(self) -> Status:
        """How it stands now.

        Raises:
            PrivityError: no connection, or what the curator refused.
        """
        found = self.consortium._client().why(self.name)
        document = status_document(found)
        awaited, refusals = tuple(document.pop("awaited")), tuple(document.pop("refusals"))
        epsilon = ExactNumber(document.pop("epsilon") or "0")
        return Status(
            **document,
            epsilon=epsilon,
            awaited=awaited,
            refusals=refusals,
            sentences=tuple(map(in_line, explained(found))),
        )

    def why(self) -> str:
        """What it waits for, since when, what went wrong last, and what to do: lines of text.

        Raises:
            PrivityError: as ``status``.
        """
        return "\n".join(self.status().sentences)

    def follow(self) -> Iterator[Progress]:
        """Its progress from now on, until it has ended or was stopped. Whoever stops following has not stopped it.

        Raises:
            PrivityError: no connection, or what the curator refused.
        """
        for event in self._events():
            yield self._progress(event)

    def wait(self, *, progress: bool = True) -> Progress:
        """Wait until it has completed.

        Args:
            progress: whether to show the phases on standard error.

        Raises:
            PrivityError: run-failed: it ended otherwise, or was stopped, and why; as ``follow``.
        """
        event = RunEvent()
        with progress_of(self.name, shown=progress) as view:
            for event in self._events():
                view.update(event)
        check_completed(self.name, event)
        return self._progress(event)

    def _events(self) -> Iterator[RunEvent]:
        for event in self.consortium._client().watch(self.name):
            yield event
            self.consortium._check_open()

    def _progress(self, event: RunEvent) -> Progress:
        document = event_document(self.name, event)
        return Progress(**document | {"epsilon": ExactNumber(document["epsilon"] or "0")})

    def fetch(self, path: Path | str | None = None) -> Release:
        """The release of the run, which has completed; checked.

        Args:
            path: folder to make for it; left out, one that goes with the object.

        Raises:
            PrivityError: bad-option: there is something already; no connection, or what the curator refused; tampered.
            ProblemsFound: files that do not fit their formats, or each other.
        """
        own = OwnFolder()
        folder = own.release if path is None else Path(path)
        refuse_existing(folder, "path")
        self.consortium._client().fetch(self.name, folder)
        return Release._of(folder, own if path is None else None)

    def stop(self, *, discard: bool = False) -> Status:
        """Stop it, queued or at work; what was charged stays charged.

        Args:
            discard: for good: nothing is kept, and it cannot be resumed.

        Raises:
            PrivityError: no connection, or what the curator refused.
        """
        self.consortium._client().stop(self.name, discard=discard)
        return self.status()

    def resume(self) -> Status:
        """Let it go on where it was stopped, at no new charge for what was answered.

        Raises:
            PrivityError: no connection, or what the curator refused.
        """
        self.consortium._client().resume(self.name)
        return self.status()


class Consortium:
    """The runs of a consortium, for its operator. ``connect`` makes it.

    Args:
        config: ``operator.toml``.
    """

    def __init__(self, config: Path) -> None:
        self._config = config
        self._closed = False
        self._address = self._client().address

    def __repr__(self) -> str:
        return f"Consortium(curator={self._address!r}{', closed' if self._closed else ''})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> AsyncConsortium:
        return AsyncConsortium(self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Make no more calls. Runs go on at the curator."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the connection is closed: connect again")

    def _client(self) -> OperatorClient:
        self._check_open()
        return client_of(self._config)

    @takes_run_arguments(Taker.PLAN)
    def plan(self, asked: dict[str, Any], *, rows: int | Sequence[int] | Mapping[str, int] | None = None) -> Plan:
        """What a run of this consortium would cost, and which parties would refuse it by the limits that they publish.

        Args:
            rows: of all parties together, or of each, in the manifest's order or by name.
            settings: the algorithm's own. All other arguments are as of ``submit``.

        Raises:
            ProblemsFound: every fault at once.
            PrivityError: bad-option: an argument that cannot be; no connection.
        """
        self._check_open()
        if rows is None:
            hint = 'Give those of all together, rows=9000, or of each: rows={"north": 5000, "south": 4000}.'
            raise bad_option("rows", "nobody says how many the parties have, and noise weighs by it", hint)
        with as_arguments():
            faults, of_run = Faults(), (asked["parties"], asked["tolerate"])
            names, left_out = faults.collect("config", lambda: parties_of(self._config, faults, *of_run)) or (
                ["party 1"],
                [],
            )
            held = rows_held(names, _rows_text(rows, names), faults)
            file = self._config.parent / SCHEMA
            over = faults.collect("schema", lambda: about(load_schema(file), asked["attributes"]))
            faults.raise_any()
            assert over is not None
            warn_of_unkept_rules(over, calls=2)
            request = with_algorithm(asked, over, tuple(held.values()))
            found = plan_document(request, held, planned(request, over, held))
            besides = {"left_out": left_out} if left_out else {}
            return Plan(found | besides | {"foreseen": forecast_of(self._config, request).document()})

    @takes_run_arguments(Taker.SUBMIT)
    def submit(
        self,
        asked: dict[str, Any],
        *,
        name: str | None = None,
        token: str | None = None,
        held: int | Sequence[int] | Mapping[str, int] | None = None,
    ) -> Run:
        """Submit a run. Parties approve or reject it; ``wait`` for it, and ``fetch`` what it releases.

        Of a party that would refuse it, by the limits that it publishes, ``warnings`` has a sentence.

        Args:
            {options}
            name: what to call the run; a new name is made up if left out.
            token: the same token again names the same run; the name if left out.
            held: rows that the parties have, as of ``plan``, by which an algorithm is chosen that is not named.
            settings: the algorithm's own.

        Raises:
            PrivityError, ProblemsFound: an argument that cannot be, or a setting that there is not; no connection, or
                what the curator refused.
        """
        self._check_open()
        if asked["algorithm"] == AUTO and held is None:
            hint = "Give them, held=9000 in all or of each; or name an algorithm: plan(..., rows=9000) tells which."
            raise bad_option("held", "no algorithm is named, and nobody says how many rows the parties have", hint)
        with as_arguments():
            concrete = with_concrete_algorithm(self._config, asked, self._held(asked, held))
            if (file := self._config.parent / SCHEMA).exists():
                warn_of_unkept_rules(about(load_schema(file), asked["attributes"]), calls=2)
            if (foreseen := foreseen_refusals(self._config, concrete)) is not None:
                for party in foreseen.refusing:
                    warn(f"{party.party} would refuse the run: {'; '.join(party.reasons)}", calls=2)
            return Run(self, submit_run(self._config, concrete, name, token), concrete)

    def _held(
        self, asked: dict[str, Any], held: int | Sequence[int] | Mapping[str, int] | None
    ) -> tuple[int, ...] | None:
        """Rows of each party of a run, in the manifest's order."""
        if held is None:
            return None
        faults = Faults()
        names, _ = parties_of(self._config, faults, asked["parties"], asked["tolerate"])
        found = rows_held(names, _rows_text(held, names), faults)
        faults.raise_any()
        return tuple(found.values())

    def run(self, name: str) -> Run:
        """The run of this name; whether there is one, its first call says."""
        self._check_open()
        return Run(self, name)

    def runs(self) -> pd.DataFrame:
        """The newest runs of the curator, the oldest of them first, a line each; ``attrs`` counts those left out.

        Raises:
            PrivityError: no connection, or what the curator refused.
        """
        import pandas as pd

        found = self._client().runs()
        columns = ("submitted", "submitter", "run", "algorithm", "epsilon", "state", "phase", "reason")
        lines = [
            {key: in_line(document[key]) for key in columns} | {"epsilon": float(Fraction(document["epsilon"]))}
            for document in map(status_document, found.runs)
        ]
        table = pd.DataFrame(lines, columns=columns)
        table.attrs["left_out"] = found.left_out
        return table

    def parties(self) -> list[str]:
        """The parties, by the manifest that the curator goes by.

        Raises:
            PrivityError: no connection; a manifest that the organiser did not sign.
        """
        self._check_open()
        return list(newest_manifest(self._config).members)

    def schema(self) -> Schema:
        """The schema in the operator's folder.

        Raises:
            PrivityError: file-missing: none was accepted yet; ProblemsFound: every fault of it.
        """
        return Schema(load_schema(self._config.parent / SCHEMA))


class AsyncRun:
    """A run of the consortium, by its name; every call is awaited.

    Attributes:
        name: as in commands.
    """

    def __init__(self, run: Run) -> None:
        self._same, self.name = run, run.name

    def __repr__(self) -> str:
        return f"Async{self._same!r}"

    status = awaited(Run.status)
    why = awaited(Run.why)
    wait = awaited(Run.wait)
    fetch = awaited(Run.fetch)
    stop = awaited(Run.stop)
    resume = awaited(Run.resume)

    @wraps(Run.follow)
    def follow(self) -> AsyncIterator[Progress]:
        return followed(self._same.follow(), f"follow {self.name}")


def _awaited_run(submit: Callable[..., Run]) -> Callable[..., Coroutine[Any, Any, AsyncRun]]:
    """The same method, to be awaited, whose run is awaited too."""

    @wraps(submit)
    async def call(self: Any, **asked: Any) -> AsyncRun:
        return AsyncRun(await asyncio.to_thread(submit, self._same, **asked))

    return call


class AsyncConsortium:
    """The runs of a consortium, for its operator; every call is awaited. ``async with connect(...)`` gives it."""

    def __init__(self, consortium: Consortium) -> None:
        self._same = consortium

    def __repr__(self) -> str:
        return f"Async{self._same!r}"

    plan = awaited(Consortium.plan)
    submit = _awaited_run(Consortium.submit)
    runs = awaited(Consortium.runs)
    parties = awaited(Consortium.parties)
    schema = awaited(Consortium.schema)

    def run(self, name: str) -> AsyncRun:
        """The run of this name; whether there is one, its first call says."""
        return AsyncRun(self._same.run(name))


def _rows_text(rows: int | Sequence[int] | Mapping[str, int], names: Sequence[str]) -> str:
    """The numbers of rows as the command line writes them."""
    if isinstance(rows, Mapping):
        if set(rows) != set(names):
            hint = f"Give one for each party: {', '.join(names)}."
            raise bad_option("rows", f"they are of {', '.join(map(str, rows))}", hint)
        rows = [rows[name] for name in names]
    counts = rows if isinstance(rows, Sequence) and not isinstance(rows, str) else [rows]
    return ",".join(str(whole_number("rows", count, 1)) for count in counts)
