"""The ledger: nothing is ever spent beyond what the owner allows, whatever happens in between."""

import multiprocessing
import tempfile
import threading
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from common.errors import PrivityError
from common.privacy.ledger import Allowance, Charge, Ledger

ONE = Allowance("people", Fraction(1), Fraction(1))


def charge(ledger, step, epsilon, *, run="r", allowance=ONE):
    ledger.charge(Charge(run, step, Fraction(epsilon)), allowance, "hospital")


@pytest.mark.parametrize("parts", [3, 7, 10])
def test_equal_parts_fit_into_one_exactly_and_nothing_more(parts):
    ledger = Ledger()
    for step in range(parts):
        charge(ledger, str(step), Fraction(1, parts))
    assert ledger.spent("people") == 1
    with pytest.raises(PrivityError):
        charge(ledger, "one more", Fraction(1, 10**25))


def test_the_message_says_what_was_asked_what_is_left_and_of_how_much():
    ledger = Ledger()
    charge(ledger, "a", "3/4")
    with pytest.raises(PrivityError) as caught:
        charge(ledger, "b", "1/2")
    assert caught.value.code == "budget-exhausted"
    assert caught.value.message == "hospital: asked 1/2, 1/4 left of 1 for population 'people'"
    assert ledger.spent("people") == Fraction(3, 4)


def test_the_allowance_of_one_run_holds_within_a_larger_total():
    ledger, allowance = Ledger(), Allowance("people", Fraction(10), Fraction(1))
    charge(ledger, "a", 1, run="r1", allowance=allowance)
    with pytest.raises(PrivityError, match="0 left of 1 "):
        charge(ledger, "b", "1/10", run="r1", allowance=allowance)
    charge(ledger, "b", 1, run="r2", allowance=allowance)
    assert ledger.spent("people", "r1") == ledger.spent("people", "r2") == 1


def test_what_was_spent_above_a_lowered_total_leaves_nothing_and_no_negative_rest():
    ledger = Ledger()
    charge(ledger, "a", 1)
    with pytest.raises(PrivityError, match="0 left of 1/2"):
        charge(ledger, "b", "1/8", run="s", allowance=Allowance("people", Fraction(1, 2), Fraction(1)))


def test_a_repeat_is_free_even_when_nothing_is_left():
    ledger = Ledger()
    charge(ledger, "a", 1)
    charge(ledger, "a", 1)
    assert ledger.spent("people") == 1
    assert len(ledger.charges("people")) == 1


@pytest.mark.parametrize(("run", "step"), [("s", "a"), ("r", "b")])
def test_a_repeat_is_paid_again_for_another_run_or_step(run, step):
    ledger = Ledger()
    charge(ledger, "a", "1/4")
    charge(ledger, step, "1/4", run=run)
    assert ledger.spent("people") == Fraction(1, 2)


def settle(ledger, answer, *, run="r", step="a", population="people"):
    ledger.settle(Charge(run, step, Fraction(1, 4)), population, answer)


