"""The example of three hospitals with one table in three shapes: read by their maps, and released over all of them."""

from __future__ import annotations

import hashlib
import json
import shutil
import tomllib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import Schema, load_schema
from privity.common.data.table_reading import read_table
from privity.common.protocol.steps import Contribute, Refusal
from privity.common.release.release_folder import verify_release
from privity.party.run_admission import CHANGED
from privity.party.sources.address import parse_address
from privity.party.sources.open_rows import load_table
from tests.harness.command import run_in
from tests.harness.consortium import TestConsortium
from tests.harness.places import ROOT

EXAMPLE = ROOT / "examples" / "own_words"
SCHEMA = load_schema(EXAMPLE / "admissions.schema.json")
HOSPITALS = ("north", "south", "east")
DIALECTS = {"north": tomllib.loads('delimiter = ";"\ndecimalChar = ","')}


@pytest.fixture
def written(tmp_path: Path) -> dict[str, list[dict[str, Any]]]:
    """The example's files in a folder; gives the people in them."""
    for file in EXAMPLE.iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile((tmp_path / "write_rows.py").read_text(), "write_rows.py", "exec"), names)
    return names["write"](tmp_path)


def read(folder: Path, name: str) -> CodedTable:
    address = parse_address(f"{name}.csv", folder, DIALECTS.get(name), folder / f"{name}.map.json")
    return load_table(address, SCHEMA)


def in_words(name: str, one: dict[str, Any], schema: Schema) -> list[int | None]:
    """The codes of a person, of whom the script tells in no hospital's words."""
    unweighed = name == "north" and one["number"] % 25 == 0
    pounds = Fraction(round(Fraction(one["weight"]) / Fraction("0.45359237") * 10), 10)
    weight = Fraction(one["weight"]) if name == "north" else pounds * Fraction("0.45359237")
    texts = [
        one["sex"], str(one["age"]), "" if unweighed else f"{weight.numerator / weight.denominator:.6f}",
        one["day"].isoformat(), one["kind"], str(one["diabetes"]).lower(),
    ]  # fmt: skip
    return [attribute.code_of(text) for attribute, text in zip(schema.attributes, texts, strict=True)]


def test_each_hospital_is_read_in_its_own_words(written: dict[str, list[dict[str, Any]]], tmp_path: Path) -> None:
    for name in HOSPITALS:
        rows = list(zip(*(column.tolist() for column in read(tmp_path, name).columns), strict=True))
        assert rows == [tuple(in_words(name, one, SCHEMA)) for one in written[name]]


def test_one_run_over_three_shapes_and_nothing_of_a_map_leaves(
    written: dict[str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    tables = {name: read(tmp_path, name) for name in HOSPITALS}
    tables["north"] = replace(tables["north"], schema=SCHEMA)  # it is that of the consortium
    consortium = TestConsortium(tables, seed=1)
    consortium.drive(tmp_path / "release", algorithm="mst", epsilon=Fraction(50))
    verify_release(tmp_path / "release")
    published = load_schema(tmp_path / "release" / "schema.json")
    assert published.names == SCHEMA.names
    synthetic = read_table(tmp_path / "release" / "synthetic.csv", published)
    both = written["north"] + written["south"] + written["east"]
    for name, seen in (("sex", "female"), ("admission_type", "emergency")):
        place = SCHEMA.index(name)
        code = SCHEMA.attributes[place].code_of(seen)
        real = sum(seen in (one["sex"], one["kind"]) for one in both) / len(both)
        assert abs((synthetic.columns[place] == code).mean() - real) < 0.05
    sent = b"".join(data for _, data in consortium.recorder.received)
    sent += b"".join(file.read_bytes() for file in (tmp_path / "release").iterdir() if file.is_file())
    for name in HOSPITALS:
        file = tmp_path / f"{name}.map.json"
        fields = json.loads(file.read_text())["fields"]
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        own = [field["column"] for field in fields if field["column"].lower() not in (*SCHEMA.names, "alter")]
        for secret in (digest, *own):
            assert secret.encode() not in sent


def test_a_changed_map_is_another_table_of_the_same_population(
    written: dict[str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    tables = {name: replace(read(tmp_path, name), schema=SCHEMA) for name in HOSPITALS}
    consortium = TestConsortium(tables, seed=1, folder=tmp_path)
    consortium.drive(tmp_path / "release", close=False, algorithm="one-way", epsilon=Fraction(2))
    east = consortium.parties["east"]
    spent = east.releases.ledger.spent()
    asked = next(step for party, step in consortium.told if party == "east" and isinstance(step, Contribute))
    later = replace(asked, round=replace(asked.round, round=f"{asked.round.round}/later"))
    file = tmp_path / "east.map.json"
    file.write_text(file.read_text().replace('"201826": "true", "0": "false"', '"201826": "false", "0": "true"'))
    changed = replace(read(tmp_path, "east"), schema=SCHEMA)
    again = consortium.start("east", changed, east.identity)
    assert again.releases.ledger.spent() == spent  # what was charged stays charged to these people
    reply = consortium.tell("east", later)
    assert isinstance(reply, Refusal)
    assert CHANGED in str(reply)
    assert again.releases.ledger.spent() == spent


@pytest.mark.process
def test_one_hospital_alone_reads_the_same_map(
    written: dict[str, list[dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    run_in(tmp_path, "population", "declare", "patients", "--total-epsilon", "10")
    run_in(
        tmp_path, "synthesize", "--data", "east.csv", "--schema", "admissions.schema.json", "--map", "east.map.json",
        "--population", "patients", "--algorithm", "mst", "--epsilon", "5", "--out", "alone",
    )  # fmt: skip
    verify_release(tmp_path / "alone")
    text = (tmp_path / "alone" / "schema.json").read_text() + (tmp_path / "alone" / "model.json").read_text()
    assert "concept" not in text
