"""The ledger: nothing is ever spent beyond what the owner allows, whatever happens in between."""

import multiprocessing
import random
import sqlite3
import tempfile
import threading
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from common.errors import PrivityError
from common.privacy.ledger import MEMORY, Allowance, Charge, Ledger

ONE = Allowance(Fraction(1), Fraction(1))
PEOPLE = "people"


def book(path=MEMORY, population=PEOPLE):
    return Ledger(path, population)


def charge(ledger, step, epsilon, *, run="r", allowance=ONE, delta=0):
    ledger.charge(Charge(run, step, Fraction(epsilon), Fraction(delta)), allowance, "hospital")


def settle(ledger, answer, *, run="r", step="a"):
    ledger.settle(Charge(run, step, Fraction(1, 4)), answer)


def charges(ledger):
    return [entry.charge for entry in ledger.entries()]


def test_three_thirds_fit_into_one_exactly():
    ledger = book()
    for step in "abc":
        charge(ledger, step, "1/3")
    assert ledger.spent() == 1
    with pytest.raises(PrivityError):
        charge(ledger, "d", Fraction(1, 10**25))


def test_ten_tenths_fit_into_one_exactly():
    ledger = book()
    for step in range(10):
        charge(ledger, str(step), "0.1")
    assert ledger.spent() == 1


def test_the_message_says_what_was_asked_what_is_left_and_of_how_much():
    ledger = book()
    charge(ledger, "a", "3/4")
    with pytest.raises(PrivityError) as caught:
        charge(ledger, "b", "1/2")
    assert caught.value.code == "budget-exhausted"
    assert caught.value.message == "hospital: asked 1/2, 1/4 left of 1 for population 'people'"
    assert ledger.spent() == Fraction(3, 4)


def test_the_allowance_of_one_run_holds_within_a_larger_total():
    ledger, allowance = book(), Allowance(Fraction(10), Fraction(1))
    charge(ledger, "a", 1, run="r1", allowance=allowance)
    with pytest.raises(PrivityError, match="0 left of 1 "):
        charge(ledger, "b", "1/10", run="r1", allowance=allowance)
    charge(ledger, "b", 1, run="r2", allowance=allowance)
    assert ledger.spent("r1") == ledger.spent("r2") == 1


@pytest.mark.parametrize("seed", range(5))
def test_the_allowance_of_each_run_holds_whoever_charges_them_in_whatever_order(tmp_path, seed):
    order = random.Random(seed)
    ledgers = [book(tmp_path / "ledger.sqlite") for _ in range(2)]
    spent = Counter()
    for step in range(60):
        run, ledger = order.choice("abc"), order.choice(ledgers)
        if spent[run] == 10:
            with pytest.raises(PrivityError, match="0 left of 1 "):
                charge(ledger, str(step), "1/10", run=run, allowance=Allowance(None, Fraction(1)))
        else:
            charge(ledger, str(step), "1/10", run=run, allowance=Allowance(None, Fraction(1)))
            spent[run] += 1
        asked = order.choice("abc")
        assert order.choice(ledgers).spent(asked) == Fraction(spent[asked], 10)
    assert ledgers[0].spent() == ledgers[1].spent() == Fraction(spent.total(), 10)


def test_delta_has_an_allowance_of_its_own():
    ledger = book()
    with pytest.raises(PrivityError, match="asked delta 1/1000, 0 left of 0"):
        charge(ledger, "a", "1/2", delta="0.001")
    allowance = Allowance(Fraction(1), Fraction(1), Fraction(1, 500), Fraction(1, 1000))
    charge(ledger, "a", "1/2", delta="0.001", allowance=allowance)
    assert ledger.spent_delta() == Fraction(1, 1000)
    with pytest.raises(PrivityError, match="asked delta"):
        charge(ledger, "b", "1/4", delta="0.000001", allowance=allowance)
    charge(ledger, "b", "1/4", allowance=allowance)
    with pytest.raises(PrivityError, match="asked delta 1/400"):
        ledger.check(Fraction(1, 8), Fraction(1, 400), allowance, "hospital")
    with pytest.raises(PrivityError, match="asked delta 1/1000, 0 left of 0"):
        ledger.check(Fraction(1, 8), Fraction(1, 1000), Allowance(None, None), "hospital")


def test_no_limit_is_a_running_total():
    ledger = book()
    for step in range(5):
        charge(ledger, str(step), 30, allowance=Allowance(None, None))
    assert ledger.spent() == 150


def test_a_repeat_is_free_even_when_nothing_is_left():
    ledger = book()
    charge(ledger, "a", 1)
    charge(ledger, "a", 1)
    assert ledger.spent() == 1
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize(("run", "step"), [("s", "a"), ("r", "b")])
def test_another_run_or_step_is_paid_again(run, step):
    ledger = book()
    charge(ledger, "a", "1/4")
    charge(ledger, step, "1/4", run=run)
    assert ledger.spent() == Fraction(1, 2)


