"""Rows of a model that are there: its distribution given that no attribute is absent.

What was learnt from a table with absent rows (``privity.common.data.schema.Schema.absent_rows``) gives them their share
of the joint distribution. A synthetic table holds none. All this is post-processing of a released model, and free.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from privity.common.data.apportionment import quotas
from privity.common.data.coded_table import CodedTable, joined
from privity.common.synthesis.models import Model
from privity.common.synthesis.models.mixture_model import Mixture

LEAST_PART = 16
"""Of the rows that could be accepted if attributes were absent together only, the part (one in so many) that a model
must accept: one that accepts fewer does not know that they are."""

MOST_ROUNDS = 256
"""Samples of as many rows as are wanted."""

LEAST_SAMPLE = 1024
"""Rows of a sample: also where few are wanted, there must be codes to choose from."""

LEAST_COUNTED = 1 << 16
"""Rows of a sample that tells how many are absent: within about a half of a hundredth."""

MOST_COUNTED = 1 << 19
"""Rows of such a sample, however many rows the parties state: within about a tenth of a hundredth."""

SPARE = 1.1
"""Of rows drawn over those that are expected to be enough."""


def sample_present(model: Model, rows: int, generator: np.random.Generator, *, independent: bool = False) -> CodedTable:
    """``rows`` rows of the model's joint distribution given that no attribute is absent.

    By rejection: a row in which an attribute is absent that depends on others is drawn again, in a bounded number of
    rounds. An attribute that stands alone in the model (``Model.alone``) and is absent gets a code drawn from those
    that were present in all rounds: what it is, given that it is present, depends on nothing else. A row that is
    accepted so has exactly that conditional distribution, whatever the network, tree or copula. Where it was learnt
    from rows that are absent as a whole, attributes are absent together, and most rows that should be accepted are.

    A model of several trees beside each other, each absent by itself, or of heavy noise accepts hardly any row. What is
    lacking after all rounds is made of the rejected rows with the fewest absent attributes: each absent cell is drawn
    anew in the same way. That is approximate: such a cell has its attribute's distribution among present codes, and no
    dependence on the rest of the row.

    Each part of a mixture gives as many rows as it takes to be there, and they are shuffled.
    """
    if not model.schema.absent_rows:
        return model.sample(rows, generator, independent=independent)
    if isinstance(model, Mixture):
        return _of_parts(model, rows, generator, independent=independent)
    table = model.sample(max(rows, LEAST_SAMPLE), generator, independent=independent)
    drawn = most = table.rows
    codes = _present_codes(table)
    whole, partial = _parted(table, model)
    for _ in range(_rounds(table, whole.rows) - 1):
        found = min(whole.rows, *(int(counts.sum()) for counts in codes))
        if found >= rows:
            break
        enough = math.ceil((rows - found) * drawn / max(found, 1) * SPARE)
        table = model.sample(min(max(enough, LEAST_SAMPLE), most), generator, independent=independent)
        drawn += table.rows
        codes = [a + b for a, b in zip(codes, _present_codes(table), strict=True)]
        accepted, rejected = _parted(table, model)
        whole = joined([whole, accepted]).take(np.arange(min(rows, whole.rows + accepted.rows)))
        partial = _fewest_absent(joined([partial, rejected]), rows)
    chosen = joined([whole, _fewest_absent(partial, max(rows - whole.rows, 0))])
    # What was filled in must not stand together at the end.
    return _filled(chosen, codes, generator).take(generator.permutation(rows) if whole.rows < rows else np.arange(rows))


def present_count(model: Model, rows: int, generator: np.random.Generator) -> int:
    """How many of ``rows`` rows of a table the model takes to be there; all, if its schema has no absent rows.

    The rows less their part of absent cells, the median over attributes in a sample; at least 1.
    """
    if not model.schema.absent_rows:
        return rows
    table = model.sample(min(max(rows, LEAST_COUNTED), MOST_COUNTED), generator)
    absent = float(np.median(table.absent().mean(axis=1)))
    return max(1, round(rows * (1 - absent)))


def _of_parts(mixture: Mixture, rows: int, generator: np.random.Generator, *, independent: bool) -> CodedTable:
    present = [present_count(part.model, part.rows, generator) for part in mixture.parts]
    table = None
    shares = [count / sum(present) for count in present]
    counts = generator.multinomial(rows, shares).tolist() if independent else quotas(rows, present)
    for part, count in zip(mixture.parts, counts, strict=True):
        sampled = sample_present(part.model, count, generator, independent=independent)
        table = sampled if table is None else joined([table, sampled])
    assert table is not None
    return table.take(generator.permutation(rows))


def _rounds(table: CodedTable, accepted: int) -> int:
    """How many rounds to make, after a first one that gave this table, of which so many rows were accepted."""
    best = table.rows - int(table.absent().sum(axis=1).max())
    if not best:
        return 1
    # Enough to find all rows; or only so many that the rejected ones among them are not those absent as a whole.
    known = accepted * LEAST_PART >= best
    return min(MOST_ROUNDS, math.ceil((LEAST_PART if known else SPARE) * table.rows / best))


def _parted(table: CodedTable, model: Model) -> tuple[CodedTable, CodedTable]:
    """The rows in which no attribute is absent that depends on others, and the rest."""
    joined = sorted(set(range(len(table.columns))) - model.alone)
    absent = table.absent()[joined].any(axis=0)
    return table.take(~absent), table.take(absent)


def _present_codes(table: CodedTable) -> list[npt.NDArray[np.int64]]:
    """For each attribute how often each code is there, without the one for absent rows."""
    return [
        np.bincount(column, minlength=attribute.size)[: attribute.present]
        for attribute, column in zip(table.schema.attributes, table.columns, strict=True)
    ]


def _fewest_absent(table: CodedTable, count: int) -> CodedTable:
    """At most ``count`` rows with the fewest absent cells, the earlier ones of those with as many."""
    return table.take(np.argsort(table.absent().sum(axis=0), kind="stable")[:count])


def _filled(table: CodedTable, counts: list[npt.NDArray[np.int64]], generator: np.random.Generator) -> CodedTable:
    """The table, each absent cell drawn in proportion to its attribute's counts; any code, if there are none."""
    holes, columns = table.absent(), []
    for absent, column, weights in zip(holes, table.columns, counts, strict=True):
        weights = weights if weights.any() else np.ones_like(weights)
        codes = np.array(column)
        codes[absent] = generator.choice(len(weights), int(absent.sum()), p=weights / weights.sum())
        columns.append(codes)
    return CodedTable(table.schema, tuple(columns))
