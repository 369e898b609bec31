"""A ledger that is lost or set back alone, between runs or within one, is noticed before anything is charged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.data.noisy_tables import AttributeParentPair
from privity.common.errors import PrivityError
from privity.common.privacy.ledger import Allowance, Charge, Ledger
from privity.common.privacy.mechanisms import NoisyMax
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.protocol.run_spec import Enrolment, RunPlan
from privity.common.protocol.steps import Begin, Close, Contribute, Done, Enrol, Enrolled, Refusal, Revealed, Select
from privity.common.storage.journal import Journal
from privity.party.ledger_rollback import MARKS, KnownLedger
from tests.harness.consortium import POPULATION, TestConsortium, make_consortium, open_policy
from tests.harness.ledgers import charged, declared
from tests.harness.steps import laplace_round

NAME = "party-1"
FREE = Allowance()
ROUND = laplace_round("run-1", "test", "1", ((0, 1),), Fraction(1))


def ledger_file(folder: Path) -> Path:
    return folder / f"{NAME}-ledger.sqlite"


def copy_of(folder: Path) -> Path:
    """The ledger as it is now, in a file of its own."""
    copy = folder / "copy.sqlite"
    with closing(sqlite3.connect(ledger_file(folder))) as now, closing(sqlite3.connect(copy)) as then:
        now.backup(then)
    return copy


def replace_ledger(consortium: TestConsortium, folder: Path, copy: Path | None) -> None:
    """As somebody does who restores a file, or loses it, while the node is stopped."""
    consortium.parties[NAME].ledger.close()
    consortium.parties[NAME].journal.close()
    for ending in ("", "-wal", "-shm"):
        Path(f"{ledger_file(folder)}{ending}").unlink(missing_ok=True)
    if copy is not None:
        ledger_file(folder).write_bytes(copy.read_bytes())


def refuses_to_start(consortium: TestConsortium) -> None:
    with pytest.raises(PrivityError, match="it was set back, or is another one: the journal knows") as caught:
        consortium.restart(NAME)
    assert caught.value.code == "ledger-unusable"


def other_ledger(folder: Path, lines: int) -> Path:
    """Of the same people, declared alike, with as many lines, which are other ones."""
    file = folder / "other.sqlite"
    with closing(Ledger.declare(file, open_policy().population)) as ledger:
        for line in range(1, lines):
            ledger.charge(Charge("run-0", f"round/{line}", PureDP(Fraction(0), RELATION)), FREE, NAME)
        assert ledger.end()[0] == lines
    return file


@pytest.mark.process
@pytest.mark.parametrize("instead", ["nothing", "an older one", "another one"])
def test_a_ledger_that_was_set_back_between_runs_is_refused_until_it_is_restored(tmp_path: Path, instead: str) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.drive(tmp_path / "release-1", run="run-1")
    older = copy_of(tmp_path).rename(tmp_path / "older.sqlite")
    consortium.drive(tmp_path / "release-2", run="run-2")
    newest, lines = copy_of(tmp_path), consortium.parties[NAME].ledger.end()[0]
    other = {"nothing": None, "an older one": older, "another one": other_ledger(tmp_path, lines)}[instead]
    replace_ledger(consortium, tmp_path, other)
    refuses_to_start(consortium)
    replace_ledger(consortium, tmp_path, newest)
    party = consortium.restart(NAME)
    consortium.drive(tmp_path / "release-3", run="run-3")
    assert party.ledger.spent() == 3


@pytest.mark.process
def test_a_party_that_is_started_again_goes_on_and_keeps_one_mark(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    for run in range(3):
        consortium.drive(tmp_path / f"release-{run}", run=f"run-{run}")
        party = consortium.restart(NAME)
        # As it was at the last reply: what the run had reserved is returned when it is closed.
        lines = len(party.ledger.entries()) - 1
        assert party.journal.keys(MARKS) == [f"{MARKS}{lines}/{POPULATION}"]
        consortium.restart(NAME)
    assert party.ledger.spent() == 3


def test_a_ledger_that_was_set_back_within_a_run_is_refused(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    before = copy_of(tmp_path)
    consortium.begin(consortium.spec(algorithm="one-way"))
    consortium.seal(ROUND, consortium.attempt(ROUND))
    consortium.restart(NAME)
    assert consortium.tell(NAME, Revealed(ROUND.run, ROUND.round, ROUND.digest)) == Done()
    replace_ledger(consortium, tmp_path, before)
    refuses_to_start(consortium)


def test_a_selection_is_known_to_have_been_charged(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin()
    before = copy_of(tmp_path)
    pairs = (AttributeParentPair(0, (1,)), AttributeParentPair(1, (2,)))
    consortium.tell(NAME, Select("run-1", "p", "draw", pairs, NoisyMax(Fraction(1, 10))))
    replace_ledger(consortium, tmp_path, before)
    refuses_to_start(consortium)


def test_nothing_new_is_answered_over_a_ledger_that_was_set_back_under_the_node(tmp_path: Path) -> None:
    consortium = make_consortium(2, folder=tmp_path)
    first = consortium.spec("run-1", algorithm="one-way")
    enrolments = [consortium.tell(name, Enrol(first)) for name in consortium.parties]
    second = consortium.spec("run-2", algorithm="one-way")
    consortium.begin(second)
    kept = laplace_round("run-2", "test", "1", ((0, 1),), Fraction(1, 2))
    assert consortium.tell(NAME, Contribute(kept)) == Done()
    with closing(sqlite3.connect(ledger_file(tmp_path))) as file, file:
        file.execute("DELETE FROM lines WHERE kind = 'charge'")
    enrolled = tuple(Enrolment.from_dict(reply.enrolment) for reply in enrolments if isinstance(reply, Enrolled))
    for step in (
        Begin(RunPlan(first, enrolled, consortium.public.n)),
        Enrol(consortium.spec("run-3")),
        Contribute(laplace_round("run-2", "test", "2", ((0, 1),), Fraction(1, 2))),
    ):
        reply = consortium.tell(NAME, step)
        assert isinstance(reply, Refusal)
        assert reply.code == "ledger-unusable"
    assert charged(consortium.parties[NAME].ledger) == []
    assert consortium.tell(NAME, Contribute(kept)) == Done(), "a repetition says nothing new"
    assert consortium.tell(NAME, Close("run-2", "FAILED")) == Done()


def test_the_ledgers_of_other_people_are_others(tmp_path: Path) -> None:
    journal = Journal()
    ledgers = [declared(tmp_path / str(place), name) for place, name in enumerate(["people", "people/2", "2/people"])]
    for ledger in ledgers:
        for line in range(2):
            known = KnownLedger(journal, ledger)
            known.check()
            ledger.charge(Charge("run-1", f"round/{line}", PureDP(Fraction(1), RELATION)), FREE, NAME)
            mark, replaced = known.renewal()
            journal.record_together(mark, instead_of=replaced)
            assert known.renewal() == ([], [])
    assert journal.keys(MARKS) == [f"{MARKS}3/{ledger.population.name}" for ledger in ledgers]
    for ledger in ledgers:
        KnownLedger(journal, ledger).check()
        with pytest.raises(PrivityError, match="knows 3 lines"):
            KnownLedger(journal, declared(name=ledger.population.name)).check()


def test_a_journal_that_was_lost_brings_no_second_selection_and_nothing_is_drawn(monkeypatch, tmp_path: Path) -> None:
    """The ledger knows that the step was answered: other candidates under its name and price are no way round."""
    consortium = make_consortium(2, folder=tmp_path)
    consortium.begin()
    pairs = [AttributeParentPair(child, (parent,)) for child in range(3) for parent in range(3) if child != parent]
    for draw in range(5):
        consortium.tell(NAME, Select("run-1", "p", f"{draw}", tuple(pairs), NoisyMax(Fraction(1, 10))))
    party = consortium.parties[NAME]
    spent = party.ledger.spent()
    for draw in range(5):
        party.journal.erase(f"run-1/selection/{draw}")
        party.journal.erase(f"run-1/reply/select/{draw}")
    drawn = []
    monkeypatch.setattr("privity.common.privacy.mechanisms.sample_selection_noise", lambda *_: drawn.append(1))
    for draw in range(5):
        for candidates in (tuple(pairs), tuple(pairs[1:]), tuple(reversed(pairs))):
            reply = consortium.tell(NAME, Select("run-1", "p", f"{draw}", candidates, NoisyMax(Fraction(1, 10))))
            assert isinstance(reply, Refusal)
            assert reply.code == "step-answered"
    assert not drawn
    assert party.ledger.spent() == spent
