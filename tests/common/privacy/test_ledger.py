"""The ledger: nothing is ever spent beyond what the owner allows, whatever happens in between."""

import random
import sqlite3
import tempfile
import threading
from collections import Counter
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from multiprocessing.context import BaseContext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from privity.common.errors import PrivityError
from privity.common.privacy import accountant
from privity.common.privacy.ledger import MEMORY, Allowance, Charge, Kind, Ledger
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.population import Population
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PureDP
from privity.common.privacy.run_budget import RhoBudget
from privity.interfaces.cli import party as party_cli
from tests.harness.ledgers import PEOPLE, charged, charges, declared

ONE = Allowance(Fraction(1))
ZERO = Fraction(0)


def book(path=MEMORY, population=PEOPLE, total=1, delta=0):
    """The ledger of people on whom 1 may be spent, declared if it was not."""
    return declared(path, population, total, delta)


def loss_of(epsilon, delta=0):
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    return ApproxDP(epsilon, delta, RELATION) if delta else PureDP(epsilon, RELATION)


def charge(ledger, step, epsilon, *, run="r", allowance=ONE, delta=0):
    ledger.charge(Charge(run, step, loss_of(epsilon, delta)), allowance, "hospital")


def settle(ledger, answer, *, run="r", step="a"):
    ledger.settle(Charge(run, step, loss_of("1/4")), answer)


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


# Any two of them have a common denominator of as many bits as both together.
COPRIME = st.integers(1, 400).map(lambda k: 2**60 + 2 * k + 1)


@given(
    st.lists(
        st.tuples(st.sampled_from("pqr"), COPRIME, st.sampled_from([0, 1]), st.integers(0, 4)), min_size=20, max_size=50
    )
)
def test_sums_stay_short_and_never_fall_below_what_was_charged(charged_):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(accountant, "LONGEST_BITS", 320)
        ledger, runs = book(delta=1), {}
        for step, (run, denominator, in_delta, simple) in enumerate(charged_):
            price = Fraction(1, denominator if simple else 1000)
            before = runs.get(run, [ZERO, ZERO])
            after = [before[0] + price, before[1] + in_delta * price / 1000]
            short = all(sum_.denominator.bit_length() <= 320 for sum_ in after)
            lines = ledger.end()[0]
            if short:
                charge(ledger, str(step), price, run=run, delta=in_delta * price / 1000)
                runs[run] = after
            else:
                with pytest.raises(PrivityError, match="common denominator of more than") as caught:
                    charge(ledger, str(step), price, run=run, delta=in_delta * price / 1000)
                assert caught.value.code == "step-refused"
                assert ledger.end()[0] == lines
            for place, said in ((0, ledger.spent()), (1, ledger.spent_delta())):
                exact = sum((spent[place] for spent in runs.values()), ZERO)
                assert exact <= said <= exact + Fraction(step + 1, accountant.FINE)
                assert said.denominator.bit_length() <= 320
        for run, spent in runs.items():
            assert [ledger.spent(run), ledger.spent_delta(run)] == spent, "a run's own sum is exact"


