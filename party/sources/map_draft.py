"""A draft of the map of an owner's table, from the consortium's schema and the owner's columns: for the owner's screen.

Names are compared by their words, and codes with the schema's categories. No unit is guessed. What was read off the
rows is marked, and nothing is read by a map that still has such a mark.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from privity.common.data.attribute import FALSE_TEXTS, TRUE_TEXTS, UNDECLARED, Attribute
from privity.common.data.csv_reading import csv_batches
from privity.common.data.date_formats import formats_of
from privity.common.data.frame_values import MISSING, Cell, text_of
from privity.common.data.frame_values import MOMENTS as SORTS
from privity.common.data.schema import Schema
from privity.common.data.value_remedies import seems_missing
from privity.common.text.short_values import shorten
from privity.party.sources.address import Address, Form
from privity.party.sources.open_rows import connect
from privity.party.sources.sql_coding import quoted
from privity.party.sources.store_columns import MOMENTS

MOST_TEXTS = 1000
"""Different values of a column, of which more are no codes."""

SPELLINGS = {"true": ("yes", "y", "ja", "j", "oui", "si", "t"), "false": ("no", "n", "nein", "non", "f")}
"""Of truth values, in lower case, beside those that the schema reads."""

Texts = Mapping[str, Sequence[str] | None]
"""The different values of each column as texts; None of dates and times, and where there are too many."""


@dataclass(frozen=True)
class MapDraft:
    """A map that its owner has to look at.

    Attributes:
        document: of the format ``table_map``.
        findings: what to look at, a sentence each.
    """

    document: dict[str, Any]
    findings: tuple[str, ...]


def draft_map(address: Address, schema: Schema) -> MapDraft:
    """Draft a map; the schema's dialect is that of the rows.

    Raises:
        PrivityError: source-unreachable, source-refused, file-missing, file-unreadable.
        RowProblemsFound: a file that has no form.
    """
    schema = schema.in_dialect(address.dialect) if address.dialect else schema
    return drafted(_texts_of(address, schema), schema)


def drafted(columns: Texts, schema: Schema) -> MapDraft:
    """A draft for a table of such columns."""
    fields: list[dict[str, Any]] = []
    findings: list[str] = []
    wanted = [word for word in dict.fromkeys((*schema.columns, *schema.names)) if _is_needed(schema, word, columns)]
    free = [name for name in columns if name not in wanted]
    taken: set[str] = set()
    for word in wanted:
        name = word if word in columns else _alike(word, [each for each in free if each not in taken])
        if name is None:
            findings.append(f"{word}: no column of this table has such a name. Add a field with its column.")
            continue
        taken.add(name)
        field: dict[str, Any] = {"name": word} | ({} if name == word else {"column": name})
        for attribute in (a for a in schema.attributes if a.name == word):
            read, found = _of_values(attribute, columns[name], schema)
            if several := _of_several(schema, word, columns):
                beyond = [key for key in read if key != "format"]
                read = {key: said for key, said in read.items() if key == "format"}
                found += [f"{word}: no {key} here, as {several} is computed of it. Use a view." for key in beyond]
            field |= read | ({"readOffRows": UNDECLARED} if read else {})
            findings += found
        # A map that names a computed attribute says that it is read of its own column.
        if len(field) > 1 or any(a.name == word and a.compute is not None for a in schema.attributes):
            fields.append(field)
    left = [name for name in free if name not in taken and name not in schema.known_columns]
    document = {"format_version": 1, "fields": fields, **({"leaveOut": left} if left else {})}
    return MapDraft(document, tuple(findings))


def _is_needed(schema: Schema, word: str, columns: Collection[str]) -> bool:
    """Whether the table must have the column: not where an attribute is computed, or is there itself."""
    for attribute in schema.attributes:
        if attribute.compute is None and attribute.name == word:
            return True
        if attribute.compute is not None:
            own = attribute.name in columns
            if (own and attribute.name == word) or (not own and word in attribute.compute.sources):
                return True
    return False


def _of_several(schema: Schema, word: str, columns: Collection[str]) -> str:
    """An attribute that is computed of the column and another one; empty if none is."""
    for attribute in schema.attributes:
        sources = () if attribute.compute is None else attribute.compute.sources
        if len(sources) > 1 and word in sources and attribute.name not in columns:
            return attribute.name
    return ""


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in lower case: of ``PatientSex``, ``patient_sex`` and ``patient sex`` they are the same."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return tuple(re.findall(r"[^\W_]+", apart.lower()))


def _alike(word: str, names: Sequence[str]) -> str | None:
    """The one column whose name has the same words, or else all words of the attribute; None if it is not one."""
    wanted = words_of(word)
    for found in (
        [name for name in names if words_of(name) == wanted],
        [name for name in names if "".join(words_of(name)) == "".join(wanted)],
        [name for name in names if wanted and set(wanted) <= set(words_of(name))],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            return None
    return None


def _of_values(attribute: Attribute, texts: Sequence[str] | None, schema: Schema) -> tuple[dict[str, Any], list[str]]:
    """What a field says of an attribute's values, and what to look at."""
    if texts is None:
        return {}, []
    values = [text for text in texts if text not in attribute.missing_texts]
    nothing = [text for text in values if attribute.missing and seems_missing(text)]
    values = [text for text in values if text not in nothing]
    found: dict[str, Any] = {"missingValues": nothing} if nothing else {}
    strict = [text for text in values if not _is_read(attribute, text, schema)]
    if not strict:
        return found, []
    if attribute.temporal is not None:
        forms = formats_of(values)
        if len(forms) == 1:
            return found | {"format": forms[0]}, []
        return found, [f"{attribute.name}: it is not clear how its dates are written. Add their format."]
    if attribute.discover or not (attribute.categories or attribute.type == "boolean"):
        return found, [f"{attribute.name}: {shorten(strict[0])} is no number. Add codes, or missingValues."]
    codes = {text: word for text in values if (word := _category_of(attribute, text)) is not None}
    unknown = [shorten(text) for text in values if text not in codes]
    told = [f"{attribute.name}: add to its codes what {', '.join(unknown[:5])} stand for."] if unknown else []
    return found | ({"codes": codes} if codes else {}), told


