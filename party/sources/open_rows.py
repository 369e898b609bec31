"""Open an owner's rows where they are: look at all of them once, and choose how they are counted from then on."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from privity.common.data.coded_table import CodedTable, Column
from privity.common.data.declared_values import code_in
from privity.common.data.frame_values import MISSING
from privity.common.data.schema import Schema
from privity.common.data.table_reading import expected
from privity.common.data.value_remedies import remedy_in
from privity.common.errors import Catalogue, PrivityError, Problem, RowProblemsFound
from privity.common.text.short_values import listed, shorten
from privity.party.sources.address import Address, Form
from privity.party.sources.coded_batches import StoreBatches, load_coded
from privity.party.sources.counting_store import CountedRows
from privity.party.sources.csv_files import CsvBatches
from privity.party.sources.fingerprint import fingerprint
from privity.party.sources.held_rows import (
    Access,
    Hold,
    Holder,
    coded_bytes,
    default_memory,
    too_many,
    unfit,
    with_absent,
)
from privity.party.sources.open_texts import CountedTexts, StoreTexts
from privity.party.sources.person_slots import load_slots
from privity.party.sources.rows import InMemory, Rows
from privity.party.sources.sql_coding import Numbers, is_read_apart, quoted
from privity.party.sources.sql_queries import NO_ORDER, NO_PERSON, TIED, Questions, Slots, Survey
from privity.party.sources.store import Store, Summing
from privity.party.sources.store_columns import column_problems, key_problems
from privity.party.sources.summed_rows import SummedRows, survey_of

SPARK = "pyspark://"

MOST_TEXTS = 1 << 16
"""Different texts of a column that holds numbers as texts."""

VALUES_NAMED = 3
VALUES_SEEN = 100
"""Values outside a domain by which it is said what to do about them."""


@dataclass(frozen=True)
class Opened:
    """Rows that are ready to be counted, and what was seen of them."""

    rows: Rows
    survey: Survey
    store: Store | None


def connect(address: Address, memory: int) -> Store:
    """The store of an address that is no CSV.

    Raises:
        PrivityError: source-unreachable, source-refused.
    """
    match address.form:
        case Form.POSTGRESQL:
            from privity.party.sources.postgresql_store import PostgresqlStore  # as below

            return PostgresqlStore(address)
        case Form.IBIS:
            from privity.party.sources.ibis_store import IbisStore  # its library takes a second to load
            from privity.party.sources.spark_store import SparkStore

            return SparkStore(address) if address.url.lower().startswith(SPARK) else IbisStore(address)
        case _ if address.in_object_store:
            from privity.party.sources.object_store import ObjectStore  # as above

            return ObjectStore(address, min(memory, default_memory()))
        case _:
            from privity.party.sources.duckdb_store import EmbeddedStore  # as above

            return EmbeddedStore(address, min(memory, default_memory()))


def open_rows(address: Address, schema: Schema, access: Access | None = None) -> Opened:
    """Read through all rows once, and hold them as ``access`` says.

    Raises:
        ProblemsFound: columns that are missing or do not fit.
        RowProblemsFound: no rows, or values outside the domain; with values, for the owner's eyes only.
        PrivityError: source-unreachable, source-refused, source-changed; bad-option: they do not fit in memory.
    """
    access = access or Access(memory=default_memory())
    check_places(schema, access.slots)
    schema = address.read_by(schema)
    if address.form is Form.CSV:
        return _open_csv(address, schema, access)
    store = connect(address, access.memory)
    state = store.state()
    questions = Questions(store, schema, known_texts(store, schema, access.slots), access.slots)
    batches = StoreBatches(store, questions, schema)
    table = None
    if (stored := _rows_to_load(store, questions, schema, access)) is not None:
        table, misses, total = load_coded(batches, schema, stored)
        survey = Survey(stored, stored, misses, total)
    else:
        survey = survey_of(store, questions)
    problems = faults(store, questions, schema, access.slots, survey)
    if problems:
        raise RowProblemsFound(problems)
    if store.state() != state:
        raise PrivityError(Catalogue.SOURCE_CHANGED, source=store.name)
    return Opened(_held(store, batches, questions, survey, state, table, access), survey, store)


def check_places(schema: Schema, slots: Slots | None) -> None:
    """Refuse one table where two are declared, and several places of a person that have no code where they are empty.

    Raises:
        PrivityError: bad-option.
    """
    if schema.history is not None:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="table", reason="the schema is of two tables, and one is given",
            hint=f"Give both by name: {listed(list(schema.history.names))}.",
        )  # fmt: skip
    if slots is not None and slots.most > 1 and not schema.absent_rows:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="person", reason="the schema declares no absent rows",
            hint='Places that a person does not fill need a code: write "absentRows": true into the schema.',
        )  # fmt: skip


def _rows_to_load(store: Store, questions: Questions, schema: Schema, access: Access) -> int | None:
    """How many rows one pass can both look at and load; None: they are looked at first."""
    wanted = access.hold is Hold.MEMORY or (access.hold is Hold.AUTO and not store.counts)
    if not (wanted and store.one_state and questions.row_by_row):
        return None
    ((stored,),) = store.rows(questions.all_rows())
    return int(stored) if 0 < coded_bytes(schema, int(stored)) <= access.memory else None


def load_table(address: Address, schema: Schema) -> CodedTable:
    """All rows in memory, whatever they take; raises as ``open_rows``."""
    rows = open_rows(address, schema, Access(Hold.MEMORY, sys.maxsize)).rows
    assert isinstance(rows, InMemory)
    return rows.table


def known_texts(store: Store, schema: Schema, slots: Slots | None) -> dict[str, Numbers]:
    """Codes of the texts in columns that hold numbers as texts; checks the columns first.

    Raises:
        RowProblemsFound: columns that are missing, do not fit, or hold too many different texts.
    """
    keys = [] if slots is None else [slots.person, slots.order]
    problems = column_problems(store.columns, schema, store.name, keys)
    if slots is not None:
        problems += key_problems(store.columns, keys, store.name)
    if problems:
        raise RowProblemsFound(problems)
    found: dict[str, Numbers] = {}
    columns = schema.columns_of(store.columns)
    for place, (attribute, (name, computed)) in enumerate(zip(schema.attributes, columns, strict=True)):
        column, own = store.columns[name], schema.table_map.of(attribute, computed=computed)
        if own is not None and own.codes is not None:
            found[attribute.name] = {text: code_in(schema, place, text, computed=computed) for text in own.codes}
        several = attribute.compute is not None and len(attribute.compute.sources) > 1
        if not is_read_apart(attribute, column, computed, own) or (computed and several):
            continue
        query = (
            f"SELECT DISTINCT {store.value(column)} AS found FROM {store.relation} "
            f"WHERE {quoted(column.name)} IS NOT NULL LIMIT {MOST_TEXTS + 1}"
        )
        texts = [text for (text,) in store.rows(query)]
        if len(texts) > MOST_TEXTS:
            message = f"a column of texts with more than {MOST_TEXTS} different ones, and the attribute is no text."
            remedy = "Make it a column of numbers, dates or times, by a view."
            problems.append(Problem(store.name, shorten(column.name), "column-type", message, remedy))
        found[attribute.name] = {text: code_in(schema, place, text, computed=computed) for text in texts}
    if problems:
        raise RowProblemsFound(problems)
    return found


def faults(store: Store, questions: Questions, schema: Schema, slots: Slots | None, survey: Survey) -> list[Problem]:
    """What is wrong with the rows: there are none; they are nobody's, or in no order; values outside the domain."""
    problems = []
    if slots is not None:
        person, order = slots.person, slots.order
        for question, column, (message, remedy) in (
            (questions.without(person), person, NO_PERSON),
            (questions.without(order), order, NO_ORDER),
            (questions.order_ties(), order, TIED),
        ):
            ((rows,),) = store.rows(question)
            if int(rows):
                problems.append(Problem(store.name, shorten(column), "person", message, remedy))
    if not survey.rows:
        problems.append(Problem(store.name, "", "no-rows", "the table has no rows.", "Give it at least one row."))
    for place, (attribute, misses) in enumerate(zip(schema.attributes, survey.misses, strict=True)):
        if misses:
            texts = [text for (text,) in store.rows(questions.misses(place, VALUES_SEEN))]
            named = ", ".join("NULL" if text is None else shorten(text) for text in texts[:VALUES_NAMED])
            message = f"outside the domain in {misses} rows, such as {named}. Expected {expected(attribute)}."
            seen = [MISSING if text is None else text for text in texts]
            remedy = remedy_in(schema, place, seen, computed=questions.column(place)[1])
            problems.append(Problem(store.name, attribute.name, "out-of-domain", message, remedy))
    return problems


