"""Categories that are discovered in a file, from its bytes to the ledger.

The neighbours differ in one person. Two texts stand at the threshold in every column, at the same places in each, so
that noise which serves two texts or two columns falls out. The noise is the operating system's.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np

from privity.common.data.schema import Schema, parse_schema
from privity.common.privacy.ledger import Ledger
from privity.common.privacy.mechanisms import ThresholdedCounts
from privity.common.privacy.population import Population
from privity.deploy.audit.audited_consortium import PLENTY, POPULATION
from privity.deploy.audit.input_paths import scratch, written_csv
from privity.deploy.audit.subject import Seen, Source, Subject
from privity.deploy.python.discovery import Discover

PERSON, ORDER = "person", "visit"

FITS = 20
"""Of one ledger, which adds up all its lines at each charge."""


def open_texts(columns: int) -> Schema:
    """A schema of columns whose categories are yet to be discovered."""
    fields = [{"name": f"x{c}", "type": "string", "domain": "discover"} for c in range(columns)]
    return parse_schema({"fields": fields, "extraColumns": "ignore"}, "audit")


def at_threshold(world: int, folder: Path, mechanism: ThresholdedCounts) -> Path:
    """Of two texts as many rows as the threshold, one row a person, and one more row of one person.

    A row that has the one text in a column has the other in the next.
    """
    rows = [["ab"[(c + text) % 2] for c in range(mechanism.columns)] for text in (0, 1)]
    lines = [[f"p{p}", "1", *rows[p % 2]] for p in range(2 * mechanism.threshold)]
    header = [PERSON, ORDER, *(f"x{c}" for c in range(mechanism.columns))]
    return written_csv(folder, header, [*lines, ["q", "1", *rows[world]]])


def ledger_of(folder: Path, batch: int, rows_per_person: int) -> Path:
    """A new one, of a population of which much may be asked."""
    ledger = folder / f"ledger-{batch}.sqlite"
    Ledger.declare(ledger, Population(POPULATION, PLENTY, Fraction(1), rows_per_person)).close()
    return ledger


def revealed(schema: Schema) -> int:
    """Which of the two texts are categories of each column, as a number."""
    shown = [text in attribute.categories for attribute in schema.attributes for text in "ab"]
    return sum(1 << place for place, there in enumerate(shown) if there)


def discovered_categories(columns: int, epsilon: Fraction, delta: Fraction, runs: int, quick: int) -> Subject:
    """Categories of a CSV file as its owner discovers them from Python, ledger on disk included."""
    mechanism, schema = ThresholdedCounts(columns, epsilon, delta), open_texts(columns)

    def sample(world: int, count: int, _source: Source) -> Seen:
        seen, charged, paid = [], PLENTY, Fraction(1)
        with scratch() as folder:
            file = at_threshold(world, folder, mechanism)
            for place in range(count):
                if place % FITS == 0:
                    ledger = ledger_of(folder, place, 1)
                found = Discover(epsilon, delta=delta, population=POPULATION, ledger=ledger).fit(file, schema)
                seen.append(revealed(found.discovered))
                charged, paid = min(charged, found.charged_.epsilon), min(paid, found.charged_.delta)
        return Seen({"public": np.array(seen)}, charged, charged_delta=paid)

    name = f"CSV, eps {epsilon}, delta {delta}, {columns} columns"
    return Subject("categories", name, epsilon, sample, runs, quick, delta)


def discovery_subjects() -> list[Subject]:
    """Files of one row a person."""
    return [discovered_categories(2, Fraction(2), Fraction(1, 1000), 2_000, 60)]
