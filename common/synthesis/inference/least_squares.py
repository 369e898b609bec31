"""Generalised least squares for one table over several attributes, from tables of sums of its cells.

The unknown is a table X over some attributes. Each design tells sums of its cells under independent noise of one
variance: on each axis the codes themselves, groups of them, or all codes together. The sum of all cells is exact.

On an axis an *atom* is a set of codes that no grouping tells apart. A function of the codes is the sum of one that is
constant on every atom and one that adds up to 0 within each, a *contrast*. Whole codes leave either kind as it is, and
a grouping takes every contrast to 0. So the normal equations fall into one block for each set of axes that a contrast
is taken on, and a block has as many unknowns as the other axes have atoms. Without groupings an axis has one atom, and
the blocks are single numbers: the residuals of the table and of its margins, each averaged by inverse variance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

RANK = 1e-9
"""Part of the largest eigenvalue up to which one of whole numbers is 0."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """What a table tells of an attribute's code.

    Attributes:
        labels: int64, shape (codes,): the group of each code, from 0 on without gaps.
        groups: how many there are; with as many as codes, group and code are the same number.
    """

    labels: Labels
    groups: int

    @property
    def whole(self) -> bool:
        """Whether it is the code itself."""
        return self.groups == len(self.labels)


@dataclass(frozen=True)
class Design:
    """Noisy sums of the table's cells.

    Attributes:
        groupings: for each axis what it tells of the code; None where it sums over all codes.
        weight: one over the variance of the noise on each count.
        counts: float64, shape = the groups of each axis, 1 where it sums over all codes.
    """

    groupings: tuple[Grouping | None, ...]
    weight: float
    counts: Numbers


@dataclass(frozen=True)
class _Axis:
    """Atoms of an axis.

    Attributes:
        labels: the atom of each code; sizes: how many codes each has.
    """

    labels: Labels
    sizes: Numbers

    @classmethod
    def of(cls, codes: int, groupings: Sequence[Grouping]) -> _Axis:
        labels = np.zeros(codes, dtype=np.int64)
        for grouping in groupings:
            labels = np.unique(labels * grouping.groups + grouping.labels, return_inverse=True)[1]
        return cls(labels, np.bincount(labels).astype(np.float64))

    @cached_property
    def roots(self) -> Numbers:
        """Of the sizes."""
        return np.sqrt(self.sizes)

    def groups(self, grouping: Grouping | None) -> Labels:
        """The group of each atom."""
        found = np.zeros(len(self.sizes), dtype=np.int64)
        if grouping is not None:
            found[self.labels] = grouping.labels
        return found

    def gram(self, grouping: Grouping | None) -> Numbers:
        """What a table of the grouping tells of the atoms, shape (atoms, atoms), at a weight of 1."""
        if grouping is not None and grouping.whole:
            return np.eye(len(self.sizes))
        groups = self.groups(grouping)
        return np.outer(self.roots, self.roots) * (groups[:, None] == groups[None, :])

    def sums(self, table: Numbers, axis: int) -> Numbers:
        """Over the codes of each atom, each over the root of the atom's size."""
        if len(self.sizes) == 1:
            return np.asarray(table.sum(axis=axis, keepdims=True) / self.roots[0])
        moved = np.moveaxis(table, axis, 0)
        found = np.zeros((len(self.sizes), *moved.shape[1:]))
        np.add.at(found, self.labels, moved)
        return np.asarray(np.moveaxis(found, 0, axis) / _at(self.roots, axis, table.ndim))

    def spread(self, table: Numbers, axis: int) -> Numbers:
        """The transpose of ``sums``."""
        return np.take(table / _at(self.roots, axis, table.ndim), self.labels, axis=axis)

    def contrasts(self, table: Numbers, axis: int) -> Numbers:
        """Less the mean of each atom."""
        if len(self.sizes) == 1:
            return np.asarray(table - table.sum(axis=axis, keepdims=True) / self.sizes[0])
        return np.asarray(table - self.spread(self.sums(table, axis), axis))


@dataclass(frozen=True)
class _Block:
    """Covariance of one block: over the atoms of the axes without a contrast, the same for each contrast."""

    contrasts: tuple[int, ...]
    covariance: Numbers


