"""What ``Release.query`` and ``Release.support`` give: answers with their intervals, as objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from privity.common.data.regression_formula import place_of
from privity.common.formats.given_values import bad_option, names_in
from privity.common.release.queries.answer import Answer
from privity.common.release.queries.ask import STATISTICS, ask
from privity.common.release.queries.estimator import Estimator
from privity.common.release.queries.support import WORDS, Support
from privity.common.release.sampling_conditions import Given, given_conditions
from privity.summaries import Shown, Summary

if TYPE_CHECKING:
    import pandas as pd

Function = Callable[[npt.NDArray[np.float64]], float]


class Answers(Sequence[Answer], Shown):
    """The answers to one question; of a single one, its fields are those of this object too."""

    def __init__(self, question: str, answers: Sequence[Answer]) -> None:
        self.question, self._answers = question, tuple(answers)

    def __len__(self) -> int:
        return len(self._answers)

    @overload
    def __getitem__(self, index: int) -> Answer: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Answer, ...]: ...
    def __getitem__(self, index: int | slice) -> Answer | tuple[Answer, ...]:
        return self._answers[index]

    @property
    def value(self) -> float | None:
        """The estimate; None if it is not determined."""
        return self._single().value

    @property
    def low(self) -> float:
        """The lower end of the interval; infinite if nothing is told on that side."""
        return self._single().low

    @property
    def high(self) -> float:
        """The upper end."""
        return self._single().high

    @property
    def errors(self) -> Mapping[str, float]:
        """Standard errors of ``sampling``, ``noise`` and ``model``; their squares add up."""
        return self._single().errors

    @property
    def support(self) -> Support:
        """What all answers stand on."""
        return self._answers[0].support

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before the answers are used, each once."""
        return tuple(dict.fromkeys(note for each in self for note in each.notes))

    def _single(self) -> Answer:
        if len(self) != 1:
            raise bad_option("answers", f"there are {len(self)} of them", "Take one of them, or their table.")
        return self[0]

    @property
    def table(self) -> pd.DataFrame:
        """A line for each answer."""
        import pandas as pd

        return pd.DataFrame(
            [
                {**each.of, "value": each.value, "low": each.low, "high": each.high, **each.errors}
                for each in self._answers
            ]
        )

    def _summary(self) -> Summary:
        support = self.support
        facts = [
            ("interval", f"{self[0].level:.0%}"),
            ("support", f"{WORDS[support.kind]} (R2 {support.r2:.2f})"),
        ]
        if support.missing:
            facts.append(("not measured", ", ".join(" and ".join(pair) for pair in support.missing)))
        return Summary(self.question, tuple(facts), self.notes, self.table.map(_rounded))


def analyses_table(content: Mapping[str, Any]) -> pd.DataFrame:
    """What ``Release.analyses`` gives of an ``analyses.json``."""
    import pandas as pd

    columns = ("value", "low", "high", "sampling", "noise", "model", "synthetic")
    rows = [
        {"formula": analysis["formula"], **term, **term["errors"]}
        for analysis in content["analyses"]
        for term in analysis.get("terms", ())
    ]
    table = pd.DataFrame(rows, columns=["formula", "term", *columns]).set_index(["formula", "term"])
    return table.astype(float)


def asked(
    estimator: Estimator,
    statistic: str | Function,
    about: object,
    where: Mapping[str, object] | None,
    given: Mapping[str, object] | None,
    **others: Any,
) -> Answers:
    """What ``Release.query`` gives."""
    formula = isinstance(about, str) and statistic in ("linear", "logistic")
    named = [] if about is None else [str(about)] if formula else names_in("about", about)
    asked_of, counted = _conditions("where", where), _conditions("given", given)
    found = ask(estimator, statistic, named, where=asked_of, given=counted, **others)
    title = statistic if isinstance(statistic, str) else "function"
    told = [f"{STATISTICS.get(title, 'function of a table')}"]
    told += [f"about {', '.join(named)}"] if named else []
    told += [f"{name} {dict(each)}" for name, each in (("where", where), ("given", given)) if each]
    return Answers(f"{title}: {'; '.join(told)}", found)


def supported(estimator: Estimator, attributes: Sequence[str]) -> Support:
    """What ``Release.support`` gives."""
    schema = estimator.evidence.schema
    if not attributes:
        raise bad_option("attributes", "there are none", "Name one or more.")
    return estimator.support([place_of(schema, name, "attributes") for name in dict.fromkeys(attributes)])


def _conditions(option: str, given: Mapping[str, object] | None) -> list[Given]:
    if not isinstance(given or {}, Mapping):
        raise bad_option(option, f"a {type(given).__name__} has no values by name", "Give a dictionary.")
    return given_conditions(given or {})


def _rounded(value: object) -> object:
    return f"{value:.4g}" if isinstance(value, float) else value
