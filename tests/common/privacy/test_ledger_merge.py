"""A ledger takes in another of the same people: with every line, never counted twice, and the other one is closed."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest

from privity.common.errors import PrivityError
from privity.common.privacy.ledger import Allowance, Charge, Kind, Ledger
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.population import Population
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PureDP
from privity.common.privacy.run_budget import RhoBudget
from tests.harness.ledgers import PEOPLE, charged, charges, declared

DELTA = Fraction(1, 10**9)
RHO_BUDGET = RhoBudget(Fraction(2), DELTA)


def pure(run, step, epsilon):
    return Charge(run, step, PureDP(Fraction(epsilon), RELATION))


def in_rho(run, step, rho):
    return Charge(run, step, ZCDP(Fraction(rho), RELATION))


DELTA_OF_PURE = Fraction(1, 1000)
PURE = [pure("r", "a", "1/4"), Charge("r", "b", ApproxDP(Fraction(1, 3), DELTA_OF_PURE, RELATION))]
RHO = Fraction(3, 100)
BOTH = [PURE[0], in_rho("q", "a", "1/100"), PURE[1], in_rho("q", "b", "1/50")]
OF_RHO = RHO_BUDGET.filter().spent(RHO)
WHOLE, WHOLE_DELTA = Fraction(7, 12) + OF_RHO, DELTA_OF_PURE + DELTA
FREE = Allowance(budget=RHO_BUDGET)


def refused(match, code="ledger-unusable"):
    return pytest.raises(PrivityError, match=match, check=lambda error: error.code == code)


def lines_of(path):
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT * FROM lines ORDER BY id").fetchall()


def tamper(path, statement):
    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute(statement).rowcount > 0


def copy_of(path, to):
    with closing(sqlite3.connect(path)) as now, closing(sqlite3.connect(to)) as then:
        now.backup(then)


def merge_and_crash(ledger, path):
    """Merge, cut off before the other file is closed: it is as it was. How many lines were new."""
    saved = path.with_suffix(".saved")
    copy_of(path, saved)
    taken = ledger.merge(path)
    saved.rename(path)
    return taken


@pytest.fixture
def other(tmp_path):
    """A ledger of node n1: its declaration and the charges of ``BOTH``."""
    path = tmp_path / "other.sqlite"
    with closing(declared(path, total=5, node="n1")) as ledger:
        for charge in BOTH:
            ledger.charge(charge, FREE, "north")
    return path


@pytest.fixture
def ledger(tmp_path):
    """One without a charge."""
    return declared(tmp_path / "new.sqlite", total=100)


def test_what_is_merged_is_on_disk_and_goes_on(ledger, other):
    ledger.merge(other)
    path = ledger._path
    ledger.close()
    before = lines_of(path)
    with closing(declared(path, total=100, node="n1")) as again:
        assert lines_of(path) == before, "declared again it is as it was"
        assert charges(again) == BOTH
        assert (again.spent(), again.spent_delta()) == (WHOLE, WHOLE_DELTA)
        again.charge(pure("new", "a", 1), FREE, "north")
        again.charge(in_rho("q", "c", RHO_BUDGET.rho - RHO), FREE, "north")
        again.settle(PURE[0], "the first answer")
    with closing(Ledger(path, PEOPLE, "n1")) as again:
        assert (again.spent(), again.spent_delta()) == (Fraction(7, 12) + 2 + 1, WHOLE_DELTA)
        with refused("answered before", "step-answered"):
            again.settle(PURE[0], "another one")


def test_a_total_below_what_was_spent_takes_all_lines_over_and_lets_nothing_more_be_spent(tmp_path, other):
    ledger = declared(tmp_path / "low.sqlite", total=Fraction(1, 2))
    ledger.merge(other)
    assert ledger.spent() == WHOLE > Fraction(1, 2)
    with refused(r"0 left of 0.5 \(.* more than that is spent: the total was lowered", "budget-exhausted"):
        ledger.charge(pure("new", "a", "1/100"), FREE, "north")


def test_the_mark_of_a_journal_holds_on(ledger, other):
    """What a node's journal knows of its ledger: so many lines, the last with this link."""
    with closing(Ledger(other, PEOPLE)) as before:
        end = before.end()
    ledger.merge(other)
    ledger.check_extends(*end)
    ledger.check_extends(*ledger.end())
    for lines, link in ((end[0] + 1, end[1]), (end[0], "0" * 64), (end[0] - 1, end[1])):
        with refused("it was set back, or is another one"):
            ledger.check_extends(lines, link)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE lines SET epsilon = '1/100' WHERE book = 1 AND step = 'a' AND run = 'r'",
        "UPDATE lines SET rho = '1/1000' WHERE book = 1 AND rho = '1/50'",
        "UPDATE lines SET terms = '{}' WHERE book = 1 AND position = 1",
        "DELETE FROM lines WHERE book = 1 AND position = 2",
        "DELETE FROM lines WHERE book = 1",
        "DELETE FROM lines WHERE book = 1 AND position = 5",
        "DELETE FROM lines WHERE book = 1 AND position > 1",
        "DELETE FROM lines WHERE kind = 'merge'",
        "UPDATE lines SET book = 2 WHERE book = 1",
    ],
)
def test_what_was_merged_cannot_be_changed_or_taken_out_afterwards(ledger, other, change):
    ledger.merge(other)
    # A line after the others: one that is cut off at the end of the first book is found by the journal alone.
    ledger.charge(pure("new", "a", 1), FREE, "north")
    ledger.close()
    tamper(ledger._path, change)
    with refused("changed or taken out|lines that were taken over are missing"):
        Ledger(ledger._path, PEOPLE)


