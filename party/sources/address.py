"""Where rows are, as an owner writes it: a path, a pattern of paths, or the URL of a store.

A URL may hold a password. ``Address.name`` is what may be shown: it never does, and neither does a refusal of a
text that is no address.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from privity.common.data.cell_files import CELL_FILES, holds_cells
from privity.common.data.file_kinds import ARROW, PARQUET, kind_of_file
from privity.common.data.schema import Schema
from privity.common.data.table_map_file import load_table_map
from privity.common.errors import Catalogue, PrivityError, RowProblemsFound
from privity.common.text.secret_texts import HIDDEN, holds_secret

DUCKDB_FILES = (".duckdb", ".ddb")
POSTGRESQL = ("postgresql", "postgres")
OBJECTS = "s3"
OBJECT_SETTINGS = ("endpoint", "region")
FORMS = (
    "Write a path (table.csv.gz, table.parquet, table.feather, table.xlsx, folder/*.parquet), "
    "s3://bucket/folder/*.parquet, duckdb:///path/file.duckdb#table, postgresql://user@host/database#table, "
    "or a URL that ibis knows with #table."
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_SHOWN = re.compile(
    r"(?P<scheme>[^:]+://)"
    r"(?:(?P<user>(?:(?!%3[Aa])[^:/?#&=@\s])*)(?::[^/@]*)?@)?"
    r"(?P<place>(?:\[[0-9A-Fa-f:.]*\]|[A-Za-z0-9._~%-]*)(?::[0-9]*)?(?:,[A-Za-z0-9._~%:-]*)*(?:/[^?#@]*)?)"
    r"(?:\?[^@]*)?"
)
"""A URL of which it is certain what is a password and what is not: everywhere else an @ is written %40."""

_SPARK_USER = re.compile(r"(?<!abfs)(?<!abfss)(?<!wasb)(?<!wasbs)://[^/?#]*@")
"""Keys in the URL of a Spark table; before the @ of Azure's URLs there is the name of a container."""


class Form(Enum):
    """What kind of store an address names."""

    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"
    DUCKDB = "duckdb"
    POSTGRESQL = "postgresql"
    IBIS = "ibis"


FORMS_BY_BYTES = {PARQUET: Form.PARQUET, ARROW: Form.ARROW, **dict.fromkeys(CELL_FILES, Form.CSV)}

SUFFIXES = {
    ".csv": Form.CSV,
    ".csv.gz": Form.CSV,
    ".jsonl": Form.CSV,
    ".ndjson": Form.CSV,
    ".parquet": Form.PARQUET,
    ".pq": Form.PARQUET,
    ".arrow": Form.ARROW,
    ".feather": Form.ARROW,
}


@dataclass(frozen=True)
class Address:
    """Where rows are.

    Attributes:
        files: the files, or the one of a DuckDB database, in order of their names; none for a server or object store.
        pattern: what the files were found by: a path, a folder, or a pattern of paths; of an object store it begins
            with the bucket.
        url: of a server, without the table; it may hold a password, so it is not in the repr.
        settings: of an object store: ``OBJECT_SETTINGS``.
        table: of a database.
        name: for messages: no password and no query.
        dialect: what is declared of these rows instead of what the schema says, checked.
        table_map: the file of what these rows call the columns and values of the schema; None if they have its words.
    """

    form: Form
    name: str
    files: tuple[Path, ...] = ()
    pattern: str = ""
    url: str = field(default="", repr=False)
    table: str = field(default="", repr=False)
    dialect: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, str] | None = None
    table_map: Path | None = None

    @property
    def in_object_store(self) -> bool:
        return self.settings is not None

    @property
    def holds_texts(self) -> bool:
        """Whether its values are texts, as those of CSV are."""
        return self.form is Form.CSV and not any(map(holds_cells, self.files))

    def read_by(self, schema: Schema) -> Schema:
        """The schema by which these rows are read: that of the table, in their own dialect and words.

        Raises:
            PrivityError: source-unreachable: the map cannot be read.
            RowProblemsFound: every fault of the map.
        """
        found = schema.in_dialect(self.dialect) if self.dialect else schema
        if self.table_map is None:
            return found
        try:
            return replace(found, table_map=load_table_map(self.table_map, found))
        except RowProblemsFound:
            raise
        except PrivityError as error:
            reason = f"its map cannot be read: {error.message}"
            hint = f"See that {self.table_map} is there and is JSON: `map` in party.toml names it."
            raise PrivityError(Catalogue.SOURCE_UNREACHABLE, source=self.name, reason=reason, hint=hint) from None


