"""Algorithms by name: async functions of a session, an epsilon and settings that return a model."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from common.algorithms import copula, dp_ccbn, dp_subn, independent, jtree, one_way, privbayes, privhd
from common.errors import Catalogue, PrivityError
from common.models import Model
from common.privacy.composition import COMPOSITIONS
from common.privacy.noise_law import GAUSSIAN
from common.protocol.session import Session
from common.schema import Schema


@dataclass(frozen=True)
class Algorithm:
    """One way to learn a model.

    Attributes:
        check: reads the plain settings, given the schema; raises ProblemsFound with every
            fault, before any party is asked.
        learn: learns a model for an epsilon in all.
        apart: whether the parties learn models of their own, one by one.
        check_delta: reads the settings with a run's delta, and refuses what does not go together; without it the
            algorithm is pure.
        composition: reads the settings with a run's delta: how the delta is spent, a name in
            ``common.privacy.composition.COMPOSITIONS``; without it there is none to spend.
        memory: about how many bytes learning from so many rows takes besides the table, if that may be much.
        draws: whether it draws candidates on the rows of one party at a time.
        parts: whether with these settings it opens sums over some of the parties, too.
        joins: whether attributes may depend on each other; if so, people are told of those that do not.
    """

    check: Callable[[Mapping[str, Any], Schema], object]
    learn: Callable[[Session, Fraction, Mapping[str, Any]], Coroutine[Any, Any, Model]]
    apart: bool = False
    joins: bool = True
    check_delta: Callable[[Mapping[str, Any], Fraction], None] | None = None
    composition: Callable[[Mapping[str, Any], Fraction], str] | None = None
    memory: Callable[[Schema, int], int] | None = None
    draws: bool = False
    parts: Callable[[Mapping[str, Any]], bool] | None = None

    def opens_parts(self, settings: Mapping[str, Any]) -> bool:
        return self.parts is not None and self.parts(settings)

    def spends_gaussian(self, settings: Mapping[str, Any], delta: Fraction) -> bool:
        """Whether a delta is spent on discrete Gaussian noise; settings may be unread, and name what there is not."""
        named = None if self.composition is None else COMPOSITIONS.get(self.composition(settings, delta))
        return named is not None and named.law == GAUSSIAN

    def check_request(self, settings: Mapping[str, Any], schema: Schema, delta: Fraction) -> None:
        """Refuse what cannot run, before any party is asked.

        Raises:
            PrivityError, ProblemsFound: bad settings, or a delta for which the algorithm has no use.
        """
        self.check(settings, schema)
        if self.check_delta is not None:
            self.check_delta(settings, delta)
        elif delta:
            reason = "the algorithm is pure: it has no use for a delta"
            raise PrivityError(Catalogue.BAD_OPTION, option="delta", reason=reason, hint="Leave delta away.")


ALGORITHMS: dict[str, Algorithm] = {
    "copula": Algorithm(
        copula.check,
        copula.learn,
        check_delta=copula.check_delta,
        composition=copula.composition,
        memory=copula.memory,
    ),
    "dp-ccbn": Algorithm(dp_ccbn.check, dp_ccbn.learn),
    "dp-subn": Algorithm(dp_subn.check, dp_subn.learn, draws=True, parts=dp_subn.opens_parts),
    "independent": Algorithm(independent.Settings.read, independent.learn, apart=True),
    "jtree": Algorithm(jtree.check, jtree.learn, draws=True),
    "one-way": Algorithm(one_way.check, one_way.learn, joins=False),
    "privbayes": Algorithm(privbayes.check, privbayes.learn, draws=True),
    "privhd": Algorithm(privhd.check, privhd.learn, draws=True),
}
"""Every algorithm that a run may name."""
