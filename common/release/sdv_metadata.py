"""A release's columns as SDV and SDMetrics describe those of a table: their metadata of a single table, as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from privity.common.data.attribute import Attribute
from privity.common.data.schema import Schema
from privity.common.data.temporal_pattern import DEFAULT
from privity.common.data.unread_columns import DIGITS, UnreadColumn
from privity.common.storage.safe_files import appearing

VERSION = "SINGLE_TABLE_V1"

ISO = {"date": "%Y-%m-%d", "datetime": "%Y-%m-%dT%H:%M:%S"}


def sdv_metadata(schema: Schema) -> dict[str, Any]:
    """The metadata of a synthetic table, by its schema alone; the first column of keys is the primary key."""
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
