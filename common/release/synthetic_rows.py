"""Synthetic rows of a released model: post-processing, and free.

A schema's row constraints, and conditions on values, are met by rejection: rows are drawn from the model and decoded,
those that break a rule are refused, and others are drawn. What is left has exactly the model's distribution given that
the rules hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from privity.common.data.coded_table import CodedTable, decode, joined
from privity.common.data.constraints.row_constraints import RowConstraint, decoded
from privity.common.data.schema import Schema
from privity.common.data.unread_columns import with_unread
from privity.common.errors import Catalogue, PrivityError
from privity.common.release.release_contents import MOST_RELEASE_CELLS
from privity.common.synthesis.models import Model
from privity.common.synthesis.models.conditioning import conditioned
from privity.common.synthesis.models.present_rows import present_count, sample_present

LEAST_SAMPLE = 1 << 14
"""Rows of a sample: also where few are wanted, the parts of a mixture must have their shares."""

MOST_SAMPLE = 1 << 18
"""Rows of a sample beyond the first, of which most are refused."""

SPARE = 1.05
"""Of rows drawn over those that are expected to be enough."""

SHARE_DIGITS = 6
"""Of a published share."""

Tell = Callable[[int, int], None]
"""Told of rows found and drawn so far."""


@dataclass(frozen=True)
class Patience:
    """How long rows are looked for that are rare.

    Attributes:
        drawn: rows that are drawn in any case.
        times: rows that may then be drawn for each one that is found.
    """

    drawn: int
    times: int


OF_A_RELEASE = Patience(1 << 20, 1 << 6)
OF_A_PERSON = Patience(1 << 22, 1 << 16)
"""For somebody who waits for rows of their own choice."""


@dataclass(frozen=True)
class Refused:
    """What a rule did.

    Attributes:
        share: of the rows drawn, that broke it.
        enforced: whether the rows that were kept meet it.
    """

    rule: str
    share: float
    enforced: bool = True

    def document(self) -> dict[str, Any]:
        """An entry of ``constraints`` in ``run.json``."""
        entry = {"rule": self.rule, "rejected": round(self.share, SHARE_DIGITS)}
        return entry if self.enforced else {**entry, "enforced": False}


@dataclass(frozen=True)
class Synthesis:
    """Synthetic rows as real values and as codes, and what each of the schema's rules did, in their order."""

    frame: pd.DataFrame
    table: CodedTable
    refused: tuple[Refused, ...] = ()

    def documents(self) -> dict[str, Any]:
        """What ``run.json`` says of the rules: nothing if there are none."""
        return {"constraints": [refused.document() for refused in self.refused]} if self.refused else {}


@dataclass(frozen=True)
class _Accepted:
    """Rows that were found; for each rule the share of the rows with the codes that were asked for which broke it."""

    frame: pd.DataFrame
    table: CodedTable
    shares: list[float]


class _TooFew(Exception):  # noqa: N818 - no error: what to do about it is the caller's
    def __init__(self, found: int, drawn: int, shares: list[float]) -> None:
        self.found, self.drawn, self.shares = found, drawn, shares
        super().__init__()


def synthesise(
    model: Model,
    rows: int,
    seed: int | None,
    where: Mapping[int, int] | None = None,
    patience: Patience = OF_A_PERSON,
    tell: Tell | None = None,
) -> pd.DataFrame:
    """Rows of the model given that the schema's rules hold and these attributes have these codes, as real values.

    None of them is absent. ``seed`` decides the sampling only: the model is released, so sampling needs no secret
    randomness. None takes a fresh one.

    Raises:
        PrivityError: too-rare: the model gives such rows hardly any mass.
    """
    rules, codes = model.schema.row_constraints, where or {}
    generator = np.random.default_rng(seed)
    if not rules and not codes:
        frame = decode(sample_present(model, rows, generator), generator)
        return with_unread(frame, model.schema.unread, generator)
    try:
        found = _accepted(conditioned(model, codes), rows, generator, rules, codes, patience, tell)
        return with_unread(found.frame, model.schema.unread, generator)
    except _TooFew as few:
        raise _too_rare(model, few, rules, codes) from None


