"""A schema in which only the combinations of a public list occur, such as those of city, state and zip code.

What tells the list's rows apart is one attribute, and all other columns of the list follow from it. So the rows of a
model have listed combinations alone, and noise is spent on these.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from privity.common.data.attribute import read_number
from privity.common.data.computation import JOINT
from privity.common.data.schema_fields import OTHER
from privity.common.data.table_reading import read_rows
from privity.common.errors import Problem, ProblemsFound
from privity.common.storage.safe_files import read_regular
from privity.common.text.short_values import listed, shorten

KEPT = ("name", "type", "title", "missingValues", "outOfDomain", "other")
"""Of a field that becomes what tells the list's rows apart."""


def with_file(document: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """The schema in which the columns of this public list, a CSV file, have its combinations alone.

    Raises:
        ProblemsFound: as ``with_combinations``, or the file has faults.
        PrivityError: file-missing, file-unreadable.
    """
    origin = f"{file.name}, SHA-256 {hashlib.sha256(read_regular(file)).hexdigest()}"
    rows = read_rows(file)
    columns = {str(name): rows[name].tolist() for name in rows.columns}
    return with_combinations(document, columns, origin, str(file))


def with_combinations(
    document: Mapping[str, Any], columns: Mapping[str, Sequence[str]], origin: str, file: str
) -> dict[str, Any]:
    """The schema in which these columns have combinations of the list alone.

    A column of texts that has each of its values once tells the rows apart; without one, all columns together do.

    Args:
        document: of a sound schema.
        columns: of the list, as texts, by the names of fields.
        origin: what the list is, for the description of the field.

    Raises:
        ProblemsFound: the list has no rows, or a value that cannot be; its columns are no fields, or not all are read.
    """
    fields = {field["name"]: field for field in document["fields"]}
    names = list(columns)
    rows = list(dict.fromkeys(zip(*columns.values(), strict=True)))
    _check(rows, names, fields, file)
    coarse = sorted(range(len(names)), key=lambda place: len({row[place] for row in rows}))
    rows.sort(key=lambda row: [row[place] for place in coarse])
    values: dict[str, Sequence[str]] = dict(zip(names, zip(*rows, strict=True), strict=True))
    key = next((name for name in names if fields[name]["type"] == "string" and len({*values[name]}) == len(rows)), None)
    if key is None:
        missing = dict.fromkeys(
            text for name in names for text in fields[name].get("missingValues", document.get("missingValues", []))
        )
        key = ", ".join(names)
        texts = {"missingValues": [*missing]} if missing else {}
        compute = {"from": names[0], "with": names[1:]}
        base: dict[str, Any] = {"name": key, "type": "string", **texts, "compute": compute}
        categories = [JOINT.join(row) for row in rows]
    else:
        base = {k: v for k, v in fields[key].items() if k in KEPT}
        categories = list(values[key])
    others = [name for name in names if name != key]
    if base.get("outOfDomain") == "other":
        if typed := [name for name in others if fields[name]["type"] != "string"]:
            message = f"{shorten(key)} takes others, and {listed(typed)} can have no value for them."
            remedy = f'Declare "outOfDomain": "refuse" for {shorten(key)}, or other columns as strings.'
            raise ProblemsFound([Problem(file, key, "combinations", message, remedy)])
        base["other"] = base["other"] if base["other"] not in categories else OTHER
        values = {name: (*column, base["other"]) for name, column in values.items()}
        categories = [*categories, base["other"]]
    base |= {"categories": categories, "description": f"Combinations of {origin}"}
    if groups := _groups([values[name] for name in others], categories):
        base["taxonomy"] = groups
    made = {name: _lookup(fields[name], key, categories, values[name], base) for name in others}
    found = []
    for field in document["fields"]:
        if field["name"] == (key if key in fields else names[0]):
            found.append(base)
        if field["name"] != key:
            found.append(made.get(field["name"], field))
    return {**document, "fields": found}


def _check(
    rows: Sequence[Sequence[str]], names: Sequence[str], fields: Mapping[str, Mapping[str, Any]], file: str
) -> None:
    problems = []

    def fault(field: str, message: str, remedy: str) -> None:
        problems.append(Problem(file, field, "combinations", message, remedy))

    if len(names) < 2 or len(rows) < 2:
        fault("", "it has no two columns, or no two different rows.", "List combinations of two columns or more.")
    for place, name in enumerate(names):
        field = fields.get(name)
        if field is None or field["type"] not in ("string", "integer") or {"compute", "sum", "lookup"} & field.keys():
            fault(name, "no field of this name holds texts or integers of its own.", "Use the names of such fields.")
            continue
        if odd := next((row[place] for row in rows if JOINT in row[place]), None):
            fault(name, f"{shorten(odd)} cannot be listed.", f"List texts without {JOINT!r}.")
        elif any(not row[place].strip() for row in rows):
            fault(name, "a value is empty.", "Leave out rows without one.")
        elif field["type"] == "integer" and any(str(read_number(row[place])) != row[place] for row in rows):
            fault(name, "a value is no plain integer.", "Write integers as 8010, or declare the field as a string.")
    if problems:
        raise ProblemsFound(problems)


def _groups(columns: Sequence[Sequence[str]], categories: Sequence[str]) -> dict[str, Any]:
    """The taxonomy of the categories by the other columns, as far as each has its place within the one before."""
    chain: list[Sequence[str]] = []
    for column in sorted(columns, key=lambda column: len({*column})):
        nests = not chain or len({*zip(column, chain[-1], strict=True)}) == len({*column})
        if nests and 1 < len({*column}) < len(categories) and len({*column}) > len({*(chain[-1] if chain else ())}):
            chain.append(column)
    groups: dict[str, Any] = {}
    for place, category in enumerate(categories):
        inner = groups
        for column in chain[:-1]:
            inner = inner.setdefault(column[place], {})
        if chain:
            inner.setdefault(chain[-1][place], []).append(category)
    return groups


def _lookup(
    field: Mapping[str, Any], key: str, categories: Sequence[str], values: Sequence[str], base: Mapping[str, Any]
) -> dict[str, Any]:
    """The field as a column that follows from the combination."""
    typed = [int(value) if field["type"] == "integer" else value for value in values]
    missing = list(dict.fromkeys((*field.get("missingValues", ()), *base.get("missingValues", ()))))
    return {
        **{k: field[k] for k in ("name", "type", "title", "description") if k in field},
        **({"missingValues": missing} if missing else {}),
        "lookup": {"field": key, "values": dict(zip(categories, typed, strict=True))},
    }
