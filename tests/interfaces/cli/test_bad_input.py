"""Whatever is wrong with what a user gives: a clear message, exit code not 0, no traceback, nothing left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from privity.common.exit_codes import Exit
from privity.common.synthesis.algorithms import ALGORITHMS
from tests.harness.command import privity
from tests.harness.tables import FIELDS, write_people

pytestmark = pytest.mark.process


def simulate(folder: Path, *more: str, table: Path | None = None, schema: Path | None = None):
    good_table, good_schema = write_people(folder, 50)
    arguments = {"--data": table or good_table, "--schema": schema or good_schema, "--epsilon": "1"}
    given = dict(zip(more[::2], more[1::2], strict=True))
    flat = [str(part) for pair in {**arguments, **given}.items() for part in pair]
    before = sorted(folder.iterdir())
    done = privity("simulate", *flat, "--out", folder / "release")
    assert done.returncode != 0
    assert "Traceback" not in done.stdout + done.stderr
    assert sorted(folder.iterdir()) == before, "something was left behind"
    return done.stderr


@pytest.mark.parametrize(
    ("epsilon", "said"),
    [
        ("abc", "not a positive number"),
        ("0", "'0' is not from 0.000001 to 100"),
        ("-1", "not a positive number"),
        ("1e9", "'1e9' is not from 0.000001 to 100"),
        ("1e", "not a positive number"),
        ("1000000", "is not from 0.000001 to 100"),
        ("nan", "not a positive number"),
    ],
)
def test_epsilon(tmp_path: Path, epsilon: str, said: str) -> None:
    message = simulate(tmp_path, "--epsilon", epsilon)
    assert "epsilon" in message
    assert said in message


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--parties", "51"), "51 parties cannot share 50 rows"),
        (("--parties", "1"), "single-party mode, `privity synthesize`"),
        (("--parties", "0"), "at least 2"),
        (("--rows", "51"), "has 50 rows"),
        (("--rows", "0"), "not a number of rows"),
        (("--algorithm", "magic"), "'magic' is unknown"),
        (("--tolerate", "3"), "3 of 3 parties"),
        (("--tolerate", "0"), "0 of 3 parties"),
        (("--key-bits", "512"), "not offered"),
        (("--split", "by:nothing"), "no attribute 'nothing'"),
        (("--split", "sizes:.5,.6"), "add up to 1"),
        (("--split", "halves"), "unknown"),
        (("--settings", "[1]"), "not a JSON object"),
    ],
)
def test_options(tmp_path: Path, options: tuple[str, str], said: str) -> None:
    assert said in simulate(tmp_path, *options)


def test_unknown_settings_are_named_before_anything_is_spent(tmp_path: Path) -> None:
    message = simulate(tmp_path, "--algorithm", "dp-subn", "--settings", '{"dgree": 2, "theta": -1}')
    assert "dgree" in message
    assert "theta" in message


@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - {"discover", "one-way"}))
def test_attributes_too_large_for_any_table_are_named_before_anything_starts(tmp_path: Path, algorithm: str) -> None:
    table, schema = tmp_path / "wide.csv", tmp_path / "wide.json"
    numbers = {"type": "integer", "constraints": {"minimum": 0, "maximum": 1499}, "bins": 1500}
    fields = [{"name": "street", **numbers}, {"name": "diagnosis", **numbers}]
    schema.write_text(json.dumps({"fields": fields}))
    table.write_text("street,diagnosis\n" + "7,3\n" * 20)
    message = simulate(tmp_path, "--algorithm", algorithm, table=table, schema=schema)
    assert "street, diagnosis" in message
    assert "2250000" in message.replace(",", "")


def test_missing_files(tmp_path: Path) -> None:
    assert "nothing.csv: no such file" in simulate(tmp_path, table=tmp_path / "nothing.csv")
    assert "nothing.json: no such file" in simulate(tmp_path, schema=tmp_path / "nothing.json")


def test_an_empty_table_and_an_empty_file(tmp_path: Path) -> None:
    for name, content in (("header.csv", "age,ward,smoker,score,cost\n"), ("empty.csv", "")):
        table = tmp_path / name
        table.write_text(content)
        assert name in simulate(tmp_path, table=table)


def test_a_binary_file(tmp_path: Path) -> None:
    table = tmp_path / "binary.csv"
    table.write_bytes(bytes(range(256)) * 10)
    assert "binary.csv" in simulate(tmp_path, table=table)


def test_duplicate_attribute_names(tmp_path: Path) -> None:
    schema = tmp_path / "twice.json"
    schema.write_text(json.dumps({"fields": [FIELDS[0], FIELDS[0]]}))
    message = simulate(tmp_path, schema=schema)
    assert "twice.json" in message
    assert "age" in message


def test_a_schema_of_another_table(tmp_path: Path) -> None:
    schema = tmp_path / "other.json"
    schema.write_text(json.dumps({"fields": [{"name": "weight", "type": "integer", "categories": [1, 2]}, FIELDS[0]]}))
    message = simulate(tmp_path, schema=schema)
    assert "weight" in message
    assert "ward" in message


def test_all_values_outside_their_domains_at_once(tmp_path: Path) -> None:
    table = tmp_path / "wrong.csv"
    table.write_text("age,ward,smoker,score,cost\n20,east,true,1,5\n17,north,perhaps,9,5\n")
    message = simulate(tmp_path, table=table)
    for field in ("age", "ward", "smoker", "score"):
        assert field in message


def test_evaluate_and_schema_commands_say_what_is_wrong(tmp_path: Path) -> None:
    table, schema = write_people(tmp_path, 20)
    broken = tmp_path / "broken.json"
    broken.write_text('{"fields": [{"name": "a", "type": "colour"}, {"name": "a"}], "shape": 1}')
    done = privity("schema", "check", broken)
    assert done.returncode == Exit.INPUT
    assert all(word in done.stdout + done.stderr for word in ("colour", "shape", "fields[1]"))
    done = privity("evaluate", "--real", table, "--synthetic", tmp_path / "none.csv", "--schema", schema)
    assert done.returncode == Exit.INPUT
    assert "none.csv" in done.stderr
