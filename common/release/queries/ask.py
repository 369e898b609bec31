"""A question by the name of its statistic: what the command, Python and the consoles ask through."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from privity.common.data.regression_formula import place_of
from privity.common.formats.given_values import bad_option
from privity.common.release.queries import regressions, statistics
from privity.common.release.queries.answer import Answer
from privity.common.release.queries.estimator import Estimator
from privity.common.release.queries.evidence import Numbers
from privity.common.release.queries.question import masks, options
from privity.common.release.queries.statistics import Asking
from privity.common.release.sampling_conditions import Given

STATISTICS: Mapping[str, str] = {
    "count": "rows that meet the conditions of where",
    "share": "part of the rows that meet the conditions of where",
    "mean": "mean of a number",
    "quantile": "number below which a part of the rows is (at; by default the median)",
    "crosstab": "share of each combination of values of the attributes",
    "correlation": "correlation of two numbers (Pearson)",
    "linear": "coefficients of a linear regression, by a formula",
    "logistic": "coefficients of a logistic regression, by a formula",
}
"""What may be asked for, and what it is."""

ATTRIBUTES = {"mean": 1, "quantile": 1, "correlation": 2}
"""How many attributes a statistic is about."""

CONDITIONED = ("count", "share")
COMPARED = ("share", "mean")
REGRESSIONS = {"linear": regressions.linear, "logistic": regressions.logistic}

Function = Callable[[Numbers], float]


def ask(
    estimator: Estimator,
    statistic: str | Function,
    about: Sequence[str] = (),
    *,
    where: Sequence[Given] = (),
    at: float | None = None,
    **others: Any,
) -> list[Answer]:
    """The answers to a question, one or several.

    Args:
        statistic: a name in ``STATISTICS``, or a smooth function of the table of probabilities over ``about``.
        about: attributes by name, or the formula of a regression.
        where: conditions that a count or share is of.
        at: of a quantile, between 0 and 1.
        others: as of ``options``.

    Raises:
        PrivityError: bad-option; not-supported; ProblemsFound: of conditions.
    """
    evidence = estimator.evidence
    schema = evidence.schema
    _check(statistic, about, where, at, others)
    chosen = options(schema, evidence.rows_per_person, **others)
    if isinstance(statistic, str) and statistic in REGRESSIONS:
        return REGRESSIONS[statistic](Asking(estimator, chosen), about[0])
    places = tuple(place_of(schema, name, "about") for name in about)
    if len(set(places)) < len(places):
        raise bad_option("about", f"{about[0]} stands there twice", "Name each attribute once.")
    asking = Asking(estimator, chosen, places)
    if not isinstance(statistic, str):
        return statistics.function_of(asking, statistic)
    if statistic in CONDITIONED:
        of = statistics.count if statistic == "count" else statistics.share
        return of(asking, masks(schema, where, "where"))
    if statistic == "quantile":
        return statistics.quantile(asking, Fraction(str(0.5 if at is None else at)))
    plain = {"mean": statistics.mean, "crosstab": statistics.crosstab, "correlation": statistics.correlation}
    return plain[statistic](asking)


def _check(
    statistic: str | Function, about: Sequence[str], where: Sequence[Given], at: float | None, others: Mapping[str, Any]
) -> None:
    """Refuse a question that is none."""
    name = statistic if isinstance(statistic, str) else "function"
    if isinstance(statistic, str) and statistic not in STATISTICS:
        raise bad_option("statistic", f"{statistic!r} is unknown", f"Possible: {', '.join(STATISTICS)}.")
    if name in CONDITIONED:
        if about:
            raise bad_option("about", f"a {name} is of rows", "Name conditions with where, and groups with by.")
        if not where and (name == "share" or others.get("by") is None):
            raise bad_option("where", f"there is no condition that a {name} is of", "Name one.")
    elif where:
        raise bad_option("where", f"it is for {' and '.join(CONDITIONED)}", "Use given for the rows that count.")
    wanted = 1 if name in REGRESSIONS else ATTRIBUTES.get(name)
    if name not in CONDITIONED and (len(about) != wanted if wanted else not about):
        what = "a formula" if name in REGRESSIONS else f"{wanted or 'one or more'} attributes"
        raise bad_option("about", f"{name} is of {what}", "Name them." if wanted != 1 else "Name it.")
    if at is not None and (name != "quantile" or not 0 < at < 1):
        raise bad_option("at", "it is for quantiles, and between 0 and 1", "Give 0.5 for the median.")
    if others.get("compare") and name not in COMPARED:
        raise bad_option("compare", f"it is for {' and '.join(COMPARED)}", "Leave it out.")
    if others.get("by") is not None and name in ("crosstab", "function"):
        raise bad_option("by", f"a {name} has no groups", "Put the attribute among the others.")
