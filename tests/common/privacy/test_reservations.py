"""What runs reserve of a total: any interleaving against a plain model, kills at every point, and broken ledgers."""

from __future__ import annotations

import os
import signal
import sqlite3
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from multiprocessing.context import BaseContext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from privity.common.errors import PrivityError
from privity.common.privacy.ledger import Allowance, Charge, Kind, Ledger
from privity.common.privacy.ledger_reservations import Reservation
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.population import Population
from privity.common.privacy.privacy_loss import ApproxDP, PureDP
from tests.harness.ledgers import PEOPLE, declared

WHO = "hospital"
DELTA = Fraction(1, 1000)


def loss(epsilon: Fraction | int | str, delta: Fraction | int = 0) -> ApproxDP:
    return ApproxDP(Fraction(epsilon), Fraction(delta), RELATION)


def charge(ledger: Ledger, run: str, step: str, epsilon: Fraction | int | str) -> bool:
    return ledger.charge(Charge(run, step, PureDP(Fraction(epsilon), RELATION)), Allowance(), WHO)


def code(action, *arguments) -> str | None:
    """Of the refusal; None if there is none."""
    try:
        action(*arguments)
    except PrivityError as error:
        return error.code
    return None


NODES, RUNS = st.sampled_from(["n1", "n2"]), st.sampled_from(["r1", "r2"])
AMOUNTS = st.sampled_from([Fraction(n, 4) for n in range(1, 7)])
DELTAS = st.sampled_from([Fraction(0), DELTA])
TOTALS = st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2), Fraction(3)])


