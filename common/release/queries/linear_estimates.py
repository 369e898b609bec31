"""Estimated means of functions of a row, with the errors by sampling, noise and model apart."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privity.common.release.queries.evidence import Numbers
from privity.common.synthesis.inference.pooled_estimates import Pooled


@dataclass(frozen=True)
class Linear:
    """Means of k functions of a row, as shares of all rows.

    Attributes:
        values: estimates, shape (k,).
        plug: what the distribution says by which sampling was judged, shape (k,).
        noise, sampling: covariances of the errors by noise and by sampling, shape (k, k).
        of_rows: covariance of what the estimate does not see of the rows themselves.
        unspanned: covariance of the part of the functions that no measured cell tells of.
        r2: part of each function's variance that measured cells tell of.
        excess: kurtosis of the noise over that of a normal law, shape (k,).
        model: covariance of what the model may have wrong.
    """

    values: Numbers
    plug: Numbers
    noise: Numbers
    sampling: Numbers
    of_rows: Numbers
    unspanned: Numbers
    r2: Numbers
    excess: Numbers
    model: Numbers | None = None

    @property
    def by_model(self) -> Numbers:
        """``model``, or zeros."""
        return np.zeros_like(self.noise) if self.model is None else self.model

    def about_rows(self) -> Linear:
        """The same where these rows are asked for, and not whom they were sampled from."""
        return replace(self, sampling=self.of_rows)


def told_directly(pooled: Pooled, weights: Numbers) -> Linear:
    """From a table that holds all that the functions look at: no model is needed.

    Args:
        weights: of the table's cells, shape (k, *the table's).
    """
    many, rows = len(weights), pooled.rows
    flat = weights.reshape(many, -1)
    shares = np.maximum(pooled.counts.ravel(), 0.0)
    shares /= max(shares.sum(), 1e-300)
    plug = flat @ shares
    noise = pooled.estimate.covariances(weights) / rows**2
    none = np.zeros((many, many))
    # All counts together are exact: a sum of many has noise that is nearer to a normal law than that of each.
    apart = flat - flat.mean(axis=1, keepdims=True)
    apart /= np.maximum(np.abs(apart).max(axis=1, keepdims=True), 1e-300)
    among = (apart**4).sum(axis=1) / np.maximum((apart**2).sum(axis=1) ** 2, 1e-300)
    return Linear(
        values=flat @ pooled.counts.ravel() / rows,
        plug=plug,
        noise=noise,
        sampling=((flat * shares) @ flat.T - np.outer(plug, plug)) / rows,
        of_rows=none,
        unspanned=none,
        r2=np.ones(many),
        excess=pooled.excess * np.minimum(among, 1.0),
    )