@pytest.mark.parametrize("version", ["0", "2", "x"])
def test_a_ledger_of_another_version_is_refused(ledger, other, version):
    tamper(other, f"UPDATE about SET value = '{version}' WHERE key = 'format_version'")
    lines = lines_of(ledger._path), lines_of(other)
    for action in (lambda: Ledger(other, PEOPLE), lambda: declared(other), lambda: ledger.merge(other)):
        with refused(f"its format_version {version} is not 1"):
            action()
    assert (lines_of(ledger._path), lines_of(other)) == lines


def test_those_of_other_people_are_refused(ledger, tmp_path):
    declared(tmp_path / "others.sqlite", name="others").close()
    with refused("belongs to population 'others', not 'people'"):
        ledger.merge(tmp_path / "others.sqlite")


def test_steps_that_were_paid_are_free_for_the_node_that_paid_them_and_take_no_other_price(ledger, other):
    with closing(Ledger(other, PEOPLE, "n1")) as before:
        before.settle(BOTH[1], "y")
    ledger.merge(other)
    assert {e.node for e in charged(ledger)} == {"n1"}
    own = Ledger(ledger._path, PEOPLE, "n1")
    for charge in BOTH:
        own.charge(charge, FREE, "north")
    assert (own.spent(), len(charges(own))) == (WHOLE, 4)
    own.settle(BOTH[1], "y")
    with refused("answered before", "step-answered"):
        own.settle(BOTH[1], "z")
    for another in (pure("r", "a", 1), in_rho("q", "b", "1/49")):
        with refused("answered before with other content", "step-changed"):
            own.charge(another, FREE, "north")
    # Another node's runs of the same names are others.
    assert ledger.spent("q") == ledger.spent("r") == 0
    ledger.charge(PURE[0], FREE, "south")
    assert own.spent() == ledger.spent() == WHOLE + Fraction(1, 4)


def test_the_rows_a_person_price_every_line_that_was_merged(tmp_path, other):
    ledger = declared(tmp_path / "three.sqlite", total=1000, rows=3)
    ledger.merge(other)
    delta_of_pure = sum(e.added[1] for e in charged(ledger) if not isinstance(e.charge.loss, ZCDP))
    assert delta_of_pure > 3 * DELTA_OF_PURE
    assert ledger.spent() == Fraction(7, 4) + RHO_BUDGET.filter(3).spent(9 * RHO)
    assert sum(e.added[0] for e in ledger.entries()) == ledger.spent()
    assert ledger.spent_delta() == delta_of_pure + DELTA