def test_a_charge_takes_one_answer_and_no_second_one(tmp_path):
    ledger = book(tmp_path / "ledger.sqlite")
    charge(ledger, "a", "1/4")
    assert [e.answered for e in ledger.entries()] == [False]
    settle(ledger, "first")
    settle(ledger, "first")
    again = book(tmp_path / "ledger.sqlite")
    charge(again, "a", "1/4")  # a repetition stays free, but
    for opened in (ledger, again):
        with pytest.raises(PrivityError, match="step a of r was answered before") as caught:
            settle(opened, "second")
        assert caught.value.code == "step-answered"
    settle(again, "first")
    assert [e.answered for e in again.entries()] == [True]


@pytest.mark.parametrize("other", [{"run": "s"}, {"step": "b"}])
def test_an_answer_without_its_charge_is_refused(other):
    ledger = book()
    charge(ledger, "a", "1/4")
    with pytest.raises(PrivityError, match="holds no charge") as caught:
        settle(ledger, "first", **other)
    assert caught.value.code == "step-refused"


@pytest.mark.parametrize("other", ["1/8", "1/2"])
def test_another_amount_for_a_charged_step_is_refused(other):
    ledger = book()
    charge(ledger, "a", "1/4")
    with pytest.raises(PrivityError) as caught:
        charge(ledger, "a", other)
    assert caught.value.code == "step-changed"
    assert ledger.spent() == Fraction(1, 4)


@pytest.mark.parametrize("amount", ["-1/100", -1, "-1/2"])
def test_nothing_is_ever_refunded(amount):
    ledger = book()
    charge(ledger, "a", "1/2")
    with pytest.raises(ValueError, match="not negative"):
        charge(ledger, "b", amount)
    assert ledger.spent() == Fraction(1, 2)


def test_what_is_asked_in_advance_is_checked_against_the_total_and_charges_nothing():
    ledger = book()
    charge(ledger, "a", "3/4")
    ledger.check(Fraction(1, 4), Fraction(0), ONE, "hospital")
    with pytest.raises(PrivityError, match="asked 1/3, 1/4 left of 1") as caught:
        ledger.check(Fraction(1, 3), Fraction(0), ONE, "hospital")
    assert caught.value.code == "budget-exhausted"
    assert ledger.spent() == Fraction(3, 4)


class TestUnusableFiles:
    """Each is refused at opening or at the charge, and says why; nothing goes on unprotected."""

    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "ledger.sqlite"
        ledger = book(path)
        for step in "abc":
            charge(ledger, step, "1/10")
        ledger.close()
        return path

    def refused(self, path, match, population=PEOPLE):
        with pytest.raises(PrivityError, match=match) as caught:
            book(path, population)
        assert caught.value.code == "ledger-unusable"

    def test_a_ledger_of_other_people(self, path):
        self.refused(path, "belongs to population 'people', not 'others'", "others")

    def test_no_ledger_at_all(self, tmp_path):
        path = tmp_path / "notes.txt"
        path.write_text("not a database " * 500)
        self.refused(path, "not a database")
        other = tmp_path / "other.sqlite"
        with sqlite3.connect(other) as db:
            db.execute("CREATE TABLE rows (value TEXT)")
        db.close()
        self.refused(other, "no ledger")

    @pytest.mark.parametrize(
        "change",
        [
            "DELETE FROM charges WHERE step = 'b'",
            "UPDATE charges SET epsilon = '1/100' WHERE step = 'a'",
            "UPDATE charges SET run = 's' WHERE step = 'c'",
        ],
    )
    def test_a_line_changed_or_taken_out(self, path, change):
        with sqlite3.connect(path) as db:
            db.execute(change)
        db.close()
        self.refused(path, "changed or taken out")

    def test_damaged_pages(self, path):
        data = bytearray(path.read_bytes())
        for start in range(4096, len(data), 512):
            data[start : start + 64] = bytes(64)
        path.write_bytes(bytes(data))
        self.refused(path, "damaged|malformed|SQLite says")

    def test_a_cut_file(self, path):
        path.write_bytes(path.read_bytes()[:5000])
        self.refused(path, "damaged|malformed|SQLite says")

    def test_a_full_disk(self, path):
        ledger = book(path)
        ledger._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages = ledger._db.execute("PRAGMA page_count").fetchone()[0]
        ledger._db.execute(f"PRAGMA max_page_count = {pages}")

        def fill():
            for step in range(2000):
                charge(ledger, f"step-{step}", Fraction(1, 10**6))

        with pytest.raises(PrivityError, match="full") as caught:
            fill()
        assert caught.value.code == "no-room"
        spent, count = ledger.spent(), len(ledger.entries())
        assert spent == Fraction(3, 10) + Fraction(count - 3, 10**6)
        ledger.close()
        assert book(path).spent() == spent

    def test_the_clock_decides_nothing(self, path, monkeypatch):
        class Past:
            @staticmethod
            def now(_zone):
                from datetime import UTC, datetime

                return datetime(1970, 1, 1, tzinfo=UTC)

        monkeypatch.setattr("common.privacy.ledger.datetime", Past)
        ledger = book(path)
        charge(ledger, "d", "7/10")
        with pytest.raises(PrivityError, match="0 left of 1"):
            charge(ledger, "e", "1/10")
        ledger.close()
        assert [e.charge.step for e in book(path).entries()] == list("abcd")