def _is_read(attribute: Attribute, text: str, schema: Schema) -> bool:
    """Whether a text is one of the type, whatever the domain."""
    if attribute.type in ("string", "boolean"):
        return (
            attribute.discover or text in map(attribute.name_of, attribute.categories) or _is_spelled(attribute, text)
        )
    if attribute.temporal is not None:
        return attribute.read(text) is not None
    marks = schema.marks[schema.index(attribute.name)]
    return marks.plain(text) is not None


def _is_spelled(attribute: Attribute, text: str) -> bool:
    return attribute.type == "boolean" and text in (*TRUE_TEXTS, *FALSE_TEXTS)


def _category_of(attribute: Attribute, text: str) -> str | None:
    """The one category that a code seems to be: by its words, or by their beginning."""
    if attribute.type == "boolean":
        if _is_spelled(attribute, text):
            return str(text in TRUE_TEXTS).lower()
        return next((word for word, spelled in SPELLINGS.items() if text.strip().lower() in spelled), None)
    names = [attribute.name_of(value) for value in attribute.categories]
    if text in names:
        return text
    wanted = words_of(text)
    same = [name for name in names if words_of(name) == wanted]
    if not same and len(wanted) == 1 and wanted[0].isalpha():
        same = [name for name in names if " ".join(words_of(name)).startswith(wanted[0])]
    return same[0] if len(same) == 1 else None


def _texts_of(address: Address, schema: Schema) -> Texts:
    if address.form is Form.CSV:
        found: dict[str, dict[str, None]] = {}
        moments: set[str] = set()
        for file in address.files:
            for batch in csv_batches(file, schema.dialect, schema.columns, used=()):
                for name, values in zip(batch.names, batch.columns, strict=True):
                    seen = found.setdefault(name, {})
                    if any(isinstance(value, Cell) and value.sort in SORTS for value in values):
                        moments.add(name)
                    if len(seen) <= MOST_TEXTS:
                        seen.update(dict.fromkeys(text_of(value) for value in values if value != MISSING))
        listed = {name: list(seen) if len(seen) <= MOST_TEXTS else None for name, seen in found.items() if name}
        return {name: None if name in moments else texts for name, texts in listed.items()}
    with closing(connect(address, 0)) as store:
        texts_of: dict[str, Sequence[str] | None] = {}
        for name, column in store.columns.items():
            if column.kind in MOMENTS:
                texts_of[name] = None
                continue
            rows = store.rows(
                f"SELECT DISTINCT CAST({quoted(name)} AS VARCHAR) AS t FROM {store.relation} LIMIT {MOST_TEXTS + 1}"
            )
            texts = sorted(str(text) for (text,) in rows if text is not None)
            texts_of[name] = texts if len(rows) <= MOST_TEXTS else None
        return texts_of
