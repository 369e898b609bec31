"""One person, many rows: the places of each person by brute force, in every store."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privity.common.data.schema import Schema, parse_schema
from privity.common.errors import Catalogue, PrivityError, RowProblemsFound
from privity.party.sources.address import parse_address
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.open_rows import Opened, open_rows
from privity.party.sources.rows import Rows
from privity.party.sources.sql_queries import Slots
from tests.harness import postgresql
from tests.harness.long import thinned
from tests.harness.stores import Row, put

pytestmark = pytest.mark.external

MARKS = 40


def schema_of(*, absent: bool = True) -> Schema:
    return parse_schema(
        {
            "absentRows": absent,
            "fields": [
                {"name": "ward", "type": "string", "categories": ["n", "s"], "missingValues": [""]},
                {"name": "score", "type": "integer", "edges": [0, 1, 2, 3, 4], "outOfDomain": "edge"},
                {"name": "mark", "type": "integer", "categories": list(range(MARKS))},
            ],
        },
        "s",
    )


SCHEMA = schema_of()
MEMORY = 1 << 28
FORMS = ["csv", "parquet", "arrow", "duckdb", "sqlite", "postgresql", pytest.param("spark", marks=pytest.mark.long)]
KEYS: dict[str, list[Any]] = {
    "texts": ["a", "A", "a ", "\u00e4", "07", "7", "it's"],
    "integers": [7, -7, 0, 2**62, 8, 9, 10],
}


def rows_of(keys: Sequence[Any], seed: int = 0, counts: Sequence[int] = (0, 1, 2, 3, 4, 5, 1)) -> list[Row]:
    """Rows of persons with so many rows each, in any order; each row has a mark of its own."""
    generator = random.Random(seed)
    rows: list[Row] = []
    for key, count in zip(keys, counts, strict=True):
        for order in generator.sample(range(-9, 120), count):
            ward, score = generator.choice(["n", "s", None]), generator.randrange(-1, 6)
            rows.append({"person": key, "visit": order, "ward": ward, "score": score, "mark": len(rows)})
    generator.shuffle(rows)
    return rows


def kept_by_hand(rows: Sequence[Row], most: int) -> list[Row]:
    by_person = defaultdict(list)
    for row in rows:
        by_person[row["person"]].append(row)
    return [row for own in by_person.values() for row in sorted(own, key=lambda row: row["visit"])[:most]]


def table_by_hand(rows: Sequence[Row], most: int, schema: Schema = SCHEMA) -> np.ndarray:
    """Over all attributes, absent rows too."""
    kept = kept_by_hand(rows, most)
    table = np.zeros(schema.domain, dtype=np.int64)
    for row in kept:
        table[tuple(a.code_of("" if row[a.name] is None else str(row[a.name])) for a in schema.attributes)] += 1
    absent = most * len({row["person"] for row in rows}) - len(kept)
    if absent:
        table[tuple(size - 1 for size in schema.domain)] += absent
    return table


def look(
    address: str, most: int, hold: Hold = Hold.AUTO, folder: Path | None = None, schema: Schema = SCHEMA
) -> Opened:
    access = Access(hold, MEMORY, Slots("person", "visit", most), folder)
    return open_rows(parse_address(address), schema, access)


def check(rows: Rows, given: Sequence[Row], most: int, schema: Schema = SCHEMA) -> None:
    expected = table_by_hand(given, most, schema)
    everything = tuple(range(len(schema.domain)))
    assert rows.rows == most * len({row["person"] for row in given}) == expected.sum()
    assert rows.count([everything]).tolist() == expected.ravel().tolist()
    derived = schema.derived
    singles = rows.count([(attribute,) for attribute in range(len(derived.domain))])
    parts = np.split(singles, np.cumsum(derived.domain)[:-1])
    for attribute, part in enumerate(parts):
        base = derived.base[attribute]
        counts = expected.sum(axis=tuple(a for a in everything if a != base))
        codes = derived.derive(attribute, np.arange(schema.domain[base]))
        found = np.bincount(codes, counts, derived.domain[attribute]).astype(int)
        assert part.tolist() == found.tolist(), derived.names[attribute]
    ((joint,),) = rows.joint_counts([((0,), [1])])
    assert joint.tolist() == expected.sum(axis=2).T.tolist()


@pytest.mark.parametrize(("form", "keys", "most"), thinned(itertools.product(FORMS, KEYS, [1, 2, 3]), 5))
def test_each_person_has_its_first_rows_and_no_more(
    form: str, keys: str, most: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server = request.getfixturevalue("server") if form == "postgresql" else None
    if form == "spark":
        request.getfixturevalue("spark")
    given = rows_of(KEYS[keys])
    address = put(form, tmp_path / "rows", given, server)
    holds = [Hold.AUTO] if form == "csv" else [Hold.STORE] if form == "spark" else list(Hold)
    for hold in holds:
        found = look(address, most, hold, tmp_path / "coded")
        check(found.rows, given, most)
        assert (found.survey.persons, found.survey.rows) == (6, len(kept_by_hand(given, most)))
        assert found.rows.digest == look(put("csv", tmp_path / "csv", given), most).rows.digest


def test_persons_and_their_order_are_told_apart_byte_by_byte(server: postgresql.Server, tmp_path: Path) -> None:
    """A collation that takes two keys for one, or puts capitals among small letters, decides nothing."""
    given = rows_of(KEYS["texts"], counts=(3, 3, 2, 2, 1, 1, 4))
    for row, order in zip(given, itertools.cycle("aBcDeF"), strict=False):
        row["visit"] = f"{order}{row['mark']}"
    address = put("postgresql", tmp_path, given, server)
    server.execute(
        "CREATE COLLATION IF NOT EXISTS blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
    )
    with psycopg.connect(server.owner) as connection:
        connection.execute(
            "ALTER TABLE visits ALTER person TYPE text COLLATE blind, ALTER visit TYPE text COLLATE blind"
        )
    digests = {look(address, 2).rows.digest}
    check(look(address, 2).rows, given, 2)
    for form in ("csv", "parquet", "duckdb"):
        found = look(put(form, tmp_path / form, given), 2).rows
        check(found, given, 2)
        digests.add(found.digest)
    assert len(digests) == 1


@pytest.mark.parametrize("form", ["csv", pytest.param("parquet", marks=pytest.mark.long)])
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), most=st.integers(1, 3), data=st.data())
def test_which_rows_are_left_out_depends_on_person_and_order_alone(
    form: str, seed: int, most: int, data: st.DataObject, tmp_path: Path
) -> None:
    counts = data.draw(st.lists(st.integers(0, 5), min_size=7, max_size=7).filter(any))
    given = rows_of(KEYS["integers"], seed, counts)
    kept = {row["mark"] for row in kept_by_hand(given, most)}
    changed = [{**row, "ward": data.draw(st.sampled_from(["n", "s"])), "score": 0} for row in given]
    for rows in (given, data.draw(st.permutations(changed))):
        found = look(put(form, tmp_path / form, rows), most).rows
        check(found, rows, most)
        assert set(np.flatnonzero(found.count([(2,)])[:MARKS]).tolist()) == kept


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), most=st.integers(1, 3), data=st.data(), form=st.sampled_from(["csv", "parquet"]))
def test_all_rows_of_a_person_replaced_change_its_places_and_nothing_else(
    seed: int, most: int, data: st.DataObject, form: str, tmp_path: Path
) -> None:
    """Neighbouring tables: a person with one to five rows, with any others in their place."""
    counts = data.draw(st.lists(st.integers(1, 5), min_size=7, max_size=7))
    given = rows_of(KEYS["integers"], seed, counts)
    person = data.draw(st.sampled_from(KEYS["integers"]))
    others = rows_of([person], seed + 1, [data.draw(st.integers(1, 5))])
    places = data.draw(st.lists(st.integers(0, len(given)), min_size=len(others), max_size=len(others)))
    neighbour = [row for row in given if row["person"] != person]
    for place, row in zip(places, others, strict=True):
        neighbour.insert(place, row)
    tables = []
    for rows in (given, neighbour):
        found = look(put(form, tmp_path / form, rows), most).rows
        tables.append(found.count([(0, 1, 2)]).reshape(SCHEMA.domain))
        assert found.rows == 7 * most
    own = [table_by_hand([row for row in rows if row["person"] == person], most) for rows in (given, neighbour)]
    change = tables[1] - tables[0]
    assert change.tolist() == (own[1] - own[0]).tolist()
    assert np.abs(change).sum() <= 2 * most
    assert [table.sum() for table in own] == [most, most]


REFUSED = [
    ({"person": None}, "person", "rows without a person."),
    ({"person": ""}, "person", "rows without a person."),
    ({"visit": None}, "visit", "rows without a place in the order."),
    ({"visit": 3}, "visit", "rows of one person that it does not tell apart."),
]


@pytest.mark.parametrize(
    ("form", "change", "column", "said"),
    thinned(((form, *refused) for form in FORMS for refused in REFUSED), 3),
)
def test_rows_of_nobody_and_rows_without_an_order_are_refused(
    form: str, change: Row, column: str, said: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server = request.getfixturevalue("server") if form == "postgresql" else None
    if form == "spark":
        request.getfixturevalue("spark")
    given = [{"person": p, "visit": v, "ward": "n", "score": 1, "mark": 2} for p, v in (("a", 3), ("b", 3), ("a", 4))]
    check(look(put(form, tmp_path, given, server), 2).rows, given, 2)
    given[2] |= change
    address = put(form, tmp_path, given, server)
    for most in (1, 2):
        with pytest.raises(RowProblemsFound) as found:
            look(address, most)
        (problem,) = found.value.problems
        assert (problem.field.strip("'"), problem.rule, problem.message) == (column, "person", said)
        assert problem.remedy


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_without_absent_rows_a_person_has_one_place(form: str, tmp_path: Path) -> None:
    schema = schema_of(absent=False)
    given = rows_of(KEYS["integers"])
    address = put(form, tmp_path, given)
    check(look(address, 1, schema=schema).rows, given, 1, schema)
    with pytest.raises(PrivityError, match="declares no absent rows") as found:
        look(address, 2, schema=schema)
    assert "absentRows" in found.value.remedy


def test_a_key_may_be_an_attribute_and_an_attribute_may_have_any_name(tmp_path: Path) -> None:
    fields = [
        {"name": name, "type": "integer", "categories": list(range(12))}
        for name in ("privity_slot", "Privity_Slot_", "visit", "a0", "numbered")
    ]
    schema = parse_schema({"absentRows": True, "fields": fields}, "s")
    given = [
        {"person": place % 3, "privity_slot": 11 - place, "Privity_Slot_": 1, "visit": place, "a0": 5, "numbered": 3}
        for place in range(12)
    ]
    for form in ("csv", "parquet", "duckdb", "sqlite"):
        rows = look(put(form, tmp_path, given), 2, schema=schema).rows
        kept = Counter(row["privity_slot"] for row in kept_by_hand(given, 2))
        assert rows.count([(0,)]).tolist() == [kept[code] for code in range(12)] + [0]
        assert rows.count([(2,)]).tolist() == [1] * 6 + [0] * 7


def test_persons_in_csv_are_held_in_memory_or_refused(tmp_path: Path) -> None:
    address = put("csv", tmp_path, rows_of(KEYS["integers"]))
    for hold in (Hold.STORE, Hold.CACHE):
        with pytest.raises(PrivityError) as found:
            look(address, 2, hold, tmp_path / "coded")
        assert found.value.kind is Catalogue.BAD_OPTION
    with pytest.raises(PrivityError, match="more than memory allows"):
        open_rows(parse_address(address), SCHEMA, Access(Hold.AUTO, 10, Slots("person", "visit", 2)))
