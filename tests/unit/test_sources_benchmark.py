"""The benchmark of sources: made rows that fit their descriptor, and a small run from files to page."""

import json

import duckdb
import pytest

from benchmarks.sources.__main__ import main
from benchmarks.sources.measure import SHARES
from benchmarks.sources.rows import made_descriptor, made_schema, write_rows
from privity.party.rows import BLOCK_ROWS, InMemory
from privity.party.sources.address import parse_address
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.open_rows import open_rows

ROWS = 4_000
PAIRS = 190


@pytest.fixture
def table(tmp_path):
    """A CSV file of made rows, and its descriptor."""
    write_rows(tmp_path / "small.parquet", ROWS)
    with duckdb.connect() as connection:
        connection.from_parquet(str(tmp_path / "small.parquet")).write_csv(str(tmp_path / "small.csv"))
    (tmp_path / "small.schema.json").write_text(json.dumps(made_descriptor()))
    return [str(tmp_path / "small.csv"), str(tmp_path / "small.schema.json")]


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


@pytest.mark.long
def test_a_small_run_measures_files_and_memory_and_writes_the_page(tmp_path, table):
    options = ["--scratch", str(tmp_path), "--adult", *table, "--cps", *table, "--rows", str(8 * ROWS), "--times", "1"]
    options += ["--servers", "--results", str(tmp_path / "found.json"), "--out", str(tmp_path / "out")]
    main([*options, "--parts", "files", "memory"])
    found = json.loads((tmp_path / "found.json").read_text())
    assert [v["rows"] for v in found["files"]] == [8 * ROWS // share for share in SHARES for _ in range(2)]
    assert all(v["open"] > 0 and v["count"] > 0 and v["peak"] > 0 for v in found["files"])
    assert [(v["rows"], v["tables"]) for v in found["memory"]] == [(ROWS, 2556), (ROWS, PAIRS)]
    assert not list(tmp_path.glob("made*"))
    main([*options, "--parts"])
    page = (tmp_path / "out" / "sources.md").read_text()
    assert "## Parquet files" in page
    assert "## Servers" not in page
    assert str(tmp_path) not in page
    assert (tmp_path / "out" / "sources" / "rows.svg").stat().st_size > 1000
