"""What ``privity evaluate`` compares, read and checked as a whole: every fault is told at once."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privity.assessment.evaluation.evaluation import Candidate, Question
from privity.assessment.evaluation.prediction import PredictionTarget
from privity.assessment.evaluation.value_tables import ValueTable, read_values, values_of_frame
from privity.common.data.attribute import PLAIN_KEYS, Attribute
from privity.common.data.schema import Schema, load_schema
from privity.common.errors import Catalogue, PrivityError, Problem, ProblemsFound, RowProblemsFound
from privity.common.release.evaluation.classifier_utility import Task, code_of
from privity.common.release.release_contents import SCHEMA, SYNTHETIC
from privity.common.release.release_folder import read_release
from privity.common.synthesis.learning.domain_discovery import undiscovered
from privity.common.text.short_values import shorten
from privity.party.sources.address import parse_address

if TYPE_CHECKING:
    import pandas as pd

QUICK_ROWS = 10_000
"""Of each table, about, for a first answer."""


@dataclass(frozen=True)
class Inputs:
    """The options of the command, as written; a table may also be one in memory."""

    real: str | pd.DataFrame
    synthetic: tuple[str, ...]
    releases: tuple[Path, ...]
    schema: Path | None
    control: str | pd.DataFrame | None
    targets: tuple[str, ...]
    drop: tuple[str, ...]
    attacks: int
    quick: bool
    dialect: Mapping[str, Any] = field(default_factory=dict)


class _Faults:
    """Faults of tables and options, gathered."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(self, option: str, rule: str, message: str, remedy: str) -> None:
        self.problems.append(Problem(f"--{option}", "", rule, message, remedy))

    def table(
        self,
        option: str,
        data: str | pd.DataFrame,
        schema: Schema,
        most_rows: int | None,
        dialect: Mapping[str, Any] | None = None,
    ) -> ValueTable | None:
        """The rows, or None with their faults kept."""
        try:
            if not isinstance(data, str):
                return values_of_frame(data, schema, option, most_rows)
            return read_values(parse_address(data, dialect=dialect), schema, most_rows)
        except ProblemsFound as error:
            self.problems += error.problems
            return None


def read_inputs(inputs: Inputs, say: Callable[[str], None]) -> Question:
    """Read all tables. Raises ``PrivityError``, or ``RowProblemsFound`` (the owner's screen) with every fault."""
    if not inputs.synthetic and not inputs.releases:
        raise _bad("release", "nothing to judge is named", "Name a --release, or --synthetic rows with a --schema.")
    if not inputs.releases and inputs.schema is None:
        raise _bad("schema", "the tables have no schema", "Name it; only a release brings its own.")
    faults = _Faults()
    releases = [read_release(folder) for folder in inputs.releases]
    declared = None if inputs.schema is None else load_schema(inputs.schema)
    schema = declared or releases[0].schema
    if schema.history is not None:
        hint = "In Python privity.assessment.evaluation.history_comparison measures them (docs/histories.md)."
        raise _bad("release", "it is of persons and their events, which are not compared here yet", hint)
    if undiscovered(schema):
        if not releases:
            raise _bad("schema", "domains in it are yet to be discovered", "Name one whose domains are known.")
        # The domains are those of the release; how the rows are written is the given schema's.
        known = {attribute.name: attribute for attribute in releases[0].schema.attributes}
        schema = replace(schema, attributes=tuple(_closed(each, known) for each in schema.attributes))
    for folder, release in zip(inputs.releases, releases, strict=True):
        if not _covers(schema, release.schema):
            option = "release" if declared is None else "schema"
            message = f"it declares other attributes than {folder / SCHEMA}, or other types."
            faults.add(option, "other-schema", message, "Name with --schema one that declares those of all releases.")
    judged = releases[0].schema.names if releases else schema.names
    most = QUICK_ROWS if inputs.quick else None
    tables: list[tuple[str, str | None, ValueTable | None]] = []
    named = [(str(folder), str(folder / SYNTHETIC)) for folder in inputs.releases] + [
        (one, one) for one in inputs.synthetic
    ]
    runs = [str(release.run["run"]) for release in releases] + [None] * len(inputs.synthetic)
    for (name, rows), run in zip(named, runs, strict=True):
        say(f"reading {name}")
        tables.append((name, run, faults.table("synthetic", rows, schema.over(judged).released, most)))
    say("reading the real rows")
    # A run may be about some of the attributes, and the real rows have them all, and columns that were left out.
    of_owner = replace(schema, extra_columns=True)
    real, control = (
        None if data is None else faults.table(option, data, of_owner, most, inputs.dialect)
        for option, data in (("real", inputs.real), ("control", inputs.control))
    )
    targets = _targets(inputs, schema.over(judged), faults)
    if inputs.attacks < 1:
        faults.add("attacks", "no-attacks", f"{inputs.attacks} is not a number of attacks.", "Use 1 or more.")
    if real is not None and real.read < 2:
        faults.add("real", "too-few-rows", "one row has no distribution.", "Give the table that was released.")
    counted = (("control", control), ("real", real), *(("synthetic", table) for _, _, table in tables))
    for option, table in counted if inputs.control is not None and not inputs.quick else ():
        if table is not None and table.rows < inputs.attacks:
            message = f"{table.rows} rows are too few for {inputs.attacks} attacks on a row each."
            faults.add(option, "too-few-rows", message, "Give more rows, or fewer --attacks.")
    if faults.problems:
        raise RowProblemsFound(faults.problems)
    assert real is not None
    candidates = tuple(
        Candidate(short, table, run)
        for short, (_, run, table) in zip(_short([name for name, _, _ in tables]), tables, strict=True)
        if table is not None
    )
    control = None if control is None else control.over(judged)
    return Question(real.over(judged), candidates, control, targets, inputs.drop, inputs.attacks, quick=inputs.quick)