class SeveralRuns(RuleBasedStateMachine):
    """Runs of two nodes reserve, charge, settle, end; totals change; nodes are killed and opened anew."""

    kind = Ledger

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "ledger.sqlite"
        self.people = Population(PEOPLE, Fraction(2), 2 * DELTA)
        Ledger.declare(self.path, self.people).close()
        self.ledgers = {node: self.kind(self.path, PEOPLE, node) for node in ("n1", "n2")}
        self.lost: list[Ledger] = []
        self.paid: dict[tuple[str, str], list[tuple[Fraction, Fraction]]] = {}
        self.reserved: dict[tuple[str, str], tuple[Fraction, Fraction]] = {}
        self.ends: dict[str, tuple[int, str]] = {}

    def spent(self, key: tuple[str, str]) -> tuple[Fraction, Fraction]:
        rows, steps = self.people.rows_per_person, self.paid.get(key, [])
        of = [ApproxDP(epsilon, delta, RELATION).scaled(rows) for epsilon, delta in steps]
        return sum((one.epsilon for one in of), Fraction(0)), sum((one.delta for one in of), Fraction(0))

    def beyond(self, key: tuple[str, str], needed: tuple[Fraction, Fraction], asked: tuple[bool, bool]) -> bool:
        """Whether the totals have not so much, all others counted by the larger of charged and reserved."""
        totals = self.people.total_epsilon, self.people.total_delta
        for place in (0, 1):
            used = needed[place]
            for other in {*self.paid, *self.reserved} - {key}:
                used += max(self.spent(other)[place], self.reserved.get(other, (0, 0))[place])
            if asked[place] and used > totals[place]:
                return True
        return False

    @rule(node=NODES, run=RUNS, epsilon=AMOUNTS, delta=DELTAS)
    def reserve(self, node: str, run: str, epsilon: Fraction, delta: Fraction) -> None:
        key, most = (node, run), (epsilon, delta)
        spent = self.spent(key)
        asked = (epsilon > spent[0], delta > spent[1])
        same = self.reserved.get(key) == most
        expected = "budget-exhausted" if not same and self.beyond(key, most, asked) else None
        assert code(self.ledgers[node].reserve, run, loss(epsilon, delta), WHO) == expected
        if expected is None:
            self.reserved[key] = most

    @precondition(lambda self: self.reserved)
    @rule(which=st.integers(0, 3), part=st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(1, 4)]))
    def charge_within(self, which: int, part: Fraction) -> None:
        """As a node does: never beyond what its run reserved."""
        key = sorted(self.reserved)[which % len(self.reserved)]
        rest = max(self.reserved[key][0] - self.spent(key)[0], Fraction(0))
        self.charge(*key, part * rest / self.people.rows_per_person, Fraction(0))

    @rule(node=NODES, run=RUNS, epsilon=AMOUNTS, delta=DELTAS)
    def charge_anything(self, node: str, run: str, epsilon: Fraction, delta: Fraction) -> None:
        self.charge(node, run, epsilon, delta)

    def charge(self, node: str, run: str, epsilon: Fraction, delta: Fraction) -> None:
        key, rows = (node, run), self.people.rows_per_person
        step = len(self.paid.get(key, []))
        own, spent = self.reserved.get(key, (Fraction(0), Fraction(0))), self.spent(key)
        lost = ApproxDP(epsilon, delta, RELATION)
        more = lost.scaled(rows)
        after = spent[0] + more.epsilon, spent[1] + more.delta
        needed = max(after[0], own[0]), max(after[1], own[1])
        refused = self.beyond(key, needed, (more.epsilon > 0, more.delta > 0))
        asked = Charge(run, f"s{step}", lost)
        expected = "budget-exhausted" if refused else None
        assert code(self.ledgers[node].charge, asked, Allowance(), WHO) == expected
        if refused:
            return
        self.paid.setdefault(key, []).append((epsilon, delta))
        # What was charged is within the total, whatever was reserved.
        totals = self.people.total_epsilon, self.people.total_delta
        for place, gained in enumerate((more.epsilon, more.delta)):
            assert not gained or sum(self.spent(one)[place] for one in self.paid) <= totals[place]
        assert code(self.ledgers[node].charge, asked, Allowance(), WHO) is None  # the same again is free
        self.ledgers[node].settle(asked, "answer")

    @rule(node=NODES, run=RUNS)
    def end(self, node: str, run: str) -> None:
        assert self.ledgers[node].give_back(run) == ((node, run) in self.reserved)
        self.reserved.pop((node, run), None)

    @rule(node=NODES, total=TOTALS, delta=st.sampled_from([DELTA, 2 * DELTA, 4 * DELTA]), rows=st.integers(0, 1))
    def change(self, node: str, total: Fraction, delta: Fraction, rows: int) -> None:
        rows += self.people.rows_per_person
        wanted = replace(self.people, total_epsilon=total, total_delta=delta, rows_per_person=min(rows, 3))
        self.ledgers[node].change(wanted, self.people)
        self.people = wanted

    @rule(node=NODES)
    def kill_and_open(self, node: str) -> None:
        self.ends[node] = self.ledgers[node].end()
        self.lost.append(self.ledgers[node])  # dropped without close: what it wrote must be there
        self.ledgers[node] = self.kind(self.path, PEOPLE, node)

    @invariant()
    def everybody_sees_the_same(self) -> None:
        totals = self.people.total_epsilon, self.people.total_delta
        spent = [sum((self.spent(key)[place] for key in self.paid), Fraction(0)) for place in (0, 1)]
        for node, ledger in self.ledgers.items():
            found = {one.key: one.most for one in ledger.reserved()}
            rest = {
                key: tuple(max(most[place] - self.spent(key)[place], Fraction(0)) for place in (0, 1))
                for key, most in self.reserved.items()
            }
            assert found == rest
            assert [ledger.spent(), ledger.spent_delta()] == spent
            for run in ("", "r1"):
                others = [kept for key, kept in rest.items() if key != (node, run)]
                left = tuple(totals[place] - spent[place] - sum(kept[place] for kept in others) for place in (0, 1))
                assert ledger.left(run) == left
            if node in self.ends:
                ledger.check_extends(*self.ends[node])

    def teardown(self) -> None:
        for ledger in [*self.lost, *self.ledgers.values()]:
            ledger.close()
        self.folder.cleanup()


