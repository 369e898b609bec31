"""Synthetic rows of a released model: post-processing, and free.

Rules are entered into the model as far as they can be (``rules_in_model``), conditions too (``sampling_conditions``,
``conditioning``), and rows are drawn from that. Where a rule is about numbers in bins, values are drawn again within
the same bins for a row that breaks it. Rows that no values mend are refused, and others are drawn in their place; if
there are rules that could not be entered, by weights that keep the marginals of what these are about
(``rule_projection``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privity.common.data.bin_values import Cells
from privity.common.data.coded_table import CodedTable, decode, joined
from privity.common.data.row_constraints import RowConstraint, decoded
from privity.common.data.schema import Schema
from privity.common.data.unread_columns import with_unread
from privity.common.errors import Catalogue, PrivityError
from privity.common.release.release_contents import MOST_RELEASE_CELLS
from privity.common.release.rule_projection import Projection, cells_of, project
from privity.common.release.rules_in_model import with_rules
from privity.common.release.sampling_conditions import Conditions
from privity.common.synthesis.models import Model
from privity.common.synthesis.models.conditioning import conditioned
from privity.common.synthesis.models.present_rows import present_count, sample_present

if TYPE_CHECKING:
    import pandas as pd

LEAST_SAMPLE = 1 << 14
"""Rows of a sample: also where few are wanted, the parts of a mixture must have their shares."""

MOST_SAMPLE = 1 << 18
"""Rows of a sample beyond the first, of which most are refused."""

PILOT = 1 << 17
"""Rows of the model from which the weights of rows that meet the rules are found."""

PILOT_OF_SHARES = 1 << 15
"""Rows of the model from which the shares follow that rules refuse, if nothing else does."""

REDRAWS = 128
"""Times that values are drawn anew within the bins of a row that breaks a rule."""

HOPELESS = 512
"""Rows with the same codes that were drawn again for each that this mended, from which on they are left alone."""

MOST_THINNED = 4.0
"""Rows that are drawn for one that is kept, so that it stands for as many; one that weighs more is kept repeatedly."""

SPARE = 1.05
"""Of rows drawn over those that are expected to be enough."""

ANY = Conditions()
"""No conditions."""

NO_CELLS: Mapping[str, Cells] = {}

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
        share: of the model's rows, that break it.
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
    """Synthetic rows as real values and as codes, and what each of the schema's rules did, in their order.

    Attributes:
        events: of histories; ``frame`` has the persons then, and ``table`` one step of each.
    """

    frame: pd.DataFrame
    table: CodedTable
    refused: tuple[Refused, ...] = ()
    events: pd.DataFrame | None = None

    def documents(self) -> dict[str, Any]:
        """What ``run.json`` says of the rules: nothing if there are none."""
        return {"constraints": [refused.document() for refused in self.refused]} if self.refused else {}


@dataclass(frozen=True)
class _Accepted:
    """Rows that were found; for each rule the share of the model's rows that break it."""

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
    where: Conditions = ANY,
    patience: Patience = OF_A_PERSON,
    tell: Tell | None = None,
    skipped: int = 0,
    *,
    independent: bool = False,
) -> pd.DataFrame:
    """Rows of the model given that the schema's rules and these conditions hold, as real values (``draw_rows``)."""
    return draw_rows(model, rows, seed, where, patience, tell, skipped, independent=independent).frame