class Estimate:
    """Estimated counts of a table, and the exact covariance of their error.

    Attributes:
        counts: float64; unbiased, so that they may be negative; they add up to the public number of rows.
    """

    def __init__(self, counts: Numbers, axes: tuple[_Axis, ...], blocks: tuple[_Block, ...]) -> None:
        self.counts, self._axes, self._blocks = counts, axes, blocks

    @cached_property
    def variances(self) -> Numbers:
        """Of each count's error, shape as the counts."""
        found = np.zeros(self.counts.shape)
        for block in self._blocks:
            kept = self._kept(block)
            part = block.covariance.diagonal().reshape(
                [len(self._axes[i].sizes) if i in kept else 1 for i in self._all]
            )
            for i in kept:
                axis = self._axes[i]
                part = np.take(part, axis.labels, axis=i) / _at(axis.sizes[axis.labels], i, part.ndim)
            for i in block.contrasts:
                axis = self._axes[i]
                part = part * _at(1 - 1 / axis.sizes[axis.labels], i, part.ndim)
            found += part
        return found

    def variance(self, weights: Numbers) -> float:
        """Of the error of a weighted sum of the counts; ``weights`` have their shape."""
        (found,) = self.covariances(weights[None]).ravel()
        return float(found)

    def covariance(self) -> Numbers:
        """Of all counts, in C order, shape (cells, cells)."""
        cells = self.counts.size
        return self.covariances(np.eye(cells).reshape(cells, *self.counts.shape))

    def component_variance(self, axes: Sequence[int]) -> float:
        """Mean variance, by degree of freedom, of the interaction of some axes in the table of these axes alone.

        Of independent noise on each count of that table it would be the variance of a count.
        """
        total, shape = 0.0, self.counts.shape
        for block in self._blocks:
            if not set(block.contrasts) <= set(axes):
                continue
            part: Numbers = np.ones((1, 1))
            for i in self._kept(block):
                roots = self._axes[i].roots
                if len(roots) == 1:
                    # The mean alone: none of an interaction.
                    part = part * (1 - self._axes[i].sizes[0] / shape[i] if i in axes else self._axes[i].sizes[0])
                    continue
                mean = np.outer(roots, roots)
                part = _product(part, np.eye(len(roots)) - mean / shape[i] if i in axes else mean)
            free = math.prod(shape[i] - len(self._axes[i].sizes) for i in block.contrasts)
            total += free * float((block.covariance * part).sum())
        return total / max(1, math.prod(shape[i] - 1 for i in axes))

    @property
    def _all(self) -> range:
        return range(len(self._axes))

    def _kept(self, block: _Block) -> list[int]:
        return [i for i in self._all if i not in block.contrasts]

    def covariances(self, weights: Numbers) -> Numbers:
        """Of weighted sums of the counts; shape (sums, *counts' shape) -> (sums, sums)."""
        many = len(weights)
        found = np.zeros((many, many))
        for block in self._blocks:
            kept, part = self._kept(block), weights
            for i in self._all:
                axis = self._axes[i]
                part = axis.sums(part, i + 1) if i in kept else axis.contrasts(part, i + 1)
            part = np.moveaxis(part, [i + 1 for i in kept], range(-len(kept), 0)) if kept else part
            part = part.reshape(many, -1, len(block.covariance))
            found += (part @ block.covariance).reshape(many, -1) @ part.reshape(many, -1).T
        return found


def _at(values: Numbers, axis: int, dimensions: int) -> Numbers:
    """Values along one axis of so many."""
    return values.reshape([-1 if i == axis else 1 for i in range(dimensions)])


def _product(left: Numbers, right: Numbers) -> Numbers:
    """Of Kronecker; by far the most often of single numbers."""
    return np.asarray(left * right if left.size == 1 or right.size == 1 else np.kron(left, right))


def unknowns(codes: Sequence[int], designs: Sequence[Design]) -> int:
    """Of the largest block: a dense matrix has their square."""
    return math.prod(len(axis.sizes) for axis in _axes(codes, designs))


def least_squares(target: Sequence[Grouping], designs: Sequence[Design], rows: int) -> Estimate:
    """The best linear unbiased estimate of the table of these groupings, by the designs and the exact sum.

    Args:
        target: of each axis; one of the designs has all of them.
        rows: what the table adds up to.
    """
    axes = _axes([len(grouping.labels) for grouping in target], designs)
    shown = [i for i, grouping in enumerate(target) if grouping.whole]
    found, blocks = np.zeros([grouping.groups for grouping in target]), []
    for contrasts in chain.from_iterable(combinations(shown, size) for size in range(len(shown) + 1)):
        some = [design for design in designs if all(_is_whole(design.groupings[i]) for i in contrasts)]
        values, covariance = _solved(axes, contrasts, some, rows)
        for i, (axis, grouping) in enumerate(zip(axes, target, strict=True)):
            if i in contrasts:
                continue
            if grouping.whole:
                values = axis.spread(values, i)
        values, covariance = _grouped(axes, target, contrasts, values, covariance)
        found += values
        blocks.append(_Block(contrasts, covariance))
    told = tuple(
        axis if grouping.whole else _Axis(np.arange(grouping.groups), np.ones(grouping.groups))
        for axis, grouping in zip(axes, target, strict=True)
    )
    return Estimate(found, told, tuple(blocks))


def _axes(codes: Sequence[int], designs: Sequence[Design]) -> tuple[_Axis, ...]:
    found = []
    for i, size in enumerate(codes):
        told = {id(g): g for design in designs if (g := design.groupings[i]) is not None and not g.whole}
        found.append(_Axis.of(size, list(told.values())))
    return tuple(found)


def _is_whole(grouping: Grouping | None) -> bool:
    return grouping is not None and grouping.whole


