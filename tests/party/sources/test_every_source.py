"""The contract of sources: every one of them gives the tables that counting by hand gives."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privity.common.data.schema import Schema, parse_schema
from privity.common.errors import PrivityError
from privity.party.sources import duckdb_store
from privity.party.sources.address import parse_address
from privity.party.sources.coded_batches import StoreBatches
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.open_rows import connect, open_rows
from privity.party.sources.rows import Rows
from privity.party.sources.sql_queries import Questions
from tests.harness import postgresql
from tests.harness.long import thinned
from tests.harness.object_store import ObjectStore
from tests.harness.typed_table import (
    POSTGRESQL,
    arrow_table,
    codes_by_hand,
    some_marginals,
    table_by_hand,
    typed_rows,
    typed_schema,
    write_csv_of,
)

pytestmark = pytest.mark.external

SCHEMA, ROWS = typed_schema(), typed_rows()
CODES = codes_by_hand(SCHEMA, ROWS)
MEMORY = 1 << 28

Make = Callable[[Path], str]
"""Puts the rows somewhere, and gives the address."""


def csv_file(folder: Path) -> str:
    write_csv_of(ROWS, folder / "rows.csv")
    return str(folder / "rows.csv")


def packed_csv_files(folder: Path) -> str:
    import gzip

    for part, some in enumerate((ROWS[:150], ROWS[150:])):
        write_csv_of(some, folder / "plain")
        (folder / f"part-{part}.csv.gz").write_bytes(gzip.compress((folder / "plain").read_bytes()))
    return str(folder / "*.csv.gz")


def parquet_file(folder: Path) -> str:
    pq.write_table(arrow_table(ROWS), folder / "rows.parquet", row_group_size=64)
    return str(folder / "rows.parquet")


def parquet_folder(folder: Path) -> str:
    (folder / "in [brackets]" / "deeper").mkdir(parents=True)
    pq.write_table(arrow_table(ROWS[:100]), folder / "in [brackets]" / "a'b.parquet")
    pq.write_table(arrow_table(ROWS[100:]), folder / "in [brackets]" / "deeper" / "c.parquet")
    return str(folder / "in [brackets]")


def arrow_file(folder: Path) -> str:
    table = arrow_table(ROWS)
    place = table.schema.get_field_index("Word")
    pyarrow.feather.write_feather(
        table.set_column(place, "Word", table["Word"].dictionary_encode()), folder / "x.feather"
    )
    return str(folder / "x.feather")


def duckdb_file(folder: Path) -> str:
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.register("given", arrow_table(ROWS))
        connection.execute('CREATE SCHEMA ward; CREATE TABLE ward."the rows" AS SELECT * FROM given')
    return f"duckdb://{folder}/rows.duckdb#ward.the rows"


def duckdb_without_case(folder: Path) -> str:
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.register("given", arrow_table(ROWS))
        connection.execute("CREATE TABLE plain AS SELECT * FROM given")
        connection.execute('ALTER TABLE plain ALTER "Word" TYPE VARCHAR COLLATE NOCASE')
    return f"{folder}/rows.duckdb#plain"


FILES: list[Make] = [
    csv_file, packed_csv_files, parquet_file, parquet_folder, arrow_file, duckdb_file, duckdb_without_case
]  # fmt: skip


def check(rows: Rows, schema: Schema = SCHEMA, codes: dict[int, list[int]] = CODES, count: int = len(ROWS)) -> None:
    """The whole contract of ``Rows``."""
    assert rows.rows == count
    assert rows.schema.digest == schema.digest
    marginals = some_marginals(schema)
    domain = schema.derived.domain
    cells, start = rows.count(marginals), 0
    assert cells.dtype == np.int64
    for marginal in marginals:
        expected = table_by_hand(schema, codes, marginal)
        found = cells[start : start + expected.size].reshape(expected.shape)
        assert np.array_equal(found, expected), [schema.derived.names[a] for a in marginal]
        start += expected.size
    assert start == cells.size
    requests = [((3,), [0, 1, 2]), ((0, 4), [1]), ((len(domain) - 1, 1), [0, 5]), ((2, 0, 3), [1, 6, 7])]
    for (parents, attributes), joint in zip(requests, rows.joint_counts(requests), strict=True):
        for attribute, table in zip(attributes, joint, strict=True):
            expected = table_by_hand(schema, codes, (attribute, *parents))
            assert np.array_equal(table, expected.reshape(domain[attribute], -1))


@pytest.mark.parametrize("kind", ["int8", "uint8", "int64"])
@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_integers_in_a_row_are_coded_as_their_texts_are(kind: str, data: st.DataObject, tmp_path: Path) -> None:
    info = np.iinfo(kind)
    ends = st.sampled_from([info.min, 0, info.max - 40])
    first = data.draw(ends | st.integers(int(info.min), int(info.max) - 40))
    numbers = list(range(first, first + data.draw(st.integers(2, 40))))
    near = st.integers(max(info.min, first - 3), min(info.max, numbers[-1] + 3))
    values = data.draw(st.lists(near | st.sampled_from([info.min, info.max]) | st.none(), min_size=1, max_size=30))
    missing = data.draw(st.sampled_from([[], [""], ["", str(first - 1), "x"]]))
    fields = [
        {"name": "as text", "type": "string", "categories": [str(number) for number in numbers]},
        {"name": "as integer", "type": "integer", "categories": numbers, "missingValues": missing},
    ]
    schema = parse_schema({"fields": fields}, "s")
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({field["name"]: pa.array(values, pa.from_numpy_dtype(kind)) for field in fields}), file)
    store = connect(parse_address(str(file)), MEMORY)
    batches = StoreBatches(store, Questions(store, schema, {}, None), schema).read(range(2))
    found = [np.concatenate(columns).tolist() for columns in zip(*batches, strict=True)]
    store.close()
    for attribute, codes in zip(schema.attributes, found, strict=True):
        of_text = [attribute.code_of_nothing() if v is None else attribute.code_of_number(str(v)) for v in values]
        assert codes == [attribute.size if code is None else code for code in of_text]


def opened(address: str, **access: Any) -> Rows:
    return open_rows(parse_address(address), SCHEMA, Access(**{"memory": MEMORY, **access})).rows


@pytest.mark.parametrize(("make", "hold"), thinned(product(FILES, [Hold.MEMORY, Hold.CACHE, Hold.STORE]), 2))
def test_files_give_the_tables_of_brute_force(make: Make, hold: Hold, tmp_path: Path) -> None:
    address = make(tmp_path)
    if hold is Hold.STORE and "csv" in make.__name__:
        with pytest.raises(PrivityError, match="CSV is read once"):
            opened(address, hold=hold)
        return
    rows = opened(address, hold=hold, cache=tmp_path / "coded")
    check(rows)
    assert rows.digest == opened(address).digest
    assert (tmp_path / "coded").exists() == (hold is Hold.CACHE)


def test_one_state_has_one_name_whatever_holds_it(tmp_path: Path) -> None:
    assert len({opened(make(folder)).digest for make in FILES if (folder := new(tmp_path, make))}) == 1


def new(folder: Path, make: Make) -> Path:
    made = folder / make.__name__
    made.mkdir()
    return made


@pytest.fixture(scope="module")
def server() -> Iterator[postgresql.Server]:
    with postgresql.server() as running:
        columns = ", ".join(f'"{name}" {kind}' for name, kind in POSTGRESQL.items())
        places = ", ".join(["%s"] * len(POSTGRESQL))
        with psycopg.connect(running.owner) as connection:
            connection.execute("CREATE SCHEMA ward")
            # A collation that takes two texts for the same must not decide what a value's code is.
            connection.execute(
                "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
            )
            connection.execute(f'CREATE TABLE ward."the rows" ({columns}, undeclared text)')
            connection.execute('ALTER TABLE ward."the rows" ALTER "Word" TYPE text COLLATE blind')
            with connection.cursor() as cursor:
                rows = [[row[name] for name in POSTGRESQL] for row in ROWS]
                names = ", ".join(f'"{name}"' for name in POSTGRESQL)
                cursor.executemany(f'INSERT INTO ward."the rows" ({names}) VALUES ({places})', rows)
        yield running


@pytest.mark.parametrize("hold", list(Hold))
def test_postgresql_gives_the_tables_of_brute_force(hold: Hold, server: postgresql.Server, tmp_path: Path) -> None:
    rows = opened(server.url("ward.the rows"), hold=hold, cache=tmp_path / "coded")
    check(rows)
    assert rows.digest == opened(csv_file(tmp_path)).digest


def test_what_does_not_fit_is_spilled_for_a_run_and_goes_with_it(server: postgresql.Server, tmp_path: Path) -> None:
    rows = opened(server.url("ward.the rows"), hold=Hold.AUTO, memory=100, cache=tmp_path / "coded")
    check(rows)
    (file,) = (tmp_path / "coded").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "coded").stat().st_mode & 0o777 == 0o700
    rows.forget()
    assert not list((tmp_path / "coded").iterdir())
    check(rows)


@pytest.mark.process
@pytest.mark.parametrize(
    ("path", "hold"), [("[uv]*s/*/*.parquet", Hold.STORE), pytest.param("visits", Hold.MEMORY, marks=pytest.mark.long)]
)
def test_an_object_store_gives_the_tables_of_brute_force(
    path: str, hold: Hold, objects: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duckdb_store, "PART_BYTES", 1)  # a part for each group of rows
    objects.put("visits/whole/a.parquet", arrow_table(ROWS[:100]), 64)
    objects.put("visits/code=5/b'c [d].parquet", arrow_table(ROWS[100:]), 64)
    rows = opened(objects.address(path), hold=hold)
    check(rows)
    assert rows.digest == opened(csv_file(tmp_path)).digest


@pytest.mark.parametrize("kind", ["numeric", "varchar(20)", "char(20)", "text"])
def test_numbers_of_any_length_are_compared_exactly(kind: str, server: postgresql.Server) -> None:
    third = "0." + "3" * 15
    texts = [third, third + "4", "0", "1", "-1e-3", "0.66666666666666666", "0.67", "2", "0.10000000000000001"]
    texts += ["NaN", "Infinity"] if kind == "numeric" else []
    server.execute("DROP TABLE IF EXISTS numbers", f"CREATE TABLE numbers (price {kind})")
    with psycopg.connect(server.owner) as connection:
        connection.cursor().executemany("INSERT INTO numbers VALUES (%s)", [[text] for text in texts])
    field = {"name": "price", "type": "number", "bins": 3, "constraints": {"minimum": 0, "maximum": 1}}
    missing = ["nan", "inf"]
    schema = parse_schema({"fields": [{**field, "outOfDomain": "edge", "missingValues": missing}]}, "numbers")
    rows = open_rows(parse_address(server.url("numbers")), schema, Access(memory=MEMORY)).rows
    read = [{"NaN": "nan", "Infinity": "inf"}.get(text, text) for text in texts]
    expected = np.bincount([schema.attributes[0].code_of(text) or 0 for text in read], minlength=4)
    assert rows.count([(0,)]).tolist() == expected.tolist()


@pytest.mark.long
@pytest.mark.parametrize("hold", [Hold.STORE, Hold.MEMORY])
def test_spark_gives_the_tables_of_brute_force(hold: Hold, spark: None, tmp_path: Path) -> None:
    parquet_file(tmp_path)
    rows = opened(f"pyspark://#{tmp_path}/rows.parquet", hold=hold)
    check(rows)
    assert rows.digest == opened(csv_file(tmp_path)).digest


def test_a_backend_without_grouping_sets_gives_the_same(tmp_path: Path) -> None:
    names = ["Word", "whole", "kind", "code", "digits", "real"]
    with contextlib.closing(sqlite3.connect(tmp_path / "rows.db")) as connection, connection:
        connection.execute(
            'CREATE TABLE t ("Word" TEXT COLLATE NOCASE, whole BIGINT, kind INT, code BIGINT, digits TEXT, real TEXT)'
        )
        connection.executemany(
            "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", [[row[name] for name in names] for row in ROWS]
        )
    schema = SCHEMA.over(names)
    rows = open_rows(parse_address(f"sqlite:///{tmp_path}/rows.db#t"), schema, Access(Hold.STORE, MEMORY)).rows
    codes = codes_by_hand(schema, ROWS)
    marginals = list(itertools.combinations(range(len(schema.derived.domain)), 2))
    found = rows.count(marginals)
    assert np.array_equal(found, np.concatenate([table_by_hand(schema, codes, m).ravel() for m in marginals]))


def test_a_run_over_some_attributes_sees_those_only(server: postgresql.Server, tmp_path: Path) -> None:
    names = ["code", "Word", "amount"]
    part = SCHEMA.over(names)
    codes = codes_by_hand(part, ROWS)
    marginals = list(itertools.combinations(range(len(part.derived.domain)), 2))
    expected = np.concatenate([table_by_hand(part, codes, m).ravel() for m in marginals])
    for address in (server.url("ward.the rows"), parquet_file(tmp_path)):
        for hold in (Hold.STORE, Hold.AUTO):
            rows = opened(address, hold=hold).over(names)
            assert rows.schema.names == part.names
            assert np.array_equal(rows.count(marginals), expected)
            assert [t.tolist() for t in next(rows.joint_counts([((0,), [1])]))] == [
                table_by_hand(part, codes, (1, 0)).tolist()
            ]
