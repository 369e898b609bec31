"""Ledgers of earlier versions, and of other folders: taken over with every line, priced anew, never counted twice.

The files of earlier versions are written by ``tests.harness.ledgers.earlier_ledger``, whose chain is held against one
that version 2 itself wrote.
"""

import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest

from privity.common.errors import PrivityError
from privity.common.privacy.ledger import Allowance, Charge, Kind, Ledger
from privity.common.privacy.loss_conversion import converted
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.population import Population
from privity.common.privacy.privacy_filter import spent_under_unknown_cap
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PureDP
from privity.common.privacy.run_budget import RhoBudget
from tests.harness.ledgers import PEOPLE, charged, charges, declared, earlier_ledger

DELTA = Fraction(1, 10**9)
RHO_BUDGET = RhoBudget(Fraction(2), DELTA)


def pure(run, step, epsilon):
    return Charge(run, step, PureDP(Fraction(epsilon), RELATION))


def in_rho(run, step, rho):
    return Charge(run, step, ZCDP(Fraction(rho), RELATION))


def earlier(path, lines, **options):
    return earlier_ledger(path, lines, delta=DELTA, **options)


DELTA_OF_PURE = Fraction(1, 1000)
PURE = [pure("r", "a", "1/4"), Charge("r", "b", ApproxDP(Fraction(1, 3), DELTA_OF_PURE, RELATION))]
IN_RHO = [in_rho("q", "a", "1/100"), in_rho("q", "b", "1/50")]
RHO = Fraction(3, 100)
BOTH = [PURE[0], IN_RHO[0], PURE[1], IN_RHO[1]]
WHOLE = Fraction(7, 12) + spent_under_unknown_cap(RHO, DELTA)
WHOLE_DELTA = Fraction(1, 1000) + DELTA
NEEDED = converted(RHO, DELTA)
"""What version 2 charged for it."""

FREE = Allowance(budget=RHO_BUDGET)


@pytest.fixture(params=["in its place", "merged"])
def way(request):
    return request.param


def take_over(path, way, *, node="", rows=1, total=1000):
    """The ledger of the people, with all lines of the file: by either of the two ways."""
    if way == "in its place":
        return declared(path, total=total, rows=rows, node=node)
    ledger = declared(path.with_name("new.sqlite"), total=total, rows=rows, node=node)
    ledger.merge(path, node)
    return ledger


def refused(match, code="ledger-unusable"):
    return pytest.raises(PrivityError, match=match, check=lambda error: error.code == code)


def lines_of(path):
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT * FROM lines ORDER BY id").fetchall()


def tamper(path, statement):
    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute(statement).rowcount > 0


def merge_and_crash(ledger, path, node=""):
    """Merge, cut off before the other file is closed: it is as it was. How many lines were new."""
    saved = path.with_suffix(".saved")
    with closing(sqlite3.connect(path)) as now, closing(sqlite3.connect(saved)) as then:
        now.backup(then)
    taken = ledger.merge(path, node)
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    saved.rename(path)
    return taken


def test_the_helper_writes_what_version_2_wrote(tmp_path):
    """The end of the chain is what the code of version 2 gave for these charges at that time."""
    end = earlier(tmp_path / "l", [*PURE, *IN_RHO])
    assert end == (4, "179ce7c46f006cb720d751b93a4fe2b0e2b4bc6da0eae23458e253a1384f1e89")


