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

from privity.common.privacy.ledger import Allowance, Charge
from privity.common.privacy.ledger_folder import declare, default_ledger, open_ledger
from privity.common.privacy.ledger_reader import Curve, Point
from privity.common.privacy.population import parse_population
from privity.common.privacy.privacy_loss import ApproxDP, PureDP, Relation
from privity.deploy.console.budget_pages import MOST_POINTS, picture
from privity.deploy.console.party_console import party_site
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
    assert "0.25 spent in all, of a total of 1." in page.body.decode()
    assert re.search(r"T[\d:]+\+00:00 0\.25 1 ", page.text)
    charge("spring", "tables", "1/4")
    assert "0.5 spent in all" in owner.get("/budget").body.decode()


def test_a_total_is_lowered_at_once_and_raised_after_a_question(owner: Visitor) -> None:
    assert owner.post("/budget/change", {**SEEN, "total_epsilon": "1/2"}).status == 303
    with closing(open_ledger(PEOPLE)) as book:
        assert book.population.total_epsilon == Fraction(1, 2)
    # From a page that was left open.
    assert "changed meanwhile" in owner.post("/budget/change", {**SEEN, "total_epsilon": "1/4"}).text
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
    assert "staff" in owner.get("/budget").text
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
        curve.add(f"2026-01-01T{n // 60:02d}:{n % 60:02d}:00+00:00", n / 1000, 2.0)
    found = picture(curve, "2026-01-01T23:00:00+00:00")
    assert found is not None
    assert len(found.points) <= MOST_POINTS + 2
    assert found.points[-1] == Point("2026-01-01T16:39:00+00:00", 0.999, 2.0)
    assert picture(Curve(), "2026-01-01T23:00:00+00:00") is None
