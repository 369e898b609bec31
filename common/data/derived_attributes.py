"""Derived attributes: public functions of one attribute's code, countable like attributes themselves.

An algorithm may ask for tables of them: of the bits of a code (binary or Gray), of its generalisations (a taxonomy's
levels; for bins a binary tree over them), or of whether it is a value at all. A row has one value of each, so a table
of derived attributes has the sensitivity of any other. Their indices follow those of the schema's attributes.

Source: PrivBayes (Zhang, Cormode, Procopiuc, Srivastava, Xiao, TODS 2017), section 5.1, the encodings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute

Codes = npt.NDArray[np.integer]

TOP_BITS = 5
"""The coarsest generalisation of a public grid has up to 2 to the power of this groups."""

SMALLEST_LEVEL = 2
"""A generalisation to fewer groups says nothing."""


def plain_bits(code: int) -> int:
    """The code's bits as they are."""
    return code


def gray_bits(code: int) -> int:
    """The code's reflected binary (Gray) code: neighbouring codes differ in one bit."""
    return code ^ (code >> 1)


class DerivedAttributes:
    """The attributes of a schema (indices ``0 .. d - 1``) and everything derived from them (from ``d`` on).

    Attributes:
        names: of all of them, distinct; a derived one is named after its attribute: ``age:bit0``.
        domain: number of codes of each.
        base: index of the attribute that each is a function of; an attribute is its own.
    """

    def __init__(self, attributes: Sequence[Attribute]) -> None:
        self._attributes = tuple(attributes)
        self._index = {a.name: place for place, a in enumerate(attributes)}
        self._domain = [a.size for a in attributes]
        self._base = list(range(len(attributes)))
        self._maps: dict[int, npt.NDArray[np.int64]] = {}
        places = range(len(attributes))
        self._bits = [self._add_bits(a, plain_bits, "bit") for a in places]
        self._gray = [self._add_bits(a, gray_bits, "gray") for a in places]
        self._levels = [self._add_levels(a) for a in places]
        self._presence = [self._add_presence(a) for a in places]
        self.names = tuple(self._index)
        self.domain = tuple(self._domain)
        self.base = tuple(self._base)

    def index(self, name: str) -> int:
        """Index of a name, derived ones included; ``KeyError`` if there is none."""
        return self._index[name]

    def bits(self, attribute: int) -> tuple[int, ...]:
        """The derived attributes that hold the bits of the code, the highest first; a binary one is its own bit."""
        return self._bits[attribute]

    def gray(self, attribute: int) -> tuple[int, ...]:
        """The same of the Gray code."""
        return self._gray[attribute]

    def levels(self, attribute: int) -> tuple[int, ...]:
        """The attribute itself, then its generalisations, each coarser than the one before; derived ones have none."""
        return (attribute, *(self._levels[attribute] if attribute < len(self._attributes) else ()))

    def presence(self, attribute: int) -> int:
        """The derived attribute that is 0 for all values, and tells apart what is none: missing values, absent rows."""
        return self._presence[attribute]

    def derive(self, index: int, codes: Codes) -> Codes:
        """Values of the derived attribute ``index`` for codes of its base, of the same shape."""
        return self._maps[index][codes] if index in self._maps else codes

    def sources(self, attribute: int) -> tuple[tuple[int, ...], ...]:
        """Sets of indices from each of which the attribute's code follows."""
        return ((attribute,), self._bits[attribute], self._gray[attribute])

    def restore(self, attribute: int, columns: Mapping[int, Codes]) -> npt.NDArray[np.int64]:
        """Codes of an attribute from the columns of one of its ``sources``.

        Bits that spell no code lose their highest one: what is left is a code, chosen without data.
        """
        source = next(s for s in self.sources(attribute) if all(i in columns for i in s))
        if source == (attribute,):
            return columns[attribute].astype(np.int64)
        width = len(source)
        spelled = np.zeros_like(columns[source[0]], dtype=np.int64)
        for i in source:
            spelled = (spelled << 1) | columns[i]
        if source == self._gray[attribute]:
            shift = spelled
            for _ in range(width):
                shift = shift >> 1
                spelled = spelled ^ shift
        size = self.domain[attribute]
        return np.where(spelled < size, spelled, spelled - (1 << (width - 1)))

    def _add_bits(self, attribute: int, spell: Callable[[int], int], kind: str) -> tuple[int, ...]:
        size = self._domain[attribute]
        if size == 2 or self._attributes[attribute].discover:
            return (attribute,)
        width = max(1, (size - 1).bit_length())  # a single code has a bit, too
        spelled = [spell(code) for code in range(size)]
        return tuple(
            self._add(attribute, f"{kind}{place}", [(s >> (width - 1 - place)) & 1 for s in spelled], 2)
            for place in range(width)
        )

    def _add_levels(self, attribute: int) -> tuple[int, ...]:
        declared = self._attributes[attribute]
        levels = declared.levels or (_tree_levels(declared) if declared.edges else ())
        return tuple(
            self._add(attribute, f"level{number}", level, max(level) + 1)
            for number, level in enumerate(levels, 1)
            if max(level) + 1 >= SMALLEST_LEVEL
        )

    def _add_presence(self, attribute: int) -> int:
        declared = self._attributes[attribute]
        if declared.values < 2 or not declared.missing:
            return attribute
        codes = [*([0] * declared.values), *range(1, declared.apart + 1)]
        return self._add(attribute, "missing", codes, declared.apart + 1)

    def _add(self, attribute: int, kind: str, codes: Sequence[int], size: int) -> int:
        name = f"{self._attributes[attribute].name}:{kind}"
        while name in self._index:
            name += "'"
        place = len(self._index)
        self._index[name] = place
        self._maps[place] = np.asarray(codes, dtype=np.int64)
        self._domain.append(size)
        self._base.append(attribute)
        return place


def _tree_levels(attribute: Attribute) -> tuple[tuple[int, ...], ...]:
    """A binary tree over the bins: neighbours joined in pairs, again and again; what is no value stays apart.

    Of a public grid two of its levels, which ``discovery`` takes together with the grid.
    """
    depths = range(1, attribute.values.bit_length()) if not attribute.discover else grid_depths(attribute.values)
    levels = []
    for depth in depths:
        if (groups := ((attribute.values - 1) >> depth) + 1) >= SMALLEST_LEVEL:
            level = [code >> depth for code in range(attribute.values)]
            levels.append((*level, *(groups + place for place in range(attribute.apart))))
    return tuple(levels)


def grid_depths(cells: int) -> tuple[int, ...]:
    """How many cells of a public grid, as a power of two, its generalisations join: the finer one first."""
    whole = (cells - 1).bit_length() - TOP_BITS
    return tuple(depth for depth in dict.fromkeys((whole - 6, whole - 3, whole)) if depth > 0)