class TestMerge:
    """Into a ledger that was charged before."""

    @pytest.fixture
    def ledger(self, tmp_path):
        ledger = declared(tmp_path / "new.sqlite", total=100)
        ledger.charge(PURE[0], FREE, "hospital")
        return ledger

    def test_it_keeps_its_own_terms_and_adds_what_was_spent(self, ledger, other):
        with closing(Ledger(other, PEOPLE)) as before:
            before.change(Population(PEOPLE, Fraction(7), Fraction(1)), before.population)
        was = ledger.population
        assert ledger.merge(other) == 6
        assert ledger.population == was
        assert ledger.spent() == Fraction(1, 4) + WHOLE
        assert ledger.spent("r") == Fraction(1, 4), "its own run; the other's is another node's"
        assert Ledger(ledger._path, PEOPLE, "n1").spent("r") == Fraction(7, 12)
        assert [e.terms["lines"] for e in ledger.entries() if e.kind is Kind.MERGE] == [6]
        assert sum(e.added[0] for e in ledger.entries()) == ledger.spent()
        assert sum(e.added[1] for e in ledger.entries()) == ledger.spent_delta()

    def test_the_other_is_refused_from_then_on(self, ledger, other, tmp_path):
        ledger.merge(other)
        lines, spent = lines_of(ledger._path), ledger.spent()
        for action in (
            lambda: Ledger(other, PEOPLE),
            lambda: declared(other, total=5),
            lambda: declared(other, total=7),
            lambda: ledger.merge(other),
            lambda: declared(tmp_path / "third.sqlite").merge(other),
        ):
            with refused("merged into another ledger of these people"):
                action()
        assert (lines_of(ledger._path), ledger.spent()) == (lines, spent)

    def test_a_process_that_has_the_other_open_charges_nothing_to_it_any_more(self, ledger, tmp_path):
        open_ = declared(tmp_path / "other.sqlite", node="n1")
        open_.charge(PURE[0], FREE, "north")
        ledger.merge(tmp_path / "other.sqlite")
        with refused("merged into another ledger of these people"):
            open_.charge(PURE[1], FREE, "north")

    def test_a_crash_between_the_two_commits_is_mended_by_merging_again(self, ledger, other):
        """The first file has the lines, and the other is not closed yet."""
        merge_and_crash(ledger, other)
        lines, spent = lines_of(ledger._path), ledger.spent()
        ledger.close()
        again = Ledger(ledger._path, PEOPLE)
        assert again.merge(other) == 0, "no line is new"
        assert (lines_of(again._path), again.spent()) == (lines, spent)
        with refused("merged into another"):
            Ledger(other, PEOPLE)

    def test_lines_that_came_after_the_crash_are_taken_too(self, ledger, tmp_path):
        path = tmp_path / "other.sqlite"
        with closing(declared(path, node="n1")) as other:
            other.charge(PURE[0], FREE, "north")
        merge_and_crash(ledger, path)
        with closing(Ledger(path, PEOPLE, "n1")) as other:
            other.charge(PURE[1], FREE, "north")
        assert ledger.merge(path) == 1
        assert ledger.spent() == Fraction(1, 4) + Fraction(7, 12)
        assert [e.terms["lines"] for e in ledger.entries() if e.kind is Kind.MERGE] == [2, 3]
        Ledger(ledger._path, PEOPLE).close()

    def test_one_that_was_set_back_since_brings_nothing_and_loses_nothing(self, ledger, other, tmp_path):
        path = tmp_path / "back.sqlite"
        copy_of(other, path)
        with closing(Ledger(other, PEOPLE, "n1")) as later:
            later.charge(in_rho("q", "c", "1/10"), FREE, "north")
        ledger.merge(other)
        lines, spent = lines_of(ledger._path), ledger.spent()
        assert ledger.merge(path) == 0
        assert (lines_of(ledger._path), ledger.spent()) == (lines, spent)

    def copies(self, tmp_path, *steps):
        """A ledger and a copy of it, each of which was charged other steps since."""
        paths = tmp_path / "first.sqlite", tmp_path / "second.sqlite"
        with closing(declared(paths[0])) as ledger:
            ledger.charge(PURE[0], FREE, "north")
        paths[1].write_bytes(paths[0].read_bytes())
        for number, (path, step) in enumerate(zip(paths, steps, strict=True), start=1):
            with closing(Ledger(path, PEOPLE)) as ledger:
                ledger.charge(pure("r", step, Fraction(number, 8)), FREE, "north")
                ledger.charge(in_rho(step, "rho", RHO_BUDGET.rho / 2), FREE, "north")
        return paths

    def test_a_copy_that_went_on_its_own_way_brings_what_it_was_charged_since_and_nothing_twice(self, tmp_path):
        first, second = self.copies(tmp_path, "b", "c")
        with closing(Ledger(second, PEOPLE)) as other:
            end = other.end()
        with closing(Ledger(first, PEOPLE)) as ledger:
            own = ledger.end()
            assert ledger.merge(second) == 2
            assert ledger.spent() == Fraction(1, 4) + Fraction(3, 8) + 2 * RHO_BUDGET.filter().spent(RHO_BUDGET.rho / 2)
            assert ledger.spent("r") == Fraction(5, 8), "one node's run, that both have gone on with"
            assert sum(e.added[0] for e in ledger.entries()) == ledger.spent()
        with closing(Ledger(first, PEOPLE)) as ledger:
            for mark in (own, end, ledger.end()):
                ledger.check_extends(*mark)
            with refused("set back"):
                ledger.check_extends(end[0], "0" * 64)

    def test_a_copy_that_charged_the_same_step_anew_is_refused_and_nothing_is_changed(self, tmp_path):
        paths = self.copies(tmp_path, "b", "b")
        lines = [lines_of(path) for path in paths]
        with closing(Ledger(paths[0], PEOPLE)) as ledger, refused("it charged the same steps otherwise"):
            ledger.merge(paths[1])
        assert [lines_of(path) for path in paths] == lines
        for path in paths:
            Ledger(path, PEOPLE).close()

    def test_a_copy_that_is_as_it_was_brings_nothing_and_is_closed(self, ledger, tmp_path):
        copy = tmp_path / "copy.sqlite"
        copy_of(ledger._path, copy)
        lines = lines_of(ledger._path)
        assert ledger.merge(copy) == 0
        assert lines_of(ledger._path) == lines
        with refused("merged into another"):
            Ledger(copy, PEOPLE)

    def test_the_same_steps_of_the_same_node_in_another_ledger_are_refused(self, ledger, tmp_path):
        """A step is charged once in a ledger: what a second file charged for it cannot be added."""
        with closing(declared(tmp_path / "other.sqlite")) as other:
            other.charge(PURE[0], FREE, "north")
        lines = lines_of(ledger._path)
        with refused("it charged the same steps otherwise: it may be a copy of this ledger"):
            ledger.merge(tmp_path / "other.sqlite")
        assert lines_of(ledger._path) == lines
        Ledger(tmp_path / "other.sqlite", PEOPLE).close()

    def test_people_with_more_rows_are_not_taken_in_before_they_are_declared(self, ledger, tmp_path):
        with closing(declared(tmp_path / "other.sqlite", rows=3, node="n1")) as other:
            other.charge(PURE[0], FREE, "north")
        with refused("more rows each; raise rows per person first"):
            ledger.merge(tmp_path / "other.sqlite")
        ledger.change(replace(ledger.population, rows_per_person=3), ledger.population)
        ledger.merge(tmp_path / "other.sqlite")
        assert ledger.spent() == Fraction(3, 2)

    def test_a_tampered_one_is_refused_and_nothing_is_taken_over(self, ledger, tmp_path):
        path = tmp_path / "other.sqlite"
        with closing(declared(path, node="n1")) as other:
            other.charge(PURE[0], FREE, "north")
            other.charge(PURE[1], FREE, "north")
        tamper(path, "UPDATE lines SET epsilon = '1/100' WHERE kind = 'charge' AND step = 'a'")
        with refused("changed or taken out"):
            ledger.merge(path)
        assert len(ledger.entries()) == 2

    def test_one_that_took_in_another_brings_that_along(self, ledger, other, tmp_path):
        second = tmp_path / "second.sqlite"
        with closing(Ledger(other, PEOPLE)) as third:
            end = third.end()
        with closing(declared(second, node="n2")) as between:
            between.charge(PURE[0], FREE, "south")
            between.merge(other)
            last, spent = between.end(), between.spent()
        assert ledger.merge(second) == 2 + 5 + 1
        assert ledger.spent() == Fraction(1, 4) + spent
        assert sum(e.added[0] for e in ledger.entries()) == ledger.spent()
        for mark in (end, last, ledger.end()):
            ledger.check_extends(*mark)
        assert Ledger(ledger._path, PEOPLE, "n1").spent("q") == OF_RHO

    def test_an_answer_that_the_other_gave_after_the_crash_is_known_too(self, ledger, tmp_path):
        """Else a second answer to a charge that is here could leave."""
        path = tmp_path / "other.sqlite"
        with closing(declared(path, node="n1")) as other:
            other.charge(PURE[0], FREE, "north")
        merge_and_crash(ledger, path)
        with closing(Ledger(path, PEOPLE, "n1")) as other:
            other.settle(PURE[0], "the first answer")
        ledger.merge(path)
        with refused("answered before", "step-answered"):
            Ledger(ledger._path, PEOPLE, "n1").settle(PURE[0], "another one")

    def test_itself_cannot_be_merged(self, ledger):
        spent, lines = ledger.spent(), lines_of(ledger._path)
        with pytest.raises(PrivityError) as caught:
            ledger.merge(ledger._path)
        assert caught.value.code == "ledger-unusable"
        assert (ledger.spent(), lines_of(ledger._path)) == (spent, lines)
        Ledger(ledger._path, PEOPLE).close()

    def test_what_is_not_there_or_no_ledger_is_refused(self, ledger, tmp_path):
        (tmp_path / "notes.txt").write_text("not a database " * 500)
        for name, match in (("none.sqlite", "there is no such ledger"), ("notes.txt", "not a database")):
            with refused(match):
                ledger.merge(tmp_path / name)
        assert not (tmp_path / "none.sqlite").exists()
