"""The benchmark of sources: made rows that fit their schema, and a small run from files to page."""

import json

import duckdb
import pytest

from benchmarks.experiments.sources import rows_in
from benchmarks.methods.made_rows import made_schema, schema_document, write_rows
from benchmarks.methods.source_counting import count, count_in_memory, learn
from privity.common.data.marginal_counter import BLOCK_ROWS
from privity.party.sources.address import parse_address
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.open_rows import open_rows
from privity.party.sources.rows import InMemory

ROWS = 4_000
PAIRS = 190


@pytest.fixture
def table(tmp_path):
    """A CSV file of made rows, and its schema."""
    write_rows(tmp_path / "small.parquet", ROWS)
    with duckdb.connect() as connection:
        connection.from_parquet(str(tmp_path / "small.parquet")).write_csv(str(tmp_path / "small.csv"))
    (tmp_path / "small.schema.json").write_text(json.dumps(schema_document()))
    return tmp_path / "small.csv", tmp_path / "small.schema.json"


def test_made_rows_use_every_code_of_their_schema(tmp_path):
    write_rows(tmp_path / "made.parquet", ROWS)
    rows = open_rows(parse_address(str(tmp_path / "made.parquet")), made_schema(), Access(Hold.MEMORY, 1 << 28)).rows
    assert rows.rows == ROWS
    assert rows.schema.domain[:4] == (4, 4, 16, 16)
    assert (rows.count([(a,) for a in range(20)]) > 0).all()


def test_rows_of_memory_that_are_counted_in_blocks_are_all_counted(make_table):
    rows = make_table((3, 2), 2 * BLOCK_ROWS + 5, 1)
    counts = InMemory(rows).count([(0,), (1, 0)])
    codes = rows.columns[1].astype(int) * 3 + rows.columns[0]
    assert counts[:3].tolist() == [int((rows.columns[0] == code).sum()) for code in range(3)]
    assert counts[3:].tolist() == [int((codes == cell).sum()) for cell in range(6)]


@pytest.mark.statistical
def test_rows_are_counted_and_learned_from_where_they_are(tmp_path):
    for hold in ("store", "memory"):
        with rows_in("Parquet", tmp_path, ROWS) as (file, address):
            found = count(address, hold, 1.0)
            assert found["tables"] > 0
            assert learn(address, hold, 1.0, "one-way")["learn"] > 0
        assert not file.exists()


@pytest.mark.statistical
def test_a_table_is_counted_in_memory_by_attributes_or_bits(table):
    by_attribute, by_bit = (count_in_memory(*table, bits) for bits in (False, True))
    assert (by_attribute["rows"], by_attribute["tables"], by_bit["tables"]) == (ROWS, PAIRS, 2556)
