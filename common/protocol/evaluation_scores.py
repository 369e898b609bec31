"""Scores of a synthetic table on a party's own rows: whole numbers of which none changes by more than one with a row.

A party makes them of counts of its rows, so that they can be asked wherever rows are
(``privity.party.sources.rows``), and their sums over the parties are revealed like tables: under noise that all parties
share. Whatever a curator asks, the bound holds: it follows from how a score is made, not from what was put in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privity.common.data.derived_attributes import DerivedAttributes
from privity.common.data.noisy_tables import Marginal
from privity.common.errors import Catalogue, PrivityError
from privity.common.privacy.budget import parse_epsilon
from privity.common.protocol.step_limits import check_tables
from privity.common.storage.canonical_json import positive_fraction, whole

Counts = Mapping[Marginal, npt.NDArray[np.int64]]
"""Contingency tables by their attributes, each in the shape of its attributes' domains."""

MOST_SHARES, MOST_TARGETS = 128, 32
MOST_SCORES = 2 + MOST_TARGETS + MOST_SHARES
DEEPEST_TREE = 8
LARGEST_SYNTHETIC = 1 << 31
"""No table that is scored has so many rows, and no party: products of two row counts fit 64 bits."""

BEYOND = 1 << 31
"""More codes than any attribute has."""


@dataclass(frozen=True)
class Evaluation:
    """That a run scores its synthetic table over the parties.

    Attributes:
        epsilon: part of the run's that it costs.
        targets: attributes that a classifier is to tell from the others.
    """

    epsilon: Fraction
    targets: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {"epsilon": str(self.epsilon), "targets": list(self.targets)}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Evaluation:
        """The inverse of ``to_dict``; raises ValueError, KeyError or TypeError for anything else."""
        found = cls(positive_fraction(content["epsilon"]), tuple(content["targets"]))
        texts = all(isinstance(target, str) for target in found.targets)
        if not texts or len(set(found.targets)) != len(found.targets) or len(found.targets) > MOST_TARGETS:
            raise ValueError("not the targets of an evaluation")
        if found.to_dict() != content:
            raise ValueError("not an evaluation")
        return found


def evaluation_of(request: Mapping[str, Any]) -> Evaluation | None:
    """That of a run request, which fits its format.

    Raises:
        PrivityError: an epsilon that cannot be.
    """
    asked = request.get("evaluation")
    if asked is None:
        return None
    return Evaluation(parse_epsilon(asked["epsilon"], "evaluation"), tuple(asked.get("targets", ())))