def test_a_ledger_of_ordinary_runs_is_exact_however_many_there_are():
    ledger = book(total=100)
    for draws in range(1, 60):
        for step in range(draws):
            charge(ledger, str(step), Fraction(1, draws), run=f"r{draws}")
        charge(ledger, "half", Fraction(1, 7 * draws), run=f"stopped{draws}")
    assert ledger.spent() == 59 + sum(Fraction(1, 7 * draws) for draws in range(1, 60))


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["epsilon", pytest.param("delta", marks=pytest.mark.long), "rho"])
def test_a_ledger_that_was_spoilt_before_can_be_read_again(tmp_path, monkeypatch, kind):
    """By a version without the bound: the sum has more digits than Python makes a text of."""
    path, rho_budget = tmp_path / "ledger.sqlite", RhoBudget(Fraction(1), Fraction(1, 10**9))
    denominators = [2**60 + 2 * k + 1 for k in range(420)]
    prices = [Fraction(2**60 // 20_000, denominator) for denominator in denominators]
    with monkeypatch.context() as before:
        before.setattr(accountant, "LONGEST_BITS", 1 << 30)
        with closing(book(path, delta=Fraction(1, 10))) as ledger:
            for step, price in enumerate(prices):
                loss = {
                    "epsilon": PureDP(price, RELATION),
                    "delta": ApproxDP(price, price, RELATION),
                    "rho": ZCDP(price / 1000, RELATION),
                }[kind]
                allowance = Allowance(Fraction(1), Fraction(1, 10), rho_budget if kind == "rho" else None)
                ledger.charge(Charge("r", str(step), loss), allowance, "hospital")
            if kind != "rho":
                with pytest.raises(ValueError, match="integer string conversion"):
                    str(ledger.spent())
    with closing(Ledger(path, PEOPLE)) as ledger:
        least = rho_budget.filter().spent(sum(prices) / 1000) if kind == "rho" else sum(prices)
        assert least <= ledger.spent() <= least + Fraction(2, 10**12)
        assert max(len(str(ledger.spent())), len(str(ledger.spent_delta()))) < 1000
        assert sum((entry.added[0] for entry in ledger.entries()), ZERO) == ledger.spent()
        charge(ledger, "more", "1/4", run="another")
        again = ledger.spent()
        with pytest.raises(PrivityError, match="asked 1, "):
            charge(ledger, "too much", 1, run="third")
    for shown in (False, True):
        party_cli.ledger(file=path, population=PEOPLE, steps=shown)
    with closing(Ledger(path, PEOPLE)) as ledger:
        assert ledger.spent() == again, "whoever reads it adds up to the same"


def test_the_message_says_what_was_asked_what_is_left_and_of_how_much():
    ledger = book()
    charge(ledger, "a", "3/4")
    with pytest.raises(PrivityError) as caught:
        charge(ledger, "b", "1/2")
    assert caught.value.code == "budget-exhausted"
    assert caught.value.message == "hospital: asked 0.5, 0.25 left of 1 for population 'people'"
    assert ledger.spent() == Fraction(3, 4)


def test_the_allowance_of_one_run_holds_within_a_larger_total():
    ledger = book(total=10)
    charge(ledger, "a", 1, run="r1")
    with pytest.raises(PrivityError, match="0 left of 1 "):
        charge(ledger, "b", "1/10", run="r1")
    charge(ledger, "b", 1, run="r2")
    assert ledger.spent("r1") == ledger.spent("r2") == 1


@pytest.mark.parametrize("seed", range(5))
def test_the_allowance_of_each_run_holds_whoever_charges_them_in_whatever_order(tmp_path, seed):
    order = random.Random(seed)
    ledgers = [book(tmp_path / "ledger.sqlite", total=1000) for _ in range(2)]
    spent = Counter()
    for step in range(60):
        run, ledger = order.choice("abc"), order.choice(ledgers)
        if spent[run] == 10:
            with pytest.raises(PrivityError, match="0 left of 1 "):
                charge(ledger, str(step), "1/10", run=run)
        else:
            charge(ledger, str(step), "1/10", run=run)
            spent[run] += 1
        asked = order.choice("abc")
        assert order.choice(ledgers).spent(asked) == Fraction(spent[asked], 10)
    assert ledgers[0].spent() == ledgers[1].spent() == Fraction(spent.total(), 10)


def test_delta_has_an_allowance_of_its_own():
    pure = book()
    with pytest.raises(PrivityError, match=r"asked delta 0\.001, 0 left of 0 "):
        charge(pure, "a", "1/2", delta="0.001")
    with pytest.raises(PrivityError, match=r"asked delta 0\.001, 0 left of 0 "):
        pure.check(ApproxDP(Fraction(1, 8), Fraction(1, 1000), RELATION), "hospital")
    assert (pure.spent(), pure.spent_delta()) == (0, 0)
    ledger, allowance = book(delta="0.002"), Allowance(Fraction(1), Fraction(1, 1000))
    charge(ledger, "a", "1/2", delta="0.001", allowance=allowance)
    assert ledger.spent_delta() == Fraction(1, 1000)
    with pytest.raises(PrivityError, match=r"asked delta 0\.000001, 0 left of 0\.001 "):
        charge(ledger, "b", "1/4", delta="0.000001", allowance=allowance)
    charge(ledger, "b", "1/4", allowance=allowance)
    with pytest.raises(PrivityError, match=r"asked delta 0\.0025, 0\.001 left of 0\.002 "):
        ledger.check(ApproxDP(Fraction(1, 8), Fraction(1, 400), RELATION), "hospital")
    charge(ledger, "a", "1/8", delta="0.001", run="another", allowance=allowance)
    with pytest.raises(PrivityError, match=r"asked delta 0\.000001, 0 left of 0\.002 "):
        charge(ledger, "a", "1/16", delta="0.000001", run="a third")


def test_without_a_limit_of_its_own_a_run_may_spend_all_that_is_left():
    ledger = book(total=150)
    for step in range(5):
        charge(ledger, str(step), 30, allowance=Allowance())
    assert ledger.spent() == 150
    with pytest.raises(PrivityError, match="asked 30, 0 left of 150 "):
        charge(ledger, "more", 30, allowance=Allowance())


def test_a_repeat_is_free_even_when_nothing_is_left():
    ledger = book()
    charge(ledger, "a", 1)
    charge(ledger, "a", 1)
    assert ledger.spent() == 1
    assert len(charged(ledger)) == 1


@pytest.mark.parametrize(("run", "step"), [("s", "a"), ("r", "b")])
def test_another_run_or_step_is_paid_again(run, step):
    ledger = book()
    charge(ledger, "a", "1/4")
    charge(ledger, step, "1/4", run=run)
    assert ledger.spent() == Fraction(1, 2)


def test_a_charge_takes_one_answer_and_no_second_one(tmp_path):
    ledger = book(tmp_path / "ledger.sqlite")
    charge(ledger, "a", "1/4")
    assert [e.answered for e in charged(ledger)] == [False]
    settle(ledger, "first")
    settle(ledger, "first")
    again = book(tmp_path / "ledger.sqlite")
    charge(again, "a", "1/4")  # a repetition stays free, but
    for opened in (ledger, again):
        with pytest.raises(PrivityError, match="step a of r was answered before") as caught:
            settle(opened, "second")
        assert caught.value.code == "step-answered"
    settle(again, "first")
    assert [e.answered for e in charged(again)] == [True]


@pytest.mark.parametrize("other", [{"run": "s"}, {"step": "b"}])
def test_an_answer_without_its_charge_is_refused(other):
    ledger = book()
    charge(ledger, "a", "1/4")
    with pytest.raises(PrivityError, match="has no charge") as caught:
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
    with pytest.raises(ValueError, match="at least 0"):
        charge(ledger, "b", amount)
    with pytest.raises(ValueError, match="at least 0"):
        charge(ledger, "b", "1/4", delta=amount)
    assert ledger.spent() == Fraction(1, 2)


def test_what_is_asked_in_advance_is_checked_against_the_total_and_charges_nothing():
    ledger = book()
    charge(ledger, "a", "3/4")
    ledger.check(ApproxDP(Fraction(1, 4), ZERO, RELATION), "hospital")
    with pytest.raises(PrivityError, match=r"asked 0\.333333, 0\.25 left of 1 ") as caught:
        ledger.check(ApproxDP(Fraction(1, 3), ZERO, RELATION), "hospital")
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
        for open_ in (book, Ledger):
            with pytest.raises(PrivityError, match=match) as caught:
                open_(path, population)
            assert caught.value.code == "ledger-unusable"

    def test_what_was_never_declared(self, tmp_path):
        for place in (tmp_path / "none.sqlite", tmp_path / "no folder" / "none.sqlite", MEMORY):
            with pytest.raises(PrivityError, match="there is no such ledger") as caught:
                Ledger(place, PEOPLE)
            assert caught.value.code == "ledger-unusable"
        assert list(tmp_path.iterdir()) == []

    def test_one_that_was_closed(self, path):
        ledger = book(path)
        ledger.close()
        with pytest.raises(PrivityError, match="it was closed"):
            charge(ledger, "d", "1/10")
        assert len(charged(book(path))) == 3

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
            "DELETE FROM lines WHERE step = 'b'",
            "DELETE FROM lines WHERE kind = 'population'",
            "UPDATE lines SET epsilon = '1/100' WHERE step = 'a'",
            "UPDATE lines SET run = 's' WHERE step = 'c'",
            "UPDATE lines SET node = 'another' WHERE step = 'c'",
            "UPDATE lines SET kind = 'return' WHERE step = 'c'",
            "UPDATE lines SET terms = '{\"for_a_person\": true}' WHERE step = 'c'",
            "UPDATE lines SET terms = '[]' WHERE step = 'c'",
            "UPDATE lines SET position = 5 WHERE step = 'c'",
            "UPDATE lines SET book = 1 WHERE step = 'c'",
            'UPDATE lines SET terms = replace(terms, \'"total_epsilon": "1"\', \'"total_epsilon": "9"\')'
            " WHERE kind = 'population'",
        ],
    )
    def test_a_line_changed_or_taken_out(self, path, change):
        with sqlite3.connect(path) as db:
            assert db.execute(change).rowcount == 1
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
        spent, count = ledger.spent(), len(charged(ledger))
        assert spent == Fraction(3, 10) + Fraction(count - 3, 10**6)
        ledger.close()
        assert book(path).spent() == spent

    def test_the_clock_decides_nothing(self, path, monkeypatch):
        class Past:
            @staticmethod
            def now(_zone):
                from datetime import UTC, datetime

                return datetime(1970, 1, 1, tzinfo=UTC)

        monkeypatch.setattr("privity.common.privacy.ledger_file.datetime", Past)
        ledger = book(path)
        charge(ledger, "d", "7/10")
        with pytest.raises(PrivityError, match="0 left of 1"):
            charge(ledger, "e", "1/10")
        ledger.close()
        assert [c.step for c in charges(book(path))] == list("abcd")