def test_every_line_is_taken_over_and_priced_anew_where_it_is_in_rho(tmp_path, way):
    old = tmp_path / "old.sqlite"
    earlier(old, BOTH, answers=["x", "y", None, None])
    with pytest.raises(PrivityError, match="earlier version, which states no total; take it over with: privity popul"):
        Ledger(old, PEOPLE)
    ledger = take_over(old, way)
    lines = charged(ledger)
    assert [e.charge for e in lines] == BOTH
    assert [e.answered for e in lines] == [True, True, False, False]
    assert {e.at for e in lines} == {"2025-01-31T12:00:00+00:00"}
    # As it was charged then, and the rest as a line of its own.
    others = [e.added for e in lines if not isinstance(e.charge.loss, ZCDP)]
    assert others == [(Fraction(1, 4), 0), (Fraction(1, 3), DELTA_OF_PURE)]
    assert sum(e.added[0] for e in lines if isinstance(e.charge.loss, ZCDP)) == NEEDED
    (adjustment,) = [e for e in ledger.entries() if e.kind is Kind.ADJUSTMENT]
    more = spent_under_unknown_cap(RHO, DELTA) - NEEDED
    assert more > 0
    assert (adjustment.charge.run, adjustment.charge.loss) == ("q", PureDP(more, RELATION))
    assert adjustment.added == (more, 0)
    assert (ledger.spent(), ledger.spent_delta()) == (WHOLE, WHOLE_DELTA)
    assert (ledger.spent("q"), ledger.spent("r")) == (spent_under_unknown_cap(RHO, DELTA), Fraction(7, 12))
    assert sum(e.added[0] for e in ledger.entries()) == WHOLE
    assert sum(e.added[1] for e in ledger.entries()) == WHOLE_DELTA


def test_a_ledger_without_rho_is_taken_over(tmp_path, way):
    earlier(tmp_path / "old.sqlite", PURE, version="1")
    ledger = take_over(tmp_path / "old.sqlite", way)
    assert charges(ledger) == PURE
    assert (ledger.spent(), ledger.spent_delta()) == (Fraction(7, 12), Fraction(1, 1000))
    assert not [e for e in ledger.entries() if e.kind is Kind.ADJUSTMENT]


def test_one_without_lines_is_taken_over(tmp_path, way):
    earlier(tmp_path / "old.sqlite", [])
    ledger = take_over(tmp_path / "old.sqlite", way)
    assert [e.kind for e in ledger.entries()] == [Kind.POPULATION]
    assert ledger.spent() == 0


def test_what_is_taken_over_is_on_disk_and_goes_on(tmp_path, way):
    earlier(tmp_path / "old.sqlite", BOTH)
    ledger = take_over(tmp_path / "old.sqlite", way)
    path = ledger._path
    before = lines_of(path)
    ledger.close()
    with closing(declared(path)) as again:
        assert lines_of(path) == before, "declared again it is as it was"
        assert again.spent() == WHOLE
        again.charge(pure("new", "a", 1), FREE, "north")
        again.charge(in_rho("new", "b", RHO_BUDGET.rho), FREE, "north")
        assert again.spent() == WHOLE + 1 + 2
        again.settle(PURE[0], "the first answer")
    with closing(Ledger(path, PEOPLE)) as again:
        assert (again.spent(), again.spent_delta()) == (WHOLE + 3, WHOLE_DELTA + DELTA)
        with refused("answered before", "step-answered"):
            again.settle(PURE[0], "another one")


def test_the_total_binds_with_what_was_spent_before(tmp_path, way):
    earlier(tmp_path / "old.sqlite", BOTH)
    ledger = take_over(tmp_path / "old.sqlite", way, total=WHOLE + Fraction(1, 2))
    with refused("left of", "budget-exhausted"):
        ledger.charge(pure("new", "a", "3/4"), FREE, "north")
    ledger.charge(pure("new", "a", "1/2"), FREE, "north")


def test_a_total_below_what_was_spent_takes_all_lines_over_and_lets_nothing_more_be_spent(tmp_path, way):
    earlier(tmp_path / "old.sqlite", BOTH)
    ledger = take_over(tmp_path / "old.sqlite", way, total=1)
    assert ledger.spent() == WHOLE > 1
    with refused(r"0 left of 1 \(.* more than that is spent: .* priced runs in rho too low\)", "budget-exhausted"):
        ledger.charge(pure("new", "a", "1/100"), FREE, "north")


