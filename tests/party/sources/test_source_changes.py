"""Rows that change while a node works: never tables of two states, whatever holds the rows and whatever is asked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import duckdb
import numpy as np
import pytest

from privity.common.data.schema import parse_schema
from privity.common.errors import Catalogue, PrivityError
from privity.party.sources import counting_store
from privity.party.sources import held_rows as opening
from privity.party.sources import rows as party_rows
from privity.party.sources.address import parse_address
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.ibis_store import IbisStore
from privity.party.sources.open_rows import open_rows
from privity.party.sources.postgresql_store import PostgresqlStore
from privity.party.sources.rows import Rows
from tests.harness import postgresql
from tests.harness.long import thinned
from tests.harness.stores import Row, put

pytestmark = pytest.mark.external

SCHEMA = parse_schema(
    {
        "extraColumns": "ignore",
        "fields": [
            {"name": "ward", "type": "string", "categories": ["north", "south"]},
            {"name": "sex", "type": "string", "categories": ["f", "m"]},
            {"name": "score", "type": "integer", "categories": [0, 1, 2, 3, 4]},
        ],
    },
    "s",
)
ROWS: list[Row] = [
    {"id": place, "ward": ("north", "south")[place % 2], "sex": "fm"[place // 5 % 2], "score": place % 5}
    for place in range(60)
]
MEMORY = 1 << 28
REQUESTS = [((0,), [1, 2]), ((1, 2), [0]), ((2,), [1])]
MARGINALS = [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2)]


def swapped() -> list[Row]:
    """Two rows swap the values of one attribute: no 1-way table changes."""
    first, second, *others = ROWS
    return [{**first, "ward": second["ward"]}, {**second, "ward": first["ward"]}, *others]


ANOTHER = {"id": 60, "ward": "north", "sex": "m", "score": 4}
CHANGES = {"swap": swapped(), "insert": [*ROWS, ANOTHER], "delete": ROWS[1:], "update": [*ROWS[1:], ANOTHER]}
STATEMENTS = {
    "swap": "UPDATE visits SET ward = CASE id WHEN 0 THEN 'south' ELSE 'north' END WHERE id < 2",
    "insert": "INSERT INTO visits VALUES (60, 'north', 'm', 4)",
    "delete": "DELETE FROM visits WHERE id = 0",
    "update": "UPDATE visits SET sex = 'm', score = 4 WHERE id = 0",
}

Tables = list[list[int]]


def opened(address: str, hold: Hold, folder: Path) -> Rows:
    return open_rows(parse_address(address), SCHEMA, Access(hold, MEMORY, cache=folder / "coded")).rows


def counts(rows: Rows) -> Tables:
    return [rows.count(MARGINALS).tolist()]


def joint(rows: Rows) -> Tables:
    return [np.asarray(table).ravel().tolist() for some in rows.joint_counts(REQUESTS) for table in some]


def of_part(rows: Rows) -> Tables:
    return counts_of(rows.over(["ward", "score"]))


def counts_of(rows: Rows) -> Tables:
    return [rows.count([(0,), (1, 0)]).tolist()]


ASKED: list[Callable[[Rows], Tables]] = [counts, joint, of_part]


def refused(ask: Callable[[], object]) -> None:
    with pytest.raises(PrivityError) as found:
        ask()
    assert found.value.kind is Catalogue.SOURCE_CHANGED


def rewrite_in_place(file: Path, new: Path) -> None:
    """With the very inode, and the time that it had before."""
    about = file.stat()
    file.write_bytes(new.read_bytes())
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))


def replace(file: Path, new: Path) -> None:
    shutil.copy2(new, new.with_name("scratch"))
    os.replace(new.with_name("scratch"), file)


@pytest.mark.parametrize(
    ("hold", "form", "change", "write"),
    thinned(product(Hold, ["parquet", "arrow", "duckdb"], CHANGES, [rewrite_in_place, replace]), 5),
)
def test_files_that_change_are_noticed_or_no_longer_looked_at(
    form: str, hold: Hold, change: str, write: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    address = put(form, tmp_path / "rows", ROWS)
    put(form, tmp_path / "new", CHANGES[change])
    rows = opened(address, hold, tmp_path)
    before = [ask(rows) for ask in ASKED]
    (file,), (new,) = (tmp_path / "rows").iterdir(), (tmp_path / "new").iterdir()
    write(file, new)
    for ask, expected in zip(ASKED, before, strict=True):
        if hold is Hold.STORE:
            refused(lambda ask=ask: ask(rows))
        else:
            assert ask(rows) == expected
    assert opened(address, hold, tmp_path).digest != rows.digest


@pytest.mark.parametrize("change", CHANGES)
def test_a_database_that_is_written_to_is_noticed(change: str, tmp_path: Path) -> None:
    rows = opened(put("duckdb", tmp_path, ROWS), Hold.STORE, tmp_path)
    before = counts(rows)
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as connection:
        # The change stays in the log beside the database.
        connection.execute("PRAGMA disable_checkpoint_on_shutdown")
        connection.execute(STATEMENTS[change])
    assert before
    for ask in ASKED:
        refused(lambda ask=ask: ask(rows))


@pytest.mark.parametrize("address", ["{}", "{}/*.{}", "{}/**/*.{}"])
@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_file_that_comes_or_goes_is_a_change(form: str, address: str, tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    put(form, folder, ROWS[:40])
    (first,) = folder.iterdir()
    put(form, tmp_path / "more", ROWS[40:])
    (more,) = (tmp_path / "more").iterdir()
    shutil.copy2(more, folder / f"more{more.suffix}")
    rows = opened(address.format(folder, more.suffix[1:]), Hold.STORE, tmp_path)
    assert rows.rows == 60
    before = counts(rows)
    shutil.copy2(more, folder / f"late{more.suffix}")
    for ask in ASKED:
        refused(lambda ask=ask: ask(rows))
    (folder / f"late{more.suffix}").unlink()
    assert counts(rows) == before
    first.unlink()
    for ask in ASKED:
        refused(lambda ask=ask: ask(rows))


def test_a_file_that_changes_between_two_passes_ends_the_question(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(party_rows, "PASS_CELLS", 1)
    rows = opened(put("parquet", tmp_path, ROWS), Hold.STORE, tmp_path)
    expected = joint(rows)
    answers = rows.joint_counts(REQUESTS)
    first = [table.ravel().tolist() for table in next(answers)]
    put("parquet", tmp_path, swapped())
    assert first == expected[:2]
    refused(lambda: next(answers))


@pytest.fixture
def visits(server: postgresql.Server, tmp_path: Path) -> str:
    return put("postgresql", tmp_path, ROWS, server)


@pytest.mark.parametrize("change", STATEMENTS)
@pytest.mark.parametrize("hold", [Hold.STORE, Hold.AUTO])
def test_postgresql_rows_that_change_are_noticed(
    hold: Hold, change: str, visits: str, server: postgresql.Server, tmp_path: Path
) -> None:
    rows = opened(visits, hold, tmp_path)
    assert counts(rows)
    server.execute(STATEMENTS[change])
    for ask in ASKED:
        refused(lambda ask=ask: ask(rows))
    # The former state again is no change.
    server.execute("DELETE FROM visits WHERE id IN (0, 1, 60)")
    server.execute("INSERT INTO visits VALUES (0, 'north', 'f', 0), (1, 'south', 'f', 1)")
    assert counts(rows)
    assert joint(rows)


@pytest.mark.parametrize("change", STATEMENTS)
@pytest.mark.parametrize("hold", [Hold.CACHE, Hold.MEMORY])
def test_what_was_taken_out_of_postgresql_stays_one_state(
    hold: Hold, change: str, visits: str, server: postgresql.Server, tmp_path: Path
) -> None:
    rows = opened(visits, hold, tmp_path)
    before = [ask(rows) for ask in ASKED]
    server.execute(STATEMENTS[change])
    assert [ask(rows) for ask in ASKED] == before
    assert opened(visits, hold, tmp_path).digest != rows.digest


@pytest.mark.parametrize("change", STATEMENTS)
def test_rows_are_counted_and_then_loaded_in_one_pass_of_one_state(
    change: str, visits: str, server: postgresql.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    answer = PostgresqlStore.rows

    def then_change(store: PostgresqlStore, query: str) -> object:
        asked.append(query)
        rows = answer(store, query)
        server.execute(STATEMENTS[change])
        return rows

    monkeypatch.setattr(PostgresqlStore, "rows", then_change)
    if change in ("insert", "delete"):
        refused(lambda: opened(visits, Hold.MEMORY, tmp_path))
        loaded = None
    else:
        loaded = opened(visits, Hold.MEMORY, tmp_path)
    assert asked == ['SELECT COUNT(*) AS n FROM "visits"']
    monkeypatch.undo()
    now = opened(visits, Hold.STORE, tmp_path)
    assert loaded is None or (loaded.digest == now.digest and joint(loaded) == joint(now))


@pytest.mark.parametrize("change", STATEMENTS)
def test_rows_that_were_loaded_for_the_selections_of_a_run_are_of_its_state(
    change: str, visits: str, server: postgresql.Server, tmp_path: Path
) -> None:
    rows = opened(visits, Hold.AUTO, tmp_path)
    part = rows.over(["ward", "score"])
    before, of_some = joint(rows), [t.tolist() for t in next(part.joint_counts([((0,), [1])]))]
    server.execute(STATEMENTS[change])
    assert joint(rows) == before
    assert [t.tolist() for t in next(part.joint_counts([((0,), [1])]))] == of_some
    refused(lambda: counts(rows))
    rows.forget()
    part.forget()
    refused(lambda: joint(rows))
    refused(lambda: list(part.joint_counts([((0,), [1])])))


@pytest.mark.parametrize("change", STATEMENTS)
def test_each_statement_of_a_question_is_about_the_same_rows(
    change: str, visits: str, server: postgresql.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting_store, "STATEMENT_TABLES", 1)
    monkeypatch.setattr(counting_store, "WIDEST_CELLS", 1)
    found = open_rows(parse_address(visits), SCHEMA, Access(Hold.STORE, MEMORY))
    assert found.store is not None
    asked = []
    answer = found.store.rows

    def then_change(query: str) -> object:
        asked.append(query)
        rows = answer(query)
        if len(asked) == 2:
            server.execute(STATEMENTS[change])
        return rows

    monkeypatch.setattr(found.store, "rows", then_change)
    refused(lambda: counts(found.rows))
    assert len(asked) == 3


def test_rows_are_looked_at_before_they_are_loaded_from_a_store_that_may_read_several_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, batches = put("sqlite", tmp_path, ROWS), IbisStore.batches

    def after_a_change(store: IbisStore, query: str, sizes: Sequence[int]) -> object:
        put("sqlite", tmp_path, swapped())
        return batches(store, query, sizes)

    monkeypatch.setattr(IbisStore, "batches", after_a_change)
    refused(lambda: opened(address, Hold.MEMORY, tmp_path))


def test_sqlite_rows_that_change_are_noticed(tmp_path: Path) -> None:
    rows = opened(put("sqlite", tmp_path, ROWS), Hold.STORE, tmp_path)
    before = [ask(rows) for ask in ASKED]
    for changed in CHANGES.values():
        put("sqlite", tmp_path, changed)
        for ask in ASKED:
            refused(lambda ask=ask: ask(rows))
    put("sqlite", tmp_path, list(reversed(ROWS)))
    assert [ask(rows) for ask in ASKED] == before


def test_a_csv_file_that_changes_while_it_is_read_twice_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, changed = ([{name: row[name] for name in SCHEMA.names} for row in rows] for rows in (ROWS, swapped()))
    address = put("csv", tmp_path, plain)
    write = opening.write_coded

    def change_first(*arguments: object) -> None:
        put("csv", tmp_path, changed)
        write(*arguments)

    monkeypatch.setattr(opening, "write_coded", change_first)
    refused(lambda: opened(address, Hold.CACHE, tmp_path))
    assert not list((tmp_path / "coded").iterdir())