AMOUNTS = st.sampled_from([Fraction(1, 3), Fraction(1, 7), Fraction(2, 5), Fraction("0.1"), Fraction(1)])
OF_RUN = Fraction(2, 3)
RHO_BUDGET = RhoBudget(Fraction(1, 2), Fraction(1, 10**9))
TOTALS = st.sampled_from([Fraction(1, 10), Fraction(5, 3), Fraction(3), Fraction(20)])
NODES = st.sampled_from(["", "n1"])
RUNS, STEPS = st.sampled_from(["r1", "r2", "r3"]), st.sampled_from(["s1", "s2", "s3"])
PURE = st.builds(Charge, RUNS, STEPS, AMOUNTS.map(loss_of), for_a_person=st.booleans())
IN_RHO = st.builds(Charge, RUNS, STEPS, AMOUNTS.map(lambda part: ZCDP(RHO_BUDGET.rho * part, RELATION)))
CHARGES = PURE | IN_RHO


def outcome(action, *arguments):
    """The code of the refusal, None if there is none."""
    try:
        action(*arguments)
    except PrivityError as error:
        return error.code
    return None


class AnyHistory(RuleBasedStateMachine):
    """Charges of two nodes, answers, repetitions, crashes, declarations and merges, against plain dictionaries."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "ledger.sqlite"
        self.people = Population(PEOPLE, Fraction(5, 3), Fraction(1, 10**9))
        self.ledgers = {node: Ledger.declare(self.path, self.people, node) for node in ("", "n1")}
        self.lost = []
        self.paid = {}
        self.answers = {}
        self.declarations, self.merged, self.closed = 1, 0, []

    def of_run(self, node, run, besides=(), rows=None):
        """(epsilon, delta) of a person, by hand: steps of one row count once for each, rho with their square."""
        rows = self.people.rows_per_person if rows is None else rows
        own = [*(c for (n, _, _), c in self.paid.items() if (n, c.run) == (node, run)), *besides]
        rho = sum((c.loss.rho for c in own if isinstance(c.loss, ZCDP)), ZERO)
        of_pure = ((c.loss.epsilon, c.for_a_person) for c in own if isinstance(c.loss, PureDP))
        pure = sum((epsilon * (1 if person else rows) for epsilon, person in of_pure), ZERO)
        return pure + RHO_BUDGET.filter(rows).spent(rows**2 * rho), RHO_BUDGET.delta if rho else Fraction(0)

    def spent(self):
        runs = {(node, run) for node, run, _ in self.paid}
        return tuple(sum((self.of_run(*one)[i] for one in runs), Fraction(0)) for i in (0, 1))

    @rule(node=NODES, charge=CHARGES)
    def charge(self, node, charge):
        key = (node, charge.run, charge.step)
        before, after = self.of_run(node, charge.run), self.of_run(node, charge.run, [charge])
        whole = [spent + new - old for spent, old, new in zip(self.spent(), before, after, strict=True)]
        total = (self.people.total_epsilon, self.people.total_delta)
        # A delta that the run has paid already is not asked for again.
        beyond = [new > old and now > most for old, new, now, most in zip(before, after, whole, total, strict=True)]
        if key in self.paid:
            expected = None if self.paid[key] == charge else "step-changed"
        elif any(beyond) or after[0] > OF_RUN:
            expected = "budget-exhausted"
        else:
            expected = None
            self.paid[key] = charge
        allowance = Allowance(OF_RUN, budget=RHO_BUDGET)
        assert outcome(self.ledgers[node].charge, charge, allowance, "hospital") == expected

    @rule(node=NODES, run=RUNS, step=STEPS, answer=st.sampled_from(["x", "y"]))
    def settle(self, node, run, step, answer):
        if (node, run, step) not in self.paid:
            expected = "step-refused"
        else:
            expected = None if self.answers.setdefault((node, run, step), answer) == answer else "step-answered"
        assert outcome(self.ledgers[node].settle, Charge(run, step, loss_of(1)), answer) == expected

    @rule(node=NODES, total=TOTALS, delta=st.sampled_from([0, 1, 3]))
    def lower_or_raise_the_total(self, node, total, delta):
        self.change(node, replace(self.people, total_epsilon=total, total_delta=delta * RHO_BUDGET.delta))

    @rule(node=NODES, rows=st.integers(1, 3))
    def change_the_rows_of_a_person(self, node, rows):
        self.change(node, replace(self.people, rows_per_person=rows))

    def change(self, node, wanted):
        fewer = wanted.rows_per_person < self.people.rows_per_person
        assert outcome(self.ledgers[node].change, wanted, self.people) == ("bad-option" if fewer else None)
        if not fewer and wanted != self.people:
            # Who has not seen that it was changed is refused, whatever it asks for.
            assert outcome(self.ledgers[node].change, wanted, self.people) == "bad-option"
            self.people, self.declarations = wanted, self.declarations + 1

    @rule(node=NODES, rows=st.integers(1, 3), others=st.lists(CHARGES, max_size=4))
    def merge(self, node, rows, others):
        """Another ledger, of a node of its own: its runs and steps have the same names."""
        path = Path(self.folder.name) / f"other-{self.merged}-{len(self.closed)}.sqlite"
        owner, own = f"m{self.merged}", {}
        with closing(declared(path, rows=rows, node=owner)) as other:
            for charge in others:
                if outcome(other.charge, charge, Allowance(budget=RHO_BUDGET), "clinic") is None:
                    own[owner, charge.run, charge.step] = charge
        self.closed.append(path)
        if rows > self.people.rows_per_person:
            assert outcome(self.ledgers[node].merge, path) == "ledger-unusable"
            Ledger(path, PEOPLE).close()
            return
        assert self.ledgers[node].merge(path) == 1 + len(own)
        self.paid |= own
        self.merged += 1
        for action in (self.ledgers[node].merge, lambda file: Ledger(file, PEOPLE)):
            assert outcome(action, path) == "ledger-unusable"

    @rule(node=NODES)
    def crash(self, node):
        self.lost.append(self.ledgers[node])  # dropped without close: what it wrote must be there
        self.ledgers[node] = Ledger(self.path, PEOPLE, node)

    @rule(node=NODES)
    def restart(self, node):
        self.ledgers[node].close()
        self.ledgers[node] = Ledger(self.path, PEOPLE, node)

    @invariant()
    def what_is_there_is_what_was_paid(self):
        for node, ledger in self.ledgers.items():
            entries = ledger.entries()
            assert {(e.node, e.charge.run, e.charge.step): e.charge for e in charged(ledger)} == self.paid
            kinds = Counter(e.kind for e in entries)
            # Each ledger that was merged has a declaration of its own.
            assert kinds[Kind.POPULATION] == self.declarations + self.merged
            assert kinds[Kind.MERGE] == self.merged
            assert (ledger.spent(), ledger.spent_delta()) == self.spent()
            assert tuple(sum((e.added[i] for e in entries), Fraction(0)) for i in (0, 1)) == self.spent()
            assert ledger.population == self.people
            for run in ("r1", "r2", "r3"):
                assert (ledger.spent(run), ledger.spent_delta(run)) == self.of_run(node, run)

    def teardown(self):
        for ledger in [*self.lost, *self.ledgers.values()]:
            ledger.close()
        self.folder.cleanup()


TestAnyHistory = AnyHistory.TestCase
TestAnyHistory.settings = settings(stateful_step_count=25, suppress_health_check=[HealthCheck.too_slow])


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


@pytest.mark.process
def test_two_processes_spend_the_whole_budget_together_and_no_more(tmp_path, processes: BaseContext):
    path = tmp_path / "ledger.sqlite"
    start, accepted = processes.Event(), processes.Queue()
    started = [processes.Process(target=spend, args=(path, name, start, accepted)) for name in ("a", "b")]
    for process in started:
        process.start()
    start.set()
    counts = [accepted.get(timeout=120) for _ in started]
    for process in started:
        process.join()
    ledger = book(path)
    assert sum(counts) == 10
    assert ledger.spent() == 1
    assert len(set(charges(ledger))) == 10


def test_a_charge_waits_until_another_that_has_begun_is_written(tmp_path):
    reached, go_on = threading.Event(), threading.Event()

    class SlowLedger(Ledger):
        def _insert(self, line):
            reached.set()
            go_on.wait(5)
            super()._insert(line)

    other, slow = book(tmp_path / "ledger.sqlite"), SlowLedger(tmp_path / "ledger.sqlite", PEOPLE)
    first = threading.Thread(target=charge, args=(slow, "a", "3/4"))
    first.start()
    reached.wait(5)
    threading.Timer(0.2, go_on.set).start()
    with pytest.raises(PrivityError, match=r"0\.25 left of 1 "):
        charge(other, "b", "3/4")
    first.join()
    assert [c.step for c in charges(other)] == ["a"]