def draw_rows(
    model: Model,
    rows: int,
    seed: int | None,
    where: Conditions = ANY,
    patience: Patience = OF_A_PERSON,
    tell: Tell | None = None,
    skipped: int = 0,
    *,
    independent: bool = False,
) -> Synthesis:
    """Rows of the model given that the schema's rules and these conditions hold, as real values and as codes.

    None of them is absent. ``seed`` decides the sampling only: the model is released, so sampling needs no secret
    randomness. None takes a fresh one.

    Args:
        skipped: how many numbers of keys other tables have, after which these begin.
        independent: whether rows are drawn one by one, so that counts vary as those of a sample do.

    Raises:
        PrivityError: too-rare: the model gives such rows hardly any mass.
    """
    rules = model.schema.row_constraints
    generator = np.random.default_rng(seed)
    if not rules and not where.words:
        table = sample_present(model, rows, generator, independent=independent)
        found = _Accepted(decode(table, generator), table, [])
    else:
        try:
            found = _accepted(model, rows, generator, rules, where, patience, tell, independent=independent)
        except _TooFew as few:
            raise _too_rare(few, rules, where) from None
    frame = with_unread(found.frame, model.schema.attributes, model.schema.unread, generator, skipped)
    return Synthesis(frame, found.table)


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
            found = _accepted(model, rows, np.random.default_rng(seed), kept, ANY, OF_A_RELEASE, None)
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
    schema = model.schema
    frame = with_unread(found.frame, schema.attributes, schema.unread, np.random.default_rng([seed, 2]))
    return Synthesis(frame, found.table, tuple(told))


def check_release_size(rows: int, schema: Schema, reason: str = "") -> None:
    """Refuse a release that is too large to be made; for callers who have spent nothing yet.

    Args:
        reason: why there are so many rows, if nobody chose their number.

    Raises:
        PrivityError: bad-option.
    """
    values, called = len(schema.attributes), "attributes"
    if (history := schema.history) is not None:
        values, called = values + history.most * len(history.events.attributes), "values a person"
    most = MOST_RELEASE_CELLS // values
    if rows > most:
        raise PrivityError(
            Catalogue.BAD_OPTION, option="rows",
            reason=f"{reason or f'{rows} rows'}, and a release of {values} {called} has {most} at most",
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
    where: Conditions,
    patience: Patience,
    tell: Tell | None,
    *,
    independent: bool = False,
) -> _Accepted:
    """Rows that meet the conditions and the rules."""
    import pandas as pd

    shares, ruled, projection = _under_rules(model, rules, generator)
    drawn_from, entered = conditioned(ruled, where.weights)
    frames: list[pd.DataFrame] = []
    tables: list[CodedTable] = []
    found = drawn = fitting = met = 0
    broken = np.zeros(len(rules), dtype=np.int64)
    thinned: float | None = None
    count = max(rows, LEAST_SAMPLE)
    while True:
        sampled = sample_present(drawn_from, count, generator, independent=independent)
        table = where.thinned(sampled, entered, generator)
        values, refused = _values_and_refused(table, rules, generator, where.cells)
        drawn, fitting = drawn + count, fitting + table.rows
        broken += refused.sum(axis=1)
        places = np.flatnonzero(~refused.any(axis=0))
        if not where.left:
            met += len(places)
        if projection is not None and len(places):
            weights = projection.weights(table.take(places))
            if thinned is None:
                thinned = min(MOST_THINNED * float(weights.mean()), float(weights.max()))
            places = places[
                _kept(
                    weights / thinned,
                    [table.columns[a][places] for a in projection.attributes],
                    generator,
                    independent=independent,
                )
            ]
        if not where.left:
            places = places[: rows - found]
        chosen = table.take(places)
        frame = decode(chosen, generator, where.cells)
        for name in values:
            frame[name] = values[name].to_numpy()[places]
        if where.left:
            wanted = np.flatnonzero(where.met(chosen, frame))
            met += len(wanted)
            chosen, frame = chosen.take(wanted[: rows - found]), frame.iloc[wanted[: rows - found]]
        frames.append(frame)
        tables.append(chosen)
        found += chosen.rows
        if tell is not None:
            tell(found, drawn)
        if found == rows:
            whole = pd.concat([part for part in frames if len(part)] or frames, ignore_index=True)
            return _Accepted(whole, joined(tables), shares)
        if drawn >= patience.drawn and drawn >= met * patience.times:
            raise _TooFew(met, drawn, (broken / max(fitting, 1)).tolist())
        enough = math.ceil((rows - found) * drawn / max(found, 1) * SPARE)
        count = min(max(enough, LEAST_SAMPLE), MOST_SAMPLE)


