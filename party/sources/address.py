"""Where rows are, as an owner writes it: a path, a pattern of paths, or the URL of a store.

A URL may hold a password. ``Address.name`` is what may be shown: it never does.
"""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from urllib.parse import urlsplit

from common.errors import Catalogue, PrivityError

DUCKDB_FILES = (".duckdb", ".ddb")
POSTGRESQL = ("postgresql", "postgres")
FORMS = (
    "Write a path (table.csv.gz, table.parquet, table.feather, folder/*.parquet), duckdb:///path/file.duckdb#table, "
    "postgresql://user@host/database#table, or a URL that ibis knows with #table."
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


class Form(Enum):
    """What kind of store an address names."""

    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"
    DUCKDB = "duckdb"
    POSTGRESQL = "postgresql"
    IBIS = "ibis"


SUFFIXES = {
    ".csv": Form.CSV,
    ".csv.gz": Form.CSV,
    ".parquet": Form.PARQUET,
    ".pq": Form.PARQUET,
    ".arrow": Form.ARROW,
    ".feather": Form.ARROW,
}


@dataclass(frozen=True)
class Address:
    """Where rows are.

    Attributes:
        files: the files, or the one of a DuckDB database, in order of their names; none for a server.
        url: of a server, without the table; it may hold a password, so it is not in the repr.
        table: of a database.
        name: for messages: no password and no query.
    """

    form: Form
    name: str
    files: tuple[Path, ...] = ()
    url: str = field(default="", repr=False)
    table: str = ""


def parse_address(text: str, base: Path | None = None) -> Address:
    """Read an address; paths are relative to ``base``.

    Raises:
        PrivityError: bad-option: of no form that is known, or without a table; file-missing: no such file, or no file
            fits the pattern.
    """
    found = _SCHEME.match(text)
    if found is None:
        return _files(text, base)
    location, _, table = text.partition("#")
    scheme = found[1].lower()
    if scheme == "duckdb":
        return _database(location[len(found[0]) :], table, base)
    name = _shown(location, table)
    if not table:
        raise _refused(name, "it names no table")
    return Address(Form.POSTGRESQL if scheme in POSTGRESQL else Form.IBIS, name, url=location, table=table)


def _files(text: str, base: Path | None) -> Address:
    path, _, table = text.partition("#")
    if table or path.endswith(DUCKDB_FILES):
        return _database(path, table, base)
    whole = str((base or Path()) / text)
    if Path(whole).is_dir():
        files = sorted(
            file for file in Path(whole).rglob("*") if _form(file.name) and not file.name.startswith((".", "_"))
        )
    else:
        # A file whose own name holds a bracket is no pattern.
        files = [Path(whole)] if Path(whole).exists() else sorted(map(Path, glob.glob(whole, recursive=True)))
    if not files:
        raise PrivityError(Catalogue.FILE_MISSING, file=text)
    forms = {_form(file.name) for file in files}
    if len(forms) > 1:
        raise _refused(text, "its files are of different kinds")
    form = forms.pop()
    # A file of another name is read as CSV, as it always was; a folder of such files is none.
    if form is None and len(files) > 1:
        raise _refused(text, "its files are of no kind that is known")
    return Address(form or Form.CSV, text, tuple(files))


def _database(path: str, table: str, base: Path | None) -> Address:
    name = f"{path}#{table}" if table else path
    if not table:
        raise _refused(name, "it names no table")
    file = (base or Path()) / path
    if not file.is_file():
        raise PrivityError(Catalogue.FILE_MISSING, file=path)
    return Address(Form.DUCKDB, name, (file,), table=table)


def _form(name: str) -> Form | None:
    lower = name.lower()
    return next((form for suffix, form in SUFFIXES.items() if lower.endswith(suffix)), None)


def _shown(location: str, table: str) -> str:
    """The URL without user information that is a password, and without its query, which may hold one."""
    parts = urlsplit(location)
    user = f"{parts.username}@" if parts.username else ""
    host = parts.netloc.rpartition("@")[2]
    shown = f"{parts.scheme}://{user}{host}{parts.path}"
    return f"{shown}#{table}" if table else shown


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
