"""Types never depend on values: one value changed in one row changes no other row's code, no type and no other file.

The tables are built as people build them, by constructors that infer a column's type from all of its values: one None
or one "?" really changes it. Two things are left out. A constructor may refuse the values: then there is no table. And
it may write the values of other rows anew, as docs/python.md says (polars makes 1 of True beside numbers).

A file or database has columns of one type, which its writer chose. So that type may refuse the table as a whole, as
docs/sources.md says; it never changes a code.
"""

from __future__ import annotations

import contextlib
import csv
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from privity import column_types
from privity.common.data import table_reading
from privity.common.data.attribute import Attribute
from privity.common.data.frame_values import Sort, read_column
from privity.common.data.schema import parse_schema
from privity.common.data.table_reading import encode
from privity.common.errors import ProblemsFound, RowProblemsFound
from privity.given import frame_of
from privity.party.sources.address import parse_address
from privity.party.sources.open_rows import load_table
from tests.harness.column_readers import types_by_dtype
from tests.harness.command import privity
from tests.harness.ledgers import declared
from tests.harness.long import long_but

Values = Sequence[Any]
MISSING = {"missingValues": ["", "?"]}
FIELDS: dict[str, dict[str, Any]] = {
    "string": {"type": "string", "categories": ["1", "1.0", "1.5", "a", "True", "2024-02-29", "o"],
               "outOfDomain": "other", "other": "o"},
    "string, missing": {"type": "string", "categories": ["1", "9007199254740993", "9007199254740992", "a"], **MISSING},
    "integer, small": {"type": "integer", "edges": [-3, 0, 2, 9], "outOfDomain": "edge", **MISSING},
    "integer": {"type": "integer", "edges": [-3, 0, 2, 2**53 + 1, 2**60], "outOfDomain": "edge", **MISSING},
    "integer, categories": {"type": "integer", "categories": [0, 1, 2, 2**53, 2**53 + 1], "outOfDomain": "other",
                            "other": 0},
    "number": {"type": "number", "decimals": 0, "edges": [-3, 1, 44, 2**53 + 1, 2**60], "outOfDomain": "edge",
               **MISSING},
    "number, decimals": {"type": "number", "edges": [-3, 0.1, 1, 44.5, 90], "outOfDomain": "edge", **MISSING},
    "boolean": {"type": "boolean", **MISSING},
    "date": {"type": "date", "edges": ["2024-02-01", "2024-02-29", "2024-04-01"], **MISSING, "outOfDomain": "edge"},
    "datetime": {"type": "datetime", "edges": ["2024-02-29", "2024-02-29T12:30:00", "2024-03-01"], **MISSING,
                 "outOfDomain": "edge"},
    "datetime, zone": {"type": "datetime", "timezone": "UTC", "outOfDomain": "edge", **MISSING,
                       "edges": ["2024-02-28T00:00:00Z", "2024-02-29T12:30:00Z", "2024-03-01T00:00:00Z"]},
    "duration": {"type": "duration", "edges": ["PT0S", "PT1S", "P1D"], "outOfDomain": "edge", **MISSING},
}  # fmt: skip

DAY, MOMENT = date(2024, 2, 29), datetime(2024, 2, 29, 12, 30)
KINDS: dict[str, tuple[list[Any], list[str]]] = {
    "integers": ([1, 2, -3, 0, 2**53 + 1, 2**53 + 3], [*FIELDS][:8]),
    "numbers": ([1.0, 44.5, 0.1, -0.0, float("inf"), float(2**53)], [*FIELDS][:7]),
    "decimals": ([Decimal("1.50"), Decimal("1"), Decimal("44.5")], ["string", "number, decimals"]),
    "truth values": ([True, False], ["string", "boolean", "integer"]),
    "texts": (["a", "1", "1.0", "True", "2024-02-29", "?", ""], [*FIELDS]),
    "days": ([DAY, date(2024, 3, 3)], ["string", "date"]),
    "moments": ([MOMENT, datetime(2024, 2, 29)], ["datetime", "date"]),
    "instants": ([MOMENT.replace(tzinfo=UTC)], ["datetime, zone"]),
    "durations": ([timedelta(seconds=1), timedelta(hours=3)], ["duration"]),
}
"""By kind its values, and the fields that a column of them may be."""

HOSTILE = [None, float("nan"), *(value for values, _ in KINDS.values() for value in values)]


# Tables in memory.


def of_pandas(values: Values) -> pd.DataFrame:
    return pd.DataFrame({"x": list(values)})


def as_categories(values: Values) -> pd.DataFrame:
    """pandas takes True for 1 among categories, which docs/python.md tells the owner of."""
    if 0 < sum(isinstance(value, bool) for value in values) < len(values):
        raise TypeError
    return of_pandas(values).astype("category")


def of_polars(values: Values) -> pl.DataFrame:
    return pl.DataFrame({"x": list(values)})


def of_arrow(values: Values) -> pa.Table:
    return pa.table({"x": list(values)})


