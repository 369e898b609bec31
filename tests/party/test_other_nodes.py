"""Two nodes from copies of one folder: what each of them notes, and which of them a plan binds."""

from __future__ import annotations

from pathlib import Path

import pytest

from privity.common.errors import Catalogue, PrivityError
from privity.common.protocol.run_spec import Enrolment, RunPlan
from privity.common.protocol.steps import Begin, Done, Enrol, Enrolled, Refusal
from privity.common.storage.journal import Journal
from privity.common.text.utc_times import utc_now
from privity.party.other_nodes import OtherNodes
from tests.harness.consortium import make_consortium
from tests.party.test_restored_nodes import NAME, backed_up


def test_a_copy_of_a_node_takes_no_part_under_the_other_ones_enrolment(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    becomes_the_copy = backed_up(tmp_path)
    spec = consortium.spec(algorithm="one-way")

    def enrolled(party: str) -> Enrolment:
        reply = consortium.tell(party, Enrol(spec))
        assert isinstance(reply, Enrolled)
        return Enrolment.from_dict(reply.enrolment)

    first, other = enrolled(NAME), enrolled("party-2")
    assert enrolled(NAME) == first, "one process gives one enrolment"
    becomes_the_copy(consortium)
    consortium.parties[NAME].engine._admission._process = "c" * 32  # of another process
    copy = enrolled(NAME)
    assert len({first.process, copy.process, other.process}) == 3
    assert all(len(each.process) == 32 for each in (first, copy, other))
    refused = consortium.tell(NAME, Begin(RunPlan(spec, (first, other), consortium.public.n)))
    assert isinstance(refused, Refusal)
    assert "another node enrolled" in refused.message
    assert consortium.parties[NAME].ledger.reserved() == []
    assert consortium.tell(NAME, Begin(RunPlan(spec, (copy, other), consortium.public.n))) == Done()


def test_a_node_keeps_that_it_was_told_of_an_older_one_until_its_owner_says_which_one_serves() -> None:
    nodes = OtherNodes(NAME, Journal())
    now = utc_now()
    for nothing in ("", "soon", "2020-11-28T11:28:03+00:00"):
        nodes.note(nothing)
    assert nodes.seen() is None
    nodes.note(now)
    nodes.check()
    assert f"the older one was refused on {now}" in str(nodes.seen())
    assert nodes.stopped().kind is Catalogue.TWO_NODES
    with pytest.raises(PrivityError):
        nodes.check()
    nodes.forget()
    nodes.check()
