"""What an owner is told before saying yes: everything that will leave the house, who sees it, and the whole cost."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest

from privity.common.privacy.budget import readable
from privity.common.privacy.discovery import Discovery
from privity.common.privacy.ledger import Allowance, Charge, Ledger
from privity.common.privacy.ledger_reservations import exhausted
from privity.common.privacy.loss_conversion import rho_within
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ApproxDP, PureDP
from privity.common.protocol.evaluation_scores import Evaluation
from privity.common.protocol.run_spec import RunSpec
from privity.common.protocol.secure_sum_method import MASKS
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.party import run_notice
from tests.harness.consortium import make_schema, open_policy

SCHEMA = make_schema((2, 3, 4))
PARTIES = ("north", "south", "east")
ONE = Fraction(1)
SPEC = RunSpec(
    run="autumn", algorithm="dp-subn", settings={}, epsilon=ONE, tolerate=1, members=PARTIES, manifest_digest="0" * 64
)


def told(spec: RunSpec, parties_per_person: int = 1, **limits) -> list[str]:
    found = run_notice.sections(spec, "north", SCHEMA, open_policy(**limits), parties_per_person)
    return list(run_notice.in_words(found))


KINDS = {
    "model": "a model of its rows alone",
    "draw": "private selections on its rows",
    "sum": "counts of its rows, hidden by",
}


@pytest.mark.process
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_every_kind_of_answer_that_may_leave_is_named_with_its_cost(algorithm: str) -> None:
    words = told(replace(SPEC, algorithm=algorithm))
    leaves = [line for line in words if line.startswith("- ")]
    assert leaves[0].startswith("- the number of its rows, and how many one person has at most")
    amounts = [Fraction(found) for line in leaves[1:] for found in re.findall(r"up to epsilon ([0-9./]+)[ )]", line)]
    assert len(amounts) == len(leaves) - 1
    assert max(amounts) <= ONE <= sum(amounts)
    assert f"Together they cost at most epsilon {ONE};" in "\n".join(words)
    text = " ".join(leaves)
    found = {kind for kind, phrase in KINDS.items() if phrase in text}
    known = ALGORITHMS[algorithm]
    assert found == ({"model"} if known.apart else {"sum", "draw"} if known.selects else {"sum"})


def test_an_evaluation_is_named_with_what_it_predicts_and_costs() -> None:
    words = "\n".join(told(replace(SPEC, evaluation=Evaluation(Fraction(1, 20), (SCHEMA.names[1],)))))
    assert f"a classifier predicts right in {SCHEMA.names[1]}" in words
    assert "(evaluation: up to epsilon 0.05)" in words
    assert "Together they cost at most epsilon 1;" in words
    refused = told(replace(SPEC, evaluation=Evaluation(Fraction(1, 20))), evaluation=False)
    assert "an evaluation over the parties is not allowed" in refused[-1]


def test_what_depends_on_the_number_of_rows_is_named_whatever_it_is() -> None:
    """With few rows and a small epsilon the tables are below the noise floor, and nothing is selected."""
    text = " ".join(told(replace(SPEC, algorithm="privbayes", epsilon=Fraction(1, 100))))
    assert KINDS["draw"] in text
    assert KINDS["sum"] in text


@pytest.mark.process
@pytest.mark.parametrize("algorithm", ["aim", "mst"])
@pytest.mark.parametrize(
    ("chosen", "kinds"), [(None, {"sum", "draw"}), ("parties", {"sum", "draw"}), ("joint", {"sum"})]
)
def test_selections_are_named_unless_it_is_certain_that_there_are_none(
    algorithm: str, chosen: str | None, kinds
) -> None:
    """Who chooses follows from the numbers of rows, which show after the yes."""
    kinds = {"sum"} if chosen == "joint" else {"sum", "draw"}
    for settings in ({"selection": chosen}, {} if chosen is None else {"selection": chosen, "selecting": "1/5"}):
        text = " ".join(told(replace(SPEC, algorithm=algorithm, settings=settings)))
        assert {kind for kind, phrase in KINDS.items() if phrase in text} == kinds


@pytest.mark.parametrize("schedule", ["final", "uniform", "back-loaded"])
def test_sums_over_some_of_the_parties_are_said_to_be(schedule: str) -> None:
    spec = replace(SPEC, settings={"schedule": schedule})
    text = " ".join(told(spec))
    assert ("that of the first party alone too" in text) == (schedule != "final")
    assert ALGORITHMS["dp-subn"].reveals_running_sums(spec.settings) == (schedule != "final")


def test_the_plain_lines_name_every_kind_of_answer() -> None:
    def plain(**more: object) -> str:
        found = run_notice.sections(replace(SPEC, **more), "north", SCHEMA, open_policy(), 1)
        return " ".join(next(one.lines for one in found if one.heading == run_notice.LEAVES))

    for settings, first_alone in (({"schedule": "final"}, False), ({"schedule": "uniform"}, True)):
        words = plain(settings=settings)
        assert "some selections made from your rows alone" in words
        assert ("the first party's own counts" in words) == first_alone
    assert "a model of your rows alone" in plain(algorithm="independent")
    words = plain(algorithm="one-way", evaluation=Evaluation(Fraction(1, 20)))
    assert "selections made" not in words
    assert "How far the synthetic table is from all the rows" in words


def test_what_the_cost_means_for_one_person() -> None:
    delta = Fraction(1, 10**9)
    told = run_notice.yardstick(SPEC, open_policy(total_epsilon=Fraction(2), epsilon_per_run=ONE), 0)
    assert told.endswith("by a factor of at most 2.72; all runs within the total together by at most 7.39.")
    spec = replace(SPEC, algorithm="copula", delta=delta)
    told = run_notice.yardstick(spec, open_policy(total_epsilon=Fraction(2), total_delta=Fraction(1, 1000)), 0)
    assert "at most 2.72 (but for a chance of 1 in 1,000,000,000 besides); all runs" in told
    assert told.endswith("at most 7.39 (but for a chance of 1 in 1,000 besides).")
    # Rows that a person may have elsewhere are not known yet: the policy bounds what they cost.
    assert "at most 20.09; " in run_notice.yardstick(SPEC, open_policy(epsilon_per_run=Fraction(3)), 1)


def test_what_the_schema_cost_and_rests_on_is_told_to_whoever_approves() -> None:
    loss = ApproxDP(Fraction(2), Fraction(1, 10**7), RELATION)
    schema = make_schema((2, 3, 2))
    attributes = (replace(schema.attributes[0], read_off_rows="organiser"), *schema.attributes[1:])
    known = replace(schema, attributes=attributes, discoveries=(Discovery(("A1",), "r", "visits", loss),))
    words = "\n".join(
        line for part in run_notice.sections(SPEC, "party-1", known, open_policy(), 1) for line in part.lines
    )
    assert "The domains of A1 were discovered in visits, at epsilon 2 and delta 1e-7: whoever sees the release" in words
    assert "What the schema declares of A0 was read off rows, and the organiser declared it public." in words


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("epsilon 3 is above 1 a run", "It asked for epsilon 3. You allow at most 1 a run."),
        (
            "epsilon 1, 3 for a person with several rows, is above 2 a run",
            "It asked for epsilon 1, 3 for a person with several rows. You allow at most 2 a run.",
        ),
        (
            exhausted("north", "people", "epsilon ", Fraction(3), Fraction(4, 5), ONE, Fraction(1, 5)).message,
            "It asked for epsilon 3. Only 0.8 was left of 1 (0.2 of it reserved by runs that have begun).",
        ),
        ("fewer than 9 parties", "Fewer than 9 parties."),
    ],
)
def test_a_reason_of_a_refusal_is_a_sentence(reason: str, sentence: str) -> None:
    assert run_notice.as_sentence(reason) == sentence


def test_delta_attributes_settings_and_the_way_of_summing_are_named() -> None:
    delta = Fraction(1, 2**20)
    spec = replace(SPEC, algorithm="copula", delta=delta, attributes=("A0", "A2"), secure_sum=MASKS, tolerate=2)
    words = "\n".join(told(replace(spec, settings={"composition": "zcdp"}), total_delta=Fraction(1, 1000)))
    rho = f"{float(rho_within(Fraction(1), delta)):.4g}"
    assert f"up to rho {rho})" in words
    assert f"adds up to at most {rho} (" in words
    assert "which is epsilon 1, delta 9.53674e-7." in words
    assert "It is about 2 attributes: A0, A2." in words
    assert '{"composition": "zcdp"}' in words
    assert "hidden by pairwise masks" in words
    assert "under noise of which any 1 parties' share is enough" in words


def test_declared_analyses_are_told_as_such() -> None:
    words = "\n".join(told(replace(SPEC, algorithm="aim", settings={"analyses": ["A0 ~ C(A1)", "A0 ~ C(A2)"]})))
    assert "Regressions whose tables it measures and whose estimates it publishes: A0 ~ C(A1); A0 ~ C(A2)." in words
    assert "with the settings" not in words


def test_it_is_said_that_the_curator_is_not_bound_to_the_shares() -> None:
    assert [line for line in told(SPEC) if "it may ask for other tables, selections and scores" in line]


def test_the_cost_is_that_of_a_person() -> None:
    words = "\n".join(told(SPEC, parties_per_person=2, rows_per_person=3))
    assert "Epsilon 1, delta 0 for each row." in words
    # What the others' people have elsewhere is not known yet: what bounds it is the policy.
    assert "up to 3 rows here and some elsewhere: epsilon 4 at least, and 1000 at most" in words
    assert "more than e^1000 times as likely" in words
    alone = "\n".join(told(SPEC, rows_per_person=3))
    assert "up to 3 rows here: epsilon 3." in alone
    assert "more than 20.09 times as likely" in alone
    assert "a person with one row here: epsilon 1." in "\n".join(told(SPEC))


@pytest.mark.process
def test_the_cost_of_a_person_with_several_rows_names_its_delta() -> None:
    delta = Fraction(1, 2**30)
    spec = replace(SPEC, algorithm="copula", delta=delta)
    words = "\n".join(told(spec, total_delta=Fraction(1, 1000), rows_per_person=3))
    assert "Epsilon 1, delta 9.31323e-10 for each row." in words
    most = open_policy(rows_per_person=3).cost_of_a_person(spec, 0)
    person = most.epsilon
    assert most.delta == delta
    assert f"up to 3 rows here: epsilon {readable(person)}, delta 9.31323e-10" in words
    assert "in probability besides, whether that person's rows" in words
    assert "does not allow" not in words
    refused = "\n".join(told(spec, parties_per_person=2, total_delta=Fraction(1, 1000)))
    assert "The policy does not allow it: " in refused
    assert "at one party each" in refused


def test_phases_are_in_the_order_of_the_run_whatever_depends_on_rows() -> None:
    """With few rows the two that draw a structure are left out: they still come before the last."""
    words = told(replace(SPEC, algorithm="privbayes", epsilon=Fraction(1, 100)))
    phases = [found for line in words for found in re.findall(r"\(([a-z ]+): up to", line)]
    assert phases == ["network learning", "parameter learning"]
    words = told(replace(SPEC, epsilon=Fraction(1, 100)))
    phases = [found for line in words for found in re.findall(r"\(([a-z ]+): up to", line)]
    order = ["correlation quantification", "structure initialisation", "structure update", "parameter learning"]
    assert phases == [phase for phase in order if phase in phases]
    assert len(phases) > 1


def test_a_run_that_the_policy_forbids_is_said_to_be() -> None:
    assert not [line for line in told(SPEC) if "does not allow" in line]
    (line,) = [line for line in told(SPEC, algorithms=("one-way",)) if "does not allow" in line]
    assert "algorithm 'dp-subn'" in line


def test_what_is_left_before_and_after() -> None:
    policy = open_policy(total_epsilon=Fraction(5), rows_per_person=2)
    ledger = Ledger.declare(":memory:", policy.population)
    assert "epsilon 5 left of 5, 3 after this run" in run_notice.budget_in_words(SPEC, policy, ledger, 0)
    ledger.charge(Charge("spring", "a", PureDP(ONE / 2, RELATION)), Allowance(), "north")
    assert "epsilon 4 left of 5, 2 after this run" in run_notice.budget_in_words(SPEC, policy, ledger, 0)
    # What this run has been charged already is not counted again.
    ledger.charge(Charge("autumn", "a", PureDP(ONE / 2, RELATION)), Allowance(), "north")
    assert "epsilon 3 left of 5, 2 after this run" in run_notice.budget_in_words(SPEC, policy, ledger, 0)
