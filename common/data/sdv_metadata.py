"""A table's columns as SDV and SDMetrics describe them: their metadata, made of a schema, and read into one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privity.common.data.attribute import Attribute
from privity.common.data.schema import Schema
from privity.common.data.temporal_pattern import DEFAULT, DIRECTIVES
from privity.common.data.unread_columns import DIGITS, UnreadColumn
from privity.common.formats.given_values import bad_option
from privity.common.storage.safe_files import appearing
from privity.common.text.first_few import first_few
from privity.common.text.short_values import shorten

VERSION = "SINGLE_TABLE_V1"
OF_TWO = "MULTI_TABLE_V1"

ISO = {"date": "%Y-%m-%d", "datetime": "%Y-%m-%dT%H:%M:%S"}


def sdv_metadata(schema: Schema) -> dict[str, Any]:
    """The metadata of a synthetic table, by its schema alone; the first column of keys is the primary key."""
    if (history := schema.history) is not None:
        persons, events = history.names
        tables = {persons: sdv_metadata(history.persons), events: sdv_metadata(history.events)}
        for table in tables.values():
            del table["METADATA_SPEC_VERSION"]
        if tables[events].get("primary_key") == history.reference:
            own = [
                c.name for c in history.events.unread if c.generate and c.name not in (history.reference, history.order)
            ]
            tables[events] = ({"primary_key": own[0]} if own else {}) | {"columns": tables[events]["columns"]}
        link = {"parent_table_name": persons, "parent_primary_key": history.key}
        link |= {"child_table_name": events, "child_foreign_key": history.reference}
        return {"METADATA_SPEC_VERSION": OF_TWO, "tables": tables, "relationships": [link]}
    columns = {attribute.name: _described(attribute) for attribute in schema.attributes}
    columns |= {column.name: _of_unread(column) for column in schema.unread}
    fields = [field["name"] for field in schema.table_schema()["fields"]]
    keys = [column.name for column in schema.unread if column.generate is not None]
    return {
        "METADATA_SPEC_VERSION": VERSION,
        **({"primary_key": keys[0]} if keys else {}),
        "columns": {name: columns[name] for name in fields},
    }


def export_sdv(schema: Schema, out: Path) -> None:
    """Write the metadata, whole or not at all."""
    with appearing(out) as scratch:
        text = json.dumps(sdv_metadata(schema), indent=2, ensure_ascii=False)
        scratch.write_text(text + "\n", encoding="utf-8")


def _of_unread(column: UnreadColumn) -> dict[str, Any]:
    if column.generate is None:
        return _described(column.attribute)
    if column.pattern is None:
        return {"sdtype": "id"}
    run = DIGITS.search(column.pattern)
    assert run is not None
    before, after = (re.escape(text) for text in (column.pattern[: run.start()], column.pattern[run.end() :]))
    return {"sdtype": "id", "regex_format": f"{before}[0-9]{{{len(run[0])},}}{after}"}


def _described(attribute: Attribute) -> dict[str, Any]:
    match attribute.type:
        case "boolean":
            return {"sdtype": "boolean"}
        case "integer" | "number" if attribute.edges or attribute.ordered:
            return {"sdtype": "numerical"}
        case "date" | "datetime":
            return {"sdtype": "datetime", "datetime_format": _format(attribute)}
        case "duration":
            return {"sdtype": "numerical"}
    # SDV has no kind for times of day, nor for what stays empty.
    unknown = attribute.type == "time" or not (attribute.categories or attribute.edges)
    return {"sdtype": "unknown" if unknown else "categorical"}


def _format(attribute: Attribute) -> str:
    """As Python's ``strftime`` has it, of the texts in a file."""
    if attribute.format != DEFAULT:
        return attribute.format.replace("%-", "%").replace("%:z", "%z")
    fraction = ".%f" if attribute.decimals else ""
    return ISO[attribute.type] + fraction + ("%z" if attribute.timezone is not None else "")


def schema_of_sdv(metadata: Mapping[str, Any], table: str | None = None) -> dict[str, Any]:
    """A Table Schema of what SDV's metadata say of a table; every domain is yet to be discovered.

    Any value may be missing, as SDV does not say which may. Keys are made anew, and what SDV takes for personal is not
    read and stays empty.

    Args:
        table: its name, where there are several.

    Raises:
        PrivityError: bad-option: these are no such metadata, or the table is not named.
    """
    tables = metadata.get("tables") if isinstance(metadata, Mapping) else None
    if isinstance(tables, Mapping):
        names = first_few(list(map(str, tables)))
        if table is None and len(tables) != 1:
            raise bad_option("table", f"there are {len(tables)}", f"Name one of: {names}." if tables else "Give one.")
        table = next(iter(tables)) if table is None else table
        if table not in tables:
            raise bad_option("table", f"{shorten(str(table))} is none", f"Name one of: {names}.")
        metadata = tables[table]
    columns = metadata.get("columns") if isinstance(metadata, Mapping) else None
    if not isinstance(columns, Mapping) or not all(isinstance(each, Mapping) for each in columns.values()):
        hint = "Give what metadata.to_dict() or save_to_json of SDV 1 makes."
        raise bad_option("metadata", "they describe no columns", hint)
    fields = [{"name": str(name), **_field(column)} for name, column in columns.items()]
    return {**({} if table is None else {"name": table}), "missingValues": [""], "fields": fields}


def _field(column: Mapping[str, Any]) -> dict[str, Any]:
    if column.get("pii") and column.get("sdtype") != "id":
        return {"type": "string", "empty": True}
    match column.get("sdtype"):
        case "boolean":
            return {"type": "boolean"}
        case "categorical" | "unknown":
            return {"type": "string", "domain": "discover"}
        case "numerical":
            whole = "int" in str(column.get("computer_representation", "")).lower()
            return {"type": "integer" if whole else "number", "domain": "discover"}
        case "datetime":
            written = str(column.get("datetime_format") or "")
            letters = {sign for place, sign in enumerate(written) if place and written[place - 1] == "%"}
            kind = "datetime" if not written or letters & {*DIRECTIVES["time"]} else "date"
            iso = written in ("", ISO[kind])
            return {"type": kind, **({} if iso else {"format": written}), "domain": "discover"}
        case "id":
            if "regex_format" in column:
                return {"type": "string", "generate": "uuid"}
            return {"type": "integer", "generate": "number"}
    return {"type": "string", "empty": True}