def test_a_charge_takes_one_answer_and_no_second_one(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    charge(ledger, "a", "1/4")
    settle(ledger, "first")
    settle(ledger, "first")
    again = Ledger(tmp_path / "ledger.sqlite")
    charge(again, "a", "1/4")  # a repetition stays free, but
    for opened in (ledger, again):
        with pytest.raises(PrivityError, match="step a of r was answered before") as caught:
            settle(opened, "second")
        assert caught.value.code == "step-answered"
    settle(again, "first")


@pytest.mark.parametrize("other", [{"run": "s"}, {"step": "b"}, {"population": "others"}])
def test_an_answer_without_its_charge_is_refused(other):
    ledger = Ledger()
    charge(ledger, "a", "1/4")
    with pytest.raises(PrivityError, match="holds no charge") as caught:
        settle(ledger, "first", **other)
    assert caught.value.code == "step-refused"
    settle(ledger, "whatever else was answered, this charge has none yet")


@pytest.mark.parametrize("other", ["1/8", "1/2"])
def test_another_amount_for_a_charged_step_is_refused(other):
    ledger = Ledger()
    charge(ledger, "a", "1/4")
    with pytest.raises(PrivityError) as caught:
        charge(ledger, "a", other)
    assert caught.value.code == "step-changed"
    assert ledger.spent("people") == Fraction(1, 4)


@pytest.mark.parametrize("amount", [0, -1, "-1/2"])
def test_nothing_is_ever_refunded(amount):
    ledger = Ledger()
    charge(ledger, "a", "1/2")
    with pytest.raises(ValueError, match="positive"):
        charge(ledger, "b", amount)
    assert ledger.spent("people") == Fraction(1, 2)


def test_populations_are_kept_apart():
    ledger = Ledger()
    charge(ledger, "a", 1)
    charge(ledger, "a", 1, allowance=Allowance("others", Fraction(1), Fraction(1)))
    assert ledger.spent("people") == ledger.spent("others") == 1
    assert ledger.spent("nobody") == 0


def test_a_refused_charge_leaves_the_ledger_usable():
    ledger = Ledger()
    with pytest.raises(PrivityError):
        charge(ledger, "a", 2)
    charge(ledger, "a", "1/2")
    assert [c.epsilon for c in ledger.charges("people")] == [Fraction(1, 2)]


def test_what_is_asked_in_advance_is_checked_against_the_total_and_charges_nothing():
    ledger = Ledger()
    charge(ledger, "a", "3/4")
    ledger.check(Fraction(1, 4), ONE, "hospital")
    with pytest.raises(PrivityError, match="asked 1/3, 1/4 left of 1") as caught:
        ledger.check(Fraction(1, 3), ONE, "hospital")
    assert caught.value.code == "budget-exhausted"
    assert ledger.spent("people") == Fraction(3, 4)


ALLOWANCES = {
    "p": Allowance("p", Fraction(2), Fraction(1)),
    "q": Allowance("q", Fraction(1), Fraction(1)),
    "r": Allowance("r", Fraction(5, 3), Fraction(2, 3)),
}
AMOUNTS = st.sampled_from([Fraction(1, 3), Fraction(1, 7), Fraction(2, 5), Fraction("0.1"), Fraction(1)])


class AnyHistory(RuleBasedStateMachine):
    """Charges, answers, repetitions and crashes in any order, against plain dictionaries."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "ledger.sqlite"
        self.ledger = Ledger(self.path)
        self.lost = []
        self.paid = {}
        self.answers = {}

    def spent(self, population, run=None):
        return sum((e for (p, r, _), e in self.paid.items() if p == population and run in (None, r)), Fraction(0))

    @rule(
        population=st.sampled_from(sorted(ALLOWANCES)),
        run=st.sampled_from(["r1", "r2", "r3"]),
        step=st.sampled_from(["s1", "s2", "s3"]),
        epsilon=AMOUNTS,
    )
    def charge(self, population, run, step, epsilon):
        allowance, key = ALLOWANCES[population], (population, run, step)
        if key in self.paid:
            expected = None if self.paid[key] == epsilon else "step-changed"
        elif (
            self.spent(population) + epsilon > allowance.total
            or self.spent(population, run) + epsilon > allowance.per_run
        ):
            expected = "budget-exhausted"
        else:
            expected = None
            self.paid[key] = epsilon
        refused = None
        try:
            self.ledger.charge(Charge(run, step, epsilon), allowance, "hospital")
        except PrivityError as error:
            refused = error.code
        assert refused == expected

    @rule(
        population=st.sampled_from(sorted(ALLOWANCES)),
        run=st.sampled_from(["r1", "r2", "r3"]),
        step=st.sampled_from(["s1", "s2", "s3"]),
        answer=st.sampled_from(["x", "y"]),
    )
    def settle(self, population, run, step, answer):
        key = (population, run, step)
        if key not in self.paid:
            expected = "step-refused"
        else:
            expected = None if self.answers.setdefault(key, answer) == answer else "step-answered"
        refused = None
        try:
            self.ledger.settle(Charge(run, step, Fraction(1)), population, answer)
        except PrivityError as error:
            refused = error.code
        assert refused == expected

    @rule()
    def crash(self):
        self.lost.append(self.ledger)  # dropped without close: what it wrote must be there
        self.ledger = Ledger(self.path)

    @rule()
    def restart(self):
        self.ledger.close()
        self.ledger = Ledger(self.path)

    @invariant()
    def spent_is_what_was_paid_and_within_the_allowance(self):
        for population, allowance in ALLOWANCES.items():
            charges = self.ledger.charges(population)
            assert {(population, c.run, c.step): c.epsilon for c in charges} == {
                key: e for key, e in self.paid.items() if key[0] == population
            }
            assert self.ledger.spent(population) == self.spent(population) <= allowance.total
            for run in ("r1", "r2", "r3"):
                assert self.ledger.spent(population, run) <= allowance.per_run

    def teardown(self):
        for ledger in [*self.lost, self.ledger]:
            ledger.close()
        self.folder.cleanup()


TestAnyHistory = AnyHistory.TestCase
TestAnyHistory.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def spend(path: Path, name: str, start, accepted) -> None:
    ledger = Ledger(path)
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
    path, context = tmp_path / "ledger.sqlite", multiprocessing.get_context("fork")
    start, accepted = context.Event(), context.Queue()
    processes = [context.Process(target=spend, args=(path, name, start, accepted)) for name in ("a", "b")]
    for process in processes:
        process.start()
    start.set()
    counts = [accepted.get(timeout=20) for _ in processes]
    for process in processes:
        process.join()
    ledger = Ledger(path)
    assert sum(counts) == 10
    assert ledger.spent("people") == 1
    assert len(set(ledger.charges("people"))) == 10


def test_a_charge_waits_until_another_that_has_begun_is_written(tmp_path):
    reached, go_on = threading.Event(), threading.Event()

    class SlowLedger(Ledger):
        def _charges(self, population):
            found = super()._charges(population)
            reached.set()
            go_on.wait(5)
            return found

    slow, other = SlowLedger(tmp_path / "ledger.sqlite"), Ledger(tmp_path / "ledger.sqlite")
    first = threading.Thread(target=charge, args=(slow, "a", "3/4"))
    first.start()
    reached.wait(5)
    threading.Timer(0.2, go_on.set).start()
    with pytest.raises(PrivityError, match="1/4 left of 1"):
        charge(other, "b", "3/4")
    first.join()
    assert [c.step for c in other.charges("people")] == ["a"]
