"""Whole runs: every phase over K parties, the charges, refusals, and a run taken up again."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

from privity.common.errors import PrivityError
from privity.common.privacy.ledger import Allowance
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.run_record import RunRecord
from privity.common.protocol.steps import Select, Selected
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.party.local_backend import local_session
from tests.harness.consortium import (
    TestConsortium,
    make_consortium,
    make_schema,
    make_table,
    open_policy,
)
from tests.harness.long import long_but, thinned
from tests.harness.steps import pure

DOMAIN = (2, 3, 4, 2, 3)
FOUR_PHASES = {"frontier": "always"}
OF_KNOWN_DOMAINS = sorted(name for name, known in ALGORITHMS.items() if not known.discovers)


@pytest.mark.parametrize(
    ("algorithm", "parties"),
    thinned(
        product(
            OF_KNOWN_DOMAINS,
            [pytest.param(2, marks=pytest.mark.process), 3, pytest.param(7, marks=pytest.mark.process)],
        ),
        2,
    ),
)
def test_every_party_is_charged_exactly_the_epsilon_of_the_run(tmp_path, parties: int, algorithm: str) -> None:
    # Seven parties share four draws of dp-subn: some make none, and pay nothing for that phase.
    consortium = make_consortium(parties, domain=DOMAIN, rows=40)
    consortium.drive(tmp_path / "release", algorithm=algorithm, epsilon=Fraction(3, 7))
    privacy = json.loads((tmp_path / "release" / "privacy.json").read_text())
    for party in privacy["parties"]:
        ledger = consortium.parties[party["name"]].ledger
        assert ledger.spent() == Fraction(party["epsilon_per_row"]) <= Fraction(3, 7)
        by_phase = sum(map(Fraction, party["epsilon_per_row_by_phase"].values()))
        assert by_phase == Fraction(party["epsilon_per_row"])
    assert max(Fraction(p["epsilon_per_row"]) for p in privacy["parties"]) == Fraction(3, 7)


@pytest.mark.process
def test_more_parties_than_attributes() -> None:
    consortium = make_consortium(9, domain=(2, 3), rows=10)
    plan = consortium.begin()
    model = asyncio.run(ALGORITHMS["dp-subn"].learn(consortium.session(plan), pure(1), {}))
    assert {a for clique in model.cliques for a in clique.attributes} == {0, 1}


def test_one_attribute_alone(tmp_path) -> None:
    make_consortium(3, domain=(4,), rows=30).drive(tmp_path / "release")
    assert (tmp_path / "release" / "synthetic.csv").exists()


@pytest.mark.process
def test_one_party_holds_most_rows(tmp_path) -> None:
    schema = make_schema(DOMAIN)
    sizes = {"large": 800, "small": 150, "tiny": 50}
    consortium = TestConsortium({name: make_table(schema, rows, seed=rows) for name, rows in sizes.items()})
    consortium.drive(tmp_path / "release", settings=FOUR_PHASES, epsilon=Fraction(1))
    statement = json.loads((tmp_path / "release" / "privacy.json").read_text())
    paid = {p["phase"]: p["paid_by"] for p in statement["phases"]}
    # Four draws in proportion to 800 : 150 : 50 are 3, 1 and 0.
    assert paid["structure initialisation"] == ["large", "small"]
    assert {p["name"]: Fraction(p["epsilon_per_row"]) for p in statement["parties"]}["tiny"] == Fraction(9, 10)


def test_the_same_algorithm_runs_on_a_local_session() -> None:
    consortium = make_consortium(2, domain=DOMAIN, rows=200)
    party = consortium.parties["party-1"]
    session = local_session("alone", party.releases, Allowance(Fraction(1), budget=PureBudget(Fraction(1))))
    model = asyncio.run(ALGORITHMS["dp-subn"].learn(session, session.budget.whole, {}))
    assert {a for clique in model.cliques for a in clique.attributes} == set(range(len(DOMAIN)))
    assert party.ledger.spent() == 1
    with pytest.raises(PrivityError, match="asked"):
        asyncio.run(session.measure("more", [(0,)], pure(Fraction(1, 1000))))


def test_local_and_network_sessions_record_the_same_costs() -> None:
    consortium = make_consortium(2, domain=DOMAIN, rows=200)
    network = consortium.session(consortium.begin())
    allowance = Allowance(Fraction(1), budget=PureBudget(Fraction(1)))
    local = local_session("alone", consortium.parties["party-1"].releases, allowance)
    records: list[RunRecord] = []
    for session in (network, local):
        asyncio.run(ALGORITHMS["dp-subn"].learn(session, session.budget.whole, FOUR_PHASES))
        records.append(session.record)
    assert records[0].phases("party-1") == records[1].phases("party-1")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"algorithms": ("one-way",)}, "algorithm 'dp-subn'"),
        ({"epsilon_per_run": Fraction(1, 2)}, "epsilon 1 is above 0.5"),
        ({"minimum_parties": 4}, "fewer than 4 parties"),
        ({"minimum_tolerate": 2}, "fewer than 2 colluding"),
        ({"minimum_key_bits": 3072}, "512-bit"),
        ({"total_epsilon": Fraction(1, 10)}, "left of 0.1"),
    ],
)
def test_a_partys_policy_ends_the_run(tmp_path, change: dict, said: str) -> None:
    consortium = make_consortium(3, policies={"party-2": open_policy(**change)})
    with pytest.raises(PrivityError, match=said):
        consortium.drive(tmp_path / "release")
    assert not (tmp_path / "release").exists()


@pytest.mark.process
@pytest.mark.parametrize("after", long_but([5, 13], [1, 3, 5, 7, 9, 13, 16]))
def test_a_run_taken_up_after_a_crash_of_the_curator_gives_the_same_release(tmp_path, after: int) -> None:
    """The curator dies after some replies and drives the run again: same opened values, one charge.

    No step is asked twice but the one whose answer was lost.
    """

    class Crashed(BaseException):
        pass

    releases = []
    for name, crash in (("whole", None), ("crashed", after)):
        folder = tmp_path / name
        folder.mkdir()
        consortium = make_consortium(2, domain=DOMAIN, seed=5, folder=folder)
        told, tell = 0, consortium.tell

        def limited(party, step, tell=tell, crash=crash):
            nonlocal told
            told += 1
            reply = tell(party, step)
            if told == crash:
                raise Crashed
            return reply

        consortium.tell = limited
        if crash:
            with pytest.raises(Crashed):
                consortium.drive(folder / "release", settings=FOUR_PHASES)
        consortium.drive(folder / "release", settings=FOUR_PHASES)
        assert {p.ledger.spent() for p in consortium.parties.values()} == {Fraction(1)}
        asked = Counter((party, step.key) for party, step in consortium.told)
        assert sum(asked.values()) - len(asked) == (crash is not None)
        releases.append((folder / "release" / "marginals.json").read_bytes())
    assert releases[0] == releases[1]


def test_an_unfair_answer_ends_the_run(tmp_path) -> None:
    """A choice outside the candidates, or a reply of another kind, is not believed."""
    consortium = make_consortium(2, domain=DOMAIN)
    ask = consortium.ask

    async def lying(party, step, phase):
        return Selected(10_000) if isinstance(step, Select) else await ask(party, step, phase)

    consortium.ask = lying
    with pytest.raises(PrivityError, match="none of the candidates"):
        consortium.drive(tmp_path / "release")


def test_an_algorithm_that_overspends_is_stopped_before_any_party_is_asked() -> None:
    consortium = make_consortium(2)
    session = consortium.session(consortium.begin(consortium.spec(epsilon=Fraction(1))))
    asyncio.run(session.measure("first", [(0,)], pure(Fraction(2, 3))))
    told = len(consortium.recorder.sent)
    with pytest.raises(PrivityError, match="more than the run's epsilon"):
        asyncio.run(session.measure("second", [(1,)], pure(Fraction(1, 2))))
    assert len(consortium.recorder.sent) == told


@pytest.mark.process
@pytest.mark.parametrize("schedule", ["uniform", "back-loaded", "0,1/3,2/3"])
def test_dp_subn_under_a_schedule_charges_the_first_party_in_full_and_later_ones_less(tmp_path, schedule: str) -> None:
    consortium = make_consortium(3, domain=DOMAIN, rows=200)
    consortium.drive(tmp_path / "release", settings={"schedule": schedule}, epsilon=Fraction(1))
    spent = [party.ledger.spent() for party in consortium.parties.values()]
    assert spent[0] == 1
    assert spent == sorted(spent, reverse=True)
    assert spent[2] < 1
    statement = json.loads((tmp_path / "release" / "privacy.json").read_text())
    assert [Fraction(p["epsilon_per_row"]) for p in statement["parties"]] == spent


def test_a_schedule_of_another_number_of_parties_is_refused_before_anything_is_spent(tmp_path) -> None:
    consortium = make_consortium(3, domain=DOMAIN)
    with pytest.raises(PrivityError, match="2 weights for 3 parties"):
        consortium.drive(tmp_path / "release", settings={"schedule": "1/2,1/2"})
    assert {party.ledger.spent() for party in consortium.parties.values()} == {Fraction(0)}


def test_a_frontier_that_would_drown_is_left_out(tmp_path) -> None:
    consortium = make_consortium(2, domain=DOMAIN, rows=20)
    consortium.drive(tmp_path / "release", epsilon=Fraction(1, 10))
    statement = json.loads((tmp_path / "release" / "privacy.json").read_text())
    assert {p["phase"] for p in statement["phases"]} == {"structure initialisation", "parameter learning"}
    # One edge is drawn, at one party: the other one pays less.
    assert max(party.ledger.spent() for party in consortium.parties.values()) == Fraction(1, 10)


@pytest.mark.process
@pytest.mark.parametrize("algorithm", OF_KNOWN_DOMAINS)
def test_a_party_with_a_single_row_takes_part(tmp_path, algorithm: str) -> None:
    """Far fewer rows than any design could use: it still adds them, under the same noise and for the same price."""
    schema = make_schema(DOMAIN)
    sizes = {"large": 400, "one": 1}
    consortium = TestConsortium({name: make_table(schema, rows, seed=rows) for name, rows in sizes.items()})
    consortium.drive(tmp_path / "release", algorithm=algorithm, epsilon=Fraction(1))
    assert max(party.ledger.spent() for party in consortium.parties.values()) == 1


def test_balanced_quotas_send_selections_to_a_single_row_too(tmp_path) -> None:
    schema = make_schema((2, 2, 2))
    sizes = {"large": 400, "one": 1}
    consortium = TestConsortium({name: make_table(schema, rows, seed=rows) for name, rows in sizes.items()})
    consortium.drive(tmp_path / "release", settings={"quotas": "balanced"}, epsilon=Fraction(1))
    statement = json.loads((tmp_path / "release" / "privacy.json").read_text())
    paid = {p["phase"]: p["paid_by"] for p in statement["phases"]}
    assert paid["structure initialisation"] == ["large", "one"]
