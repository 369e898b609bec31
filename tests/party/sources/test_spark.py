"""Spark: its workers count, whatever becomes of them; what it cannot do is refused with the remedy."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import duckdb
import pytest
from pyspark import SparkContext, cloudpickle
from pyspark.sql import SparkSession

from privity.common.data.schema import Schema, parse_schema
from privity.common.errors import Catalogue, PrivityError
from privity.party.sources import row_sums, summed_rows
from privity.party.sources.address import parse_address
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.open_rows import open_rows
from privity.party.sources.row_sums import Codes, RowSums, Sums
from privity.party.sources.rows import Rows
from tests.harness import spark as harness

pytestmark = [pytest.mark.external, pytest.mark.process]

SCHEMA = parse_schema(
    {
        "fields": [
            {"name": "ward", "type": "string", "categories": ["north", "south", "east"]},
            {"name": "score", "type": "integer", "bins": 5, "constraints": {"minimum": 0, "maximum": 99}},
            {"name": "price", "type": "number", "bins": 4, "constraints": {"minimum": 0, "maximum": 1}},
        ],
    },
    "s",
)
PAIRS = [(0,), *combinations(range(3), 2), (2, 1, 0)]
ROWS = 4000
FILES = 8
SLEEP = 0.3
"""Seconds for which a task that is to be killed works at some rows."""


def written(folder: Path, rows: int = ROWS) -> str:
    """Rows in several files, which several tasks read; gives their address."""
    folder.mkdir(exist_ok=True)
    columns = "['north', 'south', 'east'][1 + i * 7 % 11 % 3] AS ward, i * 37 % 100 AS score, i * 53 % 97 / 97 AS price"
    for file in range(FILES):
        duckdb.sql(f"SELECT {columns} FROM range({rows}) AS r(i) WHERE i % {FILES} = {file}").write_parquet(
            str(folder / f"{file}.parquet")
        )
    return f"pyspark://#{folder}/*.parquet"


def opened(address: str, hold: Hold = Hold.STORE, schema: Schema = SCHEMA) -> Rows:
    return open_rows(parse_address(address), schema, Access(hold, 1 << 28)).rows


def expected(folder: Path) -> list[int]:
    """The same rows by the embedded store."""
    return opened(str(folder), Hold.MEMORY).count(PAIRS).tolist()


class SlowSums(RowSums):
    """Sums that take so long that a worker can be killed meanwhile."""

    def add(self, columns: Sequence[Codes], found: Sums) -> None:
        time.sleep(SLEEP)
        RowSums.add(self, columns, found)


@pytest.mark.long
def test_a_worker_that_is_killed_in_the_middle_of_a_pass_changes_no_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = written(tmp_path / "rows")
    # The workers have neither this project nor anything else than they need.
    python = harness.bare_python(tmp_path / "python", "numpy", "pyarrow")
    size = (
        "--executor-memory 512m --executor-cores 1 --conf spark.sql.files.openCostInBytes=128m "
        f"--conf 'spark.executor.extraJavaOptions={harness.LEAN}'"
    )
    monkeypatch.setattr(summed_rows, "RowSums", SlowSums)
    with harness.cluster(tmp_path) as cluster, harness.spark(cluster.master, size, {"PYSPARK_PYTHON": python}):
        cloudpickle.register_pickle_by_value(sys.modules[__name__])
        rows = opened(address)
        found: list[list[int]] = []
        asked = threading.Thread(target=lambda: found.append(rows.count(PAIRS).tolist()))
        asked.start()
        tracker = SparkContext.getOrCreate().statusTracker()
        stage = None
        while stage is None or not stage.numCompletedTasks or stage.numActiveTasks < 2:
            assert asked.is_alive()
            for number in tracker.getActiveStageIds():
                stage = tracker.getStageInfo(number) or stage
            time.sleep(0.05)
        assert stage.numTasks == FILES
        cluster.kill(0)
        asked.join()
        # Of the stage that counts, tasks failed, or all that the worker had done is done again.
        again = tracker.getStageInfo(stage.stageId)
        assert again is not None
        assert again.numFailedTasks or again.currentAttemptId
        assert found == [expected(tmp_path / "rows")]


@pytest.mark.long
@pytest.mark.parametrize(("packages", "missing"), [((), "numpy"), (("numpy",), "pyarrow")])
def test_workers_that_lack_a_package_are_refused_by_its_name(
    packages: Sequence[str], missing: str, tmp_path: Path
) -> None:
    python = harness.bare_python(tmp_path / "python", *packages)
    address = written(tmp_path / "rows")
    with harness.spark("local[2]", environment={"PYSPARK_PYTHON": python}), pytest.raises(PrivityError) as found:
        opened(address)
    assert found.value.kind is Catalogue.SOURCE_REFUSED
    assert found.value.message.endswith(f"the Python of its workers has no {missing}")
    assert f"Install {missing}" in found.value.remedy


def no_python(folder: Path) -> str:
    return str(folder / "nothing")


def python_that_does_not_start(folder: Path) -> str:
    python = folder / "python"
    python.write_text("#!/bin/sh\nexit 3\n")
    python.chmod(0o755)
    return str(python)


def another_python(folder: Path) -> str:
    return harness.other_python(folder / "python", "numpy", "pyarrow")


@pytest.mark.long
@pytest.mark.parametrize(
    ("python", "said"),
    [
        (no_python, "its workers find no Python"),
        (python_that_does_not_start, "the Python of its workers does not start"),
        (another_python, "its workers have another version of Python"),
    ],
)
def test_workers_whose_python_does_not_do_are_refused_with_what_to_set(
    python: Callable[[Path], str], said: str, tmp_path: Path
) -> None:
    address = written(tmp_path / "rows")
    workers = {"PYSPARK_PYTHON": python(tmp_path)}
    with harness.spark("local[2]", environment=workers), pytest.raises(PrivityError) as found:
        opened(address)
    assert found.value.kind is Catalogue.SOURCE_REFUSED
    assert found.value.message.endswith(said)
    assert "PYSPARK_PYTHON" in found.value.remedy


@pytest.mark.long
def test_a_partition_that_cannot_be_read_makes_the_run_wait_until_it_can(spark: None, tmp_path: Path) -> None:
    rows = opened(written(tmp_path / "rows"))
    file = tmp_path / "rows" / "5.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[:20] + bytes(len(whole) - 40) + whole[-20:])
    for _ in range(2):
        with pytest.raises(PrivityError) as found:
            rows.count(PAIRS)
        assert found.value.kind is Catalogue.SOURCE_UNREACHABLE
        assert "some of its tasks fail, however often Spark tries them" in found.value.message
        assert found.value.remedy
    file.write_bytes(whole)
    assert rows.count(PAIRS).tolist() == expected(tmp_path / "rows")


@pytest.mark.long
def test_many_passes_give_the_same_and_rows_that_change_are_refused(
    spark: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = opened(written(tmp_path / "rows"))
    assert rows.count(PAIRS).tolist() == expected(tmp_path / "rows")
    monkeypatch.setattr(summed_rows, "PASS_CELLS", 16)
    assert rows.count(PAIRS).tolist() == expected(tmp_path / "rows")
    some, by_file = (found.over(["price", "ward"]) for found in (rows, opened(str(tmp_path / "rows"))))
    assert some.count([(1, 0)]).tolist() == by_file.count([(1, 0)]).tolist()
    assert rows.count([]).tolist() == []
    near = opened(f"pyspark://#{tmp_path}/rows/*.parquet", Hold.MEMORY)
    assert near.digest == rows.digest
    assert near.count(PAIRS).tolist() == expected(tmp_path / "rows")
    written(tmp_path / "rows", ROWS - 1)
    with pytest.raises(PrivityError) as found:
        rows.count(PAIRS)
    assert found.value.kind is Catalogue.SOURCE_CHANGED


@pytest.mark.long
def test_java_that_is_killed_makes_the_next_question_wait_and_the_one_after_it_goes_on(
    spark: None, tmp_path: Path
) -> None:
    rows = opened(written(tmp_path / "rows"))
    java = SparkContext._gateway.proc
    os.kill(java.pid, signal.SIGKILL)
    java.wait()
    with pytest.raises(PrivityError) as found:
        rows.count(PAIRS)
    assert found.value.kind is Catalogue.SOURCE_UNREACHABLE
    assert rows.count(PAIRS).tolist() == expected(tmp_path / "rows")


class FailingSums(RowSums):
    """A task that fails, however often it is tried."""

    def add(self, columns: Sequence[Codes], found: Sums) -> None:
        raise ValueError(f"value {columns[0][0]} of a row")


@pytest.mark.long
def test_a_partition_that_always_fails_makes_the_run_wait_and_shows_no_value(
    spark: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = opened(written(tmp_path / "rows"))
    monkeypatch.setattr(summed_rows, "RowSums", FailingSums)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with pytest.raises(PrivityError) as found:
        rows.count(PAIRS)
    assert found.value.kind is Catalogue.SOURCE_UNREACHABLE
    assert "some of its tasks fail, however often Spark tries them" in found.value.message
    assert "value" not in found.value.message
    monkeypatch.setattr(summed_rows, "RowSums", row_sums.RowSums)
    assert rows.count(PAIRS).tolist() == expected(tmp_path / "rows")


@pytest.mark.long
def test_what_overflows_in_a_view_is_refused_with_the_remedy(spark: None, tmp_path: Path) -> None:
    opened(written(tmp_path / "rows"))
    frame = SparkSession.builder.getOrCreate().read.parquet(f"{tmp_path}/rows/*.parquet")
    frame.selectExpr("ward", "CAST(score AS INT) * 100000000 AS score", "price").createOrReplaceTempView("wide")
    with pytest.raises(PrivityError) as found:
        opened("pyspark://#wide")
    assert found.value.kind is Catalogue.SOURCE_REFUSED
    assert "a value is beyond the type" in found.value.message


@pytest.mark.long
def test_a_collation_of_a_column_does_not_decide_what_a_text_is(spark: None, tmp_path: Path) -> None:
    opened(written(tmp_path / "rows"))
    frame = SparkSession.builder.getOrCreate().sql(
        "SELECT text COLLATE UNICODE_CI AS text FROM VALUES ('a'), ('A'), ('a'), ('b') AS rows(text)"
    )
    frame.createOrReplaceTempView("texts")
    schema = parse_schema({"fields": [{"name": "text", "type": "string", "categories": ["a", "A", "b"]}]}, "s")
    assert opened("pyspark://#texts", schema=schema).count([(0,)]).tolist() == [2, 1, 1]