def test_the_mark_of_a_journal_holds_on(tmp_path, way):
    """What a node's journal knows of its ledger: so many lines, the last with this link."""
    old = tmp_path / "old.sqlite"
    end = earlier(old, BOTH)
    ledger = take_over(old, way)
    ledger.check_extends(*end)
    ledger.check_extends(*ledger.end())
    for lines, link in ((end[0] + 1, end[1]), (end[0], "0" * 64), (end[0] - 1, end[1])):
        with refused("it was set back, or is another one"):
            ledger.check_extends(lines, link)


def test_a_mark_of_lines_that_the_file_had_lost_is_refused(tmp_path, way):
    end = earlier(tmp_path / "whole.sqlite", BOTH)
    earlier(tmp_path / "old.sqlite", BOTH[:3])
    with refused("set back"):
        take_over(tmp_path / "old.sqlite", way).check_extends(*end)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE charges SET epsilon = '1/100' WHERE position = 1",
        "UPDATE charges SET rho = '1/1000' WHERE position = 2",
        "UPDATE charges SET rho = NULL WHERE position = 2",
        "UPDATE charges SET delta = '0' WHERE position = 3",
        "UPDATE charges SET run = 's' WHERE position = 4",
        "UPDATE charges SET at = '2024-01-31T12:00:00+00:00' WHERE position = 4",
        "DELETE FROM charges WHERE position = 1",
        "DELETE FROM charges WHERE position = 2",
    ],
)
def test_a_line_that_was_changed_before_is_refused_and_nothing_is_taken_over(tmp_path, way, change):
    old = tmp_path / "old.sqlite"
    earlier(old, BOTH)
    tamper(old, change)
    with refused("a line was changed or taken out"):
        take_over(old, way)
    with closing(sqlite3.connect(old)) as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert tables == {"about", "charges"}
        assert dict(db.execute("SELECT * FROM about")) == {"format_version": "2", "population": PEOPLE}
    if way == "merged":
        assert [e.kind for e in declared(tmp_path / "new.sqlite").entries()] == [Kind.POPULATION]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE lines SET epsilon = '1/100' WHERE book = 1 AND step = 'a' AND run = 'r'",
        "UPDATE lines SET rho = '1/1000' WHERE book = 1 AND rho = '1/50'",
        "UPDATE lines SET terms = '{}' WHERE book = 1 AND position = 1",
        "DELETE FROM lines WHERE book = 1 AND position = 2",
        "DELETE FROM lines WHERE book = 1",
        "DELETE FROM lines WHERE book = 1 AND position = 4",
        "DELETE FROM lines WHERE book = 1 AND position > 1",
        "DELETE FROM lines WHERE kind = 'merge'",
        "DELETE FROM lines WHERE kind = 'adjustment' AND position < (SELECT max(position) FROM lines WHERE book = 0)",
        "UPDATE lines SET book = 2 WHERE book = 1",
        "UPDATE lines SET epsilon = '0' WHERE kind = 'adjustment'",
    ],
)
def test_what_was_taken_over_cannot_be_changed_or_taken_out_afterwards(tmp_path, way, change):
    earlier(tmp_path / "old.sqlite", BOTH)
    ledger = take_over(tmp_path / "old.sqlite", way)
    # A line after the others: one that is cut off at the end of the first book is found by the journal alone.
    ledger.charge(pure("new", "a", 1), FREE, "north")
    path = ledger._path
    ledger.close()
    tamper(path, change)
    with refused("changed or taken out|lines that were taken over are missing"):
        Ledger(path, PEOPLE)


@pytest.mark.parametrize("version", ["0", "4", "x"])
def test_other_versions_are_not_taken_over(tmp_path, way, version):
    old = tmp_path / "old.sqlite"
    earlier(old, PURE)
    tamper(old, f"UPDATE about SET value = '{version}' WHERE key = 'format_version'")
    with refused("of another version"):
        take_over(old, way)


def test_those_of_other_people_are_not_taken_over(tmp_path, way):
    earlier(tmp_path / "old.sqlite", PURE, name="others")
    with refused("belongs to population 'others', not 'people'"):
        take_over(tmp_path / "old.sqlite", way)


