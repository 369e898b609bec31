"""What a run in rho has cost so far, wherever it stops: a privacy filter along one order of Renyi divergence.

A party cannot trust that a run ends. It may stop at any step, for reasons that depend on what came out, and what is
left of the budget goes to other releases. To convert the rho spent *so far* at the run's delta is not valid then: the
best order differs from one stopping time to the next, so the stopping rule picks the order (an odometer, not a
filter; ``tests/common/privacy/test_privacy_filter.py`` computes by how much that understates delta).

**The charge.** A run has a cap R on its rho, fixed when it begins, at which it costs (epsilon, delta). Let alpha be the
best order for R. After the run has spent rho, it is charged

    epsilon(rho) = alpha rho + C,   C = epsilon - alpha R,   C >= C(alpha, delta) of ``conversion_constant``,

and delta once, with its first step. A run that spends all of R has cost exactly (epsilon, delta). One that stops early
costs more than its rho alone would convert to: C, about half of epsilon, is due at once.

**Proof**, for what really happens: runs interleaved with each other, steps chosen by what came out before, pure steps
and (epsilon, delta) steps between them, everything stopped at any time. Fix two neighbouring tables; P and P' are the
laws of all that is released, L_s = ln(P/P') of step s given all before it, and X_j = (sum of L_s over the steps of run
j) - (what run j was charged), with the pure steps as a run of their own. Let rho_s be the rho of step s: it may depend
on all before s, and so may which run s belongs to.

1. Each step of a run in rho is rho_s-zCDP given the past: E_P[exp((alpha-1) L_s) | past] <= exp((alpha-1) alpha rho_s)
   for every alpha > 1 (Bun and Steinke 2016, Definition 1.1). Tables under discrete Gaussian noise are so by
   Canonne, Kamath and Steinke 2020, Theorem 14; a selection whose privacy loss has range epsilon_0 is so with
   rho = epsilon_0^2/8 (Cesar and Rogers 2021).
2. So M_t = exp((alpha_j - 1) (sum of L_s - alpha_j sum of rho_s)), over the steps of run j up to time t, is a
   nonnegative supermartingale in the history of *all* releases: it stands still at steps of other runs. alpha_j and C_j
   are fixed when run j begins. At any stopping time its mean is at most 1 (optional stopping).
3. For every real x: (1 - e^-x)_+ <= e^((alpha-1) x) (1 - 1/alpha)^(alpha-1)/alpha, the maximum over x of the quotient
   (Canonne, Kamath and Steinke 2020, proof of Proposition 12). With x = X_j, 2. and the definition of C(alpha, delta):
   E_P[(1 - e^-X_j)_+ | past of run j] <= e^(-(alpha_j-1) C_j) (1 - 1/alpha_j)^(alpha_j-1)/alpha_j <= delta_j.
4. Pure steps have L_s <= epsilon_s, so their X is never above 0. A step that is (epsilon_s, delta_s)-DP given the past
   has E_P[(1 - e^-X_s)_+ | past] <= delta_s.
5. (1 - e^-(x+y))_+ <= (1 - e^-x)_+ + (1 - e^-y)_+ for all real x and y. So with everything charged at most
   epsilon in all, E_P[(1 - e^(epsilon - L))_+] <= E_P[sum over the runs j that began of delta_j], which is at most the
   total delta, as every run pays its delta when it begins. That is (epsilon, delta)-DP: for every event S,
   P(S) - e^epsilon P'(S) <= E_P[(1 - e^(epsilon - L))_+].

**Several rows a person.** Steps are m^2 rho_s-zCDP for a person with m rows (Bun and Steinke 2016, Proposition 1.9), so
the same holds with m^2 rho and the cap m^2 R, at an order of its own.

Sources of filters: Rogers, Roth, Ullman, Vadhan 2016 (filters and odometers); Feldman and Zrnic 2021 and Whitehouse,
Ramdas, Rogers, Wu 2023 (fully adaptive filters for zCDP). Deviation: the constant C is that of Canonne, Kamath and
Steinke, and what is charged after each step is public, so that the rest can be spent by any other mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from privity.common.privacy.loss_conversion import SHARED_SLACK, best_order, conversion_constant

GRID = 10**12
"""What a run has cost before its end is rounded up to a multiple of 1/GRID, so that people can read it."""


def constant(alpha: Fraction, delta: Fraction) -> Fraction:
    """C(alpha, delta), with room for what shares of Gaussian noise miss by."""
    return conversion_constant(alpha, delta * (1 - SHARED_SLACK)) + SHARED_SLACK


@dataclass(frozen=True)
class PrivacyFilter:
    """The charge of one run in rho, at any time at which it may stop.

    Attributes:
        cap: R, the rho that the run may spend.
        epsilon, delta: what that costs.

    Raises:
        ValueError: the cap costs more than (epsilon, delta).
    """

    cap: Fraction
    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        if self.constant < constant(self.order, self.delta):
            raise ValueError(f"rho {self.cap} costs more than epsilon {self.epsilon} at delta {self.delta}")

    @cached_property
    def order(self) -> Fraction:
        """alpha."""
        return best_order(self.cap, self.delta)

    @cached_property
    def constant(self) -> Fraction:
        """C."""
        return self.epsilon - self.order * self.cap

    def spent(self, rho: Fraction) -> Fraction:
        """Epsilon of a run that has spent ``rho``; 0 of none. Beyond the cap it goes on along the same order."""
        if not rho:
            return Fraction(0)
        # Of a large delta and a small epsilon C is below 0; nothing is ever charged less than nothing.
        exact = max(Fraction(0), self.order * rho + self.constant)
        rounded = Fraction(math.ceil(exact * GRID), GRID)
        return min(rounded, self.epsilon) if rho <= self.cap else rounded
