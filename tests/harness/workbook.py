"""Workbooks as programs write them, part by part: what stands in a cell is what is given."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
FORMATS = {date: 14, time: 21, datetime: 22, timedelta: 46}
"""Numbers of Excel's own formats."""


class Raw(str):
    """A cell's XML, with PLACE where its place goes."""


ERROR = Raw('<c r="PLACE" t="e"><v>#N/A</v></c>')
FORMULA = Raw('<c r="PLACE"><f>1+1</f><v>2</v></c>')
EMPTY_TEXT = Raw('<c r="PLACE" t="str"><f>""</f><v></v></c>')
NOT_COMPUTED = Raw('<c r="PLACE"><f>1+1</f><v/></c>')
FORMATTED = Raw('<c r="PLACE" s="1"/>')


def write_workbook(
    path: Path,
    sheets: Mapping[str, Sequence[Sequence[Any]]] | Sequence[Sequence[Any]],
    *,
    hidden: Sequence[str] = (),
    of_1904: bool = False,
    left: int = 0,
) -> Path:
    """Sheets by name, or rows of the only one; None is no cell.

    Args:
        left: empty columns before the first.
    """
    found = sheets if isinstance(sheets, Mapping) else {"Sheet1": sheets}
    states = ["hidden" if name in hidden else "visible" for name in found]
    listed = "".join(
        f'<sheet name="{name}" sheetId="{n}" state="{state}" r:id="rId{n}"/>'
        for n, (name, state) in enumerate(zip(found, states, strict=True), 1)
    )
    related = (
        "".join(
            f'<Relationship Id="rId{n}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>'
            for n, _ in enumerate(found, 1)
        )
        + f'<Relationship Id="styles" Type="{OFFICE}/styles" Target="styles.xml"/>'
    )
    styles = "".join(f'<xf numFmtId="{number}"/>' for number in (0, *FORMATS.values()))
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="xml" '
        'ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><workbookPr date1904="{int(of_1904)}"/>'
        f"<sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">{related}</Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><cellXfs>{styles}</cellXfs></styleSheet>',
    }
    since = datetime(1904, 1, 1) if of_1904 else datetime(1899, 12, 30)
    for n, rows in enumerate(found.values(), 1):
        parts[f"xl/worksheets/sheet{n}.xml"] = _sheet(rows, since, left)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


def _sheet(rows: Sequence[Sequence[Any]], since: datetime, left: int) -> str:
    written = []
    for number, row in enumerate(rows, 1):
        cells = [_cell(f"{_letters(left + n)}{number}", value, since) for n, value in enumerate(row, 1)]
        written.append(f'<row r="{number}">{"".join(cells)}</row>')
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(written)}</sheetData></worksheet>'


def _cell(place: str, value: Any, since: datetime) -> str:
    match value:
        case None:
            return ""
        case Raw():
            return value.replace("PLACE", place)
        case str():
            text = f'<is><t xml:space="preserve">{escape(value)}</t></is>'
            return f'<c r="{place}" t="inlineStr">{text}</c>'
        case bool():
            return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
        case int() | float():
            return f'<c r="{place}"><v>{value!r}</v></c>'
    style = 1 + list(FORMATS).index(type(value))
    return f'<c r="{place}" s="{style}"><v>{_days(value, since)!r}</v></c>'


def _days(value: Any, since: datetime) -> float:
    match value:
        case datetime():
            return (value - since) / timedelta(days=1)
        case date():
            return (datetime.combine(value, time()) - since) / timedelta(days=1)
        case time():
            return (datetime.combine(since, value) - since) / timedelta(days=1)
    return value / timedelta(days=1)


def _letters(place: int) -> str:
    letters = ""
    while place:
        place, digit = divmod(place - 1, 26)
        letters = chr(ord("A") + digit) + letters
    return letters
