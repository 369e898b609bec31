"""What goes wrong with a source is told by name, with a remedy and without a secret; values go to the owner alone."""

from __future__ import annotations

import contextlib
import gzip
import sqlite3
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from privity.common.data.schema import Schema, parse_schema
from privity.common.errors import Catalogue, PrivityError, RowProblemsFound
from privity.party.config import load_config
from privity.party.sources import ibis_store
from privity.party.sources import postgresql_store as client
from privity.party.sources.address import parse_address
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.open_rows import open_rows
from privity.party.sources.rows import Rows
from privity.party.sources.sql_queries import Slots
from tests.harness import postgresql
from tests.harness.stores import Row, put

pytestmark = pytest.mark.external

SCHEMA = parse_schema(
    {
        "extraColumns": "ignore",
        "fields": [
            {"name": "ward", "type": "string", "categories": ["north", "south"]},
            {"name": "score", "type": "integer", "categories": [0, 1, 2]},
        ],
    },
    "s",
)
ROWS: list[Row] = [{"ward": ("north", "south")[place % 2], "score": place % 3} for place in range(40)]
MEMORY = 1 << 28
FORMS = ["csv", "parquet", "arrow", "duckdb", "sqlite", "postgresql", pytest.param("spark", marks=pytest.mark.long)]
STORED = ["parquet", "arrow", "duckdb", "sqlite", "postgresql"]

Put = Callable[[list[Row]], str]


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Put:
    """Puts rows into the store of the parameter ``form``."""
    form = request.getfixturevalue("form")
    if form == "spark":
        request.getfixturevalue("spark")
    server = request.getfixturevalue("server") if form == "postgresql" else None
    return lambda rows: put(form, tmp_path / form, rows, server)


def opened(address: str, schema: Schema = SCHEMA, hold: Hold = Hold.AUTO, folder: Path | None = None) -> Rows:
    return open_rows(parse_address(address), schema, Access(hold, MEMORY, cache=folder)).rows


def refusal(address: str, **how: object) -> PrivityError:
    with pytest.raises(PrivityError) as found:
        opened(address, **how)  # type: ignore[arg-type]
    error = found.value
    assert error.remedy
    assert error.remedy[0].isupper()
    assert postgresql.PASSWORD not in str(error)
    assert postgresql.PASSWORD.replace(" ", "%20") not in str(error)
    assert "None" not in str(error)
    return error


def faults(address: str, schema: Schema = SCHEMA, hold: Hold = Hold.AUTO) -> list[tuple[str, str]]:
    """(place, rule) of everything that is wrong with the rows."""
    error = refusal(address, schema=schema, hold=hold)
    assert isinstance(error, RowProblemsFound)
    assert all(problem.message.endswith(".") and problem.remedy.endswith(".") for problem in error.problems)
    return sorted((problem.field.strip("'"), problem.rule) for problem in error.problems)


@pytest.mark.parametrize("form", FORMS)
def test_values_outside_the_domain_are_shown_to_the_owner_by_attribute(form: str, store: Put) -> None:
    rows = [*ROWS, {"ward": "north ", "score": 7}, {"ward": "west", "score": 7}, {"ward": None, "score": 1}]
    error = refusal(store(rows))
    assert isinstance(error, RowProblemsFound)
    ward, score = error.problems
    assert (ward.field, ward.rule, score.field, score.rule) == ("ward", "out-of-domain", "score", "out-of-domain")
    assert all(part in ward.message for part in ("'north '", "'west'", "one of 'north', 'south'"))
    assert "7" in score.message
    if form != "csv":
        assert "in 3 rows, such as" in ward.message
        assert "NULL" in ward.message
        assert "in 2 rows, such as '7'" in score.message


@pytest.mark.parametrize("form", FORMS)
def test_a_missing_column_and_one_that_does_not_fit_are_told_at_once(form: str, store: Put) -> None:
    schema = parse_schema(
        {
            "fields": [
                *SCHEMA.table_schema()["fields"],
                {"name": "age", "type": "integer", "edges": [0, 50, 100]},
                {"name": "sex", "type": "string", "categories": ["f", "m"]},
                {"name": "odd", "type": "boolean"},
            ]
        },
        "s",
    )
    address = store([{**row, "odd": 2.5 if form in ("parquet", "arrow", "duckdb") else "maybe"} for row in ROWS])
    found = faults(address, schema)
    if form == "csv":
        assert found == [("header", "missing-column"), ("odd", "out-of-domain")]
    elif form in ("parquet", "arrow", "duckdb"):
        assert found == [("age", "missing-column"), ("odd", "column-type"), ("sex", "missing-column")]
    else:
        assert found == [("age", "missing-column"), ("sex", "missing-column")]