def synthesise_release(model: Model, rows: int, seed: int) -> Synthesis:
    """The rows of a release, which never fails: all epsilon is spent by then.

    If the model gives hardly any mass to rows that meet all rules, the rule that refused the most rows is not
    enforced, and so on, until rows enough are found that meet the others. ``Synthesis.refused`` tells which.
    """
    rules = model.schema.row_constraints
    shares: list[float] | None = None
    kept = list(rules)
    while kept:
        try:
            found = _accepted(model, rows, np.random.default_rng(seed), kept, {}, OF_A_RELEASE, None)
            shares = shares or found.shares
            break
        except _TooFew as few:
            # The shares of all rules, of rows that were drawn before any of them was given up.
            shares = shares or few.shares
            kept.pop(int(np.argmax(few.shares)))
    else:
        # No rules, or none that is kept.
        generator = np.random.default_rng(seed)
        table = sample_present(model, rows, generator)
        found = _Accepted(decode(table, generator), table, [])
    told = (Refused(rule.rule, share, rule in kept) for rule, share in zip(rules, shares or [], strict=True))
    frame = with_unread(found.frame, model.schema.unread, np.random.default_rng([seed, 2]))
    return Synthesis(frame, found.table, tuple(told))


def check_release_size(rows: int, schema: Schema, reason: str = "") -> None:
    """Refuse a release that is too large to be made; for callers who have spent nothing yet.

    Args:
        reason: why there are so many rows, if nobody chose their number.

    Raises:
        PrivityError: bad-option.
    """
    attributes = len(schema.attributes)
    most = MOST_RELEASE_CELLS // attributes
    if rows > most:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="rows",
            reason=f"{reason or f'{rows} rows'}, and a release of {attributes} attributes has {most} at most",
            hint=f"Give --rows, with {most} or fewer.",
        )  # fmt: skip


def rows_to_publish(model: Model, rows: int, seed: int) -> int:
    """How many synthetic rows stand for a table of so many: as many, less those that the model takes to be absent.

    Post-processing of the model. The seed is that of ``synthesise``; what is drawn from it is not.
    """
    return present_count(model, rows, np.random.default_rng([seed, 1]))


def _accepted(
    model: Model,
    rows: int,
    generator: np.random.Generator,
    rules: Sequence[RowConstraint],
    codes: Mapping[int, int],
    patience: Patience,
    tell: Tell | None,
) -> _Accepted:
    """Rows that have the codes and meet the rules."""
    frames: list[pd.DataFrame] = []
    tables: list[CodedTable] = []
    found = drawn = fitting = 0
    broken = np.zeros(len(rules), dtype=np.int64)
    count = max(rows, LEAST_SAMPLE)
    while True:
        table = _with_codes(sample_present(model, count, generator), codes)
        frame = decode(table, generator)
        refused = _refused(table, frame, rules)
        drawn, fitting = drawn + count, fitting + table.rows
        broken += refused.sum(axis=1)
        places = np.flatnonzero(~refused.any(axis=0))[: rows - found]
        frames.append(frame.take(places))
        tables.append(table.take(places))
        found += len(places)
        if tell is not None:
            tell(found, drawn)
        if found == rows:
            whole = pd.concat([part for part in frames if len(part)] or frames, ignore_index=True)
            return _Accepted(whole, joined(tables), (broken / max(fitting, 1)).tolist())
        if drawn >= patience.drawn and drawn >= found * patience.times:
            raise _TooFew(found, drawn, (broken / max(fitting, 1)).tolist())
        enough = math.ceil((rows - found) * drawn / max(found, 1) * SPARE)
        count = min(max(enough, LEAST_SAMPLE), MOST_SAMPLE)


def _with_codes(table: CodedTable, codes: Mapping[int, int]) -> CodedTable:
    if not codes:
        return table
    return table.take(np.logical_and.reduce([table.columns[place] == code for place, code in codes.items()]))


def _refused(table: CodedTable, frame: pd.DataFrame, rules: Sequence[RowConstraint]) -> npt.NDArray[np.bool_]:
    """Which rows each rule refuses, shape (rules, rows)."""
    if not rules:
        return np.zeros((0, table.rows), dtype=np.bool_)
    schema = table.schema
    attributes = dict(zip(schema.names, schema.attributes, strict=True))
    rows = decoded(rules, attributes, dict(zip(schema.names, table.columns, strict=True)), frame)
    return np.array([rule.refused(rows) for rule in rules])


def _too_rare(model: Model, few: _TooFew, rules: Sequence[RowConstraint], codes: Mapping[int, int]) -> PrivityError:
    schema = model.schema
    asked = [f"{schema.names[place]} = {schema.attributes[place].labels[code]}" for place, code in codes.items()]
    broken = zip(rules, few.shares, strict=True)
    conditions = [*asked, *(f"the rule {rule.rule} (broken by {share:.2%})" for rule, share in broken)]
    return PrivityError(Catalogue.TOO_RARE, found=few.found, total=few.drawn, asked="; ".join(conditions))