def test_steps_that_were_paid_are_free_for_the_node_that_paid_them_and_take_no_other_price(tmp_path, way):
    earlier(tmp_path / "old.sqlite", BOTH, answers=["x", "y"])
    ledger = take_over(tmp_path / "old.sqlite", way, node="n1")
    assert {e.node for e in charged(ledger)} == {"n1"}
    for charge in BOTH:
        ledger.charge(charge, FREE, "north")
    assert (ledger.spent(), len(charges(ledger))) == (WHOLE, 4)
    ledger.settle(BOTH[0], "x")
    ledger.settle(BOTH[1], "y")
    with refused("answered before", "step-answered"):
        ledger.settle(BOTH[1], "z")
    for other in (pure("r", "a", 1), in_rho("q", "b", "1/49")):
        with refused("answered before with other content", "step-changed"):
            ledger.charge(other, FREE, "north")
    # Another node's runs of the same names are others.
    path = ledger._path
    other = Ledger(path, PEOPLE, "n2")
    assert other.spent("q") == other.spent("r") == 0
    other.charge(PURE[0], FREE, "south")
    assert ledger.spent() == other.spent() == WHOLE + Fraction(1, 4)


def test_a_run_in_rho_that_began_before_gets_no_further_step(tmp_path, way):
    """Its cap is not known, so that what another step costs is not either; pure steps and other runs go on."""
    earlier(tmp_path / "old.sqlite", BOTH)
    ledger = take_over(tmp_path / "old.sqlite", way)
    with refused("its run began under an earlier version of Privity", "step-refused"):
        ledger.charge(in_rho("q", "c", "1/100"), FREE, "north")
    assert (ledger.spent(), len(charges(ledger))) == (WHOLE, 4)
    ledger.charge(pure("q", "scores", "1/8"), FREE, "north")
    ledger.charge(in_rho("another", "c", "1/100"), FREE, "north")
    assert ledger.spent() == WHOLE + Fraction(1, 8) + RHO_BUDGET.filter().spent(Fraction(1, 100))


def test_the_rows_a_person_have_no_smaller_price_than_each_line_for_one_row_would(tmp_path, way):
    """The lines do not tell for how many rows they were priced: it may have been one."""
    earlier(tmp_path / "old.sqlite", BOTH)
    ledger = take_over(tmp_path / "old.sqlite", way, rows=3)
    delta_of_pure = sum(e.added[1] for e in charged(ledger) if not isinstance(e.charge.loss, ZCDP))
    assert delta_of_pure > 3 * DELTA_OF_PURE
    assert ledger.spent() == Fraction(7, 4) + spent_under_unknown_cap(9 * RHO, DELTA)
    assert sum(e.added[0] for e in ledger.entries()) == ledger.spent()
    assert ledger.spent_delta() == delta_of_pure + DELTA


