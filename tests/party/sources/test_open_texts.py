"""Texts that may become categories, by brute force in every store: counted in the places of each person, as others."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privity.common.data.schema import parse_schema
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.ledger import Allowance
from privity.common.privacy.thresholded_counts import ThresholdedCounts
from privity.common.storage.journal import MEMORY as IN_MEMORY
from privity.common.storage.journal import Journal
from privity.party.charged_releases import ChargedReleases
from privity.party.sources.address import parse_address
from privity.party.sources.frame_rows import open_frame
from privity.party.sources.held_rows import Access, Hold
from privity.party.sources.open_rows import open_rows
from privity.party.sources.rows import InMemory, Rows
from privity.party.sources.sql_queries import Slots
from tests.harness import postgresql
from tests.harness.ledgers import charges, declared
from tests.harness.long import long_but
from tests.harness.stores import Row, put

pytestmark = pytest.mark.external

FIELDS: list[dict[str, Any]] = [
    {"name": "town", "type": "string", "domain": "discover", "other": "elsewhere", "missingValues": ["", "?"]},
    {"name": "group", "type": "string", "compute": {"from": "code", "prefix": 2}, "domain": "discover"},
    {"name": "room", "type": "string", "domain": "discover"},
]
SCHEMA = parse_schema({"absentRows": True, "fields": FIELDS, "extraColumns": "ignore"}, "s")
ONE_ROW = parse_schema({"fields": FIELDS, "extraColumns": "ignore"}, "s")
TOWNS = ["Bern", "bern", " Bern", "Chur", "?", "", None, "elsewhere", "x" * 300, "tab\t", "it's", "\u00e4", "a" * 200]
FORMS = long_but(["csv", "duckdb", "sqlite"], ["csv", "parquet", "arrow", "duckdb", "sqlite", "postgresql", "spark"])
COUNTS = st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any)


def rows_of(seed: int, counts: Sequence[int] = (1, 2, 5, 9, 3, 1)) -> list[Row]:
    """Rows of persons with so many rows each, in any order."""
    draw = random.Random(seed)
    rows = [
        {
            "person": f"p{person}",
            "visit": visit,
            "town": draw.choice(TOWNS),
            "code": draw.choice(["I20", "I99", "J4", "Z", None]),
            "room": draw.choice([7, 12, None]),
        }
        for person, count in enumerate(counts)
        for visit in draw.sample(range(-5, 50), count)
    ]
    draw.shuffle(rows)
    return rows


def by_hand(rows: Sequence[Row], most: int | None) -> dict[str, Counter[str]]:
    """The texts of each person's first rows; None for all of them."""
    kept = rows
    if most is not None:
        persons = {row["person"] for row in rows}
        own = ([row for row in rows if row["person"] == person] for person in persons)
        kept = [row for some in own for row in sorted(some, key=lambda row: row["visit"])[:most]]
    unfit = {"", "?", "elsewhere", "x" * 300, "tab\t"}
    return {
        "town": Counter(row["town"] for row in kept if row["town"] is not None and row["town"] not in unfit),
        "group": Counter(row["code"][:2] for row in kept if row["code"]),
        "room": Counter(str(row["room"]) for row in kept if row["room"] is not None),
    }


def texts(rows: Rows) -> dict[str, Mapping[str, int]]:
    return {name: rows.texts(name) for name in SCHEMA.names}


def look(address: str, most: int | None, hold: Hold = Hold.AUTO, folder: Path | None = None) -> Rows:
    slots = None if most is None else Slots("person", "visit", most)
    return open_rows(parse_address(address), SCHEMA, Access(hold, 1 << 28, slots, folder)).rows


@pytest.mark.parametrize("form", FORMS)
def test_the_texts_of_a_person_are_those_of_its_places(
    form: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server: postgresql.Server | None = request.getfixturevalue("server") if form == "postgresql" else None
    if form == "spark":
        request.getfixturevalue("spark")
    given_rows = rows_of(3)
    address = put(form, tmp_path / "rows", given_rows, server)
    for most in (None, 1, 3):
        holds = [Hold.AUTO] if form == "csv" else [Hold.STORE] if form == "spark" else list(Hold)
        for hold in holds:
            rows = look(address, most, hold, tmp_path / "coded")
            assert texts(rows) == by_hand(given_rows, most), (most, hold)
            assert rows.over(["town"]).texts("town") == by_hand(given_rows, most)["town"]


def test_whole_numbers_days_and_booleans_have_the_texts_that_they_are_coded_by(tmp_path: Path) -> None:
    schema = parse_schema(
        {"fields": [{"name": n, "type": "string", "domain": "discover"} for n in ("n", "day", "yes")]}, "s"
    )
    frame = pd.DataFrame({"n": [7, 7, -1], "day": pd.to_datetime(["2024-02-29"] * 3), "yes": [True, True, False]})
    frame.assign(day=frame["day"].dt.date).to_parquet(tmp_path / "t.parquet")
    rows = open_rows(parse_address(str(tmp_path / "t.parquet")), schema).rows
    found = {name: dict(rows.texts(name)) for name in schema.names}
    assert found == {"n": {"7": 2, "-1": 1}, "day": {"2024-02-29": 3}, "yes": {"true": 2, "false": 1}}
    rest = {"type": "string", "outOfDomain": "other", "other": "(other)"}
    fields = [{"name": name, **rest, "categories": [*found[name], "(other)"]} for name in schema.names]
    known = open_rows(parse_address(str(tmp_path / "t.parquet")), parse_schema({"fields": fields}, "s")).rows
    assert [known.count([(a,)]).tolist() for a in range(3)] == [[2, 1, 0], [3, 0], [2, 1, 0]]


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6), counts=COUNTS, most=st.integers(1, 3), form=st.sampled_from(["csv", "parquet", "frame"])
)
def test_all_rows_of_a_person_replaced_move_no_more_texts_than_it_has_places(
    seed: int, counts: list[int], most: int, form: str, tmp_path: Path
) -> None:
    """Neighbouring tables: a person with one to five rows, or with 300 of one text or of as many others."""
    others = [row for row in rows_of(seed, counts) if row["person"] != "p0"]
    draw = random.Random(seed)
    worlds = [
        [{"town": draw.choice(TOWNS), "code": "I20", "room": 7} for _ in range(3)],
        [{"town": "Genf", "code": "K1", "room": 8} for _ in range(300)],
        [{"town": f"t{visit}", "code": f"{visit:03d}", "room": visit} for visit in range(300)],
    ]
    found = []
    for own in worlds:
        rows = [*others, *({"person": "p0", "visit": visit, **row} for visit, row in enumerate(own))]
        draw.shuffle(rows)
        if form == "frame":
            opened: Rows = open_frame(pd.DataFrame(rows), SCHEMA, Slots("person", "visit", most))
        else:
            opened = look(put(form, tmp_path / form, rows), most)
        found.append((opened.rows, texts(opened)))
        assert found[-1][1] == by_hand(rows, most)
    assert len({places for places, _ in found}) == 1
    for (_, one), (_, other) in permutations(found, 2):
        assert all((Counter(one[name]) - Counter(other[name])).total() <= most for name in SCHEMA.names)


