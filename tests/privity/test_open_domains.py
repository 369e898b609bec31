"""One owner's run whose schema leaves domains open: discovered first, within the same budget, then learned by."""

from __future__ import annotations

from contextlib import closing
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from privity import AIM, GaussianCopula, OneWay, PrivBayes, declare_population
from privity.common.data.coded_table import CodedTable
from privity.common.data.schema import parse_schema
from privity.common.data.table_reading import encode
from privity.common.errors import PrivityError
from privity.common.privacy.ledger_folder import open_ledger
from privity.common.synthesis.learning.domain_discovery import GRIDS, SHARE, undiscovered
from privity.discovery import Discover
from privity.party.sources.rows import InMemory
from tests.harness.ledgers import charges

SCHEMA = {
    "fields": [
        {"name": "age", "type": "integer", "domain": "discover"},
        {"name": "pay", "type": "number", "domain": "discover", "decimals": 2, "missingValues": [""]},
        {"name": "ward", "type": "string", "categories": ["north", "south"]},
    ]
}
DRAFT = {"fields": [{**field, "readOffRows": "undeclared"} for field in SCHEMA["fields"]]}
DELTA = "0.000000001"


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    declare_population("patients", total_epsilon="50", total_delta="0.001")


def people(rows: int = 3000) -> pd.DataFrame:
    """Pay follows age, many have none, and some do not say."""
    generator = np.random.default_rng(1)
    age = generator.integers(20, 70, rows)
    pay = np.where(generator.random(rows) < 0.4, 0.0, (age * 100 * generator.gamma(4, 1, rows)).round(2))
    pay[generator.random(rows) < 0.1] = np.nan
    return pd.DataFrame({"age": age, "pay": pay, "ward": np.where(age > 45, "north", "south")})


def lines() -> list[tuple[str, object]]:
    with closing(open_ledger("patients", None)) as ledger:
        return [(charge.step, charge.loss) for charge in charges(ledger)]


@pytest.mark.parametrize(("kind", "delta"), [(AIM, DELTA), (AIM, "0"), (PrivBayes, "0"), (OneWay, DELTA)])
def test_numbers_stay_what_they_are_and_the_run_costs_what_it_says(kind, delta):
    table = people()
    fitted = kind("4", delta=delta, population="patients").fit(table, SCHEMA)
    assert undiscovered(fitted.model_.schema) == []
    assert fitted.charged_.epsilon <= 4
    assert fitted.charged_.epsilon > Fraction(39, 10)
    made = fitted.sample(3000, seed=1)
    pay = pd.to_numeric(made["pay"], errors="coerce")
    assert abs((pay == 0).mean() - (table["pay"] == 0).mean()) < 0.03
    assert abs(pay.isna().mean() - table["pay"].isna().mean()) < 0.03
    assert abs(made["age"].median() - table["age"].median()) < 3
    assert all(len(str(value).partition(".")[2]) <= 2 for value in made["pay"])


def test_domains_cost_their_share_and_the_table_the_rest():
    OneWay("4", population="patients").fit(people(), SCHEMA)
    looks = [loss.epsilon for step, loss in lines() if "domains" in step]
    assert looks[0] == 4 * SHARE * GRIDS
    assert sum(looks) <= 4 * SHARE
    assert sum(loss.epsilon for _, loss in lines()) == 4, "what no closer look needed is not lost"


def test_points_far_from_zero_are_found_by_closer_looks():
    generator = np.random.default_rng(3)
    table = people()
    points = np.array([13.73189, 20.71404, 6.907755])
    table["pay"] = np.where(generator.random(len(table)) < 0.5, generator.choice(points, len(table)), table["pay"])
    schema = {"fields": [*SCHEMA["fields"]]}
    schema["fields"][1] = {key: value for key, value in SCHEMA["fields"][1].items() if key != "decimals"}
    made = OneWay("4", delta=DELTA, population="patients").fit(table, schema).sample(3000, seed=1)
    for point in points:
        real, synthetic = ((pd.to_numeric(frame["pay"]) == point).mean() for frame in (table, made))
        assert abs(real - synthetic) < 0.03
    looks = [loss for step, loss in lines() if "look" in step]
    assert len(looks) == 2


