"""The pages of the budget and the ledger over a node's own files."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from privity.common.privacy.ledger import Allowance, Charge, Ledger
from privity.common.privacy.ledger_folder import declare, default_ledger, open_ledger
from privity.common.privacy.ledger_reader import Curve, LedgerReader, Point
from privity.common.privacy.population import parse_population
from privity.common.privacy.privacy_loss import ApproxDP, PureDP, Relation
from privity.interfaces.console.budget_pages import MOST_POINTS, as_typed, picture
from privity.interfaces.console.party_console import party_site
from tests.harness.console import Visitor, visited

pytestmark = pytest.mark.process

PEOPLE = "patients of the north"
SEEN: dict[str, str | list[str]] = {"seen_epsilon": "1", "seen_delta": "0", "total_delta": "0"}


@pytest.fixture
def owner(north: Path) -> Iterator[Visitor]:
    with visited(party_site(north)) as visitor:
        yield visitor


def charge(run: str, step: str, epsilon: str, settle: bool = True) -> None:
    with closing(open_ledger(PEOPLE)) as book:
        made = Charge(run, step, PureDP(Fraction(epsilon), Relation.REPLACE_ONE))
        book.charge(made, Allowance(Fraction(1), Fraction(0), None), "north")
        if settle:
            book.settle(made, "digest")


def test_the_budget_is_a_picture_and_a_table(owner: Visitor) -> None:
    charge("spring", "tree", "1/4")
    page = owner.get("/budget")
    assert "0.25 spent in all, 0 reserved by runs under way, of a total of 1." in page.body.decode()
    assert re.search(r" \d\d:\d\d 0\.25 0 1 ", page.text)
    charge("spring", "tables", "1/4")
    assert "0.5 spent in all" in owner.get("/budget").body.decode()


def test_what_runs_had_reserved_is_in_the_picture_at_its_time(owner: Visitor) -> None:
    with closing(open_ledger(PEOPLE)) as book:
        book.reserve("spring", ApproxDP(Fraction(1, 2), Fraction(0), Relation.REPLACE_ONE), "north")
        begun = [(one.spent, one.held) for one in stood(book)]
        charge("spring", "tree", "1/8")
        charge("autumn", "tree", "1/8")
        under_way = [(one.spent, one.held) for one in stood(book)][-1]
    page = owner.get("/budget")
    assert "0.25 spent in all, 0.375 reserved by runs under way, of a total of 1." in page.body.decode()
    assert re.search(r" \d\d:\d\d 0\.25 0\.375 1 ", page.text)
    owner.post("/budget/return", {"run": "spring"})
    with closing(open_ledger(PEOPLE)) as book:
        ended = [(one.spent, one.held) for one in stood(book)][-1]
    assert (begun[-1], under_way, ended) == ((0.0, 0.5), (0.25, 0.375), (0.25, 0.0))


def stood(book: Ledger) -> list[Point]:
    curve = LedgerReader(book).curve()
    return [curve.point(place) for place in range(len(curve))]


@pytest.mark.parametrize(
    ("number", "typed"),
    [
        ("1", "1"), ("3/2", "1.5"), ("1/1000000000", "1e-9"), ("12345678901/100000000000", "0.12345678901"),
        ("1/1073741824", "9.31323e-10"), ("1/3", "0.333333"), ("7/64", "0.109375"), ("1/128", "0.0078125"),
    ],
)  # fmt: skip
def test_a_field_holds_a_decimal_that_is_the_number_or_about_it(number: str, typed: str) -> None:
    assert as_typed(Fraction(number)) == typed


def test_a_total_that_is_no_decimal_stays_exact_unless_its_field_is_changed(owner: Visitor) -> None:
    assert owner.post("/budget/change", {**SEEN, "total_epsilon": "2/3"}).status == 303
    page = owner.get("/budget").body.decode()
    assert 'name="total_epsilon" value="0.666667"' in page
    assert "Exactly 2/3; it stays so unless you change the field." in page
    seen = {**SEEN, "seen_epsilon": "2/3", "total_epsilon": "0.666667"}
    # The delta alone is changed.
    assert owner.post("/budget/change", {**seen, "total_delta": "1e-9", "raise": "yes"}).status == 303
    with closing(open_ledger(PEOPLE)) as book:
        assert book.population.total_epsilon == Fraction(2, 3)
        assert book.population.total_delta == Fraction(1, 10**9)


def test_what_is_mistyped_comes_back_with_what_is_wrong_beside_it(owner: Visitor) -> None:
    page = owner.post("/budget/change", {**SEEN, "total_epsilon": "a lot<b>", "total_delta": "2"})
    assert page.status == 400
    body = page.body.decode()
    assert re.search(r'value="a lot&lt;b&gt;"[^>]*aria-describedby="hint-total_epsilon wrong-total_epsilon"', body)
    assert re.search(r'name="total_epsilon"[^>]*aria-invalid="true" autofocus', body)
    assert re.search(r'name="total_delta" value="2"[^>]*aria-invalid="true">', body)
    assert "'a lot<b>' is not a positive number. Give a decimal" in page.text
    with closing(open_ledger(PEOPLE)) as book:
        assert book.population.total_epsilon == 1


def test_a_total_is_lowered_at_once_and_raised_after_a_question(owner: Visitor) -> None:
    assert owner.post("/budget/change", {**SEEN, "total_epsilon": "1/2"}).status == 303
    with closing(open_ledger(PEOPLE)) as book:
        assert book.population.total_epsilon == Fraction(1, 2)
    # From a page that was left open.
    page = owner.post("/budget/change", {**SEEN, "total_epsilon": "1/4"})
    assert "changed meanwhile" in page.text
    assert 'name="total_epsilon" value="1/4"' in page.body.decode(), "what was typed is there to be sent again"
    seen = {**SEEN, "seen_epsilon": "1/2", "total_epsilon": "2"}
    page = owner.post("/budget/change", seen)
    assert page.status == 200
    assert "it was epsilon 0.5 and delta 0 in all; it would be epsilon 2" in page.text
    with closing(open_ledger(PEOPLE)) as book:
        assert book.population.total_epsilon == Fraction(1, 2)
    assert owner.post("/budget/change", {**seen, "raise": "yes"}).status == 303
    assert "total: epsilon 2, delta 0" in owner.get("/ledger").text
    assert "changed a total" in owner.get("/log").text


def test_what_a_run_that_is_gone_has_reserved_is_returned(owner: Visitor) -> None:
    with closing(open_ledger(PEOPLE)) as book:
        book.reserve("lost", ApproxDP(Fraction(1, 2), Fraction(0), Relation.REPLACE_ONE), "north")
    assert "Return what lost has reserved" in owner.get("/budget").text
    assert owner.post("/budget/return", {"run": "lost"}).status == 303
    assert "Reserved now" not in owner.get("/budget").text
    assert "has reserved nothing" in owner.post("/budget/return", {"run": "lost"}).text


def test_other_populations_of_the_account_have_their_pages(owner: Visitor) -> None:
    declare(parse_population("staff", "3")).close()
    for page in ("/budget", "/ledger"):
        assert "On this machine there are other ledgers too. That of patients of the north is" in owner.get(page).text
    assert "people of staff" in owner.get("/budget?population=staff").text
    assert owner.get("/budget?population=nobody").status == 400


def test_lines_are_found_and_paged(owner: Visitor) -> None:
    for number in range(101):
        charge("spring" if number % 2 else "summer", f"step-{number}", "1/1000", settle=number > 0)
    page = owner.get("/ledger").text
    assert "102 lines, of which 1 to 100 are shown." in page
    assert page.index("step-100") < page.index("step-99")
    assert "step-0 0.001 0 no" in owner.get("/ledger?first=100").text
    assert "51 lines" in owner.get("/ledger?search=SUMMER").text
    assert "1 line." in owner.get("/ledger?search=step-77").text
    assert "0 lines" in owner.get("/ledger?until=2001-01-01").text
    assert "summer 0.051 0 51 1" in owner.get("/ledger?by=run").text
    # An answer that comes later is seen, too.
    charge("summer", "step-0", "1/1000")
    assert "summer 0.051 0 51 0" in owner.get("/ledger?by=run").text


def test_a_ledger_that_was_set_back_or_changed_meanwhile_is_shown_as_it_is(owner: Visitor, tmp_path: Path) -> None:
    file, kept = default_ledger(PEOPLE), tmp_path / "kept"
    charge("spring", "tree", "1/4")
    shutil.copy(file, kept)
    charge("spring", "tables", "1/4")
    assert "0.5 spent in all" in owner.get("/budget").body.decode()
    assert "3 lines" in owner.get("/ledger").text
    # Over the same file, and as another file.
    for put_back in (
        shutil.copyfile,
        lambda old, new: shutil.copy(old, f"{new}-copy") and os.replace(f"{new}-copy", new),
    ):
        put_back(kept, file)
        assert "0.25 spent in all" in owner.get("/budget").body.decode()
        assert "2 lines" in owner.get("/ledger").text
        charge("spring", "tables", "1/4")
        assert "0.5 spent in all" in owner.get("/budget").body.decode()
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("UPDATE lines SET epsilon = '1/1000' WHERE step = 'tree'")
    for address in ("/budget", "/ledger", "/"):
        assert "a line was changed or taken out" in owner.get(address).text
    shutil.copyfile(kept, file)
    assert "0.25 spent in all" in owner.get("/budget").body.decode()


def test_a_picture_has_few_points_and_ends_at_the_last_line() -> None:
    curve = Curve()
    for n in range(1000):
        curve.add(f"2026-01-01T{n // 60:02d}:{n % 60:02d}:00+00:00", n / 1000, 0.25, 2.0)
    found = picture(curve, "2026-01-01T23:00:00+00:00")
    assert found is not None
    assert len(found.points) <= MOST_POINTS + 2
    assert found.points[-1] == Point("2026-01-01T16:39:00+00:00", 0.999, 0.25, 2.0)
    assert picture(Curve(), "2026-01-01T23:00:00+00:00") is None
