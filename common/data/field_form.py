"""What fields of a schema have in common: their faults, and how dates and times are declared, and what is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from privity.common.data.attribute import PLAIN_KEYS, SPELLINGS, Attribute, Value, value_text
from privity.common.data.computation import PARTS, Computation, read_computation
from privity.common.data.temporal import TEMPORAL, Temporal, temporal
from privity.common.data.temporal_pattern import DEFAULT, FormError
from privity.common.errors import Problem
from privity.common.text.short_values import listed, path_text, shorten

LARGEST_INTEGER = 2**62  # bounds and edges of integers, so that a bin's width fits 64 bits
MOST_DECIMALS = 6  # of a second: what databases keep


class FieldForm:
    """One well-formed field; ``problems`` holds every rule that it breaks.

    Args:
        others: all well-formed fields, by name.
    """

    def __init__(
        self,
        file: str,
        place: int,
        item: dict[str, Any],
        top_missing: list[str],
        others: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.file = file
        self.place = place
        self.item = item
        self.type: str = item["type"]
        self.top_missing = top_missing
        self.missing: list[str] = item.get("missingValues", top_missing)
        self.problems: list[Problem] = []
        self.others = others or {}
        self.temporal: Temporal | None = None

    def fault(self, key: str, rule: str, message: str, remedy: str) -> None:
        where = path_text(["fields", self.place, *([key] if key else [])])
        message = f"attribute {shorten(self.item['name'])}: {message}"
        self.problems.append(Problem(self.file, where, rule, message, remedy))

    def read_form(self) -> None:
        """Read how dates, times or booleans are written."""
        form = self.item.get("format", DEFAULT)
        if self.type == "boolean" and form not in (DEFAULT, *SPELLINGS):
            remedy = f"Use one of: {', '.join((DEFAULT, *SPELLINGS))}; or declare a string and its categories."
            self.fault("format", "format", f"{shorten(form)} is no format of booleans.", remedy)
        if self.type not in TEMPORAL or self.problems:
            return
        item = self.item
        if item.get("decimals", 0) > MOST_DECIMALS:
            message, remedy = f"times have at most {MOST_DECIMALS}.", f"Declare {MOST_DECIMALS}: the rest is cut off."
            self.fault("decimals", "format", message, remedy)
            return
        try:
            form = item.get("format", DEFAULT), item.get("decimals"), item.get("timezone"), item.get("yearsFrom")
            self.temporal = temporal(self.type, *form)
        except FormError as error:
            self.fault(error.key, "format", error.message, error.remedy)

    def read_compute(self) -> Computation | None:
        """Read what the values are computed of."""
        declared: dict[str, Any] | None = self.item.get("compute")
        if declared is None or self.problems:
            return None
        try:
            compute = read_computation(declared, self.others)
        except FormError as error:
            self.fault("compute", "compute", error.message, error.remedy)
            return None
        wanted = "integer" if compute.part or compute.moment else "number" if compute.of_numbers else "string"
        if compute.less is not None and self.type == "integer":
            wanted = self.type
        if self.type != wanted:
            message = f"what is computed is of type {wanted}, and {self.type} is declared."
            self.fault("type", "compute", message, f"Declare the type {wanted}.")
        if compute.less is not None:
            self._check_columns(compute)
        if compute.beside and "categories" not in self.item:
            self.fault("compute", "compute", "joined texts need categories.", "Declare 'categories'.")
        ends = PARTS.get(compute.part or "")
        if ends is not None and not {"categories", "edges", "bins", "domain"} & self.item.keys():
            first, last = ends
            self.item = {**self.item, "categories": list(range(first, last + 1)), "categoriesOrdered": True}
        if compute.log and ("categories" in self.item or ("domain" in self.item and "constraints" not in self.item)):
            self.fault(
                "compute", "compute", "a logarithm needs bounds.", "Declare 'bins' or 'edges', or 'constraints'."
            )
        return compute

    def _check_columns(self, compute: Computation) -> None:
        """A difference is read of both columns by what stands in its own field."""
        fields = [self.others[name] for name in compute.sources if name in self.others]
        lacking = {text: None for item in fields for text in item.get("missingValues", self.top_missing)}
        if lacking := {text: None for text in lacking if text not in self.missing}:
            message = f"{listed([*lacking])} mean a missing value of a column that it is computed of."
            self.fault("missingValues", "compute", message, "Declare them here, too.")
        marks = [key for key, each in PLAIN_KEYS.items() if each.of_rows]
        for key in (PLAIN_KEYS[mark].key for mark in marks):
            read = [item for item in fields if "sum" not in item and "lookup" not in item]
            if compute.of_numbers and any(item.get(key) != self.item.get(key) for item in read):
                message = "a column that it is computed of is declared to be written otherwise."
                self.fault(key, "compute", message, f"Declare the same {key!r} in all of these fields.")

    def check_written(self, attribute: Attribute) -> None:
        """What is written of a value must be read as this value."""
        ends = (attribute.point_edges[0], attribute.point_edges[-1] - 1) if attribute.edges else attribute.categories
        for value in ends:
            try:
                same = attribute.read(attribute.text_of(value)) == value
            except (ValueError, OverflowError):
                same = False
            if not same:
                message = f"the format {attribute.format} cannot tell an end of the domain from another value."
                self.fault("format", "format-range", message, "Use another format, or narrower bounds.")
                return

    def named(self, value: Value) -> str:
        if self.temporal is None or isinstance(value, str):
            return value_text(value)
        return self.temporal.iso(value)

    def some(self, values: Sequence[Value]) -> str:
        return listed([self.named(value) for value in values])

    def moment(self, key: str, value: Any, form: Temporal) -> Fraction | None:
        """Read a date, time or duration, which stands in ISO 8601 in every schema."""
        number = form.read_iso(value) if isinstance(value, str) else None
        if number is None:
            zone = "" if form.zone is None else " with its offset from UTC"
            message = f"{shorten(value)} is no {self.type} of ISO 8601{zone}."
            self.fault(key, "bound-type", message, f'Write it as a text, such as "{form.iso(0)}".')
        elif number.denominator != 1 and key in ("categories", "other", "taxonomy"):
            message = f"{shorten(value)} is finer than the values, which have the form {form.iso(0)}."
            self.fault(key, "bound-type", message, "Write a coarser one, or declare a finer format or 'decimals'.")
            return None
        elif abs(number) > LARGEST_INTEGER:
            self.fault(key, "number-range", f"{shorten(value)} is too far away.", "Declare fewer 'decimals'.")
            return None
        return number