TestSeveralRuns = SeveralRuns.TestCase
TestSeveralRuns.settings = settings(stateful_step_count=20, suppress_health_check=[HealthCheck.too_slow])


class CountedTwice(Ledger):
    """A run's own reservation counts against it."""

    def _check_total(self, key, word, needed, asked, party):
        super()._check_total(("", "nobody"), word, needed, asked, party)


class NotCounted(Ledger):
    """What others reserved counts for nothing when a run reserves."""

    def reserve(self, run, most, party, lock=""):
        reserved, self._reserved = self._reserved, {}
        try:
            super().reserve(run, most, party, lock)
        finally:
            self._reserved = {**reserved, **self._reserved}


class ReturnedEarly(Ledger):
    """The rest goes back while the run may still charge."""

    def charge(self, charge, allowance, party):
        known = super().charge(charge, allowance, party)
        self.give_back(charge.run)
        return known


class Widened(Reservation):
    """What a run was charged counts besides what it reserved, rather than within it."""

    def rest(self, spent):
        return self.most


class BothCount(Ledger):
    """Its reservations are ``Widened``."""

    def _read_on(self):
        super()._read_on()
        self._reserved = {key: Widened(*key, one.most, one.at, one.lock) for key, one in self._reserved.items()}


@pytest.mark.parametrize("broken", [CountedTwice, NotCounted, ReturnedEarly, BothCount])
def test_a_broken_ledger_is_told_from_a_sound_one(broken: type[Ledger]) -> None:
    machine = type("Broken", (SeveralRuns,), {"kind": broken})
    with pytest.raises(AssertionError):
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=300, stateful_step_count=15, database=None, phases=[Phase.generate],
                report_multiple_bugs=False, derandomize=True, suppress_health_check=list(HealthCheck),
            ),
        )  # fmt: skip


def fit(path: Path, told, end: str) -> None:
    """A program that reserves 1 and charges half of it."""
    with closing(Ledger(path, PEOPLE)) as ledger, ledger.reserving("local-1", loss(1), WHO):
        charge(ledger, "local-1", "a", "1/2")
        told.set()
        match end:
            case "is killed":
                os.kill(os.getpid(), signal.SIGKILL)
            case "goes on":
                time.sleep(60)
            case "fails":
                raise KeyboardInterrupt


@pytest.mark.process
@pytest.mark.parametrize("end", ["ends", "fails", "is killed", "goes on"])
def test_what_a_program_reserved_is_free_when_it_has_ended_however_it_ended(
    tmp_path: Path, end: str, processes: BaseContext
) -> None:
    path = tmp_path / "ledger.sqlite"
    ledger, told = declared(path, total=2), processes.Event()
    process = processes.Process(target=fit, args=(path, told, end))
    process.start()
    assert told.wait(60)
    if end != "goes on":
        process.join()
    at_work = end == "goes on"
    assert [one.run for one in ledger.reserved()] == ["local-1"] * at_work
    assert ledger.left() == (Fraction(1) if at_work else Fraction(3, 2), 1)
    assert code(ledger.reserve, "other", loss("3/2"), WHO) == ("budget-exhausted" if at_work else None)
    process.kill()
    process.join()
    ledger.reserve("other", loss("3/2"), WHO)
    # One line says so, and the file is gone with the program that was not killed.
    kinds = [entry.kind for entry in ledger.entries() if entry.charge.run == "local-1"]
    assert kinds == [Kind.RESERVATION, Kind.CHARGE, Kind.RETURN]
    assert list(tmp_path.glob(".ledger*local-1")) == []
    assert ledger.spent() == Fraction(1, 2)


