"""The privacy statement: whose loss it leads with, for which neighbours it holds, and which sentences it may have."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction

import pytest

from privity.common.consortium.manifest import Split
from privity.common.formats import require
from privity.common.privacy.discovery import Discovery
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.noise_distribution import LAPLACE
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PureDP
from privity.common.privacy.run_budget import RhoBudget
from privity.common.protocol.run_record import OWN_MODEL, Cost, RunRecord
from privity.common.protocol.stated_charges import CATEGORIES
from privity.common.release.agreement import disagreements
from privity.common.release.release_contents import PRIVACY, RUN
from privity.common.release.statement import SENTENCES, headline, privacy_statement, rounded_up
from tests.harness.releases import NOTHING_STATED

ONE = Fraction(1)
DELTA = Fraction(1, 2**30)
PURE, APPROXIMATE = PureDP(ONE, RELATION), ApproxDP(ONE, DELTA, RELATION)
FOUND = Discovery(("ward",), "local-1", "patients", ApproxDP(Fraction(2), Fraction(1, 10**7), RELATION))
UNDER_A_DISCOVERED_SCHEMA = {
    "absent_rows": False,
    "stored_types": True,
    "discoveries": [FOUND.document()],
    "read_off_rows": [{"attributes": ["age"], "declared_by": "data owner"}],
}
PLACEHOLDER = re.compile(r"\\\{\w+\\\}")


def record_of(*costs: Cost) -> RunRecord:
    record = RunRecord(budget=RhoBudget(ONE, DELTA))
    for cost in costs:
        record.add_cost(cost)
    return record


def statement_of(**changes):
    given = {
        "run": "r",
        "parties": {"a": 30, "b": 30, "c": 40},
        "tolerate": 1,
        "protection": "Paillier",
        "record": record_of(Cost("p", "m", PURE, ("a", "b", "c"))),
        "schema": NOTHING_STATED,
    }
    statement = privacy_statement(**given | changes)
    require(statement, "privacy", "privacy.json")
    return statement


def words_of(**changes) -> str:
    return " ".join(statement_of(**changes)["in_words"])


def test_several_rows_a_person_lead_with_the_loss_of_the_person() -> None:
    statement = statement_of(rows_per_person={"a": 3})
    assert "all of that person's rows" in statement["in_words"][0]
    assert "more than e^3 times" in statement["in_words"][0]
    assert "For a single row they are epsilon = 1 and delta = 0." in statement["in_words"][1]
    assert {observer["epsilon"] for observer in statement["observers"]} == {"3"}
    assert "epsilon" not in statement["parties"][0], "a figure says whose it is"
    assert headline(statement) == (
        "Privacy loss of a person: epsilon 3, delta 0. Of a single row: epsilon 1, delta 0."
    )  # fmt: skip


def test_rows_at_several_parties_are_the_persons_too() -> None:
    statement = statement_of(rows_per_person={"a": 3, "b": 2}, parties_per_person=2)
    assert {observer["epsilon"] for observer in statement["observers"]} == {"5"}
    assert "more than e^5 times" in statement["in_words"][0]
    assert "up to 3 rows at a party, and rows at up to 2 of the parties" in statement["in_words"][1]


def test_the_delta_of_a_person_leads_too() -> None:
    statement = statement_of(
        rows_per_person={"a": 2}, record=record_of(Cost("p", "m", APPROXIMATE, ("a", "b", "c")))
    )  # fmt: skip
    delta = Fraction(statement["observers"][0]["delta"])
    assert 2 * math.e * DELTA <= delta < 2.001 * math.e * float(DELTA)
    assert f"plus a probability of {rounded_up(delta)}:" in statement["in_words"][0]


def test_one_row_a_person_needs_one_figure() -> None:
    assert headline(statement_of()) == "Privacy loss of a person: epsilon 1, delta 0."


def test_the_other_row_is_one_that_the_rules_accept_and_a_start_tells_whether_all_are() -> None:
    words = words_of()
    assert "any row that the rules of the schema accept" in words
    assert "Whether a party's node starts" in words
    assert "the rules for one person's rows" in words_of(rows_per_person={"a": 2})


@pytest.mark.parametrize("member", [None, "b"])
def test_the_knowledge_of_the_curator_is_that_of_the_party_which_runs_it(member: str | None) -> None:
    statement = statement_of(curator_member=member)
    words = " ".join(statement["in_words"])
    inside = [observer["assumption"] for observer in statement["observers"] if observer["observer"] != "public"]
    assert statement["curator_member"] == member
    if member is None:
        assert "the curator colluding with nobody." in words
        assert all(assumption.endswith("the curator colludes with nobody") for assumption in inside)
    else:
        assert "colluding with nobody." not in words
        assert "Party b runs the curator and knows all that the curator knows." in words
        assert all("nobody but party b, which runs it and knows all" in assumption for assumption in inside)


def test_a_split_by_what_rows_hold_is_taken_as_given() -> None:
    given = statement_of(split=Split.GIVEN)
    assert (given["split"], given["simulation"]) == ("given", True)
    assert any("for the split as given" in sentence for sentence in given["in_words"])
    assert "For the split as given" in headline(given)
    position = statement_of(split=Split.POSITION)
    assert (position["split"], position["simulation"]) == ("position", True)
    assert any("holds for the joint table too" in sentence for sentence in position["in_words"])
    assert statement_of()["split"] == "none"
    assert "split" not in words_of()


def all_statements():
    """Statements of all kinds, as far as their sentences go."""
    losses = (PURE, APPROXIMATE, ApproxDP(ONE, Fraction(1, 100), RELATION), ZCDP(Fraction(1, 100), RELATION))
    costs = [Cost("p", "m", loss, ("a", "b", "c")) for loss in losses]
    costs += [Cost("p", OWN_MODEL, PURE, ("a", "b", "c")), Cost(CATEGORIES, "m", APPROXIMATE, ("a", "b", "c"))]
    people = (
        {},
        {"rows_per_person": {"a": 3}},
        {"rows_per_person": {"a": 3}, "schema": {**NOTHING_STATED, "absent_rows": True}},
        {"schema": {**NOTHING_STATED, "histories": ["patients", "admissions"]}},
    )
    protections = ({}, {"protection": None, "tolerate": 0}, {"curator_member": "a"}, {"left_out": ["d"]})
    for cost, several, protection, split in itertools.product(costs, people, protections, Split):
        yield statement_of(record=record_of(cost), split=split, **several, **protection)
    yield statement_of(schema=UNDER_A_DISCOVERED_SCHEMA)


def test_what_the_schema_cost_is_in_every_figure_of_what_a_reader_learns() -> None:
    statement = statement_of(schema=UNDER_A_DISCOVERED_SCHEMA)
    assert {(observer["epsilon"], observer["delta"]) for observer in statement["observers"]} == {("3", "1/10000000")}
    assert {party["epsilon_per_person"] for party in statement["parties"]} == {"1"}, "by the run alone"
    assert "approximate differential privacy with epsilon = 3 and delta = 1e-07" in statement["in_words"][0]
    assert statement["in_words"][1] == (
        "Of these figures, epsilon = 2 and delta = 1e-07 are for the schema: discovered in patients. They are counted"
        " once, however many releases by this schema somebody sees; the run itself cost epsilon = 1 and delta = 0."
    )
    assert statement["in_words"][-1].startswith("What the schema declares of age was read off the rows, and the data")
    assert headline(statement) == (
        "Privacy loss of a person: epsilon 3, delta 1e-07. Of that, epsilon 2 and delta 1e-07 for the schema,"
        " discovered in patients."
    )
    several = statement_of(schema=UNDER_A_DISCOVERED_SCHEMA, rows_per_person={"a": 3})
    assert headline(several) == (
        "Privacy loss of a person: epsilon 5, delta 1e-07. Of that, epsilon 2 and delta 1e-07 for the schema,"
        " discovered in patients. Of a single row, by the run alone: epsilon 1, delta 0."
    )


def test_a_statement_that_leaves_out_what_the_schema_cost_does_not_fit_itself() -> None:
    charge = {"phase": "p", "paid_by": ["a", "b", "c"], "noise": LAPLACE, "scale": "2", "tables": {"1": 1}}
    statement = statement_of(schema=UNDER_A_DISCOVERED_SCHEMA)
    asked = {"run": statement["run"], "epsilon": "1", "delta": "0", "tolerate": 1, "secure_sum": {"method": "masks"}}
    documents = {RUN: {**asked, "bytes": {}, "charges": [charge]}, PRIVACY: statement}
    assert list(disagreements(documents)) == []
    for observer in statement["observers"]:
        observer |= {"epsilon": "1", "delta": "0"}
    assert [each.field for each in disagreements(documents)] == [
        f"observers[{place}].{figure}"
        for place in range(len(statement["observers"]))
        for figure in ("delta", "epsilon")
    ]


def test_a_statement_has_listed_sentences_only_and_each_is_used() -> None:
    patterns = {name: re.compile(PLACEHOLDER.sub(".+", re.escape(text))) for name, text in SENTENCES.items()}
    seen = set()
    for statement in all_statements():
        for sentence in statement["in_words"]:
            fitting = {name for name, pattern in patterns.items() if pattern.fullmatch(sentence)}
            assert fitting, sentence
            seen |= fitting
            assert not re.search(r"\d/\d", sentence), "people read decimals"
    assert seen == set(SENTENCES)


@pytest.mark.parametrize("number", [Fraction(1, 3), Fraction(2, 3), DELTA, Fraction(5, 2), Fraction(10**7 + 1), ONE])
def test_numbers_for_people_are_not_below_the_exact_ones(number: Fraction) -> None:
    told = Fraction(rounded_up(number))
    assert number <= told < number * (1 + Fraction(1, 10**5))
    assert len(rounded_up(number)) < 13