def _under_rules(
    model: Model, rules: Sequence[RowConstraint], generator: np.random.Generator
) -> tuple[list[float], Model, Projection | None]:
    """The share of the model's rows that break each rule, what rows are drawn from, and how they are weighed, if so."""
    if not rules:
        return [], model, None
    ruled, entered = with_rules(model, rules)
    left = [rule for rule in rules if rule not in entered]
    pilot = sample_present(model, PILOT if left else PILOT_OF_SHARES, generator)
    refused = _values_and_refused(pilot, rules, generator)[1]
    shares = refused.mean(axis=1).tolist()
    if not left:
        return shares, ruled, None
    if entered:
        pilot = sample_present(ruled, PILOT, generator)
        refused = _values_and_refused(pilot, rules, generator)[1]
    names = dict.fromkeys(name for rule in left for name in rule.attributes)
    met = ~np.logical_or.reduce(refused)
    return shares, ruled, project(pilot, met, [model.schema.index(name) for name in names])


def _kept(
    weights: npt.NDArray[np.float64],
    columns: Sequence[npt.NDArray[np.unsignedinteger]],
    generator: np.random.Generator,
    *,
    independent: bool,
) -> npt.NDArray[np.intp]:
    """Rows in a random order, each as often as its weight on average; alike rows together as often as theirs.

    Args:
        independent: whether each row is kept by itself, and not alike rows together.
    """
    if independent:
        times = np.floor(weights + generator.random(len(weights))).astype(np.int64)
        return generator.permutation(np.repeat(np.arange(len(weights)), times))
    order = np.lexsort(columns)
    upto = np.floor(np.cumsum(weights[order]) + generator.random()).astype(np.int64)
    return generator.permutation(np.repeat(order, np.diff(upto, prepend=0)))


def _values_and_refused(
    table: CodedTable,
    rules: Sequence[RowConstraint],
    generator: np.random.Generator,
    within: Mapping[str, Cells] = NO_CELLS,
) -> tuple[pd.DataFrame, npt.NDArray[np.bool_]]:
    """Values of the attributes that rules are about, and which rows each rule refuses, shape (rules, rows).

    A row that breaks a rule gets other values of its bins, so that bins of which only some values meet the rule keep
    all of their rows.
    """
    import pandas as pd

    schema = table.schema
    named = {name for rule in rules for name in rule.attributes}
    if not rules:
        return pd.DataFrame(index=range(table.rows)), np.zeros((0, table.rows), dtype=np.bool_)
    table = table.over(named)
    frame = decode(table, generator, within)
    refused = _refused(table, frame, rules)
    if not any(schema.attributes[schema.index(name)].edges for name in named):
        return frame, refused
    columns = {name: frame[name].to_numpy(copy=True) for name in frame}
    places = np.flatnonzero(refused.any(axis=0))
    cells = cells_of(table.take(places), range(len(named)))
    tried, won = np.zeros((2, len(places)), dtype=np.int64)
    for _ in range(REDRAWS):
        if not len(places):
            break
        again = decode(part := table.take(places), generator, within)
        mended = ~_refused(part, again, rules).any(axis=0)
        for name in columns:
            columns[name][places[mended]] = again[name].to_numpy()[mended]
        refused[:, places[mended]] = False
        np.add.at(tried, cells, 1)
        np.add.at(won, cells[mended], 1)
        left = ~mended & ((won * HOPELESS >= tried) | (tried < HOPELESS))[cells]
        places, cells = places[left], cells[left]
    return pd.DataFrame(columns), refused


def _refused(table: CodedTable, frame: pd.DataFrame, rules: Sequence[RowConstraint]) -> npt.NDArray[np.bool_]:
    """Which rows each rule refuses, shape (rules, rows)."""
    schema = table.schema
    attributes = dict(zip(schema.names, schema.attributes, strict=True))
    rows = decoded(rules, attributes, dict(zip(schema.names, table.columns, strict=True)), frame)
    return np.array([rule.refused(rows) for rule in rules])


def _too_rare(few: _TooFew, rules: Sequence[RowConstraint], where: Conditions) -> PrivityError:
    broken = zip(rules, few.shares, strict=True)
    conditions = [*where.words, *(f"the rule {rule.rule} (broken by {share:.2%})" for rule, share in broken)]
    return PrivityError(Catalogue.TOO_RARE, found=few.found, total=few.drawn, asked="; ".join(conditions))