@dataclass(frozen=True)
class MarginalScore:
    """How far the synthetic table's marginals are from those of a party's rows: n_k times the mean distance.

    The total variation distance of a table with counts c of n rows from one with counts s of m rows is
    sum |c m - s n| / (2 n m). A replaced row changes two cells of c by one each, so n times the distance by one at
    most, and so the mean over tables, rounded down: whatever s is.

    The sum over the parties, over all rows, is their mean distance weighted by rows. By convexity it is at least the
    distance of the joint table, and more where parties differ, or have few rows.

    Attributes:
        tables: by attribute index.
        counts: of the synthetic table, table after table, C order within each.
        rows: of the synthetic table.
    """

    tables: tuple[Marginal, ...]
    counts: tuple[int, ...]
    rows: int

    def asked(self) -> tuple[Marginal, ...]:
        return self.tables

    def fault(self, domain: Sequence[int]) -> str | None:
        """What is wrong with it, beyond the tables themselves; None if nothing is."""
        if not self.tables:
            return "a score of no table"
        if len(self.counts) != sum(math.prod(domain[a] for a in table) for table in self.tables):
            return "a score has not one count for each cell of its tables"
        if not 1 <= self.rows < LARGEST_SYNTHETIC or min(self.counts) < 0 or max(self.counts) > self.rows:
            return "a score has counts of more rows than there are, or of none"
        return None

    def of(self, counts: Counts, rows: int) -> int:
        """The score of ``rows`` rows (fewer than 2^31) with these tables, from 0 to ``rows``."""
        synthetic = np.array(self.counts, dtype=np.int64)
        total, start = 0, 0
        for table in self.tables:
            own = counts[table].ravel()
            other = synthetic[start : start + own.size]
            start += own.size
            # Each is below 2^62; their sum need not be.
            apart = np.abs(own * self.rows - other * rows)
            total += (int((apart >> 32).sum()) << 32) + int((apart & 0xFFFFFFFF).sum())
        return min(rows, total // (2 * self.rows * len(self.tables)))

    def content(self) -> dict[str, Any]:
        return {
            "kind": "marginals",
            "tables": [list(table) for table in self.tables],
            "counts": list(self.counts),
            "rows": self.rows,
        }


@dataclass(frozen=True)
class Split:
    """A node of a decision tree: rows with a code of the attribute up to ``largest`` go to ``low``."""

    attribute: int
    largest: int
    low: Tree
    high: Tree


Tree = int | Split
"""A decision tree over codes; a leaf is the code that it predicts."""


@dataclass(frozen=True)
class Leaf:
    """Which rows get to a leaf, by the codes of the attributes on its path, and what it predicts."""

    path: tuple[tuple[int, slice], ...]
    label: int


@dataclass(frozen=True)
class TreeScore:
    """How many of a party's rows a decision tree predicts right: one more or less, for a row that is replaced.

    Each row gets to one leaf, and to which depends on nothing but the row.

    Attributes:
        attribute: index of the one that it predicts.
    """

    attribute: int
    tree: Tree

    def leaves(self) -> Iterator[Leaf]:
        pending: list[tuple[Tree, dict[int, tuple[int, int]]]] = [(self.tree, {})]
        while pending:
            node, path = pending.pop()
            if isinstance(node, int):
                yield Leaf(tuple((a, slice(*path[a])) for a in sorted(path)), node)
                continue
            first, end = path.get(node.attribute, (0, BEYOND))
            middle = min(max(node.largest + 1, first), end)
            pending.append((node.high, {**path, node.attribute: (middle, end)}))
            pending.append((node.low, {**path, node.attribute: (first, middle)}))

    def asked(self) -> tuple[Marginal, ...]:
        return tuple(dict.fromkeys(self._table(leaf) for leaf in self.leaves()))

    def _table(self, leaf: Leaf) -> Marginal:
        return (self.attribute, *(attribute for attribute, _ in leaf.path))

    def fault(self, domain: Sequence[int]) -> str | None:
        """What is wrong with it, beyond its tables themselves; None if nothing is."""
        level: list[Tree] = [self.tree]
        for _ in range(DEEPEST_TREE + 1):
            splits = [node for node in level if isinstance(node, Split)]
            if any(not isinstance(node, Split) and not 0 <= node < domain[self.attribute] for node in level):
                return "a tree predicts what the domain does not have"
            if any(split.attribute == self.attribute for split in splits):
                return "a tree looks at what it is to predict"
            level = [child for split in splits for child in (split.low, split.high)]
        return f"a tree is deeper than {DEEPEST_TREE}" if level else None

    def of(self, counts: Counts, _rows: int) -> int:
        """The number of rows that are predicted right: from 0 to all of them."""
        right = 0
        for leaf in self.leaves():
            inside: Any = (leaf.label, *(codes for _, codes in leaf.path))
            right += int(counts[self._table(leaf)][inside].sum())
        return right

    def content(self) -> dict[str, Any]:
        return {"kind": "tree", "attribute": self.attribute, "tree": _content(self.tree)}


@dataclass(frozen=True)
class ShareScore:
    """How many of a party's rows have one of the codes from ``first`` on, below ``end``: one more or less for a row.

    Attributes:
        attribute: index.
    """

    attribute: int
    first: int
    end: int

    def asked(self) -> tuple[Marginal, ...]:
        return ((self.attribute,),)

    def fault(self, domain: Sequence[int]) -> str | None:
        """What is wrong with it, beyond its table itself; None if nothing is."""
        inside = 0 <= self.first < self.end <= domain[self.attribute]
        return None if inside else "a share of codes that the domain does not have, or of none"

    def of(self, counts: Counts, _rows: int) -> int:
        """The number of rows: from 0 to all of them."""
        return int(counts[self.attribute,][self.first : self.end].sum())

    def content(self) -> dict[str, Any]:
        return {"kind": "share", "attribute": self.attribute, "first": self.first, "end": self.end}


Score = MarginalScore | TreeScore | ShareScore


def scores_from(content: Any) -> tuple[Score, ...]:
    """The scores behind a list of their contents; ValueError, KeyError or TypeError for anything else."""
    if not isinstance(content, list) or len(content) > MOST_SCORES:
        raise ValueError("not a list of scores")
    found = tuple(_score_from(one) for one in content)
    if [score.content() for score in found] != content:
        raise ValueError("not scores of this version")
    return found


def check_scores(scores: Sequence[Score], attributes: DerivedAttributes, rows: int) -> None:
    """Refuse scores that cannot be made of ``rows`` rows, before anything is charged.

    Raises:
        PrivityError: step-refused or domain-too-large.
    """
    asked = list(dict.fromkeys(table for score in scores for table in score.asked()))
    check_tables(asked, attributes)
    faults = [score.fault(attributes.domain) for score in scores]
    if len(scores) > MOST_SCORES:
        faults.append(f"more than {MOST_SCORES} scores are asked for at once")
    if rows >= LARGEST_SYNTHETIC:
        faults.append(f"scores are for fewer than {LARGEST_SYNTHETIC} rows")
    for fault in faults:
        if fault is not None:
            raise PrivityError(Catalogue.STEP_REFUSED, step="scores", reason=fault)


def _score_from(content: dict[str, Any]) -> Score:
    if content["kind"] == "tree":
        return TreeScore(whole(content["attribute"]), _tree_from(content["tree"], DEEPEST_TREE))
    if content["kind"] == "share":
        return ShareScore(*(whole(content[key]) for key in ("attribute", "first", "end")))
    tables = tuple(tuple(whole(a) for a in table) for table in content["tables"])
    return MarginalScore(tables, tuple(map(whole, content["counts"])), whole(content["rows"]))


def _tree_from(content: Any, depth: int) -> Tree:
    if not isinstance(content, list):
        return whole(content)
    if not depth:
        raise ValueError("the tree is too deep")
    attribute, largest, low, high = content
    return Split(whole(attribute), whole(largest), _tree_from(low, depth - 1), _tree_from(high, depth - 1))


def _content(tree: Tree) -> Any:
    if isinstance(tree, int):
        return tree
    return [tree.attribute, tree.largest, _content(tree.low), _content(tree.high)]
