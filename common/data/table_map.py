"""An owner's table in its own words: which column stands for which of the schema, and what its values mean there.

A map decides how one owner's rows are read, and is the owner's alone: nothing that is sent or signed holds it. Open
``table_map_file.py`` for how it is written down, and ``declared_values.py`` for how a value is put into the schema's
words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from privity.common.data.attribute import Attribute, read_number
from privity.common.data.temporal import Temporal
from privity.common.data.value_grids import nearest, number_text


@dataclass(frozen=True)
class OwnColumn:
    """A column of an owner's table that stands for one of the schema's.

    Attributes:
        name: in the owner's table.
        codes: the schema's text for each text of the owner's; None where they are the same.
        factor, offset: of a unit: a number of the schema is ``number * factor + offset``, exactly; factor above 0.
        moment: how its dates or times are written, in the format ``form``; None if they are written as the schema says.
        missing: texts that mean "no value", beside those of the schema.
    """

    name: str
    codes: Mapping[str, str] | None = None
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)
    moment: Temporal | None = None
    form: str = ""
    missing: tuple[str, ...] = ()

    @property
    def has_unit(self) -> bool:
        """Whether its numbers are others than those of the schema."""
        return (self.factor, self.offset) != (1, 0)

    @property
    def renamed_only(self) -> bool:
        """Whether its values are those of the schema."""
        return self.codes is None and not self.has_unit and self.moment is None and not self.missing

    @cached_property
    def missing_numbers(self) -> frozenset[int | Fraction]:
        """The numbers that mean "no value" in a column of numbers."""
        return frozenset(number for text in self.missing if (number := read_number(text)) is not None)

    def converted(self, attribute: Attribute, number: int | Fraction) -> Fraction:
        """A number in the attribute's unit; of whole numbers the nearest one, the upper one of two."""
        found = number * self.factor + self.offset
        return Fraction(nearest(found, Fraction(1))) if attribute.type == "integer" else found

    def unconverted(self, number: int | Fraction) -> Fraction:
        """The owner's number that is this one in the schema's unit."""
        return (number - self.offset) / self.factor

    def unconverted_edges(self, attribute: Attribute) -> tuple[Fraction, ...]:
        """The owner's numbers from which on the next bin of the attribute begins."""
        half = Fraction(attribute.type == "integer", 2)
        return tuple(self.unconverted(edge - half) for edge in attribute.coding_edges)

    def missing_moments(self, attribute: Attribute) -> tuple[str, ...]:
        """Its missing values as the attribute writes dates or times, if it is of these."""
        if attribute.temporal is None:
            return self.missing
        reader = self.moment or attribute.temporal
        found = (reader.read(text) for text in self.missing)
        return tuple(attribute.temporal.text(number) for number in found if number is not None)


@dataclass(frozen=True)
class TableMap:
    """What stands where in an owner's table.

    Attributes:
        columns: by the schema's name of a column; one that is not here has its own name and the schema's values.
        left_out: the owner's columns that are not read.
        file: where it is written, for messages.
    """

    columns: Mapping[str, OwnColumn] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    file: str = ""

    def __hash__(self) -> int:
        return hash((*self.columns, self.left_out))

    @cached_property
    def taken(self) -> frozenset[str]:
        """The owner's columns that are no columns of the schema by their own name."""
        return self.left_out | {own.name for own in self.columns.values()}

    def name_of(self, column: str) -> str:
        """A column of the schema as the owner's table calls it."""
        return self.columns[column].name if column in self.columns else column

    def place_of(self, attribute: Attribute, there: Collection[str]) -> tuple[str, bool]:
        """An attribute's column in a table of such columns, and whether the attribute is computed of it."""
        own = attribute.name in self.columns or (attribute.name in there and attribute.name not in self.taken)
        if attribute.compute is None or own:
            return self.name_of(attribute.name), False
        return self.name_of(attribute.compute.source), True

    def sources_of(self, attribute: Attribute) -> tuple[str, ...]:
        """The owner's columns that an attribute is computed of; none if it is not."""
        return () if attribute.compute is None else tuple(map(self.name_of, attribute.compute.sources))

    def of(self, attribute: Attribute, *, computed: bool) -> OwnColumn | None:
        """What is said of an attribute's column.

        Args:
            computed: whether the attribute is computed of the column.
        """
        return self.columns.get(attribute.column(computed=computed))

    def in_words(self) -> list[str]:
        """What it says, a line for each column of the schema and one for what is left out."""
        lines = []
        for column, own in self.columns.items():
            said = [f"column {own.name}"]
            if own.codes is not None:
                said.append("codes " + ", ".join(f"{code} = {word}" for code, word in own.codes.items()))
            if own.has_unit:
                said.append(f"number * {number_text(own.factor)} + {number_text(own.offset)}")
            if own.moment is not None:
                said.append(f"written as {own.form}")
            if own.missing:
                said.append(f"no value: {', '.join(map(repr, own.missing))}")
            lines.append(f"{column}: {'; '.join(said)}.")
        return [*lines, *([f"Not read: {', '.join(sorted(self.left_out))}."] if self.left_out else [])]

    @property
    def remedy(self) -> str:
        """What to do about a column that is not there; empty without a map."""
        return f'Correct "column" in {self.file}: it names columns of this table.' if self.columns else ""

    def known(self, names: Iterable[str]) -> frozenset[str]:
        """The owner's columns, of a schema that knows these."""
        return self.taken | {name for name in names if name not in self.columns}

    def words_of(self, name: str) -> tuple[str, ...]:
        """The columns of the schema that one of the owner's stands for."""
        found = tuple(word for word, own in self.columns.items() if own.name == name)
        return found or (() if name in self.left_out else (name,))


NO_MAP = TableMap()
"""Of a table in the schema's words."""
