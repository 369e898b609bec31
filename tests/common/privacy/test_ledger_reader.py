"""What people are shown of a ledger is what all its lines say, in however many pieces it is read."""

import shutil
import subprocess
import sys
import tempfile
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privity.common.errors import PrivityError
from privity.common.privacy import ledger_file
from privity.common.privacy.ledger import Charge, Kind, Ledger
from privity.common.privacy.ledger_lines import OWN_BOOK
from privity.common.privacy.ledger_reader import LedgerReader, RunCharges
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.population import Population
from privity.common.privacy.privacy_loss import ZCDP, ApproxDP, PureDP
from privity.common.privacy.run_budget import RhoBudget
from tests.harness.ledgers import PEOPLE, declared

ZERO = Fraction(0)
TINY = Fraction(1, 10**9)
BUDGETS = {"spring": RhoBudget(Fraction(1), TINY), "summer": RhoBudget(Fraction(2), TINY)}

PURE = [PureDP(Fraction(text), RELATION) for text in ("0", "1/4", "1/3", "1/1000000")]
LONG = [PureDP(Fraction(1, 2**power - 1), RELATION) for power in (521, 607)]
"""Their sum has so long a denominator that it is rounded, as only ledgers from before that rule hold."""
APPROXIMATE = [ApproxDP(Fraction(1, 7), delta, RELATION) for delta in (Fraction(1, 1000), Fraction(2, 3))]
IN_RHO = [ZCDP(Fraction(1, number), RELATION) for number in (1000, 777)]
LOSSES = [*PURE, *LONG, *APPROXIMATE, *IN_RHO]

CHARGES = st.tuples(
    st.just("charge"), st.sampled_from(["spring", "summer"]), st.sampled_from(LOSSES), st.sampled_from(["Hill", "hut"])
)
OTHERS = st.sampled_from(["total", "rows", "reserve", "return", "settle"]).map(lambda what: (what,))
STEPS = st.lists(st.tuples(CHARGES | OTHERS, st.booleans()), max_size=30)


def write(ledger, number, what, run="", loss=None, words=""):
    """One more line as any version of ours may have written it, or an answer to one."""
    now = ledger.population
    match what:
        case "charge":
            budget = BUDGETS[run] if isinstance(loss, ZCDP) else None
            terms = {"epsilon": str(budget.epsilon)} if budget else {"for_a_person": True} if number % 3 == 0 else {}
            with ledger._writing():
                made = Charge(run, f"{words}-{number}", loss)
                ledger._insert(ledger._written(Kind.CHARGE, ledger.node, made, terms, budget))
        case "total":
            ledger.change(Population(now.name, Fraction(number + 1), Fraction(1), now.rows_per_person), now)
        case "rows":
            more = min(3, now.rows_per_person + 1)
            ledger.change(Population(now.name, now.total_epsilon, Fraction(1), more), now)
        case "reserve":
            with ledger._writing():
                made = Charge("spring", "", ApproxDP(Fraction(number, 9), ZERO, RELATION), for_a_person=True)
                ledger._insert(ledger._written(Kind.RESERVATION, ledger.node, made, {}))
        case "return":
            ledger.give_back("spring")
        case "settle":
            for entry in [one for one in ledger.entries() if one.kind is Kind.CHARGE and not one.answered][:1]:
                ledger.settle(entry.charge, "digest")


def sums(entries):
    """What each run was charged, added up line by line."""
    found = {}
    for one in entries:
        if one.charge.run:
            key = (one.node, one.charge.run)
            run = found.setdefault(key, RunCharges(*key, one.at))
            run.epsilon += one.added[0]
            run.delta += one.added[1]
            run.charges += one.kind is Kind.CHARGE
            run.unanswered += one.kind is Kind.CHARGE and not one.answered
    return list(found.values())


