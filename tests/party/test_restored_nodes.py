"""A node that comes back from a backup: what was open there ends, charged with all of it, and its people are frozen."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.errors import PrivityError, at_commands
from privity.common.privacy.ledger import WHOLE, Ledger
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.protocol.steps import Close, Contribute, Done, Enrol, Enrolled, Refusal, Step
from privity.common.storage.journal import Journal
from privity.party.approvals import Approvals
from privity.party.ledger_rollback import SET_BACK, KnownLedger
from tests.harness.consortium import POPULATION, TestConsortium, make_consortium
from tests.harness.ledgers import declared
from tests.harness.steps import laplace_round

NAME = "party-1"
FILES = (f"{NAME}-ledger.sqlite", f"{NAME}-journal.sqlite")


def backed_up(folder: Path) -> Callable[[TestConsortium], None]:
    """Copy ledger and journal as they are now; the function puts both back while the node is stopped."""
    (folder / "backup").mkdir()
    for name in FILES:
        with closing(sqlite3.connect(folder / name)) as now, closing(sqlite3.connect(folder / "backup" / name)) as then:
            now.backup(then)

    def restore(consortium: TestConsortium) -> None:
        consortium.parties[NAME].ledger.close()
        consortium.parties[NAME].journal.close()
        for name in FILES:
            for ending in ("", "-wal", "-shm"):
                (folder / f"{name}{ending}").unlink(missing_ok=True)
            (folder / name).write_bytes((folder / "backup" / name).read_bytes())
        consortium.restart(NAME)

    return restore


def sent(consortium: TestConsortium, step: Step) -> tuple[str, str, bytes]:
    """What a curator remembers of the reply to a step."""
    return step.run, step.key, hashlib.sha256(consortium.parties[NAME].engine.handle(step)).digest()


def refused(consortium: TestConsortium, step: Step) -> str:
    reply = consortium.tell(NAME, step)
    assert isinstance(reply, Refusal), reply
    return reply.code


def contribution(run: str, round_: str, price: str) -> Contribute:
    return Contribute(laplace_round(run, "test", round_, ((0, 1),), Fraction(price)))


def test_a_run_that_was_alive_at_the_backup_ends_charged_with_its_whole_reservation(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin(consortium.spec(algorithm="one-way"))
    consortium.tell(NAME, contribution("run-1", "1", "1/4"))
    restore = backed_up(tmp_path)
    last = sent(consortium, contribution("run-1", "2", "1/4"))
    restore(consortium)
    party = consortium.parties[NAME]
    assert party.ledger.spent() == Fraction(1, 4), "the second charge is forgotten"
    party.engine.check_answered(*last)
    assert party.ledger.spent() == 1
    assert party.ledger.reserved() == []
    assert [entry.charge.step for entry in party.ledger.entries() if entry.charge.step == WHOLE] == [WHOLE]
    for step in (contribution("run-1", "2", "1/4"), contribution("run-1", "1", "1/4")):
        assert refused(consortium, step) == "step-refused"
    assert Approvals(party.journal).of("run-1").end[0] == SET_BACK
    assert consortium.tell(NAME, Close("run-1", "FAILED")) == Done()
    consortium.restart(NAME).engine.check_answered(*last)
    assert consortium.parties[NAME].ledger.spent() == 1, "said again, nothing is charged again"


def test_a_run_that_began_after_the_backup_freezes_the_people_until_their_owner_says_what_was_spent(
    tmp_path: Path,
) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    restore = backed_up(tmp_path)
    consortium.begin(consortium.spec(algorithm="one-way"))
    last = sent(consortium, contribution("run-1", "1", "1/4"))
    restore(consortium)
    party = consortium.parties[NAME]
    party.engine.check_answered(*last)
    assert refused(consortium, contribution("run-1", "1", "1/4")) == "step-refused"
    again = Enrol(consortium.spec("run-2", algorithm="one-way"))
    assert refused(consortium, again) == "population-frozen"
    consortium.restart(NAME)
    assert refused(consortium, again) == "population-frozen"
    party = consortium.parties[NAME]
    party.ledger.adjust(ApproxDP(Fraction(1), Fraction(0), RELATION))
    assert isinstance(consortium.tell(NAME, again), Enrolled)
    assert party.ledger.spent() == 1


def test_a_node_that_has_all_its_replies_goes_on(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin(consortium.spec(algorithm="one-way"))
    last = sent(consortium, contribution("run-1", "1", "1/4"))
    consortium.restart(NAME).engine.check_answered(*last)
    assert consortium.tell(NAME, contribution("run-1", "2", "1/4")) == Done()
    assert consortium.tell(NAME, Close("run-1", "FAILED")) == Done()
    consortium.restart(NAME).engine.check_answered(*last)
    assert isinstance(consortium.tell(NAME, Enrol(consortium.spec("run-2", algorithm="one-way"))), Enrolled)


def test_a_ledger_that_was_set_back_alone_has_a_way_on(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    restore = backed_up(tmp_path)
    consortium.begin(consortium.spec(algorithm="one-way"))
    consortium.tell(NAME, contribution("run-1", "1", "1/4"))
    party, journal = consortium.parties[NAME], (tmp_path / "backup" / FILES[1])
    with closing(sqlite3.connect(tmp_path / FILES[1])) as now, closing(sqlite3.connect(journal)) as then:
        now.backup(then)
    with at_commands(), pytest.raises(PrivityError, match="it was set back") as caught:
        restore(consortium)
    assert "privity party restored" in caught.value.remedy
    node = party.ledger.node
    with (
        closing(Ledger(tmp_path / FILES[0], POPULATION, node)) as ledger,
        closing(Journal(tmp_path / FILES[1])) as kept,
    ):
        assert KnownLedger(kept, ledger).set_back() == ["run-1"]
    party = consortium.restart(NAME)
    assert party.ledger.spent() == 1, "by the journal, which knew the plan"
    with pytest.raises(PrivityError, match="was set back"):
        party.ledger.check_not_frozen()
    party.ledger.adjust(ApproxDP(Fraction(3, 2), Fraction(0), RELATION))
    consortium.begin(consortium.spec("run-2", algorithm="one-way"))


def test_a_run_whose_journal_was_lost_is_charged_with_all_of_it(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin(consortium.spec(algorithm="one-way"))
    consortium.tell(NAME, contribution("run-1", "1", "1/4"))
    consortium.parties[NAME].journal.erase("run-1/")
    party = consortium.restart(NAME)
    assert (party.ledger.spent(), party.ledger.reserved()) == (1, [])


def test_an_owner_cannot_say_less_than_stands_in_the_ledger_and_another_program_reads_the_same() -> None:
    ledger = declared(total=1)
    ledger.freeze()
    ledger.adjust(ApproxDP(Fraction(3, 4), Fraction(1, 10**6), RELATION))
    with pytest.raises(PrivityError, match=r"0\.75 stands in the ledger already"):
        ledger.adjust(ApproxDP(Fraction(1, 2), Fraction(1, 10**6), RELATION))
    ledger.freeze()
    ledger.adjust(ApproxDP(Fraction(2), Fraction(1, 10**6), RELATION))
    assert (ledger.spent(), ledger.left()[0]) == (2, -1), "what is spent is spent, whatever the total"