class TestMerge:
    """One ledger takes in another of the same people, whichever program made it."""

    @pytest.fixture(params=["earlier", "of now"])
    def other(self, request, tmp_path):
        path = tmp_path / "other.sqlite"
        if request.param == "earlier":
            earlier(path, BOTH)
        else:
            with closing(declared(path, total=5, node="n1")) as ledger:
                for charge in BOTH:
                    ledger.charge(charge, FREE, "north")
                ledger.change(Population(PEOPLE, Fraction(7), Fraction(1)), ledger.population)
        return path

    @pytest.fixture
    def ledger(self, tmp_path):
        ledger = declared(tmp_path / "new.sqlite", total=100)
        ledger.charge(PURE[0], FREE, "hospital")
        return ledger

    def test_it_keeps_its_own_terms_and_adds_what_was_spent(self, ledger, other):
        with closing(sqlite3.connect(other)) as db:
            earlier = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'charges'").fetchone() is not None
        before = ledger.population
        assert ledger.merge(other, "n1") == (4 if earlier else 6)
        assert ledger.population == before
        of_rho = spent_under_unknown_cap(RHO, DELTA) if earlier else RHO_BUDGET.filter().spent(RHO)
        assert ledger.spent() == Fraction(1, 4) + Fraction(7, 12) + of_rho
        assert ledger.spent("r") == Fraction(1, 4), "its own run; the other's is another node's"
        assert Ledger(ledger._path, PEOPLE, "n1").spent("r") == Fraction(7, 12)
        assert [e.terms["lines"] for e in ledger.entries() if e.kind is Kind.MERGE] == [4 if earlier else 6]
        assert sum(e.added[0] for e in ledger.entries()) == ledger.spent()
        assert sum(e.added[1] for e in ledger.entries()) == ledger.spent_delta()

    def test_the_other_is_refused_from_then_on(self, ledger, other, tmp_path):
        ledger.merge(other, "n1")
        lines, spent = lines_of(ledger._path), ledger.spent()
        for action in (
            lambda: Ledger(other, PEOPLE),
            lambda: declared(other, total=5),
            lambda: declared(other, total=7),
            lambda: ledger.merge(other, "n1"),
            lambda: declared(tmp_path / "third.sqlite").merge(other, "n1"),
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
        merge_and_crash(ledger, other, "n1")
        lines, spent = lines_of(ledger._path), ledger.spent()
        ledger.close()
        again = Ledger(ledger._path, PEOPLE)
        assert again.merge(other, "n1") == 0, "no line is new"
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

    def test_lines_of_an_earlier_version_that_came_after_the_crash_are_priced_with_those_before(self, ledger, tmp_path):
        path, more = tmp_path / "other.sqlite", in_rho("q", "c", "1/10")
        earlier(path, BOTH)
        ledger.merge(path, "n1")
        path.unlink()
        earlier(path, [*BOTH, more])
        ledger.merge(path, "n1")
        whole = spent_under_unknown_cap(RHO + Fraction(1, 10), DELTA)
        assert ledger.spent() == Fraction(1, 4) + Fraction(7, 12) + whole
        assert sum(e.added[0] for e in ledger.entries()) == ledger.spent()

    def test_one_that_was_set_back_since_brings_nothing_and_loses_nothing(self, ledger, tmp_path):
        path = tmp_path / "other.sqlite"
        earlier(path, BOTH)
        ledger.merge(path, "n1")
        lines, spent = lines_of(ledger._path), ledger.spent()
        path.unlink()
        earlier(path, BOTH[:2])
        assert ledger.merge(path, "n1") == 0
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
        with closing(sqlite3.connect(ledger._path)) as now, closing(sqlite3.connect(copy)) as then:
            now.backup(then)
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

    def test_a_tampered_one_of_now_is_refused(self, ledger, tmp_path):
        path = tmp_path / "other.sqlite"
        with closing(declared(path, node="n1")) as other:
            other.charge(PURE[0], FREE, "north")
            other.charge(PURE[1], FREE, "north")
        tamper(path, "UPDATE lines SET epsilon = '1/100' WHERE kind = 'charge' AND step = 'a'")
        with refused("changed or taken out"):
            ledger.merge(path)
        assert len(ledger.entries()) == 2

    def test_one_that_took_in_another_brings_that_along(self, ledger, tmp_path):
        third, second = tmp_path / "third.sqlite", tmp_path / "second.sqlite"
        end = earlier(third, BOTH)
        with closing(declared(second, node="n2")) as other:
            other.charge(PURE[0], FREE, "south")
            other.merge(third, "n3")
            last = other.end()
            spent = other.spent()
        assert ledger.merge(second) == 1 + 1 + 4 + 2
        assert ledger.spent() == Fraction(1, 4) + spent
        assert sum(e.added[0] for e in ledger.entries()) == ledger.spent()
        for mark in (end, last, ledger.end()):
            ledger.check_extends(*mark)
        assert Ledger(ledger._path, PEOPLE, "n3").spent("q") == spent_under_unknown_cap(RHO, DELTA)

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
