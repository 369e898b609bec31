"""Rounds and shares for tests: what a session would make of them."""

from collections.abc import Sequence
from fractions import Fraction

from privity.common.data.noisy_tables import Marginal
from privity.common.privacy.mechanisms import LaplaceNoise
from privity.common.privacy.neighbouring_relation import RELATION
from privity.common.privacy.privacy_loss import PureDP
from privity.common.privacy.run_budget import PureBudget, Share
from privity.common.protocol.evaluation_scores import Score
from privity.common.protocol.round import Replacement, Round, Scores, Tables
from privity.common.protocol.session import Session


def laplace(tables: Sequence[Marginal], epsilon: Fraction, weights: Sequence[int] = ()) -> LaplaceNoise:
    """The noise of these tables when all of them cost this epsilon."""
    return LaplaceNoise.calibrated(Tables(tuple(tables), tuple(weights)), PureDP(epsilon, RELATION))


def laplace_round(
    run: str,
    phase: str,
    name: str,
    tables: Sequence[Marginal],
    epsilon: Fraction,
    replacement: Replacement | None = None,
    weights: Sequence[int] = (),
) -> Round:
    """A round of these tables that costs this epsilon."""
    return Round(run, phase, name, laplace(tables, epsilon, weights), replacement)


def score_round(run: str, phase: str, name: str, scores: Sequence[Score], epsilon: Fraction) -> Round:
    """A round of these scores that costs this epsilon."""
    return Round(run, phase, name, LaplaceNoise.calibrated(Scores(tuple(scores)), PureDP(epsilon, RELATION)))


def pure(epsilon: Fraction | int) -> Share:
    """All of a pure budget."""
    return PureBudget(Fraction(epsilon)).whole


def share_of(session: Session, epsilon: Fraction | int) -> Share:
    """So much of the session's budget."""
    return Share(session.budget, Fraction(epsilon))
