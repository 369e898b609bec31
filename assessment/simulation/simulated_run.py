"""``privity simulate``: a curator and K parties as processes on one machine, over real TLS and gRPC."""

from __future__ import annotations

import queue
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privity.assessment.evaluation.simulated_evaluation import evaluate_simulation
from privity.assessment.simulation.child_processes import ProcessGroup
from privity.assessment.simulation.table_splitting import kind_of_split, split_rows
from privity.common.data.coded_table import decode
from privity.common.data.declared_values import as_declared
from privity.common.data.frame_values import number_of, read_column, text_of
from privity.common.data.history_reading import frame_source, read_histories
from privity.common.data.schema import Schema, load_schema
from privity.common.data.table_reading import encode, read_rows
from privity.common.data.written_values import as_texts
from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.run_terms import AUTO
from privity.common.release.evaluation.scores_over_parties import check_evaluation
from privity.common.release.synthetic_rows import check_release_size
from privity.common.runs.automatic_choice import check_automatic, with_algorithm
from privity.common.runs.carried_runs import check_run
from privity.common.runs.run_request import RunRequest, parse_request
from privity.common.storage.canonical_json import canonical_bytes
from privity.common.storage.safe_files import refuse_existing
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.wire.v1.privity_pb2 import RunEvent
from privity.deploy.consortium.provisioning import HOST, Consortium, Limits, point_to, provision
from privity.deploy.operator.operator_client import OperatorClient
from privity.deploy.operator.run_submission import check_completed, fetch_learnt, submit_to
from privity.party.sources.address import Address, parse_address
from privity.party.sources.open_rows import load_table
from privity.party.sources.pass_progress import a_pass_over

if TYPE_CHECKING:
    import pandas as pd

START_SECONDS = 60
POLL_SECONDS = 0.05
CHECK_SECONDS = 0.5


ONE_OWNER = "A single owner needs no secure sum: that is single-party mode, `privity synthesize`."


@dataclass(frozen=True)
class Simulation:
    """What to simulate; see ``privity simulate --help``.

    Attributes:
        request: what is asked of the run, as a run request with every option.
        data: a path or a URL, or the rows themselves.
        schema: its file, or what was read of one.
        rows: so many of the data, drawn at random; None stands for all.
        events: of histories, as ``data``, which has the persons then.
        table_map: file of what the data call the columns and values of the schema.
    """

    request: dict[str, Any]
    data: str | pd.DataFrame
    schema: Path | Schema
    parties: int
    out: Path
    split: str
    rows: int | None
    patience: float
    seed: int | None
    evaluate: Path | None = None
    dialect: Mapping[str, Any] = field(default_factory=dict)
    table_map: Path | None = None
    events: str | pd.DataFrame | None = None

    @cached_property
    def asked(self) -> RunRequest:
        return parse_request(canonical_bytes(self.request))


def simulate(task: Simulation, on_event: Callable[[RunEvent], None]) -> Path:
    """Run it; the release folder ``task.out`` appears at the end, or not at all.

    If the run ends after it has learnt, that is there: a release without rows, and release-unfinished is raised.

    ``seed`` decides only which rows go to which party. All noise is the operating system's. The folder
    ``task.evaluate``, if there is one to make, holds what the owner of all rows can say about the release.
    """
    _check(task)
    schema = load_schema(task.schema) if isinstance(task.schema, Path) else task.schema
    schema.require_reviewed(task.schema if isinstance(task.schema, Path) else "the schema")
    if schema.absent_rows:
        hint = 'Take "absentRows" out of the schema: in a simulation each row is a person.'
        raise _bad("schema", "it has absent rows, and parties of a simulation know no persons", hint)
    if task.asked.algorithm != AUTO:
        ALGORITHMS[task.asked.algorithm].check_request(task.asked.settings, schema, task.asked.delta)
    # Every fault of the table is told here, where its owner reads it, before any process starts.
    events = None
    if schema.history is None:
        parts, rest = share_out(task, schema)
    else:
        parts, rest, events = share_out_histories(task, schema)
    asked = with_algorithm(task.request, schema, [len(part) for part in parts])
    chosen = parse_request(canonical_bytes(asked))
    ALGORITHMS[chosen.algorithm].check_request(chosen.settings, schema, chosen.delta)
    check_run(chosen, schema, [len(part) for part in parts])
    check_evaluation(chosen.evaluation, chosen.algorithm, chosen.epsilon, schema)
    check_release_size(sum(map(len, parts)), schema)
    with tempfile.TemporaryDirectory(prefix="privity-simulation-") as scratch:
        frames = {f"party-{k}": part for k, part in enumerate(parts, start=1)}
        limits = Limits(chosen.epsilon, chosen.tolerate, chosen.secure_sum, chosen.key_bits, chosen.delta)
        consortium = provision(
            Path(scratch) / "consortium", frames, schema, limits,
            patience=task.patience, split=kind_of_split(task.split),
            events=None if events is None else dict(zip(frames, events, strict=True)),
        )  # fmt: skip
        with ProcessGroup(Path(scratch) / "logs") as group:
            port = start_nodes(consortium, group)
            client = OperatorClient(f"{HOST}:{port}", *consortium.operator_files)
            run = submit_to(client, consortium.manifest, asked)
            last = _follow(client, run, group, on_event)
            fetch_learnt(client, run, last, task.out, signatures=False)
            check_completed(run, last)
            client.fetch(run, task.out, signatures=False)
    if task.evaluate is not None:
        evaluate_simulation(task.out, task.evaluate, frames, rest)
    return task.out


