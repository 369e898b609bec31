"""Runs about different attributes, side by side at one party, whose rows are in a database."""

from __future__ import annotations

import gc
import sqlite3
import weakref
from collections.abc import Collection
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest

from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.privacy.mechanisms import NoisyMax
from privity.common.protocol.steps import Close, Done, Select, Selected
from privity.party.charged_releases import ChargedReleases
from privity.party.keys import Keys
from privity.party.sources.address import parse_address
from privity.party.sources.held_rows import Access, Hold, Holder
from privity.party.sources.open_rows import open_rows
from privity.party.sources.rows import InMemory
from privity.party.step_answers import PartyEngine
from tests.harness.consortium import TestConsortium, make_consortium

pytestmark = pytest.mark.external

EPSILON = Fraction(1, 100)


def in_database(folder: Path, memory: int) -> TestConsortium:
    """A consortium whose first party has its rows in SQLite, and so much memory for coded ones."""
    pytest.importorskip("ibis")
    joint = make_consortium(2, domain=(2,) * 6, rows=200)
    names, member = joint.schema.names, joint.parties["party-1"]
    columns = (column.tolist() for column in member.table.columns)
    with sqlite3.connect(folder / "rows.db") as database:
        declared = ", ".join(f"{name} TEXT" for name in names)
        database.execute(f"CREATE TABLE t ({declared})")
        rows = [list(map(str, row)) for row in zip(*columns, strict=True)]
        database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", rows)
    address = parse_address(f"sqlite:///{folder}/rows.db#t")
    found = open_rows(address, joint.schema, Access(Hold.AUTO, memory, cache=folder / "coded"))
    member.releases = ChargedReleases("party-1", found.rows, member.journal, member.ledger)
    keys = Keys("party-1", member.identity)
    member.engine = PartyEngine(member.releases, lambda: joint.policies["party-1"], keys, joint.manifest)
    return joint


def begin(joint: TestConsortium, run: str, *attributes: int) -> None:
    names = tuple(joint.schema.names[a] for a in attributes)
    joint.begin(joint.spec(run=run, algorithm="privbayes", settings={}, attributes=names))


def select(joint: TestConsortium, run: str, name: str, a: int = 0, b: int = 1) -> object:
    pairs = AttributeParentPair(a, (b,)), AttributeParentPair(b, (a,))
    return joint.tell("party-1", Select(run, "structure", name, pairs, NoisyMax(EPSILON)))


def test_a_run_that_ends_takes_no_rows_from_another(tmp_path: Path) -> None:
    joint = in_database(tmp_path, memory=100)
    begin(joint, "one", 0, 1, 2)
    begin(joint, "two", 0, 2, 3)
    assert isinstance(select(joint, "one", "1"), Selected)
    assert isinstance(select(joint, "two", "1"), Selected)
    assert isinstance(joint.tell("party-1", Close("two", "COMPLETED")), Done)
    assert isinstance(select(joint, "one", "2", 0, 2), Selected)
    assert joint.parties["party-1"].ledger.spent("one") == 2 * EPSILON


def test_no_coded_rows_are_left_when_all_runs_have_ended(tmp_path: Path) -> None:
    joint = in_database(tmp_path, memory=100)
    begin(joint, "one", 0, 1, 2)
    assert isinstance(select(joint, "one", "1"), Selected)
    assert list((tmp_path / "coded").glob("*"))
    begin(joint, "two", 0, 2, 3)
    assert isinstance(select(joint, "one", "2", 0, 2), Selected)
    for run in ("one", "two"):
        joint.tell("party-1", Close(run, "COMPLETED"))
    assert not list((tmp_path / "coded").glob("*"))


@pytest.mark.long
def test_coded_rows_in_memory_do_not_grow_with_the_runs_that_are_open(tmp_path: Path, monkeypatch) -> None:
    joint = in_database(tmp_path, memory=10**6)
    loaded, parts = set[int](), list[weakref.ref[InMemory]]()
    load, over = Holder.loaded, InMemory.over

    def remembered(holder: Holder) -> InMemory:
        rows = load(holder)
        loaded.add(id(rows.table))
        return rows

    def part(rows: InMemory, names: Collection[str] | None) -> InMemory:
        found = over(rows, names)
        if id(rows.table) in loaded:
            parts.append(weakref.ref(found))
        return found

    monkeypatch.setattr(Holder, "loaded", remembered)
    monkeypatch.setattr(InMemory, "over", part)
    for number, attributes in enumerate(combinations(range(6), 3)):
        begin(joint, f"run-{number}", *attributes)
        assert isinstance(select(joint, f"run-{number}", "1"), Selected)
        gc.collect()
        assert sum(rows() is not None for rows in parts) == 1
    assert len(parts) == 20
