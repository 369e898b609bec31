"""Stand-ins: invented tables of a declared shape, on which algorithms are rehearsed before any real row is asked.

A stand-in is drawn from a Gaussian copula with random margins and a random correlation matrix. A *profile* says in a
few plain numbers how uneven the margins are and how strongly attributes depend on each other; its numbers were fitted
on public tables (``python -m benchmarks accuracy_plan``). No real row is needed, and none is read.

Nothing here is private, so all randomness is that of a seeded generator.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from privity.common.data.attribute import Attribute
from privity.common.data.coded_table import CodedTable, code_type
from privity.common.data.schema import Schema

Floats = npt.NDArray[np.float64]

FORMAT_VERSION = 1
SPIKINESS = 3
"""Power of the normal numbers whose direction is an attribute's share in the factors: the larger, the fewer factors
an attribute has a part in, and the more pairs are nearly independent."""

ATTRIBUTES, ROWS = 12, 10_000
"""The size of a table for which a profile's numbers are written down."""

BLOCK_ROWS = 1 << 16
BISECTIONS = 40
STEEPEST = 200.0
"""Largest factor by which log-weights of a margin are stretched: all but one category have then no rows."""


@dataclass(frozen=True)
class Profile:
    """Plain numbers of a kind of tables.

    Attributes:
        evenness: quantiles, at equal steps from 0 to 1, of the entropy of a single attribute over the logarithm of the
            number of its codes.
        communality: mean over attributes of the logit of the share of an attribute's hidden variance that it has in
            common with others.
        spread: standard deviation of that logit over attributes.
        factors: common factors for each attribute of the table; at least one factor in all.
        evenness_by_attributes: what the logit of an evenness changes by where a table has e times as many attributes.
        communality_by_attributes, communality_by_rows: the same for the communality, and for rows.

    Evenness and communality are those of a table of ``ATTRIBUTES`` and ``ROWS``.
    """

    evenness: tuple[float, ...]
    communality: float
    spread: float
    factors: float
    evenness_by_attributes: float = 0.0
    communality_by_attributes: float = 0.0
    communality_by_rows: float = 0.0

    def at(self, attributes: int, rows: int) -> Profile:
        """The profile of tables of this size, with nothing left that depends on it."""
        from scipy.special import expit, logit

        wider, longer = math.log(attributes / ATTRIBUTES), math.log(rows / ROWS)
        evenness = expit(logit(np.array(self.evenness)) + self.evenness_by_attributes * wider)
        moved = self.communality_by_attributes * wider + self.communality_by_rows * longer
        return Profile(tuple(evenness.tolist()), self.communality + moved, self.spread, self.factors)


def shipped_profiles() -> dict[str, Profile]:
    """The profiles that come with the software, by how strongly attributes depend on each other, the weakest first."""
    return read_profiles((files("privity.assessment.planning") / "profiles.json").read_text(encoding="utf-8"))


def read_profiles(text: str) -> dict[str, Profile]:
    """Profiles as ``profiles_text`` writes them."""
    profiles = json.loads(text)["profiles"]
    return {name: Profile(**{**numbers, "evenness": tuple(numbers["evenness"])}) for name, numbers in profiles.items()}


def profiles_text(profiles: Mapping[str, Profile]) -> str:
    """Profiles as JSON text."""
    document = {"format_version": FORMAT_VERSION, "profiles": {name: vars(p) for name, p in profiles.items()}}
    return json.dumps(document, indent=2) + "\n"


def sample_evenness(profile: Profile, count: int, generator: np.random.Generator) -> Floats:
    """Normalised entropies of so many attributes, one from each of ``count`` equal parts of the profile's law.

    Stratified, so that a table of few attributes is a typical one too.
    """
    places = (generator.permutation(count) + generator.random(count)) / count
    return np.interp(places, np.linspace(0, 1, len(profile.evenness)), profile.evenness)


def sample_margin(attribute: Attribute, evenness: float, generator: np.random.Generator) -> Floats:
    """Probabilities of an attribute's codes, shape (size,); their entropy is ``evenness`` times the largest there is.

    Categories get log-weights at random; bins and ordered categories fall off from one of them on both sides. Absent
    rows there are none.
    """
    size = attribute.present
    if attribute.ordered or attribute.edges:
        peak = generator.random() * (size - 1)
        weights = -np.abs(np.arange(size) - peak)
    else:
        weights = generator.normal(size=size)
    weights = weights - weights.max()
    low, high = 0.0, STEEPEST
    for _ in range(BISECTIONS):
        steepness = (low + high) / 2
        low, high = (steepness, high) if _entropy(_softmax(weights, steepness)) > evenness else (low, steepness)
    margin = _softmax(weights, low)
    return np.append(margin, 0.0) if attribute.absent else margin


def sample_loadings(profile: Profile, count: int, generator: np.random.Generator) -> Floats:
    """Loadings of ``count`` attributes on the common factors, shape (count, factors).

    A row's squares add up to less than 1, and the products of two rows are the attributes' hidden correlation.
    """
    from scipy.special import expit

    factors = max(1, round(profile.factors * count))
    directions = generator.normal(size=(count, factors)) ** SPIKINESS
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    ranks = (generator.permutation(count) + generator.random(count)) / count
    logits = profile.communality + profile.spread * _normal_quantiles(ranks)
    return np.asarray(directions * np.sqrt(expit(logits))[:, None])


def invent(schema: Schema, rows: int, profile: Profile, generator: np.random.Generator) -> CodedTable:
    """A stand-in: ``rows`` independent rows of a joint distribution that is itself drawn from the profile."""
    here = profile.at(len(schema.attributes), rows)
    evenness = sample_evenness(here, len(schema.attributes), generator)
    margins = [sample_margin(a, float(e), generator) for a, e in zip(schema.attributes, evenness, strict=True)]
    loadings = sample_loadings(here, len(schema.attributes), generator)
    return sample(schema, rows, margins, loadings, generator)


def sample(
    schema: Schema, rows: int, margins: list[Floats], loadings: Floats, generator: np.random.Generator
) -> CodedTable:
    """Independent rows of a Gaussian copula of common factors, block by block to bound memory."""
    # Categories without an order are hit in any order of the hidden variable.
    orders = [np.arange(a.size) if a.ordered or a.edges else generator.permutation(a.size) for a in schema.attributes]
    thresholds = [
        _normal_quantiles(np.cumsum(margin[order])[:-1]) for margin, order in zip(margins, orders, strict=True)
    ]
    own = np.sqrt(np.maximum(0.0, 1 - (loadings**2).sum(axis=1)))
    columns = [np.empty(rows, dtype=code_type(attribute.size)) for attribute in schema.attributes]
    for start in range(0, rows, BLOCK_ROWS):
        count = min(BLOCK_ROWS, rows - start)
        common = generator.standard_normal((loadings.shape[1], count))
        for place, column in enumerate(columns):
            hidden = loadings[place] @ common + own[place] * generator.standard_normal(count)
            column[start : start + count] = orders[place][np.searchsorted(thresholds[place], hidden)]
    return CodedTable(schema, tuple(columns))


def _softmax(weights: Floats, steepness: float) -> Floats:
    raised = np.exp(steepness * weights)
    return np.asarray(raised / raised.sum())


def _entropy(margin: Floats) -> float:
    """Over the largest that a margin of its size can have."""
    held = margin[margin > 0]
    return float(-(held * np.log(held)).sum() / math.log(len(margin)))


def _normal_quantiles(shares: Floats) -> Floats:
    from scipy.special import ndtri

    return np.asarray(ndtri(np.clip(shares, 0.0, 1.0)))
