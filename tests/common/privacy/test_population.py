"""A population's budget: declared once, binding for everybody who uses its ledger, changed only by lines of it."""

import json
import os
import sqlite3
import threading
from fractions import Fraction
from multiprocessing.context import BaseContext

import pytest

from privity import OneWay, declare_population
from privity.common.errors import PrivityError
from privity.common.privacy import ledger_folder
from privity.common.privacy.ledger import Allowance, Charge, Kind, Ledger
from privity.common.privacy.ledger_folder import declare, default_ledger, open_ledger, other_ledgers
from privity.common.privacy.ledger_lines import Line
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.population import Population, parse_population
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PureDP
from privity.common.privacy.run_budget import RhoBudget
from privity.party.config import node_id
from tests.harness.ledgers import declared
from tests.harness.tables import FIELDS, people

SCHEMA = {"name": "people", "fields": FIELDS}
FOUR = Population("patients", Fraction(4))


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "privity" / "ledgers"


def pure_charge(run, step, epsilon, **options):
    return Charge(run, step, PureDP(Fraction(epsilon), RELATION), **options)


def charge(ledger, step, epsilon, run="r"):
    ledger.charge(pure_charge(run, step, epsilon), Allowance(), "hospital")


def refused(match, code):
    return pytest.raises(PrivityError, match=match, check=lambda error: error.code == code)


def test_a_name_that_was_mistyped_opens_no_fresh_budget():
    """Finding C: whatever asks for a population that nobody declared is refused, and told of those that are."""
    declare_population("patients of the north", total_epsilon="1")
    OneWay("1", population="patients of the north").fit(people(50), SCHEMA)
    with refused("declared here: 'patients of the north'; is 'patients of the north' meant", "population-undeclared"):
        OneWay("1", population="patient of the north").fit(people(50), SCHEMA)
    assert not default_ledger("patient of the north").exists()
    with refused("0 left of 1", "budget-exhausted"):
        OneWay("1", population="patients of the north").fit(people(50), SCHEMA)


def test_the_total_is_remembered_by_the_ledger_whoever_asks():
    """Finding C: a total that was given once, and then not."""
    declare_population("patients", total_epsilon="4")
    with refused("asked 5, 4 left of 4", "budget-exhausted"):
        OneWay("5", population="patients").fit(people(50), SCHEMA)


def test_to_declare_the_same_again_changes_nothing_and_something_else_is_refused():
    first = declare_population("patients", total_epsilon="4", total_delta="0.000001", rows_per_person=2)
    assert (
        declare_population("patients", total_epsilon="4", total_delta="0.000001", rows_per_person=2).declared
        == first.declared
    )
    for other in ({"total_epsilon": "5"}, {"total_delta": "0"}, {"rows_per_person": 3}):
        given = {"total_epsilon": "4", "total_delta": "0.000001", "rows_per_person": 2, **other}
        with refused("declared already, with epsilon 4, delta 0.000001 and 2 rows a person", "bad-option"):
            declare_population("patients", **given)
    assert [e.kind for e in open_ledger("patients").entries()] == [Kind.POPULATION]


