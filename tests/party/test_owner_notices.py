"""What an owner is told of a run: that it waits, is refused, ends or expires; that the budget nears its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from privity.common.notices.channels import Channel, Notice
from privity.common.notices.outbox import Outbox
from privity.common.privacy.ledger import Allowance, Charge
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.protocol.steps import Close, Enrol, Pending
from privity.party.owner_notices import OwnerNotices
from privity.party.policy import Approval
from tests.harness.consortium import TestConsortium, make_consortium, open_policy

NAME = "party-1"


class Nowhere(Channel):
    name = to = "nowhere"

    def send(self, node: str, notices: Sequence[Notice]) -> None:
        raise AssertionError("nobody sends")


def listening(consortium: TestConsortium, per_run: str = "1") -> Outbox:
    party = consortium.parties[NAME]
    outbox = Outbox(party.journal, NAME, [Nowhere()])
    notices = OwnerNotices(outbox, party.journal, party.ledger, lambda: Fraction(per_run))
    party.engine.listener, party.engine.expired = notices.answered, notices.expired
    return outbox


def told(outbox: Outbox) -> list[str]:
    return [each.notice.text for each in outbox.deliveries()]


def test_a_run_that_waits_is_told_of_once_and_so_is_its_end() -> None:
    consortium = make_consortium(3, policies={NAME: open_policy(approval=Approval.MANUAL)})
    outbox = listening(consortium)
    for _ in range(3):
        assert isinstance(consortium.tell(NAME, Enrol(consortium.spec())), Pending)
    (text,) = told(outbox)
    assert text.startswith("run-1 waits here for the approval of its owner. It is ")
    assert text.endswith("privity party show run-1")
    for _ in range(2):
        consortium.tell(NAME, Close("run-1", "FAILED", why="refused by party-2"))
    assert told(outbox)[1:] == ["run-1 has ended: FAILED, refused by party-2."]


def test_a_run_that_waits_for_the_rows_asks_for_no_decision() -> None:
    consortium = make_consortium(3)
    outbox = listening(consortium)
    consortium.parties[NAME].engine.listener(Enrol(consortium.spec()), Pending("its rows"))
    assert told(outbox) == ["run-1 waits here for its rows."]


def test_a_run_that_is_refused_is_told_of_with_the_reason() -> None:
    consortium = make_consortium(3, policies={NAME: open_policy(algorithms=("mst",))})
    outbox = listening(consortium)
    for _ in range(2):
        consortium.tell(NAME, Enrol(consortium.spec()))
    (text,) = told(outbox)
    assert "is not among those allowed" in text
    consortium.tell(NAME, Close("run-1", "FAILED"))
    assert told(outbox) == [text], "nothing of it was here"


def test_a_run_that_this_party_took_part_in_ends_with_where_its_release_is() -> None:
    consortium = make_consortium(3)
    outbox = listening(consortium)
    consortium.tell(NAME, Enrol(consortium.spec()))
    consortium.tell(NAME, Close("run-1", "COMPLETED"))
    assert told(outbox) == ["run-1 has ended: COMPLETED. To get what it released: privity party fetch run-1"]
    consortium.tell(NAME, Close("unheard-of", "COMPLETED"))
    assert len(told(outbox)) == 1


def test_a_run_that_is_let_go_is_told_of() -> None:
    consortium = make_consortium(3)
    outbox = listening(consortium)
    consortium.tell(NAME, Enrol(consortium.spec()))
    for _ in range(2):
        consortium.parties[NAME].engine.let_go(-1.0)
    assert [each.notice.subject for each in outbox.deliveries()] == ["run-1 has expired here"]


def test_a_node_that_is_killed_while_it_lets_a_run_go_has_told_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def killed(*_arguments: object) -> None:
        raise Killed

    consortium = make_consortium(3)
    engine, outbox = consortium.parties[NAME].engine, listening(consortium)
    consortium.tell(NAME, Enrol(consortium.spec()))
    monkeypatch.setattr(engine._releases, "forget", killed)
    with pytest.raises(Killed):
        engine.let_go(-1.0)
    assert [each.notice.subject for each in outbox.deliveries()] == ["run-1 has expired here"]


def test_little_budget_is_told_of_once_a_total_and_policy() -> None:
    consortium = make_consortium(3)
    ledger = consortium.parties[NAME].ledger
    total = ledger.population.total_epsilon
    outbox = listening(consortium, per_run=str(total))

    def found() -> list[str]:
        subjects = [each.notice.subject for each in outbox.deliveries()]
        return [subject for subject in subjects if subject.startswith("the budget of")]

    for run, part in (("run-1", Fraction(0)), ("run-2", Fraction(4, 5)), ("run-3", Fraction(1, 10))):
        ledger.charge(Charge(run, "before", PureDP(part * total, RELATION)), Allowance(), NAME)
        consortium.tell(NAME, Enrol(replace(consortium.spec(), run=run)))
        consortium.tell(NAME, Close(run, "STOPPED"))
        assert len(found()) == (run != "run-1")
    assert not [text for text in told(outbox) if "row" in text]
