"""Categories that are discovered in a file, from its bytes to the ledger.

The neighbours differ in one person. Two texts stand at the threshold in every column, at the same places in each, so
that noise which serves two texts or two columns falls out. The noise is the operating system's.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np

from privity import OneWay
from privity.assessment.audit.audited_consortium import PLENTY, POPULATION
from privity.assessment.audit.input_paths import scratch, written_csv
from privity.assessment.audit.subject import Seen, Source, Subject
from privity.common.data import schema as read
from privity.common.data.schema import parse_schema
from privity.common.privacy.category_budget import CategoryBudget, category_budget
from privity.common.privacy.ledger import Ledger
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.population import Population
from privity.common.privacy.privacy_loss import ApproxDP
from privity.common.privacy.thresholded_counts import ThresholdedCounts
from privity.common.release.statement import whole_loss
from privity.discovery import Discover
from privity.given import given_schema
from privity.releases import Release
from privity.schemas import Schema

PERSON, ORDER = "person", "visit"

MOSTLY = Fraction(49, 50)
"""Of a fit's epsilon, for its categories."""

FITS = 20
"""Of one ledger, which adds up all its lines at each charge."""


def open_texts(columns: int, *, absent_rows: bool = False) -> read.Schema:
    """A schema of columns whose categories are yet to be discovered."""
    fields = [{"name": f"x{c}", "type": "string", "domain": "discover"} for c in range(columns)]
    return parse_schema({"fields": fields, "extraColumns": "ignore", "absentRows": absent_rows}, "audit")


def at_threshold(world: int, folder: Path, mechanism: ThresholdedCounts, places: int = 1, mine: int = 1) -> Path:
    """Of two texts as many rows as the threshold, of people with a row in each of their places; and one person's.

    A row that has the one text in a column has the other in the next.

    Args:
        mine: rows of that person, all alike.
    """
    rows = [["ab"[(c + text) % 2] for c in range(mechanism.columns)] for text in (0, 1)]
    lines = [[f"p{i // places}", str(i % places), *rows[i % 2]] for i in range(2 * mechanism.threshold)]
    lines += [["q", str(i), *rows[world]] for i in range(mine)]
    return written_csv(folder, [PERSON, ORDER, *(f"x{c}" for c in range(mechanism.columns))], lines)


def ledger_of(folder: Path, batch: int, rows_per_person: int) -> Path:
    """A new one, of a population of which much may be asked."""
    ledger = folder / f"ledger-{batch}.sqlite"
    Ledger.declare(ledger, Population(POPULATION, PLENTY, Fraction(1), rows_per_person)).close()
    return ledger


def revealed(schema: read.Schema) -> int:
    """Which of the two texts are categories of each column, as a number."""
    shown = [text in attribute.categories for attribute in schema.attributes for text in "ab"]
    return sum(1 << place for place, there in enumerate(shown) if there)


def discovered_categories(
    columns: int, epsilon: Fraction, delta: Fraction, runs: int, quick: int, *, places: int = 1, mine: int = 1
) -> Subject:
    """Categories of a CSV file as its owner discovers them from Python, ledger on disk included.

    Args:
        epsilon, delta: for one row.
        places: rows that the population was declared with a person.
        mine: rows of the person that is replaced; of more than its places the first ones count.
    """
    mechanism, several = ThresholdedCounts(columns, epsilon, delta), places > 1 or mine > 1
    schema = open_texts(columns, absent_rows=several)
    person, order = (PERSON, ORDER) if several else (None, None)
    claim = ApproxDP(epsilon, delta, RELATION).scaled(places)

    def sample(world: int, count: int, _source: Source) -> Seen:
        seen, charged, paid = [], PLENTY, Fraction(1)
        with scratch() as folder:
            file = at_threshold(world, folder, mechanism, places, mine)
            for place in range(count):
                if place % FITS == 0:
                    ledger = ledger_of(folder, place, places)
                fit = Discover(epsilon, delta=delta, population=POPULATION, ledger=ledger).fit
                found = fit(file, schema, person=person, order=order)
                seen.append(revealed(found.discovered))
                charged, paid = min(charged, found.charged_.epsilon), min(paid, found.charged_.delta)
        return Seen({"public": np.array(seen)}, charged, charged_delta=paid)

    of_person = f", {mine} rows of a person with {places}" if several else ""
    name = f"CSV, eps {epsilon}, delta {delta}, {columns} columns{of_person}"
    return Subject("categories", name, claim.epsilon, sample, runs, quick, claim.delta)