def parse_address(
    text: str, base: Path | None = None, dialect: Mapping[str, Any] | None = None, table_map: Path | None = None
) -> Address:
    """Read an address; paths are relative to ``base``.

    Args:
        dialect: what is declared of these rows instead of what their schema says, checked.
        table_map: the file of what these rows call the columns and values of their schema.

    Raises:
        PrivityError: bad-option: of no form that is known, without a table, or with a secret that Spark would show to
            others; file-missing: no such file, or no file
            fits the pattern.
    """
    return replace(_parsed(text, base), dialect=dialect or {}, table_map=table_map)


def _parsed(text: str, base: Path | None) -> Address:
    found = _SCHEME.match(text)
    if found is None:
        return _files(text, base)
    scheme = found[1].lower()
    if scheme == "duckdb":
        path, _, table = text[len(found[0]) :].partition("#")
        return _database(path, table, base)
    if scheme == OBJECTS:
        return _objects(text, text[len(found[0]) :])
    location, table = _parted(text)
    name = _shown(location, table, scheme)
    if not table:
        raise _refused(name, "it names no table")
    if scheme == "pyspark" and (holds_secret(text) or _SPARK_USER.search(text[len(found[0]) :])):
        raise PrivityError(
            Catalogue.BAD_OPTION, option="data",
            reason="it holds a secret, and Spark's process shows such settings and tables to others on this machine",
            hint="Put it into spark-defaults.conf, readable for its owner only, or use a credential provider of Hadoop "
            "(spark.hadoop.hadoop.security.credential.provider.path). Change the secret that you wrote here.",
        )  # fmt: skip
    return Address(Form.POSTGRESQL if scheme in POSTGRESQL else Form.IBIS, name, url=location, table=table)


def _objects(text: str, rest: str) -> Address:
    if holds_secret(text) or "@" in rest.partition("/")[0]:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="data",
            reason="it holds a secret, and the address of an object store needs none",
            hint="Put the keys into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or into the file that "
            "AWS_SHARED_CREDENTIALS_FILE names (~/.aws/credentials), readable for its owner only. Change the secret "
            "that you wrote here.",
        )  # fmt: skip
    pattern, _, query = rest.partition("?")
    name = f"{OBJECTS}://{pattern}"
    settings = dict(parse_qsl(query, keep_blank_values=True))
    unknown = [key for key in settings if key not in OBJECT_SETTINGS]
    if unknown:
        raise _refused(name, f"it has a parameter that is none of {', '.join(OBJECT_SETTINGS)}")
    if "#" in pattern or pattern.endswith(DUCKDB_FILES):
        raise _refused(name, "a database is read from a file of this machine")
    if not pattern.partition("/")[0] or "**" in pattern:
        raise _refused(name, "it names no bucket and path of objects; a folder stands for all that is in it")
    if form_of(pattern) not in (None, Form.PARQUET):
        raise _refused(name, "of an object store only Parquet files are read")
    return Address(Form.PARQUET, name, pattern=pattern.rstrip("/"), settings=settings)


def refuse_password(text: str | Path | None) -> str | Path | None:
    """An address as a command line has it: others on the machine can read the arguments of a process.

    Raises:
        PrivityError: bad-option: it holds a password, or looks as if it did. It is not repeated.
    """
    if holds_secret(str(text or "")):
        raise PrivityError(
            Catalogue.BAD_OPTION, option="address",
            reason="it holds a password, and others on this machine can read the arguments of a process",
            hint="Leave it out: libpq finds a password in a passfile (~/.pgpass), a service file or PGPASSWORD, keys "
            "of an object store are found in ~/.aws/credentials. A node's may be in `data` in party.toml. Change the "
            "password that you gave here.",
        )  # fmt: skip
    return text


def _files(text: str, base: Path | None) -> Address:
    path, _, table = text.partition("#")
    if table or path.endswith(DUCKDB_FILES):
        return _database(path, table, base)
    whole = str((base or Path()) / text)
    files = found_files(whole)
    if not files:
        raise PrivityError(Catalogue.FILE_MISSING, file=_unless_secret(text))
    forms = {form_of_file(file) for file in files}
    if len(forms) > 1:
        raise _refused(text, "its files are of different kinds")
    form = forms.pop()
    # A file of another name is read as CSV, as it always was; a folder of such files is none.
    if form is None and len(files) > 1:
        raise _refused(text, "its files are of no kind that is known")
    return Address(form or Form.CSV, text, files, whole)


