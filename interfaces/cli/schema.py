"""``privity schema``: check a schema, and a table against it; draft a schema from a table."""

from __future__ import annotations

import json
import shlex
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from privity.asked_fields import asked_fields
from privity.common.data.attribute import ROLES
from privity.common.data.constant_columns import Constant
from privity.common.data.dialect import dialect_option
from privity.common.data.file_look import Look
from privity.common.data.joined_schemas import join_schemas
from privity.common.data.relation_hints import row_hints
from privity.common.data.schema import Schema, load_schema, parse_schema
from privity.common.data.schema_draft import LEAK_WARNING
from privity.common.data.schema_review import declared_public, undeclared_in_words
from privity.common.data.spreadsheet_formulas import warning
from privity.common.errors import Catalogue, PrivityError, ProblemsFound, RowProblemsFound
from privity.common.exit_codes import Exit
from privity.common.formats.given_values import bad_option
from privity.common.node.process import dump_no_core
from privity.common.privacy.budget import USUAL, parse_delta, parse_epsilon, readable
from privity.common.privacy.ledger_folder import open_ledger
from privity.common.release.attestations import release_digest
from privity.common.release.release_contents import RUN
from privity.common.release.release_folder import read_release
from privity.common.release.rule_forecast import gap_hints, unkept_rules
from privity.common.storage.safe_files import read_regular, refuse_existing, write_text
from privity.common.synthesis.learning.category_discovery import open_texts
from privity.common.synthesis.learning.domain_discovery import undiscovered
from privity.common.text.first_few import first_few
from privity.common.text.terminal import can_ask, say
from privity.discovery import Discover
from privity.interfaces.cli.options import DialectOption, EventsOption, row_options
from privity.interfaces.cli.party_check import tell_histories
from privity.interfaces.cli.schema_combinations import combinations
from privity.interfaces.cli.schema_ends import asked_of_few_rows, tell_few_rows, with_given_bins
from privity.interfaces.cli.schema_types import types
from privity.party.sources.address import Address, parse_address, refuse_password
from privity.party.sources.broken_rules import broken_rows
from privity.party.sources.drafted_tables import looked_at_source
from privity.party.sources.held_rows import Access, default_memory
from privity.party.sources.inspection import inspect
from privity.party.sources.near_columns import near_columns
from privity.party.sources.open_rows import open_rows
from privity.party.sources.repeated_keys import repeated_keys
from privity.party.sources.rows import Rows

schema_app = typer.Typer(help="Draft, check or discover the schema of a table.", no_args_is_help=True)
schema_app.command("types")(types)
schema_app.command("combinations")(combinations)


@schema_app.command("check")
def check(
    schema_file: Annotated[Path, typer.Argument(help="the Table Schema (JSON)")],
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            help="rows to check against it (docs/sources.md); nothing leaves this machine",
            callback=refuse_password,
        ),
    ] = None,
    events: EventsOption = None,
    dialect: DialectOption = None,
) -> None:
    """Report every error of a schema, and of a table against it, at once."""
    try:
        schema = load_schema(schema_file)
        if schema.history is not None or events is not None:
            _check_histories(schema_file, schema, data, events, dialect)
            return
        address = None if data is None else parse_address(data, dialect=dialect_option(dialect))
        rows = None if address is None else _rows(address, schema)
    except ProblemsFound as error:
        for problem in error.problems:
            say(str(problem))
        say(f"{len(error.problems)} error(s).")
        raise typer.Exit(Exit.INPUT) from error
    cells = sum(schema.domain)
    say(f"{schema_file}: {len(schema.attributes)} attributes, {cells} categories and bins in all.")
    say(f"SHA-256 {schema.digest}")
    if texts := [text.name for text in open_texts(schema)]:
        say(
            f"Categories of {first_few(texts)} are yet to be discovered: that takes a delta. One owner's run does it"
            " first; several owners do it before they found a consortium (privity schema discover --categories-only)."
        )
    tell_formulas(schema)
    tell_unkept_rules(schema)
    if address is None:
        for constraint in schema.row_constraints:
            say(f"Rule: {constraint.rule}")
        for told in gap_hints(schema):
            say(told)
    else:
        # How many places people fill is private where there are absent ones.
        say(f"{data}: {'all rows' if schema.absent_rows else f'{rows} rows, all'} in the domain.")
        _tell_wide_bins(address, schema)
        _tell_broken_rules(address, schema)
        tell_few_rows(schema, rows or 0, str(schema_file))
        for told in near_columns(address, schema, default_memory()):
            say(told)
        for told in () if schema.absent_rows else repeated_keys(address, schema, default_memory()):
            say(told)


