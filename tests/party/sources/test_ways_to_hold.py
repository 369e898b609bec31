"""What an owner is told of the ways to hold the rows, before a node uses them."""

from pathlib import Path

import duckdb
import pytest

from privity.common.data.schema import parse_schema
from privity.common.errors import PrivityError
from privity.party.sources import held_rows
from privity.party.sources.address import parse_address
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.inspection import automatic, tried

SCHEMA = parse_schema(
    {"fields": [{"name": name, "type": "string", "categories": ["a", "b"]} for name in ("one", "two", "three")]}, "rows"
)


@pytest.fixture
def parquet(tmp_path):
    file = tmp_path / "rows.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END AS one, 'a' AS two, 'b' AS three "
            f"FROM range(500) AS numbers(i)) TO '{file}' (FORMAT parquet)"
        )
    return parse_address(str(file))


def test_a_quarter_of_the_memory_is_of_the_container_where_it_has_less_than_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_rows, "CONTAINER_LIMIT", tmp_path / "none")
    machine = held_rows.default_memory()
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(held_rows, "CONTAINER_LIMIT", limit)
    for said, taken in (("max\n", machine), (f"{2**20}\n", 2**18), (f"{2**60}\n", machine)):
        limit.write_text(said, encoding="ascii")
        assert held_rows.default_memory() == taken


def test_every_way_is_tried_and_leaves_nothing_behind(parquet, tmp_path):
    cache = tmp_path / "state" / "coded"
    cache.parent.mkdir()
    access = Access(memory=1 << 20, cache=cache)
    for hold in (Hold.MEMORY, Hold.CACHE, Hold.STORE):
        way = tried(parquet, SCHEMA, access, hold)
        assert way.unfit == ""
        assert way.opened is not None
        assert way.opened.rows.rows == 500
        assert way.memory == (1500 if hold is Hold.MEMORY else 0)
    assert not list(cache.parent.iterdir())


def test_a_way_that_is_not_possible_says_why(parquet, tmp_path):
    way = tried(parquet, SCHEMA, Access(memory=100), Hold.MEMORY)
    assert way.opened is None
    assert "more than memory allows" in way.unfit
    csv = tmp_path / "rows.csv"
    csv.write_text("one,two,three\na,b,a\n")
    assert "CSV is read once" in tried(parse_address(str(csv)), SCHEMA, Access(memory=1 << 20), Hold.STORE).unfit


def test_a_fault_of_the_source_is_not_taken_for_a_way_that_is_not_possible(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("one,two,three\nz,b,a\n")
    with pytest.raises(PrivityError) as told:
        tried(parse_address(str(file)), SCHEMA, Access(memory=1 << 20), Hold.MEMORY)
    assert "outside the domain" in str(told.value)


def test_auto_says_what_it_does_and_why(parquet, tmp_path):
    assert automatic(parquet, SCHEMA, Access(memory=2000), 500).startswith("holds the codes in memory")
    assert automatic(parquet, SCHEMA, Access(memory=2000), 5000).startswith("reads the rows anew for each question")
    server = parse_address("postgresql://someone@localhost/base#rows")
    assert "the codes are loaded into memory" in automatic(server, SCHEMA, Access(memory=2000), 500)
    assert "into a file that goes" in automatic(server, SCHEMA, Access(memory=2000), 5000)
    spark = parse_address("pyspark://#rows")
    assert automatic(spark, SCHEMA, Access(memory=2000), 500).startswith("Spark's workers count all tables")