def found_files(whole: str) -> tuple[Path, ...]:
    """The files of a path, a folder or a pattern as they are now, in order of their names."""
    path = Path(whole)
    if path.is_dir():
        # What is not yet whole has a name that begins with a dot or an underscore, or lies in such a folder.
        inside = (file for file in path.rglob("*") if form_of(file.name) and file.is_file())
        return tuple(sorted(f for f in inside if not any(n.startswith((".", "_")) for n in f.relative_to(path).parts)))
    # A file whose own name holds a bracket is no pattern.
    return (path,) if path.exists() else tuple(sorted(map(Path, glob.glob(whole, recursive=True))))


def _database(path: str, table: str, base: Path | None) -> Address:
    name = f"{path}#{table}" if table else path
    if not table:
        raise _refused(_unless_secret(name), "it names no table")
    file = (base or Path()) / path
    if not file.is_file():
        raise PrivityError(Catalogue.FILE_MISSING, file=_unless_secret(path, name))
    if holds_cells(file):
        reason = f"{name}: a sheet of a workbook is declared"
        hint = (
            'Name the file alone, with --dialect \'{"sheet": "NAME"}\', or "dialect": {"sheet": "NAME"} in its schema.'
        )
        raise PrivityError(Catalogue.BAD_OPTION, option="data", reason=reason, hint=hint)
    return Address(Form.DUCKDB, name, (file,), str(file), table=table)


def form_of_file(path: Path) -> Form | None:
    """By its name, unless the first bytes of what would be CSV say otherwise."""
    named = form_of(path.name)
    return named if named not in (None, Form.CSV) else FORMS_BY_BYTES.get(kind_of_file(path)[0], named)


def form_of(name: str) -> Form | None:
    """By the end of a file's name; None for one that is not known."""
    lower = name.lower()
    return next((form for suffix, form in SUFFIXES.items() if lower.endswith(suffix)), None)


def _parted(text: str) -> tuple[str, str]:
    """The URL and the table of an address. libpq takes a # in a password as it stands."""
    start = text.index("://") + 3
    authority = text[start:].partition("/")[0]
    at = text.find("#", start + authority.rfind("@") + 1)
    return (text, "") if at < 0 else (text[:at], text[at + 1 :])


def _shown(location: str, table: str, scheme: str) -> str:
    """The URL without a password, and without its query, which may hold one; without anything if it is not clear."""
    found = _SHOWN.fullmatch(location)
    # A # or @ in a table is the end of a password that was cut there, if anything in the URL can hold one.
    if found is None or "@" in table or ("#" in table and not location.endswith("://")):
        return f"{scheme}://{HIDDEN}"
    user = f"{found['user']}@" if found["user"] else ""
    shown = f"{found['scheme']}{user}{found['place']}"
    shown = f"{shown}#{table}" if table else shown
    return f"{scheme}://{HIDDEN}" if holds_secret(shown) else shown


def _unless_secret(path: str, whole: str | None = None) -> str:
    """A path for a message; nothing of a text is repeated that looks as if it held a password."""
    return HIDDEN if holds_secret(whole or path) else path


def _refused(name: str, reason: str) -> PrivityError:
    return PrivityError(Catalogue.BAD_OPTION, option="data", reason=f"{name}: {reason}", hint=FORMS)


def moved(text: str, folder: Path) -> str:
    """The same address for a file in another folder: paths that are relative to here become relative to it."""
    if _SCHEME.match(text):
        scheme, _, rest = text.partition("://")
        if scheme.lower() != "duckdb":
            return text
        return f"{scheme}://{moved(rest, folder)}"
    path, mark, table = text.partition("#")
    return os.path.relpath(Path(path).absolute(), folder.absolute()) + mark + table


def is_there(text: str) -> bool:
    """Whether the files of an address are there; of a server it is not known before it is asked."""
    try:
        return all(os.access(file, os.R_OK) for file in parse_address(text).files)
    except PrivityError as error:
        return error.kind is not Catalogue.FILE_MISSING