def test_a_program_whose_lock_cannot_be_looked_at_counts_as_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, other = declared(tmp_path / "l", total=2), Ledger(tmp_path / "l", PEOPLE, "of another account")

    def refused(*_: object) -> int:
        raise PermissionError

    with ledger.reserving("local-1", loss(1), WHO):
        with monkeypatch.context() as patched:
            patched.setattr("privity.common.privacy.ledger_reservations.os.open", refused)
            assert code(other.reserve, "r", loss("3/2"), WHO) == "budget-exhausted"
        assert [one.run for one in ledger.reserved()] == ["local-1"]


def test_a_fit_within_a_fit_reserves_once(tmp_path: Path) -> None:
    ledger, again = declared(tmp_path / "l", total=1), Ledger(tmp_path / "l", PEOPLE)
    with ledger.reserving("r", loss(1), WHO):
        with again.reserving("r", loss(1), WHO):
            charge(again, "r", "a", 1)
        assert ledger.reserved() == []
    with pytest.raises(PrivityError, match="asked 1, 0 left of 1 "), ledger.reserving("s", loss(1), WHO):
        pass
    assert [entry.kind for entry in ledger.entries()][1:] == [Kind.RESERVATION, Kind.CHARGE, Kind.RETURN]


def test_a_lower_total_than_is_reserved_refuses_the_next_charge_and_not_the_last() -> None:
    ledger = declared(total=4)
    ledger.reserve("r", loss(3), WHO)
    charge(ledger, "r", "a", 1)
    ledger.change(replace(ledger.population, total_epsilon=Fraction(2)), ledger.population)
    assert code(charge, ledger, "r", "b", "1/2") == "budget-exhausted"
    assert ledger.give_back("r")
    assert code(charge, ledger, "r", "b", "1/2") is None, "what comes after the return finds what is left"


def test_a_refusal_says_how_much_is_reserved_and_not_by_whom() -> None:
    ledger = declared(total=1)
    ledger.reserve("of another consortium", loss("3/4"), WHO)
    with pytest.raises(PrivityError) as caught:
        ledger.check(loss("1/2"), WHO)
    assert caught.value.message == (
        "hospital: asked 0.5, 0.25 left of 1 (0.75 of it reserved by runs that have begun) for population 'people'"
    )
    ledger.check(loss("3/4"), WHO, "of another consortium")


def test_reservations_are_taken_over_with_their_ledger_and_are_told_in_words(tmp_path: Path) -> None:
    ledger, other = declared(tmp_path / "a", total=2, node="a"), declared(tmp_path / "b", total=2, node="b")
    other.reserve("r", loss(1), WHO)
    other.reserve("s", loss("1/2", DELTA), WHO)
    other.give_back("s")
    other.close()
    assert ledger.merge(tmp_path / "b") == 4
    assert [(one.key, one.most) for one in ledger.reserved()] == [(("b", "r"), (1, 0))]
    assert ledger.left()[0] == 1
    words = [entry.in_words for entry in ledger.entries()]
    assert "reserved for the run: epsilon 0.5, delta 0.001" in words
    assert "the run has ended: what it had reserved and not spent is returned" in words
    with closing(Ledger(tmp_path / "a", PEOPLE, "b")) as node:
        assert node.give_back("r")
        assert not node.give_back("r")
        assert node.left()[0] == 2


@pytest.mark.parametrize("change", ["epsilon = '1/8'", "kind = 'charge'", "terms = '{\"lock\": 3}'"])
def test_a_reservation_that_was_changed_is_found(tmp_path: Path, change: str) -> None:
    ledger = declared(tmp_path / "l", total=2)
    ledger.reserve("r", loss(1), WHO)
    ledger.close()
    with closing(sqlite3.connect(tmp_path / "l")) as db, db:
        db.execute(f"UPDATE lines SET {change} WHERE kind = 'reservation'")
    with pytest.raises(PrivityError, match="a line was changed or taken out"):
        Ledger(tmp_path / "l", PEOPLE)
