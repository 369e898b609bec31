"""What a release tells of functions of a row: straight from the tables where these hold all of it, else by one step."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from privity.common.data.noisy_tables import NoisyTable
from privity.common.errors import Catalogue, PrivityError
from privity.common.release.queries.evidence import Evidence, Numbers
from privity.common.release.queries.linear_estimates import Linear, told_directly
from privity.common.release.queries.model_error import ModelError, model_error
from privity.common.release.queries.one_step import MOST_NEAR, Features, OneStep, fits_whole, keys_within, near
from privity.common.release.queries.support import EXTRAPOLATED, MEASURED, NEARLY_ALL, Support, kind_of
from privity.common.text.first_few import first_few

MOST_FUNCTIONS = 256
"""Of one question that takes the model's rows."""

MOST_NUMBERS = 1 << 25
"""Cells of a table that a question looks at, times the functions of them."""


@dataclass(frozen=True)
class Told:
    """Estimates, and what they stand on."""

    linear: Linear
    support: Support


class Estimator:
    """Answers from one release; what is computed once is kept."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self._steps: dict[tuple[bool, frozenset[int]], OneStep] = {}

    @cached_property
    def model_error(self) -> ModelError | None:
        """What is known of the model's error."""
        return model_error(self.evidence)

    def tell(self, attributes: Sequence[int], weights: Numbers, *, extrapolate: bool) -> Told:
        """Means of functions of some attributes' codes.

        Args:
            weights: values of the functions, shape (functions, *the attributes' codes).
            extrapolate: whether the model may tell what was not measured together.

        Raises:
            PrivityError: not-supported.
        """
        kind, missing = kind_of(self.evidence, attributes)
        if kind == MEASURED:
            pooled = self.evidence.pooled.of(*attributes)
            assert pooled is not None
            return Told(told_directly(pooled, weights), Support(MEASURED, 1.0, (), None))
        self._check(kind, missing, extrapolate=extrapolate)
        if len(weights) > MOST_FUNCTIONS:
            reason = (
                f"{len(weights)} numbers are asked for, at most {MOST_FUNCTIONS} where the model has to join tables"
            )
            raise PrivityError(Catalogue.BAD_OPTION, option="question", reason=reason, hint="Ask for fewer at once.")
        cells = self.evidence.model_rows.cells(tuple(attributes))
        functions = weights.reshape(len(weights), -1)[:, cells].T
        return self._told(attributes, functions, kind, missing)

    def tell_of_rows(self, attributes: Sequence[int], functions: Numbers, *, extrapolate: bool) -> Told:
        """Means of functions that are known for the model's rows.

        Args:
            functions: shape (rows of the model, functions).

        Raises:
            PrivityError: not-supported.
        """
        kind, missing = kind_of(self.evidence, attributes)
        self._check(kind, missing, extrapolate=extrapolate)
        return self._told(attributes, functions, kind, missing)

    def support(self, attributes: Sequence[int]) -> Support:
        """What a question about these attributes stands on, by the interaction of all of them."""
        kind, missing = kind_of(self.evidence, attributes)
        if kind == MEASURED:
            return Support(MEASURED, 1.0, (), None)
        if not self.evidence.tables:
            return Support(kind, 0.0, missing, None)
        rows = self.evidence.model_rows
        parts = [rows.columns[a] == np.bincount(rows.columns[a]).argmax() for a in attributes]
        centred = np.prod([part - part.mean() for part in parts], axis=0)
        return self._told(attributes, centred[:, None], kind, missing).support

    def _check(self, kind: str, missing: Sequence[tuple[str, str]], *, extrapolate: bool) -> None:
        """Refuse what nothing measured, unless it is wanted and its error is known."""
        if not self.evidence.tables:
            reason, hint = "the release has no noisy marginal over the rows of all owners", "Ask its owners."
            raise PrivityError(Catalogue.NOT_SUPPORTED, reason=reason, hint=hint)
        if kind != EXTRAPOLATED or (extrapolate and self.model_error is not None):
            return
        pairs = first_few([f"{a} and {b}" for a, b in missing])
        reason = f"nothing measured these pairs: {pairs}"
        hint = (
            "Ask for an extrapolation (extrapolate=True, --extrapolate): its interval has the model's error."
            if self.model_error is not None
            else "The run has not measured how wrong the model may be. Ask its owners for one with the algorithm aim, "
            'or with the setting "selection": "joint".'
        )
        raise PrivityError(Catalogue.NOT_SUPPORTED, reason=reason, hint=hint)

    def _told(
        self, attributes: Sequence[int], functions: Numbers, kind: str, missing: tuple[tuple[str, str], ...]
    ) -> Told:
        found = self._step(attributes, overview=True).tell(functions)
        known, kappa = self.model_error, 0.0
        if known is not None:
            kappa = known.kappa
            apart = replace(found, model=kappa**2 * found.unspanned)
            overview = bool(self.evidence.overview)
            found = _joined(self._step(attributes, overview=False).tell(functions), found, kappa) if overview else apart
        r2 = float(found.r2.min())
        source = None if known is None else known.source
        return Told(found, Support(MEASURED if r2 >= NEARLY_ALL else kind, r2, missing, source))

    def _step(self, attributes: Collection[int], *, overview: bool) -> OneStep:
        """Of all tables, or of those near these attributes."""
        evidence = self.evidence
        unread = () if overview else {id(table) for table in evidence.overview}
        tables: list[NoisyTable] = [table for table in evidence.tables if id(table) not in unread]
        derived = evidence.schema.derived
        within = frozenset(derived.base)
        if not fits_whole(keys_within(tables, derived, within), derived):
            within = near(tables, derived, attributes, MOST_NEAR)
        if (overview, within) not in self._steps:
            features = Features.of(tables, derived, evidence.variables, within)
            self._steps[overview, within] = OneStep(features, evidence.model_rows, evidence.rows)
        return self._steps[overview, within]


def _joined(alone: Linear, whole: Linear, kappa: float) -> Linear:
    """The estimate of the tables without an overview, moved towards that with it as far as the model may be off.

    The model's error is a normal variable of which the difference of the two tells, with the noise of the overview.
    """
    told = _positive(kappa**2 * (alone.unspanned - whole.unspanned))
    error = _positive(whole.noise + whole.sampling - alone.noise - alone.sampling)
    gain = told @ np.linalg.pinv(told + error, hermitian=True)
    return replace(
        alone,
        values=alone.values + gain @ (whole.values - alone.values),
        model=_positive(told - gain @ told) + kappa**2 * whole.unspanned,
        r2=whole.r2,
    )


def _positive(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The nearest covariance."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
