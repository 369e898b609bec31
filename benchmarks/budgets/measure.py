"""Runs with one constant changed, cached by what they come to: many changes come to the same run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

from benchmarks.budgets.constants import AIM, REFERENCE, SHIPPED, Change, Constants, changes, in_place
from benchmarks.budgets.session import Ground, mean_distance, session_over
from benchmarks.cache import Cache
from privity.common.synthesis.algorithms import ALGORITHMS
from privity.common.synthesis.learning.budget_split import one_way_share, tables_for
from privity.common.synthesis.models.junction_tree_model import JunctionTreeModel
from privity.party.local_session import complete

EPSILONS = ("0.1", "0.4", "1.6")
DELTAS = ("0", "1e-9")

MOST_WORK = 400
"""Rounds of AIM times attributes: a block of more is left out, as a run of it takes more than some five seconds."""

FIRST, FIRST_TOGETHER = 1, 101
"""Seeds: of tables on which every change is tried, and from which on only all that is shipped is."""


@dataclass(frozen=True)
class Block:
    """One table under one budget with one seed: every change is tried on it."""

    ground: str
    algorithm: str
    epsilon: str
    delta: str
    seed: int


@dataclass(frozen=True)
class Tried:
    """What a change made of a block: the distance over that at the reference."""

    block: Block
    change: Change
    ratio: float


def blocks(names: Sequence[str], algorithms: Sequence[str]) -> Iterator[Block]:
    """All blocks, in an order in which the first ones have each table and each budget equally often."""
    budgets = [(epsilon, delta) for delta in DELTAS for epsilon in EPSILONS]
    for turn in range(len(budgets)):
        for place, name in enumerate(names):
            epsilon, delta = budgets[(place + turn * 5) % len(budgets)]
            for algorithm in algorithms:
                yield Block(name, algorithm, epsilon, delta, FIRST)


def together(names: Sequence[str], algorithms: Sequence[str], seeds: int) -> Iterator[Block]:
    """Blocks on which only what is shipped now is tried, with seeds of their own."""
    for seed in range(FIRST_TOGETHER, FIRST_TOGETHER + seeds):
        for name in names:
            for block in blocks([name], algorithms):
                yield replace(block, seed=seed)


def key_of(block: Block, ground: Ground, constants: Constants) -> dict[str, Any]:
    """What decides a run's result, besides the code."""
    epsilon, delta = Fraction(block.epsilon), Fraction(block.delta)
    session = session_over(ground, epsilon, delta, block.seed)
    domain = len(ground.table.schema.domain)
    with in_place(constants) as settings:
        tables, one_way = tables_for(session, epsilon), one_way_share(session, epsilon)
    key = {**vars(block), **settings, "tables": tables, "one_way": str(one_way), "handicap": constants.handicap}
    if block.algorithm == AIM:
        return {**key, "prior": constants.prior, "ridge": constants.ridge}
    return {**key, "tables": min(tables, domain - 1)}


def too_long(block: Block, ground: Ground) -> bool:
    """Whether a run of the block takes so long that others are tried in its place."""
    if block.algorithm != AIM:
        return False
    rounds: int = key_of(block, ground, REFERENCE[block.delta == "0"])["tables"]
    return rounds * len(ground.table.schema.domain) > MOST_WORK


def run(block: Block, ground: Ground, constants: Constants) -> dict[str, float]:
    epsilon, delta = Fraction(block.epsilon), Fraction(block.delta)
    session = session_over(ground, epsilon, delta, block.seed)
    started = time.process_time()
    with in_place(constants) as settings:
        model = complete(ALGORITHMS[block.algorithm].learn(session, epsilon, settings))
    distance = mean_distance(ground, cast("JunctionTreeModel", model))
    return {"distance": distance, "seconds": round(time.process_time() - started, 2)}


def tried_on(block: Block) -> list[Change]:
    return [SHIPPED] if block.seed >= FIRST_TOGETHER else changes(block.algorithm, pure=block.delta == "0")


def try_block(block: Block, ground: Ground, cache: Cache, *, only_cached: bool = False) -> tuple[list[Tried], float]:
    """Every change on this block, as far as it is known, and the seconds of the processor that were spent now."""
    spent, known = 0.0, {}
    reference = REFERENCE[block.delta == "0"]
    everything: Mapping[Change | None, Constants] = {
        None: reference,
        **{change: change.of(reference) for change in tried_on(block)},
    }
    for change, constants in everything.items():
        key = key_of(block, ground, constants)
        values = cache.get(key)
        if values is None and not only_cached:
            values = run(block, ground, constants)
            spent += values["seconds"]
            cache.put(key, values)
        if values is not None:
            known[change] = values["distance"]
    if None not in known:
        return [], spent
    return [Tried(block, change, value / known[None]) for change, value in known.items() if change is not None], spent


def try_all(
    grounds: Mapping[str, Ground],
    wanted: Sequence[Block],
    cache: Cache,
    minutes: float,
    say: Callable[[str], None],
    *,
    only_cached: bool = False,
) -> list[Tried]:
    """Block after block, until so many minutes of the processor are spent; what is cached costs none."""
    found: list[Tried] = []
    spent = 0.0
    for place, block in enumerate(wanted, 1):
        if too_long(block, grounds[block.ground]):
            continue
        stop = only_cached or spent > 60 * minutes
        tried, seconds = try_block(block, grounds[block.ground], cache, only_cached=stop)
        found += tried
        spent += seconds
        if seconds:
            say(f"{place} / {len(wanted)}, {spent:.0f} s of {60 * minutes:.0f} s: {block}, {seconds:.0f} s")
    return found