def _held(
    store: Store,
    batches: StoreBatches,
    questions: Questions,
    survey: Survey,
    state: str,
    table: CodedTable | None,
    access: Access,
) -> Rows:
    schema = questions.schema
    rows = survey.rows if access.slots is None else survey.persons * access.slots.most
    texts = StoreTexts(store, questions, survey, state)
    holder = Holder(batches, schema, survey, rows, texts, access)
    holder.tidy()
    if table is not None:
        return InMemory(table, texts)
    if access.hold is Hold.MEMORY or (access.hold is Hold.AUTO and holder.fits and not store.counts):
        return holder.loaded()
    if access.hold is Hold.CACHE:
        return holder.cached()
    if store.counts:
        counted = SummedRows if isinstance(store, Summing) else CountedRows
        return counted(store, questions, schema, survey, rows, holder.digest, texts, holder.near)
    return holder.passed(batches)


def _open_csv(address: Address, schema: Schema, access: Access) -> Opened:
    batches = CsvBatches(address, schema)
    nothing = (0,) * len(schema.attributes)
    if access.hold is Hold.STORE:
        raise unfit("CSV is read once", "Use memory or cache, or keep the rows in Parquet.")
    if access.slots is not None:
        return _open_csv_slots(batches, schema, access, access.slots)
    kept: list[list[Column]] = []
    texts = CountedTexts(schema)
    count = total = 0
    for columns, batch in batches.with_keys(()):
        texts.add(batch)
        count += len(columns[0])
        total += fingerprint(columns, schema)
        if coded_bytes(schema, count) <= access.memory and access.hold is not Hold.CACHE:
            kept.append(columns)
        else:
            kept.clear()
    survey = Survey(count, count, nothing, total)
    if kept:
        table = CodedTable(schema, tuple(np.concatenate(some) for some in zip(*kept, strict=True)))
        return Opened(InMemory(table, texts), survey, None)
    holder = Holder(batches, schema, survey, count, texts, access)
    holder.tidy()
    return Opened(holder.loaded() if access.hold is Hold.MEMORY else holder.cached(), survey, None)


def _open_csv_slots(batches: CsvBatches, schema: Schema, access: Access, slots: Slots) -> Opened:
    if access.hold is Hold.CACHE:
        raise unfit("a person's rows in CSV are sought in memory", "Use memory, or keep the rows in Parquet.")
    found = load_slots(batches, schema, slots)
    table, rows = found.table, found.persons * slots.most
    survey = Survey(table.rows, found.persons, (0,) * len(schema.attributes), fingerprint(table.columns, schema))
    if coded_bytes(schema, rows) > access.memory:
        raise too_many(schema, rows, "Allow more memory, or keep the rows in Parquet.")
    return Opened(InMemory(with_absent(table, rows), found.texts.__getitem__), survey, None)