FRAMES: dict[str, Callable[[Values], Any]] = {
    "pandas": of_pandas,
    "pandas, object": lambda values: pd.DataFrame({"x": pd.Series(list(values), dtype=object)}),
    "pandas, nullable": lambda values: of_pandas(values).convert_dtypes(),
    "pandas, of Arrow": lambda values: of_pandas(values).convert_dtypes(dtype_backend="pyarrow"),
    "pandas, categories": as_categories,
    "polars": of_polars,
    "polars, categories": lambda values: of_polars(values).cast(pl.Categorical),
    "polars, enum": lambda values: of_polars(values).cast(pl.Enum(["a", "1", "1.0", "True", "2024-02-29", "?", ""])),
    "pandas, by Arrow": lambda values: pa.Table.from_pandas(of_pandas(values)),
    "Arrow": of_arrow,
    "Arrow, dictionary": lambda values: pa.table({"x": of_arrow(values)["x"].dictionary_encode()}),
    "DuckDB": lambda values: duckdb.connect().from_arrow(of_arrow(values)),
}


# Tables at an address, each written by who built it in memory.


def write_csv(values: Values, folder: Path) -> Path:
    with (folder / "t.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["x"], *(["" if value is None else value] for value in values)])
    return folder / "t.csv"


def write_duckdb(values: Values, folder: Path) -> str:
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("given", of_arrow(values))
        connection.execute("CREATE OR REPLACE TABLE t AS SELECT * FROM given")
    return f"duckdb://{folder}/t.duckdb#t"


def write_sqlite(values: Values, folder: Path) -> str:
    with contextlib.closing(sqlite3.connect(folder / "t.db")) as lite, lite:
        of_pandas(values).to_sql("t", lite, index=False, if_exists="replace")
    return f"sqlite:///{folder}/t.db#t"


def written(write: Callable[[Path], object], file: Path) -> Path:
    write(file)
    return file


STORED: dict[str, tuple[str, Callable[[Values, Path], str | Path]]] = {
    "CSV": ("pandas, object", write_csv),
    "Parquet of pandas": ("pandas, by Arrow", lambda v, folder: written(of_pandas(v).to_parquet, folder / "a.parquet")),
    "Parquet of polars": ("polars", lambda v, folder: written(of_polars(v).write_parquet, folder / "b.parquet")),
    "Feather of Arrow": (
        "Arrow",
        lambda v, folder: written(lambda file: pyarrow.feather.write_feather(of_arrow(v), file), folder / "t.feather"),
    ),
    "DuckDB, a database": ("Arrow", write_duckdb),
    "SQLite": ("pandas", write_sqlite),
}
"""By reader the way in which the table is built in memory, and what writes it."""

FAMILIES = {Sort.ROUNDED: Sort.NUMBER}


def kept(way: str, values: Values) -> Any:
    """The table in memory; None where its constructor refuses the values, or writes those of some rows anew."""
    try:
        table = FRAMES[way](values)
    except Exception:
        return None
    read = read_column(frame_of(table)["x"])
    alone = [read_column(pd.Series([value], dtype=object))[0] for value in values]
    families = [
        [str if isinstance(value, str) else FAMILIES.get(value.sort, value.sort) for value in column]
        for column in (read, alone)
    ]
    return table if families[0] == families[1] else None


Coded = Counter[int] | frozenset[str] | None
"""The codes of the rows; or the rules by which the table is refused; None where there is no such table."""


def coded(reader: str, field: str, values: Values, folder: Path) -> Coded:
    way, write = STORED.get(reader, (reader, None))
    if (table := kept(way, values)) is None:
        return None
    schema = parse_schema({"fields": [{"name": "x", **FIELDS[field]}]}, "s")
    try:
        address = None if write is None else write(values, folder)
    except (ValueError, OverflowError, pa.ArrowException, pd.errors.DatabaseError, pl.exceptions.PolarsError):
        return None  # it cannot be written there
    try:
        if address is None:
            found = encode(frame_of(table), schema, "t")
        else:
            found = load_table(parse_address(str(address)), schema)
    except (RowProblemsFound, ProblemsFound) as error:
        return frozenset(problem.rule for problem in error.problems)
    return Counter(found.column(0).tolist())


def check(reader: str, field: str, base: Values, place: int, hostile: Any, folder: Path) -> None:
    """The property, for one value in one row."""
    changed = [*base[:place], hostile, *base[place + 1 :]]
    before, after = coded(reader, field, base, folder), coded(reader, field, changed, folder)
    if before is None or after is None:
        return
    if isinstance(before, Counter) and isinstance(after, Counter):
        assert (before - after).total() == (after - before).total() <= 1
        return
    for one, other, value in ((before, after, hostile), (after, before, base[place])):
        if isinstance(one, Counter) and isinstance(other, frozenset):
            stored = reader in STORED and other == {"column-type"}
            assert stored or isinstance(coded(reader, field, [value], folder), frozenset)


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, list[Any], int, Any]:
    """A field, the values of a column, the row that changes and the value that it gets."""
    values, fields = KINDS[draw(st.sampled_from(list(KINDS)))]
    base = draw(st.lists(st.sampled_from(values), min_size=2, max_size=5))
    return draw(st.sampled_from(fields)), base, draw(st.integers(0, len(base) - 1)), draw(st.sampled_from(HOSTILE))


