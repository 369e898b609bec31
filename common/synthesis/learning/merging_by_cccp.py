"""OptimalMerging by a relaxed programme and the concave-convex procedure, solved with cvxpy.

Source: JTree (Chen, Xiao, Zhang, Xu, KDD 2015), section 4.2, problems 7 and 8. Deviations:

- The printed size of a cluster, ``prod p_i^z_ik / prod c_a^(sum_j z_jk o_aj - 1)``, is the product of all attributes'
  sizes whatever z is (the exponents of each c_a add up to 1), so that the printed programme prefers nothing but
  clusters that are far apart. Here an
  attribute is in a cluster as far as any of its cliques is: ``u_ak = max_j z_jk o_aj``, which is convex and exact for
  whole z.
- The paper goes through all numbers of clusters; here those near the start's, as each takes a series of solutions.
- A rounded solution is improved like a greedy one, see ``clusters.descend``.

The programme is of public numbers only: which cliques, which domains.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from privity.common.data.noisy_tables import Marginal
from privity.common.synthesis.learning.clique_clusters import (
    Clusters,
    attributes_of,
    descend,
    fits,
    ordered,
    total_variance,
)

SEPARATION = 1.0
"""Lambda: weight of the least distance between two clusters' columns against the logarithm of the variance. With .1
memberships stay blurred: of 15 small graphs, from cliques joined by cells alone, .1, .5, 1 and 3 lead to the
optimum in 3, 12, 13 and 13."""

ROUNDS = 8
SETTLED = 1e-3
NEAR = 1
"""Numbers of clusters that are tried: those of the start and so many fewer and more."""

SOFTNESS = 0.2
"""How far the start is drawn from whole memberships to equal ones, so that the procedure may leave it."""

Memberships = npt.NDArray[np.float64]


def merge_by_cccp(cliques: Sequence[Marginal], domain: Sequence[int], start: Clusters) -> Clusters:
    """The best clusters found from ``start``, itself included: never worse than it."""
    chosen = sorted(cliques)
    found = [start]
    for size in range(max(1, len(start) - NEAR), min(len(chosen), len(start) + NEAR) + 1):
        programme = _Programme(chosen, domain, size)
        solution = programme.solve(_soften(_memberships(_resize(start, size, domain), chosen)))
        if solution is not None:
            found.append(descend(_round(solution, chosen), domain))
    within = [clusters for clusters in found if clusters is start or fits(clusters, domain)]
    return min(within, key=lambda clusters: total_variance(clusters, domain))


class _Programme:
    """Problem 8 for a number of clusters: built once, solved again about each new point."""

    def __init__(self, cliques: Sequence[Marginal], domain: Sequence[int], clusters: int) -> None:
        attributes = sorted({a for clique in cliques for a in clique})
        sizes = np.log([domain[a] for a in attributes])
        self._z = cp.Variable((len(cliques), clusters), nonneg=True)
        union = cp.Variable((len(attributes), clusters), nonneg=True)
        apart = cp.Variable(nonneg=True)
        self._slope = cp.Parameter((1, clusters), nonneg=True)
        self._offset = cp.Parameter(clusters)
        bounds = [cp.sum(self._z, axis=1) == 1, cp.sum(self._z, axis=0) >= 1]
        for row, attribute in enumerate(attributes):
            bounds += [union[row] >= self._z[i] for i, clique in enumerate(cliques) if attribute in clique]
        # The logarithm of a cluster's number of cliques is concave: its tangent at the last solution.
        count = cp.sum(cp.multiply(np.ones((len(cliques), 1)) @ self._slope, self._z), axis=0) + self._offset
        pairs = [(k, j) for k in range(clusters) for j in range(k)]
        self._difference = [cp.Parameter(len(cliques)) for _ in pairs]
        self._square = [cp.Parameter(nonneg=True) for _ in pairs]
        for (k, j), difference, square in zip(pairs, self._difference, self._square, strict=True):
            bounds.append(apart - 2 * (self._z[:, k] - self._z[:, j]) @ difference + square <= 0)
        self._pairs = pairs
        logarithms = sizes @ union + count
        self._problem = cp.Problem(cp.Minimize(cp.log_sum_exp(logarithms) - SEPARATION * apart), bounds)

    def solve(self, start: Memberships) -> Memberships | None:
        """Memberships, shape (cliques, clusters), from which no round leads away; None without any."""
        point = start
        for _ in range(ROUNDS):
            totals = np.maximum(point.sum(axis=0), 1e-6)
            self._slope.value = 1 / totals[None, :]
            self._offset.value = np.log(totals) - 1
            for (k, j), difference, square in zip(self._pairs, self._difference, self._square, strict=True):
                difference.value = point[:, k] - point[:, j]
                square.value = float((difference.value**2).sum())
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # an inaccurate solution is rounded anyway
                    self._problem.solve(solver=cp.CLARABEL)
            except cp.SolverError:
                return None
            if self._z.value is None:
                return None
            new = np.clip(self._z.value, 0, 1)
            if np.abs(new - point).max() < SETTLED:
                return new
            point = new
        return point


def _memberships(clusters: Clusters, cliques: Sequence[Marginal]) -> Memberships:
    return np.array([[float(clique in cluster) for cluster in clusters] for clique in cliques])


def _soften(memberships: Memberships) -> Memberships:
    return (1 - SOFTNESS) * memberships + SOFTNESS / memberships.shape[1]


def _round(solution: Memberships, cliques: Sequence[Marginal]) -> Clusters:
    """Each clique in the cluster of its largest membership; clusters that nobody chose are none."""
    chosen = solution.argmax(axis=1).tolist()
    return ordered(
        [tuple(c for c, k in zip(cliques, chosen, strict=True) if k == cluster) for cluster in sorted(set(chosen))]
    )


def _resize(clusters: Clusters, size: int, domain: Sequence[int]) -> Clusters:
    """So many clusters: the two whose union has the fewest cells joined, or the largest one split in two."""
    current = list(clusters)
    while len(current) > size:
        i, j = min(
            ((i, j) for i in range(len(current)) for j in range(i)),
            key=lambda pair: math.prod(domain[a] for a in attributes_of(current[pair[0]] + current[pair[1]])),
        )
        joined = current[i] + current[j]
        current = [*(c for k, c in enumerate(current) if k not in (i, j)), joined]
    while len(current) < size:
        largest = max(current, key=len)
        current.remove(largest)
        current += [largest[: len(largest) // 2], largest[len(largest) // 2 :]]
    return ordered(current)
