"""Persons and their events, from two files to noisy marginals of steps, on neighbours that differ in all of a person.

One person has a single event in one world, and in the other one other attributes, as many other events as count and one
beyond these. Everybody else has one event, or two, of which a hash of the key takes the first. A reader that lets a
person weigh by events, picks by what others have, or cuts without an order moves more than one row, or other people's.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from privity.assessment.audit.audited_consortium import PLENTY, POPULATION
from privity.assessment.audit.input_paths import ATTRIBUTES, EPSILON, scratch
from privity.assessment.audit.noise_evidence import scale_of_one, statistics
from privity.assessment.audit.subject import Seen, Source, Subject
from privity.common.data.history_steps import hashed
from privity.common.data.schema import Schema, parse_schema
from privity.common.privacy.ledger import Allowance, Ledger
from privity.common.privacy.population import Population
from privity.common.privacy.run_budget import PureBudget
from privity.common.protocol.session import complete
from privity.common.storage.journal import MEMORY, Journal
from privity.party.charged_releases import ChargedReleases
from privity.party.local_backend import local_session, new_run
from privity.party.sources.source_settings import RowSettings

OWNER = "owner"
PERSONS, EVENTS = "persons", "events"
MOST = 12
OTHERS = [key for key in (f"p{place}" for place in range(100)) if hashed(key) < 2**31][:20]
"""Keys of those whose first event of two is taken."""

LETTERS = "AB"


def _schema() -> Schema:
    letters = [{"name": f"x{a}", "type": "string", "categories": list(LETTERS)} for a in range(ATTRIBUTES)]
    key = {"name": "person", "type": "string", "generate": "uuid"}
    persons = {"primaryKey": "person", "fields": [key, {"name": "kind", "type": "string", "categories": ["c", "d"]}]}
    history = {"order": "day", "most": MOST, "before": [], "gap": {"edges": [0, 2, 100]}}
    link = {"fields": "person", "reference": {"resource": PERSONS, "fields": "person"}}
    day = {"name": "day", "type": "integer", "edges": [0, 50, 100]}
    fields = [{"name": "person", "type": "string"}, day, *letters]
    events = {"foreignKeys": [link], "history": history, "fields": fields}
    resources = [{"name": PERSONS, "schema": persons}, {"name": EVENTS, "schema": events}]
    return parse_schema({"format_version": 1, "resources": resources}, "audit")


def tables(world: int, folder: Path, events_of_others: int) -> Mapping[str, str]:
    """The two files."""
    persons = [(key, "c") for key in OTHERS] + [("q", "cd"[world])]
    events = [(key, day, letter) for day, letter in ((10, "A"), (20, "B"))[:events_of_others] for key in OTHERS]
    # The last event is beyond those that count, and stands first in the file.
    mine = [(30, "A"), *((day, "B") for day in range(MOST, 0, -1))] if world else [(1, "A")]
    events = [*(("q", day, letter) for day, letter in mine), *events]
    rows: dict[str, list[tuple[Any, ...]]] = {
        PERSONS: [("person", "kind"), *persons],
        EVENTS: [
            ("person", "day", *(f"x{a}" for a in range(ATTRIBUTES))),
            *((key, day, *[letter] * ATTRIBUTES) for key, day, letter in events),
        ],
    }
    for name, lines in rows.items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)
    return {name: str(folder / f"{name}.csv") for name in rows}


def steps_of_histories(events_of_others: int, runs: int, quick: int) -> Subject:
    """Noisy marginals of events, made as an owner makes them from two files, ledger on disk included."""
    schema, budget = _schema(), PureBudget(EPSILON)
    places = [(schema.index(f"{EVENTS}.x{a}"),) for a in range(ATTRIBUTES)]
    zero, one = (np.array(cells, dtype=np.int64) for cells in ([21, 0, 0], [20, 1, 0]))

    def sample(world: int, count: int, _source: Source) -> Seen:
        parts, charged = [], PLENTY
        with scratch() as folder:
            files = tables(world, folder, events_of_others)
            rows = RowSettings(files[PERSONS], folder, events=files[EVENTS]).open(schema, 1).rows
            for batch in range(-(-count // ATTRIBUTES)):
                run = new_run()
                book = Ledger.declare(folder / f"ledger-{batch}.sqlite", Population(POPULATION, EPSILON))
                with closing(book) as ledger:
                    releases = ChargedReleases(OWNER, rows, Journal(MEMORY), ledger)
                    session = local_session(run, releases, Allowance(EPSILON, Fraction(0), budget))
                    measured = complete(session.measure("audit", places, session.budget.whole))
                    view = np.stack([table.counts.ravel() for table in measured])
                    parts.append(statistics(view, zero, one, scale_of_one(EPSILON / ATTRIBUTES), Fraction(1)))
                    charged = min(charged, ledger.spent(run) / ATTRIBUTES)
        return Seen({"public": np.concatenate(parts)[:count]}, charged)

    name = f"two CSV files, all of a person, others with {events_of_others}"
    return Subject("history", name, EPSILON / ATTRIBUTES, sample, runs, quick)


def history_subjects() -> list[Subject]:
    """Persons with their events."""
    return [steps_of_histories(1, 3_000, 600), steps_of_histories(2, 3_000, 0)]
