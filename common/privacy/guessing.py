"""How often a guess is right at most that tells which of two equally likely versions of a person's rows was used.

Let P and Q be the laws of all that is released under the two versions, S the event in which the guess is "the
first", and v = P(S) - Q(S). The guess is right with probability (1 + v)/2. Two bounds hold, and the smaller one is
taken.

**By (epsilon, delta).** P(S) <= e^epsilon Q(S) + delta, and the same with the complements exchanged. So the guess is
right with probability (e^epsilon + delta)/(1 + e^epsilon) at most.

**By divergence**, where the run was charged in rho: if KL(P||Q) <= D and KL(Q||P) <= D, then v ln((1+v)/(1-v)) <= D.
Proof: no processing adds divergence, so with p = P(S), q = Q(S) and kl the divergence of two coins, kl(p, q) <= D
and kl(1-q, 1-p) = kl(q, p) <= D. kl is convex in both its arguments together, so it is at most D in the middle of
(p, q) and (1-q, 1-p) too, which is ((1+v)/2, (1-v)/2), and there it is v ln((1+v)/(1-v)). That grows with v >= 0.

Here D = m^2 R + (m epsilon)^2/2 for a person with m rows, where R is all the rho that the run might have spent and
epsilon what its pure steps cost: a step that is rho-zCDP has a divergence of at most m^2 rho for m rows (Bun and
Steinke 2016, Definition 1.1 for alpha towards 1, and Proposition 1.9), one that is epsilon-DP of at most (m
epsilon)^2/2 (Proposition 1.4); by the chain rule that of the whole run is the mean of the sum over its steps,
however they were chosen and wherever it stopped. R, and not the rho that was spent: where the run stops may depend
on what came out.

For zCDP no better bound holds: a coin that is turned with odds e^-lambda, lambda tanh(lambda/2) = rho, is rho-zCDP,
and reaches it. Gaussian noise alone reaches 2 Phi(sqrt(rho/2)) - 1, about 0.8 of it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from privity.common.errors import PrivityError
from privity.common.privacy.discovery import read_discovery
from privity.common.privacy.exact_bounds import log_below
from privity.common.privacy.loss_conversion import SHARED_SLACK, rho_within
from privity.common.privacy.mechanisms import CONCENTRATED

STEPS = 1000
"""Probabilities are rounded up to one over this."""


def right_at_most(epsilon: Fraction, delta: Fraction, divergence: Fraction | None = None) -> Fraction:
    """The probability that the guess is right, rounded up.

    Args:
        divergence: D; None if it is not known.
    """
    away = math.exp(-float(epsilon))
    by_loss = math.ceil(STEPS * (1 + float(delta) * away) / (1 + away) + 1e-9)
    by_divergence = STEPS if divergence is None else _by_divergence(divergence)
    return Fraction(min(STEPS, by_loss, by_divergence), STEPS)


def divergence_of_a_person(privacy: Mapping[str, Any], run: Mapping[str, Any]) -> Fraction | None:
    """D of a release, for the person who loses most; None if its charges do not tell: not in rho, or a delta besides.

    Args:
        privacy, run: content of ``privacy.json`` and ``run.json``.
    """
    pure, any_rho = [], False
    for phase in privacy["phases"]:
        in_rho = [CONCENTRATED in words for words in phase["mechanisms"]]
        if all(in_rho) and "rho_per_row" in phase:
            any_rho = True
        elif any(in_rho) or Fraction(phase["delta_per_row"]) or Fraction(phase.get("rho_per_row", "0")):
            return None
        else:
            pure.append(phase["phase"])
    if not any_rho or privacy["parties_per_person"] != 1:
        return None
    before = [read_discovery(each).loss for each in privacy["schema"]["discoveries"]]
    if any(loss.delta for loss in before):
        return None
    learning = Fraction(run["epsilon"]) - Fraction((run.get("evaluation") or {"epsilon": "0"})["epsilon"])
    try:
        whole = rho_within(learning, Fraction(run["delta"]))
    except PrivityError:
        return None
    found = []
    for party in privacy["parties"]:
        rows, by_phase = party["rows_per_person"], party["epsilon_per_row_by_phase"]
        besides = sum((Fraction(by_phase.get(phase, "0")) for phase in pure), Fraction(0))
        rho = max(whole, Fraction(party["rho_per_row"]))
        found.append(rows**2 * rho + (rows * besides) ** 2 / 2)
    return max(found) + sum(loss.epsilon**2 / 2 for loss in before)


def _by_divergence(divergence: Fraction) -> int:
    """The least number of steps that is not below the bound."""

    def holds(steps: int) -> bool:
        # Shares of noise make the laws those of the claim but for this factor.
        v = Fraction(2 * steps, STEPS) - 1 - 4 * SHARED_SLACK
        return v > 0 and v * log_below((1 + v) / (1 - v)) >= divergence

    return bisect_left(range(STEPS), True, key=holds)
