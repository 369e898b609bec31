"""Categories that nobody declared: found in an owner's own rows, charged before texts are looked at, joined."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from fractions import Fraction
from functools import partial

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity import AIM, GaussianCopula, OneWay, PrivBayes
from privity.common.data.attribute import Attribute
from privity.common.data.joined_schemas import join_schemas
from privity.common.data.schema import Schema, parse_schema
from privity.common.data.table_reading import encode
from privity.common.errors import PrivityError, ProblemsFound
from privity.common.privacy.category_budget import CategoryBudget, category_budget
from privity.common.privacy.ledger_folder import open_ledger
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.privacy.run_budget import RhoBudget
from privity.common.privacy.thresholded_counts import ThresholdedCounts
from privity.common.release.shortcomings import unknown_texts
from privity.common.release.statement import whole_loss
from privity.common.synthesis.learning.category_discovery import open_texts
from privity.common.synthesis.learning.domain_discovery import undiscovered
from privity.discovery import Discover
from privity.ledgers import declare_population
from privity.party.sources.address import parse_address
from privity.party.sources.frame_rows import open_frame
from privity.party.sources.open_rows import open_rows
from privity.party.sources.rows import InMemory
from privity.releases import Release
from tests.harness.ledgers import charges

CITY = {"name": "city", "type": "string", "domain": "discover", "missingValues": [""]}
AGE = {"name": "age", "type": "integer", "domain": "discover"}
DELTA = "0.000000001"
OPEN = Attribute("city", "string", ("(other)",), missing=("",), out_of_domain="other", other="(other)", discover=True)
CITIES = Schema("t", (OPEN,))


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    declare_population("patients", total_epsilon="50", total_delta="0.001")


def patients(rows: int = 4000) -> pd.DataFrame:
    generator = np.random.default_rng(4)
    common = generator.choice(["Bern", "Basel", "Chur"], rows, p=[0.6, 0.3, 0.1])
    city = np.where(generator.random(rows) < 0.2, [f"hamlet {place}" for place in range(rows)], common)
    return pd.DataFrame({"city": city, "age": generator.integers(20, 70, rows)})


def texts_at(address: object) -> Mapping[str, int]:
    return open_rows(parse_address(str(address)), CITIES).rows.texts("city")


def spent() -> list[tuple[str, object]]:
    with closing(open_ledger("patients", None)) as ledger:
        return [(charge.step, charge.loss) for charge in charges(ledger)]


def test_frequent_texts_become_categories_and_no_rare_one_does():
    fitted = Discover("4", delta=DELTA, population="patients").fit(patients(), {"fields": [CITY, AGE]})
    city, age = fitted.discovered.attributes
    assert city.categories == ("Basel", "Bern", "Chur", "(other)")
    assert (city.other, city.out_of_domain, city.missing) == ("(other)", "other", ("",))
    assert not age.discover
    (first, loss), *rest = spent()
    assert (first, loss.epsilon, loss.delta) == ("categories", 2, fitted.delta / 2)
    assert rest
    assert fitted.charged_.epsilon <= 4
    assert fitted.charged_.delta <= fitted.delta
    made = OneWay("4", delta=DELTA, population="patients").fit(patients(), fitted.discovered).sample(1000, seed=1)
    assert 100 < (made["city"] == "(other)").sum() < 320


def test_texts_alone_cost_all_of_it_and_leave_no_model():
    fitted = Discover("1", delta=DELTA, population="patients").fit(patients()[["city"]], {"fields": [CITY]})
    assert open_texts(fitted.discovered) == []
    assert (fitted.charged_.epsilon, fitted.charged_.delta) == (1, fitted.delta)
    with pytest.raises(ValueError, match="not fitted"):
        fitted.sample(10)


def test_every_row_that_a_person_may_have_is_charged_for(tmp_path):
    """Three rows a person cost three times epsilon, and more than three times delta."""
    declare_population("visitors", total_epsilon="50", total_delta="0.001", rows_per_person=3)
    file = tmp_path / "t.csv"
    lines = [f"p{person},{visit},{'Bern' if visit else 'Chur'}" for person in range(900) for visit in range(3)]
    file.write_text("\n".join(["pid,visit,city", *lines]) + "\n")
    schema = {"absentRows": True, "extraColumns": "ignore", "fields": [CITY]}
    fitted = Discover("1", delta=DELTA, population="visitors").fit(file, schema, person="pid", order="visit")
    assert fitted.discovered.attributes[0].categories == ("Bern", "Chur", "(other)")
    assert fitted.charged_ == fitted.spent_ == ApproxDP(Fraction(1), fitted.delta, RELATION).scaled(3)
    assert fitted.charged_.epsilon == 3
    assert fitted.charged_.delta > 3 * fitted.delta


def test_a_text_of_which_nothing_is_discovered_has_one_category_and_rows_say_so():
    rows = pd.DataFrame({"city": [f"hamlet {place}" for place in range(400)], "age": [30, 40] * 200})
    fields = [{**CITY, "missingValues": []}, {"name": "age", "type": "integer", "categories": [30, 40]}]
    found = Discover("2", delta=DELTA, population="patients").fit(rows, {"fields": fields}).discovered
    assert found.attributes[0].categories == ("(other)",)
    assert unknown_texts(found.attributes).startswith("No text of city has enough rows")
    again = parse_schema(found.table_schema(), "s")
    assert again == found
    for made in (OneWay, partial(PrivBayes, encoding="binary"), partial(PrivBayes, encoding="hierarchical")):
        sample = made("2", population="patients").fit(rows, again).sample(200, seed=1)
        assert set(sample["city"]) == {"(other)"}
    assert join_schemas({"a": found, "b": found}).attributes[0].categories == ("(other)",)


def test_owners_discover_categories_each_and_leave_numbers_to_a_run_of_all():
    schema, halves = {"fields": [CITY, AGE]}, [patients().iloc[place::2] for place in range(2)]
    found = [Discover("1", delta=DELTA, population="patients").fit(half, schema, numbers=False) for half in halves]
    assert all(each.charged_.epsilon == 1 for each in found)
    assert {step for step, _ in spent()} == {"categories"}
    joined = join_schemas({str(place): each.discovered for place, each in enumerate(found)})
    assert joined.attributes[0].categories == ("Basel", "Bern", "Chur", "(other)")
    assert undiscovered(joined) == [1]
    before = spent()
    with pytest.raises(PrivityError, match="categories of all texts are declared"):
        Discover("1", delta=DELTA, population="patients").fit(patients(), joined, numbers=False)
    assert spent() == before


@pytest.mark.parametrize(("epsilon", "delta", "said"), [
    ("4", "0", "to discover them takes a delta"), ("0.01", DELTA, "would be seen from"),
    ("0.12", DELTA, "below the noise"),
])  # fmt: skip
def test_what_cannot_be_is_refused_before_anything_is_spent(epsilon, delta, said):
    table, more = patients(), [f"age{place}" for place in range(8)]
    table = table.assign(**dict.fromkeys(more, table["age"]))
    schema = {"fields": [CITY, AGE, *({**AGE, "name": name} for name in more)]}
    with pytest.raises(PrivityError) as refused:
        Discover(epsilon, delta=delta, population="patients").fit(table, schema)
    assert said in str(refused.value)
    with pytest.raises(PrivityError, match="takes a delta"):
        OneWay("4", population="patients").fit(table, schema)
    assert spent() == []


def test_a_price_for_fewer_columns_is_refused_before_anything_is_spent(monkeypatch):
    of_one = CategoryBudget(ThresholdedCounts(1, Fraction(1), Fraction(1, 10**9)), Fraction(0), Fraction(0))
    monkeypatch.setattr(Discover, "for_texts", lambda *_arguments, **_named: of_one)
    schema = {"fields": [CITY, {**CITY, "name": "home"}]}
    with pytest.raises(PrivityError, match="priced for other columns"):
        Discover("1", delta=DELTA, population="patients").fit(patients()[["city"]].assign(home="Chur"), schema)
    assert spent() == []


def test_it_is_charged_before_a_text_is_looked_at():
    def texts(_name: str) -> Counter[str]:
        assert spent() != []
        raise OSError("the disk is gone")

    coded, discover = partial(encode, patients()[["city"]], file="t"), Discover("1", delta=DELTA, population="patients")
    with pytest.raises(OSError, match="disk"):
        discover.fit(lambda schema: InMemory(coded(schema=schema), texts), {"fields": [CITY]})
    assert [step for step, _ in spent()] == ["categories"]


@given(
    *[
        st.lists(
            st.sampled_from(["a", "b", "", "1", "(other)", "x" * 300, "tab\t", 1, 1.5, True, None, "é"]), min_size=1
        )
    ]
    * 2
)
def test_a_row_counts_the_same_whatever_stands_beside_it(first, second):
    def counted(values):
        return Counter(open_frame(pd.DataFrame({"city": pd.Series(values, dtype=object)}), CITIES, None).texts("city"))

    assert counted(first) + counted(second) == counted([*first, *second])
    assert not {"", "(other)", "x" * 300, "tab\t"} & set(counted([*first, *second]))


def test_texts_of_every_source_are_the_same(tmp_path):
    people = patients(500)[["city"]]
    people.to_csv(tmp_path / "t.csv", index=False)
    people.to_parquet(tmp_path / "t.parquet")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.execute("CREATE TABLE t AS SELECT * FROM people")
    places = (tmp_path / "t.csv", tmp_path / "t.parquet", f"duckdb:///{tmp_path}/t.duckdb#t")
    counted = Counter(people["city"].tolist())
    assert [*map(texts_at, places), open_frame(people, CITIES, None).texts("city")] == [counted] * 4


def test_owners_join_what_each_has_found():
    def schema(*categories, age=AGE):
        city = {**CITY, "outOfDomain": "other", "other": "(other)", "categories": [*categories, "(other)"]}
        return parse_schema({"fields": [{k: v for k, v in city.items() if k != "domain"}, age]}, "s")

    joined = join_schemas({"a": schema("Chur", "Bern"), "b": schema("Bern", "Basel"), "c": schema()})
    assert joined.attributes[0].categories == ("Basel", "Bern", "Chur", "(other)")
    assert joined == join_schemas({"b": schema("Bern", "Basel"), "a": schema("Chur", "Bern")})
    assert len(undiscovered(joined)) == 1
    marked = schema("Bern", age={**AGE, "groupChar": "'"})
    assert joined == join_schemas({"a": schema("Chur", "Bern"), "b": schema("Basel"), "c": marked})
    binned = {"name": "age", "type": "integer", "edges": [0, 50, 100]}
    with pytest.raises(ProblemsFound, match="'age' is not declared as in a"):
        join_schemas({"a": schema("Bern"), "b": schema("Bern", age=binned)})


@pytest.mark.parametrize(("field", "rule"), [
    ({"outOfDomain": "refuse"}, "out-of-domain"), ({"outOfDomain": "edge"}, "out-of-domain"),
    ({"categories": ["a"]}, "two-domains"), ({"decimals": 2}, "type-mismatch"),
    ({"other": "a\tb"}, "control-character"),
])  # fmt: skip
def test_what_an_open_text_cannot_declare_is_said(field, rule):
    with pytest.raises(ProblemsFound) as refused:
        parse_schema({"fields": [{**CITY, **field}]}, "s")
    assert rule in {problem.rule for problem in refused.value.problems}


def test_an_open_text_is_the_same_schema_after_a_round_trip():
    schema = parse_schema({"fields": [CITY, {**CITY, "name": "b", "other": "rest"}]}, "s")
    assert parse_schema(schema.table_schema(), "s") == schema
    assert "domain" in schema.table_schema()["fields"][0]


def test_one_spelling_of_a_row_is_never_that_of_others_whatever_the_collation(tmp_path):
    """A store that takes no notice of case would name a text by any of its rows, a single one among them."""
    rows = [("bErN",), *[("bern",)] * 300]
    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.execute("CREATE TABLE t (city VARCHAR COLLATE NOCASE)")
        database.executemany("INSERT INTO t VALUES (?)", rows)
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as database:
        database.execute("CREATE TABLE t (city TEXT COLLATE NOCASE)")
        database.executemany("INSERT INTO t VALUES (?)", rows)
        database.execute("INSERT INTO t VALUES (CAST(x'ff41' AS TEXT))")
        database.commit()
    for kind in ("duckdb", "sqlite"):
        found = texts_at(f"{kind}:///{tmp_path}/t.{kind}#t")
        assert found == {"bErN": 1, "bern": 300}, "and bytes that are no UTF-8 are nobody's fault but their row's"


def test_whatever_can_be_asked_is_either_refused_or_paid_to_its_end():
    ages = [f"age{place}" for place in range(6)]
    table = patients()[["city"]].assign(**dict.fromkeys(ages, patients()["age"]))
    schema = {"fields": [CITY, *({**AGE, "name": name} for name in ages)]}
    fitted = Discover("4.123457", delta=DELTA, population="patients").fit(table, schema)
    assert undiscovered(fitted.discovered) == open_texts(fitted.discovered) == []
    declare_population("visits", total_epsilon="8", total_delta="0.001", rows_per_person=2)
    coded = InMemory(encode(table, parse_schema(schema, "s"), "t"))
    with pytest.raises(PrivityError, match="the rows are coded"):
        Discover("4", delta=DELTA, population="visits").fit(coded, schema)
    keyed = table.assign(patient=np.arange(len(table)) // 2, visit=np.arange(len(table)))
    with pytest.raises(PrivityError, match=r"asked 8\.\d+, 8 left"):
        Discover("4", delta=DELTA, population="visits").fit(
            keyed, {**schema, "absentRows": True}, person="patient", order="visit"
        )
    with closing(open_ledger("visits", None)) as ledger:
        assert charges(ledger) == []


def test_a_draft_among_joined_schemas_makes_a_draft():
    closed = {"name": "city", "type": "string", "categories": ["a", "b"], "outOfDomain": "other", "other": "b"}
    reviewed, draft = (
        parse_schema({"fields": [closed]}, "s"),
        parse_schema({"fields": [{**closed, "readOffRows": "undeclared"}]}, "s"),
    )
    assert join_schemas({"a": reviewed, "b": draft}).undeclared == ("city",)
    country = {"name": "country", "type": "string", "constant": "AT"}
    drafted = parse_schema({"fields": [{**country, "readOffRows": "undeclared"}, closed]}, "s")
    assert join_schemas({"a": parse_schema({"fields": [country, closed]}, "s"), "b": drafted}) == drafted


@pytest.mark.parametrize(("other", "told"), [
    ({"name": "country", "type": "string", "constant": "CH"},
     "column 'country' is the constant string 'CH'; in a.json it is the constant string 'AT'."),
    ({"name": "country", "type": "string", "categories": ["AT", "CH"]},
     "column 'country' is read of the table; in a.json it is the constant string 'AT'."),
    ({"name": "day", "type": "date", "format": "%d.%m.%Y", "constant": "2024-02-01"},
     "column 'day' is the constant date '2024-02-01', written as %d.%m.%Y; in a.json it is not declared."),
    ({"name": "country", "type": "string", "empty": True}, "column 'country' is not declared as in a.json."),
])  # fmt: skip
def test_columns_that_owners_do_not_read_are_the_same(other, told):
    first = parse_schema({"fields": [{"name": "country", "type": "string", "constant": "AT"}, AGE]}, "a.json")
    with pytest.raises(ProblemsFound) as refused:
        join_schemas({"a.json": first, "b.json": parse_schema({"fields": [AGE, other]}, "b.json")})
    assert told in str(refused.value)
    assert {problem.file for problem in refused.value.problems} == {"b.json"}


@pytest.mark.parametrize(("kind", "fields"), [(AIM, [CITY, AGE]), (OneWay, [CITY, AGE]), (OneWay, [CITY])])
def test_a_fit_discovers_categories_within_its_own_budget(kind, fields, tmp_path):
    table = patients()[[field["name"] for field in fields]]
    fitted = kind("4", delta="0.000001", population="patients").fit(table, {"fields": fields})
    city = fitted.model_.schema.attributes[0]
    assert city.categories == ("Basel", "Bern", "Chur", "(other)")
    (first, loss), *rest = spent()
    assert (first, loss.epsilon, loss.delta) == ("categories", Fraction(2, 5), fitted.delta / 2)
    assert rest
    assert Fraction(39, 10) < fitted.charged_.epsilon <= 4
    assert fitted.charged_.delta == fitted.delta
    release = fitted.publish(tmp_path / "release")
    assert whole_loss(release.privacy) == (fitted.charged_.epsilon, fitted.charged_.delta)
    assert any(
        "categories of texts were discovered, at epsilon = 0.4" in words for words in release.privacy["in_words"]
    )
    found = Release(tmp_path / "release")
    assert found.verify()
    (discovery,) = found.schema.table_schema()["discoveries"]
    assert discovery["attributes"] == [field["name"] for field in fields]
    again = OneWay("1", population="patients").fit(table, tmp_path / "release" / "schema.json")
    stated = whole_loss(again.publish(tmp_path / "again").privacy)
    assert stated[0] == 1 + Fraction(discovery["epsilon"]), "whoever sees a release by this schema sees its domains"


def test_every_row_of_a_person_is_charged_for_in_a_fit(tmp_path):
    declare_population("visitors", total_epsilon="50", total_delta="0.001", rows_per_person=3)
    file = tmp_path / "t.csv"
    lines = [f"p{person},{visit},{'Bern' if visit else 'Chur'}" for person in range(1500) for visit in range(3)]
    file.write_text("\n".join(["pid,visit,city", *lines]) + "\n")
    schema = {"absentRows": True, "extraColumns": "ignore", "fields": [CITY]}
    fitted = OneWay("2", delta=DELTA, population="visitors").fit(file, schema, person="pid", order="visit")
    assert fitted.model_.schema.attributes[0].categories == ("Bern", "Chur", "(other)")
    first = category_budget(1, Fraction(2), fitted.delta)
    whole = first.mechanism.loss(RELATION).scaled(3)
    rest = RhoBudget(first.epsilon, first.delta).most_of_a_person(3)
    assert fitted.charged_.epsilon <= whole.epsilon + rest.epsilon
    assert fitted.charged_.delta == whole.delta + rest.delta


@pytest.mark.parametrize(("epsilon", "rows", "more", "said"), [
    ("4", 4000, {"delta": 0}, "takes a delta"),
    ("0.05", 4000, {}, "a text of city would be seen from"),
    ("0.02", 20_000, {}, "below the noise"),
    ("4", 4000, {"composition": "advanced"}, "all of the budget at once"),
    ("49", 4000, {"population": "few"}, "asked 49, 1 left"),
])  # fmt: skip
def test_what_a_fit_cannot_discover_is_refused_before_anything_is_spent(epsilon, rows, more, said):
    declare_population("few", total_epsilon="1", total_delta="0.001")
    ages = [f"age{place}" for place in range(8)]
    schema = {"fields": [CITY, AGE, *({**AGE, "name": name} for name in ages)]}
    table = patients(rows)
    table = table.assign(**dict.fromkeys(ages, table["age"]))
    fit = GaussianCopula(epsilon, **{"delta": "0.000001", "population": "patients", **more}).fit
    with pytest.raises(PrivityError) as refused:
        fit(table, schema)
    assert said in str(refused.value)
    assert spent() == []


def test_rows_that_are_coded_already_tell_no_texts():
    coded = encode(patients(), parse_schema({"fields": [CITY, AGE]}, "t"), file="t")
    with pytest.raises(PrivityError, match="the rows are coded"):
        OneWay("4", delta=DELTA, population="patients").fit(coded, {"fields": [CITY, AGE]})
    assert spent() == []
