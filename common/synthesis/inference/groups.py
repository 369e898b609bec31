"""Tables of generalised attributes beside those of the attributes themselves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privity.common.data.derived_attributes import DerivedAttributes

Numbers = npt.NDArray[np.float64]
Codes = npt.NDArray[np.integer]


def groups_of(derived: DerivedAttributes, attribute: int, size: int) -> Codes | None:
    """The derived code of each of the ``size`` codes of its base; None if the attribute is its own base."""
    return None if derived.base[attribute] == attribute else derived.derive(attribute, np.arange(size))


def expand(table: Numbers, axis: int, groups: Codes | None) -> Numbers:
    """The same number for all codes of a group."""
    return table if groups is None else np.take(table, groups, axis=axis)


def condense(table: Numbers, axis: int, groups: Codes | None) -> Numbers:
    """The sums over the codes of each group."""
    if groups is None:
        return table
    moved = np.moveaxis(table, axis, 0)
    sums = np.zeros((int(groups.max()) + 1, *moved.shape[1:]))
    np.add.at(sums, groups, moved)
    return np.moveaxis(sums, 0, axis)