def _closed(attribute: Attribute, known: Mapping[str, Attribute]) -> Attribute:
    """The attribute with the domain that a release has discovered, if its own is open."""
    found = known.get(attribute.name)
    if not attribute.discover or found is None:
        return attribute
    written = {name: getattr(attribute, name) for name, each in PLAIN_KEYS.items() if each.of_rows}
    return replace(found, **written, format=attribute.format)


def _types(schema: Schema) -> dict[str, str]:
    return {attribute.name: attribute.type for attribute in schema.attributes}


def _covers(schema: Schema, other: Schema) -> bool:
    """Whether it declares all attributes of the other one, of the same types; bins and categories may differ."""
    return _types(other).items() <= _types(schema).items()


def _short(names: Sequence[str]) -> list[str]:
    """The last part of each path, where that tells them apart."""
    last = [Path(name).name or name for name in names]
    return [short if last.count(short) == 1 else name for short, name in zip(last, names, strict=True)]


def _targets(inputs: Inputs, schema: Schema, faults: _Faults) -> tuple[PredictionTarget, ...] | None:
    for name in inputs.drop:
        if name not in schema.names:
            faults.add("drop", "unknown-attribute", f"{shorten(name)} is not declared.", _known(schema))
    if not inputs.targets:
        return None
    dropped = tuple(name for name in inputs.drop if name in schema.names)
    return tuple(found for text in inputs.targets if (found := _target(text, dropped, schema, faults)) is not None)


def _target(text: str, dropped: tuple[str, ...], schema: Schema, faults: _Faults) -> PredictionTarget | None:
    """``ATTRIBUTE`` or ``ATTRIBUTE=VALUE,VALUE``; a value with a comma stands in quotation marks."""
    if text in schema.names:
        number = bool(schema.attributes[schema.index(text)].edges)
        return PredictionTarget(text, dropped, None if number else Task(text, text, dropped=dropped))
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
    return PredictionTarget(name, dropped, Task(text, name, tuple(values), dropped))


def _known(schema: Schema) -> str:
    return f"Use one of: {', '.join(schema.names)}."


def _bad(option: str, reason: str, hint: str) -> PrivityError:
    return PrivityError(Catalogue.BAD_OPTION, option=option, reason=reason, hint=hint)
