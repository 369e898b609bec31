"""An owner's map as a file: read, and checked against the schema of the consortium, with every fault at once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from privity.common import formats
from privity.common.data.attribute import UNDECLARED, Attribute
from privity.common.data.declared_values import code_in
from privity.common.data.schema import Schema
from privity.common.data.table_map import OwnColumn, TableMap
from privity.common.data.temporal import Temporal, temporal
from privity.common.data.temporal_pattern import FormError
from privity.common.errors import Problem, RowProblemsFound
from privity.common.formats.line_numbers import json_lines
from privity.common.storage.safe_files import read_regular
from privity.common.text.first_few import first_few
from privity.common.text.short_values import path_text, shorten

FORMAT = "table_map"
NUMBERS = ("integer", "number")
DATES = ("date", "time", "datetime")

Reads = Sequence[tuple[int, bool]]
"""Places of attributes that are read from a column, and whether each is computed of it."""


def load_table_map(path: Path, schema: Schema) -> TableMap:
    """Read a map for the tables of a schema.

    Raises:
        PrivityError: file-missing, file-unreadable.
        RowProblemsFound: every fault; a map may hold values of rows.
    """
    data = read_regular(path)
    document = formats.parse_json(data, str(path))
    try:
        return parse_table_map(document, schema, str(path))
    except RowProblemsFound as error:
        raise RowProblemsFound(formats.located(error.problems, json_lines, data.decode("utf-8-sig"))) from None


def parse_table_map(document: Any, schema: Schema, file: str) -> TableMap:
    """Check a map (parsed JSON, numbers exact) as a whole.

    Raises:
        RowProblemsFound: every fault; a map may hold values of rows.
    """
    problems = formats.check(document, FORMAT, file)
    if problems:
        raise RowProblemsFound(problems)
    fields, left_out = document["fields"], document.get("leaveOut", [])
    columns: dict[str, OwnColumn] = {}
    mapped = frozenset(field["name"] for field in fields)
    first: dict[str, int] = {}
    for place, field in enumerate(fields):
        reader = _FieldReader(file, place, field, schema, mapped)
        if first.setdefault(reader.name, place) != place:
            message = f"fields[{first[reader.name]}] says it, too."
            reader.fault("name", "duplicate-name", message, "Keep one column for each attribute.")
        columns[reader.name] = reader.read()
        problems += reader.problems
    problems += _overlaps(fields, left_out, schema, file)
    if problems:
        raise RowProblemsFound(problems)
    return TableMap(columns, frozenset(left_out), file)


def _readers(schema: Schema, column: str) -> Reads:
    """What is read from a column of the schema."""
    found = []
    for place, attribute in enumerate(schema.attributes):
        if attribute.name == column:
            found.append((place, False))
        elif attribute.compute is not None and column in attribute.compute.sources:
            found.append((place, True))
    return found


@dataclass
class _FieldReader:
    """One well-formed field; ``problems`` holds every rule that it breaks."""

    file: str
    place: int
    item: Mapping[str, Any]
    schema: Schema
    mapped: Collection[str]

    def __post_init__(self) -> None:
        self.name: str = self.item["name"]
        self.problems: list[Problem] = []
        self.reads = _readers(self.schema, self.name)
        self.several = [a for place, computed in self.reads if computed and _is_of_several(a := self._at(place))]
        self.alone = [(place, computed) for place, computed in self.reads if self._at(place) not in self.several]

    def _at(self, place: int) -> Attribute:
        return self.schema.attributes[place]

    def fault(self, key: str, rule: str, message: str, remedy: str, *, of: str | None = None) -> None:
        """Note what is wrong with a key, or with an entry of it."""
        where = path_text(["fields", self.place, key, *([] if of is None else [of])])
        self.problems.append(Problem(self.file, where, rule, f"column {shorten(self.name)}: {message}", remedy))

    def read(self) -> OwnColumn:
        """What the field says; of no use if there are problems."""
        item = self.item
        if not self.reads:
            message = "the schema has no attribute of this name, and none that is computed of it."
            named = first_few([shorten(name) for name in dict.fromkeys((*self.schema.columns, *self.schema.names))])
            self.fault("name", "unknown-attribute", message, f"Write one of the schema's columns: {named}.")
        if item.get("readOffRows") == UNDECLARED:
            message = "it is a draft: its codes, format or missing values were read off the rows."
            remedy = 'Compare them with the code book of the table, then write "readOffRows": "data owner".'
            self.fault("readOffRows", "undeclared", message, remedy)
        codes: Mapping[str, str] | None = item.get("codes")
        missing = tuple(item.get("missingValues", ()))
        unit = [key for key in ("factor", "offset") if key in item]
        for key in (*unit, *(["format"] if "format" in item else [])):
            if codes is not None:
                self.fault(key, "two-readings", "it has codes, too.", f"Keep codes or {key}.")
        own = OwnColumn(
            item.get("column", self.name), codes, Fraction(item.get("factor", 1)), Fraction(item.get("offset", 0)),
            self._moment() if self.reads and "format" in item else None, item.get("format", ""), missing,
        )  # fmt: skip
        # An attribute with a column of its own is computed of none.
        for attribute in (a for a in self.several if a.name not in self.mapped):
            for key in (key for key in ("codes", *unit, "missingValues") if key in item):
                message = (
                    f"{shorten(attribute.name)} is computed of it and another: a field has column and format only."
                )
                remedy = f"Make the column so by a view. Or add a field {shorten(attribute.name)} with its own column."
                self.fault(key, "several-columns", message, remedy)
        if unit and (odd := self._odd(NUMBERS, self.alone)):
            message = f"a unit is of numbers, and {odd}."
            self.fault(unit[0], "unit", message, f"Leave {' and '.join(unit)} out, or use codes.")
        if missing:
            self._check_missing(missing, codes)
        if codes is not None:
            self._check_codes(codes)
        return own

    def _odd(self, types: Sequence[str], reads: Reads) -> str:
        """What the column holds, in words, if it is none of these types for some attribute; else an empty text."""
        for place, computed in reads:
            attribute = self.schema.attributes[place]
            if (found := _type_in_column(attribute, computed=computed)) not in types:
                of = f"of which {shorten(attribute.name)} is computed" if computed else "of the attribute"
                return f"the column {of} is of type {found}"
        return ""

    def _moment(self) -> Temporal | None:
        if odd := self._odd(DATES, self.reads):
            self.fault("format", "format", f"it is of dates and times, and {odd}.", "Leave format out.")
            return None
        place, computed = self.reads[0]
        attribute = self.schema.attributes[place]
        moment = attribute.compute.moment if computed and attribute.compute else attribute.temporal
        assert moment is not None
        zone = None if moment.zone is None else re.sub(r"^UTC(?=[+-])", "", str(moment.zone))
        try:
            form, zone = self.item["format"], zone if computed else attribute.timezone
            return temporal(moment.type, form, None, zone, moment.pattern.years_from if "%y" in form else None)
        except FormError as error:
            self.fault("format", "format", error.message, error.remedy)
            return None

    def _check_missing(self, missing: Sequence[str], codes: Mapping[str, str] | None) -> None:
        for place, _ in self.alone:
            attribute = self._at(place)
            if not attribute.missing:
                message = f"the schema declares no missingValues for {shorten(attribute.name)}."
                remedy = "Leave them out: such rows are outside the domain. Or ask for missingValues in the schema."
                self.fault("missingValues", "no-missing-values", message, remedy)
        for text in missing:
            if codes is not None and text in codes:
                message = f"{shorten(text)} is a code, too."
                self.fault("missingValues", "two-readings", message, "Keep it in one of the two places.")

    def _check_codes(self, codes: Mapping[str, str]) -> None:
        for place, computed in self.alone:
            attribute = self._at(place)
            for text, word in codes.items():
                if not self._is_known(place, word, computed=computed):
                    message = f"{shorten(word)} is no value of {shorten(attribute.name)}."
                    values = [shorten(attribute.name_of(value)) for value in attribute.categories]
                    expected = f"Write one of: {first_few(values)}." if values and not computed else "Write one."
                    self.fault("codes", "out-of-domain", message, f"{expected} Or leave the code out.", of=text)

    def _is_known(self, place: int, word: str, *, computed: bool) -> bool:
        """Whether the schema gives a text a code, and not only because it takes whatever it does not know."""
        schema, attribute = self.schema, self.schema.attributes[place]
        code = code_in(schema, place, word, computed=computed)
        if code is None or code == attribute.missing_code:
            return False
        found = {name for one in schema.discoveries for name in one.attributes}
        open_ = attribute.discover or attribute.name in found or computed
        return open_ or code != attribute.code_outside or word == attribute.other


def _type_in_column(attribute: Attribute, *, computed: bool) -> str:
    """The type of what stands in an attribute's column."""
    compute = attribute.compute
    if not computed or compute is None:
        return attribute.type
    if compute.moment is not None:
        return compute.moment.type
    return "number" if compute.of_numbers else "string"