AMOUNTS = st.sampled_from([Fraction(1, 3), Fraction(1, 7), Fraction(2, 5), Fraction("0.1"), Fraction(1)])
ALLOWANCE = Allowance(Fraction(5, 3), Fraction(2, 3))
RUNS, STEPS = st.sampled_from(["r1", "r2", "r3"]), st.sampled_from(["s1", "s2", "s3"])


class AnyHistory(RuleBasedStateMachine):
    """Charges, answers, repetitions and crashes in any order, against plain dictionaries."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "ledger.sqlite"
        self.ledger = book(self.path)
        self.lost = []
        self.paid = {}
        self.answers = {}

    def spent(self, run=None):
        return sum((e for (r, _), e in self.paid.items() if run in (None, r)), Fraction(0))

    @rule(run=RUNS, step=STEPS, epsilon=AMOUNTS)
    def charge(self, run, step, epsilon):
        key = (run, step)
        if key in self.paid:
            expected = None if self.paid[key] == epsilon else "step-changed"
        elif self.spent() + epsilon > ALLOWANCE.total or self.spent(run) + epsilon > ALLOWANCE.per_run:
            expected = "budget-exhausted"
        else:
            expected = None
            self.paid[key] = epsilon
        refused = None
        try:
            self.ledger.charge(Charge(run, step, epsilon), ALLOWANCE, "hospital")
        except PrivityError as error:
            refused = error.code
        assert refused == expected

    @rule(run=RUNS, step=STEPS, answer=st.sampled_from(["x", "y"]))
    def settle(self, run, step, answer):
        if (run, step) not in self.paid:
            expected = "step-refused"
        else:
            expected = None if self.answers.setdefault((run, step), answer) == answer else "step-answered"
        refused = None
        try:
            self.ledger.settle(Charge(run, step, Fraction(1)), answer)
        except PrivityError as error:
            refused = error.code
        assert refused == expected

    @rule()
    def crash(self):
        self.lost.append(self.ledger)  # dropped without close: what it wrote must be there
        self.ledger = book(self.path)

    @rule()
    def restart(self):
        self.ledger.close()
        self.ledger = book(self.path)

    @invariant()
    def spent_is_what_was_paid_and_within_the_allowance(self):
        assert {(c.run, c.step): c.epsilon for c in charges(self.ledger)} == self.paid
        assert self.ledger.spent() == self.spent() <= ALLOWANCE.total
        for run in ("r1", "r2", "r3"):
            assert self.ledger.spent(run) <= ALLOWANCE.per_run

    def teardown(self):
        for ledger in [*self.lost, self.ledger]:
            ledger.close()
        self.folder.cleanup()


TestAnyHistory = AnyHistory.TestCase
TestAnyHistory.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def spend(path: Path, name: str, start, accepted) -> None:
    ledger = book(path)
    start.wait()
    count = 0
    for i in range(12):
        try:
            charge(ledger, f"{name}-{i}", "1/10", run=name)
            count += 1
        except PrivityError:
            pass
    accepted.put(count)
    ledger.close()


def test_two_processes_spend_the_whole_budget_together_and_no_more(tmp_path):
    path, context = tmp_path / "ledger.sqlite", multiprocessing.get_context("spawn")
    start, accepted = context.Event(), context.Queue()
    processes = [context.Process(target=spend, args=(path, name, start, accepted)) for name in ("a", "b")]
    for process in processes:
        process.start()
    start.set()
    counts = [accepted.get(timeout=20) for _ in processes]
    for process in processes:
        process.join()
    ledger = book(path)
    assert sum(counts) == 10
    assert ledger.spent() == 1
    assert len(set(charges(ledger))) == 10


def test_a_charge_waits_until_another_that_has_begun_is_written(tmp_path):
    reached, go_on = threading.Event(), threading.Event()

    class SlowLedger(Ledger):
        def _append(self, charge):
            reached.set()
            go_on.wait(5)
            super()._append(charge)

    slow, other = SlowLedger(tmp_path / "ledger.sqlite", PEOPLE), book(tmp_path / "ledger.sqlite")
    first = threading.Thread(target=charge, args=(slow, "a", "3/4"))
    first.start()
    reached.wait(5)
    threading.Timer(0.2, go_on.set).start()
    with pytest.raises(PrivityError, match="1/4 left of 1"):
        charge(other, "b", "3/4")
    first.join()
    assert [c.step for c in charges(other)] == ["a"]
