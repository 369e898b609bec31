"""Texts that a spreadsheet takes for a formula: named wherever a schema is accepted or checked, and never changed."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from privity.common.data.attribute import read_number
from privity.common.data.schema import Schema, parse_schema
from privity.common.data.spreadsheet_formulas import formulas, warning
from privity.common.release.release_contents import REPORT, SCHEMA
from privity.common.release.report.report_page import write_with_report
from privity.common.release.shortcomings import notes
from privity.common.text.first_few import FEW
from privity.interfaces.cli.main import app
from tests.harness.releases import release_of

FORMULA = "=cmd|' /C calc'!A0"
FIELDS = [
    {"name": "@name", "type": "string", "categories": [FORMULA, "plain", "-1.5e3", "+", "=a,b"]},
    {"name": "code", "type": "integer", "categories": [-1, 2], "missingValues": ["-?", "-not written"]},
]
NAMES = ["attribute '@name'", f'category "{FORMULA}"', "category '=a,b'", "attribute 'code', missing value '-?'"]


def schema_of(texts: list[str]) -> Schema:
    return parse_schema({"fields": [{"name": "a", "type": "string", "categories": texts}]}, "schema")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "table.schema.json"
    file.write_text(json.dumps({"fields": FIELDS}))
    return file


def ran(*arguments: str | Path) -> str:
    done = CliRunner().invoke(app, [*map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.output


def check_warned(said: str) -> None:
    assert "Warning: These texts begin like a formula: " in said
    for name in NAMES:
        assert name in said
    assert "plain" not in said
    assert "import the columns as text" in said


@pytest.mark.parametrize("text", ["=1+1", "+x", "-x", "@SUM(A1)", "-1-1", "+1 2", "=-1", "-1,5", "--", "-1:0"])
def test_a_text_like_a_formula_is_named(text: str) -> None:
    assert formulas(schema_of([text, "plain"])) == (f"attribute 'a', category {text!r}",)


@pytest.mark.parametrize("text", ["-1", "+2", "-.5", "+1e-3", "-", "=", "a=b", "a-b", " =1", "[-1, 0)", "<=5", ""])
def test_a_number_a_sign_alone_and_any_other_text_are_not(text: str) -> None:
    assert not formulas(schema_of([text, "plain"]))
    assert not warning(schema_of([text, "plain"]))


@given(st.lists(st.text("=+-@.1e|a", min_size=1, max_size=30), min_size=2, max_size=12, unique=True))
def test_every_such_text_counts(texts: list[str]) -> None:
    expected = [text for text in texts if text[0] in "=+-@" and len(text) > 1 and read_number(text) is None]
    schema = schema_of(texts)
    assert list(formulas(schema)) == [f"attribute 'a', category {text!r}" for text in expected]
    assert (f"and {len(expected) - FEW} more." in warning(schema)) == (len(expected) > FEW)


def test_a_check_of_a_schema_warns(table: Path) -> None:
    check_warned(ran("schema", "check", table))


def test_every_member_is_warned_when_it_comes_in_and_by_the_doctor(table: Path, tmp_path: Path) -> None:
    organiser = tmp_path / "organiser"
    check_warned(
        ran("consortium", "init", "--folder", organiser, "--name", "clinics", "--curator", "localhost:1",
            "--schema", table, "--party", "north", "--party", "south")
    )  # fmt: skip
    ran("consortium", "invite", "--folder", organiser)
    invites = organiser / "invites"
    of_party = ("--data", "rows.csv", "--population", "people", "--folder", tmp_path / "north")
    check_warned(ran("party", "init", "--invite", invites / "north.json", *of_party))
    check_warned(ran("operator", "init", "--invite", invites / "operator.json", "--folder", tmp_path / "operator"))
    check_warned(ran("curator", "init", "--invite", invites / "curator.json", "--folder", tmp_path / "curator"))
    said = CliRunner().invoke(app, ["doctor", "--config", str(tmp_path / "north" / "party.toml"), "--json"]).output
    (found,) = (check for check in map(json.loads, said.splitlines()) if check["check"] == "schema")
    assert found["verdict"] == "warning"
    assert all(name in found["found"] for name in NAMES)
    assert "import the columns as text" in found["remedy"]


def test_an_invite_with_a_faulty_schema_makes_no_folder(table: Path, tmp_path: Path) -> None:
    organiser = tmp_path / "organiser"
    ran("consortium", "init", "--folder", organiser, "--name", "clinics", "--curator", "localhost:1",
        "--schema", table, "--party", "north", "--party", "south")  # fmt: skip
    table.write_text(json.dumps({"fields": [{"name": "a", "type": "string", "categories": ["x", "x\x1b"]}]}))
    ran("consortium", "invite", "--folder", organiser)
    invite = ["--invite", str(organiser / "invites" / "operator.json"), "--folder", str(tmp_path / "operator")]
    done = CliRunner().invoke(app, ["operator", "init", *invite])
    assert "[control-character]" in str(done.exception)
    assert not (tmp_path / "operator").exists()


def test_the_report_names_them_and_the_rows_keep_them(tmp_path: Path) -> None:
    schema = parse_schema({"fields": FIELDS}, "schema")
    frame = pd.DataFrame({"@name": FIELDS[0]["categories"] * 20, "code": ["-1", "2", "-?", "2", "-1"] * 20})
    release, synthetic = release_of(tmp_path, "one-way", frame, schema, epsilon="100")
    folder = tmp_path / "release"
    write_with_report(folder, release, synthetic)
    rows = (folder / "synthetic.csv").read_text(encoding="utf-8")
    assert rows.startswith("@name,code\n")
    assert f"\n{FORMULA}," in rows
    assert '\n"=a,b",' in rows
    assert json.loads((folder / SCHEMA).read_text())["fields"][0]["categories"] == FIELDS[0]["categories"]
    page = (folder / REPORT).read_text(encoding="utf-8")
    assert "4 texts that a spreadsheet takes for a formula" in page
    assert "import the columns as text" in page
    check_warned(f"Warning: {notes(release.model, joins=False)[-1]}")


def test_a_schema_without_them_is_not_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "table.schema.json"
    file.write_text(json.dumps({"fields": [{"name": "a", "type": "string", "categories": ["x", "-1"]}]}))
    assert "Warning" not in ran("schema", "check", file)