def start_nodes(consortium: Consortium, group: ProcessGroup) -> int:
    """Start the curator and the parties; the curator's port."""
    port_file, config = consortium.curator / "port", consortium.curator / "curator.toml"
    group.start("curator", ["curator", "serve", "--config", str(config), "--port-file", str(port_file)])
    port = _wait_for_port(port_file, group)
    point_to(consortium, port)
    for name in consortium.members:
        group.start(name, ["party", "serve", "--config", str(consortium.party(name) / "party.toml")])
    return port


def share_out(task: Simulation, schema: Schema) -> tuple[list[pd.DataFrame], pd.DataFrame]:
    """The rows of each party, and the rows of the table that the simulation leaves out."""
    generator = np.random.default_rng(task.seed)
    # Values drawn for codes take as much randomness as the rows need: from a generator that no position comes from.
    drawing = generator.spawn(1)[0]
    if isinstance(task.data, str):
        address = parse_address(task.data, dialect=task.dialect, table_map=task.table_map)
        frame = _text_rows(address, schema, drawing)
    else:
        frame = _texts_of_frame(task.data, schema, drawing)
    rest = frame.iloc[:0]
    if task.rows is not None:
        if task.rows > len(frame):
            raise _bad("rows", f"the table has {len(frame)} rows", "Ask for fewer.")
        order = generator.permutation(len(frame))
        frame, rest = (frame.iloc[np.sort(rows)] for rows in (order[: task.rows], order[task.rows :]))
    return split_rows(frame, task.parties, task.split, generator), rest


def share_out_histories(
    task: Simulation, schema: Schema
) -> tuple[list[pd.DataFrame], pd.DataFrame, list[pd.DataFrame]]:
    """The persons of each party, those that the simulation leaves out, and the events of each party's persons."""
    history = schema.history
    assert history is not None
    if task.events is None:
        raise _bad("events", "the schema is of persons and their events", "Give the table of events, too.")
    if task.evaluate is not None:
        raise _bad("evaluate", "histories are not evaluated here yet", "Leave it out.")
    persons = _texts_of(task.data, history.persons, task.dialect)
    events = _texts_of(task.events, history.events, task.dialect)
    # Every fault of both is told here; texts are those of the schema by now.
    read_histories(schema.released, frame_source(persons), frame_source(events), history.names).steps()
    generator = np.random.default_rng(task.seed)
    rest = persons.iloc[:0]
    if task.rows is not None:
        if task.rows > len(persons):
            raise _bad("rows", f"the table has {len(persons)} persons", "Ask for fewer.")
        order = generator.permutation(len(persons))
        persons, rest = (persons.iloc[np.sort(rows)] for rows in (order[: task.rows], order[task.rows :]))
    parts = split_rows(persons, task.parties, task.split, generator)
    return parts, rest, [events[events[history.reference].isin(part[history.key])] for part in parts]


