"""What a party signed of runs, and gets back after a restore: entered once, into the population that it names."""

from __future__ import annotations

import logging
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.crypto.identity import Identity
from privity.common.errors import PrivityError
from privity.common.privacy.ledger import ATTESTED, WHOLE
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.protocol.run_spec import Enrolment, RunSpec
from privity.common.protocol.steps import Close, Enrol, Enrolled
from privity.common.release.attestations import FIGURES, Published, signed_by_party
from privity.common.storage.canonical_json import canonical_bytes
from privity.common.wire.statements import GivenBack
from privity.party.approvals import Approvals
from privity.party.ledger_rollback import SET_BACK
from tests.harness.consortium import POPULATION, TestConsortium, make_consortium
from tests.party.test_restored_nodes import NAME, backed_up, contribution, refused

LOST = "run-1"


def attested(
    consortium: TestConsortium, epsilon: str = "3/4", party: str = NAME, by: str = NAME, population: str = POPULATION
) -> GivenBack:
    """What a party attests of a release, signed by a party, about rows of a population."""
    charges = dict.fromkeys(FIGURES[:4], "0") | {"epsilon_per_person": epsilon}
    published = Published(LOST, "0" * 64, "1" * 64)
    identity = consortium.parties[by].identity
    signed = signed_by_party(published, consortium.manifest, party, charges, identity, population)
    return GivenBack(attestation=canonical_bytes(signed))


def enrolled(spec: RunSpec, enrolment: Enrolment) -> GivenBack:
    return GivenBack(enrolment=canonical_bytes(enrolment.to_dict()), spec=canonical_bytes(spec.to_dict()))


def hand_over(consortium: TestConsortium, *statements: GivenBack) -> None:
    consortium.parties[NAME].engine.check_statements(statements)


def charges(consortium: TestConsortium) -> list[tuple[str, str]]:
    return [(entry.charge.run, entry.charge.step) for entry in consortium.parties[NAME].ledger.entries()][1:]


def is_frozen(consortium: TestConsortium) -> bool:
    try:
        consortium.parties[NAME].ledger.check_not_frozen()
    except PrivityError:
        return True
    return False


