"""The pages of the budget and the ledger: what was ever spent on these people, on what, and how much may be."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import flask

from privity.common.errors import Catalogue, PrivityError
from privity.common.pages.drawing import Scale
from privity.common.privacy.budget import exact_number, parse_delta, parse_epsilon, readable
from privity.common.privacy.ledger import Entry, Ledger
from privity.common.privacy.ledger_folder import declared
from privity.common.privacy.ledger_listing import LINES, RUNS
from privity.common.privacy.ledger_reader import Curve, LedgerReader, Point, RunCharges
from privity.common.privacy.population import Population
from privity.common.privacy.population_change import change_population, in_words, return_reserved
from privity.common.text.utc_times import utc_now
from privity.interfaces.console.local_site import LocalSite, changed
from privity.interfaces.console.owner_files import OwnerFiles

A_PAGE = 100
MOST_POINTS = 200
WIDTH, HEIGHT = 600, 200
MOST_DIGITS = 24
"""Of a decimal in a field."""
TOTALS: dict[str, Callable[[str, str], Fraction]] = {"total_epsilon": parse_epsilon, "total_delta": parse_delta}
"""Fields of the form that changes a total, and what reads each."""


@dataclass(frozen=True)
class Budget:
    """What a population has, for a picture: epsilons, and widths in percent of the total."""

    total: Fraction
    spent: Fraction
    held: Fraction
    asked: Fraction = Fraction(0)

    @property
    def left(self) -> Fraction:
        return self.total - self.spent - self.held

    @property
    def after(self) -> Fraction:
        return self.left - self.asked

    def parts(self) -> Iterator[tuple[str, float, float]]:
        """Of the bar: (class, start, width), from left to right."""
        start = 0.0
        for name, amount in (("spent", self.spent), ("held", self.held), ("this", self.asked)):
            width = min(float(amount / self.total) * 100 if self.total else 0.0, 100 - start)
            if width > 0:
                yield name, start, width
                start += width


def budget_of(ledger: Ledger, asked: Fraction = Fraction(0)) -> Budget:
    """How a ledger stands.

    Args:
        asked: what a run that is not charged or reserved yet would cost.
    """
    return Budget(ledger.population.total_epsilon, ledger.spent(), ledger.held()[0], asked)


@dataclass(frozen=True)
class Picture:
    """A budget over time, as points of a picture.

    Attributes:
        spent, taken: areas of steps, the second with what was reserved besides; total: a line of steps.
        points: of the table behind it.
    """

    spent: str
    taken: str
    total: str
    points: list[Point]
    top: float


def picture(curve: Curve, now: str) -> Picture | None:
    """A picture of few points, however many lines there are; None of a ledger that says nothing yet."""
    if not curve:
        return None
    times = curve.times
    end = max(datetime.fromisoformat(now).timestamp(), times[-1], times[0] + 1)
    width = end - times[0]
    # The last line of every step along the picture.
    moments = [times[0] + width * step / MOST_POINTS for step in range(MOST_POINTS + 1)]
    places = sorted({place for moment in moments if (place := bisect_right(times, moment) - 1) >= 0} | {len(curve) - 1})
    points = [curve.point(place) for place in places]
    top = max(max(one.taken, one.total) for one in points) or 1.0

    across, up = Scale(times[0], end, 0, WIDTH), Scale(0, top, HEIGHT, 0)

    def line(values: Sequence[float]) -> str:
        steps = f"M0 {up.at(values[0]):.1f}" if values else f"M0 {HEIGHT}"
        for place, value in zip(places, values, strict=True):
            steps += f"H{across.at(times[place]):.1f}V{up.at(value):.1f}"
        return f"{steps}H{WIDTH}"

    spent, taken, total = (line([getattr(one, name) for one in points]) for name in ("spent", "taken", "total"))
    return Picture(f"{spent}V{HEIGHT}H0Z", f"{taken}V{HEIGHT}H0Z", total, points, top)


def as_typed(number: Fraction) -> str:
    """A decimal for a field: the very number if some decimal of few digits is, else about it."""
    short = readable(number)
    if exact_number(short) == number:
        return short
    whole = Decimal(number.numerator) / Decimal(number.denominator)
    full = f"{whole:f}"
    return full if len(full) <= MOST_DIGITS and exact_number(full) == number else short


def _totals(form: Mapping[str, str], seen: Population) -> tuple[Population, dict[str, list[str]]]:
    """The totals that a form asks for, and what is wrong with it by field; what nobody touched is what it was."""
    wanted, wrong = dict[str, Fraction](), dict[str, list[str]]()
    for key, parse in TOTALS.items():
        typed, before = form.get(key, "").strip(), getattr(seen, key)
        try:
            wanted[key] = before if typed == as_typed(before) else parse(typed, key)
        except PrivityError as error:
            wrong[key] = [f"{error.message.removeprefix(f'{key}: ')}. {error.remedy}"]
    return replace(seen, **wanted), wrong  # type: ignore[arg-type]


class BudgetPages:
    """Budgets of all populations of this user account, and the ledger of each.

    Args:
        files: the node's; site: takes the pages.
    """

    def __init__(self, files: OwnerFiles, site: LocalSite) -> None:
        self._files, self._site = files, site
        add = site.app.add_url_rule
        add("/budget", "budget", self.budget)
        add("/budget/change", "budget_change", self.change, methods=["POST"])
        add("/budget/return", "budget_return", self.give_back, methods=["POST"])
        add("/ledger", "ledger", self.ledger)

    def _names(self) -> dict[str, Path]:
        """All populations, the node's own first."""
        found = declared()
        try:
            policy = self._files.policy()
        except PrivityError:
            return found
        own = policy.population.name
        return {own: self._files.config.ledger or found[own], **{name: at for name, at in found.items() if name != own}}

    def _chosen(self) -> tuple[str, Ledger, LedgerReader, list[str]]:
        names = self._names()
        name = flask.request.values.get("population", "") or next(iter(names), "")
        if name not in names:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="population", reason="this user account has declared no such population",
                hint="privity population list names those that there are.",
            )  # fmt: skip
        books = self._files.books
        return name, books.of(name, names[name]), books.reader(name, names[name]), list(names)

    def budget(self) -> flask.Response:
        return self._budget({}, {})

    def _budget(self, typed: Mapping[str, str], wrong: Mapping[str, list[str]]) -> flask.Response:
        """The page, with what was typed and what is wrong with it, by field; under "" what belongs to none."""
        name, book, reader, names = self._chosen()
        people = book.population
        shown = {key: as_typed(getattr(people, key)) for key in TOTALS}
        inexact = [key for key in TOTALS if exact_number(shown[key]) != getattr(people, key)]
        return self._site.page(
            "budget.html.j2", status=400 if wrong else 200, place="budget", name=name, names=names, people=people,
            budget=budget_of(book), spent_delta=book.spent_delta(), reserved=book.reserved(), readable=readable,
            picture=picture(reader.curve(), utc_now()), width=WIDTH, height=HEIGHT, wrong=wrong,
            exact={key: str(getattr(people, key)) for key in inexact},
            typed={key: typed.get(key, shown[key]) for key in TOTALS},
        )  # fmt: skip

    def change(self) -> flask.Response:
        name, book, _, _ = self._chosen()
        form, now = flask.request.form, book.population
        seen = replace(
            now,
            total_epsilon=parse_epsilon(form.get("seen_epsilon", ""), "total_epsilon"),
            total_delta=parse_delta(form.get("seen_delta", ""), "total_delta"),
        )
        wanted, wrong = _totals(form, seen)
        if wrong:
            return self._budget(form, wrong)
        raised = wanted.total_epsilon > seen.total_epsilon or wanted.total_delta > seen.total_delta
        if raised and "raise" not in form:
            return self._site.page("budget_raise.html.j2", place="budget", seen=seen, wanted=wanted, name=name,
                                   readable=readable)  # fmt: skip
        try:
            with self._site.log.change("changed a total", population=name, now=in_words(wanted), before=in_words(seen)):
                change_population(book, wanted, seen, raise_total="raise" in form)
        except PrivityError as error:
            return self._budget(form, {"": [f"{error.message}. {error.remedy}"]})
        return changed("budget", "total", population=name)

    def give_back(self) -> flask.Response:
        name, book, _, _ = self._chosen()
        run = flask.request.form.get("run", "")
        with self._site.log.change("returned what a run had reserved", population=name, run=run):
            return_reserved(book, run)
        return changed("budget", "returned", population=name)

    def ledger(self) -> flask.Response:
        name, _, reader, names = self._chosen()
        asked = flask.request.args
        search, since, until = (asked.get(key, "").strip() for key in ("search", "since", "until"))
        by_run = asked.get("by") == "run"
        first = max(0, asked.get("first", 0, type=int))
        lines: Sequence[RunCharges | Entry]
        if by_run:
            found = [
                one
                for one in reader.by_run()[::-1]
                if since <= one.at[:10] and (not until or one.at[:10] <= until) and search.lower() in one.run.lower()
            ]
            lines, count = found[first : first + A_PAGE], len(found)
        else:
            lines, count = reader.newest(first, A_PAGE, search, since, until)
        return self._site.page(
            "ledger.html.j2", place="ledger", name=name, names=names, search=search, since=since, until=until,
            by_run=by_run, first=first, count=count, a_page=A_PAGE, lines=lines, columns=RUNS if by_run else LINES,
        )  # fmt: skip