@pytest.mark.parametrize("form", FORMS)
def test_a_key_that_is_no_column_is_told_with_the_others(form: str, store: Put) -> None:
    access = Access(Hold.AUTO, MEMORY, Slots("patient", "visit", 1))
    with pytest.raises(RowProblemsFound) as found:
        open_rows(parse_address(store(ROWS)), SCHEMA, access)
    assert [problem.field.strip("'") for problem in found.value.problems] == ["patient", "visit"]


@pytest.mark.parametrize("name", ["rows.CSV.GZ", "rows.csv.Gz"])
def test_a_packed_file_is_read_whatever_the_case_of_its_name(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"ward,score\nnorth,1\n"))
    assert opened(str(tmp_path / name)).count([(0,)]).tolist() == [1, 0]


def put_sqlite(folder: Path, columns: str, *rows: str) -> str:
    """The address of a table of SQLite with these columns and rows, in SQL."""
    with contextlib.closing(sqlite3.connect(folder / "rows.db")) as lite, lite:
        lite.execute(f"CREATE TABLE visits ({columns})")
        lite.execute(f"INSERT INTO visits VALUES {', '.join(rows)}")
    return f"sqlite:///{folder}/rows.db#visits"


def test_a_column_of_sqlite_without_a_declared_type_is_refused_with_what_to_do(tmp_path: Path) -> None:
    address = put_sqlite(tmp_path, "ward, score INTEGER, who, visit INTEGER", "('north', 1, 1, 1)")
    with pytest.raises(RowProblemsFound) as found:
        open_rows(parse_address(address), SCHEMA, Access(Hold.AUTO, MEMORY, Slots("who", "visit", 1)))
    assert [(problem.field, problem.rule) for problem in found.value.problems] == [
        ("'ward'", "column-type"), ("'who'", "column-type"),
    ]  # fmt: skip
    assert "the column has no declared type" in str(found.value)
    # The remedy that it names, as it stands.
    assert 'CREATE TABLE typed ("ward" TEXT, ...); INSERT INTO typed SELECT "ward", ...' in str(found.value)
    with contextlib.closing(sqlite3.connect(tmp_path / "rows.db")) as lite, lite:
        lite.execute('CREATE TABLE typed ("ward" TEXT, score INTEGER)')
        lite.execute('INSERT INTO typed SELECT "ward", score FROM visits')
    assert opened(address.replace("#visits", "#typed")).count([(0, 1)]).sum() == 1


def test_values_of_sqlite_outside_the_domain_are_named_with_nulls_among_them(tmp_path: Path) -> None:
    address = put_sqlite(tmp_path, "ward TEXT, score INTEGER", "(NULL, NULL)", "('zz', 'zz')", "('north', 1.5)")
    with pytest.raises(RowProblemsFound) as found:
        opened(address)
    said = {problem.field: problem.message for problem in found.value.problems}
    assert "in 2 rows, such as NULL, 'zz'." in said["ward"]
    assert "in 3 rows, such as NULL, 'zz', '1.5'." in said["score"]


def test_what_is_no_integer_in_a_column_of_integers_of_sqlite_is_in_no_bin(tmp_path: Path) -> None:
    schema = parse_schema({"fields": [{"name": "score", "type": "integer", "edges": [0, 1, 2**62]}]}, "s")
    address = put_sqlite(tmp_path, "score INTEGER", "(2)", "('1')", "(1.5)", "('zz')", "(x'01')", "(9e999)", "(1e18)")
    with pytest.raises(RowProblemsFound) as found:
        opened(address, schema)
    (problem,) = found.value.problems
    assert "in 4 rows" in problem.message


@pytest.mark.parametrize("form", [*STORED, pytest.param("spark", marks=pytest.mark.long)])
def test_no_rows(form: str, store: Put, server: postgresql.Server, tmp_path: Path) -> None:
    address = store(ROWS)
    if form == "postgresql":
        server.execute("DELETE FROM visits")
    elif form == "duckdb":
        with duckdb.connect(str(tmp_path / form / "rows.duckdb")) as connection:
            connection.execute("DELETE FROM visits")
    elif form == "sqlite":
        with contextlib.closing(sqlite3.connect(tmp_path / form / "rows.db")) as lite, lite:
            lite.execute("DELETE FROM visits")
    else:
        nothing = pa.table({"ward": pa.array([], pa.string()), "score": pa.array([], pa.int64())})
        if form == "arrow":
            pyarrow.feather.write_feather(nothing, tmp_path / form / "rows.feather")
        else:
            pq.write_table(nothing, tmp_path / form / "rows.parquet")
    for hold in (Hold.AUTO, Hold.MEMORY):
        assert faults(address, hold=hold) == [("", "no-rows")]


