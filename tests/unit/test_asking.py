"""What an owner is told before saying yes: everything that will leave the house, who sees it, and the whole cost."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest

from common.algorithms import ALGORITHMS
from common.privacy.ledger import Allowance, Charge, Ledger
from common.protocol.plan import RunSpec
from common.protocol.sum_kind import MASKS
from party import asking
from tests.harness.consortium import make_schema, open_policy

SCHEMA = make_schema((2, 3, 4))
PARTIES = ("north", "south", "east")
ONE = Fraction(1)
SPEC = RunSpec("autumn", "dp-subn", {}, ONE, 1, PARTIES, "0" * 64)


def told(spec: RunSpec, parties_per_person: int = 1, **limits) -> list[str]:
    return list(asking.in_words(spec, "north", SCHEMA, open_policy(**limits), parties_per_person))


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_what_leaves_costs_the_runs_epsilon_in_all(algorithm: str) -> None:
    words = told(replace(SPEC, algorithm=algorithm))
    leaves = [line for line in words if line.startswith("- ")]
    assert leaves[0] == "- the number of its rows: to the curator and to every party, in clear."
    amounts = [Fraction(found) for line in leaves[1:] for found in re.findall(r"epsilon ([0-9/]+)\)", line)]
    assert len(amounts) == len(leaves) - 1
    assert sum(amounts) == ONE
    text = " ".join(leaves)
    assert ("a model of its rows alone" in text) == (algorithm == "independent")
    assert ("random choices on its rows" in text) == (algorithm in ("dp-subn", "jtree", "privbayes", "privhd"))
    assert ("counts of its rows, hidden by Paillier" in text) == (algorithm != "independent")


def test_delta_attributes_settings_and_the_way_of_summing_are_named() -> None:
    delta = Fraction(1, 2**20)
    spec = replace(SPEC, algorithm="copula", delta=delta, attributes=("A0", "A2"), secure_sum=MASKS, tolerate=2)
    words = "\n".join(told(replace(spec, settings={"composition": "zcdp"}), total_delta=Fraction(1, 1000)))
    assert f"delta {delta})" in words
    assert "It is about 2 attributes: A0, A2." in words
    assert "'composition': 'zcdp'" in words
    assert "hidden by pairwise masks" in words
    assert "under noise of which any 1 parties' part is enough" in words


def test_it_is_said_that_the_curator_is_not_bound_to_the_shares() -> None:
    assert [line for line in told(SPEC) if "it may ask for other tables and choices" in line]


def test_the_cost_is_that_of_a_person() -> None:
    words = "\n".join(told(SPEC, parties_per_person=2, rows_per_person=3))
    assert "epsilon 1, delta 0 for each row; epsilon 4 for a person (up to 3 rows here, 1 elsewhere at least)" in words
    assert "more than e^4 times as likely" in words


def test_a_run_that_the_policy_forbids_is_said_to_be() -> None:
    assert not [line for line in told(SPEC) if "does not allow" in line]
    (line,) = [line for line in told(SPEC, algorithms=("one-way",)) if "does not allow" in line]
    assert "algorithm 'dp-subn'" in line


def test_what_is_left_before_and_after() -> None:
    policy = open_policy(total_epsilon=Fraction(5), rows_per_person=2)
    ledger = Ledger(":memory:", policy.population)
    assert "epsilon 5 left of 5, 3 after this run" in asking.budget_in_words(SPEC, policy, ledger, 0)
    ledger.charge(Charge("spring", "a", ONE), Allowance(None, None), "north")
    assert "epsilon 4 left of 5, 2 after this run" in asking.budget_in_words(SPEC, policy, ledger, 0)
    # What this run has been charged already is not counted again.
    ledger.charge(Charge("autumn", "a", ONE), Allowance(None, None), "north")
    assert "epsilon 3 left of 5, 2 after this run" in asking.budget_in_words(SPEC, policy, ledger, 0)
