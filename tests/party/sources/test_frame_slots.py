"""The places of persons in a frame: those of brute force, and of the same rows in CSV and Parquet."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from privity.common.data.frame_values import Value, read_value
from privity.common.data.schema import parse_schema
from privity.common.errors import PrivityError, RowProblemsFound
from privity.party.sources import person_slots
from privity.party.sources.address import parse_address
from privity.party.sources.frame_rows import open_frame
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.open_rows import open_rows
from privity.party.sources.person_slots import order_key
from privity.party.sources.rows import InMemory
from privity.party.sources.sql_queries import Slots
from tests.harness.column_readers import ranks_by_all
from tests.harness.long import long_but
from tests.harness.stores import Row

MARKS = 40
FIELDS = [
    {"name": "mark", "type": "integer", "categories": list(range(MARKS))},
    {"name": "ward", "type": "string", "categories": ["n", "s"], "missingValues": [""]},
]
SCHEMA = parse_schema({"absentRows": True, "fields": FIELDS}, "s")

DAY = datetime(2024, 2, 28, 23, 59, 59)
PERSONS: dict[str, Callable[[int], Any]] = {
    "integers": lambda n: n - 2,
    "texts": lambda n: ("a", "A", "a ", "07", "7", "\u00e4")[n],
    "days": lambda n: date(2024, 1, 1 + n),
}
ORDERS: dict[str, Callable[[int], Any]] = {
    "integers": lambda n: n - 15,
    "texts": lambda n: ("0", "007", "7", "10", "9", "-1", "a", "B", "b", "1.5", "\u00e4")[n % 11] + "x" * (n // 11),
    "numbers": lambda n: n / 4 - 3,
    "decimals": lambda n: Decimal(n) / 8,
    "days": lambda n: date(2024, 2, 28) + timedelta(n),
    "times": lambda n: DAY + timedelta(milliseconds=250 * n),
    "durations": lambda n: timedelta(hours=9 * n - 20),
}  # fmt: skip


def by_hand(rows: Sequence[Row], most: int, key: Callable[[Any], Any]) -> set[int]:
    """The marks of the first rows of each person."""
    own = defaultdict(list)
    for row in rows:
        own[row["person"]].append(row)
    return {row["mark"] for some in own.values() for row in sorted(some, key=lambda r: key(r["visit"]))[:most]}


def text_key(text: str) -> tuple[bool, int, bytes]:
    """Of texts: integers by value, then others byte by byte."""
    whole = text.lstrip("+-").isdigit() and text.isascii()
    return not whole, int(text) if whole else 0, text.encode()


def marks(rows: Any) -> set[int]:
    return set(np.flatnonzero(rows.count([(0,)])[:MARKS]).tolist())


def rows_of(persons: str, orders: str, seed: int, counts: Sequence[int]) -> list[Row]:
    draw = random.Random(seed)
    rows: list[Row] = []
    for person, count in enumerate(counts):
        for order in draw.sample(range(30), count):
            ward = draw.choice(["n", "s", None])
            rows.append(
                {"person": PERSONS[persons](person), "visit": ORDERS[orders](order), "mark": len(rows), "ward": ward}
            )
    draw.shuffle(rows)
    return rows


def in_forms(rows: Sequence[Row]) -> dict[str, pd.DataFrame]:
    inferred = pd.DataFrame(rows)
    arrow = inferred.convert_dtypes(dtype_backend="pyarrow")
    return {
        "inferred": inferred,
        "object": inferred.astype(object),
        "Arrow": arrow,
        "nullable": inferred.convert_dtypes(),
    }


COUNTS = st.lists(st.integers(0, 5), min_size=6, max_size=6).filter(any)


@pytest.mark.parametrize("orders", long_but(["numbers", "texts"], ORDERS))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(persons="integers", seed=1, counts=[0, 0, 0, 0, 0, 1], most=1)
@given(persons=st.sampled_from([*PERSONS]), seed=st.integers(0, 10**6), counts=COUNTS, most=st.integers(1, 3))
def test_a_frame_has_the_places_of_its_rows_in_any_type_and_in_files(
    orders: str, persons: str, seed: int, counts: list[int], most: int, tmp_path: Path
) -> None:
    rows = rows_of(persons, orders, seed, counts)
    kept = by_hand(rows, most, text_key if orders == "texts" else lambda value: value)
    slots, everybody = Slots("person", "visit", most), sum(count > 0 for count in counts)
    digests = set()
    for name, frame in in_forms(rows).items():
        found = open_frame(frame, SCHEMA, slots)
        assert marks(found) == kept, name
        assert found.rows == everybody * most
        digests.add(found.digest)
    files = [tmp_path / "rows.parquet"]
    if orders == "texts":
        files = []  # of texts alone Parquet takes no number
    else:
        # A column without any value would have no type.
        pd.DataFrame(rows).astype({"ward": "string"}).to_parquet(files[0])
    if orders in ("integers", "texts", "days"):
        files.append(tmp_path / "rows.csv")
        pd.DataFrame(rows).to_csv(files[-1], index=False)
    for file in files:
        opened = open_rows(parse_address(str(file)), SCHEMA, Access(Hold.MEMORY, 1 << 28, slots)).rows
        assert marks(opened) == kept, file.name
        digests.add(opened.digest)
    assert len(digests) == 1


MIXED: list[Any] = ["7", 7.5, "a", date(2024, 2, 29), datetime(2024, 2, 29, 1), "1a", 3, "003", True, Decimal("0.5"),
                    timedelta(1), timedelta(hours=30), "", "2024-02-29", float("inf"), -1, "\u00e4", 2**52]  # fmt: skip


def kept_of(rows: Sequence[tuple[str, Any]], most: int) -> set[int]:
    """The marks of rows (person, order) that count."""
    columns = {"person": [p for p, _ in rows], "visit": pd.Series([v for _, v in rows], dtype=object)}
    frame = pd.DataFrame({**columns, "mark": range(len(rows)), "ward": "n"})
    return marks(open_frame(frame, SCHEMA, Slots("person", "visit", most)))


@settings(max_examples=60)
@given(
    own=st.lists(
        st.sampled_from([v for v in MIXED if v != ""]), min_size=2, max_size=6, unique_by=lambda v: (type(v), str(v))
    ),
    others=st.lists(st.sampled_from([v for v in MIXED if v != ""]), max_size=8, unique_by=lambda v: (type(v), str(v))),
    most=st.integers(1, 3),
)
def test_which_rows_of_a_person_count_in_a_frame_depends_on_that_person_alone(
    own: list[Any], others: list[Any], most: int
) -> None:
    assume(len({order_key(value if isinstance(value, str) else read_value(value)) for value in own}) == len(own))
    alone = kept_of([("p", value) for value in own], most)
    mixed = kept_of([*(("p", value) for value in own), *((f"q{n}", value) for n, value in enumerate(others))], most)
    assert {mark for mark in mixed if mark < len(own)} == alone


def test_the_property_fails_where_a_value_s_place_depends_on_other_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_all(values: Sequence[Value]) -> Any:
        return ranks_by_all([value if isinstance(value, str) else value.text for value in values])

    rows = [("p", "9"), ("p", "10")]
    assert kept_of(rows, 1) == kept_of([*rows, ("q", "1a")], 1) - {2} == {0}
    monkeypatch.setattr(person_slots, "_ranks", by_all)
    assert kept_of(rows, 1) != kept_of([*rows, ("q", "1a")], 1) - {2}


@pytest.mark.parametrize(("column", "values", "said"), [
    ("person", [1, None, 2], "rows without a person"), ("person", ["a", "", "b"], "rows without a person"),
    ("visit", [1.5, float("nan"), 2], "without a place"), ("visit", [pd.Timestamp(0), None, None], "without a place"),
    ("person", [2**53, 2**53 + 1, 3], "cannot tell persons"), ("visit", [1, 2**60, 3], "cannot tell persons"),
    ("person", [b"a", "b", "c"], "cannot tell persons"), ("visit", [[1], [2], [3]], "cannot tell persons"),
])  # fmt: skip
def test_keys_that_tell_nothing_are_refused_in_a_frame(column: str, values: list[Any], said: str) -> None:
    frame = pd.DataFrame({"person": ["a", "b", "c"], "visit": [1, 2, 3], "mark": 1, "ward": "n"}).assign(
        **{column: pd.Series(values, dtype=object)}
    )
    for most in (1, 2):
        with pytest.raises(RowProblemsFound, match=said):
            open_frame(frame, SCHEMA, Slots("person", "visit", most))


def test_rows_that_the_order_does_not_tell_apart_are_refused_in_a_frame() -> None:
    frame = pd.DataFrame({"person": ["a", "a", "b"], "visit": [1, "1", 1], "mark": 1, "ward": "n"})
    with pytest.raises(RowProblemsFound, match="does not tell apart"):
        open_frame(frame, SCHEMA, Slots("person", "visit", 2))
    found = open_frame(frame.assign(visit=["1", "01", 1]), SCHEMA, Slots("person", "visit", 2))
    assert (found.rows, isinstance(found, InMemory)) == (4, True)
    long = [2**53, 2**53 + 1, 2**53]
    exact = frame.assign(person=list(map(str, long)), visit=[1, 2, 3])
    assert open_frame(exact, SCHEMA, Slots("person", "visit", 1)).rows == 2, "texts are told apart"
    with pytest.raises(RowProblemsFound, match="Make it a column of texts"):
        open_frame(exact.assign(person=pd.Series(long, dtype="Int64")), SCHEMA, Slots("person", "visit", 1))


def test_several_places_in_a_frame_need_a_code_for_empty_ones() -> None:
    plain = parse_schema({"fields": FIELDS}, "s")
    frame = pd.DataFrame({"person": ["a"], "visit": [1], "mark": 1, "ward": "n"})
    assert open_frame(frame, plain, Slots("person", "visit", 1)).rows == 1
    with pytest.raises(PrivityError, match="declares no absent rows"):
        open_frame(frame, plain, Slots("person", "visit", 2))