def test_a_csv_file_without_rows(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("ward,score\n")
    assert faults(str(tmp_path / "rows.csv")) == [("", "no-rows")]


@pytest.mark.parametrize("hold", [Hold.STORE, Hold.CACHE])
@pytest.mark.parametrize("form", ["parquet", "arrow", "duckdb"])
def test_files_that_are_gone_are_waited_for(form: str, hold: Hold, store: Put, tmp_path: Path) -> None:
    address = store(ROWS)
    rows = opened(address, hold=hold, folder=tmp_path / "coded")
    before = rows.count([(0, 1)])
    folder = tmp_path / ("coded" if hold is Hold.CACHE else form)
    folder.rename(tmp_path / "away")
    for _ in range(2):
        for ask in (lambda: rows.count([(0,)]), lambda: list(rows.joint_counts([((0,), [1])]))):
            with pytest.raises(PrivityError, match="cannot be reached") as found:
                ask()
            assert found.value.kind is Catalogue.SOURCE_UNREACHABLE
    (tmp_path / "away").rename(folder)
    assert rows.count([(0, 1)]).tolist() == before.tolist()


@pytest.mark.parametrize("form", ["parquet", "arrow", "duckdb"])
def test_a_corrupt_file_is_told_without_its_content(form: str, store: Put, tmp_path: Path) -> None:
    address = store(ROWS)
    (file,) = (tmp_path / form).iterdir()
    whole = file.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"north, south: no such file at all", whole[:8] + bytes(len(whole))):
        file.write_bytes(content)
        error = refusal(address)
        assert error.kind in (Catalogue.SOURCE_REFUSED, Catalogue.SOURCE_UNREACHABLE)
        assert address.removeprefix("duckdb://") in error.message
        assert "north" not in str(error)


def test_a_packed_file_that_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b"ward,score\n" + b"north,1\n" * 5000)[:-20])
    assert "not a whole gzip file" in refusal(str(tmp_path / "rows.csv.gz")).message


def test_a_file_of_coded_rows_that_is_spoilt_is_made_anew(tmp_path: Path) -> None:
    address = put("parquet", tmp_path / "rows", ROWS)
    expected = opened(address, hold=Hold.STORE).count([(0, 1)]).tolist()
    opened(address, hold=Hold.CACHE, folder=tmp_path / "coded")
    (coded,) = (tmp_path / "coded").iterdir()
    assert coded.stat().st_mode & 0o077 == 0
    one_less = pq.read_table(coded).slice(1)
    swapped = pq.read_table(coded).select(["a1", "a0"]).rename_columns(["a0", "a1"])
    spoils = [
        lambda: coded.write_bytes(coded.read_bytes()[:50]),
        lambda: pq.write_table(one_less, coded),
        lambda: pq.write_table(swapped, coded),
        lambda: pq.write_table(one_less.select(["a0"]), coded),
    ]
    for spoil in spoils:
        spoil()
        rows = opened(address, hold=Hold.CACHE, folder=tmp_path / "coded")
        assert rows.count([(0, 1)]).tolist() == expected


@pytest.mark.parametrize(
    ("types", "said"),
    [((pa.int64(), pa.float64()), "int64 in one file, double in another"), ((pa.int64(), pa.string()), "int64 in one")],
)
@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_files_of_different_types_are_never_made_into_one(
    form: str, types: tuple[pa.DataType, ...], said: str, tmp_path: Path
) -> None:
    write = pq.write_table if form == "parquet" else pyarrow.feather.write_feather
    for place, kind in enumerate(types):
        score = pa.array([0, 1, 2]).cast(kind)
        write(pa.table({"ward": ["north"] * 3, "score": score}), str(tmp_path / f"{place}.{form}"))
    error = refusal(str(tmp_path))
    assert "'score': [column-type]" in error.message
    assert said in error.message


