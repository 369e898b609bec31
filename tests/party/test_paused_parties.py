"""A manifest that pauses a party: new runs may not name it, and runs that have begun with it go to their end."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from privity.common.data.noisy_tables import Marginal
from privity.common.protocol.steps import Enrol, Enrolled, Refusal
from tests.harness.consortium import TestConsortium, make_consortium
from tests.harness.steps import laplace_round


@pytest.fixture
def consortium() -> TestConsortium:
    return make_consortium(3)


def adopt(consortium: TestConsortium, **changes: object) -> None:
    """What the organiser seals next reaches every party."""
    consortium.manifest = replace(consortium.manifest, serial=consortium.manifest.serial + 1, **changes)
    for party in consortium.parties.values():
        party.engine.adopt(consortium.manifest)


def test_a_run_that_has_begun_goes_on_with_a_party_that_is_paused(consortium: TestConsortium) -> None:
    under = consortium.manifest
    plan = consortium.begin(consortium.spec(algorithm="one-way"))
    adopt(consortium, paused=("party-2",))
    consortium.manifest = under
    round_ = laplace_round(plan.spec.run, "pairs", "first", [Marginal((0, 1))], Fraction(1, 2))
    revealed = consortium.reveal(plan, round_, consortium.attempt(round_))
    assert len(revealed) > 1
    assert all(party.ledger.spent() == Fraction(1, 2) for party in consortium.parties.values())


def test_a_party_refuses_a_new_run_that_names_a_paused_one_and_takes_part_in_one_without(
    consortium: TestConsortium,
) -> None:
    adopt(consortium, paused=("party-2",))
    every = consortium.spec(run="run-1", algorithm="one-way", manifest_digest=consortium.manifest.digest)
    for name in consortium.parties:
        refused = consortium.tell(name, Enrol(every))
        assert isinstance(refused, Refusal)
        assert "party-2 is paused" in refused.message
    without = replace(every, run="run-2", members=("party-1", "party-3"))
    assert isinstance(consortium.tell("party-1", Enrol(without)), Enrolled)
    assert isinstance(consortium.tell("party-2", Enrol(without)), Refusal)
    adopt(consortium, paused=())
    again = replace(every, run="run-3", manifest_digest=consortium.manifest.digest)
    assert isinstance(consortium.tell("party-2", Enrol(again)), Enrolled)


def test_people_at_several_parties_forbid_a_run_over_some(consortium: TestConsortium) -> None:
    adopt(consortium, parties_per_person=2)
    spec = consortium.spec(algorithm="one-way", manifest_digest=consortium.manifest.digest)
    refused = consortium.tell("party-1", Enrol(replace(spec, members=("party-1", "party-3"))))
    assert isinstance(refused, Refusal)
    assert "every run is over all of them" in refused.message