def test_an_attestation_of_a_run_that_the_ledger_lacks_is_entered_once_and_lifts_no_freeze(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    for _ in range(2):
        hand_over(consortium, attested(consortium), attested(consortium))
        consortium.restart(NAME)
    party = consortium.parties[NAME]
    assert party.ledger.spent() == party.ledger.spent(LOST) == Fraction(3, 4)
    assert [step for run, step in charges(consortium) if run == LOST] == [ATTESTED]
    assert is_frozen(consortium)
    assert refused(consortium, Enrol(consortium.spec(LOST, algorithm="one-way"))) == "step-refused"
    with pytest.raises(PrivityError, match=r"0\.75 stands in the ledger already"):
        party.ledger.adjust(ApproxDP(Fraction(1, 2), Fraction(0), RELATION))
    party.ledger.adjust(ApproxDP(Fraction(2), Fraction(0), RELATION))
    hand_over(consortium, attested(consortium))
    assert party.ledger.spent() == 2
    assert not is_frozen(consortium), "a statement that was entered before changes nothing"


def test_an_enrolment_in_a_run_that_is_not_known_costs_the_whole_run_and_ends_it(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    restore = backed_up(tmp_path)
    spec = consortium.spec(LOST, algorithm="one-way")
    plan = consortium.begin(spec)
    own = next(one for one in plan.enrolments if one.party == NAME)
    consortium.tell(NAME, contribution(LOST, "1", "1/4"))
    hand_over(consortium, enrolled(spec, own))
    assert not is_frozen(consortium), "a node that knows the run goes on"
    assert consortium.parties[NAME].ledger.spent() == Fraction(1, 4)
    restore(consortium)
    for _ in range(2):
        hand_over(consortium, enrolled(spec, own))
        assert consortium.parties[NAME].ledger.spent() == 1
        consortium.restart(NAME)
    assert [step for run, step in charges(consortium) if run == LOST] == [WHOLE]
    assert is_frozen(consortium)
    assert refused(consortium, contribution(LOST, "2", "1/4")) == "step-refused"
    consortium.parties[NAME].ledger.adjust(ApproxDP(Fraction(1), Fraction(0), RELATION))
    hand_over(consortium, enrolled(spec, own))
    assert not is_frozen(consortium)


def test_a_run_that_the_curator_named_by_its_last_reply_is_charged_when_its_statement_comes(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    engine = consortium.parties[NAME].engine
    engine.check_answered(LOST, "contribute/1", b"unknown")
    assert consortium.parties[NAME].ledger.spent() == 0
    hand_over(consortium, attested(consortium))
    assert consortium.parties[NAME].ledger.spent() == Fraction(3, 4)
    assert is_frozen(consortium)


def test_a_run_that_was_alive_at_the_backup_and_released_after_it_costs_what_is_the_most(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin(consortium.spec(LOST, algorithm="one-way"))
    hand_over(consortium, attested(consortium))
    party = consortium.parties[NAME]
    assert (party.ledger.spent(), party.ledger.reserved()) == (1, []), "its reservation is more than what it charged"
    assert Approvals(party.journal).of(LOST).end[0] == SET_BACK
    hand_over(consortium, attested(consortium, "5/4"))
    assert party.ledger.spent() == Fraction(5, 4)


def test_a_ledger_that_was_set_back_alone_gets_back_what_a_run_that_has_ended_cost(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin(consortium.spec(LOST, algorithm="one-way"))
    consortium.tell(NAME, Close(LOST, "COMPLETED"))
    hand_over(consortium, attested(consortium))
    assert consortium.parties[NAME].ledger.spent() == Fraction(3, 4)
    assert is_frozen(consortium)


@pytest.mark.parametrize(
    "changed", ["signature", "charge", "signer", "party", "population", "no statement", "enrolment"]
)
def test_what_is_not_this_partys_own_or_of_another_population_is_not_entered(
    changed: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    spec = consortium.spec(LOST, algorithm="one-way")
    own = Enrolment.signed(NAME, spec, 5, consortium.parties[NAME].identity, population=POPULATION)
    whole, other = attested(consortium).attestation, consortium.spec(LOST, epsilon=Fraction(9), algorithm="one-way")
    statements = {
        "signature": [enrolled(spec, replace(own, signature=bytes(64)))],
        "charge": [GivenBack(attestation=whole.replace(b"3/4", b"9/4"))],
        "signer": [
            attested(consortium, by="party-2"),
            enrolled(spec, Enrolment.signed(NAME, spec, 5, Identity.generate(), population=POPULATION)),
        ],
        "party": [attested(consortium, party="party-2"), attested(consortium, party="party-2", by="party-2")],
        "population": [
            attested(consortium, population="others"),
            enrolled(spec, Enrolment.signed(NAME, spec, 5, consortium.parties[NAME].identity, population="others")),
        ],
        "no statement": [GivenBack(), GivenBack(attestation=b"{}"), GivenBack(attestation=b"[" * (1 << 18))],
        "enrolment": [enrolled(other, own), enrolled(spec, replace(own, rows_per_person=9))],
    }[changed]
    before = charges(consortium)
    for statement in statements:
        with caplog.at_level(logging.ERROR):
            caplog.clear()
            hand_over(consortium, statement)
        assert len(caplog.records) == 1
        assert "statement" in caplog.text
    assert charges(consortium) == before
    assert not is_frozen(consortium)
    assert isinstance(consortium.tell(NAME, Enrol(spec)), Enrolled)


def test_a_blinded_population_says_nothing_and_differs_from_run_to_run(tmp_path: Path) -> None:
    one, two = Identity.generate(), Identity.generate()
    shown = {one.blinded("a", POPULATION), one.blinded("b", POPULATION), two.blinded("a", POPULATION)}
    shown |= {one.blinded("a", "others"), one.blinded("aa", POPULATION[1:])}
    assert len(shown) == 5
    assert one.blinded("a", POPULATION) in shown, "the same again"
    one.save(tmp_path)
    assert Identity.load(tmp_path).blinded("a", POPULATION) == one.blinded("a", POPULATION)
