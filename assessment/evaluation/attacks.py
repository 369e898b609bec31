"""Attacks on people through a synthetic table: singling out, linkability and inference, from anonymeter.

Giomi, Boenisch, Wehmeyer, Tasnadi, "A unified framework for quantifying privacy risk in synthetic data" (PoPETs
2023). Each attack is made on rows that the synthetic table was made from and on control rows that had no
part in it: what succeeds on both is knowledge about the population, and only what succeeds more often on
the first is a leak. Numbers are compared by their bins.

The library draws from the global generators of numpy and polars; they are seeded here, and numpy's is put back.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from privity.common.data.attribute import Attribute
from privity.common.data.coded_table import CodedTable, Column

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE = 0.95
SINGLED_BY = 4  # attributes of a predicate, as in the paper's multivariate attack
TRIES = 20  # predicates tried for each one that is wanted
NEIGHBOURS = 10  # nearest rows within which two halves of a row must meet
MOST_SECRETS = 16


@dataclass(frozen=True)
class Attack:
    """One attack with its confidence interval.

    Attributes:
        secret: the attribute that inference is about; None for the other attacks.
        attacks: how many were made on the real rows; 0 if none could be, and then all else is None.
        success, control: rates against real rows and against control rows.
        guess: the rate of guesses at random; None for singling out, where the library's cannot be repeated.
        risk: (success - control) / (1 - control), within 0 and 1; None if control rows never resist.
        low, high: its interval of 95 %.
    """

    kind: str
    secret: str | None
    attacks: int
    success: float | None = None
    control: float | None = None
    guess: float | None = None
    risk: float | None = None
    low: float | None = None
    high: float | None = None


def run_attacks(
    real: CodedTable, synthetic: CodedTable, control: CodedTable, attacks: int, seed: int = 0
) -> list[Attack]:
    """All attacks, each ``attacks`` times; every table needs so many rows and two attributes or more."""
    frames = [_frame(table) for table in (real, synthetic, control)]
    names = dict(zip(frames[0].columns, real.schema.names, strict=True))
    with _seeded(seed):
        found = [_singling_out(mode, frames, attacks, seed) for mode in ("univariate", "multivariate")]
        found.append(_linkability(frames, attacks))
        found += [_inference(secret, names[secret], frames, attacks) for secret in secrets(list(names))]
    return found


def secrets(names: list[str]) -> list[str]:
    """The attributes that inference is tried on: all, or 16 of them evenly spread over the schema."""
    if len(names) <= MOST_SECRETS:
        return names
    return [names[place * len(names) // MOST_SECRETS] for place in range(MOST_SECRETS)]


def _frame(table: CodedTable) -> pd.DataFrame:
    """Columns under names that no query language stumbles over."""
    import pandas as pd

    columns = zip(table.schema.attributes, table.columns, strict=True)
    return pd.DataFrame({f"x{place}": values_of(one, codes) for place, (one, codes) in enumerate(columns)})


def numeric(attribute: Attribute) -> bool:
    """Whether values are compared as numbers: bins, and categories that are numbers, unless any may be no value."""
    return attribute.numeric and attribute.apart == 0


def values_of(attribute: Attribute, codes: Column) -> Any:
    """The column as the libraries take it, shape (rows,): floats for numbers, else one short text for each code."""
    import pandas as pd

    if not numeric(attribute):
        return pd.Series(np.array([f"c{code}" for code in range(attribute.size)], dtype=object)[codes])
    if attribute.edges:
        return pd.Series(codes.astype(np.float64))
    return pd.Series(np.array([float(value) for value in attribute.categories])[codes])


def _singling_out(mode: str, frames: list[pd.DataFrame], wanted: int, seed: int) -> Attack:
    """Predicates that one synthetic row fulfils, on as many distinct real rows as there are control rows.

    How often a predicate fits one row alone depends on the number of rows. The library can correct for that by a model
    fitted to the control rows, which overstates the risk where they are few.
    """
    import polars
    from anonymeter.evaluators import SinglingOutEvaluator
    from anonymeter.evaluators.singling_out_evaluator import (
        multivariate_singling_out_queries,
        univariate_singling_out_queries,
    )

    real, synthetic, control = frames
    columns = min(SINGLED_BY, synthetic.shape[1])
    tries = TRIES * wanted
    # As many predicates as there are: the library would count those that it did not find as failures.
    rows, generator = polars.DataFrame(synthetic).unique(maintain_order=True), np.random.default_rng(seed)
    if mode == "univariate":
        made = len(univariate_singling_out_queries(rows, len(synthetic) * synthetic.shape[1], generator))
    else:
        made = len(multivariate_singling_out_queries(rows, wanted, columns, tries, generator))
    kind = f"singling out, {mode}"
    if not made:
        return Attack(kind, None, 0)
    distinct = [frame.drop_duplicates() for frame in (real, control)]
    size = min(map(len, distinct))
    drawn, beside = (frame.iloc[np.random.default_rng(seed).permutation(len(frame))[:size]] for frame in distinct)
    evaluator = SinglingOutEvaluator(
        ori=drawn, syn=synthetic, control=beside, n_attacks=made, n_cols=columns, max_attempts=tries, seed=seed
    )
    results = evaluator.evaluate(mode=mode).results(CONFIDENCE)
    return _judged(kind, None, (made, results.n_success), (made, results.n_control), None)


def _linkability(frames: list[pd.DataFrame], attacks: int) -> Attack:
    from anonymeter.evaluators import LinkabilityEvaluator

    real, synthetic, control = frames
    names = list(real.columns)
    near = min(NEIGHBOURS, len(synthetic))
    halves = (names[::2], names[1::2])
    evaluator = LinkabilityEvaluator(
        ori=real, syn=synthetic, control=control, aux_cols=halves, n_attacks=attacks, n_neighbors=near
    )
    results = evaluator.evaluate().results(CONFIDENCE)
    # The library guesses with a generator that cannot be seeded; this is what its guesses come to.
    missed = math.comb(len(synthetic) - near, near) / math.comb(len(synthetic), near)
    return _judged("linkability", None, (attacks, results.n_success), (attacks, results.n_control), 1 - missed)


def _inference(secret: str, name: str, frames: list[pd.DataFrame], attacks: int) -> Attack:
    from anonymeter.evaluators import InferenceEvaluator

    # A guess is right if it is the very value, or bin: never near it.
    real, synthetic, control = (frame.astype({secret: str}) for frame in frames)
    known = [column for column in real.columns if column != secret]
    evaluator = InferenceEvaluator(
        ori=real, syn=synthetic, control=control, aux_cols=known, secret=secret, n_attacks=attacks
    )
    results = evaluator.evaluate().results(CONFIDENCE)
    # Guesses of the library are compared with other rows than they were made for; this is what guessing comes to.
    shares = (frame[secret].value_counts(normalize=True) for frame in (real, synthetic))
    guess = float(next(shares).mul(next(shares), fill_value=0).sum())
    return _judged("inference", name, (attacks, results.n_success), (attacks, results.n_control), guess)


def _judged(
    kind: str, secret: str | None, hits: tuple[int, float], beside: tuple[int, float], guess: float | None
) -> Attack:
    """What the library concludes from attacks on real and on control rows."""
    from anonymeter.stats.confidence import EvaluationResults

    (made, success), (tried, control) = hits, beside
    results = EvaluationResults((made, made, tried), int(success), 0, control, CONFIDENCE)
    plain = Attack(kind, secret, made, float(success / made), float(control / tried), guess)
    if control >= tried:
        return plain
    risk = results.risk()
    low, high = risk.ci
    return replace(plain, risk=float(risk.value), low=float(low), high=float(high))


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    import polars

    before = np.random.get_state()
    np.random.seed(seed)
    polars.set_random_seed(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        np.random.set_state(before)
