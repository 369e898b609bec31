"""Reads one field of a Table Schema: an attribute, or every rule that the field breaks."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any

from privity.common.data.attribute import (
    LARGEST_POINT,
    PLAIN_KEYS,
    Attribute,
    Group,
    Histogram,
    Value,
    is_double,
    read_number,
)
from privity.common.data.field_form import LARGEST_INTEGER, FieldForm
from privity.common.data.field_keys import types_of
from privity.common.data.measured_range import MeasuredRange, PartOfRows
from privity.common.data.public_grid import DECIMALS, grid_edges, temporal_edges
from privity.common.data.temporal import TEMPORAL
from privity.common.text.short_values import listed, shorten

LARGEST_EXPONENT = 100  # numbers lie within 10**-100 .. 10**100


OTHER = "(other)"
"""The category of texts that were not discovered, by default."""


class FieldReader(FieldForm):
    """Reads one well-formed field: an attribute, or every rule that the field breaks."""

    def read(self) -> Attribute:
        """Return the attribute; it is of use only if ``problems`` is empty."""
        compute = self.read_compute()
        item = self.item
        self._check_keys()
        self._check_text("name", [item["name"]])
        self._check_text("missingValues", self.missing)
        self.read_form()
        if self.type in TEMPORAL and self.temporal is None:
            return Attribute(item["name"], self.type)
        given = {name: item[each.key] for name, each in PLAIN_KEYS.items() if each.key in item}
        rule = item.get("outOfDomain", "refuse")
        attribute = Attribute(item["name"], self.type, out_of_domain=rule, compute=compute, **given)
        if self.type == "boolean":
            attribute = replace(attribute, categories=(False, True))
        elif "categories" in item:
            attribute = self._read_categories(attribute)
        elif self.type == "string" and "domain" in item:
            other = item.get("other", OTHER)
            self._check_text("other", [other])
            attribute = replace(attribute, discover=True, categories=(other,), out_of_domain="other", other=other)
        elif {"edges", "bins", "domain"} & item.keys():
            attribute = self._read_bins(attribute)
        if "histogram" in item and not self.problems:
            attribute = self._read_histogram(attribute)
        if "measured" in item and not self.problems:
            attribute = self._read_measured(attribute)
        if not self.problems and self.temporal is not None:
            self.check_written(attribute)
        if not self.problems:
            attribute = self._read_missing(attribute)
        return attribute

    def _check_keys(self) -> None:
        """Report keys that do not go together or with the type."""
        item = self.item
        unfit = {key for key in item if self.type not in types_of(key)}
        for key in sorted(unfit):
            remedy = f"Leave {key!r} out, or declare another type: {', '.join(types_of(key))}."
            self.fault(key, "type-mismatch", f"{key!r} does not go with the type {self.type}.", remedy)
        domains = [key for key in ("categories", "bins", "edges", "domain") if key in item and key not in unfit]
        if not domains and self.type != "boolean":
            wanted = "'categories' or 'domain'" + (", 'bins' or 'edges'" if self.type != "string" else "")
            self.fault("", "no-domain", "no domain is declared.", f"Declare {wanted}.")
        if len(domains) > 1:
            found = " and ".join(f"'{key}'" for key in domains)
            self.fault("", "two-domains", f"both {found} are declared.", "Keep one of them.")
        if "categories" not in item and self.type != "boolean":
            for key in sorted({"categoriesOrdered", "taxonomy"} & item.keys()):
                self.fault(key, "needs-categories", f"{key!r} needs 'categories'.", f"Leave {key!r} out.")
        if "categories" in item and "constraints" in item and self.type != "string":
            message = "'constraints' bound bins, and there are 'categories'."
            self.fault("constraints", "unused-bounds", message, "Leave 'constraints' out.")
        for key in sorted({"decimals", "histogram", "measured"} & item.keys() - unfit):
            if key == "decimals" and self.type in TEMPORAL:
                continue
            if "categories" in item or (key != "decimals" and "edges" not in item):
                message = f"{key!r} needs " + ("'bins', 'edges' or 'domain'." if key == "decimals" else "'edges'.")
                self.fault(key, "needs-bins", message, f"Leave {key!r} out.")
        if self.type == "string" and "domain" in domains:
            if item.get("outOfDomain", "other") != "other":
                message = "texts that are not discovered go to 'other'."
                self.fault("outOfDomain", "out-of-domain", message, "Leave it out, or declare 'categories'.")
            return
        rule = item.get("outOfDomain", "refuse")
        if rule == "edge" and not {"bins", "edges", "domain"} & set(domains):
            message = "'edge' needs 'bins' or 'edges'."
            self.fault("outOfDomain", "out-of-domain", message, "Use 'refuse', or 'other' for categories.")
        if rule == "other" and "categories" not in domains:
            message = "'other' needs 'categories'."
            self.fault("outOfDomain", "out-of-domain", message, "Use 'refuse', or 'edge' for bins.")
        elif rule == "other" and "other" not in item:
            message = "no category is named to take values outside the domain."
            self.fault("other", "out-of-domain", message, "Name one of the categories as 'other'.")
        if rule != "other" and "other" in item and "other" not in unfit:
            message = "'other' is named, but 'outOfDomain' is not 'other'."
            self.fault("other", "out-of-domain", message, "Set 'outOfDomain' to 'other', or leave it out.")

    def _check_text(self, key: str, texts: list[str]) -> None:
        if any(ord(letter) < 32 or ord(letter) == 127 for text in texts for letter in text):
            remedy = "Use texts without tabs, line ends and other control characters."
            self.fault(key, "control-character", "a text holds a control character.", remedy)

    def _number(self, key: str, value: Any) -> Fraction | None:
        """Read a number exactly; report one that no double or 64-bit integer can carry on."""
        if self.temporal is not None:
            return self.moment(key, value, self.temporal)
        if isinstance(value, str) and (self.type != "number" or read_number(value) is None):
            message = f"{shorten(value)} is a text, and the type is {self.type}."
            self.fault(key, "bound-type", message, "Write numbers without quotes.")
            return None
        decimal = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        if not decimal.is_finite() or (decimal and abs(decimal.adjusted()) > LARGEST_EXPONENT):
            message = f"{shorten(value)} is not within 1e-{LARGEST_EXPONENT} to 1e{LARGEST_EXPONENT}."
            self.fault(key, "number-range", message, "Use another unit.")
            return None
        number = Fraction(decimal)
        if self.type == "integer" and key == "categories":
            if number.denominator != 1:
                message = f"{shorten(value)} is not an integer."
                self.fault(key, "category-type", message, "Write integers, or declare the type number.")
                return None
        elif self.type == "integer" and abs(number) > LARGEST_INTEGER:
            message = f"{shorten(value)} is beyond 2**62."
            self.fault(key, "number-range", message, "Use a smaller bound, or the type number.")
            return None
        elif number.denominator == 1 and self.type == "integer":
            return number
        elif not is_double(number) and not self._is_point(key, number):
            message = f"{shorten(value)} has too many digits for a double."
            remedy = "Write at most 15 significant digits, or declare 'decimals', and no more of them here."
            self.fault(key, "number-precision", message, remedy)
            return None
        return number

    def _is_point(self, key: str, number: Fraction) -> bool:
        """Whether it is a decimal of the declared digits, which are exact whatever a double holds."""
        scaled = number * 10 ** self.item.get("decimals", 0)
        declared = "decimals" in self.item and key in ("constraints", "edges", "histogram", "measured")
        return declared and scaled.denominator == 1 and abs(scaled) <= LARGEST_POINT

    def _category(self, key: str, value: Any) -> Value | None:
        """Read a category; report one that is not of the field's type."""
        if self.type == "string":
            if isinstance(value, str):
                return value
            message = f"{shorten(value)} is not a text."
            self.fault(key, "category-type", message, "Write every category in quotes.")
            return None
        if isinstance(value, str) and self.temporal is None:
            message = f"{shorten(value)} is a text, and the type is {self.type}."
            self.fault(key, "category-type", message, "Write numbers without quotes, or declare the type string.")
            return None
        number = self._number("categories", value)
        return int(number) if number is not None and self.type != "number" else number

    def _read_categories(self, attribute: Attribute) -> Attribute:
        found = [self._category("categories", value) for value in self.item["categories"]]
        categories = tuple(value for value in found if value is not None)
        self._check_text("categories", [value for value in categories if isinstance(value, str)])
        repeated = _repeated(categories)
        if repeated:
            message = f"{self.some(repeated)} appear more than once."
            self.fault("categories", "duplicate-category", message, "Keep each category once.")
        codes = {value: code for code, value in enumerate(dict.fromkeys(categories))}
        attribute = replace(attribute, categories=categories)
        if "taxonomy" in self.item:
            attribute = replace(attribute, taxonomy=self._read_taxonomy(codes))
        if "other" in self.item and self.item.get("outOfDomain") == "other":
            other = self._category("other", self.item["other"])
            if other is not None and other not in codes:
                message = f"{shorten(self.item['other'])} is not one of the categories."
                self.fault("other", "out-of-domain", message, "Name one of the categories.")
            attribute = replace(attribute, other=other)
        return attribute

    def _by_prefix(self, lengths: list[int]) -> dict[str, Any]:
        """The taxonomy of codes that begin alike: by so many characters, the shortest first."""
        if self.type != "string":
            self.fault("taxonomy", "type-mismatch", "prefixes are of texts.", "Name the groups.")
        groups: dict[str, Any] = {}
        for value in self.item["categories"]:
            inner = groups
            for length in sorted(lengths)[:-1]:
                inner = inner.setdefault(str(value)[:length], {})
            inner.setdefault(str(value)[: max(lengths)], []).append(value)
        return groups

    def _read_taxonomy(self, codes: dict[Value, int]) -> tuple[Group, ...]:
        """Read the groups; their leaves must be every category exactly once."""
        leaves: list[Value] = []

        def read(groups: dict[str, Any]) -> tuple[Group, ...]:
            self._check_text("taxonomy", list(groups))
            nodes = []
            for name, members in groups.items():
                if isinstance(members, dict):
                    nodes.append(Group(name, groups=read(members)))
                    continue
                values = [value for leaf in members if (value := self._category("taxonomy", leaf)) is not None]
                leaves.extend(values)
                nodes.append(Group(name, codes=tuple(codes[value] for value in values if value in codes)))
            return tuple(nodes)

        declared = self.item["taxonomy"]
        taxonomy = read(declared if isinstance(declared, dict) else self._by_prefix(declared))
        grouped = set(leaves)
        faults = {
            "are in no group": [value for value in codes if value not in grouped],
            "are in more than one place": _repeated(leaves),
            "are no categories": [value for value in dict.fromkeys(leaves) if value not in codes],
        }
        for what, values in faults.items():
            if values:
                remedy = "Put every category in exactly one list."
                self.fault("taxonomy", "taxonomy-leaves", f"{self.some(values)} {what}.", remedy)
        return taxonomy

    def _read_bins(self, attribute: Attribute) -> Attribute:
        bounds = self.item.get("constraints", {})
        ends = {key: self._number("constraints", value) for key, value in bounds.items()}
        if len(ends) == 1 and "domain" not in self.item:
            message = f"only the {next(iter(ends))} is declared."
            self.fault("constraints", "one-sided-bounds", message, "Declare both minimum and maximum.")
        elif not ends and "bins" in self.item:
            message = "'bins' need a minimum and a maximum."
            self.fault("constraints", "no-bounds", message, "Declare both in 'constraints'.")
        low, high = ends.get("minimum"), ends.get("maximum")
        if low is not None and high is not None and low >= high:
            message = f"the minimum {self.named(low)} is not below the maximum {self.named(high)}."
            self.fault("constraints", "empty-range", message, "Correct one of them.")
        if "domain" in self.item:
            if self.problems:
                return attribute
            # What lies beyond the grid is counted at its end, unless somebody decides otherwise.
            rule = self.item.get("outOfDomain", "edge")
            if self.type == "number" and attribute.decimals is None:
                attribute = replace(attribute, decimals=DECIMALS)
            attribute = replace(attribute, discover=True, out_of_domain=rule)
            scale = 10**attribute.places
            # Values are points of the lattice.
            low = None if low is None else Fraction(ceil(low * scale), scale)
            high = None if high is None else Fraction(floor(high * scale), scale)
            if low is not None and high is not None and low >= high:
                message = "there are not two values within the constraints."
                self.fault("constraints", "coarse-grid", message, "Widen them, or declare more decimals.")
                return attribute
            if self.temporal is None:
                edges = grid_edges(attribute.places, low, high)
            else:
                edges = temporal_edges(self.temporal, low, high)
            if abs(edges[0]) > LARGEST_INTEGER or abs(edges[-1]) > LARGEST_INTEGER * scale:
                self.fault("constraints", "number-range", "the grid is too wide.", "Declare 'constraints'.")
            if len(edges) < 3:
                message = "the grid has a single cell within the constraints."
                self.fault("constraints", "coarse-grid", message, "Widen them, or declare bins or edges.")
            return replace(attribute, edges=edges)
        if "edges" in self.item:
            found = [self._number("edges", value) for value in self.item["edges"]]
            edges = tuple(edge for edge in found if edge is not None)
            if len(edges) == len(found):
                self._check_edges(edges, low, high)
        elif low is not None and high is not None:
            bins: int = self.item["bins"]
            edges = tuple(low + (high - low) * place / bins for place in range(bins + 1))
            attribute = replace(attribute, bins=bins)
            if self.type == "integer" and not low.denominator == high.denominator == 1:
                message = "a bound of an integer attribute is not an integer."
                self.fault("constraints", "bound-type", message, "Write integers, or declare the type number.")
        else:
            return attribute
        attribute = replace(attribute, edges=edges)
        if not self.problems:
            self._check_bins_hold_values(attribute)
        return attribute

    def _read_histogram(self, attribute: Attribute) -> Attribute:
        """Read the finer histogram: its cells make up the bins, and those with a weight hold values."""
        given = self.item["histogram"]
        found = [self._number("histogram", value) for value in given["edges"]]
        edges, weights = tuple(edge for edge in found if edge is not None), tuple(given["weights"])
        rising = all(low < high for low, high in pairwise(edges))
        if not rising or not set(attribute.edges) <= set(edges) or (edges[0], edges[-1]) != (
            attribute.edges[0], attribute.edges[-1],
        ) or len(weights) != len(edges) - 1:  # fmt: skip
            message = (
                "its edges rise from the first edge to the last one through all of them, with a weight for each cell."
            )
            self.fault("histogram", "histogram-edges", message, "Correct its edges and weights, or leave it out.")
            return attribute
        attribute = replace(attribute, histogram=Histogram(edges, weights))
        if any(grid.count < 1 for grid in attribute.cell_grids):
            self.fault("histogram", "empty-cell", "a cell holds no value.", "Join it with the one beside it.")
        return attribute

    def _read_measured(self, attribute: Attribute) -> Attribute:
        """Read between which values a discovered number was measured: within its edges."""
        given = self.item["measured"]
        low, high = (self._number("measured", given[key]) for key in ("minimum", "maximum"))
        if low is None or high is None:
            return attribute
        if not attribute.edges[0] <= low <= high <= attribute.edges[-1]:
            message = "its minimum and maximum do not rise within the edges."
            self.fault("measured", "measured-range", message, "Correct them, or leave it out.")
        share = (
            None
            if given["beyond"] is None
            else PartOfRows(*(float(given["beyond"][key]) for key in ("share", "error")))
        )
        return replace(attribute, measured=MeasuredRange(low, high, share))

    def _check_edges(self, edges: tuple[Fraction, ...], low: Fraction | None, high: Fraction | None) -> None:
        falls = [place for place in range(len(edges) - 1) if edges[place] >= edges[place + 1]]
        if falls:
            pair = f"{self.named(edges[falls[0]])} is followed by {self.named(edges[falls[0] + 1])}"
            self.fault("edges", "edges-order", f"{pair}.", "Write the edges in strictly increasing order.")
        for bound, edge, which in ((low, edges[0], "first"), (high, edges[-1], "last")):
            if bound is not None and bound != edge:
                message = f"the bound {self.named(bound)} is not the {which} edge {self.named(edge)}."
                self.fault("edges", "edges-bounds", message, "Make them equal, or leave 'constraints' out.")

    def _check_bins_hold_values(self, attribute: Attribute) -> None:
        empty = [place for place, grid in enumerate(attribute.grids) if grid.count < 1]
        if not empty:
            return
        low, high = (self.named(attribute.edges[place]) for place in (empty[0], empty[0] + 1))
        key = "bins" if "bins" in self.item else "edges"
        count = f"{len(empty)} of {attribute.values} bins, the first one from {low} to {high},"
        if attribute.whole:
            what = "integer" if self.type == "integer" else self.type
            self.fault(key, "empty-bin", f"{count} hold no {what}.", "Declare fewer or wider bins.")
        else:
            message = f"{count} hold no decimal of 15 significant digits."
            self.fault(key, "narrow-bin", message, "Declare fewer or wider bins.")

    def _read_missing(self, attribute: Attribute) -> Attribute:
        """Add the texts of missing values; none of them may be a value of the domain too."""
        strict = replace(attribute, out_of_domain="refuse", other=None)
        clashes = [text for text in self.missing if strict.code_of(text) is not None]
        if clashes:
            message = f"{listed(clashes)} mean a missing value and a value of the domain."
            remedy = "Take it out of 'missingValues', or out of the domain."
            self.fault("missingValues", "missing-in-domain", message, remedy)
        return replace(attribute, missing=tuple(self.missing))


def _repeated(values: list[Value] | tuple[Value, ...]) -> list[Value]:
    return [value for value, times in Counter(values).items() if times > 1]
