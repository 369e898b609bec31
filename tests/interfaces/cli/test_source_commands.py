"""Commands over rows that are kept elsewhere than in CSV."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
import typer

from privity.common.exit_codes import Exit
from privity.interfaces.cli.main import app
from tests.harness.command import here, privity
from tests.harness.ledgers import declared
from tests.harness.tables import people, write_people

pytestmark = pytest.mark.process

SETTINGS = """\
format_version = 1
name = "north"
curator = "localhost:1"
data = {data}
schema = "{schema}"
policy = "policy.toml"
manifest = "manifest.json"
organiser_key = "organiser.pub"
keys = "keys"
certificate = "tls.pem"
key = "tls.key"
state = "state"
ledger = "ledger.sqlite"
"""
POLICY = """\
format_version = 1
population = "people"
epsilon_per_run = "1"
algorithms = ["dp-subn"]
minimum_parties = 2
minimum_tolerate = 1
minimum_key_bits = 3072
"""


def in_stores(folder: Path, frame: pd.DataFrame) -> list[str]:
    """The same rows in a database and in files, and their addresses."""
    frame = frame.assign(smoker=frame["smoker"] == "true") if frame["smoker"].dtype != bool else frame
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.register("given", frame)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
        connection.execute(f"COPY given TO '{folder / 'people.parquet'}' (FORMAT parquet)")
    return [f"duckdb://{folder}/clinic.duckdb#people", str(folder / "people.parquet")]


def party(folder: Path, data: str, schema: Path, rows: int = 1, more: str = "") -> Path:
    folder.mkdir()
    (folder / "party.toml").write_text(SETTINGS.format(data=json.dumps(data), schema=schema) + more)
    (folder / "policy.toml").write_text(POLICY)
    declared(folder / "ledger.sqlite", total=1, rows=rows).close()
    return folder / "party.toml"


def test_check_shows_the_owner_what_the_node_would_use(tmp_path: Path) -> None:
    table, schema = write_people(tmp_path, 500)
    for number, data in enumerate([str(table), *in_stores(tmp_path, people(500))]):
        done = privity("party", "check", "--config", party(tmp_path / f"p{number}", data, schema))
        assert done.returncode == 0, done.stderr
        assert "Rows: 500 that count; n = 500, 5 attributes." in done.stdout
        assert "auto is set as hold. auto " in done.stdout
        assert "not sent anywhere" in done.stdout
        assert not (tmp_path / f"p{number}" / "state" / "journal.sqlite").exists()


def test_check_counts_what_is_outside_the_domain(tmp_path: Path) -> None:
    _, schema = write_people(tmp_path, 10)
    frame = people(300)
    frame.loc[[3, 7, 9], "ward"] = ["east", "east", "attic"]
    frame.loc[5, "age"] = 17
    frame.to_csv(tmp_path / "odd.csv", index=False)
    for number, data in enumerate([str(tmp_path / "odd.csv"), *in_stores(tmp_path, frame)]):
        done = privity("party", "check", "--config", party(tmp_path / f"p{number}", data, schema))
        assert done.returncode == Exit.INPUT
        misses = {
            line.split("│")[1].strip(): line.split("│")[-2].strip() for line in done.stdout.splitlines() if "│" in line
        }
        assert (misses["ward"], misses["age"], misses["cost"]) == ("3", "1", "0")
        assert "'east'" in done.stdout
        assert "2 error(s): the node would not start." in done.stdout


def test_a_table_in_its_own_words_is_drafted_refused_until_it_is_reviewed_and_checked(tmp_path: Path) -> None:
    _, schema = write_people(tmp_path, 10)
    wards = {"north": "North", "south": "South", "west": "West"}
    frame = people(300).rename(columns={"ward": "WardName", "cost": "Cost"}).assign(key=range(300))
    frame["WardName"] = frame["WardName"].map(wards)
    for number, data in enumerate([str(tmp_path / "own.csv"), *in_stores(tmp_path, frame)]):
        frame.to_csv(tmp_path / "own.csv", index=False)
        config = party(tmp_path / f"p{number}", data, schema, more='map = "map.json"\n')
        draft = tmp_path / f"p{number}" / "map.json"
        done = privity("party", "map", "--config", config, "--out", draft)
        assert done.returncode == 0, done.stderr
        assert "not sent anywhere" in done.stdout
        assert draft.stat().st_mode & 0o777 == 0o600
        refused = privity("party", "check", "--config", config)
        assert refused.returncode == Exit.INPUT
        assert "fields[0].readOffRows" in refused.stderr
        draft.write_text(draft.read_text().replace("undeclared", "data owner"))
        done = privity("party", "check", "--config", config)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "ward: column WardName; codes " in " ".join(done.stdout.split())
        assert "Rows: 300 that count; n = 300, 5 attributes." in done.stdout


def test_several_rows_of_a_person_fill_its_places(tmp_path: Path) -> None:
    _, schema = write_people(tmp_path, 10)
    document = json.loads(schema.read_text())
    schema.write_text(json.dumps({**document, "absentRows": True}))
    frame = people(400).assign(patient=[n // 4 if n % 4 < 3 else 1000 + n for n in range(400)], visit=range(400))
    keys = 'person = "patient"\norder = "visit"\n'
    frame.to_csv(tmp_path / "visits.csv", index=False)
    for number, data in enumerate([str(tmp_path / "visits.csv"), *in_stores(tmp_path, frame)]):
        done = privity("party", "check", "--config", party(tmp_path / f"p{number}", data, schema, 2, keys))
        assert done.returncode == 0, done.stderr
        # 100 persons with three rows and 100 with one, two places each.
        assert "Rows: 300 that count; n = 400" in done.stdout
        assert "Persons: 200, with 2 places each; 100 places are empty." in done.stdout
        out, ledger = tmp_path / f"release{number}", tmp_path / f"ledger{number}"
        given = ("--data", data, "--schema", schema, "--epsilon", "1/2", "--population", "people", "--ledger", ledger)
        declared(ledger, total=1, rows=2).close()
        places = ("--person", "patient", "--order", "visit")
        done = privity("synthesize", *given, *places, "--out", out)
        assert done.returncode == 0, done.stderr
        assert "epsilon 1 now, 1 of 1 in all" in done.stdout
        assert json.loads((out / "privacy.json").read_text())["rows_per_person"] == 2
        synthetic = pd.read_csv(out / "synthetic.csv")
        assert set(synthetic.columns) == set(people(1).columns)
        assert 150 < len(synthetic) <= 400


def test_how_many_places_are_filled_is_shown_where_it_is_asked_for_alone(tmp_path: Path) -> None:
    table, schema = write_people(tmp_path, 300)
    schema.write_text(json.dumps({**json.loads(schema.read_text()), "absentRows": True}))
    done = privity("schema", "check", schema, "--data", table)
    assert f"{table}: all rows in the domain." in done.stdout
    assert "300" not in done.stdout.replace(str(tmp_path), "")
    frame = people(300).assign(patient=[n // 2 for n in range(300)], visit=range(300))
    data = in_stores(tmp_path, frame)[1]
    config = party(tmp_path / "p", data, schema, 3, 'person = "patient"\norder = "visit"\n')
    told = privity("doctor", "--config", config, "--json").stdout
    found = {check["check"]: check["found"] for check in map(json.loads, told.splitlines())}
    assert found["data"] == "450 places, all within the schema"


def test_categories_are_discovered_in_the_places_of_persons(tmp_path: Path) -> None:
    rows = [(f"p{n}", visit, ("Bern", "Chur")[n % 2]) for n in range(400) for visit in range(2)]
    rows += [("hog", visit, "secret") for visit in range(3000)]
    pd.DataFrame(rows, columns=["patient", "visit", "town"]).to_csv(tmp_path / "visits.csv", index=False)
    field = {"name": "town", "type": "string", "domain": "discover"}
    (tmp_path / "open.json").write_text(json.dumps({"absentRows": True, "fields": [field]}))
    declared(tmp_path / "ledger", rows=2).close()
    given = ("--data", tmp_path / "visits.csv", "--schema", tmp_path / "open.json", "--epsilon", "1", "--delta", "1e-6",
             "--population", "people", "--ledger", tmp_path / "ledger", "--out", tmp_path / "found.json")  # fmt: skip
    assert "no column says whose a row is" in privity("schema", "discover", *given).stderr
    done = privity("schema", "discover", *given, "--person", "patient", "--order", "visit")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "found.json").read_text())["fields"][0]["categories"] == ["Bern", "Chur", "(other)"]


@pytest.mark.parametrize("more", [[], ["--person", "patient"]])
def test_several_rows_of_a_person_need_keys(more: list[str], tmp_path: Path) -> None:
    table, schema = write_people(tmp_path, 10)
    given = ("--data", table, "--schema", schema, "--epsilon", "1", "--population", "people")
    declared(tmp_path / "ledger", rows=2).close()
    done = privity("synthesize", *given, *more, "--ledger", tmp_path / "ledger", "--out", tmp_path / "out")
    assert done.returncode == Exit.INPUT
    assert "error [bad-option]: person:" in done.stderr
    assert not (tmp_path / "out").exists()


def test_tables_of_any_store_are_compared_and_checked(tmp_path: Path) -> None:
    table, schema = write_people(tmp_path, 200)
    database, parquet = in_stores(tmp_path, people(200))
    done = privity("evaluate", "--real", database, "--synthetic", table, "--schema", schema)
    assert done.returncode == 0, done.stderr
    assert "0.0000" in done.stdout
    assert "Rows: 200 real." in done.stdout
    done = privity("schema", "check", schema, "--data", parquet)
    assert f"{parquet}: 200 rows, all in the domain." in done.stdout


def test_a_key_that_repeats_is_asked_about_wherever_the_rows_are(tmp_path: Path) -> None:
    _, schema = write_people(tmp_path, 10)
    schema.write_text(json.dumps({**json.loads(schema.read_text()), "extraColumns": "ignore"}))
    frame = people(300).assign(patient=[1000 + n % 60 for n in range(300)])
    frame.to_csv(tmp_path / "visits.csv", index=False)
    sources = [str(tmp_path / "visits.csv"), *in_stores(tmp_path, frame)]
    for data in sources:
        done = privity("schema", "check", schema, "--data", data)
        assert done.returncode == 0, done.stderr
        said = "'patient' looks like a key whose values repeat: 60 different values in 300 rows, up to 5 rows each."
        assert said in done.stdout, data
        assert "--rows-per-person, and give the commands that read the rows --person patient" in done.stdout
    schema.write_text(json.dumps({**json.loads(schema.read_text()), "absentRows": True}))
    done = privity("schema", "check", schema, "--data", sources[0])
    assert "patient" not in done.stdout, "who declares places for absent rows knows of persons with several"


@pytest.mark.long
def test_a_simulation_over_a_folder_of_files(tmp_path: Path) -> None:
    _, schema = write_people(tmp_path, 10)
    (tmp_path / "parts").mkdir()
    for part in range(2):
        _, parquet = in_stores(tmp_path, people(150, seed=part))
        shutil.move(parquet, tmp_path / "parts" / f"{part}.parquet")
        (tmp_path / "clinic.duckdb").unlink()
    given = ("--data", tmp_path / "parts", "--schema", schema, "--epsilon", "4", "--algorithm", "one-way")
    done = privity("simulate", *given, "--parties", "2", "--secure-sum", "masks", "--out", tmp_path / "release")
    assert done.returncode == 0, done.stderr
    assert len(pd.read_csv(tmp_path / "release" / "synthetic.csv")) == 300


def test_a_store_that_is_not_there_is_named(tmp_path: Path) -> None:
    _, schema = write_people(tmp_path, 10)
    done = privity("schema", "check", schema, "--data", "postgresql://me@127.0.0.1:1/clinic#people")
    assert done.returncode == Exit.CONNECTION
    assert "postgresql://me@127.0.0.1:1/clinic#people" in done.stderr


SECRET = "postgresql://me:swordfish@127.0.0.1:1/clinic#people"


@pytest.mark.parametrize(
    "command",
    [
        "party init --invite {here}/none.json --population people --total-epsilon 1 --folder {here}/north --data",
        "synthesize --schema {here}/none.json --epsilon 1 --population people --out {here}/out --data",
        "simulate --schema {here}/none.json --epsilon 1 --out {here}/out --evaluate {here}/judged --data",
        "schema check {here}/none.json --data",
        "schema draft --out {here}/drafted.json",
        "evaluate --synthetic {here}/none.csv --schema {here}/none.json --real",
        "evaluate --real {here}/none.csv --schema {here}/none.json --synthetic",
        "evaluate --real {here}/none.csv --release {here}/none --control",
    ],
)
def test_a_password_on_a_command_line_is_refused_before_anything_is_done(tmp_path: Path, command: str) -> None:
    done = here(tmp_path, f"privity {command.format(here=tmp_path)} '{SECRET}'", XDG_STATE_HOME=str(tmp_path / "home"))
    assert done.returncode == Exit.INPUT
    assert "[bad-option]: address: it holds a password" in done.stderr
    assert "~/.pgpass" in done.stderr
    assert "party.toml" in done.stderr
    assert "swordfish" not in done.stderr + done.stdout
    assert not list(tmp_path.iterdir())


def test_every_command_that_takes_an_address_refuses_a_password_in_it() -> None:
    def commands(one: Any) -> Iterator[Any]:
        if not hasattr(one, "commands"):
            yield one
        for inner in getattr(one, "commands", {}).values():
            yield from commands(inner)

    everywhere = [parameter for one in commands(typer.main.get_command(app)) for parameter in one.params]
    asked = [parameter for parameter in everywhere if "docs/sources.md" in str(getattr(parameter, "help", ""))]
    assert len(asked) == 8
    for parameter in asked:
        assert parameter.callback is not None, parameter.name