def _is_of_several(attribute: Attribute) -> bool:
    return attribute.compute is not None and len(attribute.compute.sources) > 1


def _overlaps(
    fields: Sequence[Mapping[str, Any]], left_out: Sequence[str], schema: Schema, file: str
) -> Iterator[Problem]:
    """Columns of the owner of which it is not clear what they are."""
    mapped = {field["name"] for field in fields}
    own = {field.get("column", field["name"]): place for place, field in enumerate(fields)}
    for place, name in enumerate(left_out):
        if name in own:
            message = f"{shorten(name)} is the column of fields[{own[name]}], too."
            yield Problem(file, f"leaveOut[{place}]", "two-readings", message, "Keep it in one of the two places.")
    plain = [a.name for a in schema.attributes if a.compute is None and a.name not in mapped]
    for name in plain:
        if name in own:
            message = f"{shorten(name)} is read as another column, and is an attribute that the map does not name."
            remedy = f'Add a field with the "name" {shorten(name)}, and say which column it is.'
            yield Problem(file, f"fields[{own[name]}].column", "two-readings", message, remedy)
        if name in left_out:
            message = f"{shorten(name)} is an attribute, and no field says where else it is."
            remedy = 'Take it out of leaveOut, or add a field with its "column".'
            yield Problem(file, "leaveOut", "left-out", message, remedy)
