"""Whatever a table holds, a fit takes its draft; what is no value of ours is left out in the fit's own words."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from privity.common.data.schema import parse_schema
from privity.common.data.schema_draft import Draft
from privity.common.data.table_reading import encode
from privity.common.errors import RowProblemsFound
from privity.given import frame_of
from privity.party.sources.address import parse_address
from privity.party.sources.drafted_tables import LookedAtTable, looked_at_frame, looked_at_source
from privity.party.sources.held_rows import Access, default_memory
from privity.party.sources.inspection import inspect
from tests.harness.long import long_but

ROWS = 240
BUDGET: dict[str, Any] = {"epsilon": Fraction(1), "delta": Fraction(1, 10**6)}
SPANS = [f"{place % 9} days 01:{place % 60:02d}:00" for place in range(90)]
DAYS = [datetime(2024, 1, 1) + timedelta(hours=7 * place) for place in range(ROWS)]
LENGTHS = [timedelta(seconds=977 * place) for place in range(ROWS)]


def cycled(values: list[Any]) -> list[Any]:
    return [values[place % len(values)] for place in range(ROWS)]


def objects(values: list[Any]) -> pd.Series:
    return pd.Series(cycled(values), dtype=object)


NUMBERS = [place % 37 for place in range(ROWS)]
PANDAS: dict[str, tuple[Callable[[], Any], str]] = {
    "int64": (lambda: pd.Series(NUMBERS), "integer"),
    "Int64": (lambda: pd.Series(cycled([1, None, 7]), dtype="Int64"), "integer"),
    "uint8": (lambda: pd.Series(NUMBERS, dtype="uint8"), "integer"),
    "float64": (lambda: pd.Series(NUMBERS) / 3, "number"),
    "float32": (lambda: (pd.Series(NUMBERS) / 3).astype("float32"), "number"),
    "Float64": (lambda: (pd.Series(NUMBERS) / 8).astype("Float64"), "number"),
    "Decimal": (lambda: objects([Decimal(place) / 4 for place in range(50)]), "number"),
    "bool": (lambda: pd.Series(cycled([True, False])), "boolean"),
    "boolean": (lambda: pd.Series(cycled([True, False, None]), dtype="boolean"), "boolean"),
    "str": (lambda: pd.Series(cycled(["a", "b"]), dtype="str"), "string"),
    "object": (lambda: objects(["a", None]), "string"),
    "category": (lambda: pd.Series(cycled(["a", "b"]), dtype="category"), "string"),
    "category of integers": (lambda: pd.Series(cycled([1, 2]), dtype="category"), "integer"),
    "sparse": (lambda: pd.Series(pd.arrays.SparseArray(cycled([0, 1, 2]))), "integer"),
    "several types": (lambda: objects([1, "x", True]), "string"),
    "datetime64[s]": (lambda: pd.Series(DAYS).astype("datetime64[s]"), "datetime"),
    "datetime64[ns]": (lambda: pd.Series(DAYS) + pd.Timedelta(123_456_789, "ns"), "datetime"),
    "datetime64 with a zone": (lambda: pd.Series(DAYS).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"), "datetime"),
    "NaT": (lambda: pd.Series(cycled([pd.NaT, *DAYS[:40]])), "datetime"),
    "timedelta64": (lambda: pd.Series(LENGTHS), "duration"),
    "date": (lambda: objects([day.date() for day in DAYS]), "date"),
    "time": (lambda: objects([day.time() for day in DAYS]), "time"),
    "am and pm": (lambda: objects([day.strftime("%I:%M %p") for day in DAYS]), "time"),
    "texts with an offset": (lambda: objects([f"{day.isoformat()}+01:00" for day in DAYS]), "datetime"),
    "texts of durations": (
        lambda: objects(SPANS),
        "duration",
    ),
    "hours beyond a day": (lambda: objects([f"{place}:30:00" for place in range(90)]), "duration"),
    "years of two digits": (lambda: objects([f"2/{place % 28 + 1}/{place % 90:02d}" for place in range(ROWS)]), "date"),
}
ARROW = {
    "int8": (pa.array(cycled([1, 2, None]), pa.int8()), "integer"),
    "half": (pa.array([place / 4 for place in NUMBERS], pa.float16()), "number"),
    "decimal128": (pa.array([Decimal(place) / 4 for place in NUMBERS]), "number"),
    "large_string": (pa.array(cycled(["a", "b"]), pa.large_string()), "string"),
    "dictionary": (pa.array(cycled(["a", "b"])).dictionary_encode(), "string"),
    "null": (pa.nulls(ROWS), "string"),
    "date64": (pa.array([day.date() for day in DAYS], pa.date64()), "date"),
    "time32": (pa.array([day.time() for day in DAYS], pa.time32("s")), "time"),
    "timestamp": (pa.array(DAYS, pa.timestamp("ms")), "datetime"),
    "timestamp with an offset": (pa.array(DAYS, pa.timestamp("us", "+05:30")), "datetime"),
    "duration": (pa.array(LENGTHS), "duration"),
}
POLARS = {
    "Int16": (lambda: pl.Series(NUMBERS, dtype=pl.Int16), "integer"),
    "Enum": (lambda: pl.Series(cycled(["a", "b"]), dtype=pl.Enum(["a", "b"])), "string"),
    "Categorical": (lambda: pl.Series(cycled(["a", "b"]), dtype=pl.Categorical), "string"),
    "Time": (lambda: pl.Series([day.time() for day in DAYS]), "time"),
    "Duration": (lambda: pl.Series(LENGTHS), "duration"),
    "Datetime": (lambda: pl.Series(DAYS).dt.replace_time_zone("UTC"), "datetime"),
}
NO_VALUES = {
    "Period": lambda: pd.Series(pd.period_range("2020-01", periods=ROWS, freq="M")),
    "Interval": lambda: pd.Series(pd.cut(np.arange(ROWS), 5)),
    "complex": lambda: pd.Series(np.arange(ROWS) + 1j),
    "bytes": lambda: objects([b"a", b"b"]),
    "list": lambda: objects([[1], [2]]),
    "UUID": lambda: objects([uuid.UUID(int=place) for place in range(ROWS)]),
    "time with a zone": lambda: objects([time(1, tzinfo=UTC), time(2, tzinfo=UTC)]),
    "with and without a zone": lambda: objects([datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2)]),
    "int64 beyond doubles": lambda: pd.Series(cycled([2**53 + 1, 5])),
    "half of a surrogate pair": lambda: objects(["a", "\ud800"]),
}


def drafted(table: Any) -> tuple[Draft, pd.DataFrame]:
    frame = frame_of(table)
    assert frame is not None
    with looked_at_frame(frame) as looked:
        return looked.drafted(), frame


@pytest.mark.parametrize("name", [*PANDAS, *ARROW, *POLARS])
def test_a_fit_takes_the_draft_of_a_column_of_any_type(name):
    other = cycled(["p", "q"])
    if name in PANDAS:
        made, kind = PANDAS[name]
        table: Any = pd.DataFrame({"x": made(), "y": other})
    elif name in ARROW:
        column, kind = ARROW[name]
        table = pa.table({"x": column, "y": pa.array(other)})
    else:
        series, kind = POLARS[name]
        table = pl.DataFrame({"x": series(), "y": other})
    draft, frame = drafted(table)
    assert [field["type"] for field in draft.document["fields"]] == [kind, "string"]
    assert encode(frame, parse_schema(draft.document, "draft"), "table").rows == ROWS


@pytest.mark.parametrize("name", NO_VALUES)
def test_what_is_no_value_of_ours_is_left_out_in_the_words_of_a_fit(name):
    draft, frame = drafted(pd.DataFrame({"x": NO_VALUES[name](), "y": cycled(["p", "q"])}))
    assert [field["name"] for field in draft.document["fields"]] == ["y"]
    assert draft.left_out == ["x"]
    assert encode(frame, parse_schema(draft.document, "draft"), "table").rows == ROWS
    declared = {"fields": [{"name": "x", "type": "string", "categories": ["a", "b"]}, *draft.document["fields"]]}
    with pytest.raises(RowProblemsFound) as refused:
        encode(frame, parse_schema(declared, "draft"), "table")
    problems = refused.value.problems
    (said,) = [line for line in draft.findings if line.startswith("'x': ")]
    assert any(problem.message.split(" (row ")[0] in said for problem in problems)
    with pytest.raises(RowProblemsFound, match="x"):
        drafted(frame[["x"]])


def test_the_zone_of_a_column_is_drafted():
    draft, _ = drafted(
        pd.DataFrame({"x": pd.Series(DAYS).dt.tz_localize("Europe/Vienna", ambiguous=True), "y": NUMBERS})
    )
    assert draft.document["fields"][0]["timezone"] == "Europe/Vienna"


def test_repeated_names_of_a_frame_are_refused_with_a_remedy_that_works():
    frame = pd.DataFrame([[1, 2]] * 3, columns=["a", "a"])
    with pytest.raises(RowProblemsFound, match="Give every column its own name") as refused:
        drafted(frame)
    assert "dialect" not in str(refused.value)
    draft, _ = drafted(frame.set_axis(["a", "b"], axis=1))
    assert [field["name"] for field in draft.document["fields"]] == ["a", "b"]


def test_a_column_without_a_name_is_ignored():
    draft, frame = drafted(pd.DataFrame({"": range(9), "x": cycled([1, 2])[:9]}))
    assert encode(frame, parse_schema(draft.document, "draft"), "table").rows == 9


TABLE = pa.table(
    {
        "n": pa.array(NUMBERS),
        "s": pa.array(cycled(["a", None])),
        "t": pa.array(DAYS, pa.timestamp("us", "UTC")),
        "d": pa.array(LENGTHS),
        "l": pa.array(cycled([[1], [2]])),
        "big": pa.array(cycled([2**53 + 1, 7])),
    }
)


@pytest.mark.parametrize("form", long_but(["csv"], ["parquet", "feather", "duckdb", "csv"]))
def test_a_table_of_any_source_is_drafted(tmp_path, form):
    text = str(tmp_path / f"t.{form}")
    if form in ("parquet", "csv"):  # a file is known by its first bytes
        pq.write_table(TABLE, text)
    elif form == "feather":
        pyarrow.feather.write_feather(TABLE, text)
    else:
        with duckdb.connect(text) as connection:
            connection.register("given", TABLE)
            connection.execute("CREATE TABLE visits AS SELECT * FROM given")
        text += "#visits"
    with looked_at_source(text) as looked:
        assert isinstance(looked, LookedAtTable)
        draft = looked.drafted()
    types = {field["name"]: field["type"] for field in draft.document["fields"]}
    assert types == {"n": "integer", "s": "string", "t": "datetime", "d": "duration", "big": "integer"}
    assert any("'l'" in line for line in looked.look.findings)
    schema = parse_schema(draft.document, "draft")
    assert inspect(parse_address(text), schema, Access(memory=default_memory())).problems == ()


def test_a_day_is_a_day():
    draft, _ = drafted(pd.DataFrame({"x": objects([date(2024, 1, 1), date(2024, 1, 2)]), "y": NUMBERS}))
    assert draft.document["fields"][0] == {
        "name": "x", "type": "date", "domain": "discover", "readOffRows": "undeclared",
    }  # fmt: skip