def test_a_changed_source_gives_no_texts(server: postgresql.Server, tmp_path: Path) -> None:
    given_rows = rows_of(5)
    for form in ("parquet", "duckdb", "sqlite", "postgresql"):
        address = put(form, tmp_path / form, given_rows, server)
        # A server tells by the codes of the rows.
        change = {"room": 7} if form in ("parquet", "duckdb") else {"town": None}
        for hold in (Hold.STORE, Hold.MEMORY):
            rows = look(address, 2, hold)
            put(form, tmp_path / form, [{**row, **change} for row in given_rows], server)
            with pytest.raises(PrivityError) as refused:
                rows.texts("room")
            assert refused.value.kind is Catalogue.SOURCE_CHANGED
            put(form, tmp_path / form, given_rows, server)


class Unlimited(InMemory):
    """The broken variant: a second reader that counts all rows of a person, whatever their places."""

    def __init__(self, frame: pd.DataFrame) -> None:
        super().__init__(open_frame(frame, SCHEMA, Slots("person", "visit", 2)).table)
        self.texts = lambda name: Counter(frame["town"])


def releases_of(rows: Rows) -> ChargedReleases:
    return ChargedReleases("owner", rows, Journal(IN_MEMORY), declared(name="people", rows=2, delta=Fraction(1, 100)))


def hog(secrets: Sequence[str]) -> pd.DataFrame:
    """Everybody has two rows of one of three towns; one person has 5,000 of these texts."""
    people = [(f"p{p}", visit, ("Bern", "Basel", "Chur")[p % 3]) for p in range(600) for visit in range(2)]
    people += [("hog", visit, secrets[visit % len(secrets)]) for visit in range(5000)]
    return pd.DataFrame(people, columns=["person", "visit", "town"]).assign(code="I20", room=7)


@pytest.mark.parametrize("secrets", [["Genf"], [f"a{place}" for place in range(5000)]], ids=["one text", "many"])
def test_a_person_with_ever_so_many_rows_neither_adds_a_category_nor_hides_one(secrets: list[str]) -> None:
    mechanism = ThresholdedCounts(1, Fraction(2), Fraction(1, 10**6))
    allowance = Allowance(Fraction(4), Fraction(1, 100))
    rows = open_frame(hog(secrets), SCHEMA, Slots("person", "visit", 2))
    releases = releases_of(rows)
    found = releases.categories("run", ["town"], mechanism, allowance)
    assert found == {"town": ["Basel", "Bern", "Chur"]}
    broken = releases_of(Unlimited(hog(secrets)))
    with pytest.raises(ValueError, match="more rows are counted than are priced"):
        broken.categories("run", ["town"], mechanism, allowance)
    assert broken.journal.recall("run/categories", "") is None
    assert [charge.step for charge in charges(broken.ledger)] == ["categories"]


def test_each_text_has_noise_of_its_own() -> None:
    """As many texts as rows: with a noise vector that is shorter nothing is released."""
    rows = open_frame(pd.DataFrame({"town": [f"t{n}" for n in range(40)], "code": "I", "room": 1}), ONE_ROW, None)
    mechanism = ThresholdedCounts(1, Fraction(2), Fraction(1, 10**6))
    drawn = []

    class Watched(ThresholdedCounts):
        def sample(self, count: int, entropy: Any) -> Any:
            drawn.append(count)
            return np.full((1, count - short), 10**6, dtype=np.int64)

    watched = Watched(mechanism.columns, mechanism.epsilon, mechanism.delta)
    for short in (0, 1):
        releases = releases_of(rows)
        if short:
            with pytest.raises(ValueError, match="zip"):
                releases.categories("run", ["town"], watched, Allowance(Fraction(4), Fraction(1, 100)))
        else:
            found = releases.categories("run", ["town"], watched, Allowance(Fraction(4), Fraction(1, 100)))
            assert found == {"town": sorted(f"t{n}" for n in range(40))}
    assert drawn == [40, 40]