@pytest.mark.parametrize(
    ("name", "epsilon", "delta", "rows", "match"),
    [
        ("", "1", "0", 1, "not a name"),
        (" patients", "1", "0", 1, "not a name"),
        ("a\nb", "1", "0", 1, "not a name"),
        ("a" * 201, "1", "0", 1, "not a name"),
        ("p", "0", "0", 1, "total_epsilon"),
        ("p", "1e3", "0", 1, "total_epsilon"),
        ("p", "1", "0.5", 1, "from 0 to 0.001"),
        ("p", "1", "0", 0, "not a number of rows"),
        ("p", "1", "0", 1001, "not a number of rows"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused_and_makes_no_file(name, epsilon, delta, rows, match):
    with refused(match, "bad-option"):
        parse_population(name, epsilon, delta, rows)


def test_a_second_ledger_of_the_same_people_is_refused(tmp_path):
    """Finding C: one population in two folders had two budgets without a word."""
    declare(FOUR, tmp_path / "here.sqlite").close()
    with refused("has a ledger already: .*here.sqlite", "bad-option"):
        declare(FOUR)
    with refused("has a ledger already: .*here.sqlite", "bad-option"):
        declare(FOUR, tmp_path / "there.sqlite")
    # One that came about all the same, by a copy, is seen.
    (tmp_path / "copy.sqlite").write_bytes((tmp_path / "here.sqlite").read_bytes())
    open_ledger("patients", tmp_path / "copy.sqlite").close()
    assert other_ledgers("patients", tmp_path / "here.sqlite") == [tmp_path / "copy.sqlite"]
    assert other_ledgers("others", tmp_path / "here.sqlite") == []


def test_a_lower_total_binds_at_once_and_a_higher_one_is_a_line():
    ledger = declared(name="patients", total=4, delta=0)
    charge(ledger, "a", 3)
    ledger.change(Population("patients", Fraction(2)), FOUR)
    with refused(r"0 left of 2 \(1 more than that is spent: the total was lowered", "budget-exhausted"):
        charge(ledger, "b", "1/10")
    charge(ledger, "free", 0)
    ledger.change(Population("patients", Fraction(5)), Population("patients", Fraction(2)))
    charge(ledger, "b", 2)
    assert ledger.spent() == 5
    totals = [e.terms["total_epsilon"] for e in ledger.entries() if e.kind is Kind.POPULATION]
    assert totals == ["4", "2", "5"]


def test_raising_the_rows_a_person_prices_every_line_anew():
    """Finding A6: epsilon 1 at one row, then epsilon 1 at three: a person with three rows has lost 6, not 4."""
    rho_budget = RhoBudget(Fraction(1, 2), Fraction(1, 10**9))
    ledger = declared(name="patients", total=8)
    before = ledger.population
    charge(ledger, "pure", 1)
    ledger.charge(pure_charge("q", "elsewhere", "1/3", for_a_person=True), Allowance(), "hospital")
    in_rho = Charge("z", "a", ZCDP(rho_budget.rho / 2, RELATION))
    ledger.charge(in_rho, Allowance(budget=rho_budget), "hospital")
    approximate = ApproxDP(Fraction(1, 10), Fraction(1, 10**8), RELATION)
    ledger.charge(Charge("p", "a", approximate), Allowance(), "hospital")
    three = Population("patients", Fraction(8), Fraction(1), 3)
    ledger.change(three, before)
    expected = 3 + Fraction(1, 3) + rho_budget.filter(3).spent(9 * rho_budget.rho / 2) + Fraction(3, 10)
    assert ledger.spent() == expected
    assert ledger.spent_delta() > rho_budget.delta + Fraction(3, 10**8)
    assert sum(entry.added[0] for entry in ledger.entries()) == expected
    charge(ledger, "again", 1)
    assert ledger.spent() == expected + 3
    with refused("rows_per_person: a person has up to 3 rows in tables that were released", "bad-option"):
        ledger.change(before, three)
    ledger.change(Population("patients", Fraction(8), Fraction(1), 30), three)
    with refused("more than that is spent", "budget-exhausted"):
        charge(ledger, "more", "1/100")


def raise_to(path, total, seen, go, told):
    ledger = Ledger(path, "patients")
    before = ledger.population
    seen.put(total)
    go.wait(30)
    try:
        ledger.change(Population("patients", Fraction(total)), before)
        told.put((total, ""))
    except PrivityError as error:
        told.put((total, error.message))


@pytest.mark.process
def test_of_two_processes_that_raise_a_total_at_once_one_is_told_to_look_again(tmp_path, processes: BaseContext):
    path = tmp_path / "ledger.sqlite"
    Ledger.declare(path, FOUR).close()
    seen, told, go = processes.Queue(), processes.Queue(), processes.Event()
    started = [processes.Process(target=raise_to, args=(path, total, seen, go, told)) for total in (5, 6)]
    for process in started:
        process.start()
    for _ in started:
        seen.get(timeout=60)
    go.set()
    results = dict(told.get(timeout=60) for _ in started)
    for process in started:
        process.join()
    won = next(total for total, error in results.items() if not error)
    lost = next(error for error in results.values() if error)
    assert f"changed meanwhile, to epsilon {won}" in lost
    assert Ledger(path, "patients").population.total_epsilon == won


def test_nodes_that_share_a_ledger_are_each_charged_for_steps_of_one_name(tmp_path):
    """Two curators may call their runs alike: what one node has paid is not free for another."""
    first = declared(tmp_path / "l", "patients", 2, node="a")
    second = Ledger(tmp_path / "l", "patients", node="b")
    for ledger in (first, second, first, second):
        charge(ledger, "round/1", 1)
    assert first.spent() == second.spent() == 2
    assert (first.spent("r"), second.spent("r")) == (1, 1)
    first.settle(pure_charge("r", "round/1", 1), "answer of a")
    second.settle(pure_charge("r", "round/1", 1), "answer of b")
    with refused("0 left of 2", "budget-exhausted"):
        charge(second, "round/2", "1/100")


def in_fork(work):
    """The text that a forked child finds; it ends without the clean-up of this process."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            found = work()
        except BaseException as error:
            found = f"{type(error).__name__}: {error}"
        os.write(write, str(found).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        return answer.read().decode()


def fork_while_locked(path):
    """Run in a process of its own, which forks: that of the tests has threads."""
    ledger = Ledger(path, "patients")
    charge(ledger, "parent", 1)
    held, go_on = threading.Event(), threading.Event()

    def hold():
        with ledger._lock:
            held.set()
            go_on.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)

    def child():
        charge(ledger, "child", 1)
        return ledger.spent()

    told = in_fork(child)
    go_on.set()
    thread.join()
    kept = declared(name="kept")
    memory = in_fork(lambda: kept.spent())
    charge(ledger, "parent again", 1)
    return told, memory, str(ledger.spent())


@pytest.mark.process
def test_a_forked_process_opens_its_own_connection_and_one_of_memory_is_refused(tmp_path, processes: BaseContext):
    Ledger.declare(tmp_path / "l", FOUR).close()
    with processes.Pool(1) as pool:
        told, memory, parent = pool.apply(fork_while_locked, (tmp_path / "l",))
    assert told == "2"
    assert "there is no such ledger" in memory
    assert parent == "3"
    assert Ledger(tmp_path / "l", "patients").spent() == 3


def test_a_ledger_that_may_not_be_read_or_written_is_refused_and_says_so(tmp_path, monkeypatch):
    with refused("there is no such ledger", "ledger-unusable"):
        Ledger(tmp_path / "none", "patients")
    Ledger.declare(tmp_path / "l", FOUR).close()

    def denied(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("privity.common.storage.journal.os.open", denied)
    with refused("Permission denied", "ledger-unusable"):
        Ledger(tmp_path / "l", "patients")
    with refused("Permission denied", "ledger-unusable"):
        declare(Population("others", Fraction(1)), tmp_path / "m")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ("UPDATE lines SET terms = replace(terms, '4', '400') WHERE kind = 'population'", "changed or taken out"),
        ("DELETE FROM lines WHERE kind = 'population'", "changed or taken out"),
        ("DELETE FROM lines", "first line, with the population's total, is missing"),
        ("UPDATE lines SET terms = '[]' WHERE kind = 'charge'", "changed or taken out"),
        ("UPDATE lines SET node = 'other'", "changed or taken out"),
        ("UPDATE about SET value = '2' WHERE key = 'format_version'", "its format_version 2 is not 1"),
    ],
)
def test_a_declaration_that_was_changed_in_the_file_is_found(tmp_path, change, match):
    ledger = Ledger.declare(tmp_path / "l", FOUR)
    charge(ledger, "a", 1)
    ledger.close()
    with sqlite3.connect(tmp_path / "l") as db:
        db.execute(change)
    db.close()
    with refused(match, "ledger-unusable"):
        Ledger(tmp_path / "l", "patients")


def test_a_change_between_two_looks_at_the_file_is_never_missed():
    """The total is taken from the very lines that are read: another statement would see the file at another time."""
    ledger = declared(name="patients", total=4, delta=0)
    asked = []
    ledger._db.set_trace_callback(asked.append)
    assert ledger.population == FOUR
    assert len([statement for statement in asked if "FROM lines" in statement]) == 1


def test_a_ledger_that_is_gone_or_empty_is_not_begun_anew(tmp_path):
    """Nor by a program that declares its population at each start, as the documents allow."""
    path = tmp_path / "l.sqlite"
    declare(FOUR, path).close()
    for lose in (path.unlink, lambda: path.write_bytes(b"")):
        lose()
        with refused("it was used before, and is gone or empty. Restore it", "ledger-unusable"):
            declare(FOUR, path)
        assert not path.exists() or path.stat().st_size == 0


def test_a_ledger_in_the_home_folder_is_seen_where_the_variable_is_set(tmp_path, monkeypatch):
    """A shell has XDG_STATE_HOME, and the service has not."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_STATE_HOME")
    declare(FOUR).close()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    with refused("has a ledger already: .*home", "bad-option"):
        declare(FOUR)


def test_another_file_in_the_place_of_an_open_ledger_is_refused(tmp_path):
    path = tmp_path / "l"
    ledger = Ledger.declare(path, FOUR)
    saved = path.read_bytes()
    charge(ledger, "a", 1)
    (tmp_path / "restored").write_bytes(saved)
    (tmp_path / "restored").replace(path)
    with refused("another file has taken its place", "ledger-unusable"):
        charge(ledger, "b", 1)
    path.unlink()
    with refused("No such file", "ledger-unusable"):
        charge(ledger, "b", 1)


def test_a_ledger_that_is_moved_takes_all_of_its_lines_with_it(tmp_path):
    """Also from under a process that has it open: nothing that was committed lies beside it."""
    ledger = Ledger.declare(tmp_path / "l", FOUR)
    charge(ledger, "a", 1)
    (tmp_path / "l").rename(tmp_path / "moved")
    assert Ledger(tmp_path / "moved", "patients").spent() == 1
    assert not list(tmp_path.glob("*-wal"))


def test_a_process_that_has_a_merged_ledger_open_goes_on_no_more(tmp_path):
    open_still, new = Ledger.declare(tmp_path / "old", FOUR), Ledger.declare(tmp_path / "new", FOUR)
    charge(open_still, "a", 1)
    new.merge(tmp_path / "old")
    for action in (lambda: charge(open_still, "b", 1), lambda: open_still.settle(pure_charge("r", "a", 1), "x")):
        with refused("merged into another ledger", "ledger-unusable"):
            action()
    assert new.spent() == 1


def test_a_file_that_is_no_ledger_keeps_its_rights(tmp_path):
    file = tmp_path / "data.csv"
    file.write_text("x\n1\n")
    file.chmod(0o644)
    with refused("SQLite says", "ledger-unusable"):
        Ledger(file, "patients")
    assert file.stat().st_mode & 0o777 == 0o644


def test_a_line_that_no_program_of_ours_writes_is_refused_though_it_is_chained(tmp_path):
    for number, (kind, epsilon, terms) in enumerate(
        [("charge", "-5", "{}"), ("charge", "1/0", "{}"), ("gift", "0", "{}"), ("charge", "0", "[]"),
         ("merge", "0", "{}"), ("population", "0", '{"total_epsilon": "many"}')]
    ):  # fmt: skip
        path = tmp_path / str(number)
        ledger = Ledger.declare(path, FOUR)
        position, link = ledger.end()
        line = Line(0, position + 1, kind, "", "r", "a", epsilon, "0", None, terms, "2026-01-01")
        ledger._insert(line._replace(chain=line.link(link)))
        ledger.close()
        with refused("a line cannot be read", "ledger-unusable"):
            Ledger(path, "patients")


def test_a_node_has_one_name_whoever_asks_for_it_first(tmp_path):
    found = []
    threads = [threading.Thread(target=lambda: found.append(node_id(tmp_path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["node-id"]
    (tmp_path / "node-id").write_text("")
    with refused("it is empty", "file-unreadable"):
        node_id(tmp_path)


WRONG = [{"total_epsilon": -4}, {"total_epsilon": None}, {"total_delta": 0.1}, {"rows_per_person": 1.5},
         {"rows_per_person": True}, {"ledger": ":memory:"}]  # fmt: skip


@pytest.mark.parametrize("given", WRONG)
def test_what_is_not_exact_or_not_kept_is_refused(given):
    with refused("total|rows|memory", "bad-option"):
        declare_population("patients", **{"total_epsilon": "4", **given})
    with refused("is not a name", "bad-option"):
        declare_population("Zoe\u0308", total_epsilon="4")


def test_threads_that_fit_one_object_at_once_are_all_charged_and_never_beyond_the_total():
    declare_population("patients", total_epsilon="3")
    model, table, errors = OneWay("1", population="patients"), people(60), []

    def fit():
        try:
            model.fit(table, SCHEMA)
        except PrivityError as error:
            errors.append(error.code)

    threads = [threading.Thread(target=fit) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == ["budget-exhausted"] * 2
    assert open_ledger("patients").spent() == 3
    assert model.charged_ == ApproxDP(Fraction(1), Fraction(0), RELATION)


def test_places_that_cannot_be_written_are_let_be(monkeypatch, state):
    declare(FOUR).close()
    for file in (state / ledger_folder.PLACES).glob("*.json"):
        file.write_text("not JSON")
    (state / ledger_folder.PLACES / "other.json").write_text(json.dumps({"population": "patients"}))
    assert list(ledger_folder.declared()) == ["patients"]
    assert other_ledgers("patients", default_ledger("patients")) == []
