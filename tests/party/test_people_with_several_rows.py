"""People with several rows, at one party or at several: charges and statements are about them, not about rows."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.data.coded_table import CodedTable
from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.data.schema import parse_schema
from privity.common.data.table_reading import read_table
from privity.common.errors import Catalogue, PrivityError
from privity.common.formats import require
from privity.common.privacy.mechanisms import NoisyMax
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.protocol.run_record import Cost, RunRecord
from privity.common.protocol.steps import Contribute, Enrol, Refusal, Select
from privity.common.release.report.number_texts import rough
from privity.common.release.statement import privacy_statement
from privity.common.release.verification.release_verification import check_release
from tests.harness.consortium import TestConsortium, make_consortium, make_schema, make_table, open_policy
from tests.harness.ledgers import charged
from tests.harness.releases import NOTHING_STATED
from tests.harness.steps import laplace_round

ONE = Fraction(1)


def consortium_of(rows: dict[str, int], parties_per_person: int = 1, **limits) -> TestConsortium:
    policies = {name: open_policy(rows_per_person=count, **limits) for name, count in rows.items()}
    return make_consortium(len(rows), policies=policies, parties_per_person=parties_per_person)


@pytest.mark.parametrize("algorithm", ["dp-subn", "one-way", "independent"])
def test_every_charge_counts_once_for_each_row_of_a_person(tmp_path: Path, algorithm: str) -> None:
    rows = {"party-1": 1, "party-2": 3, "party-3": 2}
    consortium = consortium_of(rows)
    consortium.drive(tmp_path / "release", algorithm=algorithm, epsilon=ONE)
    assert check_release(tmp_path / "release")
    statement = json.loads((tmp_path / "release" / "privacy.json").read_text())
    require(statement, "privacy", "privacy")
    for party in statement["parties"]:
        spent = consortium.parties[party["name"]].ledger.spent()
        assert party["rows_per_person"] == rows[party["name"]]
        assert spent == rows[party["name"]] * Fraction(party["epsilon_per_row"])
        assert spent == Fraction(party["epsilon_per_person"])
    assert statement["rows_per_person"] == 3
    worst = max(Fraction(party["epsilon_per_person"]) for party in statement["parties"])
    assert f"No outcome becomes more than e^{float(worst):g} times" in statement["in_words"][0]
    assert {Fraction(observer["epsilon"]) for observer in statement["observers"]} == {worst}
    row = max(Fraction(party["epsilon_per_row"]) for party in statement["parties"])
    page = (tmp_path / "release" / "report.html").read_text()
    assert f"epsilon {rough(worst)} for a person; epsilon {rough(row)} for a single row" in page


@pytest.mark.parametrize("algorithm", ["dp-subn", "one-way"])
def test_rows_at_other_parties_are_charged_when_the_run_begins(tmp_path: Path, algorithm: str) -> None:
    """The ledger of each party bounds what its people lose by the whole run, wherever else they are."""
    rows = {"party-1": 1, "party-2": 3, "party-3": 2}
    consortium = consortium_of(rows, parties_per_person=2)
    consortium.drive(tmp_path / "release", algorithm=algorithm, epsilon=ONE)
    assert check_release(tmp_path / "release")
    statement = json.loads((tmp_path / "release" / "privacy.json").read_text())
    elsewhere = {"party-1": 3, "party-2": 2, "party-3": 3}
    for party in statement["parties"]:
        name, entries = party["name"], charged(consortium.parties[party["name"]].ledger)
        assert next(e.added for e in entries if e.charge.step == "elsewhere") == (elsewhere[name], 0)
        assert all(entry.answered for entry in entries)
        spent = consortium.parties[name].ledger.spent()
        assert spent == rows[name] * Fraction(party["epsilon_per_row"]) + elsewhere[name]
        assert spent >= Fraction(party["epsilon_per_person"])
    assert statement["parties_per_person"] == 2


def test_the_statement_prints_the_worst_case_of_a_person() -> None:
    record = RunRecord()
    record.add_cost(Cost("sums", "m", PureDP(ONE, RELATION), ("a", "b", "c")))
    record.add_cost(Cost("draws", "m", PureDP(ONE, RELATION), ("b",)))
    statement = privacy_statement(
        run="r", parties={"a": 5, "b": 5, "c": 5}, tolerate=1, protection="p", record=record,
        rows_per_person={"a": 2, "b": 1, "c": 1}, parties_per_person=2,
        schema=NOTHING_STATED,
    )  # fmt: skip
    # a: 2 rows of 1, and the row at b of 2; b: the other way round; c: 1, and either of the others.
    assert [party["epsilon_per_person"] for party in statement["parties"]] == ["4", "4", "3"]


def test_a_run_that_costs_a_person_too_much_is_refused_before_anything_is_charged() -> None:
    consortium = consortium_of({"party-1": 1, "party-2": 2}, epsilon_per_run=ONE)
    reply = consortium.tell("party-2", Enrol(consortium.spec(epsilon=ONE)))
    assert isinstance(reply, Refusal)
    assert "2 for a person with several rows, is above 1 a run" in reply.message
    assert charged(consortium.parties["party-2"].ledger) == []


def test_what_the_plan_tells_of_others_may_still_be_too_much() -> None:
    """At enrolment a person has one row elsewhere at least; the plan says that it may be five."""
    consortium = consortium_of({"party-1": 1, "party-2": 5}, parties_per_person=2, epsilon_per_run=Fraction(5))
    spec = consortium.spec(epsilon=ONE)
    with pytest.raises(AssertionError, match="epsilon 1, 6 for a person"):
        consortium.begin(spec)
    assert all(charged(party.ledger) == [] for party in consortium.parties.values())


def test_what_is_left_in_all_counts_for_a_person_too() -> None:
    consortium = consortium_of({"party-1": 2, "party-2": 2}, total_epsilon=Fraction(3, 2))
    reply = consortium.tell("party-1", Enrol(consortium.spec(epsilon=ONE)))
    assert isinstance(reply, Refusal)
    assert reply.code == "budget-exhausted"


def test_a_ledger_that_fails_when_the_run_begins_lets_nothing_out(monkeypatch) -> None:
    """What is due for rows elsewhere must not be left to be spent on the party's own."""
    consortium = consortium_of({"party-1": 1, "party-2": 1}, parties_per_person=2)
    victim, plan_of = consortium.parties["party-1"], consortium.begin
    with monkeypatch.context() as patched:

        def full(*_arguments) -> None:
            raise PrivityError(Catalogue.LEDGER_UNUSABLE, file="ledger", reason="the disk is full")

        patched.setattr(victim.ledger, "charge", full)
        with pytest.raises(AssertionError, match="the disk is full"):
            plan_of()
    draw = Select("run-1", "p", "d", (AttributeParentPair(0, (1,)), AttributeParentPair(1, (0,))), NoisyMax(ONE))
    reply = consortium.tell("party-1", draw)
    assert isinstance(reply, Refusal)
    assert "has not begun" in reply.message
    plan_of()
    assert victim.ledger.spent() == 1, "for the row elsewhere"