def _check_histories(
    schema_file: Path, schema: Schema, data: str | None, events: str | None, dialect: str | None
) -> None:
    """Of a schema of two tables, and both tables against it."""
    if (history := schema.history) is not None:
        persons, happening = history.names
        say(
            f"{schema_file}: {len(history.persons.attributes)} attributes of {persons},"
            f" {len(history.events.attributes)} of {happening}; a person has one row of {len(schema.attributes)}."
        )
        say(f"SHA-256 {schema.digest}")
        for rule in (*history.persons.row_constraints, *history.rules):
            say(f"Rule: {rule.rule}")
    if data is not None:
        tell_histories(row_options(data, dialect=dialect, events=events), schema, 1)
    elif events is not None:
        raise bad_option("events", "the table of persons is missing", "Give both: --data PERSONS --events EVENTS.")


def tell_formulas(schema: Schema) -> None:
    """Warn of texts that a spreadsheet takes for formulas, if there are any."""
    if warned := warning(schema):
        say(f"Warning: {warned}", err=True)


def tell_unkept_rules(schema: Schema) -> None:
    """Warn of rules that rows of a model will hardly meet, if there are any."""
    for told in unkept_rules(schema):
        say(f"Warning: {told}", err=True)


def _tell_broken_rules(address: Address, schema: Schema) -> None:
    """Say how many real rows break each rule, or have another value than follows or is declared: for this screen."""
    broken = broken_rows(address, schema, default_memory())
    constants = {f"Column {column.name}" for column in schema.unread if isinstance(column.made, Constant)}
    for title, count in broken.items():
        than = "is declared" if title in constants else "follows"
        did = "broken by" if title.startswith("Rule ") else f"another value than {than} in"
        said = "too many different values to look at" if count is None else f"{did} {count} rows"
        say(f"{title}: {said}.")
    if broken:
        say("How many real rows break a rule is private: keep these figures where the rows are.")


def _tell_wide_bins(address: Address, schema: Schema) -> None:
    """Name the bins that hold most rows: on this screen only."""
    binned = [
        place
        for place, attribute in enumerate(schema.attributes)
        if attribute.edges and not attribute.discover and attribute.histogram is None
    ]
    found = []
    if binned:
        rows = open_rows(address, schema).rows
        for place in binned:
            attribute, counts = schema.attributes[place], rows.count([(place,)])
            fullest = int(counts[: attribute.values].argmax())
            if attribute.grids[fullest].count > 1 and counts[fullest] > rows.rows / 2:
                found.append(f"{attribute.name}: most rows are in the bin {attribute.labels[fullest]}.")
    for told in found:
        say(told)
    if found:
        say(
            "Synthetic values are spread evenly over a bin. Leave such a domain to be discovered, or give a value that "
            "many rows have a bin of its own. Where most rows are is private: keep it where they are."
        )


def _rows(address: Address, schema: Schema) -> int:
    """How many rows there are, all of them in the domain."""
    found = inspect(address, schema, Access(memory=default_memory()))
    if found.problems:
        raise RowProblemsFound(list(found.problems))
    return found.survey.rows


