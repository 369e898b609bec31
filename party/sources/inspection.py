"""A look at an owner's rows before they are used: for the owner's screen, and nobody else's."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, replace
from itertools import combinations, islice
from math import comb
from pathlib import Path

from privity.common.data.schema import Schema
from privity.common.data.table_reading import Coder, no_rows
from privity.common.errors import Catalogue, PrivityError, Problem
from privity.party.sources.address import Address, Form
from privity.party.sources.counting_store import NEAR_TABLES, CountedRows
from privity.party.sources.held_rows import Access, Hold, coded_bytes
from privity.party.sources.open_rows import Opened, connect, faults, known_texts, open_rows
from privity.party.sources.pass_progress import a_pass_over
from privity.party.sources.rows import Rows
from privity.party.sources.sql_queries import Questions, Survey
from privity.party.sources.summed_rows import SummedRows, survey_of

MOST_TABLES = 190
"""Pair tables that are counted to see how long it takes: those of 20 attributes."""


TRIED_BY_SERVER = 4
"""Pair tables that a server is asked for which counts one after another."""


@dataclass(frozen=True)
class Inspection:
    """What was seen.

    Attributes:
        types: of the columns, as their store declares them, by attribute.
        misses: rows outside the domain, by attribute; None of one whose column was not read, at least in some file.
        problems: what keeps the rows from being used; with values.
        seconds: that reading through all rows took.
    """

    survey: Survey
    types: tuple[str, ...]
    misses: tuple[int | None, ...]
    problems: tuple[Problem, ...]
    seconds: float


def inspect(address: Address, schema: Schema, access: Access) -> Inspection:
    """Read through all rows once, and tell what is wrong with them instead of refusing them.

    Raises:
        RowProblemsFound: columns that are missing or do not fit, or a file that has no form.
        PrivityError: source-unreachable, source-refused.
    """
    started = time.monotonic()
    schema = address.read_by(schema)
    if address.form is Form.CSV:
        survey, misses, problems = _inspect_csv(address, schema, access)
        types = ("text",) * len(schema.attributes)
    else:
        store = connect(address, access.memory)
        try:
            questions = Questions(store, schema, known_texts(store, schema, access.slots), access.slots)
            survey = survey_of(store, questions)
            misses = survey.misses
            problems = faults(store, questions, schema, access.slots, survey)
            types = tuple(store.columns[name].declared for name, _ in schema.columns_of(store.columns))
        finally:
            store.close()
    return Inspection(survey, types, misses, tuple(problems), time.monotonic() - started)


def _inspect_csv(
    address: Address, schema: Schema, access: Access
) -> tuple[Survey, tuple[int | None, ...], list[Problem]]:
    keys = [access.slots.person, access.slots.order] if access.slots else []
    rows, problems = 0, []
    misses: tuple[int | None, ...] = (0,) * len(schema.attributes)
    with a_pass_over(address.files) as reading:
        for file in address.files:
            coder = Coder(schema, str(file), keys)
            for _ in coder.read(file, at=reading(file)):
                pass
            rows += coder.rows
            both = zip(misses, coder.misses, strict=True)
            misses = tuple(None if a is None or b is None else a + b for a, b in both)
            problems += coder.problems()
    if not rows and not problems:
        problems.append(no_rows(address.name))
    # Who has how many rows is seen when they are opened.
    return Survey(rows, rows, tuple(each or 0 for each in misses), 0), misses, problems


def in_pairs(schema: Schema) -> list[int]:
    """The attributes that a run may count in pairs: those whose domain is yet to be discovered are counted alone."""
    return [place for place, attribute in enumerate(schema.attributes) if not attribute.discover]


@dataclass(frozen=True)
class Way:
    """One way to hold the rows, tried.

    Attributes:
        hold: the setting of party.toml.
        unfit: why it is not possible; empty if it is.
        opening, counting: seconds until the rows are ready, and for all pairs; the latter predicted from some of them
            where a server counts.
        memory: bytes that stay taken.
        opened: what was seen of the rows; closed by now.
    """

    hold: Hold
    unfit: str = ""
    opened: Opened | None = None
    opening: float = 0.0
    counting: float = 0.0
    memory: int = 0


def tried(address: Address, schema: Schema, access: Access, hold: Hold) -> Way:
    """Open the rows in this way and count pairs; what it writes is gone afterwards.

    Raises:
        PrivityError: as ``open_rows``, but for a way that is not possible.
    """
    parent = access.cache.parent if access.cache is not None else None
    with tempfile.TemporaryDirectory(dir=parent if parent is not None and parent.is_dir() else None) as folder:
        started = time.monotonic()
        try:
            opened = open_rows(address, schema, replace(access, hold=hold, cache=Path(folder)))
        except PrivityError as error:
            if error.kind is not Catalogue.BAD_OPTION:
                raise
            return Way(hold, str(error.fields["reason"]))
        ready = time.monotonic()
        one_by_one = isinstance(opened.rows, CountedRows) and not isinstance(opened.rows, SummedRows)
        tables, seconds = time_to_count(opened.rows, TRIED_BY_SERVER if one_by_one else MOST_TABLES)
        every = max(comb(len(in_pairs(schema)), 2), 1)
        memory = coded_bytes(schema, opened.rows.rows) if hold is Hold.MEMORY else 0
        if opened.store is not None:
            opened.store.close()
        return Way(hold, "", opened, ready - started, seconds * every / tables, memory)


def automatic(address: Address, schema: Schema, access: Access, rows: int) -> str:
    """What ``auto`` does with these rows, and why."""
    needed, allowed = coded_bytes(schema, rows) / 1e9, access.memory / 1e9
    fits = needed <= allowed
    sizes = f"{needed:.2g} GB of codes, {allowed:.2g} GB allowed"
    if address.form in (Form.POSTGRESQL, Form.IBIS):
        place = "memory" if fits else "a file that goes when the run closes"
        counts = f"the server counts up to {NEAR_TABLES} tables; for more"
        if address.url.startswith("pyspark"):
            counts = "Spark's workers count all tables; for selections"
        return f"{counts}, the codes are loaded into {place} ({sizes})"
    if fits:
        return f"holds the codes in memory ({sizes})"
    kept = "keeps the codes in a file" if address.form is Form.CSV else "reads the rows anew for each question"
    return f"{kept}: they do not fit in memory ({sizes})"


def time_to_count(rows: Rows, most: int = MOST_TABLES) -> tuple[int, float]:
    """How many pair tables were counted, and how long it took."""
    pairs = list(islice(combinations(in_pairs(rows.schema), 2), most))
    started = time.monotonic()
    rows.count(pairs or [(0,)])
    return max(len(pairs), 1), time.monotonic() - started
