"""What ``privity evaluate`` compares, read and checked as a whole: every fault is told at once."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema, load_schema
from privity.common.data.table_reading import RowProblemsFound
from privity.common.errors import Catalogue, PrivityError, Problem, ProblemsFound
from privity.common.formats import shorten
from privity.common.release.evaluation.classifier_utility import Task, code_of, usual_tasks
from privity.common.release.evaluation.evaluation_document import Question
from privity.common.release.release_contents import SCHEMA, SYNTHETIC
from privity.common.release.release_folder import read_release
from privity.party.sources.address import parse_address
from privity.party.sources.open_rows import load_table


@dataclass(frozen=True)
class Inputs:
    """The options of the command, as written."""

    real: str
    synthetic: str | None
    release: Path | None
    schema: Path | None
    control: str | None
    targets: tuple[str, ...]
    drop: tuple[str, ...]
    attacks: int


class _Faults:
    """Faults of tables and options, gathered."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(self, option: str, rule: str, message: str, remedy: str) -> None:
        self.problems.append(Problem(f"--{option}", "", rule, message, remedy))

    def table(self, data: str, schema: Schema) -> CodedTable | None:
        """The rows, or None with their faults kept."""
        try:
            return load_table(parse_address(data), schema)
        except ProblemsFound as error:
            self.problems += error.problems
            return None


def read_inputs(inputs: Inputs) -> Question:
    """Read all tables. Raises ``PrivityError``, or ``RowProblemsFound`` (the owner's screen) with every fault."""
    if (inputs.synthetic is None) == (inputs.release is None):
        raise _bad("synthetic", "either --synthetic or --release is needed, not both", "Name one of them.")
    if inputs.release is None and inputs.schema is None:
        raise _bad("schema", "the tables have no schema", "Name it; only a release brings its own.")
    faults = _Faults()
    run = None
    declared = None if inputs.schema is None else load_schema(inputs.schema)
    if inputs.release is not None:
        release = read_release(inputs.release)
        schema, run = release.schema, str(release.run["run"])
        synthetic_rows = str(inputs.release / SYNTHETIC)
        if declared is not None and not _covers(declared, schema):
            message = f"it declares other attributes than {inputs.release / SCHEMA}."
            faults.add("schema", "other-schema", message, "Leave it out, or name the schema of the release.")
            declared = None
    else:
        assert declared is not None
        assert inputs.synthetic is not None
        schema, synthetic_rows = declared, inputs.synthetic
    synthetic = faults.table(synthetic_rows, schema)
    # A run may be about some of the attributes, and the real rows have them all.
    real, control = (
        None if data is None else faults.table(data, declared or schema) for data in (inputs.real, inputs.control)
    )
    tasks = _tasks(inputs, schema, faults)
    if inputs.attacks < 1:
        faults.add("attacks", "no-attacks", f"{inputs.attacks} is not a number of attacks.", "Use 1 or more.")
    tables = (("control", control), ("real", real), ("synthetic", synthetic))
    for option, table in tables if inputs.control is not None else ():
        if table is not None and table.rows < inputs.attacks:
            message = f"{table.rows} rows are too few for {inputs.attacks} attacks on a row each."
            faults.add(option, "too-few-rows", message, "Give more rows, or fewer --attacks.")
    if faults.problems:
        raise RowProblemsFound(faults.problems)
    assert real is not None
    assert synthetic is not None
    real = real.over(schema.names)
    control = None if control is None else control.over(schema.names)
    return Question(real, synthetic, control, tasks, inputs.attacks, release=run)


def _covers(declared: Schema, schema: Schema) -> bool:
    return set(schema.names) <= set(declared.names) and declared.over(schema.names).digest == schema.digest


def _tasks(inputs: Inputs, schema: Schema, faults: _Faults) -> tuple[Task, ...]:
    for name in inputs.drop:
        if name not in schema.names:
            faults.add("drop", "unknown-attribute", f"{shorten(name)} is not declared.", _known(schema))
    dropped = tuple(name for name in inputs.drop if name in schema.names)
    if not inputs.targets:
        return tuple(usual_tasks(schema, dropped))
    return tuple(task for text in inputs.targets if (task := _task(text, dropped, schema, faults)) is not None)


def _task(text: str, dropped: tuple[str, ...], schema: Schema, faults: _Faults) -> Task | None:
    """``ATTRIBUTE`` or ``ATTRIBUTE=VALUE,VALUE``; a value with a comma stands in quotation marks."""
    if text in schema.names:
        return Task(text, text, dropped=dropped)
    # A name may hold the sign too.
    split = [place for place, letter in enumerate(text) if letter == "=" and text[:place] in schema.names]
    if not split:
        name = text.partition("=")[0]
        faults.add("target", "unknown-attribute", f"{shorten(name)} is not declared.", _known(schema))
        return None
    name, values = text[: split[-1]], next(csv.reader([text[split[-1] + 1 :]]), [])
    attribute = schema.attributes[schema.index(name)]
    outside = [value for value in values if value not in attribute.labels]
    if outside or not values:
        found = ", ".join(map(shorten, outside)) or "nothing"
        known = ", ".join(attribute.labels[: attribute.present])
        faults.add("target", "out-of-domain", f"{found}: no value of {shorten(name)}.", f"Use some of: {known}.")
        return None
    if len({code_of(attribute, value) for value in values}) >= attribute.present:
        message = f"all values of {shorten(name)} are named, so that the answer is always yes."
        faults.add("target", "no-question", message, "Name some of them.")
        return None
    return Task(text, name, tuple(values), dropped)


def _known(schema: Schema) -> str:
    return f"Use one of: {', '.join(schema.names)}."


def _bad(option: str, reason: str, hint: str) -> PrivityError:
    return PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=hint)