@schema_app.command("review")
def review(
    schema_file: Annotated[Path, typer.Argument(help="the draft (JSON)")],
    fields: Annotated[
        list[str] | None, typer.Argument(help="fields to declare public; by default each that is left is asked about")
    ] = None,
    role: Annotated[str, typer.Option(help=f"who declares it: {' or '.join(ROLES)}")] = ROLES[0],
    bins: Annotated[
        list[str] | None,
        typer.Option(help="NAME=SMALLEST,LARGEST,BINS: bins of a number between what it may be, such as age=0,120,10"),
    ] = None,
) -> None:
    """Declare public, field by field, what a draft read off the rows; replace what is not by what is publicly known."""
    schema = load_schema(schema_file)
    document = json.loads(schema_file.read_text(encoding="utf-8-sig"))
    if role not in ROLES:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="role", reason=f"{role!r} is none", hint=f"Use one of: {', '.join(ROLES)}."
        )
    known = dict.fromkeys((*schema.names, *schema.undeclared))
    if unknown := [name for name in fields or () if name not in known]:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="fields", reason=f"the schema has no {first_few(unknown)}",
            hint=f"Possible: {first_few([*known])}.",
        )  # fmt: skip
    if not (schema.undeclared or bins):
        say(f"{schema_file} is no draft.")
        return
    if schema.left_out:
        say(f"Left out, and named in the schema as that: {first_few(schema.left_out)}.")
    if bins:
        schema = parse_schema(document := with_given_bins(document, bins, str(schema_file)), str(schema_file))
    if fields:
        for name, words in undeclared_in_words(schema, document).items():
            if name in fields:
                say(f"{name}: {words}")
        declared = [name for name in schema.undeclared if name in fields]
    elif bins and not can_ask():
        declared = []
    else:
        document, declared = asked_fields(document, str(schema_file))
    document = declared_public(document, declared, role)
    left = parse_schema(document, str(schema_file)).undeclared
    write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", schema_file, private=True)
    if declared:
        say(f"Declared public by the {role}: {first_few(declared)}. Every release by this schema says so.")
    elif not (fields or bins):
        ended = ["--"] * any(name.startswith("-") for name in left)
        public = shlex.join(["privity", "schema", "review", *ended, str(schema_file), *left])
        raise PrivityError(
            Catalogue.BAD_OPTION, option="fields", reason="nobody declared a field public when asked",
            hint=f"Name those that are public, of these: {public}",
        )  # fmt: skip
    if left:
        say(f"Not declared public yet: {first_few(left)}. No release is made by the schema until they are.")


@schema_app.command("discover")
def discover(
    out: Annotated[Path, typer.Option(help="where to write the schema with all domains")],
    release: Annotated[
        Path | None, typer.Option(help="a release of the algorithm discover; this costs nothing")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="or the table: a path or URL (docs/sources.md)", callback=refuse_password)
    ] = None,
    schema: Annotated[Path | None, typer.Option(help="the table's schema, in which some domains are open")] = None,
    epsilon: Annotated[str | None, typer.Option(help="epsilon that this costs, exact, such as 0.1")] = None,
    delta: Annotated[str, typer.Option(help="delta that this costs, such as 1e-9")] = "0",
    categories_only: Annotated[
        bool,
        typer.Option(
            "--categories-only",
            help="discover categories of texts only; numbers stay open, for a run of several parties",
        ),
    ] = False,
    population: Annotated[str | None, typer.Option(help="the population, as it was declared")] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="the ledger's file; by default in the user's state folder")
    ] = None,
    person: Annotated[
        str | None, typer.Option(help="column with the person's key, if a person has several rows")
    ] = None,
    order: Annotated[str | None, typer.Option(help="column that numbers each person's rows")] = None,
    dialect: DialectOption = None,
) -> None:
    """Discover the open domains of a schema under differential privacy, or read them from a release of discover."""
    refuse_existing(out)
    if release is not None:
        found = read_release(release)
        if found.run["algorithm"] != "discover" or undiscovered(found.schema):
            raise PrivityError(
                Catalogue.BAD_OPTION, option="release", reason="it has discovered no domain",
                hint="Name a release of the algorithm discover.",
            )  # fmt: skip
        known = found.schema.signed(found.run["run"], release_digest(read_regular(release / RUN)))
    else:
        given = {"data": data, "schema": schema, "epsilon": epsilon, "population": population}
        if lacking := [f"--{name}" for name, value in given.items() if value is None]:
            raise PrivityError(
                Catalogue.BAD_OPTION, option="release", reason=f"without a release, {', '.join(lacking)} must be given",
                hint="Name the table, its schema, what it may cost and the population.",
            )  # fmt: skip
        assert data is not None
        assert schema is not None
        assert epsilon is not None
        assert population is not None
        dump_no_core()
        declared = load_schema(schema)
        declared.require_reviewed(schema)
        with closing(open_ledger(population, ledger)) as book:
            rows_per_person = book.population.rows_per_person
        options = row_options(data, person, order, dialect)
        table = options.open(declared, rows_per_person).rows

        def coded(schema: Schema) -> Rows:
            return table if schema == declared else options.open(schema, rows_per_person).rows

        discovering = Discover(epsilon, delta=delta, population=population, ledger=ledger)
        if (first := discovering.for_texts(declared, table.rows, numbers=not categories_only)) is not None:
            say(first.in_words([text.name for text in open_texts(declared)]))
        known = (fitted := discovering.fit(coded, declared, numbers=not categories_only)).discovered
        say(f"Population {population!r}: epsilon {readable(fitted.spent_.epsilon)} in all.")
    parse_schema(known.table_schema(), str(out))  # what is written can be read
    write_text(json.dumps(known.table_schema(), indent=2, ensure_ascii=False) + "\n", out)
    say(f"Schema written to {out}, SHA-256 {known.digest}")


