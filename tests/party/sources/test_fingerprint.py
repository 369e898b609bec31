"""The fingerprint of rows: of no order, other for other rows, the same from SQL and from arrays."""

import functools

import duckdb
import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from privity.common.data.schema import Schema, parse_schema
from privity.party.sources.fingerprint import PRIME, cube_sql, digest, fingerprint, mixed_sql, weights

DOMAIN = (2, 3, 300, 70_000)


@functools.cache
def schema() -> Schema:
    fields = [
        {"name": f"x{a}", "type": "integer", "constraints": {"minimum": 0, "maximum": size - 1}, "bins": size}
        for a, size in enumerate(DOMAIN)
    ]
    return parse_schema({"fields": fields}, "s")


rows = st.lists(st.tuples(*(st.integers(0, size - 1) for size in DOMAIN)), min_size=1, max_size=12)
Rows = list[tuple[int, ...]]


def of(some: Rows) -> int:
    return fingerprint([np.array(column) for column in zip(*some, strict=True)], schema())


def by_hand(some: Rows) -> int:
    return sum(pow(sum(r * (c + 1) for r, c in zip(weights(schema()), row, strict=True)), 3, PRIME) for row in some)


@given(rows, st.randoms())
def test_it_is_that_of_its_definition_in_any_order(some: Rows, random) -> None:
    found = of(some)
    assert found == by_hand(some)
    random.shuffle(some)
    assert of(some) == found


@given(rows, rows)
def test_other_rows_have_another(some: Rows, others: Rows) -> None:
    assume(sorted(some) != sorted(others))
    assert of(some) != of(others)


@given(rows, st.data())
def test_a_changed_cell_shows(some: Rows, data) -> None:
    place = data.draw(st.integers(0, len(some) - 1))
    attribute = data.draw(st.integers(0, len(DOMAIN) - 1))
    code = data.draw(st.integers(0, DOMAIN[attribute] - 1))
    row = some[place]
    assume(code != row[attribute])
    other = (*row[:attribute], code, *row[attribute + 1 :])
    assert of([*some[:place], other, *some[place + 1 :]]) != of(some)


@given(rows, st.data())
def test_two_rows_that_swap_a_value_show(some: Rows, data) -> None:
    assume(len(some) > 1)
    one, two = data.draw(st.lists(st.integers(0, len(some) - 1), min_size=2, max_size=2, unique=True))
    attribute = data.draw(st.integers(0, len(DOMAIN) - 1))
    changed = [list(row) for row in some]
    changed[one][attribute], changed[two][attribute] = changed[two][attribute], changed[one][attribute]
    assume(sorted(map(tuple, changed)) != sorted(some))
    assert of([tuple(row) for row in changed]) != of(some)


@given(rows)
def test_sql_gives_the_same(some: Rows) -> None:
    values = ", ".join(str(row) for row in some)
    codes = [f"a{a}" for a in range(len(DOMAIN))]
    mixed = f"SELECT {mixed_sql(codes, schema())} AS q FROM (VALUES {values}) AS given({', '.join(codes)})"
    ((found,),) = duckdb.sql(f"SELECT CAST(SUM({cube_sql('q')}) AS BIGINT) FROM ({mixed})").fetchall()
    assert found == of(some)


def test_parts_add_up_and_the_digest_is_of_the_schema_too() -> None:
    generator = np.random.default_rng(0)
    columns = [generator.integers(0, size, 200_000) for size in DOMAIN]
    parts = [
        fingerprint([column[start : start + 70_001] for column in columns], schema()) for start in (0, 70_001, 140_002)
    ]
    assert sum(parts) == fingerprint(columns, schema())
    other = schema().over(["x0", "x1", "x2"])
    assert len({digest(schema(), 5, 7), digest(schema(), 6, 7), digest(schema(), 5, 8), digest(other, 5, 7)}) == 4
    assert len(set(weights(schema()))) == len(DOMAIN)
