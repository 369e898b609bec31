"""How many attributes a run would model together, and how many alone, before anything is spent.

By public numbers alone: domains, rows, parties, epsilon and delta. The run is rehearsed on flat tables, and what counts
is what its model says of itself (``alone``), as after a real run. Nobody knows beforehand which attributes it selects.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from privity.common.data.schema import Schema
from privity.common.privacy.budget import readable
from privity.common.privacy.run_budget import Share
from privity.common.protocol.session import Session, complete
from privity.common.runs.planned_run import planned_session
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.inference.pooled_estimates import noise_distance
from privity.common.synthesis.learning.budget_split import tables_for
from privity.common.synthesis.learning.category_discovery import after_categories
from privity.common.synthesis.learning.domain_discovery import LIKELY_BINS, SHARE, stand_in, undiscovered
from privity.common.text.first_few import first_few

TREE = "mst"
"""Measures a spanning tree of all attributes where its pair tables are worth measuring."""

CLEAR = 2
"""Pair tables worth measuring over those of a tree, from which on rehearsals are not worth their time."""

LARGEST_ADVISED = 10
"""Epsilon: a larger one promises little."""

MOSTLY_NOISE = 0.5
"""Total variation distance by which noise moves a pair table of which hardly anything can be seen."""


@dataclass(frozen=True)
class Together:
    """What would be modelled together.

    Attributes:
        attributes, alone: how many there are, and about how many would be modelled alone.
        out_of_reach: names of those of which every pair table would be mostly noise.
        enough: whether the pair tables of a tree of all attributes are worth measuring, so that ``mst`` leaves none.
        epsilon: the least of two digits with which they would be; None if none up to ``LARGEST_ADVISED`` is enough.
        fitting: about of how many attributes of such domains they are, at the epsilon that was asked for.
        values: most bins or categories of each attribute with which they would be; None if two are too many.
    """

    attributes: int
    alone: int
    out_of_reach: tuple[str, ...]
    enough: bool
    epsilon: str | None
    fitting: int
    values: int | None

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "out_of_reach": list(self.out_of_reach)}


def in_words(told: Mapping[str, Any] | None, rows: int, epsilon: Fraction, delta: Fraction) -> list[str]:
    """Sentences for people on the document of a ``Together``; none without one.

    Args:
        rows: public number of all parties together.
        epsilon, delta: that the run was asked for with.
    """
    if told is None:
        return []
    attributes, alone = told["attributes"], told["alone"]
    budget = f"epsilon {readable(epsilon)}" + (f", delta {readable(delta)}" if delta else "") + f" and {rows:,} rows"
    if alone == attributes:
        said = [f"All {attributes} attributes will be modelled alone at {budget}: noise hides every pair table."]
    else:
        together = f"About {attributes - alone} of {attributes} attributes can be modelled together at {budget}"
        which = "The run selects which, by how strongly they depend on each other."
        said = [f"{together}; about {alone} will be modelled alone. {which}"]
    if names := told["out_of_reach"]:
        said.append(f"Noise would be most of every pair table with: {first_few(names)}.")
    if told["enough"]:
        return [*said, f"The algorithm {TREE} would model all of them together."]
    ways = [f"at an epsilon of {told['epsilon']}"] if told["epsilon"] else []
    if told["values"]:
        ways.append(f"with at most {told['values']} bins or categories for each")
    ways.append(f'if there were no more than {told["fitting"]} of them ("leaveOut" in the schema leaves others out)')
    return [*said, f"The algorithm {TREE} would model all of them together {', or '.join(ways)}."]


def foreseen(
    schema: Schema,
    party_rows: Sequence[int],
    tolerate: int,
    algorithm: str,
    settings: Mapping[str, Any],
    epsilon: Fraction,
    delta: Fraction,
    evaluation: Fraction = Fraction(0),
) -> Together | None:
    """What a run would model together; None if public numbers leave no attribute alone, or nothing joins them.

    Args:
        settings: of the algorithm, unread.
        epsilon, delta: of the whole run.
        evaluation: epsilon that is taken of it for an evaluation.

    Raises:
        PrivityError, ProblemsFound: a domain that is too large, or bad settings.
    """
    kind, attributes = ALGORITHMS[algorithm], len(schema.attributes)
    if not kind.joins or kind.all_pairs or attributes < 2:
        return None
    closed = stand_in(schema, LIKELY_BINS, categories=LIKELY_BINS)
    part = 1 - SHARE if undiscovered(schema) else Fraction(1)

    def with_budget(epsilon: Fraction) -> tuple[Session, Share]:
        budget = kind.budget(settings, *after_categories(schema, sum(party_rows), (epsilon - evaluation, delta)))
        parties = {f"party {place}": rows for place, rows in enumerate(party_rows, start=1)}
        session = planned_session(closed, parties, tolerate, budget)
        return session, session.budget.whole * part

    session, share = with_budget(epsilon)
    measured, needed = tables_for(session, share), attributes - 1
    if measured >= needed * (1 if algorithm in (TREE, "aim") else CLEAR):
        return None
    alone = len(complete(_rehearsed(algorithm, settings, session, share)).alone)
    if not alone:
        return None
    out_of_reach = _out_of_reach(session, share, attributes - alone)
    enough = measured >= needed
    larger = (text for text in _larger(epsilon) if not enough and tables_for(*with_budget(Fraction(text))) >= needed)
    coarser = None if enough else _coarser(session, share, needed)
    return Together(attributes, alone, out_of_reach, enough, next(larger, None), min(attributes, measured + 1), coarser)


def told_of_one_owner(
    schema: Schema, rows: int, algorithm: str, settings: Mapping[str, Any], epsilon: Fraction, delta: Fraction
) -> list[str]:
    """The sentences on a run of one owner, by the arguments of ``foreseen``."""
    found = foreseen(schema, [rows], 0, algorithm, settings, epsilon, delta)
    return [] if found is None else in_words(found.to_dict(), rows, epsilon, delta)


def _rehearsed(algorithm: str, settings: Mapping[str, Any], session: Session, share: Share) -> Any:
    """The model of a rehearsal, to be awaited."""
    if algorithm == "aim":
        # It measures as many pair tables by the same rule, and fits a model again and again, which takes long.
        most = len(session.schema.domain) - 1
        tables = most if settings.get("target") else settings.get("tables")
        algorithm, settings = TREE, {"edges": min(int(tables), most)} if tables else {}
    return ALGORITHMS[algorithm].learn(session, share, settings)


def _larger(epsilon: Fraction) -> Iterator[str]:
    """Epsilons of two digits, each a little larger than the one before."""
    found, last = float(epsilon), ""
    while (found := found * 1.04) < LARGEST_ADVISED:
        if (text := f"{found:.2g}") != last and Fraction(text) > epsilon:
            yield (last := text)


def _coarser(session: Session, share: Share, needed: int) -> int | None:
    """Most values of each attribute with which so many pair tables are worth measuring."""
    domain = session.schema.domain

    def too_many(values: int) -> bool:
        return tables_for(session, share, [min(size, values) for size in domain]) < needed

    most = bisect_left(range(2, max(domain)), True, key=too_many) + 1
    return most if most > 1 else None


def _out_of_reach(session: Session, share: Share, together: int) -> tuple[str, ...]:
    """Names of the attributes that noise hides even beside the one of the fewest values.

    Half of the share goes to as few tables as so many attributes need.
    """
    deviation = math.sqrt(session.noise_variance(max(1, together // 2), share / 2))
    of_cell = noise_distance(deviation, session.rows)
    sizes = session.schema.domain
    first, second = sorted(sizes)[:2]
    least = [size * (second if size == first else first) * of_cell for size in sizes]
    return tuple(name for name, moved in zip(session.schema.names, least, strict=True) if moved > MOSTLY_NOISE)