BIG = [2**53 + 1, 2, 1]


@pytest.mark.parametrize("reader", long_but([*FRAMES, "Parquet of pandas", "DuckDB"], [*FRAMES, *STORED]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(change=changes())
@example(("string", [1, 2, 1], 1, None))
@example(("string, missing", [1, 1, 1], 0, "?"))
@example(("integer, small", [1, 2, 1], 2, None))
@example(("integer", [1, 2, 1], 2, 44.5))
@example(("integer, categories", BIG, 2, None))
@example(("number", BIG, 1, 44.5))
@example(("boolean", [True, False, True], 0, None))
@example(("string", [DAY, DAY], 0, "?"))
@example(("datetime", [MOMENT, MOMENT], 1, "?"))
def test_one_value_changes_the_code_of_no_other_row(
    reader: str, tmp_path: Path, change: tuple[str, list[Any], int, Any]
) -> None:
    check(reader, *change, tmp_path)


def opened(reader: str, values: Values) -> dict[str, Any] | None:
    """The open schema of a table of which a person declared the types."""
    if (table := kept(reader, values)) is None:
        return None
    return column_types.open_schema(frame_of(table), {"x": {"type": "integer", **MISSING}})


@pytest.mark.parametrize("reader", FRAMES)
@given(changed=st.sampled_from(HOSTILE), place=st.integers(0, 2))
@example(None, 0)
@example(44.5, 1)
@example("?", 2)
def test_one_value_changes_no_type_of_an_open_schema(reader: str, changed: Any, place: int) -> None:
    before = opened(reader, base := [1, 2, 1])
    after = opened(reader, [*base[:place], changed, *base[place + 1 :]])
    assert before == after or None in (before, after)


def test_types_that_pandas_chose_fail_the_property(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_types, "open_schema", types_by_dtype)
    for changed in (None, 44.5, "?"):
        assert opened("pandas", [1, 2, 1]) != opened("pandas", [1, 2, changed])


def test_integers_that_are_exact_only_where_none_is_missing_fail_the_property(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pandas makes Int64 of a column that it held as doubles for want of a missing value: by then they are rounded."""
    check("pandas, nullable", "integer, categories", BIG, 2, None, tmp_path)
    monkeypatch.setattr(table_reading, "read_column", lambda column: read_column(column, exact=True))
    with pytest.raises(AssertionError):
        check("pandas, nullable", "integer, categories", BIG, 2, None, tmp_path)


def test_doubles_for_integers_that_they_do_not_hold_fail_the_property(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Attribute, "beyond_doubles", False)
    with pytest.raises(AssertionError):
        check("Parquet of pandas", "integer, categories", BIG, 2, None, tmp_path)


# The files of a release.

DRAWN = ("run", "files")
"""Keys of what is drawn for each run, and of digests of what the noise decides."""
NOISY = ("counts", "weights")
"""Keys of lists of numbers that the noise decides."""


def layout(value: Any, noisy: bool = False) -> Any:
    """A document without what the noise decides."""
    if isinstance(value, dict):
        inside = {key: layout(inner, noisy or key in NOISY) for key, inner in value.items() if key not in DRAWN}
        return {**inside, "keys": list(value), "files": list(value.get("files", ()))}
    if isinstance(value, list):
        return [layout(inner, noisy) for inner in value]
    return "a number" if noisy else value


def release(folder: Path, values: Values) -> dict[str, Any]:
    """The files of a release: a schema byte for byte, other documents by their layout."""
    folder.mkdir()
    declared(folder / "ledger").close()
    fields = [{"name": "x", **FIELDS["integer, small"]}, {"name": "y", "type": "boolean"}]
    (folder / "schema.json").write_text(json.dumps({"fields": fields}))
    pd.DataFrame({"x": list(values), "y": [True, False] * (len(values) // 2)}).to_parquet(folder / "t.parquet")
    options = {"data": "t.parquet", "schema": "schema.json", "out": "out", "ledger": "ledger", "population": "people",
               "epsilon": "1", "algorithm": "one-way"}  # fmt: skip
    done = privity(
        "synthesize", *(word for name, given in options.items() for word in (f"--{name}", given)), cwd=folder
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = {}
    for file in sorted((folder / "out").iterdir()):
        text = file.read_text(encoding="utf-8")
        kind = "schema" if file.name == "schema.json" else file.suffix
        shown = {"schema": lambda t: t, ".json": lambda t: layout(json.loads(t)), ".csv": lambda t: t.splitlines()[0]}
        found[file.name] = shown[kind](text) if kind in shown else "a page of these figures"
    return found


@pytest.mark.process
def test_one_value_changes_no_file_of_a_release_but_by_noise(tmp_path: Path) -> None:
    """The column of the file is one of integers, or of doubles because of one value."""
    base = [1, 0] * 20
    first, *others = (release(tmp_path / str(run), [value, *base[1:]]) for run, value in enumerate((1, None, 2.0)))
    assert {"schema.json", "run.json", "privacy.json", "marginals.json", "model.json"} <= set(first)
    assert others == [first, first]