def under_discovered_schema(discovery: Fraction, delta: Fraction, release: Fraction, runs: int, quick: int) -> Subject:
    """A release under a schema whose categories were discovered: what its statement says, against what it holds.

    The schema is saved, and read again by whoever makes the release. An outcome is the categories, which every file of
    the release has; its statement is made once a world.
    """
    mechanism, schema = ThresholdedCounts(1, discovery, delta), open_texts(1)

    def sample(world: int, count: int, _source: Source) -> Seen:
        seen = []
        with scratch() as folder:
            file = at_threshold(world, folder, mechanism)
            for place in range(count):
                if place % FITS == 0:
                    ledger = ledger_of(folder, place, 1)
                found = Schema.discover(
                    file, schema, epsilon=discovery, delta=delta, population=POPULATION, ledger=ledger
                )
                seen.append(revealed(given_schema(found)))
            found.save(folder / "schema.json")
            fitted = OneWay(release, population=POPULATION, ledger=ledger).fit(file, folder / "schema.json")
            fitted.publish(folder / "release")
            stated = Release(folder / "release").statement
        return Seen({"public": np.array(seen)}, stated=Fraction(stated.epsilon), charged_delta=Fraction(stated.delta))

    name = f"categories for eps {discovery}, delta {delta}, in a release for eps {release}"
    return Subject("discovered schema", name, discovery + release, sample, runs, quick, delta)


def discovered_in_a_fit(epsilon: Fraction, delta: Fraction, runs: int, quick: int) -> Subject:
    """A fit that discovers categories first, and makes a table of what they leave: what its statement says of both.

    Nearly all of its epsilon is for the categories, so that a statement without them would be found out.
    """
    budget = category_budget(1, epsilon, delta, MOSTLY)

    class TextsFirst(OneWay):
        def _budget_for_texts(self, _texts: int, _numbers: int, _rows: int) -> CategoryBudget:
            return budget

    def sample(world: int, count: int, _source: Source) -> Seen:
        seen, charged, paid, schema = [], PLENTY, Fraction(1), open_texts(1)
        with scratch() as folder:
            file = at_threshold(world, folder, budget.mechanism)
            for place in range(count):
                if place % FITS == 0:
                    ledger = ledger_of(folder, place, 1)
                fitted = TextsFirst(epsilon, delta=delta, population=POPULATION, ledger=ledger).fit(file, schema)
                seen.append(revealed(fitted.model_.schema))
                charged, paid = min(charged, fitted.charged_.epsilon), min(paid, fitted.charged_.delta)
            stated, stated_delta = whole_loss(fitted.publish(folder / "release").privacy)
        return Seen({"public": np.array(seen)}, charged, stated, min(paid, stated_delta))

    name = f"categories in a fit for eps {epsilon}, delta {delta}"
    return Subject("discovered schema", name, epsilon, sample, runs, quick, delta)


def discovery_subjects() -> list[Subject]:
    """Files of one row a person, and of more."""
    half, two, delta = Fraction(1, 2), Fraction(2), Fraction(1, 1000)
    return [
        discovered_categories(2, two, delta, 1_000, 60),
        discovered_categories(2, two, delta, 600, 0, places=2, mine=2),
        *(discovered_categories(2, half, delta, 600, 80, places=places, mine=200) for places in (1, 2)),
        under_discovered_schema(Fraction(6), delta, Fraction(1, 10), 400, 40),
        discovered_in_a_fit(Fraction(6), delta, 400, 40),
    ]