def test_what_cannot_be_is_refused_before_anything_is_spent():
    table = people(300)
    known = parse_schema(SCHEMA, "s")
    coded = encode(table, known, "table")
    refusals = [
        (OneWay("4", population="patients"), coded, SCHEMA, "the rows are coded"),
        (OneWay("4", population="patients"), InMemory(coded), SCHEMA, "the rows are coded"),
        (OneWay("0.001", population="patients"), table, SCHEMA, "below the noise"),
        (OneWay("4", population="patients"), table, DRAFT, "read off the rows"),
        (Discover("4", population="patients"), table[["ward"]], {"fields": SCHEMA["fields"][2:]}, "no number open"),
        (
            GaussianCopula("4", delta=DELTA, composition="advanced", population="patients"),
            table,
            SCHEMA,
            "all of the budget",
        ),
    ]
    for synthesizer, rows, schema, said in refusals:
        with pytest.raises(PrivityError, match=said):
            synthesizer.fit(rows, schema)
    assert lines() == []


def test_discover_tells_the_schema_and_costs_what_it_says():
    fitted = Discover("2", population="patients").fit(people(), SCHEMA)
    assert 2 * GRIDS <= fitted.charged_.epsilon <= 2
    assert undiscovered(fitted.discovered) == []
    again = OneWay("2", population="patients").fit(people(), fitted.discovered)
    assert again.model_.schema == fitted.discovered
    # A tenth of the rows may lie beyond: noise seldom widens a discovered range by much, but it may.
    low, high = fitted.sample(500, seed=1)["age"].quantile([0.1, 0.9])
    assert 15 <= low <= high <= 75


def test_a_row_is_coded_on_the_grid_by_itself_alone():
    """The same row has the same codes whatever stands beside it, in a frame of any types."""
    known = parse_schema(SCHEMA, "s")
    row = {"age": [41], "pay": [123.45], "ward": ["south"]}
    alone = encode(pd.DataFrame(row), known, "t")
    for other in (
        {"age": [10**15], "pay": [np.nan], "ward": ["north"]},
        {"age": [-3], "pay": [1e11], "ward": ["north"]},
    ):
        beside = encode(pd.concat([pd.DataFrame(row), pd.DataFrame(other)], ignore_index=True), known, "t")
        assert [column[0] for column in beside.columns] == [column[0] for column in alone.columns]
    texts = encode(pd.DataFrame(row).astype(str), known, "t")
    assert isinstance(texts, CodedTable)
    assert [column[0] for column in texts.columns] == [column[0] for column in alone.columns]


@pytest.mark.parametrize("bounds", [
    {"type": "integer", "constraints": {"minimum": -2.5, "maximum": 90.7}},
    {"type": "number", "decimals": 1, "constraints": {"minimum": 0.03, "maximum": 90.97}},
])  # fmt: skip
def test_bounds_between_two_values_are_those_of_the_values_within(bounds):
    schema = {"fields": [{"name": "age", "domain": "discover", **bounds}]}
    fitted = Discover("4", delta=DELTA, population="patients").fit(people()[["age"]], schema)
    assert parse_schema(fitted.discovered.table_schema(), "s") == fitted.discovered
    assert len(OneWay("4", population="patients").fit(people()[["age"]], schema).sample(10)) == 10


def test_no_single_row_decides_whether_a_run_comes_to_its_end():
    """A closer look at the noisy range meets rows beyond it, which were no fault of the declared domain."""
    age = {"type": "integer", "domain": "discover", "outOfDomain": "refuse"}
    table = pd.DataFrame({"age": [*[100_500] * 2999, 7_654_321]})
    fitted = Discover("40", population="patients").fit(table, {"fields": [{"name": "age", **age}]})
    assert any("look" in step for step, _ in lines())
    assert undiscovered(fitted.discovered) == []