@schema_app.command("join")
def join(
    schemas: Annotated[list[Path], typer.Argument(help="schemas of the same table, from several owners")],
    out: Annotated[Path, typer.Option(help="where to write the schema with the categories of all")],
) -> None:
    """Join the categories that several owners discovered, each in their own rows."""
    refuse_existing(out)
    found = {str(file): load_schema(file) for file in schemas}
    for file, schema in found.items():
        schema.require_reviewed(file)
    joined = join_schemas(found)
    write_text(json.dumps(joined.table_schema(), indent=2, ensure_ascii=False) + "\n", out)
    say(f"Schema written to {out}, SHA-256 {joined.digest}")


@schema_app.command("draft")
def draft(
    file: Annotated[
        str, typer.Argument(help="the CSV file, or another table (docs/sources.md)", callback=refuse_password)
    ],
    out: Annotated[Path | None, typer.Option("--out", help="file to write; by default standard output")] = None,
    leave_out: Annotated[
        list[str] | None, typer.Option("--leave-out", help="columns to leave out, with commas between them; repeatable")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", help="columns to keep that would be left out; as --leave-out")
    ] = None,
    epsilon: Annotated[
        str, typer.Option(help="epsilon of the release that it is for, by which it forecasts what would be discovered")
    ] = readable(USUAL[0]),
    delta: Annotated[str, typer.Option(help="the same for delta; with 0 no texts are discovered")] = readable(USUAL[1]),
    dialect: DialectOption = None,
) -> None:
    """Draft a schema from a table's own rows. Not private: a person must review it."""
    if out is not None:
        refuse_existing(out)
    budget = parse_epsilon(epsilon), parse_delta(delta)
    with looked_at_source(file, None if dialect is None else dialect_option(dialect)) as looked:
        look = looked.look
        draft = looked.drafted(leave_out=_names(leave_out, look), keep=_names(keep, look), budget=budget)
        hints = row_hints(looked.path, draft.document)
    document = draft.document
    say(f"Warning: {LEAK_WARNING}", err=True)
    for finding in (*look.findings, *draft.findings):
        say(f"- {finding}", err=True)
    named = str(out or "DRAFT")
    if out is not None and can_ask():
        document = asked_of_few_rows(document, look.rows, named, budget)
    text = json.dumps(document, indent=2, ensure_ascii=False)
    if out is None:
        say(*text.split("\n"))
    else:
        write_text(text + "\n", out, private=True)
        say(f"Draft written to {out}. Review it, and then: privity schema review {out}", err=True)
    for hint in hints:
        say(hint, err=True)
    tell_few_rows(parse_schema(document, named), look.rows, named, budget)


def _names(given: list[str] | None, look: Look) -> list[str]:
    """Names of columns, of which several may stand in one option; a column's own name may have a comma."""
    known = [column.name for column in look.columns]
    return [name for each in given or () for name in ([each] if each in known else each.split(","))]
