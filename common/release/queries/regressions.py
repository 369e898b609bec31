"""Coefficients of linear and logistic regressions: those of the released model, and one step to what was measured.

A coefficient is a smooth function of the rows' distribution. Its influence function at the model is a function of a
row, whose mean the one step estimates like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from privity.common.data.code_values import code_values
from privity.common.data.regression_formula import Formula, dependent, design, read_formula
from privity.common.data.schema import Schema
from privity.common.formats.given_values import bad_option
from privity.common.release.queries import intervals
from privity.common.release.queries.answer import POPULATION, Answer, answer
from privity.common.release.queries.evidence import Codes, Numbers
from privity.common.release.queries.intervals import CLEAR, Interval, undetermined
from privity.common.release.queries.linear_estimates import Linear
from privity.common.release.queries.statistics import MIDDLE, Asking

AT_ONCE = 8
"""Terms whose rows are told apart together: each takes four numbers of each row."""

FAR = 0.5
"""Of a count, that what was measured may be away from it: farther, its logarithm or quotient is not straight."""

ROUNDING = 1e-6
"""Of the largest weight of a row, that one is taken for nothing."""

MOST_STEPS = 50
PRECISION = 1e-9

SEPARATED = 30.0
"""Of a linear predictor, from which on a response is certain."""

OPEN = "where an end is open, the noise hides how rare the response is with the term"
WITHIN = "of the rows that have a value of everything in the formula"


@dataclass(frozen=True)
class Regression:
    """What a formula asks for, as rows of codes answer it.

    Attributes:
        logistic: maximum likelihood, for a response of two values: log odds ratios of the second one; else least
            squares.
        response: number of each code.
        notes: what to know of it.
    """

    schema: Schema
    formula: Formula
    logistic: bool
    response: Numbers
    notes: tuple[str, ...]

    @classmethod
    def of(cls, schema: Schema, text: str, *, logistic: bool, midpoints: bool) -> Regression:
        """Of a formula.

        Raises:
            PrivityError: bad-option.
        """
        formula = read_formula(text, schema, midpoints=midpoints)
        attribute = schema.attributes[formula.response]
        notes = [MIDDLE] if formula.middle else []
        if logistic:
            if attribute.values != 2:
                reason = f"{attribute.name} has {attribute.values} values: a logistic regression is of two"
                raise bad_option("formula", reason, "Declare an attribute of two values, or use linear.")
            response = np.array([0.0, 1.0])
            notes.append(f"log odds of {attribute.name} = {attribute.labels[1]}")
        else:
            numbers = code_values(attribute)
            if not numbers.exact and not midpoints:
                reason = f"{attribute.name} is in bins: where its numbers lie in them, nothing tells"
                raise bad_option("formula", reason, "Take the middle of each bin: midpoints=True, --midpoints.")
            notes += [MIDDLE] if not numbers.exact and not notes else []
            response = numbers.middle
        single = {schema.names[one.place]: None for term in formula.terms for one in term if not one.columns}
        notes += [f"{name} has a single value, and no term" for name in single]
        if any(schema.attributes[a].missing for a in formula.attributes):
            notes.append(WITHIN)
        return cls(schema, formula, logistic, np.append(response, np.zeros(attribute.apart)), tuple(notes))

    def complete(self, columns: Sequence[Codes]) -> Numbers:
        """1 for rows with a value of everything in the formula, 0 for others."""
        attributes = self.schema.attributes
        whole = [columns[a] < attributes[a].values for a in self.formula.attributes]
        return np.asarray(np.logical_and.reduce(whole), dtype=float)

    def fit(self, columns: Sequence[Codes], kept: Numbers) -> Fit:
        """By the rows that count, to ``kept`` each.

        Raises:
            PrivityError: bad-option: terms that no row has, that others add up to, or that tell the response.
        """
        names, terms = design(self.formula, columns)
        y = self.response[columns[self.formula.response]]
        _check_terms(names, terms, kept)
        return Fit(names, terms, *(_logistic if self.logistic else _linear)(terms, y, kept))

    def parts(self, columns: Sequence[Codes], kept: Numbers, fit: Fit, terms: slice) -> Numbers:
        """Rows that some coefficients stand on: those on either side of the term, of a logit with each response.

        Each is a sum of weighted rows, as a count is. Where one may be nothing, the coefficient may be anything: a log
        odds ratio is made of the logarithms of four, a mean is divided by one of two.

        Returns:
            shape (rows, terms, parts): above and below the term's middle; for a logistic regression each with the
            second value and with the first.
        """
        inverse = np.linalg.inv(fit.information)
        along = fit.terms @ (inverse / inverse.diagonal())[:, terms]
        least = np.abs(along * kept[:, None]).max(axis=0) * ROUNDING
        # An intercept beside categories has rows on one side alone: on the other it stands on all.
        sides = [np.where((side > least).any(axis=0), side * (side > least), 1.0) for side in (along, -along)]
        if self.logistic:
            responses = np.maximum(fit.residuals, 0.0), np.maximum(-fit.residuals, 0.0)
            sides = [side * response[:, None] for side in sides for response in responses]
        found = np.stack(sides, axis=-1) * kept[:, None, None]
        return np.asarray(found / np.maximum(found.max(axis=0), 1e-300))


@dataclass(frozen=True)
class Fit:
    """A fitted regression.

    Attributes:
        names: of the terms, the intercept first.
        terms: shape (rows, terms).
        residuals: shape (rows,).
        information: the sum of the second derivatives over the rows that count.
    """

    names: list[str]
    terms: Numbers
    coefficients: Numbers
    residuals: Numbers
    information: Numbers


def linear(asking: Asking, text: str) -> list[Answer]:
    """Least squares."""
    return _regression(asking, text, logistic=False)


def logistic(asking: Asking, text: str) -> list[Answer]:
    """Maximum likelihood, for a response of two values; coefficients are log odds ratios of the second one."""
    return _regression(asking, text, logistic=True)


def _regression(asking: Asking, text: str, *, logistic: bool) -> list[Answer]:
    options, evidence = asking.options, asking.estimator.evidence
    if options.by is not None:
        raise bad_option("by", "a regression has no groups", "Put the attribute into the formula, or use given.")
    regression = Regression.of(evidence.schema, text, logistic=logistic, midpoints=options.midpoints)
    rows = evidence.model_rows
    kept = regression.complete(rows.columns)
    for a, mask in options.given.items():
        kept = kept * mask[rows.columns[a]]
    # A row that is spread over all codes: no value is without rows, and no response certain.
    spread = rows.own / evidence.rows / max(1, len(kept) - rows.own)
    counted = kept * np.where(np.arange(len(kept)) < rows.own, 1.0, spread)
    fit = regression.fit(rows.columns, counted)
    # Of every row of the model and of those beside it, as a share of all the model's rows.
    inverse = np.linalg.inv(fit.information / rows.own)
    influence = (fit.terms * (kept * fit.residuals)[:, None]) @ inverse.T
    attributes = tuple(sorted({*regression.formula.attributes, *options.given}))
    told = asking.estimator.tell_of_rows(attributes, influence, extrapolate=options.extrapolate)
    found = told.linear if options.target == POPULATION else told.linear.about_rows()
    values = fit.coefficients + found.values
    answers = []
    for start in range(0, len(values), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        parts = regression.parts(rows.columns, kept, fit, some)
        flat = parts.reshape(len(parts), -1)
        stood_on = asking.estimator.tell_of_rows(attributes, flat, extrapolate=options.extrapolate).linear
        if options.target != POPULATION:
            stood_on = stood_on.about_rows()
        footing = _Footing.of(stood_on, evidence.rows, parts.shape[1:])
        for place, name in enumerate(fit.names[some], start=start):
            straight = intervals.of_sum(found, np.eye(len(values))[place], options.level, float(values[place]))
            interval = footing.opened(straight, place - start, logistic=logistic)
            notes = (*regression.notes, OPEN) if interval.determined and interval != straight else regression.notes
            answers.append(answer(interval, {"term": name}, float(options.level), told.support, *notes))
    return answers


@dataclass(frozen=True)
class _Footing:
    """What coefficients stand on, as measured; shape (terms, parts).

    Attributes:
        clear: counts so far above 0 that one may divide by them, or take their logarithm.
        near: those that one step reaches: of what is clear, the model's own is not far from it; of what is not, the
            model has no less than a part of it.
    """

    clear: npt.NDArray[np.bool_]
    near: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, counts: Linear, rows: int, shape: tuple[int, ...]) -> _Footing:
        errors = (counts.noise + counts.by_model + counts.sampling).diagonal()
        clear = (counts.values > CLEAR * np.sqrt(np.maximum(errors, 0.0))) & (counts.values * rows >= 1)
        near = np.abs(counts.values - counts.plug) <= counts.plug * FAR
        within = counts.values <= counts.plug * CLEAR
        return cls(clear.reshape(shape), np.where(clear, near, within).reshape(shape))

    def opened(self, found: Interval, place: int, *, logistic: bool) -> Interval:
        """With an end open where what a coefficient stands on may be nothing."""
        clear = self.clear[place]
        if not self.near[place].all() or not (logistic or clear.all()):
            return undetermined()
        if not logistic:
            return found
        above, not_above, below, not_below = clear
        low, high = above and not_below, not_above and below
        if not (low or high):
            return undetermined()
        return replace(found, low=found.low if low else -np.inf, high=found.high if high else np.inf)


Fitted = tuple[Numbers, Numbers, Numbers]
"""Coefficients, the residual of each row, and the sum of the second derivatives."""


def _check_terms(names: list[str], terms: Numbers, kept: Numbers) -> None:
    """Refuse terms that the model has no rows for, or that others add up to."""
    gram = (terms * kept[:, None]).T @ terms
    if empty := [name for name, value in zip(names, gram.diagonal(), strict=True) if value <= 0]:
        raise bad_option("formula", f"no row of the model has {empty[0]}", "Leave it out, or widen given.")
    if dependent(gram):
        reason = "some terms are sums of others"
        raise bad_option("formula", reason, "Leave one of them out.")


def _linear(terms: Numbers, y: Numbers, kept: Numbers) -> Fitted:
    gram = (terms * kept[:, None]).T @ terms
    coefficients = np.asarray(np.linalg.solve(gram, terms.T @ (kept * y)), dtype=float)
    return coefficients, y - terms @ coefficients, gram


def _logistic(terms: Numbers, y: Numbers, kept: Numbers) -> Fitted:
    coefficients: Numbers = np.zeros(terms.shape[1])
    for _ in range(MOST_STEPS):
        predictor = terms @ coefficients
        chance = 1 / (1 + np.exp(-np.clip(predictor, -SEPARATED, SEPARATED)))
        weight = kept * chance * (1 - chance)
        information = (terms * weight[:, None]).T @ terms
        if np.abs(predictor[kept > 0]).max() >= SEPARATED or dependent(information):
            break
        step = np.linalg.solve(information, terms.T @ (kept * (y - chance)))
        coefficients = coefficients + step
        if np.abs(step).max() < PRECISION:
            return coefficients, y - chance, information
    reason = "some terms tell the response with certainty (separation), so that no coefficient is finite"
    raise bad_option("formula", reason, "Leave them out, or use fewer values.")