def _grouped(
    axes: Sequence[_Axis], target: Sequence[Grouping], contrasts: Sequence[int], values: Numbers, covariance: Numbers
) -> tuple[Numbers, Numbers]:
    """Atoms summed over the groups that are asked for, on the axes whose codes are not."""
    kept = [i for i in range(len(axes)) if i not in contrasts]
    sizes = [len(axes[i].sizes) for i in kept]
    for place, i in enumerate(kept):
        if target[i].whole:
            continue
        groups = axes[i].groups(target[i])
        sums = np.zeros((target[i].groups, sizes[place]))
        sums[groups, np.arange(sizes[place])] = axes[i].roots
        values = np.moveaxis(np.tensordot(sums, values, axes=(1, i)), 0, i)
        apart = covariance.reshape([*sizes, *sizes])
        for axis in (place, place + len(kept)):
            apart = np.moveaxis(np.tensordot(sums, apart, axes=(1, axis)), 0, axis)
        sizes[place] = target[i].groups
        covariance = apart.reshape(math.prod(sizes), -1)
    return values, covariance


def _solved(
    axes: Sequence[_Axis], contrasts: tuple[int, ...], designs: Sequence[Design], rows: int
) -> tuple[Numbers, Numbers]:
    """The unknowns of a block, shape (codes of the axes with a contrast, atoms of the others), and their covariance."""
    kept = [i for i in range(len(axes)) if i not in contrasts]
    size = math.prod(len(axes[i].sizes) for i in kept)
    if size == 1:
        return _solved_alone(axes, contrasts, designs, rows)
    normal, unit, full = np.zeros((size, size)), np.zeros((size, size)), False
    right: Numbers = np.zeros([len(a.sizes) if i in kept else len(a.labels) for i, a in enumerate(axes)])
    for design in designs:
        gram: Numbers = np.ones((1, 1))
        told = True
        values: Numbers = design.counts * design.weight
        for i, (axis, grouping) in enumerate(zip(axes, design.groupings, strict=True)):
            if i in contrasts:
                values = axis.contrasts(values, i)
                continue
            gram = _product(gram, axis.gram(grouping))
            if _is_whole(grouping):
                values = axis.sums(values, i)
            else:
                values = np.take(values, axis.groups(grouping), axis=i) * _at(axis.roots, i, values.ndim)
                told = told and (1 if grouping is None else grouping.groups) == len(axis.sizes)
        normal += design.weight * gram
        unit += gram
        right += values
        full = full or told
    order = [*contrasts, *kept]
    flat = right.transpose(order).reshape(-1, size)
    if contrasts:
        covariance = _inverse(normal, unit, full, np.eye(size))
        flat = flat @ covariance
    else:
        # All cells together are exact: what is free is orthogonal to them.
        one: Numbers = np.ones(1)
        for axis in axes:
            one = np.asarray(np.kron(one, axis.roots))
        exact = one * (rows / (one @ one))
        covariance = _inverse(normal, unit, full, _orthogonal(one))
        flat = exact + (flat - exact @ normal) @ covariance
    shape = [right.shape[i] for i in order]
    return flat.reshape(shape).transpose(np.argsort(order)), covariance


def _solved_alone(
    axes: Sequence[_Axis], contrasts: tuple[int, ...], designs: Sequence[Design], rows: int
) -> tuple[Numbers, Numbers]:
    """The same where the other axes have one atom each: an average by inverse variance."""
    kept = tuple(i for i in range(len(axes)) if i not in contrasts)
    codes = math.prod(len(axes[i].labels) for i in kept)
    if not contrasts:
        return np.full([1] * len(axes), rows / math.sqrt(codes)), np.zeros((1, 1))
    whole, total = 0.0, np.zeros([len(axis.labels) if i in contrasts else 1 for i, axis in enumerate(axes)])
    for design in designs:
        # A sum over codes has the noise of all of them; a table without the axis is that sum itself.
        weight = design.weight / math.prod(design.counts.shape[i] for i in kept)
        total = total + weight * design.counts.sum(axis=kept, keepdims=True)
        whole += weight
    for i in contrasts:
        total = axes[i].contrasts(total, i)
    return total / (whole * math.sqrt(codes)), np.full((1, 1), 1 / (whole * codes))


def _orthogonal(vector: Numbers) -> Numbers:
    """An orthonormal basis of what is orthogonal to a positive vector, shape (size, size - 1): a reflection."""
    size = len(vector)
    mirror = vector / np.linalg.norm(vector)
    mirror[0] += 1
    return np.asarray((np.eye(size) - np.outer(mirror, mirror) * (2 / (mirror @ mirror)))[:, 1:])


def _inverse(normal: Numbers, unit: Numbers, full: bool, basis: Numbers) -> Numbers:
    """The inverse within a basis; of what no design tells it is 0.

    Args:
        unit: the same with all weights 1: what is told does not depend on them, and their spread would blur it.
        full: whether one design tells everything.
    """
    from scipy.linalg import cho_factor, cho_solve

    if not full:
        values, vectors = np.linalg.eigh(basis.T @ unit @ basis)
        basis = basis @ vectors[:, values > RANK * max(1.0, values.max(initial=0.0))]
    if not basis.shape[1]:
        return np.zeros_like(normal)
    within = basis.T @ normal @ basis
    if len(within) == 1:
        return np.asarray(basis @ basis.T / within)
    return np.asarray(basis @ cho_solve(cho_factor(within), basis.T))