def points(entries):
    """Spent, reserved and the total after each line that changed one of them, added up line by line."""
    spent, total, found = 0.0, 0.0, []
    charged, rests = {}, {}
    for one in entries:
        key = one.node, one.charge.run
        changed = one.kind is Kind.POPULATION or bool(one.added[0])
        if one.kind is Kind.POPULATION:
            total = float(Fraction(one.terms["total_epsilon"]))
        elif one.kind is Kind.RESERVATION:
            rests[key] = one.charge.loss.epsilon - charged.get(key, 0)
            changed = True
        elif one.kind is Kind.RETURN:
            changed = rests.pop(key, None) is not None
        spent += float(one.added[0])
        charged[key] = charged.get(key, 0) + one.added[0]
        if key in rests:
            rests[key] -= one.added[0]
        if changed:
            found.append((spent, pytest.approx(float(sum(max(rest, 0) for rest in rests.values()))), total))
    return found


def check_shown(reader, entries):
    """Compare all that a reader tells with what all lines say."""
    assert list(reader.entries()) == entries
    assert reader.newest(0, 1000) == (entries[::-1], len(entries))
    assert reader.newest(2, 3) == (entries[::-1][2:5], len(entries))
    for words in ("HILL", "spring", "total: eps", "nowhere"):
        having = [one for one in entries if words.lower() in f"{one.charge.run} {one.in_words}".lower()][::-1]
        assert reader.newest(1, 2, words) == (having[1:3], len(having))
    assert reader.by_run() == sums(entries)
    curve = reader.curve()
    assert list(zip(curve.spent, curve.held, curve.totals, strict=True)) == points(entries)


@given(STEPS, st.sampled_from([1, 3, 4096]))
def test_lines_read_in_pieces_are_those_read_at_once(steps, batch):
    with tempfile.TemporaryDirectory() as folder, patch.object(ledger_file, "BATCH", batch):
        path = Path(folder) / "ledger"
        with closing(declared(path, node="north")) as writer, closing(Ledger(path, PEOPLE, "north")) as book:
            reader = LedgerReader(book)
            for number, (step, look) in enumerate(steps):
                write(writer, number, *step)
                if look:
                    assert book.is_as_read()
                    check_shown(reader, writer.entries())
            entries = writer.entries()
            check_shown(reader, entries)
            check_shown(LedgerReader(book), entries)
            # Another process that opens the file adds up the same.
            with closing(Ledger(path, PEOPLE, "north")) as anew:
                assert (anew.spent(), anew.spent_delta()) == pytest.approx(
                    (book.spent(), book.spent_delta()), abs=1e-50
                )
                if not any(one.charge.loss in LONG for one in entries):
                    exact = tuple(sum((one.added[place] for one in entries), ZERO) for place in (0, 1))
                    assert exact[0] == anew.spent() == book.spent() == writer.spent()
                    assert exact[1] == anew.spent_delta() == book.spent_delta() == writer.spent_delta()


def test_lines_of_another_ledger_are_shown_where_they_were_taken_over(tmp_path):
    with closing(declared(tmp_path / "other", total=7)) as other:
        write(other, 1, "charge", "spring", PURE[1], "hut")
    with closing(declared(tmp_path / "l")) as book:
        reader = LedgerReader(book)
        check_shown(reader, book.entries())
        book.merge(tmp_path / "other")
        assert book.is_as_read()
        entries = book.entries()
        assert list(reader.entries()) == entries
        assert reader.by_run() == sums(entries)
        # Its total is not that of this one.
        assert set(reader.curve().totals) == {1000.0}


def test_days_are_both_included(tmp_path):
    with closing(declared(tmp_path / "l")) as book:
        write(book, 1, "charge", "spring", PURE[1], "hut")
        day = book.entries()[-1].at[:10]
        reader = LedgerReader(book)
        assert reader.newest(0, 9, since=day, until=day)[1] == 2
        assert reader.newest(0, 9, "hut", since="2001-01-01")[1] == 1
        assert reader.newest(0, 9, until="2001-01-01")[1] == 0
        assert reader.newest(0, 9, since="2999-01-01")[1] == 0


@pytest.fixture
def book(tmp_path):
    """An open ledger of three charges."""
    path = tmp_path / "l"
    with closing(declared(path)) as writer:
        for number in range(3):
            write(writer, number, "charge", "spring", PURE[1], "hut")
    with closing(Ledger(path, PEOPLE)) as opened:
        assert opened.spent() == Fraction(3, 4)
        yield opened