def _texts_of_columns(frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Each value of a frame as a text that stands for the same in the form of releases; keys as they are known."""
    import pandas as pd

    known = {attribute.name: attribute for attribute in schema.released.attributes}
    known |= {column.name: column.attribute for column in schema.unread}
    found = {}
    for name, column in zip(map(str, frame.columns), (frame.iloc[:, a] for a in range(frame.shape[1])), strict=True):
        place = schema.names.index(name) if name in schema.names else None
        texts = []
        for value in read_column(column):
            read = value if place is None else as_declared(schema, place, value, computed=False)
            moment = None if name not in known or known[name].temporal is None else number_of(known[name], read)
            texts.append(text_of(read) if moment is None else known[name].text_of(moment))
        found[name] = texts
    return pd.DataFrame(found, dtype=object)


def _texts_of(data: str | pd.DataFrame, schema: Schema, dialect: Mapping[str, Any]) -> pd.DataFrame:
    """A table of histories as text, each value as the schema writes it."""
    import pandas as pd

    if not isinstance(data, str):
        return _texts_of_columns(data, schema)
    address = parse_address(data, dialect=dialect)
    if not address.holds_texts:
        raise _bad("data", f"{address.name} is no CSV file, and histories are read from these", "Export it.")
    return pd.concat([read_rows(file, address.read_by(schema)) for file in address.files], ignore_index=True)


def _text_rows(address: Address, schema: Schema, generator: np.random.Generator) -> pd.DataFrame:
    """The joint table as text, to be shared out in files; of another store or by a map, texts with the rows' codes."""
    import pandas as pd

    if not address.holds_texts or address.table_map is not None:
        return as_texts(decode(load_table(address, schema), generator), schema).map(str)
    schema = address.read_by(schema)
    with a_pass_over(address.files) as reading:
        frames = [read_rows(file, schema, reading(file)) for file in address.files]
    frame = pd.concat(frames, ignore_index=True)
    # Texts are those of the schema by now.
    encode(frame, schema.released, address.name)
    return frame


def _texts_of_frame(given: pd.DataFrame, schema: Schema, generator: np.random.Generator) -> pd.DataFrame:
    """Each value of a frame by its own text; where a file would have it coded otherwise, a text with its code."""
    coded = encode(given, schema, "the table")
    drawn = as_texts(decode(coded, generator), schema).map(str)
    columns = {str(name): column for name, (_, column) in zip(given.columns, given.items(), strict=True)}
    for place, attribute in enumerate(schema.attributes):
        if attribute.name not in columns:
            continue  # it is computed of other columns
        values = read_column(columns[attribute.name])
        texts = [value if isinstance(value, str) else value.text for value in values]
        codes = {text: attribute.code_of(text) for text in set(texts)}
        same = [codes[text] == code for text, code in zip(texts, coded.columns[place].tolist(), strict=True)]
        drawn[attribute.name] = np.where(same, np.array(texts, dtype=object), drawn[attribute.name])
    return drawn


def _check(task: Simulation) -> None:
    algorithm, tolerate = task.request["algorithm"], task.request["tolerate"]
    if algorithm == AUTO:
        check_automatic(task.request["settings"])
    if algorithm not in (AUTO, *ALGORITHMS):
        raise _bad("algorithm", f"{algorithm!r} is unknown", f"Use one of: {', '.join((AUTO, *ALGORITHMS))}.")
    if task.parties < 2:
        raise _bad("parties", "a simulation needs at least 2 parties", ONE_OWNER)
    if not 1 <= tolerate < task.parties:
        raise _bad("tolerate", f"{tolerate} of {task.parties} parties", f"Use 1 to {task.parties - 1}.")
    if task.rows is not None and task.rows < 1:
        raise _bad("rows", f"{task.rows} is not a number of rows", "Use 1 or more.")
    refuse_existing(task.out)
    if task.evaluate is not None:
        refuse_existing(task.evaluate, "evaluate")


def _bad(option: str, reason: str, hint: str) -> PrivityError:
    return PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=hint)


def _wait_for_port(port_file: Path, group: ProcessGroup) -> int:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        group.check()
        if port_file.exists():
            return int(port_file.read_text(encoding="ascii"))
        time.sleep(POLL_SECONDS)
    raise PrivityError(
        Catalogue.CONNECTION_FAILED, address=HOST, reason=f"no curator after {START_SECONDS} s",
        hint="The machine may be overloaded; try again.",
    )  # fmt: skip


def _follow(client: OperatorClient, run: str, group: ProcessGroup, on_event: Callable[[RunEvent], None]) -> RunEvent:
    """Pass on events until the run has ended; a dead process ends it at once. The last event."""
    events: queue.Queue[RunEvent | Exception] = queue.Queue()

    def listen() -> None:
        try:
            for event in client.watch(run):
                events.put(event)
        except Exception as error:  # the caller's to raise, if it still waits
            events.put(error)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        group.check()
        try:
            event = events.get(timeout=CHECK_SECONDS)
        except queue.Empty:
            continue
        if isinstance(event, Exception):
            group.check()
            raise event
        on_event(event)
        if event.state in ("COMPLETED", "FAILED", "STOPPED", "DISCARDED", "EXPIRED"):
            return event
