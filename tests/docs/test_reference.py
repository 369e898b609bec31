"""The reference of the files: each key of each format with its meaning."""

from __future__ import annotations

import re

from docs.site.reference import form_pages
from privity.common.runs.run_request import OPTIONS


def rows_of(text: str) -> dict[str, str]:
    """Key to meaning, of a page's table."""
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return {key.strip("`"): meaning for key, _, _, meaning in cells}


def test_every_key_of_a_form_is_on_its_page_with_its_meaning() -> None:
    pages = {place: rows_of(text) for place, text in form_pages() if place.startswith("reference/forms/")}
    assert not [(place, key) for place, rows in pages.items() for key, meaning in rows.items() if not meaning]
    assert all(pages.values())
    fields, request = pages["reference/forms/table_schema.md"], pages["reference/forms/run_request.md"]
    assert fields["fields[].compute.from"] == "Name of the column that is read; it need not be a field."
    assert request["evaluation.epsilon"] == OPTIONS["evaluation_epsilon"].told