def test_files_may_have_their_columns_in_any_order(tmp_path: Path) -> None:
    pq.write_table(pa.table({"ward": ["north"], "score": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"more": [1], "score": [2], "ward": ["south"]}), tmp_path / "b.parquet")
    assert opened(str(tmp_path)).count([(0, 1)]).tolist() == [0, 1, 0, 0, 0, 1]
    pq.write_table(pa.table({"ward": ["south"]}), tmp_path / "c.parquet")
    error = refusal(str(tmp_path))
    assert "'score': [column-type]" in error.message
    assert "int64 in one file, missing in another" in error.message


@pytest.mark.parametrize("form", ["parquet", "feather"])
@pytest.mark.parametrize("other", [{"SCORE": [1.5]}, {}], ids=["in capitals", "missing"])
@pytest.mark.parametrize("first", [True, False])
def test_a_column_that_is_not_in_every_file_under_its_name_is_refused(
    form: str, other: dict[str, list[float]], first: bool, tmp_path: Path
) -> None:
    write = pq.write_table if form == "parquet" else pyarrow.feather.write_feather
    tables = [{"ward": ["north"], "score": [1]}, {"ward": ["north"], **other}]
    for place, columns in enumerate(tables if first else tables[::-1]):
        write(pa.table(columns), str(tmp_path / f"{place}.{form}"))
    error = refusal(str(tmp_path))
    assert "'score': [column-type]" in error.message
    assert "int64 in one file, missing in another" in error.message
    schema = SCHEMA.over(["ward"])
    with pytest.raises(RowProblemsFound, match=r"'score': \[column-type"):
        open_rows(parse_address(str(tmp_path)), schema, Access(Hold.AUTO, MEMORY, Slots("score", "ward", 1)))
    assert opened(str(tmp_path), schema).count([(0,)]).tolist() == [2, 0]


def test_names_of_files_and_folders_are_neither_patterns_nor_columns(tmp_path: Path) -> None:
    (tmp_path / "score=2").mkdir()
    for name in ("a*.parquet", "ab.parquet", "[a]?.parquet", "score=2/c.parquet"):
        pq.write_table(pa.table({"ward": ["north"], "score": [1]}), tmp_path / name)
    assert opened(str(tmp_path)).count([(0, 1)]).tolist() == [0, 4, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        ({"password": "another sea fish"}, Catalogue.SOURCE_REFUSED, "does not accept the account or its password"),
        ({"user": "nobody"}, Catalogue.SOURCE_REFUSED, "does not accept the account or its password"),
        ({"database": "nowhere"}, Catalogue.SOURCE_REFUSED, "there is no such database"),
        ({"table": "nothing"}, Catalogue.SOURCE_REFUSED, "it has no such table"),
        ({"table": "no.visits"}, Catalogue.SOURCE_REFUSED, "it has no such table"),
        ({"user": "stranger", "password": "let me in"}, Catalogue.SOURCE_REFUSED, "no right to read it"),
    ],
)
def test_what_postgresql_refuses(
    change: dict[str, str], kind: Catalogue, said: str, server: postgresql.Server, tmp_path: Path
) -> None:
    put("postgresql", tmp_path, ROWS, server)
    server.execute("DROP ROLE IF EXISTS stranger", "CREATE ROLE stranger LOGIN PASSWORD 'let me in'")
    error = refusal(server.url(**{"table": "visits", **change}))
    assert error.kind is kind
    assert said in error.message
    assert f"127.0.0.1:{server.port}" in error.message
    for password in ("another", "let me in", "let%20me"):
        assert password not in str(error)


def test_an_account_that_may_select_and_nothing_else_is_enough(server: postgresql.Server, tmp_path: Path) -> None:
    put("postgresql", tmp_path, ROWS, server)
    server.execute(
        "DROP ROLE IF EXISTS reader",
        "CREATE ROLE reader LOGIN PASSWORD 'p@ss/w:#?'",
        "GRANT SELECT ON visits TO reader",
    )
    password = "p%40ss%2Fw%3A%23%3F"
    rows = opened(server.url("visits", "reader", password))
    assert rows.count([(0,)]).tolist() == [20, 20]
    server.execute("REVOKE SELECT ON visits FROM reader")
    with pytest.raises(PrivityError, match="no right to read it"):
        rows.count([(0,)])


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("postgresql://u:secret@127.0.0.1:{free}/clinic#t", "no connection to its server"),
        ("postgresql://u:secret@password.invalid/clinic#t", "no connection to its server"),
        ("postgresql://u:secret@127.0.0.1:{free}/clinic?sslmod=require#t", "its URL is none that libpq reads"),
        ("postgresql://u:sec%ret@127.0.0.1:{free}/clinic#t", "its URL is none that libpq reads"),
    ],
)
def test_no_server(address: str, said: str) -> None:
    error = refusal(address.format(free=postgresql.free_port()))
    assert said in error.message
    assert "sec" not in str(error)