@pytest.mark.process
def test_a_run_over_places_publishes_rows_that_are_there_and_about_as_many(tmp_path: Path) -> None:
    """Each party has 600 places, of which rows fill 200: the release has about 400 rows, and none of them is absent."""
    schema = parse_schema({**make_schema((2, 3, 2)).table_schema(), "absentRows": True}, "s")
    plain = make_schema((2, 3, 2))
    tables = {f"party-{k}": CodedTable(schema, make_table(plain, 200, seed=k).columns).with_absent(400) for k in (1, 2)}
    consortium = TestConsortium(tables, policies={name: open_policy(rows_per_person=3) for name in tables})
    consortium.drive(tmp_path / "release", algorithm="dp-subn", epsilon=Fraction(20))
    synthetic = read_table(tmp_path / "release" / "synthetic.csv", schema)
    assert abs(synthetic.rows - 400) < 60
    run = json.loads((tmp_path / "release" / "run.json").read_text())
    statement = json.loads((tmp_path / "release" / "privacy.json").read_text())
    assert run["rows"] == synthetic.rows
    assert [party["rows"] for party in statement["parties"]] == [600, 600]
    assert any("how many rows a person has is protected too" in line for line in statement["in_words"])


def test_with_people_at_several_parties_every_run_is_over_all() -> None:
    consortium = consortium_of({"party-1": 1, "party-2": 1, "party-3": 1}, parties_per_person=2)
    reply = consortium.tell("party-1", Enrol(consortium.spec(members=("party-1", "party-2"))))
    assert isinstance(reply, Refusal)
    assert "every run is over all of them" in reply.message


def test_rows_of_a_person_that_are_declared_anew_during_a_run_end_it_there(tmp_path: Path) -> None:
    tables = {f"party-{k}": make_table(make_schema((2, 3, 2)), 20, k) for k in (1, 2)}
    consortium = TestConsortium(tables, folder=tmp_path)
    consortium.begin()
    ledger = consortium.parties["party-1"].ledger
    before = ledger.population
    ledger.change(replace(before, rows_per_person=2), before)
    round_ = Contribute(laplace_round("run-1", "p", "1", ((0,),), ONE))
    # The node that is running has read its rows by the former number.
    for step in (round_, Enrol(consortium.spec(run="run-2"))):
        reply = consortium.tell("party-1", step)
        assert isinstance(reply, Refusal)
        assert "declared anew since this node was started" in reply.message
    # Started again it goes on, but not with a run that was planned for other people.
    policy = consortium.policies["party-1"]
    consortium.policies["party-1"] = replace(policy, population=ledger.population)
    consortium.restart("party-1")
    reply = consortium.tell("party-1", round_)
    assert isinstance(reply, Refusal)
    assert "other row counts" in reply.message
    assert charged(consortium.parties["party-1"].ledger) == []
    consortium.drive(tmp_path / "release", run="run-2")
    assert consortium.parties["party-1"].ledger.spent() == 2


def test_a_total_that_is_lowered_during_a_run_ends_it_there() -> None:
    consortium = consortium_of({"party-1": 1, "party-2": 1})
    consortium.begin()
    ledger = consortium.parties["party-1"].ledger
    ledger.change(replace(ledger.population, total_epsilon=ONE / 2), ledger.population)
    reply = consortium.tell("party-1", Contribute(laplace_round("run-1", "p", "1", ((0,),), ONE)))
    assert isinstance(reply, Refusal)
    assert reply.code == "budget-exhausted"
    assert charged(ledger) == []