def shown(book):
    return [entry.in_words for entry in LedgerReader(book).newest(0, 100)[0]]


def changed(path, old, new):
    """Overwrite bytes of a file by other means than SQLite."""
    whole = path.read_bytes()
    assert whole.count(old) >= 1
    with path.open("r+b") as file:
        file.write(whole.replace(old, new))


def test_lines_that_are_added_change_none_before(book, tmp_path):
    with closing(Ledger(tmp_path / "l", PEOPLE)) as writer:
        write(writer, 7, "charge", "summer", PURE[2], "hut")
        writer.settle(Charge("summer", "hut-7", PURE[2]), "digest")
    assert book.is_as_read()
    assert book.spent() == Fraction(3, 4) + Fraction(1, 3)
    assert shown(book)[:2] == ["hut-7", "hut-2"]
    # By this one, too.
    write(book, 8, "charge", "summer", PURE[2], "hut")
    assert book.is_as_read()


def test_a_byte_that_was_changed_in_an_earlier_line_is_found(book, tmp_path):
    before = shown(book)
    changed(tmp_path / "l", b"hut-1", b"hat-1")
    for _ in range(2):
        with pytest.raises(PrivityError, match="a line was changed or taken out"):
            book.is_as_read()
    changed(tmp_path / "l", b"hat-1", b"hut-1")
    assert book.is_as_read()
    assert shown(book) == before
    assert book.spent() == Fraction(3, 4)


def test_a_line_that_was_changed_and_chained_anew_is_found(book, tmp_path):
    """As whoever has the file can: what was read of it before is not what it says now."""
    shutil.copy(tmp_path / "l", tmp_path / "copy")
    with closing(Ledger(tmp_path / "copy", PEOPLE)) as other, other._transaction():
        before = ""
        for line in other._lines("WHERE book = ? ORDER BY id", OWN_BOOK):
            line = line._replace(epsilon=line.epsilon.replace("1/4", "1/5"))
            line = line._replace(chain=line.link(before))
            before = line.chain
            where = "WHERE position = ?"
            other._db.execute(f"UPDATE lines SET epsilon = ?, chain = ? {where}", (line.epsilon, before, line.position))
    shutil.copyfile(tmp_path / "copy", tmp_path / "l")
    assert not book.is_as_read()
    assert not book.is_as_read()
    with closing(Ledger(tmp_path / "l", PEOPLE)) as anew:
        assert anew.spent() == Fraction(3, 5)


def test_a_ledger_that_was_set_back_in_its_place_is_found(book, tmp_path):
    shutil.copy(tmp_path / "l", tmp_path / "copy")
    write(book, 3, "charge", "spring", PURE[1], "hut")
    assert book.spent() == 1
    shutil.copyfile(tmp_path / "copy", tmp_path / "l")
    assert not book.is_as_read()


def test_a_file_that_took_its_place_is_found(book, tmp_path):
    shutil.copy(tmp_path / "l", tmp_path / "copy")
    (tmp_path / "copy").replace(tmp_path / "l")
    assert not book.is_as_read()


def test_a_closed_ledger_is_not_as_it_was_read(book):
    book.close()
    assert not book.is_as_read()


CRASH = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN IMMEDIATE")
for number in range(2000):
    db.execute("INSERT INTO lines (book, position, kind, node, run, step, epsilon, delta, terms, at, chain)"
               " VALUES (0, ?, 'charge', '', 'lost', ?, '1/4', '0', '{}', '2026-01-01T00:00:00+00:00', 'x')",
               (5 + number, f"lost-{number}"))
os._exit(9)
"""


@pytest.mark.process
def test_lines_that_a_crash_cut_off_are_not_there(book, tmp_path):
    before, size = shown(book), (tmp_path / "l").stat().st_size
    assert subprocess.run([sys.executable, "-c", CRASH, tmp_path / "l"], check=False).returncode == 9
    # Some of them were in the file already.
    assert (tmp_path / "l-journal").exists()
    assert (tmp_path / "l").stat().st_size > size
    assert book.is_as_read()
    assert shown(book) == before
    assert book.spent() == Fraction(3, 4)