def test_a_server_that_stops_is_waited_for(tmp_path: Path) -> None:
    with postgresql.server() as running:
        rows = opened(put("postgresql", tmp_path, ROWS, running))
        before = rows.count([(0, 1)]).tolist()
        running.stop()
        for ask in (lambda: rows.count([(0, 1)]), lambda: list(rows.joint_counts([((0,), [1])]))):
            with pytest.raises(PrivityError, match="no connection to its server") as found:
                ask()
            assert found.value.kind is Catalogue.SOURCE_UNREACHABLE
        running.start()
        assert rows.count([(0, 1)]).tolist() == before


@pytest.mark.parametrize(
    "setting", ["standard_conforming_strings = off", "statement_timeout = 1", "DateStyle = German"]
)
def test_settings_of_an_account_change_nothing(setting: str, server: postgresql.Server, tmp_path: Path) -> None:
    address = put("postgresql", tmp_path, ROWS, server)
    name = setting.partition(" ")[0]
    server.execute(f"ALTER ROLE {postgresql.OWNER} SET {setting}")
    try:
        assert opened(address).count([(0,)]).tolist() == [20, 20]
    finally:
        server.execute(f"ALTER ROLE {postgresql.OWNER} RESET {name}")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("sqlite:///{folder}/rows.db#nothing", "it has no such table"),
        ("nosuchbackend://u:secret@host/db#t", "it cannot be connected to"),
        ("mysql://u:secret@127.0.0.1:1/db#t", "it cannot be connected to"),
    ],
)
def test_what_ibis_refuses(address: str, said: str, tmp_path: Path) -> None:
    put("sqlite", tmp_path, ROWS)
    error = refusal(address.format(folder=tmp_path))
    assert said in error.message
    assert "secret" not in str(error)


def test_an_extra_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "psycopg", None)
    monkeypatch.setattr(ibis_store, "ibis", None)
    for address, extra in (("postgresql://u:secret@h/d#t", "postgresql"), ("sqlite:///x.db#t", "ibis")):
        error = refusal(address)
        assert error.kind is Catalogue.SOURCE_REFUSED
        assert f"pip install 'privity[{extra}]'" in error.remedy
        assert "secret" not in str(error)


PARTY = """
format_version = 1
name = "clinic"
curator = "curator:7000"
data = "visits.parquet"
schema = "s.json"
policy = "policy.toml"
manifest = "m.json"
organiser_key = "o.pub"
keys = "keys"
certificate = "c.pem"
key = "k.pem"
state = "state"
"""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('person = "patient"', "party.toml: [dependentRequired] the key 'order' is missing, without which 'person'"),
        ('order = "visit"', "party.toml: [dependentRequired] the key 'person' is missing, without which 'order'"),
        ('person = ""', "party.toml:14: person: [minLength]"),
        ('hold = "disk"', "party.toml:14: hold: [enum] 'disk' is not one of the values allowed. Write one of: 'auto'"),
        ("memory_gb = 0", "party.toml:14: memory_gb: [exclusiveMinimum] 0 is not more than 0."),
        ("memory_gb = inf", "party.toml:14: memory_gb: [finite] inf is not a number for use."),
        ("memory_gb = nan", "party.toml:14: memory_gb: [finite] nan is not a number for use."),
        ("memory_gb = 1e300", "party.toml:14: memory_gb: [maximum]"),
        ('memory_gb = "4"', "party.toml:14: memory_gb: [type] expected number, found string."),
    ],
)
def test_what_party_toml_says_of_the_rows_is_checked(line: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "party.toml").write_text(f"{PARTY}{line}\n", encoding="utf-8")
    with pytest.raises(PrivityError) as found:
        load_config(tmp_path / "party.toml")
    assert said in str(found.value)


def test_little_memory_is_enough_for_what_is_read_anew(tmp_path: Path) -> None:
    (tmp_path / "party.toml").write_text(f"{PARTY}memory_gb = 1e-9\n", encoding="utf-8")
    put("parquet", tmp_path, ROWS)
    settings = load_config(tmp_path / "party.toml").rows
    (tmp_path / "rows.parquet").rename(tmp_path / "visits.parquet")
    assert settings.open(SCHEMA, 1).rows.count([(0,)]).tolist() == [20, 20]
    with pytest.raises(PrivityError, match="no column says whose a row is"):
        settings.open(SCHEMA, 2)
